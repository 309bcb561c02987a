"""The trace tree as a picture: which calls succeeded, failed, were cut away, or are in a slice.

There are two forms: text, nested as goals are in clauses, and a graph for Graphviz's `dot`, whose
edges are those of the paper's trace tree (each call below the one before it on its branch). Shape,
line and letters distinguish all kinds, so colours are not needed.

Beyond a number of calls, those outside of all slices are omitted first; the picture says how many.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.prolog.debug_slice import extent_of
from whence.langs.prolog.evaluation_tree import EvaluationTree
from whence.langs.prolog.traced_call import Port, PortEvent, TracedCall, answer_at
from whence.user_folders import write_private_file

MOST = 400
SKIPPED = " …"
"""Follows a skipped call."""
GRAPHVIZ = "`apt-get install graphviz` on Debian and Ubuntu, `brew install graphviz` on macOS"
_PATIENCE = 60
_WIDTH = 48
_TITLE = 40


class BranchStatus(Enum):
    """The branch that a call is on, and whether it failed at once."""

    SUCCESS = "on the success branch"
    FAILED = "failed at once"
    INNER = "on a failed branch"
    PRUNED = "cut away, not tried"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call, or a clause that was not tried because of a cut."""

    mark: int
    text: str
    status: BranchStatus
    parent: int | None
    """The call before it on its branch."""
    depth: int
    in_flow: bool = False
    in_debug: bool = False
    cuts: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """The nodes in order, and the number of omitted calls."""

    title: str
    nodes: tuple[Drawn, ...]
    left_out: int = 0


def draw_slices(
    source: EvaluationTree, event: PortEvent, flow: set[int], debug: set[int], most: int = MOST
) -> Picture:
    """The picture of an event of the goal, with the calls of two slices."""
    trace = source.trace
    extent = extent_of(event)
    success = {call.mark for call in extent.branch} if event.port is Port.EXIT else set()
    leaves = {call.mark for call in trace.failed_leaves()}
    relevant = [call for call in trace.calls if extent.end is None or call.called <= extent.end]
    kept = _choose_marks(relevant, (flow, success, debug), most)
    shown = [call for call in relevant if call.mark in kept]
    terms = [_term(call, extent.end if call.mark in success else None) for call in shown]
    texts = dict(zip((call.mark for call in shown), source.texts(terms), strict=True))
    cutting = {cut.call.mark for cut in trace.cuts}
    pruned = _pruned(source)
    nodes = []
    for call in shown:
        inner = BranchStatus.FAILED if call.mark in leaves else BranchStatus.INNER
        nodes.append(
            Drawn(
                call.mark,
                texts[call.mark] + (SKIPPED if call.is_skipped else ""),
                BranchStatus.SUCCESS if call.mark in success else inner,
                _nearest(call, kept),
                _depth(call, kept),
                call.mark in flow,
                call.mark in debug,
                call.mark in cutting,
            )
        )
        depth = _depth(call, kept) + 1
        nodes += [
            Drawn(-number, text, BranchStatus.PRUNED, call.mark, depth)
            for number, text in enumerate(pruned.get(call.mark, ()), 1)
        ]
    return Picture(source.equation(event), tuple(nodes), len(relevant) - len(shown))


def _choose_marks(calls: Sequence[TracedCall], sets: Iterable[set[int]], most: int) -> set[int]:
    """The marks that are shown: all, or the goal's and those of the sets, in order of the sets."""
    every = [call.mark for call in calls]
    if len(every) <= most:
        return set(every)
    kept = {1}
    for wanted in sets:
        room = most - len(kept)
        kept.update([mark for mark in every if mark in wanted and mark not in kept][:room])
    return kept


def _term(call: TracedCall, until: int | None) -> int:
    """The answer of a call on the success branch, else the call itself."""
    answer = answer_at(call, until) if until is not None else None
    return call.term if answer is None else answer.term


def _nearest(call: TracedCall, kept: set[int]) -> int | None:
    before = call.parent
    while before is not None and before.mark not in kept:
        before = before.parent
    return None if before is None else before.mark


def _depth(call: TracedCall, kept: set[int]) -> int:
    depth, caller = 0, call.caller
    while caller is not None:
        depth += caller.mark in kept
        caller = caller.caller
    return depth


def _pruned(source: EvaluationTree) -> dict[int, list[str]]:
    """For each call, the clauses that it did not try because of a cut."""
    texts: dict[int, list[str]] = {}
    for cut in source.trace.cuts:
        for call, number in cut.pruned:
            clause = source.trace.clause(number)
            if call is not None and clause is not None and clause.line:
                by = cut.call.predicate.indicator
                text = f"{call.predicate.indicator}, line {clause.line}: not tried, as {by} cut"
                texts.setdefault(call.mark, []).append(text)
    return texts


# --- as text -------------------------------------------------------------------------------------

