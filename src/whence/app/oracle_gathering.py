"""Gathers the oracles of a session in the order in which they are asked.

The order is fixed: what persons said, then what the code itself declares, then a reference version,
then functions that the user names. Which oracles a language has is its front end's business; a new
one adds its name to `NAMES`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from whence.app.session_request import SessionRequest
from whence.errors import UsageError, WhenceError
from whence.langs.prolog.declarations import NAME as DECLARATIONS
from whence.langs.python import recordings
from whence.langs.python.oracles.class_body_oracle import NAME as DEFINITIONS
from whence.model.verdict import REMEMBERED
from whence.oracle.python_function import load_oracle
from whence.oracle.remembered import RememberedAnswers, identify
from whence.ports import ClosableOracle, Identify, Note, Opened, Oracle, OracleSet, Prior
from whence.session.events import Event, OracleTurned
from whence.store.answer_file import NAME, AnswerFile
from whence.store.answer_writer import AnswerWriter

TESTS = "tests"
NAMES = (REMEMBERED, "contracts", "type hints", DECLARATIONS, TESTS, "reference", DEFINITIONS)
"""The oracles that have a fixed name, in their order."""


def language_oracles(opened: Opened, request: SessionRequest) -> OracleSet:
    """The oracles that the language of a tree offers."""
    if opened.oracles is not None:
        return opened.oracles.gather(request.reference)
    if request.reference is not None:
        raise WhenceError("only a recording of a Python program has a reference version")
    return OracleSet()


def gather(
    request: SessionRequest, opened: Opened, path: Path, ours: OracleSet, note: Note
) -> list[Oracle]:
    """All oracles of a session about a file; `ours` are those of the tree's language."""
    folder = project_folder(path)
    remembered: list[Oracle] = []
    if folder is not None:
        file = AnswerFile(folder / NAME, note)
        remembered.append(RememberedAnswers(file, _identify(opened, folder), note))
    named = [load_oracle(text) for text in request.oracle]
    return [*remembered, *ours.first, *named, *ours.last]


def turned_off(request: SessionRequest, oracles: Sequence[Oracle]) -> list[Event]:
    """The oracles that are not to be asked, as events of the session."""
    names = list(dict.fromkeys([*NAMES, *(oracle.name for oracle in oracles), *request.oracle]))
    events: list[Event] = []
    for text in request.no_oracle:
        name = text if text in names else text.lower().replace("-", " ").replace("_", " ")
        if name not in names:
            raise UsageError(f"there is no oracle {text}; there is {', '.join(names)}")
        events.append(OracleTurned(name, on=False))
    return events


def prior(request: SessionRequest, opened: Opened, path: Path, note: Note) -> Prior | None:
    """Where to look first, as far as tests have taught it."""
    learns = not any(text.lower() == TESTS for text in request.no_oracle)
    folder = project_folder(path) if learns else None
    if opened.priors is None or folder is None:
        return None
    return opened.priors.prior(folder, note)


def say_notes(oracles: Sequence[Oracle], note: Note) -> None:
    """Say after the session what oracles could not find out."""
    for oracle in oracles:
        if isinstance(oracle, ClosableOracle):
            for text in oracle.notes():
                note(text)


def close(oracles: Sequence[Oracle]) -> None:
    """End the processes of oracles."""
    for oracle in oracles:
        if isinstance(oracle, ClosableOracle):
            oracle.close()


def answer_writer(
    request: SessionRequest, opened: Opened, path: Path, note: Note
) -> AnswerWriter | None:
    """Stores what persons say. A script's answers are stored only on request."""
    at_terminal = request.answers is None and sys.stdin is not None and sys.stdin.isatty()
    if not (at_terminal if request.remember is None else request.remember):
        return None
    folder = project_folder(path)
    if folder is None:
        if not request.remember:
            return None
        folder = recordings.folder()
    is_off = OracleTurned(REMEMBERED, on=False) in turned_off(request, ())
    answers = AnswerFile(folder / NAME)
    return AnswerWriter(answers, _identify(opened, folder), note, settles=not is_off)


def project_folder(path: Path) -> Path | None:
    """The `.whence` that a file lies in or beside, else that of the working directory."""
    return recordings.nearest(path.parent) or recordings.nearest()


def answer_file(path: Path | None, note: Note) -> AnswerFile:
    """The answers of a file, or of the project."""
    if path is None:
        folder = recordings.nearest()
        if folder is None:
            raise UsageError("there is no folder .whence here or above: nothing is remembered")
        path = folder / NAME
    return AnswerFile(path, note)


def _identify(opened: Opened, folder: Path) -> Identify:
    """How the calls of a tree are known in every run."""
    return identify if opened.identify is None else opened.identify(folder.parent)
