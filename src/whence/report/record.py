"""The diagnosis as one JSON object, for CI, editors and scripts. `docs/report.md` is its manual.

The shape is versioned: keys are added, never renamed or dropped, within one version. Lists of
calls have bounds, because a session that is left early has as many candidates as calls; a key
beside each list says how many more there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whence.model.call import Binding, Location
from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.value import FULL, show
from whence.model.verdict import Answer
from whence.ports import Tree
from whence.report.explanation import explain
from whence.report.findings import NOT_ASKED, Findings
from whence.report.source import Block, Sources
from whence.session.state import State, expectations
from whence.tree.readable_call import readable_call

VERSION = 1
MOST_CALLS = 50
"""The most candidates that are written in full."""
MOST_IDS = 1000
"""The most ids in one list."""
MOST_CHARACTERS = 1000
"""The most characters of a candidate's equation."""


def record(
    state: State,
    diagnosis: Diagnosis,
    *,
    person: int,
    oracles: Mapping[str, int],
    characters: int,
    sources: Sources | None = None,
    findings: Findings = NOT_ASKED,
) -> dict[str, object]:
    """The object that `--format json` writes."""
    tree = state.tree
    at_fault = None
    if diagnosis.node is not None:
        at_fault = _call(tree, diagnosis.node, diagnosis.kind)
        at_fault["bad_input"] = list(diagnosis.bad_input[:MOST_IDS])
        at_fault["more_bad_input"] = max(0, len(diagnosis.bad_input) - MOST_IDS)
        at_fault["group"] = list(diagnosis.group[:MOST_IDS])
        at_fault["more_group"] = max(0, len(diagnosis.group) - MOST_IDS)
        at_fault["expected"] = [
            {"part": str(answer.mark) if answer.mark else "", "value": answer.expected}
            for answer in expectations(state, diagnosis.node)
        ]
        at_fault["within_slice"] = diagnosis.within_slice
        parts = explain(state, diagnosis, sources or Sources(), findings)
        at_fault["source"] = _source(parts.source)
        at_fault["lines_not_known"] = parts.no_lines
        at_fault["out_of_sight"] = list(parts.out_of_sight)
        at_fault["doubts"] = list(parts.doubts)
        at_fault["raised_by"] = _raised_by(findings)
        at_fault["passed_on"] = _passed_on(findings)
    return {
        "whence": "diagnosis",
        "version": VERSION,
        "status": diagnosis.status.value,
        "at_fault": at_fault,
        "definitions": list(diagnosis.definitions),
        "candidates": [_call(tree, node, None) for node in diagnosis.candidates[:MOST_CALLS]],
        "more_candidates": max(0, len(diagnosis.candidates) - MOST_CALLS)
        + diagnosis.more_candidates,
        "questions": {"person": person, "oracle": sum(oracles.values())},
        "oracles": dict(oracles),
        "characters": characters,
        "answers": [_answer(answer) for answer in state.facts.answers],
        "strategy": state.facts.strategy,
        "reason": diagnosis.reason,
    }


def _raised_by(findings: Findings) -> dict[str, object] | None:
    raised = findings.raised_by
    if raised is None:
        return None
    return {
        "call": raised.node,
        "expression": raised.text,
        **_place(raised.location),
        "operands": _pairs(raised.operands),
    }


def _passed_on(findings: Findings) -> dict[str, object] | None:
    passed = findings.passed
    if passed is None:
        return None
    made = passed.origin
    origin = {"call": made.node, "expression": made.expression, **_place(made.location)}
    value = show(passed.part.value, FULL)
    return {"call": passed.node, "part": str(passed.part.mark), "value": value, "origin": origin}


def _pairs(bindings: Sequence[Binding]) -> list[list[str]]:
    return [[binding.name, show(binding.value, FULL)] for binding in bindings]


def _place(where: Location | None) -> dict[str, object]:
    return {"file": where.file if where else None, "line": where.line if where else None}


def _source(block: Block | None) -> dict[str, object] | None:
    if block is None:
        return None
    ran = None if block.executed is None else sorted(block.executed)
    lines = list(block.lines)
    return {"line": block.first, "text": lines, "executed": ran, "changed": block.changed}


def _answer(answer: Answer) -> dict[str, object]:
    said: dict[str, object] = {
        "node": answer.node,
        "verdict": answer.verdict.value,
        "by": answer.by,
    }
    if answer.mark is not None:
        said["mark"] = str(answer.mark)
    if answer.expected is not None:
        said["expected"] = answer.expected
    if answer.reason:
        said["reason"] = answer.reason
    return said


def _call(tree: Tree, node: int, kind: FaultKind | None) -> dict[str, object]:
    call, _ = readable_call(tree, tree.position(node))
    where, equation = call.where(), call.equation(FULL)
    item: dict[str, object] = {
        "function": call.function.name,
        "qualname": call.function.short(),
        "rule": call.rule.name,
        **_place(where),
        "call": node,
        "equation": equation,
    }
    if kind is None and len(equation) > MOST_CHARACTERS:
        item["equation"] = equation[: MOST_CHARACTERS - 1] + "…"
    if call.step is not None:
        item["step"] = {
            "label": call.step.label,
            "before": {binding.name: show(binding.value, FULL) for binding in call.arguments},
            "after": call.afterwards(FULL),
            "parts": _pairs(call.step.parts),
        }
    if kind is not None:
        item["kind"] = kind.value
    return item


def exit_code(diagnosis: Diagnosis) -> int:
    """0 when the fault was found, 1 when not."""
    return 0 if diagnosis.status is Status.FOUND else 1
