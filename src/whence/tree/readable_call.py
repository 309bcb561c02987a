"""Calls that may turn out to be unreadable, and what is known of them nevertheless.

A file is checked in full only when a call is looked at, so any call may fail then. What only lists
or reports calls continues with what the columns say. Shared values are written out wherever they
occur, so that a person sees them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whence.errors import WhenceError
from whence.model.call import Call, Function, Outcome, OutcomeKind, expand_shared
from whence.ports import Tree

MOST_CALLS = 1_000_000


def readable_call(tree: Tree, position: int) -> tuple[Call, str]:
    """A call and "", or what is known of an unreadable one and why it cannot be read."""
    try:
        return expand_shared(tree.call(position)), ""
    except WhenceError as problem:
        function = function_at(tree, position)
        rule = tree.rules[int(tree.columns.rule[position])]
        outcome = Outcome(OutcomeKind(int(tree.columns.outcome[position])))
        text = f"{function.short()}(…), which cannot be read"
        return Call(function, rule, outcome, text=text), str(problem)


def function_at(tree: Tree, position: int) -> Function:
    """The function that was called."""
    return tree.functions[int(tree.columns.function[position])]


def functions_that_ran(tree: Tree, position: int) -> list[Function]:
    """The functions that ran in a call and below it; empty if they are not known, or if there are
    too many calls to look through."""
    columns = tree.columns
    below = slice(position, int(columns.end[position]))
    if below.stop - position > MOST_CALLS or columns.implicit[below].any():
        return []
    return [tree.functions[int(number)] for number in np.unique(columns.function[below])]


def up_from(tree: Tree, position: int) -> Iterator[int]:
    """The positions of a call, of its caller, and so on up to the top."""
    while position >= 0:
        yield position
        position = int(tree.columns.parent[position])
