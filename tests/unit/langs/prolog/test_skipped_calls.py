"""Calls that were skipped are looked into when they are asked about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.errors import CannotExpand
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.port_events import RunLimits
from whence.langs.prolog.swipl_process import Engine
from whence.tree.column_tree import ColumnTree

need_swipl()

CHAIN = """
top(X) :- one(X), three(X).
one(X) :- two(X).
two(X) :- three(X).
three(X) :- member(X, [1,2,3]).
"""
STATE = """
:- dynamic n/1.
n(0).
twice(X, Y) :- step(X), step(Y).
step(X) :- inner(X).
inner(X) :- next(X), big(X).
next(X) :- retract(n(Y)), X is Y + 1, assertz(n(X)).
big(X) :- X > 0.
"""


@contextmanager
def run(folder: Path, text: str, goal: str, depth: int) -> Iterator[GoalExecution]:
    (folder / "program.pl").write_text(text)
    with Engine() as engine:
        limits = RunLimits(events=10_000, skip_below=depth)
        execution = GoalExecution(engine, folder / "program.pl", goal, limits=limits)
        yield execution
        execution.close()


def shown(tree: ColumnTree) -> list[str]:
    """Every call, indented by its depth; `+` says that what lies below is not in the tree."""
    return [
        "  " * int(tree.columns.depth[n])
        + tree.call(n).equation()
        + (" +" if tree.columns.implicit[n] else "")
        for n in range(len(tree.columns))
    ]


def expanded(tree: ColumnTree) -> ColumnTree:
    while tree.columns.implicit.any():
        tree = tree.expand(int(tree.columns.implicit.argmax()), 9)
    return tree


def test_what_is_too_deep_is_left_out_until_it_is_asked_for(tmp_path: Path) -> None:
    with run(tmp_path, CHAIN, "top(X)", 1) as execution:
        tree = execution.wrong(2)
        assert shown(tree) == ["top(2)", "  one(2) +", "  three(2) +"]
        assert tree.columns.weight[0] > 4, "what was done out of sight weighs something"
        tree = tree.expand(1, 1)
        assert shown(tree)[:3] == ["top(2)", "  one(2)", "    two(2) +"]


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("text", "goal"),
    [
        (CHAIN, "top(X)"),
        (STATE, "twice(X, Y)"),
        (STATE, "twice(X, Y), step(Z)"),
        (CHAIN, "findall(X, top(X), L)"),
        (CHAIN + "all(L) :- findall(X-Y, ( top(X), \\+ two(9), two(Y) ), L).", "all(L)"),
        ("p(X) :- catch(q(X), E, r(E, X)).\nq(_) :- throw(no).\nr(no, 1).\n", "p(X)"),
        (":- use_module(library(clpfd)).\np(X, Y) :- X #> 2, q(X, Y), label([X, Y]).\n"
         "q(X, Y) :- s(X, Y).\n"
         "s(X, Y) :- [X, Y] ins 0..4, Y #> X.\n", "p(X, Y)"),
    ],
)  # fmt: skip
def test_looked_into_everywhere_it_is_the_whole_tree(
    text: str, goal: str, depth: int, tmp_path: Path
) -> None:
    with run(tmp_path, text, goal, 0) as whole:
        expected = shown(whole.wrong(1))
        failure = shown(whole.missing())
    with run(tmp_path, text, goal, depth) as execution:
        assert shown(expanded(execution.wrong(1))) == expected
        assert shown(expanded(execution.missing())) == failure


def test_a_call_that_comes_to_something_else_is_not_looked_into(tmp_path: Path) -> None:
    place = tmp_path / "count"
    place.write_text("0.\n")
    text = f"""
    p(X) :- q(X).
    q(X) :- r(X).
    r(Y) :- see('{place}'), read(X), seen, Y is X + 1,
        tell('{place}'), format("~w.~n", [Y]), told.
    """
    with run(tmp_path, text, "p(X)", 1) as execution:
        tree = execution.wrong(1)
        assert shown(tree) == ["p(1)", "  q(1) +"]
        with pytest.raises(CannotExpand, match="when q/1 was run again, its outcome differed"):
            tree.expand(1, 1)


def test_a_call_of_what_does_not_exist_is_found_at_every_depth(tmp_path: Path) -> None:
    text = "p(X) :- q(X).\nq(X) :- r(X).\n"
    for depth in (0, 1, 2, 3):
        with run(tmp_path, text, "p(X)", depth) as execution:
            lines = shown(expanded(execution.raising()))
            assert [line.split()[0] for line in lines] == ["p(_A)", "q(_A)", "r(_A)"]


def test_an_error_below_what_is_looked_at_is_found(tmp_path: Path) -> None:
    text = "p(X) :- q(X).\nq(X) :- r(X).\nr(X) :- X is foo + 1.\n"
    with run(tmp_path, text, "p(X)", 1) as execution:
        lines = shown(expanded(execution.raising()))
        assert [line.split()[0] for line in lines][:3] == ["p(_A)", "q(_A)", "r(_A)"]
