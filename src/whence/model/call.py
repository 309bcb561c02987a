"""A call and its equation: the function, its inputs, its outcome and its effects.

The equation is what one judges: "given these inputs, this outcome with these effects is right".
Two calls with equal equations deserve the same verdict, wherever they stand in the tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import IntEnum

from whence.errors import UsageError
from whence.model.value import Kind, Limits, Steps, Value, atom, parse_path, parse_steps, show


@dataclass(frozen=True, slots=True)
class Location:
    """A place in source text."""

    file: str
    line: int | None = None
    column: int | None = None
    end: tuple[int, int] | None = field(default=None, compare=False)
    """Where the text at this place ends, if that is known: a line, and the column after it."""

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the debugged program; `name` is dotted and unique in one tree."""

    name: str
    qualname: str = ""
    module: str = ""
    location: Location | None = None
    trusted: bool = False

    def short(self) -> str:
        """The name as its author wrote it."""
        return self.qualname or self.name


@dataclass(frozen=True, slots=True)
class Rule:
    """The piece of source that a call is blamed on: a function, a clause, a loop body."""

    name: str
    function: str
    location: Location | None = None
    source: str = ""


class OutcomeKind(IntEnum):
    """How a call ended; the numbers are those of the tree's outcome column."""

    RETURNED = 0
    RAISED = 1
    YIELDED = 2
    NOT_TERMINATED = 3
    FAILED = 4
    """In logic programs: it has no answer, or no more answers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended. `yielded` values came before that; `value` is absent if unknown."""

    kind: OutcomeKind
    value: Value | None = None
    yielded: tuple[Value, ...] = ()
    location: Location | None = None
    is_generator: bool = field(default=False, compare=False)
    """Whether it is one of a generator, even if that yielded nothing."""

    @property
    def was_closed(self) -> bool:
        """Whether a generator was closed where it stood, which it sees as an exception."""
        value = self.value
        return self.kind is OutcomeKind.RAISED and value is not None and value.text == _CLOSING


_CLOSING = "GeneratorExit"


