"""The parts of whence that are written in C; all else about the package is in pyproject.toml.

They are optional: without a compiler whence installs all the same, and does in Python what they do;
`whence doctor` says which are missing. With WHENCE_REQUIRE_EXTENSIONS set, as it is for the tests
and for packages, one that does not compile is an error.
For a free-threaded Python they are left out: they rely on the GIL, and importing one would switch
it on for the whole process. For a version of CPython that has no header in `cpython/` those that
read the interpreter's memory are replaced by a module that says so when it is imported.

`tools/` reads EXTENSIONS too, to check and to sanitize the same sources.
"""

import os
import re
import sys
import sysconfig
from pathlib import Path

PYTHON = Path("src/whence/langs/python")
RECORDER = PYTHON / "record/native"
JOURNAL = PYTHON / "record/journal/native"
SCANNER = PYTHON / "trace/native"
TAGGING = PYTHON / "provenance/native"
CPYTHON = RECORDER / "cpython"
FLAGS = ["-std=c11", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden"]

# Modules of their own, or for those that cannot be had.
APART = {"_confinement.c", "_identity.c", "unsupported.c"}


def sources(folder, *more):
    """The C files of a folder that make up its main module, and some others."""
    return [*sorted(path for path in folder.glob("*.c") if path.name not in APART), *more]


EXTENSIONS = {
    "whence.langs.python.record._recorder": sources(RECORDER, CPYTHON / "layout.c"),
    "whence.langs.python.record._identity": [RECORDER / "_identity.c"],
    "whence.langs.python.record._confinement": [RECORDER / "_confinement.c"],
    "whence.langs.python.record.journal._interposition": sources(JOURNAL),
    "whence.langs.python.trace._scan": sources(SCANNER),
    "whence.langs.python.provenance._tagging": sources(TAGGING),
}
"""The source files of each extension module, every one a translation unit."""
READS_CPYTHON = {name for name in EXTENSIONS if ".record." in name and "_confinement" not in name}


def extension(name, files):
    from setuptools import Extension

    macros = []
    if name in READS_CPYTHON and not (CPYTHON / f"v3{sys.version_info[1]}.h").exists():
        files = [RECORDER / "unsupported.c"]
        macros = [("WHENCE_MODULE", name.rpartition(".")[2])]
    headers = {
        header for folder in {file.parent for file in files} for header in folder.rglob("*.h")
    }
    return Extension(
        name,
        [str(file) for file in files],
        depends=sorted(map(str, {*headers, *CPYTHON.glob("*.h")})),
        define_macros=macros,
        extra_compile_args=FLAGS,
        optional=not os.environ.get("WHENCE_REQUIRE_EXTENSIONS"),
    )


def readme():
    """README.md with absolute links: on PyPI there are no files beside it."""
    import tomllib

    root = Path(__file__).parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = project["urls"]["Source"]
    text = (root / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^]]*\])\((?!http)([^)]+)\)", rf"\1({source}/raw/main/\2)", text)
    return re.sub(r"(?<!!)(\[[^]]*\])\((?!http|#)([^)]+)\)", rf"\1({source}/blob/main/\2)", text)


if __name__ == "__main__":
    from setuptools import setup

    free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
    extensions = [] if free_threaded else [extension(*each) for each in EXTENSIONS.items()]
    setup(
        ext_modules=extensions,
        long_description=readme(),
        long_description_content_type="text/markdown",
    )
