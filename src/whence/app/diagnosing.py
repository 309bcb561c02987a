"""The options of every command that ends in a diagnosis, and how such a command ends.

`whence debug` is the first of them; recording commands share them, so that scripts and CI drive
all in the same way.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from whence.app import oracle_gathering
from whence.app.frontends import (
    configure_replay,
    graph_of,
    replayed,
    reruns_of,
    sources_of,
)
from whence.app.progress import Waiting
from whence.app.report_writing import check_output, write_report
from whence.app.session_driver import SessionDriver
from whence.errors import WhenceError
from whence.langs.python.trace.trace_provenance import program_of
from whence.model.diagnosis import Diagnosis, Status
from whence.model.verdict import Scope, Trust
from whence.ports import Oracle, Provenance, Tree
from whence.report.record import exit_code
from whence.report.source import Sources
from whence.search.registry import find_strategy
from whence.session import log_entries
from whence.session.events import Event, StrategyChosen, SwitchTurned, TrustGiven
from whence.session.log_entries import LogEntry
from whence.session.state import Options, State
from whence.store.session_log import OtherTree, SessionLog, default_path, is_session
from whence.ui.terminal import choose_screen, converse
from whence.ui.terminal.listing import find_function
from whence.ui.terminal.loop import LEFT
from whence.ui.terminal.screen import Screen

First = Callable[[Screen], Sequence[Event] | Diagnosis]
"""What is said before the first question of a session; or why there is nothing to be found."""


def diagnose(
    options: argparse.Namespace,
    tree: Tree,
    provenance: Provenance | None,
    path: Path,
    first: First | None = None,
    *,
    top_is_wrong: bool = False,
    brought: Sequence[Oracle] = (),
    about: str = "",
    inside: Sources | None = None,
) -> int:
    """Hold the session, write the diagnosis, and return the exit code.

    `top_is_wrong`: the person has said so already, by naming what is wrong. `brought`: oracles that
    the tree's language has made. `about`: which of the trees of one file this is. `inside`: the
    tree is that of the steps of one call, whose source is there; what is said of lines of a text is
    not remembered, and nobody else knows it.
    """
    # Whatever may be wrong with the options is found before an earlier session is touched.
    wishes = _wishes(options, tree)
    configure_replay(provenance, node_budget=options.node_budget)
    asked = oracle_gathering.gather(options, tree, path, brought) if inside is None else []
    wishes += oracle_gathering.turned_off(options, asked)
    check_output(options.output)
    answers, opened = _answers(options.answers)
    to_stdout = options.format != "text" and options.output is None
    screen = choose_screen(
        answers=answers,
        output=sys.stderr if to_stdout else sys.stdout,
        plain=options.plain or to_stdout,
    )
    log = _session_log(options, tree, path, about, screen.note)
    known = Options(ask_top=False, confirm_top=False) if top_is_wrong else Options()
    waiting = Waiting()
    configure_replay(provenance, on_progress=waiting.show)
    debugging = SessionDriver(
        state=State(
            tree,
            provenance,
            options=known,
            prior=oracle_gathering.prior(options, tree, path, screen.note),
            graph=graph_of(tree),
        ),
        oracles=asked,
        log=log,
        notify=screen.note,
        sources=sources_of(tree) if inside is None else inside,
        reruns=reruns_of(provenance, waiting.far),
        marks_lines=options.rerun is not False,
        may_run=bool(options.rerun),
        follows_unasked=options.rerun is None and not screen.interactive,
        waiting=waiting,
        answer_sink=None
        if inside
        else oracle_gathering.answer_writer(options, tree, path, screen.note),
    )
    configure_replay(provenance, judged_right=debugging.judged_right)
    oracle_gathering.tell(asked, screen.note)
    kept = ExitStack()
    kept.enter_context(replayed(provenance, options.replay))
    try:
        if log is not None and log.entries:
            screen.note(f"Going on with the session kept in {log.path}; --fresh starts a new one.")
        goes_on = log is not None and bool(log.entries)
        with oracle_gathering.ended(asked, screen.note):
            said: Sequence[Event] | Diagnosis = ()
            if not goes_on and getattr(options, "wrong", None) is None:
                said = oracle_gathering.seen(asked, tree, screen.note, waiting)
            if not said and first is not None and not goes_on:
                said = first(screen)
            if isinstance(said, Diagnosis):
                diagnosis = said
                found = "There is nothing to find" if said.reason != LEFT else "Nothing was found"
                screen.note(f"{found}: {said.reason}.")
            else:
                outcome, left = converse(debugging, screen, debugging.start([*wishes, *said]))
                diagnosis = debugging.diagnosis(outcome, left)
        write_report(options, debugging, diagnosis, screen.note)
    finally:
        if log is not None:
            log.close()
        if opened:
            opened.close()
        kept.close()
    if debugging.failures and diagnosis.status is not Status.FOUND:
        raise WhenceError("; ".join(debugging.failures))
    return exit_code(diagnosis)


def _answers(name: str | None) -> tuple[TextIO | None, TextIO | None]:
    """Where answers are read from, and the file that has to be closed afterwards."""
    if name is None:
        return None, None
    if name == "-":
        return sys.stdin, None
    try:
        opened = Path(name).open(encoding="utf-8", errors="replace")  # noqa: SIM115
    except OSError as problem:
        raise WhenceError(f"{name}: the answers cannot be read ({problem.strerror})") from problem
    return opened, opened


def _wishes(options: argparse.Namespace, tree: Tree) -> list[Event]:
    """What the options ask for, as if it were said at the start of the session."""
    wishes: list[Event] = []
    if options.strategy is not None:
        wishes.append(StrategyChosen(find_strategy(options.strategy).name))
    for name, given, on in (
        ("compression", options.compress, True),
        ("single_rule", options.single_rule, True),
        ("duplicates", options.no_duplicates, False),
        ("slicing", options.no_slicing, False),
    ):
        if given:
            wishes.append(SwitchTurned(name, on))
    return wishes + [TrustGiven(_trust(tree, text)) for text in options.trust]


def _trust(tree: Tree, text: str) -> Trust:
    scope, _, name = text.partition(":")
    known = {each.value: each for each in Scope}
    if name and scope in known and scope != Scope.FUNCTION.value:
        return Trust(known[scope], name)
    text = name if name and scope == Scope.FUNCTION.value else text
    return Trust(Scope.FUNCTION, tree.functions[find_function(tree, text)].name)


def _session_log(
    options: argparse.Namespace,
    tree: Tree,
    path: Path,
    about: str,
    note: Callable[[str], None],
) -> SessionLog[LogEntry] | None:
    """A person's session is kept by itself; a script's only where a file is named."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    if options.no_session or (
        options.session is None and not (options.answers is None and at_terminal)
    ):
        return None
    place = options.session or default_path(path, about)
    if options.fresh and place.exists():
        if not is_session(place):
            raise WhenceError(f"{place} is not a whence session, so --fresh leaves it alone")
        place.unlink()
    if options.session is not None:
        return SessionLog(place, tree, str(path), log_entries)
    try:
        return _own_log(place, tree, path, note)
    except WhenceError as problem:
        note(f"This session is not kept: {problem}.")
        return None


def _is_younger(recording: Path, session: Path) -> bool:
    try:
        return recording.stat().st_mtime > session.stat().st_mtime
    except OSError:
        return False


def _own_log(
    place: Path, tree: Tree, path: Path, note: Callable[[str], None]
) -> SessionLog[LogEntry]:
    """The session that whence keeps by itself; one about an earlier tree is put aside.

    A program may do the same twice, so that its recordings are alike: the one that is younger than
    the session was made anew in the place of another, and what was wrong then is not known of it.
    """
    if program_of(tree) is not None and _is_younger(path, place):
        place.unlink()
    try:
        return SessionLog(place, tree, str(path), log_entries)
    except OtherTree:
        aside = place.with_name(place.name + ".old")
        place.replace(aside)
        note(f"{path} has changed since it was debugged; the answers of then are in {aside}.")
        return SessionLog(place, tree, str(path), log_entries)
