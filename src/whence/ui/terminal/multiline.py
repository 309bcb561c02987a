"""Values and calls on several lines, where one line is too narrow.

What fits stays on one line; what does not is opened, and its parts are written below each other.
Lines are generated one by one, so that the first few cost no more than themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from whence.model.call import Call, OutcomeKind, Step
from whence.model.value import BRIEF, Kind, Limits, Value, brackets, cut, label_of, show
from whence.report.changes import afterwards

_Said = list[tuple[str, Value | None]]
"""Texts, each with the value that follows it."""
_PARTS = 6

STEP = 2
_NARROWEST = 10
_BRIEFER = Limits(depth=1, parts=3, characters=30)
_BREAKS = ("; ", ", ", " ")
_DEEPER = " " * STEP
_ONE_A_LINE = (Kind.DICT, Kind.OBJECT)


def fold(
    value: Value,
    limits: Limits,
    width: int,
    *,
    before: str = "",
    after: str = "",
    indent: int = 0,
    dense: bool = False,
) -> Iterator[str]:
    """The lines of a value in a width, with some text before and after it.

    `dense`: attributes and keys share lines too, instead of each having its own.
    """
    margin = " " * indent
    room = max(_NARROWEST, width - indent - len(before) - len(after))
    text = show(value, replace(limits, characters=min(room + 1, limits.characters)))
    if len(text) <= room:
        yield margin + before + text + after
    elif not value.parts or limits.depth <= 0:
        yield from _chop(before + show(value, limits) + after, width, margin)
    else:
        yield from _open_lines(value, limits, width, before, after, indent, dense)


def _open_lines(
    value: Value, limits: Limits, width: int, before: str, after: str, indent: int, dense: bool
) -> Iterator[str]:
    opening, closing = brackets(value)
    margin, inner = " " * indent, " " * (indent + STEP)
    room = max(_NARROWEST, width - indent - STEP)
    below = replace(limits, depth=limits.depth - 1)
    yield margin + before + value.text + opening
    row = ""
    for index, (step, part) in enumerate(value.parts[: limits.parts]):
        label = label_of(value.kind, step, index)
        short = replace(below, characters=min(room + 1, limits.characters))
        text = f"{label}{show(part, short)},"
        fits = len(text) <= room
        alone = value.kind in _ONE_A_LINE and not dense
        if row and (not fits or len(row) + 1 + len(text) > room or alone):
            yield inner + row
            row = ""
        if fits:
            row = f"{row} {text}" if row else text
        else:
            yield from fold(
                part, below, width, before=label, after=",", indent=indent + STEP, dense=dense
            )
    hidden = max(0, len(value.parts) - limits.parts) + value.omitted
    more = f"…{hidden} more" if hidden else ""
    if row and more and len(row) + 1 + len(more) > room:
        yield inner + row
        row = ""
    if row or more:
        yield inner + " ".join(filter(None, (row, more)))
    yield margin + closing + after


def _chop(text: str, width: int, margin: str) -> Iterator[str]:
    """The lines of a text without parts, broken after a word or column near the line's end."""
    room = max(_NARROWEST, width - len(margin))
    while len(text) > room:
        stop = max(text.rfind(mark, room * 2 // 3, room) + len(mark) - 1 for mark in _BREAKS)
        stop = stop if stop > room // 2 else room
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
) -> list[str]:
    """A value on at most `most` lines: deep nesting is left out before later parts."""
    ways = [(depth, False) for depth in range(limits.depth, 1, -1)]
    ways += [(depth, True) for depth in range(limits.depth, 0, -1)]
    for depth, dense in ways:
        shallower = replace(limits, depth=depth)
        lines = fold(
            value, shallower, width, before=before, after=after, indent=indent, dense=dense
        )
        shown = list(islice(lines, most + 1))
        if len(shown) <= most:
            return shown
    return first_lines(iter(shown), most)


def brief(call: Call, width: int) -> str:
    """A call and its outcome on one line; the inputs are cut off before the outcome is."""
    yielded = call.outcome.yielded
    if len(yielded) > BRIEF.parts:
        call = replace(call, outcome=replace(call.outcome, yielded=yielded[: BRIEF.parts]))
    if call.text:
        return cut(call.text, width)
    for limits in (BRIEF, _BRIEFER):
        text = call.equation(limits)
        if len(text) <= width:
            return text
    right = cut(call.right(_BRIEFER), max(_NARROWEST, width // 2))
    return cut(f"{cut(call.left(_BRIEFER), width - len(right) - 1)} {right}", width)


def equation(call: Call, limits: Limits, width: int, most: int) -> list[str]:
    """A call and its outcome, each value on at most `most` lines."""
    if len(call.outcome.yielded) > limits.parts and not call.text:
        return _folded_left(call, limits, width, most) + _folded_right(call, limits, width, most)
    if call.step is not None:
        return _step(call, call.step, limits, width, most)
    whole = call.equation(limits)
    if len(whole) <= width:
        return [whole]
    if call.text:
        return first_lines(_chop(call.text, width, ""), most)
    right = call.right(limits)
    left = _folded_left(call, limits, width, most)
    return left + ([right] if len(right) <= width else _folded_right(call, limits, width, most))


def _step(call: Call, step: Step, limits: Limits, width: int, most: int) -> list[str]:
    """A step: which one, and below it the state before and after it."""
    before: _Said = [(f"{argument.name} = ", argument.value) for argument in call.arguments]
    out = first_lines(_chop(step.label, width, ""), most)
    for label, parts in (
        ("before: ", before),
        ("in it:  ", _worked_out(step, before, limits)),
        ("after:  ", afterwards(call, limits, width - len(_DEEPER * 2))),
    ):
        texts = [text if value is None else text + show(value, limits) for text, value in parts]
        line = f"{_DEEPER}{label}{', '.join(texts)}"
        if len(line) <= width:
            out += [line] if parts else []
            continue
        out.append(f"{_DEEPER}{label}".rstrip())
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
        replace(value, omitted=0) if value.kind is Kind.OBJECT else value
        for _, value in before
        if value is not None
    ]
    if not any("…" in show(value, limits) for value in shown):
        return []
    parts = [part for part in step.parts if "…" not in show(part.value, limits)]
    return [(f"{part.name} = ", part.value) for part in parts[:_PARTS]]


def _folded_left(call: Call, limits: Limits, width: int, most: int) -> list[str]:
    left = call.left(limits)
    if len(left) <= width:
        return [left]
    out = [f"{call.function.short()}("]
    for argument in call.arguments:
        before = f"{argument.name}=" if argument.name else ""
        out += fit(argument.value, limits, width, most, before=before, after=",", indent=STEP)
    return [*out, ")"]


def _folded_right(call: Call, limits: Limits, width: int, most: int) -> list[str]:
    outcome = call.outcome
    out: list[str] = []
    for value in outcome.yielded[: limits.parts]:
        out += fit(value, limits, width, most, before="yielded ", after=",")
    if len(outcome.yielded) > limits.parts:
        out.append(f"yielded …{len(outcome.yielded) - limits.parts} more,")
    ending = replace(call, outcome=replace(outcome, yielded=(), value=None)).right()
    if outcome.kind is OutcomeKind.RETURNED:
        ending = "then returned" if out else "→"
    elif outcome.kind is OutcomeKind.YIELDED:
        return [*out, "and was left there"]
    if outcome.value is None:
        return [*out, ending]
    if outcome.kind is OutcomeKind.NOT_TERMINATED:
        ending += ":"
    return out + fit(outcome.value, limits, width, most, before=ending + " ")
