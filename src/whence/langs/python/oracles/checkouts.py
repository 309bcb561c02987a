"""Where a reference version is: a folder, a script, a revision of git, a released package.

Invariant: nothing of the user's is changed: a revision is unpacked into a folder of its own, and a
package is installed into one.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.launching.own_python import tool_command
from whence.langs.python.oracles.program_versions import ReferenceVersion, is_below
from whence.user_folders import cache_folder, make_private_folder

_PACKAGE = re.compile(r"[A-Za-z0-9][\w.\-]*(\[[\w,\-]*\])?==[\w.!+\-]+\Z")


def find_reference(text: str, files: Sequence[str], main: str, cwd: str) -> ReferenceVersion:
    """The reference that `--reference` names, for a program that consists of some files."""
    if text.startswith("git:"):
        return from_git(text[4:], files, main, cwd)
    if _PACKAGE.match(text) and not os.path.exists(text):
        return from_package(text, files)
    path = os.path.abspath(text)
    if os.path.isdir(path):
        return from_folder(text, path, files)
    if not os.path.isfile(path):
        raise WhenceError(
            f"{text}: there is no such reference; name a folder, a script, git:REVISION or "
            "PACKAGE==VERSION"
        )
    if not main:
        raise WhenceError(f"{text}: no script was recorded that it could stand in for")
    return ReferenceVersion(text, os.path.dirname(path), os.path.dirname(main), path)


def from_folder(name: str, folder: str, files: Sequence[str]) -> ReferenceVersion:
    """A folder that stands in for the one that has the most of the program's files in it."""
    best, most = "", 0
    for anchor in sorted({str(parent) for file in files for parent in Path(file).parents}):
        inside = [file for file in files if is_below(file, anchor)]
        others = (os.path.relpath(file, anchor) for file in inside if not is_below(file, folder))
        count = sum(os.path.exists(os.path.join(folder, path)) for path in others)
        if count > most:
            best, most = anchor, count
    if not best:
        raise WhenceError(
            f"{name}: none of the program's files is in it, under the name that it has in the "
            "program"
        )
    return ReferenceVersion(name, os.path.abspath(folder), best)


# --- git -----------------------------------------------------------------------------------------


def git(folder: str, *words: str) -> str:
    """What git prints in a folder."""
    return _git(folder, *words).decode("utf-8", "replace").strip()


def _git(folder: str, *words: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", folder, *words], capture_output=True, check=True, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise WhenceError("git is not installed, so there are no revisions") from None
    except subprocess.CalledProcessError as problem:
        lines = problem.stderr.decode("utf-8", "replace").strip().splitlines()
        raise WhenceError(f"git {words[0]}: {lines[-1] if lines else 'failed'}") from None
    return done.stdout


def repository(folder: str) -> str:
    """The folder of the repository that a folder is in."""
    return os.path.realpath(git(folder, "rev-parse", "--show-toplevel"))


def from_git(revision: str, files: Sequence[str], main: str, cwd: str) -> ReferenceVersion:
    """A revision, unpacked."""
    existing = (file for file in (main, *files) if file and os.path.exists(file))
    top = repository(os.path.dirname(next(existing, os.path.join(cwd, "x"))))
    return ReferenceVersion(f"git:{revision}", check_out(top, revision), top, temporary=True)


def check_out(top: str, revision: str) -> str:
    """A folder with what a revision holds."""
    commit = git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    folder = tempfile.mkdtemp(prefix=f"whence-{commit[:12]}-")
    with tarfile.open(fileobj=io.BytesIO(_git(top, "archive", "--format=tar", commit))) as archive:
        archive.extractall(folder, filter="data")
    return folder


# --- packages ------------------------------------------------------------------------------------


def from_package(text: str, files: Sequence[str]) -> ReferenceVersion:
    """A released package, installed into a folder that is kept."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder = cache_folder() / "reference" / version / re.sub(r"[^\w.\-]", "_", text)
    if not folder.is_dir():
        make_private_folder(folder.parent)
        fresh = tempfile.mkdtemp(dir=folder.parent)
        done = subprocess.run(
            tool_command(
                "pip", "install", "--quiet", "--no-deps", "--no-input",
                "--disable-pip-version-check", "--target", fresh, text,
            ),
            capture_output=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if done.returncode:
            shutil.rmtree(fresh, ignore_errors=True)
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            errors = [line for line in lines if line.startswith("ERROR: ")] or lines
            why = errors[-1].removeprefix("ERROR: ") if errors else "pip failed"
            raise WhenceError(f"{text} could not be installed by pip: {why}")
        os.rename(fresh, folder)
    return replace(from_folder(text, str(folder), files), package=True)
