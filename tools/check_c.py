"""Checks the C sources: each compiles alone, and all compile for the platforms of the wheels.

For this machine its own compiler reads each source file by itself, so that no file can rely on
another's statics. For macOS and Linux on ARM, `zig cc` (the package ziglang,
which is installed if it is missing) does the same with the system headers of that platform and the
headers of the running Python. Its pyconfig.h is that of this machine, where types have the same
sizes. Nothing is linked, which would first build a C library for each platform. The check shows
that the sources use nothing that those platforms lack, not that they run there.

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
TARGETS = ("aarch64-macos", "aarch64-linux-gnu")
FLAGS = ["-std=c11", "-c", "-O0", "-Wall", "-Wextra", "-Werror"]


def has_zig() -> bool:
    """Whether there is ziglang, after an attempt to install it: no environment has it, as it is
    large."""
    if importlib.util.find_spec("ziglang") is None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--constraint", "constraints.txt", "ziglang"], check=False)
        importlib.invalidate_caches()
    return importlib.util.find_spec("ziglang") is not None


def main() -> int:
    os.chdir(ROOT)
    extensions: dict[str, list[Path]] = runpy.run_path("setup.py")["EXTENSIONS"]
    compilers = {"this machine": shlex.split(os.environ.get("CC", "gcc"))}
    if has_zig():
        zig = [sys.executable, "-m", "ziglang", "cc", "-target"]
        compilers |= {target: [*zig, target] for target in TARGETS}
    else:
        print(f"SKIPPED {', '.join(TARGETS)}: the package ziglang cannot be installed")
    failed = False
    for platform, compiler in compilers.items():
        command = [*compiler, *FLAGS, "-I" + sysconfig.get_path("include")]
        for module, sources in extensions.items():
            files = [str(ROOT / source) for source in sources]
            with tempfile.TemporaryDirectory() as objects:
                status = subprocess.run([*command, *files], cwd=objects, check=False).returncode
            failed |= status != 0
            print(f"{'FAILED' if status else 'passed'}  {module}: {platform}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
