"""A tree as a file for speedscope or for Perfetto (Chrome's trace format), to look at it there.

Both show calls over time. A tree has no times, so one call counts as one unit, in the order of the
tree: a call begins where its box in the icicle begins, and lasts as long as its subtree is wide. A
call whose callees were only counted is as wide as they are.

The files are written call by call, so the size of a tree is no matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TextIO

import numpy as np

from whence.ports import Tree

_BLOCK = 4096
SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_speedscope(out: TextIO, tree: Tree, name: str) -> None:
    """Write the evented format of speedscope."""
    frames = []
    for function in tree.functions:
        frame: dict[str, object] = {"name": function.short()}
        if function.location is not None:
            frame["file"] = function.location.file
            if function.location.line is not None:
                frame["line"] = function.location.line
        frames.append(frame)
    edges = _edges(tree)
    head = {
        "$schema": SPEEDSCOPE_SCHEMA,
        "exporter": "whence",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
    }
    profile = {
        "type": "evented", "name": name, "unit": "none", "startValue": 0,
        "endValue": _plain(edges[-1]),
    }  # fmt: skip
    out.write(f'{json.dumps(head)[:-1]}, "profiles": [{json.dumps(profile)[:-1]}, "events": [\n')
    _write_all(out, map(json.dumps, _opened_and_closed(tree, edges)))
    out.write("\n]}]}\n")


def write_perfetto(out: TextIO, tree: Tree, name: str) -> None:
    """Write Chrome's trace format, which Perfetto opens."""
    out.write('{"traceEvents": [\n')
    meta = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": name}}
    out.write(f"{json.dumps(meta)},\n")
    _write_all(out, map(json.dumps, _complete_events(tree)))
    out.write("\n]}\n")


def _edges(tree: Tree) -> list[float]:
    """Where each call begins; the last entry is where the root ends."""
    own = tree.columns.own
    edges = np.zeros(len(own) + 1)
    np.cumsum(own, out=edges[1:])
    result: list[float] = edges.tolist()
    return result


def _plain(number: float) -> float | int:
    return int(number) if number.is_integer() else number


def _opened_and_closed(tree: Tree, edges: list[float]) -> Iterator[dict[str, object]]:
    columns = tree.columns
    open_calls: list[tuple[int, int]] = []

    def closed(before: int) -> Iterator[dict[str, object]]:
        while open_calls and open_calls[-1][0] <= before:
            end, function = open_calls.pop()
            yield {"type": "C", "frame": function, "at": _plain(edges[end])}

    for position in range(len(columns)):
        yield from closed(position)
        function = int(columns.function[position])
        yield {"type": "O", "frame": function, "at": _plain(edges[position])}
        open_calls.append((int(columns.end[position]), function))
    yield from closed(len(columns))


def _complete_events(tree: Tree) -> Iterator[dict[str, object]]:
    columns, names = tree.columns, [function.short() for function in tree.functions]
    edges = _edges(tree)
    for position in range(len(columns)):
        begin, end = edges[position], edges[int(columns.end[position])]
        arguments: dict[str, object] = {"call": tree.id(position)}
        if columns.implicit[position]:
            arguments["callees"] = "only counted"
        yield {
            "ph": "X",
            "name": names[int(columns.function[position])],
            "pid": 1,
            "tid": 1,
            "ts": _plain(begin),
            "dur": _plain(end - begin),
            "args": arguments,
        }


def _write_all(out: TextIO, texts: Iterator[str]) -> None:
    """Write texts with commas between them."""
    block: list[str] = []
    written = False
    for text in texts:
        block.append(text)
        if len(block) == _BLOCK:
            out.write(",\n" * written + ",\n".join(block))
            block.clear()
            written = True
    if block:
        out.write(",\n" * written + ",\n".join(block))
