"""Whether two recordings are of the same run: call by call, by number.

Call N of the one is call N of the other if all calls up to it have the same function and caller,
and if what is known of it from both does not contradict. The first difference is named; from there
on nothing of the second run is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from whence.langs.python.trace.recorded_effects import UNKNOWN
from whence.model.call import Call, Function, Location, OutcomeKind
from whence.model.value import Kind, Limits, Value, show
from whence.ports import Int32s, Int64s
from whence.tree.column_tree import ColumnTree, all_ids
from whence.tree.readable_call import function_at, up_from

_BRIEF = Limits(depth=2, parts=4, characters=80)
_LEFT_OUT = "…"
_CUT = "…"
_DEEPEST = 200
_NO_CALL = "no such call"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first call at which two runs differ, and how."""

    call: int
    recorded: str
    again: str

    def __str__(self) -> str:
        return f"at call {self.call}, recorded: {self.recorded}; now: {self.again}"


def first_divergence(recorded: ColumnTree, again: ColumnTree, last: int) -> Divergence | None:
    """The first call up to number `last` that another function made, or another caller."""
    ours, theirs = _by_number(recorded, last), _by_number(again, last)
    here, there = numbered(recorded.functions, again.functions)
    same = (here[ours.function] == there[theirs.function]) & (ours.parent == theirs.parent)
    same[0] = True  # the run as a whole
    different = np.flatnonzero(~same)
    if not len(different):
        return None
    call = int(different[0])
    return Divergence(call, _told(recorded, ours, call), _told(again, theirs, call))


def first_difference(recorded: ColumnTree, again: ColumnTree, last: int) -> Divergence | None:
    """The first call up to number `last` of which anything differs that is known of it.

    A call is numbered before those that it made, but ends after them: what came of it differs most
    often because what came of one of them does. So it is named only if it was given something else
    or if none of them differs.
    """
    made = first_divergence(recorded, again, last)
    different = _other_equations(recorded, again, made.call - 1 if made else last)
    if made:
        different = np.append(different, True)
    ids, end = all_ids(recorded), recorded.columns.end
    known = (ids < len(different)) & (recorded.details >= 0)
    inside = np.flatnonzero(known & different[np.where(known, ids, 0)])
    call = -1
    while len(inside):
        at = int(inside[np.argmin(ids[inside])])
        call = int(ids[at])
        if made and call == made.call:
            return made
        if _given_something_else(recorded, again, call):
            break
        inside = inside[(inside > at) & (inside < end[at])]
    if call < 0:
        return made
    return Divergence(call, described(recorded, call), _otherwise(recorded, again, call))


def _other_equations(recorded: ColumnTree, again: ColumnTree, last: int) -> npt.NDArray[np.bool_]:
    """For each call by its number whether more of it differs than who made it.

    Calls that the recorded run was in when it was stopped are not compared: how far they had got
    is chance.
    """
    different: npt.NDArray[np.bool_] = _equations(recorded, last) != _equations(again, last)
    for tree in (recorded, again):
        stopped = tree.columns.outcome == OutcomeKind.NOT_TERMINATED
        numbers = all_ids(tree)[stopped]
        different[numbers[numbers <= last]] = False
    different[0] = False  # the run as a whole
    return different


def _given_something_else(recorded: ColumnTree, again: ColumnTree, call: int) -> bool:
    ours, theirs = (tree.call(tree.position(call)) for tree in (recorded, again))
    return contradiction(ours, theirs) is not None


def _otherwise(recorded: ColumnTree, again: ColumnTree, call: int) -> str:
    """A call of the second run in short, and how it differs if that does not show."""
    now = described(again, call)
    if now != described(recorded, call):
        return now
    ours, theirs = (tree.call(tree.position(call)) for tree in (recorded, again))
    how = contradiction(ours, theirs) or other_outcome(ours, theirs) or other_effects(ours, theirs)
    return f"{now}; {how or 'it differs in what is not shown'}"


