"""Puts a session together: the tree, the oracles, the log, the re-runs, and what surrounds them.

Every interface opens its sessions here. What it opens is closed by the `ExitStack` that it is
given, whatever happens in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from whence.app import oracle_gathering
from whence.app.frontends import sources_of
from whence.app.progress import ProgressReporter
from whence.app.session_driver import AnswerSink, SessionDriver
from whence.app.session_request import SessionRequest
from whence.model.replay_settings import ReplaySettings
from whence.model.verdict import Trust, TrustScope
from whence.ports import Note, Opened, Oracle, OracleSet, Reruns, RunJudge, Tree
from whence.search.registry import find_strategy
from whence.session import log_entries
from whence.session.events import Answered, Event, StrategyChosen, SwitchTurned, TrustGiven
from whence.session.log_entries import LogEntry
from whence.session.state import Options, State
from whence.store.session_log import NoSession, OtherTree, SessionLog, put_aside
from whence.ui.terminal.listing import find_function

Log = SessionLog[LogEntry]


@dataclass(frozen=True)
class Surroundings:
    """What an interface offers a session."""

    note: Note
    """Shows whoever answers one sentence."""
    waiting: ProgressReporter
    log: Callable[[], Log | None]
    """Opens the session's log; called once everything that could refuse the request has passed."""
    ask_to_run: Callable[[Reruns], bool] = lambda reruns: False
    follows_unasked: bool = False
    """Whether marks are followed by re-runs although no person can be asked."""
    answer_sink: AnswerSink | None = None


@dataclass(frozen=True)
class PreparedSession:
    """A session that was not started yet."""

    driver: SessionDriver
    settings: Sequence[Event]
    """What the request asks for, as the first events."""
    oracles: Sequence[Oracle]
    run_judge: RunJudge | None
    """Judges the run as a whole, before any call is judged."""
    resumes: bool
    """Whether it goes on with an earlier session."""

    def judged_run(self, surroundings: Surroundings) -> Sequence[Event]:
        """The first events of a new session, if the run can be judged as a whole."""
        if self.resumes or self.run_judge is None:
            return ()
        answers, trusts = self.run_judge.judge_run(surroundings.note, surroundings.waiting)
        return [Answered(tuple(answers)), *map(TrustGiven, trusts)] if answers else ()


def prepare_session(
    request: SessionRequest,
    opened: Opened,
    path: Path,
    surroundings: Surroundings,
    resources: ExitStack,
    *,
    top_is_wrong: bool = False,
    is_zoom: bool = False,
) -> PreparedSession:
    """Put a session together.

    `top_is_wrong`: the user has already said so. `is_zoom`: the tree holds the steps of one call;
    oracles do not know them, and answers are not stored.
    """
    note, waiting, tree = surroundings.note, surroundings.waiting, opened.tree
    settings = _settings(request, tree)
    ours = OracleSet() if is_zoom else oracle_gathering.language_oracles(opened, request)
    oracles = [] if is_zoom else oracle_gathering.gather(request, opened, path, ours, note)
    resources.callback(oracle_gathering.close, oracles)
    settings += oracle_gathering.turned_off(request, oracles)
    log = surroundings.log()
    if log is not None:
        resources.callback(log.close)
    driver = SessionDriver(
        state=State(
            tree,
            opened.provenance,
            options=Options(ask_top=False, confirm_top=False) if top_is_wrong else Options(),
            prior=oracle_gathering.prior(request, opened, path, note),
            presumption=None if opened.priors is None else opened.priors.presumption(),
            chronology=opened.chronology,
            graph=opened.call_graph,
        ),
        oracles=oracles,
        log=log,
        notify=note,
        sources=sources_of(opened),
        reruns=opened.reruns,
        marks_lines=request.rerun is not False,
        may_run=bool(request.rerun),
        follows_unasked=surroundings.follows_unasked,
        ask_to_run=surroundings.ask_to_run,
        waiting=waiting,
        answer_sink=None if is_zoom else surroundings.answer_sink,
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
    resumes = log is not None and bool(log.entries)
    return PreparedSession(driver, settings, oracles, ours.run_judge, resumes)


def check_request(request: SessionRequest, tree: Tree) -> None:
    """Raise what is wrong with a request, before an earlier session is changed."""
    _settings(request, tree)


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


def own_log(file: Path, opened: Opened, path: Path, note: Note) -> Log:
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