_LETTERS = {
    BranchStatus.SUCCESS: "+",
    BranchStatus.FAILED: "x",
    BranchStatus.INNER: "-",
    BranchStatus.PRUNED: "~",
}
_LEGEND = (
    ", ".join(f"{letter} {status.value}" for status, letter in _LETTERS.items()),
    "f in the data-flow slice, d in the debug slice, ! it cut",
)


def as_text(picture: Picture) -> list[str]:
    """The picture in lines: the number, the call's status, its slices, the call."""
    width = len(str(max((node.mark for node in picture.nodes), default=1)))
    lines = list(_LEGEND)
    for node in picture.nodes:
        number = f"{node.mark:{width}}" if node.mark > 0 else " " * width
        slices = f"{'f' if node.in_flow else ' '}{'d' if node.in_debug else ' '}"
        cut = "  !" if node.cuts else ""
        line = f"{number} {_LETTERS[node.status]} {slices}  {'  ' * node.depth}{node.text}{cut}"
        lines.append(line)
    return [*lines, f"… {picture.left_out} more calls"] if picture.left_out else lines


# --- as a graph ----------------------------------------------------------------------------------

_SHAPES = {
    BranchStatus.SUCCESS: "shape=box",
    BranchStatus.FAILED: "shape=octagon",
    BranchStatus.INNER: "shape=ellipse",
    BranchStatus.PRUNED: 'shape=note, style=dashed, fontcolor="#555555", color="#555555"',
}


def as_dot(picture: Picture) -> str:
    """The picture as a graph in Graphviz's language."""
    lines = [
        "digraph whence {",
        f'  label={_quoted(_cut(picture.title, _TITLE * 3))}; labelloc=t; fontname="sans-serif";',
        '  node [fontname="sans-serif", fontsize=10, margin="0.08,0.04"];',
        '  edge [arrowsize=0.5, color="#888888"];',
    ]
    names: dict[int, str] = {}
    for number, node in enumerate(picture.nodes):
        name = f"n{number}"
        if node.status is not BranchStatus.PRUNED:
            names[node.mark] = name
        lines.append(f"  {name} [{_node(node)}];")
        if node.parent is not None:
            style = " [style=dashed]" if node.status is BranchStatus.PRUNED else ""
            lines.append(f"  {names[node.parent]} -> {name}{style};")
    if picture.left_out:
        lines.append(f'  more [shape=plaintext, label="… {picture.left_out} more calls"];')
    return "\n".join([*lines, *_key(), "}"]) + "\n"


def _node(node: Drawn) -> str:
    if node.status is BranchStatus.PRUNED:
        return f"label={_quoted(_cut(node.text, _WIDTH))}, {_SHAPES[node.status]}"
    letters = ("f" if node.in_flow else "") + ("d" if node.in_debug else "")
    label = f"{node.mark}{' ' + letters if letters else ''}{' !' if node.cuts else ''}"
    attributes = [
        f"label={_quoted(label + chr(10) + _cut(node.text, _WIDTH))}",
        f"tooltip={_quoted(node.text)}",
        _SHAPES[node.status],
        f"peripheries={2 if node.in_flow else 1}",
        f"penwidth={2.5 if node.in_debug else 0.7}",
    ]
    if node.in_flow:
        attributes.append('style=filled, fillcolor="#fff2b3"')
    elif node.in_debug:
        attributes.append('style=filled, fillcolor="#dcebfa"')
    return ", ".join(attributes)


def _key() -> list[str]:
    """The legend of shapes and lines."""
    entries = [
        *((shape, status.value) for status, shape in _SHAPES.items()),
        ('shape=box, penwidth=2.5, style=filled, fillcolor="#dcebfa"', "d: debug slice"),
        (
            'shape=box, peripheries=2, penwidth=2.5, style=filled, fillcolor="#fff2b3"',
            "f: data-flow slice",
        ),
        ("shape=plaintext", "!: it cut"),
    ]
    lines = ["  subgraph cluster_key {", '    label=""; color="#cccccc";']
    lines += [
        f"    key{number} [label={_quoted(text)}, {shape}];"
        for number, (shape, text) in enumerate(entries)
    ]
    chain = " -> ".join(f"key{number}" for number in range(len(entries)))
    return [*lines, f"    {chain} [style=invis];", "  }"]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def has_graphviz() -> bool:
    """Whether graphs can be drawn here."""
    return shutil.which("dot") is not None


def write_svg(picture: Picture, file: Path) -> None:
    """Draw the picture with Graphviz."""
    dot = shutil.which("dot")
    if dot is None:
        raise WhenceError(f"Graphviz (dot) is not installed, or not on the PATH: {GRAPHVIZ}")
    try:
        done = subprocess.run(
            [dot, "-Tsvg"],
            input=as_dot(picture),
            capture_output=True,
            encoding="utf-8",
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        raise WhenceError(f"dot did not draw the tree within {_PATIENCE} seconds") from problem
    if done.returncode:
        raise WhenceError(f"dot could not draw the tree: {done.stderr.strip()}")
    try:
        write_private_file(file, done.stdout)
    except OSError as problem:
        raise WhenceError(f"{file}: cannot be written ({problem.strerror})") from problem
