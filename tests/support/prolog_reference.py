"""The right program as an oracle, independent of whence's own reference oracle."""

from __future__ import annotations

from whence.langs.prolog.evaluation_tree import EvaluationTree
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.port_events import Run
from whence.langs.prolog.swipl_process import Engine, quoted
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Port, PortEvent
from whence.tree.column_tree import ColumnTree

SOLUTIONS = 50


class Reference:
    """The right program, which judges events of the wrong one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def holds(self, goal: str) -> bool:
        """Whether the right program proves a goal; an error counts as none."""
        run = Run()
        TraceTree(self._engine.stream(f"plain({quoted(goal)}, 1)"), run)
        return bool(run.answers)

    def answers(self, goal: str) -> tuple[list[str], bool]:
        run = Run()
        TraceTree(self._engine.stream(f"plain({quoted(goal)}, {SOLUTIONS})"), run)
        return run.answers, run.raised is not None

    def judge(self, source: EvaluationTree, event: PortEvent) -> bool:
        """Whether the event is right."""
        call = event.call
        goal = source.texts([call.term])[0]
        if event.port is Port.EXIT:
            atom = source.texts([call.answers[event.number].term])[0]
            return self.holds(f"subsumed(({goal}), ({atom}), {SOLUTIONS})")
        if event.port is Port.RAISE:
            return self.holds(f"catch((({goal}), fail ; fail), _, true)")
        answers = call.answers if event.port is Port.FAIL else call.answers[: event.number + 1]
        texts = [f"({text})" for text in source.texts([each.term for each in answers])]
        if event.port is Port.FIRST:
            earlier = ", ".join(texts[:-1])
            return self.holds(f"first(({goal}), [{earlier}], {texts[-1]}, {SOLUTIONS})")
        exits = ", ".join(texts)
        return self.holds(f"covered(({goal}), [{exits}], {SOLUTIONS})")


HELPERS = """
subsumed(Goal, Atom, Most) :-
    findall(Goal, limit(Most, Goal), Answers),
    once(( member(Answer, Answers), subsumes_term(Answer, Atom) )).
first(Goal, Earlier, Kept, Most) :-
    findall(Goal, limit(Most, Goal), Answers),
    (   append(Before, [Answer|_], Answers), subsumes_term(Answer, Kept)
    ->  forall(member(One, Before), ( member(Exit, Earlier), subsumes_term(Exit, One) ))
    ;   true ).
covered(Goal, Exits, Most) :-
    findall(Goal, limit(Most, Goal), Answers),
    forall(member(Answer, Answers), ( member(Exit, Exits), subsumes_term(Exit, Answer) )).
"""


def symptom(execution: GoalExecution, expected: list[str], raises: bool) -> ColumnTree:
    if execution.raised is not None and not raises:
        return execution.raising()
    for number, answer in enumerate(execution.answers, 1):
        if answer not in expected:
            return execution.wrong(number)
    assert not set(expected) <= set(execution.answers), "both programs give the same answers"
    return execution.missing()
