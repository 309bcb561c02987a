"""The command `show`: one call with everything that was recorded of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from whence.model.call import Call
from whence.model.value import FULL, Value
from whence.session.state import State
from whence.ui.terminal.listing import SAID
from whence.ui.terminal.multiline import fold

MOST_LINES = 2000


def whole_lines(state: State, node: int, width: int) -> list[str]:
    """A call by its id: inputs, outcome, effects and output, in full."""
    lines = list(islice(_lines(state, node, width), MOST_LINES + 1))
    if len(lines) > MOST_LINES:
        lines[-1] = "… browse walks into the rest"
    return lines


def _lines(state: State, node: int, width: int) -> Iterator[str]:
    tree = state.tree
    position = tree.position(node)
    call = tree.call(position)
    verdict = state.space().verdict(position)
    where = call.where()
    judged = f", judged {SAID[verdict]}" if verdict else ""
    yield f"call {node}: {call.function.name}" + (f", at {where}" if where else "") + judged
    yield from call_lines(call, width)


def call_lines(call: Call, width: int) -> Iterator[str]:
    """Everything that was recorded of a call, without its name and id."""
    if call.text:
        yield f"  {call.text}"
    if call.step is not None:
        yield f"  {call.step.label}"

    def value_lines(before: str, value: Value | None) -> Iterator[str]:
        if value is None:
            yield f"  {before}nothing"
        else:
            yield from fold(value, FULL, width, before=before, indent=2)

    for number, argument in enumerate(call.arguments, 1):
        yield from value_lines(f"{argument.name or f'arg{number}'} = ", argument.value)
    for read in call.reads:
        yield from value_lines(f"read {read.name} = ", read.value)
    for number, value in enumerate(call.outcome.yielded):
        yield from value_lines(f"yielded[{number}] = ", value)
    told_otherwise = call.outcome.yielded or call.text or call.step
    if call.outcome.value is not None or not told_otherwise:
        kind = call.outcome.kind.name.lower().replace("_", " ")
        yield from value_lines(f"{kind}: ", call.outcome.value)
    for effect in call.effects:
        yield from value_lines(f"{effect.target} before: ", effect.before)
        yield from value_lines(f"{effect.target} after: ", effect.after)
    for part in call.step.parts if call.step is not None else ():
        yield from value_lines(f"{part.name} = ", part.value)
    for line in call.printed.splitlines():
        yield f"  | {line}"
