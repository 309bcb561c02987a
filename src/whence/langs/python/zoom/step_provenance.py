"""The `Provenance` of a call's steps: which step created a marked part, which could influence it.

A marked part leads to the step that set it last, through the steps that only copied it. What
happened before the call began, or below a call that a step made, is not known here.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whence.langs.python.zoom.actions import Action, Actions
from whence.langs.python.zoom.assignment_history import AssignmentHistory
from whence.langs.python.zoom.copied_parts import ExpressionPart, VariablePart
from whence.langs.python.zoom.function_body import FunctionBody
from whence.langs.python.zoom.segments import Segment, SegmentEnding, SegmentKind
from whence.langs.python.zoom.step_log import StepLog
from whence.langs.python.zoom.step_slices import Seed, StepSlices, Width
from whence.langs.python.zoom.step_source import STILL_TO_COME, StepSource
from whence.langs.python.zoom.step_variables import StepVariables
from whence.model.call import PRINTED, RAISED, RESULT, YIELDED, MarkedPart
from whence.model.origin import Influence, Origin
from whence.model.value import Steps as Path
from whence.model.value import parse_path
from whence.ports import Provenance, Tree

_BEGAN = "it had this value when the call began"
_BELOW = "what happened below a call that a step made is not known here"
_CHANGED = "it was computed from its old value, last by"
_UNSEEN = "no step is known to have set it"


@dataclass(frozen=True)
class StepPlaces:
    """Where the steps stand in the tree, and the calls that they made."""

    call: int
    """The id of the call that they are the steps of."""
    segments: Sequence[Segment]
    first: int
    """The id of the first of them; the others follow."""
    calls: Mapping[int, Sequence[int]]
    """For each step that made calls itself their ids."""
    others: frozenset[int]
    """Calls that no step is known to have made."""

    def owner(self, node: int) -> Segment | None:
        """The step that made a call."""
        for step, calls in self.calls.items():
            if node in calls:
                return self.segments[step - self.first]
        return None


class StepProvenance:
    """Origins and influences among the steps of one call."""

    def __init__(
        self,
        log: StepLog,
        body: FunctionBody,
        whole: Segment,
        source: StepSource,
        places: StepPlaces,
    ):
        self._log, self._whole, self._source, self._places = log, whole, source, places
        self._actions = Actions(whole, log, body)
        self._histories = AssignmentHistory(log, self._actions)
        self._slices = StepSlices(self._actions, StepVariables(body), self._histories)
        self._ids = {id(segment): places.first + n for n, segment in enumerate(places.segments)}

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The step that set the marked part last."""
        seed = self._seed(node, part)
        if isinstance(seed, str):
            return Origin(None, unknown=seed)
        chain = [] if seed.action is None else [seed.action]
        if seed.part is not None:
            assignments = list(self._histories.assignments(seed.part, seed.place))
            chain += [assignment.action for assignment in assignments]
            last = assignments[-1].copied if assignments else seed.part
            if last is not None:
                return Origin(None, unknown=self._why_older(last))
        step = chain[-1]
        if seed.part is not None and self._histories.adds_to(step, assignments[-1].part):
            return Origin(None, unknown=f"{_CHANGED} {self._source.labels.label(step.segment)}")
        nodes = tuple(self._ids[id(action.segment)] for action in reversed(chain))
        where = self._source.labels.rule(step.segment)[1].location
        return Origin(nodes[0], nodes, frozenset(nodes[1:]), where)

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """The steps that could have influenced the part; never all that could have."""
        seed = self._seed(node, part)
        if isinstance(seed, str):
            return None
        slices: list[frozenset[int]] = []
        for width in Width:
            slices.append(self._nodes(seed, width).union(*slices))
        return Influence(slices[0], complete=False, wider=tuple(slices[1:]))

    def with_tree(self, tree: Tree) -> Provenance:
        """Steps do not become more."""
        return self

    def _why_older(self, part: VariablePart) -> str:
        """Why the action that set a part is unknown."""
        name = f"{part.name}{''.join(part.steps)}"
        return f"{name}: {_BEGAN if part.name in self._log.states[0] else _UNSEEN}"

    def _nodes(self, seed: Seed, width: Width) -> frozenset[int]:
        own, holding = self._slices.slice(seed, width)
        steps = {self._ids[id(segment)] for segment in holding if id(segment) in self._ids}
        calls = {
            call
            for step in own
            if id(step) in self._ids
            for call in self._places.calls.get(self._ids[id(step)], ())
        }
        rest = {
            self._ids[id(segment)]
            for segment in self._places.segments
            if segment.kind is SegmentKind.REST
        }
        return frozenset({self._places.call} | steps | calls | rest | self._places.others)

    # --- what was marked --------------------------------------------------------------------------

    def _seed(self, node: int, part: MarkedPart) -> Seed | str:
        if node == self._places.call:
            return self._seed_on_call(part)
        if not 0 <= node - self._places.first < len(self._places.segments):
            return self._seed_on_callee(node, part)
        segment = self._places.segments[node - self._places.first]
        root, steps = part.mark.root, part.mark.steps
        if part.is_input:
            return self._seed_before(
                segment, self._source.named(segment, root, part.position), steps
            )
        if root in self._source.changed(segment):
            return Seed(segment.end, VariablePart(root, steps))
        return self._seed_of_outcome(segment, root, steps)

    def _seed_on_call(self, part: MarkedPart) -> Seed | str:
        """A mark on the call itself: on its outcome, or on what it changed in its arguments."""
        root, steps = part.mark.root, part.mark.steps
        if part.is_input:
            return _BEGAN
        if root in (RESULT, RAISED, YIELDED, PRINTED):
            return self._seed_of_outcome(self._whole, root, steps)
        name, inner = parse_path(root)
        return Seed(self._whole.end, VariablePart(name, (*inner, *steps)))

    def _seed_of_outcome(self, segment: Segment, root: str, steps: Path) -> Seed | str:
        if root == YIELDED and steps:
            return self._seed_of_yield(segment, int(steps[0][1:-1]), steps[1:])
        if root == PRINTED and steps:
            return self._seed_of_output(segment, int(steps[0][1:-1]))
        return self._seed_of_result(segment, steps)

    def _seed_on_callee(self, node: int, part: MarkedPart) -> Seed | str:
        """A mark on a recorded call: the step that made it read its arguments."""
        owner = self._places.owner(node)
        action = None if owner is None else self._last_action(owner)
        if not part.is_input or action is None:
            return _BELOW
        return Seed(action.first, action=action)

    def _seed_before(self, segment: Segment, name: str, steps: Path) -> Seed | str:
        if name == STILL_TO_COME:
            items = [
                action
                for action in self._actions.in_time
                if action.segment.kind is SegmentKind.ITEMS
                and action.segment.number == segment.number
                and action.end <= segment.first
            ]
            return Seed(items[-1].end, action=items[-1]) if items else _UNSEEN
        states = self._log.states
        # If the step should have changed it and did not, the mark is about its end.
        same = states[segment.first].get(name) == states[segment.end].get(name)
        return Seed(segment.end if same else segment.first, VariablePart(name, steps))

    def _seed_of_result(self, segment: Segment, steps: Path) -> Seed | str:
        """What was returned or raised, or the value of a test."""
        ending = segment
        while segment.ending is not None:
            inside = [child for child in ending.children if child.ending is segment.ending]
            if not inside:
                break
            ending = inside[-1]
        action = self._last_action(ending)
        if action is None:
            return _UNSEEN
        node = self._actions.node(ending)
        expression = node.value if isinstance(node, ast.Return) else None
        if ending.kind in (SegmentKind.TEST, SegmentKind.ITEMS):
            [expression] = [piece for piece in action.pieces if isinstance(piece, ast.expr)]
        if ending.ending is SegmentEnding.RAISE:
            expression = None
        return self._seed_of_expression(action, expression, steps)

    def _seed_of_yield(self, segment: Segment, number: int, steps: Path) -> Seed | str:
        events = self._log.events
        yields = [n for n in range(segment.first, segment.end + 1) if events[n][0] == "yield"]
        inside = [
            action
            for action in self._actions.in_time
            if number < len(yields) and action.first <= yields[number] <= action.end
        ]
        if not inside:
            return _UNSEEN
        action = inside[-1]
        yielded = [
            node.value
            for piece in action.pieces
            for node in ast.walk(piece)
            if isinstance(node, ast.Yield)
        ]
        return self._seed_of_expression(action, yielded[0] if len(yielded) == 1 else None, steps)

    def _seed_of_output(self, segment: Segment, line: int) -> Seed | str:
        """The action that printed the beginning of a line."""
        ranges = self._log.printed_from(segment.first, segment.end)
        before = self._log.output_between(segment.first, segment.end).split("\n")[:line]
        left = len("".join(f"{text}\n" for text in before).encode())
        for low, high in ranges:
            if left < high - low:
                return self._seed_printing(low + left)
            left -= high - low
        return _UNSEEN

    def _seed_printing(self, offset: int) -> Seed | str:
        for action in self._actions.in_time:
            ranges = self._log.printed_from(action.first, action.end)
            if any(low <= offset < high for low, high in ranges):
                return Seed(action.end, action=action)
        return _UNSEEN

    def _seed_of_expression(self, action: Action, expression: ast.expr | None, steps: Path) -> Seed:
        """What an action made of an expression, or of the part that this is a copy of."""
        put = None if expression is None else ExpressionPart(expression, steps)
        source = None if put is None else self._histories.source(action, put)
        if source is None:
            return Seed(action.end, action=action)
        return Seed(action.first, source, action)

    def _last_action(self, segment: Segment) -> Action | None:
        actions = [action for action in self._actions.in_time if action.segment is segment]
        return actions[-1] if actions else None
