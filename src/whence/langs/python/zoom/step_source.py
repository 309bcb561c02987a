"""The content of the question about each step: its variables before and after, its ending.

A question shows only the variables that the step reads, and those that it changed and that
something may read later. Invariant: a question depends only on the events of its step and on the
text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from whence.errors import CannotExpand
from whence.langs.python.source.attribute_uses import attributes_used
from whence.langs.python.source.definitions import ModuleDefinitions
from whence.langs.python.source.scopes import names_written
from whence.langs.python.zoom.function_body import FunctionBody
from whence.langs.python.zoom.segments import Segment, SegmentEnding, SegmentKind
from whence.langs.python.zoom.step_labels import LEAVES, StepLabels, header_of
from whence.langs.python.zoom.step_log import State, StepLog
from whence.langs.python.zoom.step_variables import StepVariables
from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Outcome,
    OutcomeKind,
    Rule,
    Step,
)
from whence.model.value import Kind, Value, names_code
from whence.tree.column_tree import ColumnTree

_TO_COME = 12
_ENDINGS = {
    SegmentEnding.RETURN: "returns",
    SegmentEnding.BREAK: "leaves the loop",
    SegmentEnding.CONTINUE: "goes on to the next round",
    SegmentEnding.RAISE: "raises",
    SegmentEnding.CUT: "",
}
STILL_TO_COME = "still to come"
_CUT = "the call was logged only up to here"


class StepSource:
    """Gives the details of steps: the `DetailSource` of their tree."""

    def __init__(
        self, log: StepLog, body: FunctionBody, recorded: ColumnTree, node: int, file: str
    ):
        self._log, self._body = log, body
        self._recorded = recorded
        self.labels = StepLabels(body, recorded, node, file)
        self._variables = StepVariables(body)
        self._module = ModuleDefinitions(body.text)
        self.segments: list[Segment] = []
        self._bound: dict[int, frozenset[str]] = {}
        self._matter: dict[tuple[object, ...], tuple[frozenset[str], frozenset[str]]] = {}

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """A step, or a recorded call if `detail` is negative."""
        if detail < 0:
            return self._recorded.call(self._recorded.position(-1 - detail))
        segment = self.segments[detail]
        value = segment.value if segment.kind in LEAVES or segment.ending is not None else None
        log = self._log
        yielded = tuple(map(log.value, log.yielded(segment.first, segment.end)))
        outcome = Outcome(
            self.outcome_kind(segment), None if value is None else log.value(value), yielded
        )
        return Call(
            function, rule, outcome,
            arguments=tuple(self._before(segment)),
            effects=tuple(self._effects(segment)),
            printed=log.output_between(segment.first, segment.end),
            step=Step(
                self.labels.label(segment), self._ending(segment), self._parts(segment),
                tuple(self._same(segment)), tuple(self._attributes_used(segment)),
            ),
        )  # fmt: skip

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """Always refuses: callees of recorded calls are searched in the recording."""
        if detail >= 0:
            raise CannotExpand(f"{_CUT}: it went on for too long")
        raise CannotExpand(f"calls below call {-1 - detail} are not searched inside another call")

    # --- the content of a question ----------------------------------------------------------------

    def before(self, segment: Segment) -> list[str]:
        """The existing variables that a segment reads."""
        state = self._log.states[segment.first]
        read, _ = self._that_matter(segment)
        return [name for name in state if name in read]

    def named(self, segment: Segment, root: str, position: int) -> str:
        """The variable that the root of a mark means, which may be given by position."""
        return root if position < 0 else list(self._before(segment))[position].name

    def _that_matter(self, segment: Segment) -> tuple[frozenset[str], frozenset[str]]:
        """The variables that a segment reads, and those alive after it; equal for all rounds."""
        is_left = segment.ending is SegmentEnding.BREAK
        bound = self._bound_by_next(segment)
        key = (segment.kind, segment.number, segment.last, is_left, bound)
        if key not in self._matter:
            self._matter[key] = self._read(segment), self.alive(segment)
        return self._matter[key]

    def _before(self, segment: Segment) -> Iterator[Binding]:
        state = self._log.states[segment.first]
        for name in self.before(segment):
            value = self._log.value(state[name])
            if not names_code(value):
                yield Binding(name, value)
        to_come = self._to_come(segment)
        if to_come is not None:
            yield Binding(STILL_TO_COME, to_come)

    def _same(self, segment: Segment) -> Iterator[str]:
        """Containers that occur twice in a value since the segment ran."""
        before, after = self._log.states[segment.first], self._log.states[segment.end]
        for name in self.changed(segment):
            if name in after:
                shared_before = self._log.twice(before[name]) if name in before else frozenset()
                for one, other in sorted(self._log.twice(after[name]) - shared_before):
                    yield f"{name}{one} is {name}{other}"
        if segment.value is not None and segment.ending is SegmentEnding.RETURN:
            for one, other in sorted(self._log.twice(segment.value)):
                yield f"result{one} is result{other}"

    def _attributes_used(self, segment: Segment) -> Iterator[tuple[str, frozenset[str]]]:
        """The objects of which a segment uses only some attributes."""
        if segment.kind is SegmentKind.REST:
            return
        state = self._log.states[segment.first]
        piece = ast.Module(self._nodes(segment), [])
        for name in self.before(segment):
            value = self._log.value(state[name])
            names = [step[1:] for step, _ in value.parts if step.startswith(".")]
            is_whole = value.kind is Kind.OBJECT and len(names) == len(value.parts)
            if is_whole and not value.omitted:
                attributes = attributes_used(self._module, piece, name, value.text, names)
                if attributes is not None:
                    yield name, attributes

    def _nodes(self, segment: Segment) -> list[ast.stmt]:
        """The syntax nodes that a segment runs."""
        node = self.labels.node(segment)
        if segment.kind in LEAVES:
            return [ast.Expr(header_of(node))]
        return self._body.nodes(segment.number, segment.last)

    def _read(self, segment: Segment) -> frozenset[str]:
        node = self.labels.node(segment)
        match segment.kind:
            case SegmentKind.REST:
                return frozenset(self._log.states[segment.first])
            case SegmentKind.TEST | SegmentKind.ITEMS:
                return self._variables.read_by([header_of(node)])
            case SegmentKind.ROUND:
                return self._variables.read_by(getattr(node, "body", []))
            case SegmentKind.ROUNDS if isinstance(node, ast.For | ast.AsyncFor):
                return self._variables.read_by(node.body) - names_written([node.target])
        return self._variables.read(segment.number, segment.last)

    def changed(self, segment: Segment) -> list[str]:
        """The variables that a segment bound or changed, if later code may read them."""
        before, after = self._log.states[segment.first], self._log.states[segment.end]
        bound = self._bound_in(segment)
        changed = [name for name in after if before.get(name) != after[name] or name in bound]
        changed += [name for name in before if name not in after]
        (_, alive), named = self._that_matter(segment), self._variables.named
        # A name that is not in the text is a mangled private name.
        return [name for name in changed if name in alive or name not in named]

    def _bound_in(self, segment: Segment) -> frozenset[str]:
        """The names that the statements of a segment bound."""
        pending = [segment]
        while pending:
            top = pending[-1]
            missing = [child for child in top.children if id(child) not in self._bound]
            if missing:
                pending += missing
                continue
            pending.pop()
            bound = [self._bound[id(child)] for child in top.children]
            if top.kind is SegmentKind.STATEMENT and not top.children and top.ending is None:
                bound.append(self._variables.bound(top.number))
            self._bound[id(top)] = frozenset[str]().union(*bound)
        return self._bound[id(segment)]

    def alive(self, segment: Segment) -> frozenset[str]:
        """What may be read after a segment. The caller holds the arguments, so they count."""
        variables, number = self._variables, segment.number
        if segment.kind is SegmentKind.REST:
            return frozenset()
        names = variables.parameters
        if segment.kind in LEAVES:
            names |= variables.read_by([self.labels.node(segment)])
        if (
            segment.kind in (*LEAVES, SegmentKind.ROUND)
            and segment.ending is not SegmentEnding.BREAK
        ):
            names |= variables.alive_in_loop(number)
        return (names | variables.alive_after(segment.last)) - self._bound_by_next(segment)

    def _bound_by_next(self, segment: Segment) -> frozenset[str]:
        """Names that were bound after a segment but before its final state was logged: the item of
        the next round, the exception of a handler."""
        kind, number = self._log.events[segment.end][:2]
        if kind == "round":
            return names_written(
                [getattr(self._body.statements[number].node, "target", ast.Pass())]
            )
        if kind == "caught":
            handlers = getattr(self._body.statements[number].node, "handlers", [])
            return frozenset(handler.name for handler in handlers if handler.name is not None)
        return frozenset()

    def _effects(self, segment: Segment) -> Iterator[Effect]:
        before, after = self._log.states[segment.first], self._log.states[segment.end]
        for name in self.changed(segment):
            old, new = self._value(before, name), self._value(after, name)
            if new is None or not names_code(new):
                yield Effect(name, old, new)

    def _value(self, state: State, name: str) -> Value | None:
        return self._log.value(state[name]) if name in state else None

    def _to_come(self, segment: Segment) -> Value | None:
        """The items of the remaining rounds that a segment consists of."""
        node = self.labels.node(segment)
        if segment.kind is not SegmentKind.ROUNDS or not isinstance(node, ast.For | ast.AsyncFor):
            return None
        names = [below.id for below in ast.walk(node.target) if isinstance(below, ast.Name)]
        items: list[Value] = []
        above: Segment | None = segment
        while above is not None and len(items) < _TO_COME:
            one = next((child for child in above.children if child.kind is SegmentKind.ROUND), None)
            if one is not None:
                items.append(self._item(self._log.states[one.first], names))
            above = next(
                (child for child in above.children if child.kind is SegmentKind.ROUNDS), None
            )
        count = segment.last_round - segment.round + 1
        parts = tuple((f"[{index}]", item) for index, item in enumerate(items))
        return Value(Kind.LIST, "", parts, omitted=max(0, count - len(items)))

    def _item(self, state: State, names: Sequence[str]) -> Value:
        values = [value for name in names if (value := self._value(state, name)) is not None]
        if len(values) == 1:
            return values[0]
        return Value(Kind.TUPLE, "", tuple((f"[{n}]", value) for n, value in enumerate(values)))

    def _ending(self, segment: Segment) -> str:
        if segment.kind is SegmentKind.REST:
            return "not known, " + _CUT
        if segment.kind in LEAVES:
            return "it is" if segment.kind is SegmentKind.TEST else "it goes over"
        if segment.ending is SegmentEnding.CUT and self._log.is_waiting:
            return "it waits there"
        if segment.ending is SegmentEnding.CUT:
            return "it had not ended when logging stopped"
        if segment.ending is SegmentEnding.RAISE and segment.value is None:
            return "raises something"
        return _ENDINGS[segment.ending] if segment.ending is not None else ""

    def _parts(self, segment: Segment) -> tuple[Binding, ...]:
        bindings, node = [], self.labels.node(segment)
        whole = " ".join(self._body.source(node).split())
        for number, value in segment.parts:
            text = " ".join(self._body.source(self._body.expressions[number]).split())
            result = self._log.value(value)
            if not (names_code(result) or (result.text == "None" and text == whole)):
                bindings.append(Binding(text, result))
        return tuple(bindings)

    def outcome_kind(self, segment: Segment) -> OutcomeKind:
        """How a segment ended, as an outcome of a call."""
        if segment.ending is SegmentEnding.RAISE:
            return OutcomeKind.RAISED
        if segment.ending is SegmentEnding.CUT:
            waits = self._log.is_waiting
            return OutcomeKind.YIELDED if waits else OutcomeKind.NOT_TERMINATED
        return OutcomeKind.RETURNED

    def equation(self, segment: Segment) -> int:
        """A digest that is the same for equal questions."""
        before, after = self._log.states[segment.first], self._log.states[segment.end]
        log = self._log
        # Session logs hold these digests, so what is digested must not change.
        ending = "None" if segment.ending is None else f"How.{segment.ending.name}"
        content = repr((
            segment.kind.value, segment.number, segment.last,
            tuple((name, before[name]) for name in self.before(segment)),
            tuple((name, after.get(name, -1)) for name in self.changed(segment)),
            ending, segment.value,
            tuple(log.yielded(segment.first, segment.end)),
            tuple(log.printed_from(segment.first, segment.end)), segment.last_round, segment.round,
        ))  # fmt: skip
        digest = blake2b(content.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little", signed=True)
