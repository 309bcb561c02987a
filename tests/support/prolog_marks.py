"""Debugging Prolog with marks: every "wrong" comes with the part that is wrong.

The marked part is the first at which the answer differs from one of the right program. In a call
with missing answers, the first argument that they would bind is marked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from prolog_reference import HELPERS, SOLUTIONS, Reference, symptom

from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.kept_terms import steps_of
from whence.langs.prolog.swipl_process import Engine
from whence.langs.prolog.term_provenance import PrologProvenance
from whence.langs.prolog.traced_call import Port, PortEvent
from whence.model.call import Call, Mark, find_mark
from whence.model.origin import Influence, Origin
from whence.model.question import Question
from whence.model.verdict import Answer, Verdict
from whence.search.registry import DEFAULT
from whence.search.space import Switches
from whence.session.engine import apply
from whence.session.events import Answered, Found
from whence.session.state import Facts, Options, State
from whence.testing.answerer import run as hold

DIFFERENCE = """
difference(GoalText, AtomText, Most, Path) :-
    term_string(Goal, GoalText), term_string(Atom, AtomText),
    findall(Goal, limit(Most, Goal), Answers),
    member(Answer, Answers), differs(Answer, Atom, Path), Path \\\\== [], !.
differs(A, B, []) :- ( var(A) ; var(B) ; \\\\+ same_functor(A, B) ), !, A \\\\=@= B.
differs(A, B, [N|Path]) :- compound(A), arg(N, A, X), arg(N, B, Y), differs(X, Y, Path).
same_functor(A, B) :- functor(A, F, N), functor(B, F, N).
""".replace("\\\\", "\\")


@dataclass
class Marked:
    """A mark that was made, what the session learned from it, and about which call."""

    mark: Mark
    origin: Origin
    influence: Influence | None
    node: int


@dataclass
class Session:
    """How a session with marks went."""

    predicate: str
    asked: list[str] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    marks: list[Marked] = field(default_factory=list)
    line: int | None = None


def wrong_part(
    reference: Reference, execution: GoalExecution, event: PortEvent, call: Call
) -> Mark | None:
    """The first part of an answer that the right program has otherwise, if it can be marked."""
    if event.port is not Port.EXIT:
        unknown = [nth for nth, each in enumerate(call.arguments, 1) if each.came_of_call]
        return find_mark(call, f"arg{unknown[0]}", input_side=False).mark if unknown else None
    source = execution.source
    goal, atom = source.texts([event.call.term, event.call.answers[event.number].term])
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (goal, atom)]
    question = f'difference("{quoted[0]}", "{quoted[1]}", {SOLUTIONS}, P)'
    answers, _ = reference.answers(question)
    found = re.fullmatch(r"P = \[([\d, ]+)\]", answers[0]) if answers else None
    if found is None:
        return None
    argument, *rest = map(int, found[1].split(","))
    if argument > len(call.arguments) or not call.arguments[argument - 1].came_of_call:
        return None
    text = f"arg{argument}" + "".join(steps_of(call.arguments[argument - 1].value, tuple(rest)))
    return find_mark(call, text, input_side=False).mark


def debugged_with_marks(
    right: str,
    wrong: str,
    goal: str,
    folder: Path,
    *,
    strategy: str = DEFAULT,
    slicing: bool = True,
) -> Session | None:
    """Debug `wrong` with `right` as the oracle; None if nothing is wrong with the goal."""
    (folder / "right.pl").write_text(right + HELPERS + DIFFERENCE)
    (folder / "wrong.pl").write_text(wrong)
    with Engine() as ours, Engine() as theirs:
        theirs.load(folder / "right.pl")
        reference = Reference(theirs)
        execution = GoalExecution(ours, folder / "wrong.pl", goal, solutions=SOLUTIONS)
        expected, raises = reference.answers(goal)
        try:
            tree = symptom(execution, expected, raises)
        except AssertionError:
            return None
        provenance = execution.provenance(tree)
        session = Session("")

        def judge(question: Question) -> Answer:
            event = execution.source.event(question.node)
            session.asked.append(question.call.text)
            session.nodes.append(question.node)
            if reference.judge(execution.source, event):
                return Answer(question.node, Verdict.RIGHT)
            return _wrong(session, reference, execution, provenance, question.node, question.call)

        state = State(
            tree,
            provenance,
            options=Options(ask_top=False, confirm_top=False),
            facts=Facts(strategy=strategy, switches=Switches(slicing=slicing)),
        )
        first = _wrong(session, reference, execution, provenance, tree.id(0), tree.call(0))
        ended = hold(apply(state, Answered((first,))), judge)
        assert isinstance(ended.outcome, Found) and ended.state is not None
        assert ended.outcome.diagnosis.node is not None, ended.outcome.diagnosis
        grown = ended.state.tree
        call = grown.call(grown.position(ended.outcome.diagnosis.node))
        where = call.where()
        session.predicate, session.line = call.function.short(), where.line if where else None
        return session


def _wrong(
    session: Session,
    reference: Reference,
    execution: GoalExecution,
    provenance: PrologProvenance,
    node: int,
    call: Call,
) -> Answer:
    """That an event is wrong, with the part of it that is."""
    mark = wrong_part(reference, execution, execution.source.event(node), call)
    if mark is not None:
        part = find_mark(call, str(mark), input_side=False)
        origin, influence = provenance.origin(node, part), provenance.influence(node, part)
        session.marks.append(Marked(mark, origin, influence, node))
    return Answer(node, Verdict.WRONG, mark)
