"""What can be read of an open session without changing it: calls, values, sources, origins."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from whence.app.session_service import SessionService, find_part
from whence.errors import UsageError, WhenceError
from whence.model.call import MarkedPart, OutcomeKind
from whence.model.origin import Origin
from whence.model.value import show
from whence.ports import Following, Int64s
from whence.protocol import requests, views
from whence.protocol.call_views import (
    SUSPECT,
    call_row,
    call_state,
    place_view,
    source_view,
    whole_call,
)
from whence.protocol.problems import Code, Problem
from whence.protocol.values import Bounds, ValueView, value_view
from whence.report.regression_test import write_test
from whence.search.registry import DESCRIPTIONS
from whence.session.events import Found
from whence.tree.readable_call import readable_call
from whence.ui.terminal.messages import source_line

MOST_ROWS = 500
MOST_READ = 20_000
"""So many calls are read to find a text in them."""
_RUN_AGAIN = "the program would have to be run again for it"


def call(session: SessionService, request: requests.Call) -> views.CallView:
    """One call whole."""
    node = session.current() if request.call is None else request.call
    session.call(node)
    bounds = Bounds(request.depth, request.parts, request.total).within_reason()
    driver = session.driver
    return whole_call(driver.state, node, driver.sources, bounds, whole=request.whole)


def value(session: SessionService, request: requests.Value) -> ValueView:
    """A part of a value, unfolded."""
    part = find_part(session.call(request.call), request.path, input_side=_is_input(request.side))
    bounds = Bounds(request.depth, request.parts, request.total, request.text).within_reason()
    return value_view(part.value, str(part.mark), bounds, first=max(0, request.first))


def _is_input(side: str) -> bool:
    if side not in ("input", "outcome"):
        raise Problem(Code.BAD_PARAMETERS, "`side` is input or outcome", "")
    return side == "input"


def calls(session: SessionService, request: requests.Calls) -> views.CallsView:
    """The calls that fulfil all conditions."""
    state, sources = session.driver.state, session.driver.sources
    positions = _among(session, request)
    if request.state:
        space = state.space()
        if request.state == SUSPECT:
            positions = positions[space.is_suspect(positions)]
        else:
            kept = [p for p in positions.tolist() if call_state(space, p) == request.state]
            positions = np.array(kept, dtype=np.int64)
    is_complete = True
    if request.text or request.exception not in ("", "*"):
        read = positions[:MOST_READ]
        is_complete = len(read) == len(positions)
        positions = np.array(
            [p for p in read.tolist() if _has_text(session, p, request)], dtype=np.int64
        )
    limit, offset = max(1, min(request.limit, MOST_ROWS)), max(0, request.offset)
    rows = tuple(
        call_row(state, int(position), sources) for position in positions[offset : offset + limit]
    )
    return views.CallsView(rows, len(positions), offset, is_complete)


def _among(session: SessionService, request: requests.Calls) -> Int64s:
    """The positions that the columns alone select."""
    tree = session.driver.state.tree
    columns = tree.columns
    first, stop = 0, len(columns)
    keeps = np.ones(stop, dtype=bool)
    if request.below is not None:
        session.call(request.below)
        first = tree.position(request.below) + 1
        stop = int(columns.end[first - 1])
    if request.callees_of is not None:
        session.call(request.callees_of)
        keeps &= columns.parent == tree.position(request.callees_of)
    if request.function:
        fitting = [
            number
            for number, function in enumerate(tree.functions)
            if request.function in (function.name, function.short())
        ] or [
            number
            for number, function in enumerate(tree.functions)
            if request.function.lower() in function.name.lower()
        ]
        keeps &= np.isin(columns.function, fitting)
    if request.exception:
        keeps &= columns.outcome == OutcomeKind.RAISED
    keeps[:first] = False
    keeps[stop:] = False
    return np.flatnonzero(keeps)


def _has_text(session: SessionService, position: int, request: requests.Calls) -> bool:
    found, _ = readable_call(session.driver.state.tree, position)
    if request.text and request.text not in found.equation():
        return False
    if request.exception in ("", "*"):
        return True
    raised = found.outcome.value
    return raised is not None and request.exception in show(raised)


def source(session: SessionService, request: requests.Source) -> views.SourceView:
    """The source of a call's function, with the lines that ran as far as that is known."""
    driver = session.driver
    node = session.current() if request.call is None else request.call
    session.call(node)
    executed, unknown = None, ""
    if request.run and driver.reruns is not None:
        try:
            executed = driver.reruns.lines_alone(node)
        except WhenceError as problem:
            unknown = str(problem)
            if driver.may_run or driver.reruns.is_harmless:
                try:
                    executed, unknown = driver.reruns.lines(node), ""
                except WhenceError as again:
                    unknown = str(again)
    return source_view(driver.state, node, driver.sources, executed, unknown)


