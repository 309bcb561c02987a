"""Calls that may turn out not to be readable: what is known of them all the same.

A file is checked in full only when a call is looked at, so any call may fail then. What only lists
or reports calls goes on with what the columns tell. Values that occur more than once are put in
wherever they occur, so that a person sees them.
"""

from __future__ import annotations

from collections.abc import Iterator

from whence.errors import WhenceError
from whence.model.call import Call, Function, Outcome, OutcomeKind, unshared
from whence.ports import Tree


def readable_call(tree: Tree, position: int) -> tuple[Call, str]:
    """A call, or what is known of one that cannot be read and why it cannot."""
    try:
        return unshared(tree.call(position)), ""
    except WhenceError as problem:
        function = function_at(tree, position)
        rule = tree.rules[int(tree.columns.rule[position])]
        outcome = Outcome(OutcomeKind(int(tree.columns.outcome[position])))
        text = f"{function.short()}(…), which cannot be read"
        return Call(function, rule, outcome, text=text), str(problem)


def function_at(tree: Tree, position: int) -> Function:
    """The function that was called."""
    return tree.functions[int(tree.columns.function[position])]


def up_from(tree: Tree, position: int) -> Iterator[int]:
    """A call, who made it, and so on up to the top: their positions."""
    while position >= 0:
        yield position
        position = int(tree.columns.parent[position])
