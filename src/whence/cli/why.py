"""`whence why RECORDING CALL PATH`: where a value of a recorded program came from.

There is no session and no question: the command itself is the permission to run the program again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from whence.app.frontends import open_any, sources_of
from whence.app.progress import ProgressDisplay
from whence.cli.session_options import add_trust
from whence.errors import UsageError
from whence.model.call import Call, MarkedPart, find_mark
from whence.model.origin import Origin
from whence.model.replay_settings import ReplaySettings
from whence.model.value import BRIEF, is_cut, show
from whence.ports import Opened, Reruns, Tree
from whence.report.source import Sources
from whence.tree.readable_call import function_at, readable_call
from whence.ui.terminal.listing import find_function
from whence.ui.terminal.messages import source_line
from whence.ui.terminal.multiline import brief

_WIDTH = 90
_MOST = 12


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "why",
        help="where a value of a recorded program came from",
        description="Says which expression created a part of a value, which calls the part "
        "passed through, and which calls could have influenced it (docs/marks.md). For this "
        "the program runs again, with all its effects. Exit codes: 0 the origin was found, 1 "
        "it is unknown or one of several, 2 there is no such call or part.",
    )
    command.add_argument("recording", type=Path, metavar="RECORDING", help="a recording")
    command.add_argument(
        "call", metavar="CALL", help="the number of a call, or a function for its last call"
    )
    command.add_argument(
        "path", metavar="PATH",
        help="the part, as it is marked in a session: result[2].name, or xs[3] for a part of "
        "an argument or of something that the call changed",
    )  # fmt: skip
    command.add_argument(
        "--format", choices=("text", "json"), default="text",
        help="the format of the answer (default: text)",
    )  # fmt: skip
    add_trust(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Find the origin and the slices, and print them."""
    opened = open_any(options.recording)
    if opened.trust is not None and options.trust_recording:
        opened.trust.allow()
    tree = opened.tree
    node = find_call(tree, options.call)
    call, problem = readable_call(tree, tree.position(node))
    if problem:
        raise UsageError(problem)
    if opened.replay is not None:
        opened.replay.configure(ReplaySettings(with_progress=ProgressDisplay().with_progress))
    part = _find_part(call, node, options.path, opened.reruns)
    origin, slices = _history(opened, node, part)
    if options.format == "json":
        print(json.dumps(_record(tree, node, part, origin, slices), indent=1, ensure_ascii=False))
    else:
        print("\n".join(_text(tree, node, part, origin, slices, sources_of(opened))))
    return 0 if origin.node is not None else 1


def _find_part(call: Call, node: int, path: str, reruns: Reruns | None) -> MarkedPart:
    """The part of a call; if it was not recorded, the program is run again for it."""
    try:
        return find_mark(call, path, input_side=False)
    except UsageError:
        if reruns is None or not _was_cut(call):
            raise
    return find_mark(reruns.whole(node), path, input_side=False)


def _was_cut(call: Call) -> bool:
    """Whether only the beginning of some value was recorded."""
    inputs = [binding.value for binding in (*call.arguments, *call.reads)]
    changed = [effect.after for effect in call.effects]
    values = (*inputs, *changed, *call.outcome.yielded, call.outcome.value)
    return any(is_cut(part) for value in values if value is not None for _, part in value.paths())


def find_call(tree: Tree, text: str) -> int:
    """The call with a number, or the last one of a function."""
    if text.isascii() and text.isdecimal():
        tree.position(int(text))
        return int(text)
    positions = np.flatnonzero(tree.columns.function == find_function(tree, text))
    if not len(positions):
        raise UsageError(f"{text} was not called")
    return max(tree.id(int(position)) for position in positions)


def _history(
    opened: Opened, node: int, part: MarkedPart
) -> tuple[Origin, Sequence[frozenset[int]]]:
    if opened.history is not None:
        return opened.history.history(node, part)
    assert opened.provenance is not None, "every file that is opened has a provenance"
    influence = opened.provenance.influence(node, part)
    slices = () if influence is None else influence.slices()
    return opened.provenance.origin(node, part), slices


def _record(
    tree: Tree, node: int, part: MarkedPart, origin: Origin, slices: Iterable[frozenset[int]]
) -> dict[str, object]:
    record: dict[str, object] = {"call": _named(tree, node), "path": str(part.mark)}
    if origin.node is not None:
        record["origin"] = _place(tree, origin)
        record["made_of"] = [_place(tree, source) for source in origin.made_of]
    elif origin.candidates:
        record["candidates"] = [_place(tree, candidate) for candidate in origin.candidates]
    else:
        record["unknown"] = origin.unknown
    record["chain"] = [_named(tree, link) for link in origin.chain]
    record["slice"] = {
        f"L{number}": [_named(tree, member) for member in sorted(members)]
        for number, members in enumerate(slices, 1)
    }
    return record


def _named(tree: Tree, node: int) -> dict[str, object]:
    function = function_at(tree, tree.position(node))
    return {"node": node, "qualname": function.short()}


def _place(tree: Tree, origin: Origin) -> dict[str, object]:
    place: dict[str, object] = {"node": origin.node, "function": None, "qualname": None}
    if origin.node is not None:
        function = function_at(tree, tree.position(origin.node))
        place |= {"function": function.name, "qualname": function.short()}
    where = origin.location
    return {
        **place,
        "file": where.file if where else None,
        "line": where.line if where else None,
        "expression": origin.expression,
    }


def _text(
    tree: Tree, node: int, part: MarkedPart, origin: Origin, slices: Iterable[frozenset[int]],
    sources: Sources,
) -> list[str]:  # fmt: skip
    value = show(part.value, BRIEF)
    out = [f"{part.mark} = {value}  in call {node}: {_brief(tree, node)}"]
    if origin.node is not None:
        out += [f"was made in call {origin.node}: {_brief(tree, origin.node)}"]
        out += _where(origin, sources)
        for source in origin.made_of:
            assert source.node is not None
            out.append(f"from what was made in call {source.node}: {_brief(tree, source.node)}")
            out += _where(source, sources)
    elif origin.candidates:
        out.append("was made in one of these places:")
        for candidate in origin.candidates:
            out += _where(candidate, sources)
    else:
        out.append(f"Its origin is unknown: {origin.unknown or 'no reason is given'}.")
    through = [link for link in origin.chain if link not in (origin.node, node)]
    if through:
        out += ["and passed through:", *(f"  {link:>6}  {_brief(tree, link)}" for link in through)]
    widths = [frozenset[int](), *slices]
    for number, (narrower, wider) in enumerate(pairwise(widths), 1):
        more = sorted(wider - narrower)
        if number == 1 or more:
            out.append(f"L{number}: {_MEANING[number]} ({len(more)}):")
            out += [f"  {member:>6}  {_brief(tree, member)}" for member in more[:_MOST]]
            if len(more) > _MOST:
                out.append(f"          … and {len(more) - _MOST} more (--format json has all)")
    return out


_MEANING = {
    1: "calls that influenced it",
    2: "calls that could have written there and did not",
    3: "calls from which it could be reached",
}


def _brief(tree: Tree, node: int) -> str:
    call, _ = readable_call(tree, tree.position(node))
    return brief(call, _WIDTH)


def _where(origin: Origin, sources: Sources) -> list[str]:
    where = origin.location
    place = [f"  at {sources.shown(where)}, as {origin.expression}"] if where else []
    return [*place, *source_line(origin, sources)]
