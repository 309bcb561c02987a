"""Values and calls on several lines, where one line is too narrow.

What fits stays on one line; what does not is opened, and its parts are written below each other.
Lines are generated one by one, so that the first few cost no more than themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice

from whence.model.call import Call, OutcomeKind, Step
from whence.model.value import (
    BRIEF,
    Kind,
    Limits,
    Value,
    atom,
    brackets,
    columns,
    cut,
    fitting,
    label_of,
    left_out,
    show,
    shown_parts,
)
from whence.report.changes import afterwards


class Layout(Enum):
    """How a value that is too long for a line stands on several ones, from airy to dense."""

    OPEN = "a line for each attribute or key"
    ROWS = "rows of attributes and keys"
    OPEN_ONCE = "rows, and what is in them is not opened"
    FLOWED = "like a text"


_Said = list[tuple[str, Value | None]]
"""Texts, each with the value that follows it."""
_PARTS = 6
_FLOWED = 3
"""A call with its arguments is not opened if it takes no more lines than these."""
_FEWER = (24, 12)

STEP = 2
_NARROWEST = 10
_BRIEFER = Limits(depth=1, parts=3, characters=30)
_AFTER_WORDS = ("; ", ", ", " ")
_AFTER_ITEMS = (", ",)
_ANYWHERE = (" ", "=", "(", "[", "{")
_DEEPER = " " * STEP
_RECEIVERS = ("self", "cls")
_ONE_A_LINE = (Kind.DICT, Kind.OBJECT)


def fold(
    value: Value,
    limits: Limits,
    width: int,
    *,
    before: str = "",
    after: str = "",
    indent: int = 0,
    layout: Layout = Layout.OPEN,
) -> Iterator[str]:
    """The lines of a value in a width, with some text before and after it."""
    margin = " " * indent
    room = max(_NARROWEST, width - indent - columns(before) - columns(after))
    text = show(value, replace(limits, characters=min(room + 1, limits.characters)))
    if columns(text) <= room:
        yield margin + before + text + after
    elif not value.parts or limits.depth <= 0 or (value.brief is not None and not limits.insides):
        yield from _chop(before + show(value, limits) + after, width, margin)
    elif layout is Layout.FLOWED:
        yield from _chop(before + show(value, limits) + after, width, margin, _AFTER_ITEMS)
    else:
        yield from _open_lines(value, limits, width, before, after, indent, layout)


def _open_lines(
    value: Value,
    limits: Limits,
    width: int,
    before: str,
    after: str,
    indent: int,
    layout: Layout,
) -> Iterator[str]:
    opening, closing = brackets(value)
    margin, inner = " " * indent, " " * (indent + STEP)
    room = max(_NARROWEST, width - indent - STEP)
    below = replace(limits, depth=limits.depth - 1)
    yield margin + before + value.text + opening
    row = ""
    parts = shown_parts(value, limits)
    for index, (step, part) in enumerate(parts):
        label = label_of(value, step, index)
        short = replace(below, characters=min(room + 1, limits.characters))
        text = f"{label}{show(part, short)},"
        fits = columns(text) <= room
        alone = bool(label) and value.kind in _ONE_A_LINE and layout is Layout.OPEN
        if row and (not fits or columns(row) + 1 + columns(text) > room or alone):
            yield inner + row
            row = ""
        if fits:
            row = f"{row} {text}" if row else text
        else:
            inside = Layout.FLOWED if layout is Layout.OPEN_ONCE else layout
            yield from fold(
                part, below, width, before=label, after=",", indent=indent + STEP, layout=inside
            )
    more = left_out(value, len(parts))
    if row and more and columns(row) + 1 + columns(more) > room:
        yield inner + row
        row = ""
    if row or more:
        yield inner + " ".join(filter(None, (row, more)))
    yield margin + closing + after


def _chop(
    text: str, width: int, margin: str, breaks: Sequence[str] = _AFTER_WORDS
) -> Iterator[str]:
    """The lines of a text, broken after a word or an item near the line's end."""
    room = max(_NARROWEST, width - len(margin))
    while (end := fitting(text, room)) < len(text):
        for marks in (breaks, _ANYWHERE):
            stop = max(text.rfind(mark, end * 2 // 3, end) + len(mark) for mark in marks)
            stop -= text[stop - 1 : stop] == " "
            if stop > end // 2:
                break
        else:
            stop = max(1, end)
        yield margin + text[:stop]
        text = text[stop:].removeprefix(" ")
        if not margin.endswith(_DEEPER) and room > 2 * _NARROWEST:
            margin, room = margin + _DEEPER, room - len(_DEEPER)
    yield margin + text


def first_lines(lines: Iterator[str], count: int) -> list[str]:
    """At most `count` lines, the last one saying that there are more."""
    shown = list(islice(lines, count + 1))
    if len(shown) > count:
        margin = len(shown[count - 1]) - len(shown[count - 1].lstrip())
        shown[count - 1 :] = [" " * margin + "…"]
    return shown


def fit(
    value: Value,
    limits: Limits,
    width: int,
    most: int,
    *,
    before: str,
    after: str = "",
    indent: int = 0,
    compact: bool = False,
) -> list[str]:
    """A value on at most `most` lines.

    Lines are filled before anything is left out; then the items after the first dozen are left out,
    then what is nested deep. `compact`: what fits on two lines is not opened.
    """
    shown: list[str] = []
    if compact:
        flowed = fold(
            value, limits, width, before=before, after=after, indent=indent, layout=Layout.FLOWED
        )
        shown = list(islice(flowed, most + 1))
        if len(shown) <= min(2, most):
            return shown
    for shallower, layout in _ways(limits):
        lines = fold(
            value, shallower, width, before=before, after=after, indent=indent, layout=layout
        )
        shown = list(islice(lines, most + 1))
        if len(shown) <= most:
            return shown
    last = shown[most - 1].removesuffix("…")
    return [*shown[: most - 1], last[: fitting(last, width - 1)] + "…"]


def _ways(limits: Limits) -> Iterator[tuple[Limits, Layout]]:
    """The limits within which a value may be shown, the widest first, and its layouts."""
    for depth in range(limits.depth, 0, -1):
        for parts in (limits.parts, *(each for each in _FEWER if each < limits.parts)):
            for layout in Layout:
                yield replace(limits, depth=depth, parts=parts), layout


def brief(call: Call, width: int) -> str:
    """A call and its outcome on one line; the receiver is folded first, and the inputs are cut off
    before the outcome is. Of a call that returned None, it also says what it changed."""
    yielded = call.outcome.yielded
    if len(yielded) > BRIEF.parts:
        call = replace(call, outcome=replace(call.outcome, yielded=yielded[: BRIEF.parts]))
    if call.text:
        return cut(call.text, width)
    changed = _changed(call)
    for made in (call, _with_folded_receiver(call)):
        for limits in (BRIEF, _BRIEFER):
            text = made.equation(limits) + changed
            if columns(text) <= width:
                return text
    right = cut(made.right(_BRIEFER) + changed, max(_NARROWEST, width // 2))
    return cut(f"{cut(made.left(_BRIEFER), width - len(right) - 1)} {right}", width)


def _changed(call: Call) -> str:
    """What a call that returned None changed."""
    value = call.outcome.value
    is_none = value is not None and value.kind is Kind.ATOM and value.text == "None"
    if not is_none or not call.effects or call.outcome.yielded:
        return ""
    more = "…" if len(call.effects) > 1 else ""
    return f", changed {call.effects[0].target}{more}"


def _with_folded_receiver(call: Call) -> Call:
    if not call.arguments or not is_receiver(call, 0) or not call.arguments[0].value.parts:
        return call
    folded = replace(call.arguments[0], value=atom("…"))
    return replace(call, arguments=(folded, *call.arguments[1:]))


@dataclass(frozen=True, slots=True)
class Room:
    """How many lines a value may take: an argument, one that is an object, the receiver of a
    method, an outcome."""

    argument: int
    instance: int
    receiver: int
    outcome: int


def equation(call: Call, limits: Limits, width: int, most: int) -> list[str]:
    """A call and its outcome, each value on at most `most` lines."""
    room = Room(most, most, most, most)
    return [*inputs(call, limits, width, room), *result(call, limits, width, room)]


def inputs(
    call: Call, limits: Limits, width: int, room: Room, usual: frozenset[str] = frozenset()
) -> list[str]:
    """A call with its arguments; with its outcome too, if that fits on one line.

    `usual`: the names of arguments that are only counted if not all fit on one line.
    """
    if call.step is not None:
        return _step(call, call.step, limits, width, room.argument)
    if call.text:
        return first_lines(_chop(call.text, width, ""), room.outcome)
    if is_short(call, limits, width):
        return [call.equation(limits)]
    left = call.left(limits)
    if columns(left) <= width:
        return [left]
    if not usual:
        flowed = list(islice(_chop(left, width, ""), _FLOWED + 1))
        if len(flowed) <= min(_FLOWED, room.receiver + 1) and "…" not in left:
            return flowed
    out = [f"{call.function.short()}("]
    rows = Rows(width, " " * STEP)
    for number, argument in enumerate(call.arguments):
        if argument.name and argument.name in usual:
            continue
        before = f"{argument.name}=" if argument.name else ""
        most = room.instance if argument.value.kind is Kind.OBJECT else room.argument
        most = room.receiver if is_receiver(call, number) else most
        lines = fit(
            argument.value, limits, width, most, before=before, after=",", indent=STEP, compact=True
        )
        out += rows.add(lines)
    hidden = sum(bool(argument.name) and argument.name in usual for argument in call.arguments)
    out += rows.add([f"{' ' * STEP}…{hidden} with their defaults"] if hidden else [])
    *out, last = [*out, *rows.end()]
    return [*out, last.removesuffix(",") + ")"]


class Rows:
    """Joins short texts with the same beginning into rows."""

    def __init__(
        self, width: int, margin: str, between: str = " ", longest: int | None = None
    ) -> None:
        """`longest`: a longer text has a row of its own."""
        self._width = width
        self._margin = margin
        self._between = between
        self._longest = width if longest is None else longest
        self._row = ""

    def add(self, lines: list[str]) -> list[str]:
        """Add a text with its margin; returns the lines that are complete."""
        if len(lines) != 1 or columns(lines[0]) > self._longest:
            return [*self.end(), *lines]
        joined = self._row + self._between + lines[0].removeprefix(self._margin)
        if self._row and columns(joined) <= self._width:
            self._row = joined
            return []
        complete, self._row = self.end(), lines[0]
        return complete

    def end(self) -> list[str]:
        """The last row."""
        row, self._row = self._row, ""
        return [row] if row else []


def result(call: Call, limits: Limits, width: int, room: Room) -> list[str]:
    """The outcome of a call, if it is not on the line of the call."""
    if call.step is not None:
        after = afterwards(call, limits, width - len(_DEEPER * 2))
        return _state_lines("after:  ", after, limits, width, room.outcome)
    if call.text or is_short(call, limits, width):
        return []
    if len(call.outcome.yielded) <= limits.parts:
        right = call.right(limits)
        if columns(right) <= width:
            return [right]
    return _folded_right(call, limits, width, room.outcome)


def is_receiver(call: Call, number: int) -> bool:
    """Whether an argument is the object that a method was called on."""
    return number == 0 and call.arguments[0].name in _RECEIVERS


def is_short(call: Call, limits: Limits, width: int) -> bool:
    """Whether a call and its outcome fit on one line."""
    few = len(call.outcome.yielded) <= limits.parts
    return few and columns(call.equation(limits)) <= width


def _step(call: Call, step: Step, limits: Limits, width: int, most: int) -> list[str]:
    """A step: which one, and below it the state before it."""
    before: _Said = [(f"{argument.name} = ", argument.value) for argument in call.arguments]
    out = first_lines(_chop(step.label, width, ""), most)
    out += _state_lines("before: ", before, limits, width, most)
    return out + _state_lines("in it:  ", _worked_out(step, before, limits), limits, width, most)


def _state_lines(label: str, parts: _Said, limits: Limits, width: int, most: int) -> list[str]:
    texts = [text if value is None else text + show(value, limits) for text, value in parts]
    line = f"{_DEEPER}{label}{', '.join(texts)}"
    if columns(line) <= width:
        return [line] if parts else []
    out = [f"{_DEEPER}{label}".rstrip()]
    for text, value in parts:
        if value is None:
            out += first_lines(_chop(text, width, _DEEPER * 2), most)
        else:
            out += fit(value, limits, width, most, before=text, indent=2 * STEP)
    return out


def _worked_out(step: Step, before: _Said, limits: Limits) -> _Said:
    """What a step evaluated, if the state before it cannot be shown in full."""
    # Attributes that it does not look at were left out on purpose.
    shown = [
        replace(value, omitted=0, unused=0) if value.kind is Kind.OBJECT else value
        for _, value in before
        if value is not None
    ]
    if not any("…" in show(value, limits) for value in shown):
        return []
    parts = [part for part in step.parts if "…" not in show(part.value, limits)]
    return [(f"{part.name} = ", part.value) for part in parts[:_PARTS]]


def _folded_right(call: Call, limits: Limits, width: int, most: int) -> list[str]:
    outcome = call.outcome
    out: list[str] = []
    if outcome.yielded:
        items = tuple((f"[{number}]", value) for number, value in enumerate(outcome.yielded))
        every = Value(Kind.LIST, "", items)
        out = fit(every, limits, width, most, before="yielded ", after=",", compact=True)
    ending = replace(call, outcome=replace(outcome, yielded=(), value=None)).right()
    if outcome.kind is OutcomeKind.RETURNED:
        nothing = "yielded nothing, then returned" if outcome.is_generator else "→"
        ending = "then returned" if out else nothing
    elif outcome.kind is OutcomeKind.YIELDED:
        return [*out, "and was left there"]
    elif outcome.was_closed:
        return [*out, "and was closed there"]
    if outcome.value is None:
        return [*out, ending]
    if outcome.kind is OutcomeKind.NOT_TERMINATED:
        ending += ":"
    return out + fit(outcome.value, limits, width, most, before=ending + " ", compact=True)
