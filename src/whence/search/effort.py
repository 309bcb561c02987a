"""What it takes a person to answer a question, about 1 for a short one about a known function.

`quick_effort` knows a call by the tree's columns alone, so it can weigh hundreds of calls. It
counts how long the question is, whether its function is new, how far it is from the last question,
and whether a question about the same code could not be answered.

`telling_effort` reads the few calls that are left. A call tells little if its outcome is that of a
call that it made, if it only stored what it was given, or if nothing came of it that could be seen.
Nor can it be judged well if its outcome was not recorded in full, or if it looks like a call that
was judged already.

Effort chooses among questions. It rules no call out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whence.model.call import Call, OutcomeKind
from whence.model.value import BRIEF, Value, is_cut, is_opaque, show
from whence.model.verdict import Verdict
from whence.ports import Floats, Int64s, Suspects
from whence.tree.readable_call import readable_call

_READING = 1 / 400
_NEW_FUNCTION = 0.25
_FAR = 0.1
_SKIPPED_FUNCTION, _SKIPPED_MODULE, _SKIPPED_NEIGHBOUR = 1.0, 0.25, 0.5
_PLUMBING = 0.6
_NOTHING_SEEN = 1.0
_NOT_KNOWN = 0.3
_LOOKS_JUDGED = 1.0
_CALLEES = 8
"""How many callees of a call are compared with it."""
_REMEMBERED = 30
"""How many judged calls of a function are compared with a call: reading more of them would make
each question of a long session slower than the last."""


def quick_effort(suspects: Suspects, positions: Int64s) -> Floats:
    """What answering takes, as far as the columns tell."""
    columns = suspects.columns
    asked = [judged.position for judged in suspects.history]
    familiar = np.unique(columns.function[asked]) if asked else np.empty(0, dtype=np.int32)
    new = ~np.isin(columns.function[positions], familiar)
    cost: Floats = 1.0 + np.minimum(columns.effort[positions], 4000) * _READING
    cost += _NEW_FUNCTION * new
    if asked:
        last = asked[-1]
        family = {last, int(columns.parent[last]), suspects.top}
        near = np.isin(columns.parent[positions], list(family)) | np.isin(positions, list(family))
        cost += _FAR * ~near
    skipped = [judged.position for judged in suspects.history if judged.verdict is Verdict.UNKNOWN]
    return cost + _near_skipped(suspects, positions, skipped) if skipped else cost


def _near_skipped(suspects: Suspects, positions: Int64s, skipped: list[int]) -> Floats:
    """What a question takes more because questions about the same code could not be answered."""
    columns, functions = suspects.columns, suspects.tree.functions
    unclear = {int(columns.function[position]) for position in skipped}
    modules = {functions[number].module for number in unclear}
    of_module = [number for number, each in enumerate(functions) if each.module in modules]
    asked = columns.function[positions]
    callers = [int(columns.parent[position]) for position in skipped]
    beside = np.isin(columns.parent[positions], skipped) | np.isin(positions, callers)
    more = np.zeros(len(positions))
    more += _SKIPPED_FUNCTION * np.isin(asked, list(unclear))
    more += _SKIPPED_MODULE * np.isin(asked, of_module)
    more += _SKIPPED_NEIGHBOUR * beside
    return more


def telling_effort(suspects: Suspects, positions: Int64s) -> Floats:
    """What answering takes besides, by what the calls show."""
    judged = _Judged(suspects)
    return np.array([_untold(suspects, int(position), judged) for position in positions])


class _Judged:
    """How the calls of each function that were judged last looked."""

    def __init__(self, suspects: Suspects) -> None:
        self._suspects = suspects
        self._looks: dict[int, set[str]] = {}

    def has_seen(self, function: int, call: Call) -> bool:
        """Whether a call of the function looked the same."""
        if function not in self._looks:
            columns, tree = self._suspects.columns, self._suspects.tree
            asked = np.array([j.position for j in self._suspects.history], dtype=np.int64)
            alike = asked[columns.function[asked] == function][-_REMEMBERED:]
            self._looks[function] = {_look(readable_call(tree, int(p))[0]) for p in alike}
        return bool(self._looks[function]) and _look(call) in self._looks[function]


def _look(call: Call) -> str:
    effects = (f"{e.target}: {e.after and show(e.after)}" for e in call.effects)
    return "\n".join([call.equation(), call.printed, *effects])


def _untold(suspects: Suspects, position: int, judged: _Judged) -> float:
    call, problem = readable_call(suspects.tree, position)
    if problem or call.text or call.step is not None:
        return 0.0
    looks_judged = judged.has_seen(int(suspects.columns.function[position]), call)
    cost = _LOOKS_JUDGED if looks_judged else 0.0
    if _shows_nothing(call):
        return cost + _NOTHING_SEEN
    if _only_stores(call) or _passes_on(suspects, position, call):
        cost += _PLUMBING
    made = [effect.after for effect in call.effects] + [call.outcome.value]
    if any(value is not None and _is_partly_known(value) for value in made):
        cost += _NOT_KNOWN
    return cost


def _is_none(value: Value | None) -> bool:
    return value is not None and not value.parts and value.text == "None"


def _shows_nothing(call: Call) -> bool:
    """Whether it returned None and changed and printed nothing."""
    outcome = call.outcome
    ended = outcome.kind is OutcomeKind.RETURNED and _is_none(outcome.value)
    return ended and not (outcome.yielded or call.effects or call.printed)


def _only_stores(call: Call) -> bool:
    """Whether all that it did was to put what it was given into an object, as an `__init__`."""
    if not call.effects or call.printed or not _is_none(call.outcome.value):
        return False
    given = {show(argument.value, BRIEF) for argument in call.arguments}
    for effect in call.effects:
        before = {} if effect.before is None else dict(effect.before.parts)
        if effect.after is None:
            return False
        parts = effect.after.parts
        changed = [part for step, part in parts if before.get(step) != part]
        if len(parts) < len(before) or not changed:
            return False
        if not all(show(part, BRIEF) in given for part in changed):
            return False
    return True


def _passes_on(suspects: Suspects, position: int, call: Call) -> bool:
    """Whether its outcome is that of a call that it made, and it changed and printed nothing
    besides."""
    if call.printed or _is_none(call.outcome.value) or call.outcome.value is None:
        return False
    for callee in _last_callees(suspects, position):
        made, _ = readable_call(suspects.tree, callee)
        if made.right() != call.right():
            continue
        others = {show(effect.after, BRIEF) for effect in made.effects if effect.after}
        own = (effect.after for effect in call.effects)
        return all(after is not None and show(after, BRIEF) in others for after in own)
    return False


def _last_callees(suspects: Suspects, position: int) -> Iterator[int]:
    """The last callees of a call that ended as it did, if it made few calls."""
    columns = suspects.columns
    callees: list[int] = []
    inner = position + 1
    while inner < columns.end[position]:
        if len(callees) == _CALLEES:
            return
        callees.append(inner)
        inner = int(columns.end[inner])
    same = (callee for callee in reversed(callees) if _same_end(suspects, callee, position))
    yield from same


def _same_end(suspects: Suspects, one: int, other: int) -> bool:
    return bool(suspects.columns.outcome[one] == suspects.columns.outcome[other])


def _is_partly_known(value: Value) -> bool:
    return is_cut(value) or is_opaque(value) or any(is_cut(part) for _, part in value.parts)
