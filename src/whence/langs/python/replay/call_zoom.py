"""Zooms into one recorded call: a re-run records the steps of that call.

Invariant: nothing is believed of a run that diverged before the end of the call, and nothing is
said of a call whose source has changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from typing import Any

from whence.langs.python.debuggee.order import Task, Zoom
from whence.langs.python.oracles.type_hints import unchanged_files
from whence.langs.python.replay.alignment import contradiction, first_divergence, texts_agree
from whence.langs.python.replay.full_replay import FullReplay
from whence.langs.python.replay.rerun_process import (
    CannotReplay,
    ReplayDiverged,
    RerunOutcome,
    report_in,
)
from whence.langs.python.source.operation_spans import span_of
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.langs.python.zoom.function_body import CannotZoom, FunctionBody, find_body
from whence.langs.python.zoom.segments import Segment, SegmentEnding, read_segments
from whence.langs.python.zoom.step_log import StepLog
from whence.langs.python.zoom.step_provenance import StepProvenance
from whence.langs.python.zoom.step_recorder import MOST_EVENTS, ZoomRequest
from whence.langs.python.zoom.step_tree import ZoomedCall
from whence.langs.python.zoom.step_variables import StepVariables
from whence.model.call import Call, OutcomeKind
from whence.model.primitive import WorkedOut
from whence.model.value import Kind, is_cut, show
from whence.regular_files import read_regular_file
from whence.tree.column_tree import ColumnTree

ENDLESS = 3_000
"""The most events recorded of a call that did not end."""
_STEP_LOG = "zoom.json"


@dataclass(frozen=True)
class CallZoom:
    """Re-runs that go into one call."""

    tree: ColumnTree
    full: FullReplay

    def check(self, node: int) -> None:
        """Raise `CannotReplay` if it is known that a call cannot be zoomed into."""
        self._body_of(node)

    def zoom(self, node: int) -> tuple[ColumnTree, StepProvenance]:
        """The steps of a call as a tree, and where values came from among them."""
        code, body, events, whole = self._read(node)
        return ZoomedCall(events, body, whole, self.tree, node, code.file).searched()

    def worked_out(self, node: int) -> WorkedOut:
        """The variables of a call where it raised, and the values of the statement's parts."""
        _, body, events, whole = self._read(node)
        raising = whole
        while raising.children and raising.children[-1].ending is SegmentEnding.RAISE:
            raising = raising.children[-1]
        if raising.ending is not SegmentEnding.RAISE:
            return WorkedOut()
        return WorkedOut(
            {name: events.value(value) for name, value in events.states[raising.end].items()},
            {span_of(body.expressions[part]): events.value(value) for part, value in raising.parts},
        )

    def _read(self, node: int) -> tuple[CodeEntry, FunctionBody, StepLog, Segment]:
        """The code of a call, its body, and its steps in a re-run."""
        code, body = self._body_of(node)
        position = self.tree.position(node)
        call = self.tree.call(position)
        ended = call.outcome.kind is not OutcomeKind.NOT_TERMINATED
        request = ZoomRequest(
            node, code.file, code.first_line, code.qualname, StepVariables(body).of_module,
            MOST_EVENTS if ended else ENDLESS,
        )  # fmt: skip
        log, printed = self._events_of(request, call)
        events = StepLog(log, printed)
        try:
            whole = read_segments(events, body)
        except CannotZoom as why:
            raise CannotReplay(f"call {node} cannot be zoomed into: {why}") from None
        difference = _other_end(call, events, whole)
        if difference:
            raise ReplayDiverged(f"call {node} {difference}")
        return code, body, events, whole

    def _body_of(self, node: int) -> tuple[CodeEntry, FunctionBody]:
        """The code of a call and the body that it ran."""
        tree = self.tree
        position = tree.position(node)
        source = tree.sources[int(tree.source_of[position])]
        detail = int(tree.details[position])
        if not isinstance(source, TraceSource) or detail < 1:
            raise CannotReplay(f"call {node} is no call of a function, so it has no steps")
        code = source.code(detail)
        if code.is_text:
            raise CannotReplay(f"the text of {code.qualname} is in no file")
        if code.module not in unchanged_files(source):
            raise CannotReplay(f"{code.file} has changed since it was recorded")
        try:
            text = decode_source(read_regular_file(code.file))
            return code, find_body(text, code.first_line, code.qualname)
        except CannotZoom as why:
            raise CannotReplay(str(why)) from None
        except (OSError, SyntaxError, ValueError) as problem:
            raise CannotReplay(f"{code.file} cannot be read: {problem}") from None

    def _events_of(self, request: ZoomRequest, call: Call) -> tuple[dict[str, Any], bytes]:
        """The step log of the call in a re-run, and its output."""
        node = request.node

        def task(folder: Path) -> Task:
            return Task(zoom=Zoom(request.text(), str(folder / _STEP_LOG)))

        with self.full.run(node, task) as (again, folder):
            output = folder / _STEP_LOG
            if not output.exists():
                problem = RerunOutcome(report_in(folder)).problem
                if problem:
                    raise CannotReplay(f"call {node} was not run to its end again: {problem}")
                if call.outcome.kind is OutcomeKind.YIELDED and not call.outcome.yielded:
                    raise CannotReplay(
                        f"call {node} has no steps: the generator was created but never advanced"
                    )
                raise CannotReplay(
                    f"the program was run again, and no steps of call {node} were recorded: it "
                    "did not begin, or its code is compiled again while the program runs"
                )
            log = json.loads(output.read_text(encoding="utf-8"))
            last = max(node, *(event[4] for event in log["events"] if len(event) > 4))
            divergence = first_divergence(self.tree, again, last)
            difference = contradiction(call, again.call(again.position(node)))
            if divergence is not None or difference:
                raise ReplayDiverged(str(divergence or f"at call {node}, {difference}"))
            return log, output.with_name(f"{output.name}.printed").read_bytes()


def _other_end(call: Call, events: StepLog, whole: Segment) -> str:
    """How the end of a call differs from the recorded one; empty if it does not."""
    outcome = call.outcome
    if whole.ending is SegmentEnding.CUT:
        return ""
    if (outcome.kind is OutcomeKind.RAISED) != (whole.ending is SegmentEnding.RAISE):
        return "ended differently"
    if outcome.kind is not OutcomeKind.RETURNED or whole.value is None or outcome.value is None:
        return ""
    before, now = outcome.value, events.value(whole.value)
    comparable = before.kind is Kind.ATOM and not (is_cut(before) or is_cut(now))
    if comparable and not texts_agree(show(before), show(now)):
        return f"gave {show(before)}, now {show(now)}"
    return ""
