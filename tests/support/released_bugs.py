"""Bugs that were released on PyPI, as programs with a repaired twin.

`tests/releases/bugs.toml` lists them, each with a script beside it. The *buggy* program is the
script with the old release of the package. The *repaired* one has the function at fault from the
new release, and all else from the old one: a simulated person who answers by it judges that
function alone. The new release itself, which differs in more, is what a user has as a reference
version (`release`).

pip installs each release into a cache folder of the user, once. What the packages need is an extra
of whence, `bench`: it is no user code, and its calls are not recorded.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from bug_corpus import PackageBug, functions

RELEASES = Path(__file__).parents[1] / "releases"
_SCRIPT = "script.py"


@dataclass(frozen=True, kw_only=True)
class ReleasedBug(PackageBug):
    """A script that uses the old release of a package."""

    release: Path
    """The script with the new release."""


class NotInstalled(Exception):
    """A release cannot be had."""


def names() -> list[str]:
    """The names of all bugs."""
    return sorted(_table())


def released_bug(name: str, folder: Path) -> ReleasedBug:
    """A bug, its versions put into a new folder; `NotInstalled` if pip cannot get them."""
    entry = _table()[name]
    package, file, function = entry["package"], entry["file"], entry["function"]
    old, new = (_installed(package, entry[version]) for version in ("old", "new"))
    buggy, repaired, release = (folder / each for each in ("buggy", "repaired", "release"))
    for target, source in ((buggy, old), (repaired, old), (release, new)):
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.dist-info"))
        shutil.copy(RELEASES / f"{name}.py", target / _SCRIPT)
    text = with_function((buggy / file).read_text(), (release / file).read_text(), function)
    (repaired / file).write_text(text)
    return ReleasedBug(
        name=name, folder=buggy, about=f"{package} {entry['old']}: {entry['about']}",
        kind="released", function=function, also=tuple(entry.get("also", "").split()),
        file=file, script=_SCRIPT, repaired=repaired, release=release,
    )  # fmt: skip


def with_function(text: str, other: str, function: str) -> str:
    """A module with the function of another version of it."""
    lines = text.splitlines(keepends=True)
    theirs = other.splitlines(keepends=True)
    begin, end = _span(text, function)
    other_begin, other_end = _span(other, function)
    return "".join([*lines[:begin], *theirs[other_begin:other_end], *lines[end:]])


def _span(text: str, function: str) -> tuple[int, int]:
    """The lines of a function, with its decorators."""
    for name, node in functions(ast.parse(text)):
        if name == function:
            first = min(part.lineno for part in (node, *node.decorator_list))
            return first - 1, node.end_lineno
    raise ValueError(f"there is no {function}")


def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads((RELEASES / "bugs.toml").read_text())


def _installed(package: str, version: str) -> Path:
    """The folder of a release, without what it needs."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    tag = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = Path(home) / "whence" / "releases" / tag / f"{package}-{version}"
    if not folder.is_dir():
        new = folder.with_name(f"{folder.name}.{os.getpid()}")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
        done = subprocess.run(
            [*command, "--target", str(new), f"{package}=={version}"], capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            shutil.rmtree(new, ignore_errors=True)
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise NotInstalled(f"pip cannot install {package} {version}: {last}")
        try:
            new.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(new)
    return folder
