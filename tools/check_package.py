"""Builds the sdist and a wheel, and checks them as a user would meet them.

The wheel is built from the sdist, so that a file missing there shows. It is then installed in an
empty environment, where `whence` must start and the compiled parts must be present.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
IN_SDIST = (
    "README.md", "CHANGELOG.md", "LICENSE", "constraints.txt", "docs/tutorial.md",
    "tests/README.md", "tests/conftest.py", "src/whence/py.typed",
)  # fmt: skip
EXTENSIONS: dict[str, list[Path]] = runpy.run_path(str(ROOT / "setup.py"))["EXTENSIONS"]
CHECK_INSTALLED = f"import {', '.join(EXTENSIONS)}"


def run(*command: str | Path) -> None:
    print("$", *command, flush=True)
    environ = {**os.environ, "WHENCE_REQUIRE_EXTENSIONS": "1"}
    subprocess.run([str(word) for word in command], cwd=ROOT, env=environ, check=True)


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    missing = [name for name in IN_SDIST if name not in names]
    if missing:
        sys.exit(f"{sdist.name} lacks {', '.join(missing)}")
    compiled = [name for name in names if name.endswith((".so", ".pyc"))]
    if compiled:
        sys.exit(f"{sdist.name} holds compiled files: {', '.join(sorted(compiled)[:5])}")


def check_installed(wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / "bin"
        run(scripts / "python", "-m", "pip", "install", "--quiet", f"{wheel}[terminal]")
        run(scripts / "python", "-c", CHECK_INSTALLED)
        run(scripts / "whence", "doctor")


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)  # the wheel comes from the sdist
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    check_sdist(sdist)
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    check_installed(wheel)
    print(f"{sdist.name} and {wheel.name} are good")


if __name__ == "__main__":
    main()
