from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from whence.model.call import Binding, Call, Effect, Function, Location, Outcome, OutcomeKind, Rule
from whence.model.diagnosis import Diagnosis, Status
from whence.model.value import Kind, Value, atom
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.report.certainty import doubts
from whence.report.source import NOWHERE, Sources
from whence.session.state import Facts, State
from whence.tree.column_tree import Node, tree_of


def call(name: str = "f", **more: Any) -> Call:
    place = Location(more.pop("file", "m.py"), 3)
    function = Function(f"m.{name}", name, "m", place)
    return Call(function, Rule(name, name, place), Outcome(OutcomeKind.RETURNED, atom("1")), **more)


def said(top: Call, sources: Sources = NOWHERE, **facts: Any) -> list[str]:
    tree = tree_of([Node(0, None, top), Node(1, 0, call("g")), Node(2, 0, call("h"))])
    state = State(tree, facts=Facts(**facts))
    return doubts(state, Diagnosis(Status.FOUND, node=0), top, sources)


def test_a_diagnosis_by_a_person_who_saw_everything_is_not_doubted() -> None:
    answers = (Answer(0, Verdict.WRONG), Answer(1, Verdict.RIGHT))
    assert said(call(arguments=(Binding("x", atom("'…'")),)), answers=answers) == []


def test_oracles_skips_and_trust_are_named() -> None:
    answers = (
        Answer(0, Verdict.WRONG),
        Answer(1, Verdict.RIGHT, by="type hints"),
        Answer(2, Verdict.UNKNOWN),
    )
    assert said(call(), answers=answers, trusts=(Trust(TrustScope.FUNCTION, "m.x"),)) == [
        "1 of 3 answers came from others: type hints 1",
        "nobody could judge call 2",
        "trusted without being asked about: function m.x",
    ]


def test_a_skipped_call_that_was_judged_later_is_no_doubt() -> None:
    answers = (Answer(1, Verdict.UNKNOWN), Answer(1, Verdict.RIGHT))
    assert said(call(), answers=answers) == []


def test_what_was_recorded_in_part_or_cannot_be_seen_is_named() -> None:
    cut = Value(Kind.LIST, "", (("[0]", atom("1")),), omitted=9)
    holder = Value(Kind.OBJECT, "Client", ((".socket", atom("<socket.socket>")),))
    found = call(
        arguments=(Binding("xs", cut), Binding("c", holder), Binding("f", atom("<function g>"))),
        effects=(Effect("text", atom("'a'"), atom("'aaa'…500 more")),),
    )
    assert said(found) == [
        "recorded in part only: xs, text",
        "changes inside these are not visible: c.socket (<socket.socket>)",
    ]


def test_source_that_was_changed_since_is_a_doubt(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("x = 1\n")
    os.utime(file, (1000, 1000))
    found = call(file=str(file))
    assert said(found, Sources(tmp_path, 999.0)) == [f"{file} was changed after the recording"]
    assert said(found, Sources(tmp_path, 1001.0)) == []
