"""Checks the C sources: each compiles alone, and all compile for the platforms of the wheels.

For this machine its own compiler reads each source file by itself, so that no file can rely on
another's statics. For macOS (both processors) and Linux on ARM, `zig cc` (the package ziglang)
builds each extension with the system headers of that platform and the headers of the running
Python. Its pyconfig.h is that of this machine, where types have the same sizes. So the sources use
nothing that those platforms lack; that they run there is not shown.

    python tools/check_c.py
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("aarch64-macos", "x86_64-macos", "aarch64-linux-gnu")
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"]


def passes(command: list[str], files: list[Path]) -> bool:
    include = "-I" + sysconfig.get_path("include")
    with tempfile.TemporaryDirectory() as folder:
        output = ["-o", f"{folder}/module.so"]
        done = subprocess.run([*command, *FLAGS, include, *output, *map(str, files)], check=False)
    return done.returncode == 0


def main() -> int:
    os.chdir(ROOT)
    extensions: dict[str, list[Path]] = runpy.run_path("setup.py")["EXTENSIONS"]
    checks = {"each file alone": [*shlex.split(os.environ.get("CC", "gcc")), "-fsyntax-only"]}
    if importlib.util.find_spec("ziglang") is None:
        print("other platforms: skipped, the package ziglang is missing")
    else:
        for target in TARGETS:
            zig = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-shared", "-fPIC"]
            names_of_python = ["-undefined", "dynamic_lookup"] if "macos" in target else []
            checks[target] = [*zig, "-O0", *names_of_python]
    failed = False
    for name, command in checks.items():
        for module, files in extensions.items():
            sound = passes(command, files)
            failed |= not sound
            print(f"{'passed' if sound else 'FAILED'}  {module}: {name}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
