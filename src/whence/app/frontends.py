"""Opens whatever a user names: a recording, a tree file or an Augmented Redex Trail.

What a file is, is told by its beginning, never by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from whence.app.progress import told_in_percent
from whence.errors import UsageError, WhenceError
from whence.langs.python.recordings import latest
from whence.langs.python.replay.fallback_provenance import FallbackProvenance
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.replay.replay_settings import ReplayMode, WithProgress, no_progress
from whence.langs.python.source.call_graph import PythonCallGraph
from whence.langs.python.symptoms.assertion_symptom import OperandProvenance
from whence.langs.python.trace.trace_pages import is_trace
from whence.langs.python.trace.trace_provenance import TraceProvenance
from whence.langs.python.trace.trace_reader import about, open_trace
from whence.ports import CallGraph, Provenance, Reruns, Tree
from whence.report.source import Sources
from whence.slicing.art_file import read_art
from whence.slicing.art_provenance import ArtProvenance
from whence.slicing.art_tree import execution_tree
from whence.slicing.file_provenance import InFileProvenance
from whence.tree.column_tree import ColumnTree
from whence.tree.tree_file import open_tree, origins_of

_START = 4096
_LARGE = 8 * 2**20


def open_any(path: Path) -> tuple[Tree, Provenance]:
    """The tree in a file, and what is known of where its values came from."""
    start = _start(path)
    if is_trace(start):
        recorded = open_trace(path, progress=_by_pages(path))
        told = OperandProvenance(TraceProvenance(recorded), recorded, path)
        reruns = ProgramReruns(path, recorded)
        return recorded, FallbackProvenance(told, reruns.provenance, reruns)
    if _is_art(start):
        art_tree = execution_tree(read_art(path))
        return art_tree.tree, ArtProvenance(art_tree)
    tree = open_tree(path, progress=_progress(path))
    return tree, InFileProvenance(tree, origins_of)


def configure_replay(provenance: Provenance | None, **changes: Any) -> None:
    """Change settings of how the program of a recording runs again (`ReplaySettings`)."""
    if isinstance(provenance, FallbackProvenance):
        reruns = provenance.reruns
        reruns.configure(replace(reruns.settings, **changes))


@contextmanager
def replayed(provenance: Provenance | None, how: str) -> Iterator[None]:
    """While a session is held: let the program be run again in this way, and in no other."""
    configure_replay(provenance, mode=ReplayMode(how))
    try:
        yield
    finally:
        if isinstance(provenance, FallbackProvenance):
            provenance.reruns.close()


def given_or_last(path: Path | None, also: str = "") -> Path:
    """The recording that was named, else the project's last one; `also`: what else helps."""
    found = path or latest()
    if found is None:
        raise UsageError(
            f"there is no recording of this project: `whence run script.py` makes one{also}"
        )
    return found


def sources_of(tree: Tree) -> Sources:
    """Where the source of the program is that a tree was recorded from."""
    recording = about(tree) if isinstance(tree, ColumnTree) else None
    if recording is None:
        return Sources()
    header = recording.header
    folder = Path(header.cwd) if header.cwd else None
    return Sources(folder, header.clock / 1e9 if header.clock else None)


def graph_of(tree: Tree) -> CallGraph | None:
    """Who calls whom by the text of the program; None where the tree does not lead to it."""
    if not isinstance(tree, ColumnTree) or about(tree) is None:
        return None
    return PythonCallGraph(sources_of(tree).read_unchanged)


def reruns_of(
    provenance: Provenance | None, with_progress: WithProgress = no_progress
) -> Reruns | None:
    """The program that a recording is of, to be run again when a person asks for it."""
    if isinstance(provenance, FallbackProvenance):
        configure_replay(provenance, with_progress=with_progress)
        return provenance.reruns
    return None


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_START)
    except OSError as problem:
        raise WhenceError(f"{path}: cannot be read ({problem.strerror})") from problem


def _is_art(start: bytes) -> bool:
    first_line = start.split(b"\n", 1)[0]
    return b'"art/' in start and b'"whence"' not in first_line


def _by_pages(path: Path) -> Callable[[int, int], None] | None:
    """The same of a trace, which is read by the page."""
    report, size = _progress(path), path.stat().st_size
    if report is None:
        return None
    return lambda page, pages: report(size * page // max(pages, 1), size)


def _progress(path: Path) -> Callable[[int, int], None] | None:
    """Tells a person that a large file is being read."""
    return told_in_percent(f"indexing {path.name}", _LARGE)
