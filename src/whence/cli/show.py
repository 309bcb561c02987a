"""`whence show FILE`: what is in a recording or a tree, on plain lines.

Without options: a summary, the hottest functions and the top of the tree. Totals come from the
tree's columns; only the calls that are printed are read.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whence.app.frontends import open_any
from whence.model.call import OutcomeKind
from whence.model.recording import RecordingFacts
from whence.model.value import cut
from whence.ports import Floats, Int64s, Opened, Tree
from whence.tree.readable_call import readable_call
from whence.ui.terminal.multiline import brief
from whence.ui.terminal.show_command import MOST_LINES, call_lines

_HOTTEST = 10
_GROUPS = 12
"""How many different functions are shown below one call."""
_CALLEES = 20
_NARROWEST = 40


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "show",
        help="show what is in a recording or a tree",
        description="Shows what a recording or a tree file holds: a summary, the functions with "
        "the most calls, and the top of the tree, in which calls of one function by one caller "
        "are folded into one line.",
    )
    command.add_argument("file", type=Path, metavar="FILE", help="a recording or a tree")
    command.add_argument(
        "--depth", type=natural, default=3, metavar="N",
        help="how many levels of the tree to show (default: 3)",
    )  # fmt: skip
    only = command.add_mutually_exclusive_group()
    only.add_argument(
        "--call", type=int, metavar="N", help="only call N, with everything that is known of it"
    )
    only.add_argument("--functions", action="store_true", help="only the functions, all of them")
    command.set_defaults(run=run)


def natural(text: str) -> int:
    """A number that counts something, from 0 on."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def run(options: argparse.Namespace) -> int:
    """Print what is asked for."""
    opened = open_any(options.file)
    width = max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)
    for line in _lines(options, opened, width):
        print(line)
    return 0


def _lines(options: argparse.Namespace, opened: Opened, width: int) -> Iterator[str]:
    tree = opened.tree
    if options.call is not None:
        yield from _one_call(tree, options.call, width)
    elif options.functions:
        yield from _function_lines(tree, None)
    else:
        yield from _summary(options.file, opened, width)
        yield ""
        yield from _function_lines(tree, _HOTTEST)
        yield ""
        yield from tree_lines(tree, options.depth, width)


# --- the recording as a whole --------------------------------------------------------------------


def _summary(path: Path, opened: Opened, width: int) -> Iterator[str]:
    tree, recording = opened.tree, opened.recording
    yield str(path)
    facts = [*_recording_facts(recording), *_tree_facts(path, tree, recording)]
    for name, text in facts:
        # Not cut off: a command is there to be copied.
        yield f"  {name:<9} {text}"
    call, problem = readable_call(tree, 0)
    ended = problem or call.right() if recording is None or recording.ended else ""
    if ended:
        yield f"  {'outcome':<9} {cut(ended, width - 12)}"
    if recording is not None:
        yield from _warnings(recording)


def _recording_facts(recording: RecordingFacts | None) -> Iterator[tuple[str, str]]:
    if recording is None:
        return
    if recording.command:
        yield "command", " ".join(recording.command)
    if recording.folder:
        yield "in", recording.folder
    facts = [
        recording.interpreter,
        f"recorded by {recording.backend}" if recording.backend else "",
        f"detail {recording.detail}" if recording.detail else "",
    ]
    if any(facts):
        yield "Python", ", ".join(filter(None, facts))
    if recording.started:
        yield "started", recording.started


def _tree_facts(
    path: Path, tree: Tree, recording: RecordingFacts | None
) -> Iterator[tuple[str, str]]:
    columns = tree.columns
    stands_for = columns.implicit != 0
    hidden = float((columns.own[stands_for] - 1).sum()) if stands_for.any() else 0.0
    trusted = np.array([function.trusted for function in tree.functions], dtype=bool)
    # What stands for calls that were not recorded is no call itself, nor is a process.
    runs = 0 if recording is None else recording.members
    fillers = stands_for & trusted[columns.function]
    calls = len(columns) - int(fillers.sum()) - runs
    hidden += int(fillers.sum())
    used = len(np.unique(columns.function[~fillers])) - runs
    text = f"{calls:,} of {used:,} functions"
    if recording is not None and recording.threads > 1:
        text += f" in {recording.threads:,} threads"
    if recording is not None and recording.processes > 1:
        text += f"{' of' if recording.threads > 1 else ' in'} {recording.processes:,} processes"
    if hidden:
        text += f"; {hidden:,.0f} more were not recorded"
    yield "calls", text
    size = recording.size if recording is not None else path.stat().st_size
    yield "size", f"{bytes_text(size)}" + (f", {size / calls:,.1f} bytes a call" if calls else "")
    endless = int((columns.outcome[1:] == OutcomeKind.NOT_TERMINATED).sum())
    if endless:
        yield "open", f"{endless:,} calls had not ended when the recording did"


def _warnings(recording: RecordingFacts) -> Iterator[str]:
    if recording.unread:
        lost = f"the last {recording.unread:,} bytes are lost"
        yield f"  {'damage':<9} {recording.why_unread}: {lost}"
    if not recording.ended and recording.why_stopped:
        why = f"the recording stopped before the program ended: {recording.why_stopped}"
        yield f"  {'outcome':<9} not known: {why}"
    elif not recording.ended:
        yield f"  {'outcome':<9} not known: the process was killed or is still running"
    if recording.killed:
        several = f"{recording.killed:,} child processes were"
        many = several if recording.killed > 1 else "1 child process was"
        yield f"  {'children':<9} {many} killed, or still running"
    for text in recording.notes:
        yield f"  {'note':<9} {text}"