def _equations(tree: ColumnTree, last: int) -> Int64s:
    """For each call by its number the digest of what it was given and what came of it."""
    ids = all_ids(tree)
    known = (ids <= last) & (tree.details >= 0)
    found = np.zeros(last + 1, dtype=np.int64)
    found[ids[known]] = tree.columns.equation[known]
    return found


def calls_of(tree: ColumnTree) -> int:
    """How many calls were recorded, which is the number of the last one."""
    return int(all_ids(tree)[tree.details >= 0].max())


def described(tree: ColumnTree, call: int) -> str:
    """A call in short."""
    return tree.call(tree.position(call)).equation(_BRIEF) if call <= calls_of(tree) else _NO_CALL


def callers_of(tree: ColumnTree, call: int) -> list[str]:
    """The functions from a call to the top."""
    position = tree.position(call) if call <= calls_of(tree) else -1
    return [function_at(tree, each).short() for each in up_from(tree, position)]


@dataclass(frozen=True, slots=True)
class _ByNumber:
    """For each call by its number: function and caller, -1 if there is no such call."""

    function: Int32s
    parent: Int64s


def _by_number(tree: ColumnTree, last: int) -> _ByNumber:
    ids = all_ids(tree)
    # What stands for calls that were skipped is no call, and has a number behind all of them.
    known = (ids <= last) & (tree.details >= 0)
    function = np.full(last + 1, -1, dtype=np.int32)
    parent = np.full(last + 1, -1, dtype=np.int64)
    function[ids[known]] = tree.columns.function[known]
    above = tree.columns.parent[known]
    parent[ids[known]] = np.where(above < 0, -1, ids[np.maximum(above, 0)])
    return _ByNumber(function, parent)


def numbered(*runs: Sequence[Function]) -> list[Int32s]:
    """For the functions of each run numbers that are the same for what is called the same; the last
    entry stands for no function. Of two on one line nobody can tell which is which."""
    known: dict[tuple[str, Location | None], int] = {}
    return [
        np.array(
            [*(known.setdefault(_key(each), len(known)) for each in functions), -1], dtype=np.int32
        )
        for functions in runs
    ]


def _key(function: Function) -> tuple[str, Location | None]:
    return function.short(), function.location


def _told(tree: ColumnTree, calls: _ByNumber, call: int) -> str:
    if calls.function[call] < 0:
        return _NO_CALL
    function = tree.functions[int(calls.function[call])]
    place = f" ({function.location})" if function.location else ""
    parent = int(calls.parent[call])
    caller = tree.functions[int(calls.function[parent])].short() if parent >= 0 else "nobody"
    return f"{function.short()}{place}, called by {caller}"


# --- one call, seen twice ------------------------------------------------------------------------


def contradiction(recorded: Call, again: Call) -> str | None:
    """How two recordings of one call differ in what it was given, as far as both tell it."""
    for ours, theirs in zip(recorded.arguments, again.arguments, strict=False):
        if ours.name != theirs.name:
            return f"{ours.name} was given, now {theirs.name}"
        if not _Comparison(recorded, again).agrees(ours.value, theirs.value):
            return f"{ours.name} was {show(ours.value, _BRIEF)}, now {show(theirs.value, _BRIEF)}"
    if len(recorded.arguments) != len(again.arguments):
        return f"{len(recorded.arguments)} arguments were given, now {len(again.arguments)}"
    return None


def other_outcome(recorded: Call, again: Call) -> str | None:
    """How two recordings of one call differ in what came of it, as far as both tell it."""
    ours, theirs = recorded.outcome, again.outcome
    if OutcomeKind.NOT_TERMINATED in (ours.kind, theirs.kind):
        return None  # it was stopped
    if ours.kind is not theirs.kind:
        return f"it {ours.kind.name.lower()}, now {theirs.kind.name.lower()}"
    if ours.value is None or theirs.value is None:
        return None
    if _Comparison(recorded, again).agrees(ours.value, theirs.value):
        return None
    return f"it gave {show(ours.value, _BRIEF)}, now {show(theirs.value, _BRIEF)}"


