"""Weighs the evidence about each function: a sum of a few terms that a person can check.

The terms are documented in docs/ranking.md. The spectrum term is the logarithm of Ochiai's
coefficient (Abreu, Zoeteweij, van Gemund 2007) of the most suspicious line, as function-level
studies count it (Widyasari et al. 2022): with one failing test it is 1 / sqrt(1 + ep). DStar (Wong
et al. 2014) orders lines equally then. That the stack of an exception points at faults is from
Schröter et al. 2010; that small distances do, from nearest-neighbour and slice-based ranking; that
names of tests point at what they test, from the study of test-to-code links by Parizi et al. 2014.

Invariant: no term rules a function out, and functions that ran only in imports come last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from whence.langs.python.witnesses.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each term counts."""

    spectrum: float = 1.5
    new_lines: float = 0.5
    stack: float = 1.5
    stack_decay: float = 0.6
    raised: float = 0.2
    depth: float = 0.1
    named: float = 0.5
    size: float = 0.45
    late: float = 0.75
    operand: float = 0.5
    operand_decay: float = 0.7
    lacks: float = 2.0
    changed: float = 2.0
    age: float = 0.5
    imports: float = -100.0


WEIGHTS = Weights()
_DEEPEST = 10
_MONTH = 30.0


def terms(evidence: Evidence, weights: Weights = WEIGHTS) -> dict[str, float]:
    """What each kind of evidence adds."""
    result: dict[str, float] = {}
    if evidence.passing is not None:
        result["spectrum"] = -weights.spectrum * 0.5 * math.log(1 + evidence.passing)
        if evidence.lines:
            result["new lines"] = weights.new_lines * evidence.new_lines / evidence.lines
    if evidence.stack is not None:
        result["stack"] = weights.stack * weights.stack_decay**evidence.stack
    elif evidence.raised:
        result["raised"] = weights.raised
    depth = _DEEPEST if evidence.depth is None else min(evidence.depth, _DEEPEST)
    result["depth"] = -weights.depth * depth
    result["named"] = weights.named * evidence.named
    result["size"] = weights.size * math.log(1 + evidence.lines)
    result["late"] = weights.late * evidence.last
    if evidence.operand is not None:
        result["operand"] = weights.operand * weights.operand_decay**evidence.operand
    if evidence.lacks:
        result["lacks"] = weights.lacks
    if evidence.changed:
        result["changed"] = weights.changed
    elif evidence.days_old is not None:
        result["age"] = weights.age / (1 + evidence.days_old / _MONTH)
    if evidence.only_imports and not evidence.lacks:
        result["imports"] = weights.imports
    return result