def bytes_text(size: int) -> str:
    """A size in a unit that fits it."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size:,} bytes"


# --- functions -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Share:
    """What the calls of one function amount to."""

    function: int
    calls: int
    own: float
    total: float


def _shares(tree: Tree) -> list[_Share]:
    """For each function its calls, their own weight, and the weight of all below them."""
    columns = tree.columns
    order = np.argsort(columns.function, kind="stable")
    numbers, starts = np.unique(columns.function[order], return_index=True)
    shares = []
    for number, positions in zip(numbers, np.split(order, starts[1:]), strict=True):
        # A call inside another one of the same function is in that one's weight already.
        reached = np.maximum.accumulate(columns.end[positions])
        outermost = np.ones(len(positions), dtype=bool)
        outermost[1:] = positions[1:] >= reached[:-1]
        own, total = columns.own[positions].sum(), columns.weight[positions[outermost]].sum()
        shares.append(_Share(int(number), len(positions), float(own), float(total)))
    return sorted(shares, key=lambda share: (-share.own, -share.total))


def _function_lines(tree: Tree, most: int | None) -> Iterator[str]:
    shares = _shares(tree)
    yield f"{'calls':>11} {'weight':>11} {'with below':>11}  function"
    for share in shares[:most]:
        function = tree.functions[share.function]
        numbers = f"{share.calls:>11,} {share.own:>11,.0f} {share.total:>11,.0f}"
        yield f"{numbers}  {function.name}"
        if most is None and function.location:
            yield f"{'':>37}{function.location}"
    if most is not None and len(shares) > most:
        yield f"{'':>37}… {len(shares) - most:,} more (--functions)"


# --- the tree ------------------------------------------------------------------------------------


def tree_lines(tree: Tree, depth: int, width: int, top: int = 0) -> Iterator[str]:
    """A call and so many levels below it, a line for each function called by the same calls."""
    area = slice(top, int(tree.columns.end[top]))
    deepest = int(tree.columns.depth[top]) + depth
    shown = np.flatnonzero(tree.columns.depth[area] <= deepest).astype(np.int64) + top
    yield from _group_lines(tree, np.array([top], dtype=np.int64), shown, depth, "", width)


def _group_lines(
    tree: Tree, group: Int64s, shown: Int64s, depth: int, margin: str, width: int
) -> Iterator[str]:
    """Calls of one function by the calls above, on one line, and what they called."""
    columns = tree.columns
    weight: Floats = columns.weight[group]
    function = tree.functions[int(columns.function[group[0]])]
    stands_for_others = bool(columns.implicit[group[0]]) and function.trusted
    light = float(weight.sum()) <= len(group)
    below = "" if light or stands_for_others else f"  ({weight.sum():,.0f} in all)"
    if len(group) == 1:
        node = tree.id(int(group[0]))
        room = width - len(margin) - len(f"{node} ") - len(below)
        text = f"{node} {brief(readable_call(tree, int(group[0]))[0], room)}"
    else:
        text = f"{function.short()} × {len(group):,}"
    yield margin + text + below
    inner = shown[np.isin(columns.parent[shown], group)]
    if depth == 0:
        return
    functions = columns.function[inner]
    numbers, firsts = np.unique(functions, return_index=True)
    in_order = numbers[np.argsort(firsts)]
    for number in in_order[:_GROUPS]:
        calls = inner[functions == number]
        yield from _group_lines(tree, calls, shown, depth - 1, margin + "  ", width)
    if len(in_order) > _GROUPS:
        left = int(np.isin(functions, in_order[_GROUPS:]).sum())
        yield f"{margin}  … {left:,} calls of {len(in_order) - _GROUPS:,} more functions"


# --- one call ------------------------------------------------------------------------------------


def _one_call(tree: Tree, node: int, width: int) -> Iterator[str]:
    position = tree.position(node)
    call, problem = readable_call(tree, position)
    where = call.where()
    yield f"call {node}: {call.function.name}" + (f", at {where}" if where else "")
    if problem:
        yield f"  {problem}"
        return
    parent = int(tree.columns.parent[position])
    if parent >= 0:
        caller = tree.functions[int(tree.columns.function[parent])].short()
        at = f", at {call.site}" if call.site else ""
        yield f"  called by call {tree.id(parent)}, {caller}{at}"
    for count, line in enumerate(call_lines(call, width)):
        if count >= MOST_LINES:
            yield "  …"
            break
        yield line
    if call.outcome.location:
        yield f"  left at {call.outcome.location}"
    yield from _callee_lines(tree, position, width)


def _callee_lines(tree: Tree, position: int, width: int) -> Iterator[str]:
    columns = tree.columns
    area = slice(position + 1, int(columns.end[position]))
    callees = position + 1 + np.flatnonzero(columns.parent[area] == position)
    if len(callees):
        yield f"  called {len(callees):,}:"
    elif columns.implicit[position]:
        yield f"  called {columns.own[position] - 1:,.0f} others, which were not recorded"
    for callee in callees[:_CALLEES].tolist():
        head = f"    {tree.id(callee)} "
        yield head + brief(readable_call(tree, callee)[0], width - len(head))
    if len(callees) > _CALLEES:
        yield f"    … {len(callees) - _CALLEES:,} more"