def other_effects(recorded: Call, again: Call) -> str | None:
    """How two recordings of one call differ in what else it read and did, likewise."""
    compared = _Comparison(recorded, again)
    if recorded.printed != again.printed:
        return _other_line(recorded.printed, again.printed)
    reads = [{each.name: each.value for each in call.reads} for call in (recorded, again)]
    for name in reads[0].keys() & reads[1].keys():
        if not compared.agrees(reads[0][name], reads[1][name]):
            return f"it read another {name}"
    effects = [
        # What became of a parameter that was bound anew is not known, and no call is told by it.
        {each.target: each.after for each in call.effects if each.after != UNKNOWN}
        for call in (recorded, again)
    ]
    if effects[0].keys() != effects[1].keys():
        return f"it changed {', '.join(effects[1]) or 'nothing'}"
    for target, after in effects[0].items():
        now = effects[1][target]
        if (after is None) != (now is None):
            return f"it changed {target} otherwise"
        if after is not None and now is not None and not compared.agrees(after, now):
            return f"it changed {target} to {show(now, _BRIEF)}"
    return None


def _other_line(ours: str, theirs: str) -> str:
    lines = zip_longest(ours.split("\n"), theirs.split("\n"), fillvalue="")
    then, now = next((a, b) for a, b in lines if a != b)
    return f"it printed {then!r}, now {now!r}"


class _Comparison:
    """Of two values of two calls, one of which may know more of them than the other."""

    def __init__(self, ours: Call, theirs: Call):
        self._ours, self._theirs = _shared(ours), _shared(theirs)
        self._compared: set[tuple[int, int]] = set()

    def agrees(self, ours: Value, theirs: Value, depth: int = 0) -> bool:
        """Whether nothing that both know differs."""
        if ours.kind is Kind.SHARED:
            ours = self._ours.get(ours.identity or 0, ours)
        if theirs.kind is Kind.SHARED:
            theirs = self._theirs.get(theirs.identity or 0, theirs)
        if Kind.SHARED in (ours.kind, theirs.kind) or depth > _DEEPEST:
            return True
        if _LEFT_OUT in (ours.text, theirs.text):
            return True
        pair = (id(ours), id(theirs))
        if pair in self._compared:
            return True
        self._compared.add(pair)
        if ours.kind is not theirs.kind or not _texts_agree(ours.text, theirs.text):
            return False
        if len(ours.parts) + ours.omitted != len(theirs.parts) + theirs.omitted:
            return False
        if ours.kind is Kind.SET:  # in an order of its own
            return True
        return all(
            step == other_step and self.agrees(part, other, depth + 1)
            for (step, part), (other_step, other) in zip(ours.parts, theirs.parts, strict=False)
        )


def _texts_agree(ours: str, theirs: str) -> bool:
    """Equal, or one is the beginning of the other and says so."""
    if ours == theirs:
        return True
    if _CUT not in ours and _CUT not in theirs:
        return False
    start = min(ours.find(_CUT) % (len(ours) + 1), theirs.find(_CUT) % (len(theirs) + 1))
    # The quote before the mark ends the text that was cut off, and no other.
    return ours[: max(0, start - 1)] == theirs[: max(0, start - 1)]


def _shared(call: Call) -> dict[int, Value]:
    """The values of a call that others refer to, by their numbers."""
    roots = [each.value for each in (*call.arguments, *call.reads)]
    roots += [value for effect in call.effects for value in (effect.before, effect.after) if value]
    roots += [value for value in (call.outcome.value, *call.outcome.yielded) if value is not None]
    found: dict[int, Value] = {}
    for root in roots:
        for _, value in root.paths(100_000):
            if value.identity is not None and value.kind is not Kind.SHARED:
                found.setdefault(value.identity, value)
    return found
