"""One call and what is below it is recorded as if all had been, and all calls are counted."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from recorded import BACKENDS, Node, as_node, recording

from whence.langs.python.record.backend_choice import NATIVE
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.trace.trace_reader import open_trace
from whence.langs.python.trace.trace_source import TraceSource
from whence.tree.column_tree import ColumnTree, all_ids

pytestmark = pytest.mark.skipif(NATIVE not in BACKENDS, reason="only the recorder in C has windows")

PROGRAM = """
import asyncio, functools

def leaf(n):
    return n * n

def counted(n):
    for i in range(n):
        yield leaf(i)

def summed(values):
    return sum(values)

def failing(n):
    if n == 0:
        raise ValueError(leaf(n))
    try:
        return failing(n - 1)
    except KeyError:
        return 0

@functools.lru_cache
def cached(n):
    return leaf(n)

def deep(n):
    return leaf(n) if n == 0 else deep(n - 1) + deep(n - 1)

async def waited(n):
    await asyncio.sleep(0)
    return leaf(n)

async def together():
    return await asyncio.gather(*(waited(i) for i in range(3)))

class Shape:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return leaf(self.n) < leaf(other.n)

def main():
    later = counted(3)
    summed(counted(2))
    try:
        failing(2)
    except ValueError:
        pass
    deep(3)
    cached(1), cached(1)
    summed(later)
    sorted([Shape(2), Shape(1), Shape(3)])
    asyncio.run(together())

main()
main()
"""


def recorded(folder: Path, **options: object) -> ColumnTree:
    program, output = folder / "program.py", folder / "run.whence"
    program.write_text(PROGRAM)
    code = compile(PROGRAM, str(program), "exec")
    settings = RecordOptions(first_calls=0, **options)  # type: ignore[arg-type]
    gc.collect()
    with recording(output, program, NATIVE, settings) as result:
        exec(code, {"__name__": "program"})
    assert result[0].problem is None
    tree = open_trace(output)
    output.unlink()
    return tree


def lines(node: Node, depth: int = 0) -> Iterator[str]:
    """A call and what is below it; where it was called from is not part of it."""
    yield f"{'  ' * depth}{node.name} {node.arguments} {node.outcome} {node.weight:g}"
    for call in node.calls:
        yield from lines(call, depth + 1)


def by_number(tree: ColumnTree) -> dict[int, Node]:
    root = as_node(tree)
    return dict(zip(all_ids(tree).tolist(), root.walk(), strict=True))


@pytest.mark.parametrize("every", [13, pytest.param(1, marks=pytest.mark.soak)])
def test_a_window_shows_each_call_as_the_whole_recording_does(every: int, tmp_path: Path) -> None:
    calls = by_number(recorded(tmp_path))
    assert len(calls) > 100
    for number in range(1, len(calls), every):
        top = as_node(recorded(tmp_path, window=(number, 1000))).calls[0]
        assert list(lines(top)) == list(lines(calls[number])), number


def test_which_of_all_calls_one_is_can_be_told_of_a_bounded_recording(tmp_path: Path) -> None:
    calls = by_number(recorded(tmp_path))
    for depth in (1, 2, 3, 4):
        bounded = recorded(tmp_path, depth=depth)
        source = bounded.sources[0]
        assert isinstance(source, TraceSource)
        ordinals = source.ordinals()
        for number, node in by_number(bounded).items():
            if 0 < number < len(ordinals):
                same = calls[int(ordinals[number])]
                assert (node.name, node.arguments, node.outcome) == (
                    same.name, same.arguments, same.outcome,
                )  # fmt: skip


def test_a_window_keeps_within_its_budget_and_counts_the_rest(tmp_path: Path) -> None:
    calls = by_number(recorded(tmp_path))
    number = next(each for each, node in calls.items() if node.name == "deep")
    assert calls[number].weight == 23
    window = recorded(tmp_path, window=(number, 8))
    top = as_node(window).calls[0]
    assert top.weight == 23
    kept = [node for call in top.calls for node in (call, *call.calls)]
    assert [node.weight for node in kept] == [11, 5, 5, 11, 5, 5]
