"""CPython 3.14 and 3.15 of Debian sid, in a folder of their own, for a machine that has older ones.

Owns that folder: the root of a small Debian system, made by debootstrap. The mirror, pip's index
and certificates are those that the machine is configured with. A command runs in the folder by
chroot, with the checkout at its usual path, so that `.venvs/3.15` is made and used as if the
interpreter were installed. The mounts that this needs are in a mount namespace of the command, and
go with it.

Invariant: a folder that has a stamp is complete. Making it takes a few minutes, so only those who
ask for it wait: `make pythons`, or `python tools/run_tests.py --python 3.15`.

As a program: `python tools/debian_pythons.py` makes the folder if it is missing, and
`python tools/debian_pythons.py python3.15 script.py` runs a command in it.
"""

from __future__ import annotations

import ast
import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import environments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERSIONS = ("3.14", "3.15")
SUITE = "sid"
PACKAGES = (
    *(f"python{version}{part}" for version in VERSIONS for part in ("", "-dev", "-venv")),
    *("gcc", "libc6-dev", "make", "ca-certificates"),
)
PLACE = "WHENCE_DEBIAN_PYTHONS"
"""The environment variable that names the folder, in place of one in the user's cache."""
PATIENCE = 900
"""Seconds after which making the folder is given up."""
MOUNTS = ("/proc", "/dev", "/sys")


class Missing(Exception):
    """The interpreters cannot be had here; its text says why, in one line."""


def folder() -> Path:
    """Where the Debian system is, or would be."""
    if os.environ.get(PLACE):
        return Path(os.environ[PLACE]).absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "whence" / "debian-pythons"


def stamp() -> Path:
    return folder() / "whence-stamp.json"


def is_made() -> bool:
    try:
        packages = json.loads(stamp().read_text())
    except (OSError, ValueError):
        return False
    return bool(packages == list(PACKAGES))


def check_machine() -> None:
    """Missing if no command could run in the folder on this machine."""
    if sys.platform != "linux":
        raise Missing("Debian's interpreters run on Linux only")
    if os.geteuid() != 0:
        raise Missing("only root can run Debian's interpreters, by chroot")
    if shutil.which("unshare") is None:
        raise Missing("unshare (of util-linux) is not installed")
    tried = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode != 0:
        raise Missing("this machine lets not even root mount a folder")


def require() -> None:
    """Missing unless commands can run in the folder as it is."""
    check_machine()
    if not is_made():
        raise Missing("Debian's interpreters are not at hand; `make pythons` downloads them")


def provide() -> None:
    """Make the folder if it is missing; Missing if that fails or takes too long."""
    check_machine()
    folder().parent.mkdir(parents=True, exist_ok=True)
    with lock():
        if is_made():
            return
        start = time.monotonic()
        install_debootstrap()
        environments.say(f"setting up Debian's Python {' and '.join(VERSIONS)} in {folder()} ...")
        # Apart, and renamed when it is complete: what an interrupted run left is never used.
        partial = folder().with_name(f"{folder().name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
        try:
            bounded([*command, SUITE, str(partial), mirror()], PATIENCE)
            (partial / stamp().name).write_text(json.dumps(PACKAGES))
            shutil.rmtree(folder(), ignore_errors=True)
            partial.rename(folder())
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        environments.say(f"done in {time.monotonic() - start:.0f} s")


@contextmanager
def lock() -> Iterator[None]:
    with folder().with_name(f"{folder().name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def install_debootstrap() -> None:
    if shutil.which("debootstrap") is not None:
        return
    if shutil.which("apt-get") is None:
        raise Missing("debootstrap is not installed, and there is no apt-get to install it")
    bounded(["apt-get", "update", "-qq"], PATIENCE)
    bounded(["apt-get", "install", "-qq", "-y", "--no-install-recommends", "debootstrap"], PATIENCE)


def bounded(command: Sequence[str], seconds: float) -> None:
    """Run quietly; Missing, with the last line of the output, if it fails or takes too long."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"{command[0]} took longer than {seconds:.0f} s") from None
    if done.returncode != 0:
        last = (done.stdout.strip().splitlines() or ["without a word"])[-1]
        raise Missing(f"{command[0]} failed: {last}")


def mirror() -> str:
    """The mirror of Debian that apt uses on this machine."""
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN)\t$(LABEL)\t$(REPO_URI)"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise Missing("apt-get does not tell which mirror it uses") from None
    for line in lines.splitlines():
        origin, label, uri = line.split("\t")
        if origin == label == "Debian":
            return uri
    raise Missing("apt uses no mirror of Debian on this machine")


def pip_settings() -> dict[str, str]:
    """What pip is configured with on this machine, as environment variables."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    settings = {}
    for name, value in (line.split("=", 1) for line in lines if "=" in line):
        section, _, key = name.rpartition(".")
        if section in {"global", "install", ":env:"}:
            text = str(ast.literal_eval(value))
            settings[f"PIP_{key.upper().replace('-', '_')}"] = " ".join(text.split())
    return settings


def named_paths(settings: dict[str, str]) -> list[Path]:
    """The files and folders of this machine that pip's settings name."""
    paths = set()
    for word in " ".join(settings.values()).split():
        path = Path(word.removeprefix("file://"))
        if path.is_absolute() and path.exists():
            # The pages of an index refer to packages beside it.
            paths.add(path.parent if word.startswith("file://") else path)
    return sorted(paths)


def environ() -> dict[str, str]:
    """The environment of a command in the folder: nothing of ours but how to reach the network."""
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    fixed = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
    }
    return {**proxies, **pip_settings(), **fixed}


def command(arguments: Sequence[str]) -> list[str]:
    """What runs these arguments in the folder, at the top of the checkout; needs `environ()`."""
    root = folder()
    script = ["set -e"]
    for path in [*map(Path, MOUNTS), environments.ROOT, *named_paths(pip_settings())]:
        inside = shlex.quote(f"{root}{path}")
        if path.is_dir():
            script.append(f"mkdir -p {inside}")
        else:
            script.append(f"mkdir -p {shlex.quote(f'{root}{path.parent}')}; touch {inside}")
        script.append(f"mount --rbind {shlex.quote(str(path))} {inside}")
    resolver = shlex.quote(f"{root}/etc/resolv.conf")
    script.append(f"cp -L /etc/resolv.conf {resolver} 2>/dev/null || true")
    inner = f'cd {shlex.quote(str(environments.ROOT))} && exec "$@"'
    script.append(f'exec chroot {shlex.quote(str(root))} sh -c {shlex.quote(inner)} sh "$@"')
    unshare = ["unshare", "--mount", "--propagation", "private"]
    return [*unshare, "sh", "-c", "\n".join(script), "sh", *arguments]


def main(arguments: Sequence[str]) -> int:
    try:
        provide()
    except Missing as problem:
        environments.say(str(problem))
        return 1
    if not arguments:
        return 0
    return subprocess.run(command(arguments), env=environ(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
