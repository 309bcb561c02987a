"""A project's recordings: where they are kept, how they are numbered, and what lies beside each.

They are in `.whence/runs/`, in the nearest folder above that has a `.whence` already, else in the
working directory. `.whence` itself is made to be committed, since it holds remembered answers. Its
ignore file excludes `runs/`, since recordings hold the values of the program.

A recording is `NAME-N.whence`; N is counted over the whole project, so the highest is the newest.
All that belongs to it begins with its name: `FILE.symptom.json` (what is wrong), `FILE.stdin` (what
the program read), `FILE.environment.json`, `FILE.d/` (its child processes).
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.recording_signature import PARTS, SIGNATURE
from whence.model.symptom import Symptom
from whence.regular_files import read_regular_file
from whence.typed_json import reader, to_data
from whence.user_folders import make_private_folder, open_private_file, replace_private_file

FOLDER = ".whence"
_RUNS = "runs"
_IGNORED = (
    "# Recordings hold the program's values, and what is learned from tests can be learned again.\n"
    "# Everything else may be committed.\n/runs/\n/learned.sqlite\n"
)
_NAME = re.compile(r".+-(\d+)\.whence")
_UNFIT = re.compile(r"[^\w.\[\]-]+")
_LONGEST_NAME = 80


def folder(start: Path | None = None) -> Path:
    """The project's `.whence`, which is made if there is none."""
    here = Path.cwd() if start is None else start.absolute()
    path = nearest(here) or here / FOLDER
    try:
        make_private_folder(path / _RUNS)
        ignore = path / ".gitignore"
        if not os.path.lexists(ignore):
            replace_private_file(ignore, _IGNORED)
    except OSError as problem:
        reason = f"recordings cannot be kept there ({problem.strerror})"
        raise WhenceError(f"{path}: {reason}") from problem
    return path


def nearest(start: Path | None = None) -> Path | None:
    """The `.whence` of the working directory or of a folder above it, if there is one.

    One that belongs to another user, as in a folder that all may write to, is ignored.
    """
    here = Path.cwd() if start is None else start.absolute()
    for parent in (here, *here.parents):
        path = parent / FOLDER
        try:
            if path.is_dir() and path.stat().st_uid == os.geteuid():
                return path
        except OSError:  # there is no permission to read it
            continue
    return None


def new_recording(name: str, start: Path | None = None) -> Path:
    """Create the empty file of the next recording, so that no other process takes its name."""
    runs = folder(start) / _RUNS
    fit = _fit(name)
    try:
        with _locked(runs):
            number = max(map(_number, _files(runs)), default=0) + 1
            path = runs / f"{fit}-{number}.whence"
            os.close(open_private_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except OSError as problem:
        reason = f"the recording cannot be written there ({problem.strerror})"
        raise WhenceError(f"{runs}: {reason}") from problem
    return path


@contextlib.contextmanager
def _locked(runs: Path) -> Iterator[None]:
    """Hold a lock while the next number is chosen."""
    descriptor = os.open(runs, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def recordings(start: Path | None = None) -> list[Path]:
    """The project's recordings that are not empty, the newest last."""
    path = nearest(start)
    if path is None:
        return []
    complete = [file for file in _files(path / _RUNS) if file.stat().st_size]
    return sorted(complete, key=_number)


def latest_named(name: str, start: Path | None = None) -> Path | None:
    """The newest recording that `new_recording` made for this name."""
    fit = _fit(name)
    named = [file for file in recordings(start) if file.stem.rpartition("-")[0] == fit]
    return named[-1] if named else None


def _fit(name: str) -> str:
    """A name as part of a file's name."""
    return _UNFIT.sub("-", name).strip("-.")[:_LONGEST_NAME] or "run"


def latest(start: Path | None = None) -> Path | None:
    """The newest recording of the project."""
    files = recordings(start)
    return files[-1] if files else None


def remove(recording: Path) -> None:
    """Remove a recording with all that belongs to it."""
    for path in recording.parent.glob(f"{glob.escape(recording.name)}*"):
        if path.name != recording.name and not path.name.startswith(f"{recording.name}."):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def remove_companions(recording: Path) -> None:
    """Remove what an earlier recording of this name has left beside it.

    What a new recording does not write itself must not count as its own.
    """
    for part in (*PARTS, SIGNATURE):
        # In a folder that is read-only, removing a file that is not there is an error as well.
        if part and os.path.lexists(beside(recording, part)):
            try:
                beside(recording, part).unlink(missing_ok=True)
            except OSError as problem:
                raise WhenceError(
                    f"{beside(recording, part)}: belongs to an earlier recording and cannot be "
                    f"removed ({problem.strerror})"
                ) from problem


def beside(recording: Path, what: str) -> Path:
    """The file of something that belongs to a recording, such as `stdin`."""
    return Path(f"{recording}.{what}")


def write_symptom(recording: Path, symptom: Symptom) -> None:
    """Keep what is wrong about a recorded run beside it."""
    path = beside(recording, "symptom.json")
    try:
        replace_private_file(path, json.dumps(_without_empty(to_data(symptom)), indent=1) + "\n")
    except OSError as problem:
        raise WhenceError(f"{path}: cannot be written ({problem.strerror})") from problem


def read_symptom(recording: Path) -> Symptom | None:
    """What is wrong about a recorded run, if that is kept beside it."""
    path = beside(recording, "symptom.json")
    try:
        text = read_regular_file(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise WhenceError(f"{path}: cannot be read ({reason})") from problem
    try:
        return reader(Symptom)(json.loads(text), "symptom")
    except (ValueError, RecursionError) as problem:
        raise WhenceError(f"{path}: is no JSON ({problem})") from problem
    except WhenceError as problem:
        raise WhenceError(f"{path}: {problem}") from problem


def _without_empty(data: object) -> object:
    """JSON data without the members that are null or empty, which have defaults."""
    if isinstance(data, list):
        return [_without_empty(item) for item in data]
    if not isinstance(data, dict):
        return data
    return {
        key: _without_empty(item)
        for key, item in data.items()
        if item not in (None, "", []) and item is not False
    }


def _files(runs: Path) -> list[Path]:
    if not runs.is_dir():
        return []
    return [path for path in runs.iterdir() if _NAME.fullmatch(path.name) and path.is_file()]


def _number(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else 0
