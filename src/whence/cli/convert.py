"""`whence convert FILE`: write any tree in the open format, or for a viewer of profiles."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from whence.app.frontends import open_any
from whence.model.call import Mark, MarkedPart, find_mark, roots
from whence.ports import Opened, Provenance, Tree
from whence.tree.profile_export import write_perfetto, write_speedscope
from whence.tree.reader import TreeHeader
from whence.tree.tree_file import write_tree

_PARTS = 2000
_PROFILES = {"speedscope": write_speedscope, "perfetto": write_perfetto}


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "convert",
        help="write a tree in the open tree format, or for speedscope or Perfetto",
        description="Writes a tree, or the execution tree of an Augmented Redex Trail with the "
        "origins of its values, as JSON lines (docs/tree-format.md). With --to, writes its calls "
        "for a viewer of profiles, in which one call counts as one unit of time.",
    )
    command.add_argument("file", type=Path, metavar="FILE", help="the file to convert")
    command.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the file to write (default: standard output)",
    )
    command.add_argument(
        "--to", choices=("tree", *_PROFILES), default="tree",
        help="the format: tree (the default), speedscope, or perfetto (Chrome's trace format)",
    )  # fmt: skip
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Open, write."""
    opened = open_any(options.file)
    if options.to != "tree":
        _write_profile(options, opened)
        return 0
    tree, provenance = opened.tree, opened.provenance
    origins = None
    if opened.computes_origins and provenance is not None:
        # An origin that is computed here is given by no file: it has to be written down.
        def origins(position: int) -> Iterable[Mapping[str, object]]:
            return _origins(tree, provenance, position)

    write_tree(options.output or sys.stdout, tree, origins, header_of(opened))
    return 0


def _write_profile(options: argparse.Namespace, opened: Opened) -> None:
    """Write the tree's calls for a viewer of profiles."""
    write, name = _PROFILES[options.to], options.file.name
    if options.output is None:
        write(sys.stdout, opened.tree, name)
        return
    with options.output.open("w", encoding="utf-8") as out:
        write(out, opened.tree, name)


def header_of(opened: Opened) -> TreeHeader | None:
    """What a recording says of itself; other trees have a header, or none, in their own file."""
    recording = opened.recording
    return None if recording is None else TreeHeader(recording.language, recording.name)


def _origins(tree: Tree, provenance: Provenance, position: int) -> Iterable[Mapping[str, object]]:
    """The origin of every part of a call's arguments and result."""
    call, node = tree.call(position), tree.id(position)
    for root in roots(call):
        whole = find_mark(call, root, input_side=True)
        for steps, value in whole.value.paths(_PARTS):
            part = MarkedPart(Mark(root, steps), value, whole.is_input, whole.position)
            origin = provenance.origin(node, part)
            if origin.node is None:
                continue
            record: dict[str, object] = {"part": str(part.mark), "node": origin.node}
            if origin.chain[1:]:
                record["through"] = list(origin.chain[1:])
            if origin.expression:
                record["expression"] = origin.expression
            influence = provenance.influence(node, part)
            if influence is not None:
                record["influenced_by"] = sorted(influence.nodes)
            yield record
