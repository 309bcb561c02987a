"""Runs tests of the C code under AddressSanitizer and UndefinedBehaviorSanitizer.

The extensions are built into a copy of the source, so that the usual ones stay as they are, and the
sanitizer's library is loaded before the interpreter, which was built without it. Objects come from
malloc, so that reading a freed one is seen. Leaks are not looked for: the interpreter itself leaves
memory to the process's end.

    python tools/sanitize.py [ARGUMENTS OF PYTEST]
"""

from __future__ import annotations

import os
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = (
    "-std=c11 -g -O1 -fno-omit-frame-pointer -fPIC -shared -fvisibility=hidden "
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined"
)
TESTS = [
    "tests/unit/langs/python/record",
    "tests/unit/langs/python/trace",
    "tests/unit/langs/python/provenance",
    "tests/unit/langs/python/replay/test_journal.py",
    "tests/property/test_damaged_files.py",
    "tests/soak/test_threads.py",
]


def build(copy: Path) -> None:
    """Compiles each extension into the copy of the source."""
    extensions: dict[str, list[Path]] = runpy.run_path(str(ROOT / "setup.py"))["EXTENSIONS"]
    for module, files in extensions.items():
        target = copy.joinpath(*module.split(".")).with_suffix(
            sysconfig.get_config_var("EXT_SUFFIX")
        )
        include = "-I" + sysconfig.get_path("include")
        command = [*shlex.split(os.environ.get("CC", "gcc")), *FLAGS.split(), include]
        subprocess.run([*command, *map(str, files), "-o", str(target)], check=True)


def library() -> str:
    """Where the sanitizer's library is."""
    compiler = shlex.split(os.environ.get("CC", "gcc"))
    command = [*compiler, "-print-file-name=libasan.so"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        build(source)
        environ = {
            **os.environ,
            "PYTHONPATH": str(source),
            "LD_PRELOAD": library(),
            "PYTHONMALLOC": "malloc",
            "PYTHONDONTWRITEBYTECODE": "1",
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-m", "soak or not soak"]
        command += ["-p", "no:cacheprovider", "--timeout=1800", *(arguments or TESTS)]
        return subprocess.run(command, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
