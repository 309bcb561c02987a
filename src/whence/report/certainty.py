"""How sure a diagnosis is: what of it rests on something else than a person who saw everything.

Skipped questions, trusted code, answers of oracles, inputs and outcomes that were recorded in part
only or whose inside cannot be seen, what the recorder noted, source that was changed since: each is
said, and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from whence.errors import WhenceError
from whence.model.call import Call
from whence.model.diagnosis import Diagnosis
from whence.model.symptom import SYMPTOM
from whence.model.value import Value, is_cut, is_opaque
from whence.model.verdict import PERSON, SAID_OUTSIDE, Verdict
from whence.report.source import Sources
from whence.session.state import State

_NAMED = 4


def doubts(
    state: State, diagnosis: Diagnosis, call: Call, sources: Sources, notes: Sequence[str] = ()
) -> list[str]:
    """What one should know before one believes a diagnosis, a sentence each.

    `notes` are the recorder's.
    """
    return [
        *_answers(state),
        *_trusted(state, diagnosis),
        *_unseen(call),
        *notes,
        *_changed(call, sources),
    ]


def _answers(state: State) -> Iterator[str]:
    # What is wrong about the run as a whole was said by a person, or can be seen.
    known_before = (SYMPTOM, SAID_OUTSIDE)
    answers = [each for each in state.facts.answers if each.by not in known_before]
    by = Counter(each.by for each in answers if each.by != PERSON)
    if by:
        given = ", ".join(f"{name} {count}" for name, count in by.items())
        yield f"{sum(by.values())} of {len(answers)} answers came from others: {given}"
    known = {each.node for each in answers if each.verdict is not Verdict.UNKNOWN}
    skipped = {each.node for each in answers if each.verdict is Verdict.UNKNOWN} - known
    if skipped:
        yield f"nobody could judge {_few('call', [str(node) for node in sorted(skipped)])}"


def _trusted(state: State, diagnosis: Diagnosis) -> Iterator[str]:
    if state.facts.trusts:
        yield f"trusted without being asked about: {_some(list(map(str, state.facts.trusts)))}"
    if diagnosis.node is not None:
        tree = state.tree
        position = tree.position(diagnosis.node)
        end = int(tree.columns.end[position])
        direct = tree.columns.parent[position:end] == position
        implicit = tree.columns.implicit[position:end] != 0
        hidden = position + np.flatnonzero(direct & implicit)
        space = state.space()
        # What lies below one that was judged does not matter.
        if implicit[0] or any(space.verdict(int(each)) is None for each in hidden):
            yield "some calls that it made were not recorded"


def _unseen(call: Call) -> Iterator[str]:
    """Values of the call that are known in part only."""
    given = () if call.text else call.arguments  # the text has them in full
    values = [(each.name or f"arg{n}", each.value) for n, each in enumerate(given, 1)]
    values += [(each.name, each.value) for each in call.reads]
    values += [(each.target, each.after) for each in call.effects if each.after is not None]
    if call.outcome.value is not None:
        values.append(("what it gave back", call.outcome.value))
    cut = [name for name, value in values if any(is_cut(part) for _, part in value.paths())]
    if cut:
        yield f"recorded in part only: {_some(cut)}"
    opaque = [f"{name}{path} ({text})" for name, value in values for path, text in _opaque(value)]
    if opaque:
        yield f"a change inside would not have been seen: {_some(opaque)}"


def _opaque(value: Value) -> Iterator[tuple[str, str]]:
    for steps, part in value.paths():
        if is_opaque(part):
            yield "".join(steps), part.text


def _changed(call: Call, sources: Sources) -> Iterator[str]:
    where = call.where()
    try:
        if where is not None and not call.rule.source and sources.changed(where.file):
            yield f"{where.file} was changed after the recording"
    except WhenceError:
        return


def _some(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - _NAMED} more" if len(unique) > _NAMED else ""
    return ", ".join(unique[:_NAMED]) + more


def _few(noun: str, names: list[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {_some(names)}"