@dataclass(frozen=True, slots=True)
class Binding:
    """A named value: an argument (positional ones have no name) or state that a call read.

    `came_of_call`: what the call leaves in its argument is also part of its outcome, as in Prolog.
    """

    name: str
    value: Value
    came_of_call: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that a call changed, before and after (absent: it did not exist)."""

    target: str
    before: Value | None
    after: Value | None


@dataclass(frozen=True, slots=True)
class Step:
    """Marks a call as a *step*: a piece of another call's own code.

    Its arguments are the state before it, its effects the state after it. `label` says which piece
    it is, `ending` how it ended if it did not just go on; the outcome's value is its result.
    """

    label: str
    ending: str = ""
    parts: tuple[Binding, ...] = ()
    """The expressions that it evaluated, named by their texts."""
    same: tuple[str, ...] = ()
    """What it made identical: `a[1] is a[0]`."""
    looks_at: tuple[tuple[str, frozenset[str]], ...] = ()
    """For objects of which it uses only some attributes, which these are."""


@dataclass(frozen=True, slots=True)
class Call:
    """One activation with all that is needed to judge it."""

    function: Function
    rule: Rule
    outcome: Outcome
    arguments: tuple[Binding, ...] = ()
    reads: tuple[Binding, ...] = ()
    effects: tuple[Effect, ...] = ()
    printed: str = ""
    site: Location | None = None
    text: str = ""
    """The equation as the tracer's language writes it; if empty, whence writes its own."""
    output: tuple[str, ...] = ()
    """For a whole run: the lines of its standard output, whichever call printed them."""
    step: Step | None = None

    def where(self) -> Location | None:
        """The source location of what is judged."""
        return self.rule.location or self.function.location

    def equation(self, limits: Limits = Limits()) -> str:
        """The call and its outcome on one line."""
        if self.text:
            return self.text
        return f"{self.left(limits)} {self.right(limits)}"

    def left(self, limits: Limits = Limits()) -> str:
        """The call with its arguments."""
        if self.step is not None:
            before = ", ".join(
                f"{argument.name} = {show(argument.value, limits)}" for argument in self.arguments
            )
            return f"{self.step.label}; before: {before}" if before else self.step.label
        arguments = ", ".join(
            f"{argument.name}={show(argument.value, limits)}"
            if argument.name
            else show(argument.value, limits)
            for argument in self.arguments
        )
        return f"{self.function.short()}({arguments})"

    def right(self, limits: Limits = Limits()) -> str:
        """The outcome."""
        if self.step is not None:
            return f"→ after: {', '.join(self.afterwards(limits))}"
        outcome = self.outcome
        phrases = []
        if outcome.yielded:
            shown = [show(value, limits) for value in outcome.yielded[: limits.parts]]
            hidden = len(outcome.yielded) - len(shown)
            phrases.append("yielded " + ", ".join(shown + [f"…{hidden} more"] * bool(hidden)) + ",")
        ending = "" if outcome.value is None else " " + show(outcome.value, limits)
        if outcome.kind is OutcomeKind.RETURNED and outcome.is_generator and not phrases:
            phrases.append("yielded nothing" + (ending != " None") * f", then returned{ending}")
        elif outcome.kind is OutcomeKind.RETURNED:
            phrases.append("then returned" + ending if phrases else "→" + (ending or " ?"))
        elif outcome.was_closed:
            phrases.append("and was closed there" if phrases else "was closed")
        elif outcome.kind is OutcomeKind.RAISED:
            phrases.append("raised" + ending)
        elif outcome.kind is OutcomeKind.YIELDED:
            phrases.append("and was left there" if phrases else "yielded nothing")
        elif outcome.kind is OutcomeKind.FAILED:
            phrases.append("then failed" if phrases else "failed")
        else:
            phrases.append("did not end" + (":" + ending if ending else ""))
        return " ".join(phrases)

    def afterwards(self, limits: Limits = Limits()) -> list[str]:
        """For a step: the state after it and how it ended."""
        outcomes = [
            f"{effect.target} is gone" if effect.after is None
            else f"{effect.target} = {show(effect.after, limits)}"
            for effect in self.effects
        ]  # fmt: skip
        outcomes += [f"yields {show(value, limits)}" for value in self.outcome.yielded]
        outcomes += self.step.same if self.step else ()
        value = self.outcome.value
        shown = "" if value is None else show(value, limits)
        ending = " ".join(filter(None, (self.step.ending if self.step else "", shown)))
        return [*outcomes, *([ending] if ending else [])] or ["nothing changed"]


@dataclass(frozen=True, slots=True)
class Mark:
    """The part of a call's inputs or outcome that is wrong: a root and the steps from it."""

    root: str
    steps: Steps = ()

    def __str__(self) -> str:
        return self.root + "".join(self.steps)


RESULT = "result"
YIELDED = "yielded"
PRINTED = "printed"
RAISED = "raised"
_OUTCOME_ROOTS = {RESULT, RAISED}
_LINE = re.compile(r"\[(0|[1-9]\d{0,8})\]", re.ASCII)
"""A step to one of many lines."""


@dataclass(frozen=True, slots=True)
class MarkedPart:
    """A mark, located in a call."""

    mark: Mark
    value: Value
    is_input: bool
    position: int = field(default=-1)
    """The index of the argument it is in, or -1 for the outcome and for effects."""


def find_mark(call: Call, text: str, *, input_side: bool) -> MarkedPart:
    """Find the part that `text` addresses; `input_side` prefers the inputs.

    Arguments are addressed by name or by number, as `arg1` or `1`, `arg2` or `2` and so on; the
    outcome is `result`; an effect is addressed by the name of what changed, which means its value
    before if the inputs are preferred.
    """
    root, steps = _split(call, text.strip())
    return locate_mark(call, Mark(root, steps), input_side=input_side)


