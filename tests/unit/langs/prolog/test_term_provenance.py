"""Where parts of answers come from, by program, goal and mark."""

import re
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.port_events import RunLimits
from whence.langs.prolog.swipl_process import Engine
from whence.langs.prolog.traced_call import Port, PortEvent
from whence.model.call import find_mark
from whence.model.origin import Origin
from whence.model.verdict import Answer, Verdict
from whence.session.engine import step
from whence.session.events import Answered, Ask, Expand, Expanded
from whence.session.state import Options, State
from whence.testing.laws import check_provenance
from whence.tree.column_tree import ColumnTree

need_swipl()

PROGRAM = """
:- use_module(library(yall)).
rev([], []).
rev([X|Xs], R) :- rev(Xs, R0), app(R0, [X], R).
app([], L, L).
app([X|Xs], L, [X|Zs]) :- app(Xs, L, Zs).
twice(X, Y) :- Y is X * 2.
all(L, D) :- maplist(twice, L, D).
swapped(L, D) :- maplist([X,Y]>>app(Y, [], X), D, L).
called(X, Y) :- call(twice, X, Y).
closure(Xs, Ys) :- call(app([0]), Xs, Ys).
built(X, Y) :- G = twice(X, Y), call(G).
together(X, Y) :- G = ( twice(X, Z), twice(Z, Y) ), call(G).
once_only(X, Y) :- once(twice(X, Y)).
both_once(X, Y) :- once(( twice(X, Z), twice(Z, Y) )).
caught(X, Y) :- catch(fails(X), oops(E), recovered(E, Y)).
fails(X) :- throw(oops(X)).
recovered(E, got(E)).
open_list(L) :- L = [a|T], fill(T).
fill(T) :- T = [B|R], b(B), R = [].
b(q).
greeting(X) --> [hello], name(X).
name(bob) --> [bob].
parse(L, X) :- phrase(greeting(X), L).
pairs(L) :- findall(X-Y, pair(X, Y), L).
pair(1, 2).
pair(3, 4).
summed(L, S) :- foldl(plus_one, L, 0, S).
plus_one(X, S0, S) :- S is S0 + X + 1.
shared(A, B) :- A = f(B), give(B).
give(7).
woken(X) :- freeze(Y, X = 1), touched(Y).
touched(2).
looked_up(K, V) :- member(K-V, [a-1, b-2]).
passed(X, Y) :- given(X, Z), same(Z, Y).
given(_, z).
same(X, X).
chosen(X, R) :- ( X > 0 -> plus(R) ; minus(R) ).
plus(p).
minus(m).
unbound(_).
added(X) :- assertz(stored(9)), stored(X).
:- dynamic stored/1.
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "program.pl"
    place.write_text(PROGRAM)
    return place


def origin(file: Path, goal: str, mark: str) -> tuple[str | None, Origin]:
    with Engine() as engine:
        execution = GoalExecution(engine, file, goal)
        tree = execution.wrong(1)
        part = execution.part(tree, mark)
        found = execution.provenance(tree).origin(tree.id(0), part)
        text = None if found.node is None else tree.call(tree.position(found.node)).text
        return text, found


@pytest.mark.parametrize(
    ("goal", "mark", "maker"),
    [
        ("rev([1,2], R)", "R", "app([2], [1], [2, 1])"),
        ("all([1,2,3], D)", "D[2]", "twice(2, 4)"),
        ("all([1,2,3], D)", "D", "all([1, 2, 3], [2, 4, 6])"),
        ("called(3, Y)", "Y", "twice(3, 6)"),
        ("closure([1], Ys)", "Ys", "app([0], [1], [0, 1])"),
        ("closure([1], Ys)", "Ys[1]", "closure([1], [0, 1])"),
        ("once_only(3, Y)", "Y", "twice(3, 6)"),
        ("open_list(L)", "L[1]", "open_list([a, q])"),
        ("open_list(L)", "L[2]", "b(q)"),
        ("parse([hello,bob], X)", "X", "name(bob, [bob], [])"),
        ("pairs(L)", "L[2][1]", "pair(3, 4)"),
        ("pairs(L)", "L[2]", "pairs([1-2, 3-4])"),
        ("summed([1,2], S)", "S", "plus_one(2, 2, 5)"),
        ("shared(A, B)", "A", "shared(f(7), 7)"),
        ("shared(A, B)", "A[1]", "give(7)"),
        ("shared(A, B)", "B", "give(7)"),
        ("looked_up(b, V)", "V", "looked_up(b, 2)"),
        ("passed(1, Y)", "Y", "given(1, z)"),
        ("chosen(1, R)", "R", "plus(p)"),
        ("chosen(0, R)", "R", "minus(m)"),
        ("added(X)", "X", "stored(9)"),
        ("rev([1,2], R), all(R, S), X = S", "X[1]", "twice(2, 4)"),
        ("rev([1,2], R), all(R, S), X = S", "R[1]", "rev([1, 2], [2, 1]), all([2, 1], [4, 2]), "
         "[4, 2]=[4, 2]"),
    ],
)  # fmt: skip
def test_a_part_leads_to_the_call_that_bound_it(
    file: Path, goal: str, mark: str, maker: str
) -> None:
    text, found = origin(file, goal, mark)
    assert text == maker, found


@pytest.mark.parametrize(
    ("goal", "mark", "reason"),
    [
        ("rev([1,2], R)", "R[1]", "it stands in the goal, and no call made it"),
        ("swapped([[1],[2]], D)", "D[1]", "what bound it in maplist/3 is out of sight"),
        ("built(3, Y)", "Y", "what bound it in built/2 is out of sight"),
        ("together(3, Y)", "Y", "what bound it in together/2 is out of sight"),
        ("both_once(3, Y)", "Y", "what bound it in once/1 is out of sight"),
        ("caught(3, Y)", "Y", "what bound it in catch/3 is out of sight"),
        ("woken(X)", "X", "what bound it in woken/1 is out of sight"),
        ("unbound(X)", "X", "it is a variable, which nothing has bound"),
    ],
)
def test_what_cannot_be_known_is_said(file: Path, goal: str, mark: str, reason: str) -> None:
    text, found = origin(file, goal, mark)
    assert text is None
    assert reason in found.unknown


def test_the_chain_runs_from_the_origin_to_the_mark(file: Path) -> None:
    with Engine() as engine:
        execution = GoalExecution(engine, file, "passed(1, Y)")
        tree = execution.wrong(1)
        part = execution.part(tree, "2")
        found = execution.provenance(tree).origin(tree.id(0), part)
        texts = [tree.call(tree.position(node)).text for node in found.chain]
        assert texts == ["given(1, z)", "same(z, z)"]
        passed = [tree.call(tree.position(node)).text for node in found.passed_through]
        assert passed == ["same(z, z)"]


def test_a_part_that_a_call_was_given_leads_to_who_made_it(file: Path) -> None:
    """As `i` marks it: the call should never have been given that."""
    with Engine() as engine:
        execution = GoalExecution(engine, file, "rev([1,2,3], R)")
        tree = execution.wrong(1)
        calls = {tree.call(each).text: tree.id(each) for each in range(len(tree.columns))}
        node = calls["app([3, 2], [1], [3, 2, 1])"]
        call = tree.call(tree.position(node))
        provenance = execution.provenance(tree)
        first = provenance.origin(node, find_mark(call, "1", input_side=True))
        assert first.node == calls["app([3], [2], [3, 2])"]
        second = provenance.origin(node, find_mark(call, "2", input_side=True))
        assert second.node == tree.id(0), "the clause of rev/2 has [X] in its text"


@pytest.mark.parametrize(
    "goal",
    [
        "rev([1,2,3], R)", "all([1,2], D)", "pairs(L)", "open_list(L)", "summed([1,2], S)",
        "caught(3, Y)", "woken(X)", "rev([1,2], R), all(R, S), X = S",
        "parse([hello,bob], X)", "\\+ rev([1,2], [1])",
    ],
)  # fmt: skip
def test_the_laws_of_the_port_hold(file: Path, goal: str) -> None:
    with Engine() as engine:
        execution = GoalExecution(engine, file, goal)
        tree = execution.wrong(1)
        check_provenance(tree, execution.provenance(tree))
        if execution.has_all_answers:
            failure = execution.missing()
            check_provenance(failure, execution.provenance(failure))


@pytest.mark.parametrize(
    ("goal", "mark", "inside", "outside"),
    [
        ("together(3, Y)", "Y", {"twice(3, 6)", "twice(6, 12)"}, set()),
        ("built(3, Y)", "Y", {"twice(3, 6)"}, set()),
        ("called(3, Y)", "Y", {"twice(3, 6)"}, set()),
        ("open_list(L)", "L[1]", {"b(q)", "fill([q])"}, set()),
        ("all([1,2], D)", "D[1]", {"twice(1, 2)", "twice(2, 4)"}, set()),
        ("pairs(L)", "L[1]", {"pair(1, 2)", "pair(3, 4)"}, set()),
        ("passed(1, Y)", "Y", {"given(1, z)", "same(z, z)"}, set()),
        ("rev([1], R), all([2], S)", "S", {"twice(2, 4)"}, {"rev([1], [1])", "rev([], [])"}),
    ],
)
def test_the_data_flow_slice_has_what_the_part_can_depend_on(
    file: Path, goal: str, mark: str, inside: set[str], outside: set[str]
) -> None:
    with Engine() as engine:
        execution = GoalExecution(engine, file, goal)
        tree = execution.wrong(1)
        part = execution.part(tree, mark)
        influence = execution.provenance(tree).influence(tree.id(0), part)
        assert influence is not None
        texts = {tree.call(tree.position(node)).text for node in influence.nodes}
        assert inside <= texts
        assert outside.isdisjoint(texts)


def test_a_part_that_was_made_out_of_the_tree_is_known_once_the_tree_has_grown(file: Path) -> None:
    with Engine() as engine:
        execution = GoalExecution(engine, file, "open_list(L)")
        answer = PortEvent(Port.EXIT, execution.trace.root, 0)
        small = execution.source.tree(answer, most=2)
        provenance = execution.provenance(small)
        part = execution.part(small, "L[2]")
        found = provenance.origin(small.id(0), part)
        assert "was not looked into yet" in found.unknown
        hidden = next(p for p in range(len(small.columns)) if small.columns.implicit[p])
        grown = small.expand(hidden, 3)
        found = provenance.with_tree(grown).origin(small.id(0), part)
        assert found.node is not None
        assert grown.call(grown.position(found.node)).text == "b(q)"


DEEP = """
top(N, R) :- mk(N, L), wrap(L, R), state(R).
mk(0, []) :- !.
mk(N, [N|T]) :- M is N - 1, mk(M, T).
wrap(L, r(S, L, C)) :- total(L, 0, S), maplist(twice, L, Ds), Ds = [_|C], count.
twice(X, Y) :- Y is X * 2.
total([], S, S).
total([N|Ns], S0, S) :- add(N, S0, S1), total(Ns, S1, S).
add(X, Y, Z) :- Z is X + Y.
:- dynamic n/1.
n(0).
count :- next(X), X > 0.
next(X) :- retract(n(Y)), up(Y, X), assertz(n(X)).
up(Y, X) :- X is Y + 1.
state(r(_, _, [X|_])) :- given(X).
given(X) :- next(Y), Y > 1, X > 0.
"""


def origins(execution: GoalExecution, tree: ColumnTree) -> list[tuple[str, ...]]:
    """Of each argument of each call: where it was made, and what it passed through."""
    found, provenance = [], execution.provenance(tree)
    for position in range(len(tree.columns)):
        call = tree.call(position)
        for number in range(1, len(call.arguments) + 1):
            part = find_mark(call, f"arg{number}", input_side=False)
            said = provenance.origin(tree.id(position), part)
            chain = [tree.call(tree.position(node)).equation() for node in said.chain]
            found.append(
                (call.equation(), part.mark.root, re.sub(r"\d+", "N", said.unknown), *chain)
            )
    return found


def test_calls_that_were_skipped_are_looked_into_for_an_origin(tmp_path: Path) -> None:
    file = tmp_path / "deep.pl"
    file.write_text(DEEP)
    with Engine() as engine:
        execution = GoalExecution(engine, file, "top(2, R)")
        expected = origins(execution, execution.wrong(1))
    for depth in (1, 3):
        with Engine() as engine:
            limits = RunLimits(events=100_000, skip_below=depth)
            execution = GoalExecution(engine, file, "top(2, R)", limits=limits)
            tree = execution.wrong(1)
            assert len(tree.columns) < len(expected)
            while tree.columns.implicit.any():
                tree = tree.expand(int(tree.columns.implicit.argmax()), 9)
            found = origins(execution, tree)
            execution.close()
        assert found == expected


@pytest.mark.parametrize("depth", [1, 2])
def test_only_what_leads_to_an_origin_is_looked_into(tmp_path: Path, depth: int) -> None:
    file = tmp_path / "deep.pl"
    file.write_text(DEEP)
    with Engine() as engine:
        limits = RunLimits(events=100_000, skip_below=depth)
        execution = GoalExecution(engine, file, "top(3, R)", limits=limits)
        tree = execution.wrong(1)
        answer = Answer(tree.id(0), Verdict.WRONG, execution.part(tree, "R[1]").mark)
        options = Options(ask_top=False, confirm_top=False)
        state = State(tree, execution.provenance(tree), options)
        looked_into = []
        state, outcome = step(state, Answered((answer,)))
        while isinstance(outcome, Expand):
            looked_into.append(state.tree.call(state.tree.position(outcome.node)).function.short())
            grown = state.tree.expand(state.tree.position(outcome.node), outcome.levels)
            state, outcome = step(state, Expanded(grown))
        execution.close()
    assert set(looked_into) <= {"wrap/2", "total/3", "add/3"}
    assert isinstance(outcome, Ask)
    assert outcome.question.call.equation() == "add(1, 5, 6)"
