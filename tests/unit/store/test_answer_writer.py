from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from whence.model.call import Binding, Call, Function, Outcome, OutcomeKind, Rule
from whence.model.value import atom
from whence.model.verdict import Answer, Verdict
from whence.oracle.remembered import identify
from whence.store.answer_file import AnswerFile
from whence.store.answer_writer import AnswerWriter, current_user
from whence.tree.column_tree import Node, tree_of


def a_call(name: str) -> Call:
    outcome = Outcome(OutcomeKind.RETURNED, atom("2"))
    return Call(
        Function(f"m.{name}", name, "m"), Rule(name, name), outcome, (Binding("x", atom("1")),)
    )


TREE = tree_of(
    [Node(n, 0 if n else None, a_call(name)) for n, name in enumerate(("main", "f", "g", "f"))]
)


@pytest.fixture
def file(tmp_path: Path) -> AnswerFile:
    return AnswerFile(tmp_path / "answers.jsonl")


def writer(file: AnswerFile, by: str = "Ada", notes: list[str] | None = None) -> AnswerWriter:
    return AnswerWriter(file, identify, (notes if notes is not None else []).append, by)


def test_only_what_persons_say_is_remembered(file: AnswerFile) -> None:
    said = [Answer(1, Verdict.RIGHT, by="type hints"), Answer(2, Verdict.UNKNOWN)]
    writer(file).update(TREE, said)
    assert file.all() == []


def test_what_is_taken_back_is_withdrawn(file: AnswerFile) -> None:
    remembering = writer(file)
    remembering.update(TREE, [Answer(1, Verdict.RIGHT), Answer(2, Verdict.RIGHT)])
    remembering.update(TREE, [Answer(2, Verdict.RIGHT)])
    assert [each.equation.function for each in file.all()] == ["m.g"]
    assert len(file.path.read_text().splitlines()) == 3, "nothing is ever rewritten"


def test_nothing_is_written_where_nothing_changed(file: AnswerFile) -> None:
    remembering = writer(file)
    remembering.begin(TREE, [Answer(1, Verdict.RIGHT)])
    remembering.update(TREE, [Answer(1, Verdict.RIGHT), Answer(3, Verdict.RIGHT)])
    assert not file.path.exists()


def test_an_answer_of_an_earlier_process_can_be_taken_back(file: AnswerFile) -> None:
    writer(file).update(TREE, [Answer(1, Verdict.RIGHT)])
    later = writer(file)
    later.begin(TREE, [Answer(1, Verdict.RIGHT)])
    later.update(TREE, [])
    assert file.all() == []


def test_who_answers_after_a_disagreement_settles_it(file: AnswerFile) -> None:
    writer(file, "Ada").update(TREE, [Answer(1, Verdict.RIGHT)])
    (said,) = file.all()
    file.append([replace(said, by="Bob", verdict=Verdict.WRONG)])
    writer(file, "Cleo").update(TREE, [Answer(3, Verdict.WRONG)])
    assert {(each.by, each.verdict) for each in file.all()} == {
        ("Bob", Verdict.WRONG),
        ("Cleo", Verdict.WRONG),
    }


def test_that_an_answer_cannot_be_remembered_is_said_when_asked_for(file: AnswerFile) -> None:
    notes: list[str] = []
    nothing = AnswerWriter(file, lambda node, call: "x: too long", notes.append, "Ada")
    nothing.update(TREE, [Answer(1, Verdict.RIGHT)])
    nothing.update(TREE, [Answer(1, Verdict.RIGHT), Answer(2, Verdict.RIGHT)])
    assert notes == []
    assert nothing.why_not_stored(TREE, 1) == "x: too long"
    assert writer(file).why_not_stored(TREE, 1) == ""
    assert not file.path.exists()


def test_that_answers_are_remembered_is_said_once(file: AnswerFile) -> None:
    notes: list[str] = []
    remembering = writer(file, notes=notes)
    remembering.update(TREE, [Answer(1, Verdict.RIGHT)])
    remembering.update(TREE, [Answer(1, Verdict.RIGHT), Answer(2, Verdict.RIGHT)])
    assert len(notes) == 1
    assert f"{file.path.parent.name}/{file.path.name}" in notes[0]


def test_whose_answers_they_are_is_found_out_without_being_told() -> None:
    assert current_user()