def locate_mark(call: Call, mark: Mark, *, input_side: bool) -> MarkedPart:
    """Find the part that a mark addresses, as `find_mark` does."""
    call = expand_shared(call)
    root = _root_value(call, mark, input_side)
    if root is None:
        raise UsageError(f"there is no {mark.root} here; there is {', '.join(roots(call))}")
    value, is_input, position = root
    steps = value.resolve(mark.steps)
    return MarkedPart(Mark(mark.root, steps), value.part(steps), is_input, position)


def _split(call: Call, text: str) -> tuple[str, Steps]:
    """Root and steps; the name of what was read or changed may have dots, as in `self.items`."""
    for root in sorted(roots(call), key=len, reverse=True):
        rest = text.removeprefix(root)
        if text.startswith(root) and (not rest or rest[0] in "[."):
            return root, parse_steps(text, len(root))
    return parse_path(text)


def roots(call: Call) -> list[str]:
    """The names that a mark may start with."""
    names = [argument.name or f"arg{number}" for number, argument in enumerate(call.arguments, 1)]
    names += [read.name for read in call.reads]
    names += [effect.target for effect in call.effects]
    if call.outcome.yielded:
        names.append(YIELDED)
    if call.outcome.value is not None:
        names.append(RESULT)
    if call.output or call.printed:
        names.append(PRINTED)
    return list(dict.fromkeys(names))


def _root_value(call: Call, mark: Mark, input_side: bool) -> tuple[Value, bool, int] | None:
    root = mark.root
    after = next((e.after for e in call.effects if e.target == root and e.after), None)
    if after is not None and not input_side:
        return after, False, -1
    if not input_side and root in _OUTCOME_ROOTS and call.outcome.value is not None:
        return call.outcome.value, False, -1
    for number, argument in enumerate(call.arguments):
        if root in (argument.name or f"arg{number + 1}", f"arg{number + 1}", str(number + 1)):
            return argument.value, input_side or not argument.came_of_call, number
    for read in call.reads:
        if read.name == root:
            return read.value, True, -1
    before = next((e.before for e in call.effects if e.target == root and e.before), None)
    if input_side and before is not None:
        return before, True, -1
    if root == YIELDED and call.outcome.yielded:
        return _as_list(call.outcome.yielded), False, -1
    if root in _OUTCOME_ROOTS and call.outcome.value is not None:
        return call.outcome.value, False, -1
    if root == PRINTED and after is None and (call.output or call.printed):
        return _printed_lines(call, mark.steps), False, -1
    return None if after is None else (after, False, -1)


def _printed_lines(call: Call, steps: Steps) -> Value:
    """The lines that were printed, as a list; only the one that the steps lead to, if they do."""
    lines = call.output or tuple(call.printed.removesuffix("\n").split("\n"))
    number = int(steps[0][1:-1]) if steps and _LINE.fullmatch(steps[0]) else -1
    if 0 <= number < len(lines):
        line = atom(repr(lines[number]))
        return Value(Kind.LIST, "", ((f"[{number}]", line),), omitted=len(lines) - 1)
    return _as_list(tuple(atom(repr(line)) for line in lines))


def _as_list(values: tuple[Value, ...]) -> Value:
    return Value(Kind.LIST, "", tuple((f"[{n}]", value) for n, value in enumerate(values)))


# --- values that occur more than once ----------------------------------------------------------

_DEEPEST = 300


def expand_shared(call: Call) -> Call:
    """The call with each shared value written in full wherever it occurs, except inside itself.

    A tracer writes a value once and then refers to it, as it was on entry or as it is on exit.
    """
    if call.step is not None:
        return call  # its values were written one by one, and are whole
    before = [binding.value for binding in (*call.arguments, *call.reads)]
    before += [effect.before for effect in call.effects if effect.before]
    after = [effect.after for effect in call.effects if effect.after]
    after += [*call.outcome.yielded, *([call.outcome.value] if call.outcome.value else [])]
    if not any(part.kind is Kind.SHARED for value in before + after for _, part in value.paths()):
        return call
    inputs = _Shared(_identified(before))
    left = _Shared({**_identified(before), **_identified(after)})
    outcome = call.outcome
    return replace(
        call,
        arguments=tuple(replace(b, value=inputs.whole(b.value)) for b in call.arguments),
        reads=tuple(Binding(b.name, inputs.whole(b.value)) for b in call.reads),
        effects=tuple(
            Effect(e.target, e.before and inputs.whole(e.before), e.after and left.whole(e.after))
            for e in call.effects
        ),
        outcome=replace(
            outcome,
            value=outcome.value and left.whole(outcome.value),
            yielded=tuple(left.whole(value) for value in outcome.yielded),
        ),
    )


