"""The commands `list` and `suspects`: calls and what was said of them.

Whole trees are searched with array operations; only the calls that are shown are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from whence.errors import UsageError
from whence.model.call import Call, Outcome, OutcomeKind
from whence.model.primitive import Primitive
from whence.model.value import BRIEF, atom, cut, show
from whence.model.verdict import Verdict
from whence.ports import Int64s, Tree
from whence.report.raising import primitive, raiser
from whence.report.source import NOWHERE, Sources
from whence.search.instances import CallInstance, retained_instances
from whence.search.space import SKIPPED, TRUSTED, SearchSpace
from whence.session.state import State
from whence.tree.readable_call import readable_call
from whence.ui.terminal.multiline import brief

MOST = 20
_OUTLINE = 6
_SEVERAL = 2
UNDEFINED = "UNDEFINED"

_DEEPEST = 8
_MARKS = {
    (False, False): " ", (True, False): "*", (False, True): "#", (True, True): "#",
}  # fmt: skip

SAID = {
    Verdict.RIGHT: "right",
    Verdict.WRONG: "wrong",
    Verdict.INADMISSIBLE: "should never get this",
    Verdict.UNKNOWN: "not known",
}


def find_function(tree: Tree, name: str) -> int:
    """The number of the function with this name, or with the only name that ends so."""
    functions = list(enumerate(tree.functions))
    whole = [number for number, function in functions if function.name == name]
    short = [number for number, function in functions if function.short() == name]
    last = [number for number, function in functions if function.name.endswith("." + name)]
    for matches in (whole, short, last):
        if len(matches) == 1:
            return matches[0]
        if matches:
            names = ", ".join(tree.functions[number].name for number in matches[:5])
            raise UsageError(f"{name} may be {names}: write the whole name")
    near = [f.name for _, f in functions if name.lower() in f.name.lower()][:5]
    hint = f"; there is {', '.join(near)}" if near else ""
    raise UsageError(f"no function in this tree is named {name}{hint}")


@dataclass(frozen=True, slots=True)
class Listing:
    """Some calls of a function."""

    name: str
    positions: Int64s
    suspects: int
    total: int


def calls_of(state: State, function: int, without: int | None) -> Listing:
    """The calls of a function, suspects first, without the one that is asked about."""
    positions = np.flatnonzero(state.tree.columns.function == function)
    if without is not None:
        positions = positions[positions != without]
    suspect = state.space().is_suspect(positions)
    count = int(np.count_nonzero(suspect))
    first = positions[suspect][:MOST]
    rest = positions[~suspect][: MOST - len(first)]
    name = state.tree.functions[function].short()
    return Listing(name, np.concatenate([first, rest]), count, len(positions))


def suspects(state: State) -> Listing:
    """The calls that can still be at fault, the direct callees of the wrong call first."""
    space = state.space()
    below = np.arange(space.top + 1, space.stop)
    below = below[space.is_suspect(below)]
    callees = space.callees(space.top)
    first = callees[space.is_suspect(callees)][:MOST]
    rest = below[~np.isin(below, first)][: MOST - len(first)]
    name = state.tree.functions[int(state.tree.columns.function[space.top])].short()
    return Listing(name, np.concatenate([first, rest]), len(below), len(below))


def suspect_lines(state: State, width: int) -> list[str]:
    """The lines of `suspects`."""
    listing = suspects(state)
    top = f"{listing.name} (call {state.tree.id(state.space().top)})"
    if not listing.total:
        return [f"Only {top} can be at fault."]
    trusted = state.space().is_trusted(state.space().top)
    it = "The fault is in" if trusted else f"The fault is in {top} or in"
    these = "this call" if listing.total == 1 else f"one of these {listing.total} calls"
    return [f"{it} {these}:", *_rows(state, listing, width)]


def outline_lines(state: State, width: int) -> list[str]:
    """The first calls that the wrong call made, and that can be at fault."""
    listing = suspects(state)
    if not listing.total:
        return suspect_lines(state, width)
    top = state.space().top
    call = brief(readable_call(state.tree, top)[0], max(20, width - 12))
    first = replace(listing, positions=listing.positions[:_OUTLINE])
    return [f"Wrong: {call}", *_rows(state, first, width)]


def choice_lines(state: State, width: int) -> list[str]:
    """The last calls that the wrong call made before what is wrong had happened, if it made
    several: the person may know which of them is the first wrong one."""
    space, tree = state.space(), state.tree
    callees = space.callees(space.top)
    callees = callees[space.is_suspect(callees)]
    if len(callees) < _SEVERAL:
        return []
    last = callees[-_OUTLINE:]
    name = tree.functions[int(tree.columns.function[space.top])].short()
    left_out = len(callees) - len(last)
    which = f"The last {len(last)} of {len(callees):,} calls" if left_out else "The calls"
    rows = _rows(state, Listing(name, last, len(last), len(last)), width)
    return [
        f"{which} in {cut(name, 20)}. Name the first wrong one: n NUMBER",
        "(i NUMBER if it should never get such input), or answer the question below.",
        *rows,
    ]


def listing_lines(state: State, listing: Listing, width: int, *, others: bool) -> list[str]:
    """The lines of `list`."""
    noun = ("other " if others else "") + ("call" if listing.total == 1 else "calls")
    if not listing.total:
        return [f"There are no {noun} of {listing.name} in this tree."]
    head = f"{listing.total} {noun} of {listing.name}, {_may(listing)} at fault:"
    return [head, *_rows(state, listing, width)]


def instance_lines(
    state: State, function: int, width: int, sources: Sources = NOWHERE
) -> list[str]:
    """The calls of a function below the one known to be wrong, each below what led to it.

    A call without a value is UNDEFINED; the operation that raised is shown below the last call that
    its exception passed through.
    """
    tree, space = state.tree, state.space()
    table = retained_instances(space, function)
    shown = table.rows[:MOST]
    names = [
        f"{tree.id(instance.position)}{_MARKS[instance.again, instance.frozen]}"
        for instance in shown
    ]
    column = max(map(len, names)) + 2
    name = tree.functions[function].short()
    several = " ".join(dict.fromkeys(label.strip(" *#") for label in names[1:3]))
    out = [f"Calls of {name}, each below what led to it (any can be judged: n {several}):"]
    raised = _raised_below(state, sources)
    last = None if raised is None else _nearest(shown, tree, tree.position(raised.node))
    for instance, label in zip(shown, names, strict=True):
        verdict = said_of(space, instance.position)
        note = f"  ({verdict})" if verdict else ""
        margin = "  " * min(instance.depth, _DEEPEST)
        room = width - column - 2 - len(note) - len(margin)
        text = _instance(readable_call(tree, instance.position)[0], max(room, 20))
        out.append(f"{label:>{column}}  {margin}{text}{note}")
        if instance is last and raised is not None:
            text = cut(f"{raised.text} → {UNDEFINED}{operands(raised)}", max(room, 20))
            out.append(f"{'#':>{column}}  {margin}  {text}")
    more = len(table.rows) - len(shown) + table.left_out
    if more:
        out.append(f"{'':{column}}  … and {more} more; list {name} names them")
    return out


def _instance(call: Call, width: int) -> str:
    """A call on one line; one without a value is UNDEFINED, as in the paper."""
    kind, value = call.outcome.kind, call.outcome.value
    if call.text or kind not in (OutcomeKind.RAISED, OutcomeKind.NOT_TERMINATED):
        return brief(call, width)
    why = f" ({value.text})" if kind is OutcomeKind.RAISED and value is not None else ""
    ended = Outcome(OutcomeKind.RETURNED, atom(f"{UNDEFINED}{why}"), call.outcome.yielded)
    return brief(replace(call, outcome=ended), width)


def operands(raised: Primitive) -> str:
    """The known values of an operation's operands."""
    values = [f"{operand.name} = {show(operand.value, BRIEF)}" for operand in raised.operands]
    return f", where {'; '.join(values)}" if values else ""


