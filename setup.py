"""The parts of whence that are written in C; all else about the package is in pyproject.toml.

They are optional: without a compiler whence installs all the same, and does in Python what they do.
"""

from pathlib import Path

from setuptools import Extension, setup

RECORDER = Path("src/whence/langs/python/record/native")
SCANNER = Path("src/whence/langs/python/trace/native")
FLAGS = ["-std=c11", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden"]

setup(
    ext_modules=[
        Extension(
            "whence.langs.python.record._recorder",
            [str(RECORDER / "whole.c")],
            depends=sorted(str(path) for path in RECORDER.glob("*.[ch]")),
            extra_compile_args=FLAGS,
            optional=True,
        ),
        Extension(
            "whence.langs.python.record._identity",
            [str(RECORDER / "identity.c")],
            extra_compile_args=FLAGS,
            optional=True,
        ),
        Extension(
            "whence.langs.python.trace._scan",
            sorted(str(path) for path in SCANNER.glob("*.c")),
            depends=sorted(str(path) for path in SCANNER.glob("*.h")),
            extra_compile_args=FLAGS,
            optional=True,
        ),
    ]
)
