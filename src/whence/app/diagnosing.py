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
from whence.app.frontends import sources_of
from whence.app.progress import ProgressDisplay
from whence.app.report_writing import check_output, write_report
from whence.app.session_driver import SessionDriver
from whence.app.session_request import SessionRequest
from whence.errors import UsageError, WhenceError
from whence.model.diagnosis import Diagnosis, Status
from whence.model.replay_settings import ReplayMode, ReplaySettings
from whence.model.symptom import Symptom
from whence.model.verdict import Trust, TrustScope
from whence.ports import Note, Opened, OracleSet, Reruns, Tree
from whence.report.record import exit_code
from whence.search.registry import find_strategy
from whence.session import log_entries
from whence.session.events import Answered, Event, StrategyChosen, SwitchTurned, TrustGiven
from whence.session.log_entries import LogEntry
from whence.session.state import Options, State
from whence.store.session_log import (
    NoSession,
    OtherTree,
    SessionLog,
    default_path,
    is_session,
    put_aside,
)
from whence.ui.terminal.listing import find_function
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
    tree = opened.tree
    # Errors in the request are raised before an earlier session is changed.
    settings = _settings(request, tree)
    check_output(request.output)
    waiting = ProgressDisplay()
    with ExitStack() as resources:
        screen = _screen(request, resources)
        runs_nothing = request.rerun is False and request.replay is ReplayMode.OFF
        if opened.trust is not None and not (runs_nothing and request.reference is None):
            settle_trust(opened.trust, path, screen, allowed=request.trust_recording)
        ours = OracleSet() if is_zoom else oracle_gathering.language_oracles(opened, request)
        oracles = (
            [] if is_zoom else oracle_gathering.gather(request, opened, path, ours, screen.note)
        )
        resources.callback(oracle_gathering.close, oracles)
        settings += oracle_gathering.turned_off(request, oracles)
        log = _session_log(request, opened, path, about, screen.note)
        if log is not None:
            resources.callback(log.close)
        driver = SessionDriver(
            state=State(
                tree,
                opened.provenance,
                options=Options(ask_top=False, confirm_top=False) if top_is_wrong else Options(),
                prior=oracle_gathering.prior(request, opened, path, screen.note),
                presumption=None if opened.priors is None else opened.priors.presumption(),
                chronology=opened.chronology,
                graph=opened.call_graph,
            ),
            oracles=oracles,
            log=log,
            notify=screen.note,
            sources=sources_of(opened),
            reruns=opened.reruns,
            marks_lines=request.rerun is not False,
            may_run=bool(request.rerun),
            follows_unasked=request.rerun is None and not screen.interactive,
            ask_to_run=lambda reruns: request.rerun is None and _ask_to_run(screen, reruns),
            waiting=waiting,
            answer_sink=(
                None
                if is_zoom
                else oracle_gathering.answer_writer(request, opened, path, screen.note)
            ),
            recording_notes=() if opened.recording is None else opened.recording.notes,
            tests=opened.tests,
        )
        if opened.replay is not None:
            opened.replay.configure(
                ReplaySettings(
                    request.replay,
                    request.node_budget,
                    waiting.show,
                    driver.judged_right,
                    waiting.with_progress,
                )
            )
            resources.callback(opened.replay.close)
        if log is not None and log.entries:
            screen.note(f"Resuming the session in {log.path}; --fresh starts a new one.")
        resumes = log is not None and bool(log.entries)
        if resumes and symptom is not None:
            _check_symptom(opened, symptom, path)
        opening: Sequence[Event] | Diagnosis = ()
        if not resumes and symptom is None and ours.run_judge is not None:
            judged = ours.run_judge.judge_run(screen.note, waiting)
            if isinstance(judged, Diagnosis):
                opening = judged
            elif judged[0]:
                opening = [Answered(tuple(judged[0])), *map(TrustGiven, judged[1])]
        if not opening and first is not None and not resumes:
            opening = first(screen)
        if isinstance(opening, Diagnosis):
            diagnosis = opening
            result = "There is nothing to find" if opening.reason != LEFT else "Nothing was found"
            if opening.definitions:
                result = "The fault is in no call that was recorded"
            screen.note(f"{result}: {opening.reason}.")
        else:
            try:
                outcome, left = converse(driver, screen, driver.start([*settings, *opening]))
            except KeyboardInterrupt:
                screen.note(left_early(driver, STOPPED))
                raise
            diagnosis = driver.diagnosis(outcome, left)
        oracle_gathering.say_notes(oracles, screen.note)
        write_report(request, driver, diagnosis, screen.note)
    if driver.failures and diagnosis.status is not Status.FOUND:
        raise WhenceError("; ".join(driver.failures))
    return exit_code(diagnosis)


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


def _settings(request: SessionRequest, tree: Tree) -> list[Event]:
    """The request as events at the start of the session."""
    settings: list[Event] = []
    if request.strategy is not None:
        settings.append(StrategyChosen(find_strategy(request.strategy).name))
    for name, is_wanted, on in (
        ("compression", request.compress, True),
        ("single_rule", request.single_rule, True),
        ("duplicates", request.no_duplicates, False),
        ("slicing", request.no_slicing, False),
        ("presumption", request.no_presumption, False),
    ):
        if is_wanted:
            settings.append(SwitchTurned(name, on))
    return settings + [TrustGiven(_trust(tree, text)) for text in request.trust]


def _trust(tree: Tree, text: str) -> Trust:
    scope, _, name = text.partition(":")
    scopes = {scope.value: scope for scope in TrustScope}
    if name and scope in scopes and scope != TrustScope.FUNCTION.value:
        return Trust(scopes[scope], name)
    text = name if name and scope == TrustScope.FUNCTION.value else text
    return Trust(TrustScope.FUNCTION, tree.functions[find_function(tree, text)].name)


def _session_log(
    request: SessionRequest, opened: Opened, path: Path, about: str, note: Note
) -> SessionLog[LogEntry] | None:
    """The session's log. A script's session is logged only if a file is named."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    if request.no_session or (
        request.session is None and not (request.answers is None and at_terminal)
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


def own_log(file: Path, opened: Opened, path: Path, note: Note) -> SessionLog[LogEntry]:
    """The log that whence keeps unasked; one about an earlier run is moved out of the way.

    Two runs of a program may have equal recordings, but the second need not be wrong in the same
    way. So a run that began after the session was last written starts a new session. The time of
    the recording's file says nothing: a copy is newer, too.
    """
    if opened.began is not None and _written_before(file, opened.began):
        note(f"{path} was recorded again; the earlier session is in {put_aside(file)}.")
    try:
        return SessionLog(file, opened.tree, str(path), log_entries, note)
    except OtherTree:
        old = put_aside(file)
        note(f"{path} has changed since it was debugged; the earlier answers are in {old}.")
    except NoSession:
        note(f"{file} is damaged; it is in {put_aside(file)} now, and a new session begins.")
    return SessionLog(file, opened.tree, str(path), log_entries, note)


def _written_before(file: Path, moment: float) -> bool:
    try:
        return file.stat().st_mtime < moment
    except OSError:
        return False
