"""How certain a diagnosis is: everything that it rests on besides the user's own answers.

These are skipped questions, trusted code, answers of oracles, values that were recorded in part or
whose inside is opaque, notes of the recorder, and source that has changed since the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from whence.errors import WhenceError
from whence.model.call import Call
from whence.model.diagnosis import Diagnosis
from whence.model.symptom import SYMPTOM
from whence.model.value import is_cut, is_opaque
from whence.model.verdict import PERSON, SAID_OUTSIDE, Verdict
from whence.report.source import Sources
from whence.session.state import State

_NAMED = 4


def doubts(
    state: State, diagnosis: Diagnosis, call: Call, sources: Sources, notes: Sequence[str] = ()
) -> list[str]:
    """The reasons to doubt a diagnosis, one sentence each. `notes` are the recorder's."""
    return [
        *_answers(state),
        *_trusted(state, diagnosis),
        *_unseen(call),
        *notes,
        *_changed(call, sources),
    ]


def _answers(state: State) -> Iterator[str]:
    # The symptom is certain: the user named it, or it is visible.
    certain = (SYMPTOM, SAID_OUTSIDE)
    answers = [answer for answer in state.facts.answers if answer.by not in certain]
    by = Counter(answer.by for answer in answers if answer.by != PERSON)
    if by:
        counts = ", ".join(f"{name} {count}" for name, count in by.items())
        yield f"{sum(by.values())} of {len(answers)} answers came from others: {counts}"
    judged = {answer.node for answer in answers if answer.verdict is not Verdict.UNKNOWN}
    skipped = {answer.node for answer in answers if answer.verdict is Verdict.UNKNOWN} - judged
    if skipped:
        noun = "calls" if len(skipped) > 1 else "call"
        yield f"nobody could judge {noun} {some([str(node) for node in sorted(skipped)])}"


def _trusted(state: State, diagnosis: Diagnosis) -> Iterator[str]:
    if state.facts.trusts:
        yield f"trusted without being asked about: {some(list(map(str, state.facts.trusts)))}"
    if diagnosis.node is not None:
        tree = state.tree
        position = tree.position(diagnosis.node)
        end = int(tree.columns.end[position])
        direct = tree.columns.parent[position:end] == position
        implicit = tree.columns.implicit[position:end] != 0
        hidden = position + np.flatnonzero(direct & implicit)
        space = state.space()
        # Unrecorded calls below a judged call do not matter.
        if implicit[0] or any(space.verdict(int(callee)) is None for callee in hidden):
            yield "some calls that it made were not recorded"


def _unseen(call: Call) -> Iterator[str]:
    """Values of the call that were recorded in part."""
    arguments = () if call.text else call.arguments  # the text has them in full
    values = [(binding.name or f"arg{n}", binding.value) for n, binding in enumerate(arguments, 1)]
    values += [(binding.name, binding.value) for binding in call.reads]
    values += [(effect.target, effect.after) for effect in call.effects if effect.after is not None]
    if call.outcome.value is not None:
        values.append(("its result", call.outcome.value))
    cut = [name for name, value in values if any(is_cut(part) for _, part in value.paths())]
    if cut:
        yield f"recorded in part only: {some(cut)}"
    opaque = [
        f"{name}{''.join(steps)} ({part.text})"
        for name, value in values
        for steps, part in value.paths()
        if is_opaque(part)
    ]
    if opaque:
        yield f"changes inside these are not visible: {some(opaque)}"


def _changed(call: Call, sources: Sources) -> Iterator[str]:
    where = call.where()
    try:
        if where is not None and not call.rule.source and sources.changed(where.file):
            yield f"{where.file} was changed after the recording"
    except WhenceError:
        return


def some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - _NAMED} more" if len(unique) > _NAMED else ""
    return ", ".join(unique[:_NAMED]) + more