def _raised_below(state: State, sources: Sources) -> Primitive | None:
    """The operation that raised the exception of the call known to be wrong."""
    inner = raiser(state, state.tree.id(state.space().top))
    return None if inner is None else primitive(state, inner, sources)


def _nearest(rows: Sequence[CallInstance], tree: Tree, position: int) -> CallInstance | None:
    """The innermost of the rows whose subtree holds a call."""
    end = tree.columns.end
    around = (row for row in rows if row.position <= position < end[row.position])
    return max((row for row in around if not row.again), key=lambda row: row.depth, default=None)


def _rows(state: State, listing: Listing, width: int) -> list[str]:
    out = []
    tree, space = state.tree, state.space()
    names = [str(tree.id(int(position))) for position in listing.positions]
    column = max(map(len, names)) + 2
    for position, name in zip(listing.positions, names, strict=True):
        verdict = said_of(space, int(position))
        note = f"  ({verdict})" if verdict else ""
        text = brief(readable_call(tree, int(position))[0], width - column - 2 - len(note))
        out.append(f"{name:>{column}}  {text}{note}")
    if listing.total > len(listing.positions):
        out.append(f"{'':{column}}  … and {listing.total - len(listing.positions)} more")
    return out


def _may(listing: Listing) -> str:
    if listing.suspects == 0:
        return "none of which can be" if listing.total > 1 else "which cannot be"
    if listing.suspects == listing.total:
        return "all of which may be" if listing.total > 1 else "which may be"
    return f"{listing.suspects} of which may be"


def said_of(space: SearchSpace, position: int) -> str:
    """What is known about a call; nothing about one that is still open."""
    verdict = space.verdict(position)
    if verdict is not None:
        return SAID[verdict]
    flags = space.flags[position]
    if flags & TRUSTED:
        return "trusted"
    if flags & SKIPPED:
        return "skipped"
    suspect = bool(space.is_suspect(np.array([position]))[0])
    return "" if suspect else "ruled out"