def why(session: SessionService, request: requests.Why) -> views.WhyView:
    """Where a part of a value came from."""
    driver, state = session.driver, session.driver.state
    node = session.current() if request.call is None else request.call
    part = find_part(session.call(node), request.path, input_side=_is_input(request.side))
    shown = value_view(part.value, str(part.mark), Bounds(depth=1))
    if state.provenance is None:
        unknown = "this tree does not say where values came from"
        return views.WhyView(node, str(part.mark), shown, None, unknown=unknown)
    reruns = driver.reruns
    if isinstance(reruns, Following) and reruns.needs_run(node, part):
        allowed = driver.may_run or request.run or (request.run is None and reruns.is_harmless)
        if not allowed:
            return views.WhyView(
                node, str(part.mark), shown, None, unknown=_RUN_AGAIN, needs_run=True
            )
        with driver.waiting("following the part"):
            reruns.follow(node, part)
    return _why(session, node, part, shown)


def _why(session: SessionService, node: int, part: MarkedPart, shown: ValueView) -> views.WhyView:
    state, sources = session.driver.state, session.driver.sources
    assert state.provenance is not None
    origin = state.provenance.origin(node, part)
    influence = state.provenance.influence(node, part)

    def view(made: Origin) -> views.OriginView:
        row = None
        if made.node is not None:
            row = call_row(state, state.tree.position(made.node), sources)
        lines = source_line(made, sources)
        text = lines[0].strip().partition("  ")[2] if lines else ""
        return views.OriginView(row, place_view(made.location, sources), made.expression, text)

    through = [other for other in origin.chain if other not in (origin.node, node)]
    return views.WhyView(
        node,
        str(part.mark),
        shown,
        None if origin.node is None else view(origin),
        tuple(call_row(state, state.tree.position(other), sources) for other in through),
        tuple(map(view, origin.made_of)),
        tuple(map(view, origin.candidates)),
        None if influence is None else len(influence.nodes),
        "" if origin.node is not None else origin.unknown or "no reason is given",
    )


def strategies(session: SessionService) -> views.StrategiesView:
    """All strategies, with the current one marked."""
    current = session.driver.state.facts.strategy
    return views.StrategiesView(
        tuple(
            views.StrategyView(name, about, name == current) for name, about in DESCRIPTIONS.items()
        )
    )


def regression_test(session: SessionService, request: requests.RegressionTest) -> views.TestView:
    """A regression test for the call at fault, written to its file if that is wanted."""
    outcome = session.outcome
    if not isinstance(outcome, Found):
        raise Problem(Code.NOT_NOW, "a test is for when a call was found to be at fault")
    path = Path(request.path).expanduser() if request.path else None
    test = session.driver.regression_test(outcome.diagnosis, path)
    if request.write:
        write_test(test)
    return views.TestView(test.text, str(test.path), test.note, request.write)


def save(session: SessionService, request: requests.Save) -> views.Done:
    """Write the session to a file."""
    path = Path(request.path).expanduser()
    if path.exists():
        raise UsageError(f"{path} exists already; name another file")
    session.driver.save(path)
    return views.Done(f"Saved in {path}; open it with `log` to go on from there.")
