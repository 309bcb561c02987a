"""What a failed assertion means in a recording: the first answers, and where to look first.

The test is wrong, since it failed. Only its author knows which operand is wrong. If the call that
created that operand is known, it is asked about first. It is taken to be wrong without a question
only if all its arguments are literals in the test. Otherwise its input may be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from whence.langs.python.recordings import read_symptom
from whence.langs.python.source.assertions import expected_of, statement_at
from whence.langs.python.source.definitions import NOT_LITERAL, literal
from whence.langs.python.source.source_parsing import read_source
from whence.langs.python.trace.assertion_operands import Traced, failing_call, trace_operand
from whence.model.call import RESULT, Mark, MarkedPart, OutcomeKind
from whence.model.origin import Influence, Origin
from whence.model.symptom import SYMPTOM, AssertionOperand, FailedAssertion, Symptom
from whence.model.value import show
from whence.model.verdict import Answer, Verdict
from whence.ports import Provenance, Tree
from whence.tree.column_tree import ColumnTree


def shown(tree: ColumnTree, symptom: Symptom) -> tuple[str, list[str]]:
    """The assertion's source, and the values of its operands, each empty if it is not known."""
    failed = symptom.assertion
    assert failed is not None
    values = []
    for operand in failed.operands:
        traced = trace_operand(tree, symptom, operand)
        is_known = traced.position is not None and traced.is_operand
        outcome = tree.call(traced.position or 0).outcome.value if is_known else None
        values.append(operand.value or ("" if outcome is None else show(outcome)))
    return statement_at(read_source(failed.file) or "", failed.line), values


def first_answers(tree: ColumnTree, symptom: Symptom) -> tuple[list[Answer], list[str]]:
    """What the failure of a test says of its calls, and notes for its author."""
    test = Answer(tree.id(0), Verdict.WRONG, by=SYMPTOM)
    failed, frame = symptom.assertion, failing_call(tree, symptom)
    if failed is None or frame is None:
        return [test], []
    test_answers = [test]
    if tree.columns.outcome[frame] == OutcomeKind.NOT_TERMINATED:
        # A subtest failed: it is no question whether the test should have ended there.
        test_answers.append(Answer(tree.id(frame), Verdict.WRONG, by=SYMPTOM))
    if all(operand.wrong is None for operand in failed.operands):
        return test_answers, []
    wrong = [operand for operand in failed.operands if operand.wrong]
    if all(map(_is_written, wrong)):
        note = "Then the test itself is wrong, in its assertion or in what it does before."
        return [test, Answer(tree.id(frame), Verdict.WRONG, by=SYMPTOM)], [note]
    answers: list[Answer] = []
    notes = []
    for operand in wrong:
        traced = trace_operand(tree, symptom, operand)
        if traced.position is None:
            text = " ".join(operand.expression.split())
            why = traced.unknown
            notes.append(f"Which call made {text} is not known ({why}), so all are searched.")
        elif traced.is_wrong:
            call = tree.call(traced.position)
            written = "what it was given is written in the test"
            why = written if call.arguments else "it was given nothing"
            expected = _expected(failed, operand)
            should = f" It should give {expected}." if expected else ""
            notes.append(f"So {call.left()} is wrong: {why}.{should}")
            wrong_call = Answer(tree.id(traced.position), Verdict.WRONG, by=SYMPTOM)
            answers.append(replace(wrong_call, expected=expected or None))
    if not answers and _origin(tree, symptom) is not None:
        test_answers[0] = replace(test, mark=Mark(RESULT))
    return test_answers + answers, notes


def _expected(failed: FailedAssertion, wrong: AssertionOperand) -> str:
    """What the test says that the operand should be, as a literal."""
    if sum(bool(operand.wrong) for operand in failed.operands) != 1:
        return ""
    return expected_of(read_source(failed.file) or "", failed.line, failed.operands, wrong)


def _is_written(operand: AssertionOperand) -> bool:
    """Whether it is a literal: then no call created it."""
    return literal(operand.expression.strip()) is not NOT_LITERAL


def _origin(tree: ColumnTree, symptom: Symptom) -> Origin | None:
    """The call that made the wrong operand, on its way to the test."""
    failed, frame = symptom.assertion, failing_call(tree, symptom)
    if failed is None or frame is None:
        return None
    traced = [trace_operand(tree, symptom, operand) for operand in failed.operands if operand.wrong]
    first = next((trace for trace in traced if trace.position is not None), Traced())
    if first.position is None:
        return None
    origin, test = tree.id(first.position), tree.id(frame)
    if frame > 0 and int(tree.columns.parent[first.position]) == frame:
        return Origin(origin, (origin, test), passed_through=frozenset((test,)))
    return Origin(origin, (origin,))  # a fixture, whose value pytest passed to the test


@dataclass(frozen=True)
class OperandProvenance:
    """Where the wrong operand of a test's assertion came from; all else as others know it.

    Which operand is wrong is kept beside the recording, as it may be said after this was made.
    """

    others: Provenance
    tree: ColumnTree
    recording: Path

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that made the operand, for the failure of the whole test."""
        symptom = read_symptom(self.recording) if self._is_failure(node, part) else None
        origin = None if symptom is None else _origin(self.tree, symptom)
        return origin or self.others.origin(node, part)

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """What could have influenced the operand is not known."""
        return None if self._is_failure(node, part) else self.others.influence(node, part)

    def with_tree(self, tree: Tree) -> Provenance:
        """Ids never change."""
        return replace(self, others=self.others.with_tree(tree))

    def _is_failure(self, node: int, part: MarkedPart) -> bool:
        return node == self.tree.id(0) and part.mark == Mark(RESULT)
