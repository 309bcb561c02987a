from __future__ import annotations

from typing import Any

from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Location,
    Mark,
    Outcome,
    OutcomeKind,
    Rule,
)
from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.value import Kind, Value, atom
from whence.model.verdict import Answer, Verdict
from whence.report.explanation import Explanation
from whence.report.source import Block
from whence.report.text import fitting_lines, lines
from whence.session.state import Facts, State
from whence.tree.column_tree import Node, tree_of
from whence.ui.terminal.screen import hanging


def a_call(name: str, outcome: Outcome | None = None, source: str = "", **more: Any) -> Call:
    place = Location("m.py", 3)
    returned = outcome or Outcome(OutcomeKind.RETURNED, atom("1"))
    return Call(
        Function(f"m.{name}", name, "m", place), Rule(name, name, place, source), returned, **more
    )


def told(call: Call, diagnosis: Diagnosis, *callees: Call, answers: Any = ()) -> list[str]:
    nodes = [Node(0, None, call), *(Node(n, 0, each) for n, each in enumerate(callees, 1))]
    return lines(State(tree_of(nodes), facts=Facts(answers=tuple(answers))), diagnosis)


FOUND = Diagnosis(Status.FOUND, node=0)


def test_the_call_at_fault_is_told_with_all_that_makes_it_so() -> None:
    call = a_call(
        "f",
        source="def f(x):\n    return 1",
        arguments=(Binding("x", atom("2")), Binding("", atom("3"))),
        reads=(Binding("limit", atom("9")),),
        effects=(Effect("self.n", atom("0"), atom("1")), Effect("new", None, atom("5"))),
        printed="hello\n",
    )
    found = Diagnosis(Status.FOUND, node=0, callees=(1,))
    answers = [Answer(0, Verdict.WRONG, Mark("result")), Answer(1, Verdict.RIGHT)]
    assert told(call, found, a_call("g"), answers=answers) == [
        "The fault is in f (m.py:3), call 0.",
        "    3  def f(x):",
        "    4      return 1",
        "  It was given   x = 2",
        "                 arg2 = 3",
        "  It read        limit = 9",
        "  It called      g() → 1  (right)",
        "  It returned    1",
        "  It changed     self.n: 0 → 1",
        "                 new: nothing → 5",
        "  It printed     'hello\\n'",
        "  You marked     result",
        "  Its inputs are right and so is all that it called, yet what it did is wrong.",
    ]


def test_after_a_slice_only_what_could_have_mattered_is_said_to_be_right() -> None:
    sliced = Diagnosis(Status.FOUND, node=0, within_slice=True)
    last = told(a_call("f"), sliced)[-1]
    assert "all that it called that could have made what was marked" in last


def test_each_kind_of_fault_has_its_own_words() -> None:
    def ending(kind: FaultKind, outcome: Outcome | None = None) -> str:
        return told(a_call("f", outcome), Diagnosis(Status.FOUND, node=0, kind=kind))[-1]

    raised = Outcome(OutcomeKind.RAISED, atom("ValueError()"), location=Location("m.py", 4))
    assert ending(FaultKind.RAISED, raised).startswith("  It raised, although")
    assert "passed on what should never" in ending(FaultKind.BAD_INPUT_PASSED)
    assert ending(FaultKind.DID_NOT_END).startswith("  It did not end")
    raising = told(a_call("f", raised), FOUND)
    assert "  It raised      ValueError()  (m.py:4)" in raising


def test_a_call_that_nobody_judged_is_not_said_to_be_wrong() -> None:
    reason = "every other call that is left cannot be at fault: its code is the same"
    text = "\n".join(told(a_call("f"), Diagnosis(Status.FOUND, node=0, reason=reason)))
    assert f"Nobody could judge it, but {reason}." in text
    assert "is right" not in text
    assert "It called" not in text


def test_only_the_rule_is_certain_in_a_group() -> None:
    grouped = Diagnosis(Status.FOUND, node=0, group=(0, 1, 2))
    last = told(a_call("f"), grouped, a_call("f"), a_call("f"))[-1]
    assert "Only the rule is certain" in last
    assert "one of 2 more calls of f" in last


def test_many_callees_and_candidates_are_counted_and_not_listed() -> None:
    callees = [a_call("g") for _ in range(20)]
    found = Diagnosis(Status.FOUND, node=0, callees=tuple(range(1, 21)), bad_input=(20,))
    text = told(a_call("f"), found, *callees, answers=[Answer(20, Verdict.INADMISSIBLE)])
    assert "should never have been called so" in text[1], "what matters comes first"
    assert any("… and 12 more" in line for line in text)
    several = Diagnosis(Status.CANDIDATES, candidates=tuple(range(20)), reason="nobody knew")
    text = told(a_call("f"), several, *callees)
    assert text[0] == "One of 20 calls is at fault: nobody knew."
    assert text[-1] == "  … and 10 more"
    one = Diagnosis(Status.CANDIDATES, candidates=(0,), reason="nobody knew")
    assert told(a_call("f"), one)[0] == "The fault may be in this call: nobody knew."


def test_what_was_not_found_is_said_with_its_reason() -> None:
    none = Diagnosis(Status.NONE, reason="all is right")
    assert told(a_call("f"), none) == ["No fault found: all is right."]
    unknown = Diagnosis(Status.UNDETERMINED, candidates=(0,), reason="it was cut off")
    assert told(a_call("f"), unknown) == [
        "The fault could not be determined: it was cut off.",
        "  0: f() → 1 (m.py:3)",
    ]


def test_long_values_are_cut() -> None:
    many = Value(Kind.LIST, "", tuple((f"[{n}]", atom(str(n))) for n in range(500)))
    given = told(a_call("f", arguments=(Binding("xs", many),)), FOUND)[1]
    assert given == "  It was given   xs = [0, 1, 2, 3, 4, 5, …494 more]"


def test_a_long_diagnosis_fits_on_a_screen_and_says_that_it_was_shortened():
    source = Block(tuple(f"    line {number}" for number in range(90)), 1, raised=70)
    rows = (
        ("It was given", [f"argument_{number} = {'x' * 100}" for number in range(12)]),
        ("It called", [f"callee({number}) → {'y' * 150}  (right)" for number in range(9)]),
        ("It raised", ["ValueError('late')"]),
    )
    parts = Explanation("The fault is in f.", source, "", rows, ("It raised.",), ("a doubt",))
    shown = fitting_lines(parts, 80, 22, hanging)
    assert len(shown) <= 22
    assert all(len(line) <= 80 for line in shown)
    assert any(line.split()[:1] == ["70"] for line in shown)
    assert any("ValueError('late')" in line for line in shown)
    assert "a doubt" in shown[-2]
    assert shown[-1].startswith("  (shortened: ")


def test_doubts_are_never_shortened():
    rows = tuple((f"Row {number}", ["x" * 200] * 5) for number in range(12))
    doubts = tuple(f"doubt {number}: {'why ' * 60}end {number}" for number in range(6))
    parts = Explanation("The fault is in f.", None, "", rows, ("It raised.",), doubts)
    shown = "\n".join(fitting_lines(parts, 80, 22, hanging))
    assert all(f"end {number}" in shown for number in range(6))
    assert "Row 0" not in shown
    assert shown.endswith("(shortened: report shows all of it)")


def test_a_short_diagnosis_is_shown_in_full():
    parts = Explanation("The fault is in f.", Block(("def f():", "    return 1"), 1))
    assert fitting_lines(parts, 80, 22, hanging) == [
        "The fault is in f.",
        "    1  def f():",
        "    2      return 1",
    ]
