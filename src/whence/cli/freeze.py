"""`whence freeze FUNCTION [RECORDING]`: which calls need not be made when it is run again."""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from whence.app.foreign_recordings import require_trust
from whence.app.frontends import named_or_last
from whence.cli.session_options import add_trust
from whence.errors import UsageError
from whence.langs.python.recording_trust import PythonRecordingTrust
from whence.langs.python.replay.frozen_calls import FrozenCalls, outermost
from whence.langs.python.replay.rerun_process import header_of, journal_beside
from whence.langs.python.trace.trace_provenance import program_of
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.value import Limits
from whence.tree.column_tree import ColumnTree, all_ids
from whence.tree.readable_call import readable_call

_WIDTH = 100
_SHOWN = 20
_BRIEF = Limits(depth=2, parts=4, characters=60)


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "freeze",
        help="say which calls of a function need not be made when a program is run again",
        description="Runs the program of a recording with a journal again and notes the "
        "effects of a function's calls; runs it once more with these effects in place of the "
        "calls, and compares the other calls. Says which calls can be frozen, why others "
        "cannot, and how much time that saves. A session freezes calls that were judged right "
        "by itself, where it pays (docs/running-again.md). Exit codes: 0 some calls can be "
        "frozen, 1 none can.",
    )
    command.add_argument(
        "function", metavar="FUNCTION", help="a name, as `whence show` gives it, or a pattern"
    )
    command.add_argument(
        "recording", type=Path, metavar="RECORDING", nargs="?",
        help="what to run again (default: the last recording)",
    )  # fmt: skip
    add_trust(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Try to freeze the calls, and print which can be frozen."""
    path = named_or_last(options.recording)
    tree = open_trace(path)
    trust = PythonRecordingTrust(path, header_of(tree))
    require_trust(trust, path, allowed=options.trust_recording)
    if journal_beside(path, header_of(tree)) is None:
        raise UsageError(f"{path}: was recorded without a journal; record it with --journal")
    nodes = _calls_of(tree, options.function)
    freezing = FrozenCalls(path, tree)
    freezing.freeze({at: calls for at, (_, calls) in nodes.items()})
    for line in _lines(tree, freezing, {at: node for at, (node, _) in nodes.items()}):
        print(line)
    return 0 if freezing.frozen else 1


def _calls_of(tree: ColumnTree, pattern: str) -> dict[int, tuple[int, int]]:
    """By ordinal: the id of each outermost call, and the number of calls that it made."""
    is_named = [
        fnmatchcase(function.name, pattern) or fnmatchcase(function.short(), pattern)
        for function in tree.functions
    ]
    program = program_of(tree)
    if program is None or program is not tree.sources[0]:
        raise UsageError("calls of a recording with child processes cannot be frozen")
    columns, ordinals = tree.columns, program.ordinals()
    positions = np.flatnonzero(np.array(is_named)[columns.function] & (tree.details > 0))
    if not len(positions):
        raise UsageError(f"no call of {pattern} was recorded; `whence show` lists what was")
    nodes = all_ids(tree)[positions]
    below = columns.weight[positions].astype(np.int64) - 1
    numbers = ordinals[nodes].tolist()
    kept = outermost(dict(zip(numbers, below.tolist(), strict=True)))
    ids = dict(zip(numbers, nodes.tolist(), strict=True))
    return {ordinal: (ids[ordinal], calls) for ordinal, calls in kept.items()}


def _lines(tree: ColumnTree, freezing: FrozenCalls, nodes: dict[int, int]) -> Iterator[str]:
    for at in sorted(nodes)[:_SHOWN]:
        call, _ = readable_call(tree, tree.position(nodes[at]))
        effects = freezing.frozen.get(at)
        if effects is not None:
            below = f"{effects.calls:,} call{'s' * (effects.calls != 1)} below it"
            result = f"frozen, with the {below}" if effects.calls else "frozen"
        else:
            result = f"not frozen: {freezing.refused[at]}"
        yield from _wrapped(f"call {nodes[at]}, {call.equation(_BRIEF)}: {result}")
    if len(nodes) > _SHOWN:
        yield f"… and {len(nodes) - _SHOWN:,} more calls. Of all of them:"
        for why, count in Counter(freezing.refused.values()).most_common():
            yield from _wrapped(f"  {count:,} not frozen: {why}")
    yield f"{len(freezing.frozen):,} of {len(nodes):,} calls can be frozen."
    if freezing.frozen:
        spared = sum(1 + effects.calls for effects in freezing.frozen.values())
        whole = int(tree.columns.weight[0]) - 1
        yield from _wrapped(
            f"Then {spared:,} of {whole:,} calls are not made, and running it again takes "
            f"{freezing.seconds:.1f} s instead of {freezing.plain_seconds():.1f} s."
        )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="    ")
