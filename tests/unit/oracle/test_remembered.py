from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Mark,
    Outcome,
    OutcomeKind,
    Rule,
)
from whence.model.equation import StableEquation
from whence.model.question import Question
from whence.model.value import Kind, Value, atom
from whence.model.verdict import Answer, Judgement, Verdict
from whence.oracle.remembered import RememberedAnswers, identify
from whence.store.answer_file import AnswerFile
from whence.store.answer_writer import AnswerWriter
from whence.tree.column_tree import Node, tree_of

LIST = Value(Kind.LIST, "", (("[0]", atom("1")), ("[1]", atom("2"))))


def a_call(name: str = "f", argument: str = "1", result: Value = LIST, **more: Any) -> Call:
    return Call(
        Function(f"m.{name}", name, "m"),
        Rule(name, name),
        Outcome(OutcomeKind.RETURNED, result),
        (Binding("x", atom(argument)),),
        **more,
    )


CALLS = [a_call("main"), a_call("f"), a_call("g"), a_call("f")]
TREE = tree_of([Node(0, None, CALLS[0]), *(Node(n, 0, CALLS[n]) for n in (1, 2, 3))])


def a_question(node: int) -> Question:
    return Question(node, CALLS[node], "top-down", "", 1, 1.0, 1)


@pytest.fixture
def file(tmp_path: Path) -> AnswerFile:
    return AnswerFile(tmp_path / "answers.jsonl")


def writer(file: AnswerFile, by: str = "Ada", notes: list[str] | None = None) -> AnswerWriter:
    return AnswerWriter(file, identify, (notes if notes is not None else []).append, by)


def judged(file: AnswerFile, node: int) -> Judgement | None:
    return RememberedAnswers(file, identify).judge(a_question(node))


def test_an_equal_call_gets_the_same_verdict_another_time(file: AnswerFile) -> None:
    writer(file).update(TREE, [Answer(1, Verdict.WRONG, expected="[1]")])
    said = judged(file, 3)
    assert said is not None
    assert (said.verdict, said.expected) == (Verdict.WRONG, "[1]")
    assert said.reason.startswith("Ada said so on 20")
    assert judged(file, 2) is None
    assert judged(file, 0) is None


def test_a_mark_is_remembered_with_its_part(file: AnswerFile) -> None:
    writer(file).update(TREE, [Answer(1, Verdict.WRONG, Mark("result", ("[1]",)), expected="7")])
    said = judged(file, 3)
    assert said is not None
    assert (said.mark, said.expected) == (Mark("result", ("[1]",)), "7")


def test_persons_who_disagree_are_shown_and_not_believed(file: AnswerFile) -> None:
    writer(file, "Ada").update(TREE, [Answer(1, Verdict.RIGHT)])
    (said,) = file.all()
    file.append([replace(said, by="Bob", verdict=Verdict.WRONG)])
    notes: list[str] = []
    oracle = RememberedAnswers(file, identify, notes.append)
    assert oracle.judge(a_question(1)) is None
    assert oracle.judge(a_question(3)) is None
    assert len(notes) == 1
    assert "right (Ada, 20" in notes[0]
    assert "wrong (Bob, 20" in notes[0]


def test_who_did_not_see_what_others_said_does_not_settle_it(file: AnswerFile) -> None:
    writer(file, "Ada").update(TREE, [Answer(1, Verdict.RIGHT)])
    unseen = AnswerWriter(file, identify, print, "Bob", settles=False)
    unseen.update(TREE, [Answer(1, Verdict.WRONG)])
    assert len(file.all()) == 2
    assert judged(file, 1) is None


def test_a_person_may_change_their_mind(file: AnswerFile) -> None:
    writer(file).update(TREE, [Answer(1, Verdict.RIGHT)])
    writer(file).update(TREE, [Answer(1, Verdict.WRONG)])
    said = judged(file, 1)
    assert said is not None
    assert said.verdict is Verdict.WRONG


@pytest.mark.parametrize(
    "call",
    [
        a_call(result=replace(LIST, omitted=1)),
        a_call(result=atom("<socket>")),
        a_call(argument="'abc'…12 more"),
        a_call(effects=(Effect("x", atom("1"), atom("…")),)),
        a_call(text="f 1 = 2"),
        replace(a_call(), outcome=Outcome(OutcomeKind.RETURNED)),
    ],
)
def test_a_call_that_is_not_known_in_full_is_not_remembered(call: Call) -> None:
    assert isinstance(identify(1, call), str)


def test_calls_differ_by_all_that_is_judged() -> None:
    calls = [
        a_call(),
        a_call("g"),
        a_call(argument="2"),
        a_call(result=atom("1")),
        a_call(printed="hello"),
        a_call(effects=(Effect("x", atom("1"), atom("2")),)),
        a_call(reads=(Binding("y", atom("1")),)),
    ]
    found = [identify(1, call) for call in calls]
    digests = {each.digest for each in found if isinstance(each, StableEquation)}
    assert len(digests) == len(calls)
    same_inputs = [each.inputs for each in found if isinstance(each, StableEquation)]
    assert same_inputs[0] == same_inputs[3] == same_inputs[4]
    assert len(set(same_inputs)) == 4
