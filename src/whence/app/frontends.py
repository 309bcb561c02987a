"""Finds the front end of whatever file a user names, and opens it.

The start of a file says what it is, never its name. Tree files and Augmented Redex Trails have a
front end here: they are formats of whence itself, of no language.
"""

from __future__ import annotations

from pathlib import Path

from whence.app.progress import percent_reporter
from whence.errors import UsageError, WhenceError
from whence.langs.python.frontend import PythonFrontend
from whence.langs.python.recordings import latest
from whence.model.replay_settings import Progress
from whence.ports import Frontend, Opened
from whence.redex_trail.art_file import read_art
from whence.redex_trail.art_provenance import ArtProvenance
from whence.redex_trail.art_tree import execution_tree
from whence.regular_files import open_regular_file
from whence.report.source import Sources
from whence.tree.file_provenance import FileProvenance
from whence.tree.tree_file import open_tree, origins_of

_START = 4096
_LARGE = 8 * 2**20


class ArtFrontend:
    """Opens Augmented Redex Trails."""

    name = "art"

    def recognizes(self, start: bytes) -> bool:
        """Whether a file that starts like this is one."""
        first_line = start.split(b"\n", 1)[0]
        return b'"art/' in start and b'"whence"' not in first_line

    def open(self, path: Path, progress: Progress | None = None) -> Opened:
        """Open a trail; all origins are computed from it."""
        art = execution_tree(read_art(path))
        return Opened(art.tree, ArtProvenance(art), computes_origins=True)


class TreeFileFrontend:
    """Opens tree files in the open format, and refuses what is none."""

    name = "tree"

    def recognizes(self, start: bytes) -> bool:
        """Every file that no other front end recognizes is taken for a tree."""
        return True

    def open(self, path: Path, progress: Progress | None = None) -> Opened:
        """Open a tree; its origins are those that the file holds."""
        tree = open_tree(path, progress=progress)
        return Opened(tree, FileProvenance(tree, origins_of))


FRONTENDS: tuple[Frontend, ...] = (PythonFrontend(), ArtFrontend(), TreeFileFrontend())
"""In the order in which they are asked whether a file is theirs."""


def open_any(path: Path) -> Opened:
    """Open a recording, a tree file or an Augmented Redex Trail."""
    try:
        with open_regular_file(path) as file:
            start = file.read(_START)
    except OSError as problem:
        raise WhenceError(f"{path}: cannot be read ({problem.strerror})") from problem
    frontend = next(frontend for frontend in FRONTENDS if frontend.recognizes(start))
    return frontend.open(path, _progress(path))


def sources_of(opened: Opened) -> Sources:
    """The source files of the program that a tree is of."""
    return Sources(opened.folder, opened.began, opened.syntax)


def named_or_last(path: Path | None, hint: str = "") -> Path:
    """The named recording, else the project's last one; `hint` adds to the error if none exists."""
    recording = path or latest()
    if recording is None:
        raise UsageError(
            f"there is no recording of this project: `whence run script.py` makes one{hint}"
        )
    return recording


def _progress(path: Path) -> Progress | None:
    """Shows a person how much of a large file was read."""
    report, size = percent_reporter(f"indexing {path.name}", _LARGE), path.stat().st_size
    if report is None:
        return None
    return lambda done, total: report(size * done // max(total, 1), size)
