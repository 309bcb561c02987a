"""The sizes of slices: the columns of the debug slicing paper's table, and the data-flow slice.

A size is a number of calls and of their arguments. A call is either on the success branch or on a
failed branch. A data-flow slice is a set of arguments, which are counted; for the other sets, all
arguments of their calls count (as in the paper: its first row is its Example 2).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from whence.langs.prolog.debug_slice import HEAD, data_flow, debug_slice, extent_of, through
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Port, PortEvent, TracedCall


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    arguments: int


@dataclass(frozen=True, slots=True)
class SliceSizes:
    """A row of the table."""

    complete_tree: Size
    success_branch: Size
    failed_branches: Size
    data_flow_slice: Size
    debug_slice: Size


def slice_sizes(
    tree: TraceTree,
    event: PortEvent | None = None,
    argument: int | None = None,
    *,
    by_itself: bool = False,
) -> SliceSizes:
    """The sizes for one answer of a trace's goal, by default the last.

    The data-flow slice is that of an argument (from 1) of the goal, by default of all that were not
    ground at the call. Without an answer there is no success branch and no data-flow slice.
    `by_itself` annotates each failed branch by itself.
    """
    root = tree.root
    if event is None and root.answers:
        event = PortEvent(Port.EXIT, root, len(root.answers) - 1)
    has_answer = event is not None and event.port is Port.EXIT
    extent = extent_of(event) if event is not None else None
    success = extent.branch if extent is not None and has_answer else ()
    on_branch = {call.mark for call in success}
    places = set()
    if event is not None and has_answer:
        arguments = [argument] if argument is not None else _not_ground(event.call)
        places = {place for nth in arguments for place in data_flow(tree, event, nth)}
    sliced = debug_slice(tree, extent, by_itself=by_itself)
    return SliceSizes(
        _size(tree.calls),
        _size(success),
        _size([call for call in tree.calls if call.mark not in on_branch]),
        Size(len(through(places)), sum(place.literal == HEAD for place in places)),
        _size([call for call in tree.calls if call.mark in sliced]),
    )


def _not_ground(call: TracedCall) -> list[int]:
    """The arguments that were not ground at the call; all if there is none."""
    every = range(1, len(call.states) + 1)
    return [nth for nth in every if call.states[nth - 1] != "g"] or list(every)


def _size(calls: Collection[TracedCall]) -> Size:
    return Size(len(calls), sum(len(call.states) for call in calls))