_LONGEST_NAME = 30


def name_references(call: Call) -> Call:
    """The call with each reference that is left, inside the value itself, written as the place of
    what it refers to: `<same as self.root>`."""
    roots = [(b.name or f"arg{number}", b.value) for number, b in enumerate(call.arguments, 1)]
    roots += [(read.name, read.value) for read in call.reads]
    roots += [(effect.target, effect.before) for effect in call.effects if effect.before]
    roots += [(effect.target, effect.after) for effect in call.effects if effect.after]
    roots += [(f"{YIELDED}[{n}]", value) for n, value in enumerate(call.outcome.yielded)]
    roots += [(RESULT, call.outcome.value)] if call.outcome.value else []
    names: dict[int, str] = {}
    refers = False
    for root, value in roots:
        for steps, part in value.paths():
            refers = refers or part.kind is Kind.SHARED
            if part.identity is None or part.kind is Kind.SHARED:
                continue
            path = root + "".join(steps)
            of_type = f"a {part.text} above" if part.text else f"a {part.kind.value} above"
            names.setdefault(part.identity, path if len(path) <= _LONGEST_NAME else of_type)
    if not refers:
        return call

    def named(value: Value | None) -> Value | None:
        if value is None or not (value.parts or value.kind is Kind.SHARED):
            return value
        if value.kind is Kind.SHARED:
            return atom(f"<same as {names.get(value.identity or 0, 'one above')}>")
        return replace(value, parts=tuple((s, named(part) or part) for s, part in value.parts))

    def bound(binding: Binding) -> Binding:
        return replace(binding, value=named(binding.value) or binding.value)

    outcome = call.outcome
    yielded = tuple(named(value) or value for value in outcome.yielded)
    return replace(
        call,
        arguments=tuple(map(bound, call.arguments)),
        reads=tuple(map(bound, call.reads)),
        effects=tuple(Effect(e.target, named(e.before), named(e.after)) for e in call.effects),
        outcome=replace(outcome, value=named(outcome.value), yielded=yielded),
    )


def whole_value(value: Value) -> Value:
    """A value with each shared part written in full wherever it occurs, except inside itself."""
    if not any(part.kind is Kind.SHARED for _, part in value.paths()):
        return value
    return _Shared(_identified([value])).whole(value)


def _identified(values: list[Value]) -> dict[int, Value]:
    """The values that others refer to, by their numbers."""
    by_identity: dict[int, Value] = {}
    for value in values:
        for _, part in value.paths():
            if part.identity is not None and part.kind is not Kind.SHARED:
                by_identity.setdefault(part.identity, part)
    return by_identity


class _Shared:
    """Replaces references by the values that they refer to, each computed once, in linear time."""

    def __init__(self, values: dict[int, Value]) -> None:
        self._known = values
        self._whole: dict[int, Value] = {}
        self._open: set[int] = set()

    def whole(self, value: Value, depth: int = 0) -> Value:
        """The value without references, except where it contains itself."""
        number = value.identity
        if value.kind is Kind.SHARED:
            target = self._known.get(number) if number is not None else None
            if target is None or number in self._open or depth > _DEEPEST:
                return value
            return self.whole(target, depth + 1)
        if number in self._whole:
            return self._whole[number]
        if number is not None:
            self._open.add(number)
        parts = tuple((step, self.whole(part, depth + 1)) for step, part in value.parts)
        whole = replace(value, parts=parts) if value.parts else value
        if number is not None:
            self._open.discard(number)
            if self._known.get(number) == value:
                self._whole[number] = whole
        return whole
