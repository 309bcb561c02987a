"""Compares two recordings of one program, call by call, by number.

Call N of one is call N of the other if all calls up to it have the same function and caller, and if
what both know of it agrees. The first difference is the divergence: nothing of the second run is
believed from there on.
"""

from __future__ import annotations

import re
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
_AT = re.compile(r"\b0x[0-9a-f]{6,16}\b")
_ID = re.compile(r"\d{10,15}")
_HASH = re.compile(r"-?\d{5,20}")
_LEAST_ADDRESS, _AFTER_ADDRESSES = 2**32, 2**47


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first call at which two runs differ, and how."""

    call: int
    recorded: str
    again: str

    def __str__(self) -> str:
        return f"at call {self.call}, recorded: {self.recorded}; now: {self.again}"


def first_divergence(recorded: ColumnTree, again: ColumnTree, last: int) -> Divergence | None:
    """The first call up to number `last` with another function or another caller."""
    ours, theirs = _by_number(recorded, last), _by_number(again, last)
    here, there = numbered(recorded.functions, again.functions)
    same = (here[ours.function] == there[theirs.function]) & (ours.parent == theirs.parent)
    same[0] = True  # the run as a whole
    different = np.flatnonzero(~same)
    if not len(different):
        return None
    call = int(different[0])
    return Divergence(call, _describe(recorded, ours, call), _describe(again, theirs, call))


def first_difference(recorded: ColumnTree, again: ColumnTree, last: int) -> Divergence | None:
    """The first call up to number `last` that differs in anything that is recorded of it.

    A call is numbered before its callees but ends after them: its outcome differs most often
    because that of a callee does. So it is reported only if its inputs differ or if none of its
    callees does.
    """
    divergence = first_divergence(recorded, again, last)
    different = _other_equations(recorded, again, divergence.call - 1 if divergence else last)
    if divergence:
        different = np.append(different, True)
    ids, end = all_ids(recorded), recorded.columns.end
    recorded_here = (ids < len(different)) & (recorded.details >= 0)
    inside = np.flatnonzero(recorded_here & different[np.where(recorded_here, ids, 0)])
    call = -1
    while len(inside):
        at = int(inside[np.argmin(ids[inside])])
        call = int(ids[at])
        if divergence and call == divergence.call:
            return divergence
        if contradiction(*_in_both(recorded, again, call)) is not None:
            break
        inside = inside[(inside > at) & (inside < end[at])]
    if call < 0:
        return divergence
    return Divergence(call, described(recorded, call), _described_again(recorded, again, call))


def _other_equations(recorded: ColumnTree, again: ColumnTree, last: int) -> npt.NDArray[np.bool_]:
    """For each call, by its number: whether its equation differs.

    Calls that were running when a run was stopped are not compared: where they stopped is chance.
    """
    different: npt.NDArray[np.bool_] = _equations(recorded, last) != _equations(again, last)
    for tree in (recorded, again):
        stopped = tree.columns.outcome == OutcomeKind.NOT_TERMINATED
        numbers = all_ids(tree)[stopped]
        different[numbers[numbers <= last]] = False
    different[0] = False  # the run as a whole
    return different


def _in_both(recorded: ColumnTree, again: ColumnTree, call: int) -> tuple[Call, Call]:
    return recorded.call(recorded.position(call)), again.call(again.position(call))


def _described_again(recorded: ColumnTree, again: ColumnTree, call: int) -> str:
    """A call of the second run in short, with the difference if that does not show."""
    now = described(again, call)
    if now != described(recorded, call):
        return now
    ours, theirs = _in_both(recorded, again, call)
    how = contradiction(ours, theirs) or other_outcome(ours, theirs) or other_effects(ours, theirs)
    return f"{now}; {how or 'it differs in what is not shown'}"


def _equations(tree: ColumnTree, last: int) -> Int64s:
    """For each call, by its number: the digest of its equation."""
    ids = all_ids(tree)
    recorded_here = (ids <= last) & (tree.details >= 0)
    equations = np.zeros(last + 1, dtype=np.int64)
    equations[ids[recorded_here]] = tree.columns.equation[recorded_here]
    return equations


def calls_of(tree: ColumnTree) -> int:
    """The number of recorded calls, which is the number of the last one."""
    return int(all_ids(tree)[tree.details >= 0].max())


def described(tree: ColumnTree, call: int) -> str:
    """A call in short."""
    return tree.call(tree.position(call)).equation(_BRIEF) if call <= calls_of(tree) else _NO_CALL


def callers_of(tree: ColumnTree, call: int) -> list[str]:
    """The functions from a call to the top."""
    position = tree.position(call) if call <= calls_of(tree) else -1
    return [function_at(tree, caller).short() for caller in up_from(tree, position)]


@dataclass(frozen=True, slots=True)
class _ByNumber:
    """For each call, by its number: function and caller; -1 if there is no such call."""

    function: Int32s
    parent: Int64s


def _by_number(tree: ColumnTree, last: int) -> _ByNumber:
    ids = all_ids(tree)
    # Stand-ins for skipped calls are no calls; their numbers come after all others.
    recorded_here = (ids <= last) & (tree.details >= 0)
    function = np.full(last + 1, -1, dtype=np.int32)
    parent = np.full(last + 1, -1, dtype=np.int64)
    function[ids[recorded_here]] = tree.columns.function[recorded_here]
    above = tree.columns.parent[recorded_here]
    parent[ids[recorded_here]] = np.where(above < 0, -1, ids[np.maximum(above, 0)])
    return _ByNumber(function, parent)


def numbered(*runs: Sequence[Function]) -> list[Int32s]:
    """Numbers for the functions of each run: equal for functions of equal name and location.

    The last entry stands for no function. Two functions of one name on one line get one number.
    """
    numbers: dict[tuple[str, Location | None], int] = {}
    return [
        np.array(
            [*(numbers.setdefault((f.short(), f.location), len(numbers)) for f in functions), -1],
            dtype=np.int32,
        )
        for functions in runs
    ]


def _describe(tree: ColumnTree, calls: _ByNumber, call: int) -> str:
    if calls.function[call] < 0:
        return _NO_CALL
    function = tree.functions[int(calls.function[call])]
    where = f" ({function.location})" if function.location else ""
    parent = int(calls.parent[call])
    caller = tree.functions[int(calls.function[parent])].short() if parent >= 0 else "nobody"
    return f"{function.short()}{where}, called by {caller}"


# --- one call in two recordings ------------------------------------------------------------------


def contradiction(recorded: Call, again: Call) -> str | None:
    """How the arguments of one call differ between two recordings, as far as both know them."""
    for ours, theirs in zip(recorded.arguments, again.arguments, strict=False):
        if ours.name != theirs.name:
            return f"{ours.name} was given, now {theirs.name}"
        if not _Comparison(recorded, again).agrees(ours.value, theirs.value):
            return f"{ours.name} was {show(ours.value, _BRIEF)}, now {show(theirs.value, _BRIEF)}"
    if len(recorded.arguments) != len(again.arguments):
        return f"{len(recorded.arguments)} arguments were given, now {len(again.arguments)}"
    return None


def other_outcome(recorded: Call, again: Call) -> str | None:
    """How the outcomes of one call differ, likewise."""
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
    """How output, reads and effects of one call differ, likewise."""
    compared = _Comparison(recorded, again)
    if recorded.printed != again.printed:
        return _other_line(recorded.printed, again.printed)
    reads = [{item.name: item.value for item in call.reads} for call in (recorded, again)]
    for name in reads[0].keys() & reads[1].keys():
        if not compared.agrees(reads[0][name], reads[1][name]):
            return f"it read another {name}"
    effects = [
        # The value of a rebound parameter is not known, so it cannot be compared.
        {item.target: item.after for item in call.effects if item.after != UNKNOWN}
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
    """Compares values of two calls, one of which may be recorded in more detail."""

    def __init__(self, ours: Call, theirs: Call):
        self._ours, self._theirs = _shared(ours), _shared(theirs)
        self._compared: set[tuple[int, int]] = set()

    def agrees(self, ours: Value, theirs: Value, depth: int = 0) -> bool:
        """Whether nothing differs that both know."""
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
        if ours.kind is not theirs.kind or not texts_agree(ours.text, theirs.text):
            return False
        if len(ours.parts) + ours.omitted != len(theirs.parts) + theirs.omitted:
            return False
        if ours.kind is Kind.SET:  # its order means nothing
            return True
        return all(
            step == other_step
            and (_is_cached_hash(step, part, other) or self.agrees(part, other, depth + 1))
            for (step, part), (other_step, other) in zip(ours.parts, theirs.parts, strict=False)
        )


def texts_agree(ours: str, theirs: str) -> bool:
    """Whether texts are equal as far as neither is cut, wherever objects lie in memory."""
    if ours == theirs or _without_addresses(ours) == _without_addresses(theirs):
        return True
    if _CUT not in ours and _CUT not in theirs:
        return False
    start = min(ours.find(_CUT) % (len(ours) + 1), theirs.find(_CUT) % (len(theirs) + 1))
    # The quote before the mark closes the text that was cut.
    return ours[: max(0, start - 1)] == theirs[: max(0, start - 1)]


def _without_addresses(text: str) -> str:
    """A text without what depends on where objects lie: `at 0x7f…`, and a number from `id`."""
    number = int(text) if _ID.fullmatch(text) else 0
    if _LEAST_ADDRESS <= number < _AFTER_ADDRESSES and number % 8 == 0:
        return "<address>"
    return _AT.sub("0x…", text)


def _is_cached_hash(step: str, ours: Value, theirs: Value) -> bool:
    """Whether two values are the hash that an object keeps of itself: it depends on addresses."""
    both = (ours, theirs)
    return "hash" in step.lower() and all(
        value.kind is Kind.ATOM and _HASH.fullmatch(value.text) for value in both
    )


def _shared(call: Call) -> dict[int, Value]:
    """The values of a call that others refer to, by identity."""
    roots = [binding.value for binding in (*call.arguments, *call.reads)]
    roots += [value for effect in call.effects for value in (effect.before, effect.after) if value]
    roots += [value for value in (call.outcome.value, *call.outcome.yielded) if value is not None]
    shared: dict[int, Value] = {}
    for root in roots:
        for _, value in root.paths(100_000):
            if value.identity is not None and value.kind is not Kind.SHARED:
                shared.setdefault(value.identity, value)
    return shared
