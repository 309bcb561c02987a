"""How far a generator is, where no iterator says so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

from whence.langs.python.objects.loop_positions import loop_positions
from whence.langs.python.record import frame_values

_Generator = Generator[Any, Any, Any]


def by_memory(generator: Any) -> list[int]:
    return frame_values.loop_positions(generator.gi_frame)


def nested(cell: int) -> _Generator:
    def inner() -> int:
        return cell

    for x in [1, 2, 3]:
        for y in (4, 5):
            yield x * y + inner()


def delegating() -> _Generator:
    yield from [1, 2, 3]


def iterating() -> _Generator:
    for x in iter([1, 2]):
        yield from map(abs, (x,))


@pytest.mark.skipif(sys.version_info < (3, 15), reason="up to 3.14 each loop has an iterator")
@pytest.mark.parametrize("positions", [loop_positions, by_memory])
def test_loops_over_lists_and_tuples_have_positions(
    positions: Callable[[_Generator], list[int]],
) -> None:
    found = []
    generator = nested(0)
    for _ in range(3):
        next(generator)
        found.append(positions(generator))
    assert found == [[1, 1], [1, 2], [2, 1]]
    delegate = delegating()
    next(delegate), next(delegate)
    assert positions(delegate) == [2]


@pytest.mark.parametrize("positions", [loop_positions, by_memory])
def test_iterators_have_positions_of_their_own(
    positions: Callable[[_Generator], list[int]],
) -> None:
    generator = iterating()
    assert positions(generator) == []
    next(generator)
    assert positions(generator) == []


def test_a_generator_that_ended_or_runs_has_no_position() -> None:
    def running() -> _Generator:
        for _ in [1, 2]:
            yield loop_positions(generator)  # type: ignore[arg-type]

    generator = running()
    assert list(generator) == [[], []]
    assert loop_positions(generator) == []  # type: ignore[arg-type]
