"""Debugging Prolog with the right program as oracle: what is blamed, after how many questions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whence.langs.prolog.goal_execution import LIMITS, GoalExecution
from whence.langs.prolog.port_events import RunLimits
from whence.langs.prolog.reference_program import ReferenceProgram, first_difference
from whence.langs.prolog.swipl_process import Engine
from whence.model.question import Question
from whence.model.verdict import Answer, Judgement, Verdict
from whence.search.registry import DEFAULT
from whence.session.events import Found
from whence.session.state import Facts, Options, State
from whence.testing.answerer import run as hold
from whence.tree.column_tree import ColumnTree

SOLUTIONS = 50


@dataclass
class Blamed:
    """What a session ended with; `predicate` is empty where nothing was found."""

    predicate: str
    line: int | None
    questions: int
    why: str = ""


def debugged(
    right: str,
    wrong: str,
    goal: str,
    folder: Path,
    strategy: str = DEFAULT,
    limits: RunLimits = LIMITS,
) -> Blamed:
    """Debug `wrong` with `right` as the oracle, on the first difference of a goal's answers."""
    (folder / "right.pl").write_text(right)
    (folder / "wrong.pl").write_text(wrong)
    program = ReferenceProgram(folder / "right.pl")
    try:
        with Engine() as engine:
            execution = GoalExecution(
                engine, folder / "wrong.pl", goal, solutions=SOLUTIONS, limits=limits
            )
            tree = first_difference(execution, program, lambda _: None)
            assert tree is not None, "both programs give the same answers"
            return blamed(execution, program, tree, strategy)
    finally:
        program.close()


def blamed(
    execution: GoalExecution,
    program: ReferenceProgram,
    tree: ColumnTree,
    strategy: str,
    known: dict[int, Judgement] | None = None,
) -> Blamed:
    """How a session ends in which the right program answers every question.

    `known` are its answers in earlier sessions about the same tree.
    """
    why: list[str] = []
    judged = {} if known is None else known

    def judge(question: Question) -> Answer:
        if question.node not in judged:
            source = execution.source
            judged[question.node] = program.judge(source, source.event(question.node))
        found = judged[question.node]
        if found.verdict is Verdict.UNKNOWN:
            why.append(f"{question.call.equation()}: {found.reason}")
        return Answer(question.node, found.verdict)

    options = Options(ask_top=False, confirm_top=False)
    ended = hold(State(tree, options=options, facts=Facts(strategy=strategy)), judge)
    asked = len(ended.asked)
    assert ended.state is not None
    if not isinstance(ended.outcome, Found) or ended.outcome.diagnosis.node is None:
        return Blamed("", None, asked, "; ".join(why) or str(ended.outcome))
    grown = ended.state.tree
    call = grown.call(grown.position(ended.outcome.diagnosis.node))
    where = call.where()
    return Blamed(call.function.short(), where.line if where else None, asked, "; ".join(why))
