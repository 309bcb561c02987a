"""The papers' sessions with marks, of their programs written in Python and recorded."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest
from bug_corpus import record_program

from whence.app.frontends import open_any
from whence.app.session_driver import SessionDriver
from whence.model.call import find_mark
from whence.model.verdict import Answer, Verdict
from whence.session.events import Answered, Ask, Found, StrategyChosen
from whence.session.state import State

SQRTEST = """
    def main(): return sqrtest([1, 2])
    def sqrtest(x): return test(*computs(listsum(x)))
    def test(x, y, z): return x == y and y == z
    def listsum(xs): return xs[0] + listsum(xs[1:]) if xs else 0
    def computs(x): return (comput1(x), comput2(x), comput3(x))
    def comput1(x): return square(x)
    def square(x): return x * x
    def comput2(x): return listsum(list_(x, x))
    def list_(x, y): return [x, *list_(x, y - 1)] if y else []
    def comput3(x): return listsum(partialsums(x))
    def partialsums(x): return [sum1(x), sum2(x)]
    def sum1(x): return x * incr(x) // 2
    def sum2(x): return (x + decr(x)) // 2
    def incr(x): return x + 1
    def decr(x): return x - 1
    main()
"""
AVERAGE = """
    def average(xs, total, count):
        if not xs:
            return total / (count + 1)
        return average(xs[1:], total + xs[0], count + 1)
    def main(): return [average([1.0 * n for n in range(1, n)], 0.0, 0) for n in (7, 31)]
    main()
"""


class Recorded:
    """A program that was recorded, and sessions about it."""

    def __init__(self, folder: Path, source: str):
        (folder / "program.py").write_text(textwrap.dedent(source).lstrip("\n"))
        record_program(folder, ["program.py"], folder / "run.whence", "", False)
        opened = open_any(folder / "run.whence")
        self.tree, self.provenance, self.reruns = opened.tree, opened.provenance, opened.reruns
        self.names = [self.tree.functions[int(each)].short() for each in self.tree.columns.function]

    def marked(self, function: str, path: str) -> Answer:
        """That a part of what a function gave is wrong."""
        position = self.names.index(function)
        mark = find_mark(self.tree.call(position), path, input_side=False).mark
        return Answer(self.tree.id(position), Verdict.WRONG, mark)

    def session(
        self, strategy: str, answers: Mapping[str, str], *first: Answer
    ) -> tuple[list[str], str]:
        """What is asked after the first answers, and who is blamed.

        What is not among the answers is right; else it is wrong, with a part that is marked.
        """
        debugging = SessionDriver(
            State(self.tree, self.provenance), reruns=self.reruns, may_run=True
        )
        run = [0, self.tree.id(self.names.index("<module>"))]
        known = [Answer(node, Verdict.WRONG, by="symptom") for node in run]
        outcome = debugging.start([StrategyChosen(strategy), Answered((*known, *first))])
        asked = []
        while isinstance(outcome, Ask):
            question = outcome.question
            equation = question.call.equation()
            said, _, path = answers.get(equation, "y").partition(" ")
            verdict = Verdict.WRONG if said == "n" else Verdict.RIGHT
            mark = find_mark(question.call, path, input_side=False).mark if path else None
            asked.append(f"{equation} {said}")
            outcome = debugging.send(Answered((Answer(question.node, verdict, mark),)))
        assert isinstance(outcome, Found) and outcome.diagnosis.node is not None
        blamed = self.tree.call(self.tree.position(outcome.diagnosis.node))
        return asked, blamed.equation()


def test_sqrtest_with_the_marks_8_and_2_takes_no_more_questions_than_in_the_paper(
    tmp_path: Path,
) -> None:
    asked, blamed = Recorded(tmp_path, SQRTEST).session("top-down", {
        "main() → False": "n", "sqrtest(x=[1, 2]) → False": "n",
        "computs(x=3) → (9, 9, 8)": "n result[2]", "comput3(x=3) → 8": "n",
        "partialsums(x=3) → [6, 2]": "n result[1]", "sum2(x=3) → 2": "n",
    })  # fmt: skip
    assert blamed == "sum2(x=3) → 2"
    # The paper has 9: there functions begin before what they are given, so that `test` and the
    # last sum are asked about, and the sum of the arguments is not.
    assert [each.partition("(")[0] for each in asked] == [
        "main", "sqrtest", "listsum", "computs", "comput3", "partialsums", "sum2", "decr",
    ]  # fmt: skip


@pytest.mark.parametrize("strategy", ["auto", "subterm-tracking"])
def test_average_takes_one_question_after_the_mark_however_long_the_list(
    strategy: str, tmp_path: Path
) -> None:
    run = Recorded(tmp_path, AVERAGE)
    for place, wrong in (
        (0, "average(xs=[], total=21.0, count=6) → 3.0"),
        (1, "average(xs=[], total=465.0, count=30) → 15.0"),
    ):
        first = run.marked("main", f"result[{place}]")
        assert run.session(strategy, {wrong: "n"}, first) == ([f"{wrong} n"], wrong)
