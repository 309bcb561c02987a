"""An earlier session about the same program that was left before its end.

It is worth going on with as long as the program's files are as they were: its questions are still
about the code that the person has before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.app.frontends import open_any
from whence.errors import WhenceError
from whence.ports import Opened
from whence.session import log_entries
from whence.session.engine import apply
from whence.session.events import Ask, Expand
from whence.session.log_entries import InsideCall
from whence.session.reaction import react
from whence.session.state import State
from whence.store.session_log import SessionLog, default_path
from whence.tree.source_files import SourceFiles


@dataclass(frozen=True)
class UnfinishedSession:
    """The recording that a session is about, and how many answers a person has given."""

    path: Path
    opened: Opened
    answers: int


def unfinished_session(path: Path | None, command: Sequence[str]) -> UnfinishedSession | None:
    """The unfinished session about a recording of a command made here, if there is one."""
    if path is None or not default_path(path).exists():
        return None
    try:
        opened = open_any(path)
        facts = opened.recording
        is_same = facts is not None and tuple(facts.command) == tuple(command)
        if not is_same or opened.folder != Path.cwd() or _has_changed(opened):
            return None
        log = SessionLog(default_path(path), opened.tree, str(path), log_entries)
    except (WhenceError, OSError):  # of another run, or held by another process
        return None
    try:
        state = State(
            opened.tree,
            opened.provenance,
            presumption=None if opened.priors is None else opened.priors.presumption(),
        )
        for entry in log.entries:
            if not isinstance(entry, Expand | InsideCall):
                state = apply(state, entry)
        answers = sum(answer.in_dialogue for answer in state.facts.answers)
        goes_on = bool(answers) and isinstance(react(state), Ask)
    except WhenceError:
        return None
    finally:
        log.close()
    return UnfinishedSession(path, opened, answers) if goes_on else None


def _has_changed(opened: Opened) -> bool:
    """Whether a file of the program was written to since it was recorded."""
    sources = SourceFiles(opened.folder, opened.began)
    files = {f.location.file for f in opened.tree.functions if f.location is not None}
    return any(map(sources.changed, files))
