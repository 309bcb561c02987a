"""Calls that led to an equal call of themselves."""

from __future__ import annotations

from whence.model.call import Binding, Call, Function, Outcome, OutcomeKind, Rule
from whence.model.value import atom
from whence.tree.column_tree import ColumnTree, Node, tree_of
from whence.tree.cycles import describe_cycle, find_cycle, pending_path


def tree(*calls: tuple[str, str, int | None, bool]) -> ColumnTree:
    """Calls as (function, argument, caller, ended); their ids are their places."""
    nodes = []
    for number, (name, given, caller, ended) in enumerate(calls):
        kind = OutcomeKind.RETURNED if ended else OutcomeKind.NOT_TERMINATED
        arguments = (Binding("n", atom(given)),) if given else ()
        call = Call(Function(name), Rule(name, name), Outcome(kind), arguments)
        nodes.append(Node(number, caller, call))
    return tree_of(nodes)


def test_a_function_that_calls_itself_with_the_same_inputs_goes_round() -> None:
    run = tree(("run", "", None, False), ("f", "1", 0, False), ("f", "1", 1, False))
    found = find_cycle(run)
    assert found is not None
    assert found.path == (1, 2)
    assert "f(n=1) led to a call of itself" in describe_cycle(run, found)


def test_a_cycle_through_two_functions_is_told_with_its_path() -> None:
    run = tree(
        ("run", "", None, False), ("f", "1", 0, False), ("g", "1", 1, False), ("f", "1", 2, False)
    )
    found = find_cycle(run)
    assert found is not None
    assert len(found.path) - 1 == 2
    assert "f → g → f" in describe_cycle(run, found)


def test_other_inputs_are_no_cycle() -> None:
    assert find_cycle(tree(("f", "1", None, False), ("f", "2", 0, False))) is None


def test_equal_calls_that_ended_are_no_cycle() -> None:
    run = tree(("run", "", None, False), ("f", "1", 0, True), ("f", "1", 0, False))
    assert find_cycle(run) is None


def test_calls_of_which_no_input_is_known_are_no_cycle() -> None:
    assert find_cycle(tree(("f", "", None, False), ("f", "", 0, False))) is None


def test_the_path_is_that_of_the_calls_that_ran_last() -> None:
    run = tree(
        ("run", "", None, False), ("waits", "1", 0, False), ("f", "1", 0, False),
        ("done", "2", 2, True), ("g", "1", 2, False),
    )  # fmt: skip
    assert pending_path(run) == [0, 2, 4]
