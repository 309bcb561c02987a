"""The kinds of bugs that, says the debug slicing paper, a data-flow slice misses (section 5).

Each is a session in which the wrong argument is marked. The call at fault is not in the data-flow
slice, is in the debug slice, and is asked about as soon as the debug slice is.
"""

from dataclasses import dataclass
from pathlib import Path

import papers
import pytest
from prolog import need_swipl
from prolog_debugging import debugged
from prolog_marks import Marked, debugged_with_marks

from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.swipl_process import Engine

need_swipl()


@dataclass(frozen=True)
class Bug:
    """A program with a bug of one kind."""

    right: str
    slip: tuple[str, str]
    goal: str
    predicate: str
    line: int
    """Of the clause at fault, or of the first one of the predicate that lacks an answer."""

    @property
    def wrong(self) -> str:
        return self.right.replace(*self.slip)


BUGS = {
    "a cut is misplaced": Bug(
        "label(X, L) :- ( sign(X, pos) -> L = up ; L = down ).\n"
        "sign(X, S) :- X < 0, !, S = neg.\n"
        "sign(_, pos).\n",
        ("X < 0, !", "!, X < 0"),
        "label(5, L)",
        "sign/2",
        2,
    ),
    "a predicate that failed is misprinted": Bug(
        "price(X, P) :- ( reduced(X, D) -> P = less(D) ; P = full ).\n"
        "reduced(X, 10) :- regular(X).\n"
        "reduced(X, 20) :- member_since(X, Y), Y < 2000.\n"
        "regular(ann).\n"
        "regulars(bob).\n"
        "member_since(bob, 1999).\n",
        ("regular(X)", "regulars(X)"),
        "price(ann, P)",
        "reduced/2",
        2,
    ),
    "a condition is wrong": Bug(
        "grade(N, G) :- passed(N), !, G = good.\n"
        "grade(_, poor).\n"
        "passed(N) :- half(N, H), H >= 25.\n"
        "half(N, H) :- H is N / 2.\n",
        ("H >= 25", "H > 30"),
        "grade(56, G)",
        "passed/1",
        3,
    ),
    "wrong data reaches a node that fails": Bug(
        "size(Box, S) :- weight(Box, W), ( heavy(W) -> S = large ; S = small ).\n"
        "weight(Box, W) :- content(Box, C), W is C * 12.\n"
        "content(b1, 5).\n"
        "heavy(W) :- scale(S), used(S), W > 50.\n"
        "scale(s1).\n"
        "used(_).\n",
        ("C * 12", "C * 2"),
        "size(b1, S)",
        "weight/2",
        2,
    ),
}


def test_the_cut_of_the_papers_example_3_is_found_by_the_answers_that_it_cut_away(
    tmp_path: Path,
) -> None:
    """Without the cut the answers are 2, 1 and 3; with it, 3 alone (`data/PROLOG.md`)."""
    wrong = (papers.DATA / "prolog" / "ex3.pl").read_text()
    session = debugged_with_marks(wrong.replace("!, ", ""), wrong, "a(X)", tmp_path)
    assert session is not None
    assert (session.predicate, session.line) == ("b/1", 3)
    first = session.marks[0]
    assert first.influence is not None
    narrow, wide = first.influence.slices()
    assert session.nodes[0] not in narrow
    assert session.nodes[0] in wide


@pytest.mark.parametrize("kind", BUGS)
def test_the_session_ends_at_the_right_clause(kind: str, tmp_path: Path) -> None:
    bug = BUGS[kind]
    session = debugged_with_marks(bug.right, bug.wrong, bug.goal, tmp_path)
    assert session is not None
    assert (session.predicate, session.line) == (bug.predicate, bug.line)
    assert debugged(bug.right, bug.wrong, bug.goal, tmp_path).predicate == bug.predicate


@pytest.mark.parametrize("kind", BUGS)
def test_it_is_found_through_the_debug_slice_where_data_flow_misses_it(
    kind: str, tmp_path: Path
) -> None:
    bug = BUGS[kind]
    session = debugged_with_marks(bug.right, bug.wrong, bug.goal, tmp_path)
    assert session is not None
    first: Marked = session.marks[0]
    assert first.influence is not None
    narrow, wide = first.influence.slices()
    (tmp_path / "wrong.pl").write_text(bug.wrong)
    with Engine() as engine:
        execution = GoalExecution(engine, tmp_path / "wrong.pl", bug.goal)
        tree = execution.wrong(1)
        at_fault = {
            node
            for node in (tree.id(position) for position in range(len(tree.columns)))
            if execution.source.event(node).call.predicate.indicator == bug.predicate
        }
    assert at_fault.isdisjoint(narrow), "the data-flow slice misses it"
    assert at_fault <= wide, "the debug slice has it"
    asked = session.nodes
    found = next(number for number, node in enumerate(asked) if node in at_fault)
    assert set(asked[:found]) <= wide, "nothing outside of the debug slice was asked before"


def test_what_has_nothing_to_do_with_the_failure_is_outside_of_the_debug_slice(
    tmp_path: Path,
) -> None:
    """`scale(S), used(S)` succeeded on the failed branch, and nothing of them came to `W > 50`."""
    bug = BUGS["wrong data reaches a node that fails"]
    (tmp_path / "wrong.pl").write_text(bug.wrong)
    with Engine() as engine:
        execution = GoalExecution(engine, tmp_path / "wrong.pl", bug.goal)
        tree = execution.wrong(1)
        part = execution.part(tree, "S")
        influence = execution.provenance(tree).influence(tree.id(0), part)
        assert influence is not None
        every = {tree.id(position) for position in range(len(tree.columns))}
        outside = every - influence.wider[0]
        predicates = {execution.source.event(node).call.predicate.indicator for node in outside}
    assert predicates == {"scale/1", "used/1"}
