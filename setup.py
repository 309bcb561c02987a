"""The parts of whence that are written in C; all else about the package is in pyproject.toml.

They are optional: without a compiler whence installs all the same, and does in Python what they do.
For a free-threaded Python they are left out: they rely on the GIL, and importing one would switch
it on for the whole process.
"""

import sysconfig
from pathlib import Path

from setuptools import Extension, setup

RECORDER = Path("src/whence/langs/python/record/native")
JOURNAL = Path("src/whence/langs/python/record/journal/native")
SCANNER = Path("src/whence/langs/python/trace/native")
TAGGING = Path("src/whence/langs/python/provenance/native")
FLAGS = ["-std=c11", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden"]

EXTENSIONS = (
    []
    if sysconfig.get_config_var("Py_GIL_DISABLED")
    else [
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
            "whence.langs.python.record.journal._passages",
            [str(JOURNAL / "whole.c")],
            depends=[*sorted(map(str, JOURNAL.glob("*.[ch]"))), str(RECORDER / "garbage.h")],
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
        Extension(
            "whence.langs.python.provenance._tagging",
            sorted(str(path) for path in TAGGING.glob("*.c")),
            depends=sorted(str(path) for path in TAGGING.rglob("*.h")),
            extra_compile_args=FLAGS,
            optional=True,
        ),
    ]
)

setup(ext_modules=EXTENSIONS)
