"""Holds one session from the first question to the report.

Every command that ends in a diagnosis ends here. All that is opened for a session (answers, session
log, oracles, re-runs) is closed again, whatever happens in between.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from whence.app import oracle_gathering
from whence.app.foreign_recordings import settle_trust
from whence.app.page_session import LEFT as LEFT_PAGE
from whence.app.page_session import NOBODY, Page
from whence.app.progress import ProgressDisplay
from whence.app.report_writing import check_output, write_report
from whence.app.session_driver import SessionDriver
from whence.app.session_opening import Surroundings, check_request, own_log, prepare_session
from whence.app.session_request import SessionRequest
from whence.errors import UsageError, WhenceError
from whence.model.diagnosis import Diagnosis, Status
from whence.model.replay_settings import ReplayMode
from whence.model.symptom import Symptom
from whence.ports import Note, Opened, Reruns
from whence.report.record import exit_code
from whence.report.text import lines as report_lines
from whence.session import log_entries
from whence.session.events import Event, Exhausted, Found, Outcome
from whence.session.log_entries import LogEntry
from whence.store.session_log import (
    SessionLog,
    default_path,
    is_session,
    put_aside,
)
from whence.ui.terminal.loop import LEFT, STOPPED, converse
from whence.ui.terminal.messages import left_early
from whence.ui.terminal.screen import Screen, wrap
from whence.ui.terminal.screen_choice import choose_screen

First = Callable[[Screen], Sequence[Event] | Diagnosis]
"""Finds the events before the first question of a session, or why there is nothing to find."""


def diagnose(
    request: SessionRequest,
    opened: Opened,
    path: Path,
    first: First | None = None,
    *,
    top_is_wrong: bool = False,
    symptom: Symptom | None = None,
    is_zoom: bool = False,
    about: str = "",
) -> int:
    """Hold the session, write the diagnosis, and return the exit code.

    `top_is_wrong`: the user has already said so. `symptom`: what the user says is wrong with the
    run. `is_zoom`: the tree holds the steps of one call; oracles do not know them, and answers are
    not stored. `about`: which of several trees of one file this is.
    """
    # Errors in the request are raised before an earlier session is changed.
    check_request(request, opened.tree)
    check_output(request.output)
    page = Page(request) if request.web else None
    with ExitStack() as resources:
        screen = _screen(request, resources)
        note = screen.note if page is None else page.notes.append
        runs_nothing = request.rerun is False and request.replay is ReplayMode.OFF
        if opened.trust is not None and not (runs_nothing and request.reference is None):
            settle_trust(opened.trust, path, screen, allowed=request.trust_recording)
        surroundings = Surroundings(
            note,
            ProgressDisplay() if page is None else page.progress,
            lambda: _session_log(request, opened, path, about, note),
            ask_to_run=lambda reruns: (
                request.rerun is None and page is None and _ask_to_run(screen, reruns)
            ),
            follows_unasked=request.rerun is None and page is None and not screen.interactive,
            answer_sink=(
                None if is_zoom else oracle_gathering.answer_writer(request, opened, path, note)
            ),
        )
        prepared = prepare_session(
            request, opened, path, surroundings, resources,
            top_is_wrong=top_is_wrong, is_zoom=is_zoom,
        )  # fmt: skip
        driver, resumes = prepared.driver, prepared.resumes
        if resumes and driver.log is not None:
            screen.note(f"Resuming the session in {driver.log.path}; --fresh starts a new one.")
        if resumes and symptom is not None:
            _check_symptom(opened, symptom, path)
        opening: Sequence[Event] | Diagnosis = ()
        if symptom is None:
            opening = prepared.judged_run(surroundings)
        # On the page, what is wrong about a run is asked there.
        asks_here = page is None or opened.symptoms is None or len(opened.tree.columns) == 1
        if not opening and first is not None and not resumes and asks_here:
            opening = first(screen)
        if isinstance(opening, Diagnosis):
            diagnosis = opening
            result = "There is nothing to find" if opening.reason != LEFT else "Nothing was found"
            if opening.definitions:
                result = "The fault is in no call that was recorded"
            screen.note(f"{result}: {opening.reason}.")
        elif page is not None:
            outcome = page.hold(path, prepared, opening, symptom, opened.symptoms)
            diagnosis = _left_on_page(driver, outcome, screen)
        else:
            try:
                outcome, left = converse(
                    driver, screen, driver.start([*prepared.settings, *opening])
                )
            except KeyboardInterrupt:
                screen.note(left_early(driver, STOPPED))
                raise
            diagnosis = driver.diagnosis(outcome, left)
        oracle_gathering.say_notes(prepared.oracles, screen.note)
        write_report(request, driver, diagnosis, screen.note)
    if driver.failures and diagnosis.status is not Status.FOUND:
        raise WhenceError("; ".join(driver.failures))
    return exit_code(diagnosis)


def _left_on_page(driver: SessionDriver, outcome: Outcome | None, screen: Screen) -> Diagnosis:
    """How a session stands that was held on the page, and what its person is told here."""
    if outcome is None:
        return Diagnosis(Status.UNDETERMINED, reason=NOBODY)
    diagnosis = driver.diagnosis(outcome, LEFT_PAGE)
    if isinstance(outcome, Found | Exhausted):
        findings = driver.findings(diagnosis)
        screen.say(*report_lines(driver.state, diagnosis, driver.sources, findings))
    else:
        screen.note(left_early(driver, LEFT_PAGE))
    return diagnosis


def _check_symptom(opened: Opened, symptom: Symptom, path: Path) -> None:
    """Refuse a symptom that is not the one that a resumed session is about."""
    known = None if opened.symptoms is None else opened.symptoms.stored()
    if known is None or replace(known, by_person=symptom.by_person) != symptom:
        raise UsageError(
            f"there is a session about {path} already, which began with something else that is "
            "wrong: leave out --wrong to go on with it, or add --fresh to start a new one"
        )


def _ask_to_run(screen: Screen, reruns: Reruns) -> bool:
    if not screen.interactive:
        return False
    told = f"What you marked can be followed if this runs again: {reruns.command}"
    screen.say(*wrap(told, screen.width))
    if not reruns.is_harmless:
        screen.say("It repeats its effects on files and on other programs.")
    reply = screen.read("Run it again for your marks? [Y/n] ")
    return reply is not None and reply.strip().lower() in ("", "y", "yes")


def _screen(request: SessionRequest, resources: ExitStack) -> Screen:
    to_stdout = request.format != "text" and request.output is None
    return choose_screen(
        answers=_answers(request.answers, resources),
        output=sys.stderr if to_stdout else sys.stdout,
        plain=request.plain or to_stdout,
    )


def _answers(name: str | None, resources: ExitStack) -> TextIO | None:
    """The stream that answers are read from; None: the terminal."""
    if name is None:
        return None
    if name == "-":
        return sys.stdin
    try:
        return resources.enter_context(Path(name).open(encoding="utf-8", errors="replace"))
    except OSError as problem:
        raise WhenceError(f"{name}: the answers cannot be read ({problem.strerror})") from problem


def _session_log(
    request: SessionRequest, opened: Opened, path: Path, about: str, note: Note
) -> SessionLog[LogEntry] | None:
    """The session's log. A script's session is logged only if a file is named."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    is_kept = at_terminal or request.web
    if request.no_session or (
        request.session is None and not (request.answers is None and is_kept)
    ):
        return None
    try:
        file = request.session or default_path(path, about)
    except WhenceError as problem:
        note(f"This session is not kept: {problem}.")
        return None
    if request.fresh and file.exists():
        if not is_session(file):
            raise WhenceError(f"{file} is not a whence session, so --fresh leaves it alone")
        note(f"The earlier session is in {put_aside(file)}.")
    if request.session is not None:
        return SessionLog(file, opened.tree, str(path), log_entries, note)
    try:
        return own_log(file, opened, path, note)
    except WhenceError as problem:
        note(f"This session is not kept: {problem}.")
        return None
