"""The stable equation of an event: its predicate, the call, and the outcome.

A predicate of the module `user` is identified by its file within the project. An event has no
stable equation if its outcome depends on more than its arguments, or if its call was stopped.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from whence.langs.prolog.evaluation_tree import EvaluationTree
from whence.langs.prolog.port_events import GOAL, Predicate
from whence.langs.prolog.swipl_process import EngineProblem, plain, quoted
from whence.langs.prolog.traced_call import Port, PortEvent, judged_terms
from whence.model.call import Call
from whence.model.equation import StableEquation
from whence.model.value import fold_text

_CHARACTERS = 200


def stable_equation(
    source: EvaluationTree, project: Path, node: int, call: Call
) -> StableEquation | str:
    """The stable equation of a node's event, or why the event may differ in another run."""
    event = source.event(node)
    why = _why_unstable(source, event)
    if why:
        return why
    name = _name(event.call.predicate, project)
    of_call, *of_others = source.digests(judged_terms(event))
    inputs = _digest(name, of_call)
    digest = _digest(inputs, event.port.value, *of_others)
    return StableEquation(name, fold_text(call.equation(), _CHARACTERS), digest, inputs)


def _why_unstable(source: EvaluationTree, event: PortEvent) -> str:
    """Why an event may differ in another run; "" if it cannot."""
    predicate = event.call.predicate
    if event.port is Port.STOPPED:
        return "when a call is stopped depends on the limits"
    if predicate.name == GOAL:
        return "a typed goal is not a call of the program"
    texts = source.judged(event)
    if texts is None:
        return "a stream, or the like, exists in one process only"
    request = f"depends({quoted(predicate.module)}, {quoted(texts[0])})"
    try:
        lines = source.engine_of(event.call.term).do(request)
    except EngineProblem as problem:
        return str(problem)
    if lines:
        return plain(lines[0][1])
    is_touched = source.state_of(event.call).is_touched(event.call)
    return "it read or changed more than its arguments" if is_touched else ""


def _name(predicate: Predicate, project: Path) -> str:
    if predicate.module != "user" or not predicate.file:
        return f"{predicate.module}:{predicate.indicator}"
    file = Path(os.path.relpath(predicate.file, project)).as_posix()
    return f"{file}:{predicate.indicator}"


def _digest(*texts: str) -> str:
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()
