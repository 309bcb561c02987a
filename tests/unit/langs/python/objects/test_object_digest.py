"""Digests of all that can be reached: equal for what is equal, and for nothing else."""

from __future__ import annotations

import collections
import datetime
import functools
import itertools
import random
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from whence.langs.python.objects.object_description import ObjectDescriber
from whence.langs.python.objects.object_digest import ObjectDigests
from whence.langs.python.oracles.worker.swap_code import CodeSwap


class Point:
    def __init__(self, x: object) -> None:
        self.x = x


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: object) -> None:
        self.a = a


class Names(dict[str, object]):
    pass


class Day(datetime.date):
    pass


def digest(*values: object) -> list[tuple[str, str, str]]:
    reach = ObjectDigests(ObjectDescriber([__name__], CodeSwap([])))
    return [reach.digest(str(number), value) for number, value in enumerate(values)]


def stepped(count: int, source: Any) -> Any:
    for _ in range(count):
        next(source)
    return source


def adder(n: int) -> Callable[[int], int]:
    return lambda x: x + n


def steps(n: int) -> Any:
    yield n
    yield n + 1


def cached(*given: int) -> Any:
    @functools.lru_cache
    def twice(n: int) -> int:
        return 2 * n

    for each in given:
        twice(each)
    return twice


PAIRS: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "numbers": (lambda: [1, 2.5, -0.0], lambda: [1, 2.5, 0.0]),
    "one and true": (lambda: 1, lambda: True),
    "texts and bytes": (lambda: "a", lambda: b"a"),
    "dicts in another order": (lambda: {1: 1, 2: 2}, lambda: {2: 2, 1: 1}),
    "sets": (lambda: {"a", ("b", 1)}, lambda: {"a", ("b", 2)}),
    "objects": (lambda: Point(1), lambda: Point(2)),
    "slots": (lambda: Slotted(1), lambda: Slotted(2)),
    "subclasses": (lambda: Names(a=1), lambda: Names(a=2)),
    "subclasses of C": (lambda: Day(2024, 1, 1), lambda: Day(2024, 1, 2)),
    "exceptions": (lambda: KeyError(1), lambda: KeyError(2)),
    "closures": (lambda: adder(1), lambda: adder(2)),
    "methods": (lambda: Point(1).__init__, lambda: Point(2).__init__),  # type: ignore[misc]
    "generators": (lambda: steps(1), lambda: stepped(1, steps(1))),
    "maps": (lambda: map(abs, [1, 2]), lambda: stepped(1, map(abs, [1, 2]))),
    "counts": (itertools.count, lambda: stepped(1, itertools.count())),
    "ordered dicts": (
        lambda: collections.OrderedDict(a=1, b=2),
        lambda: collections.OrderedDict(b=2, a=1),
    ),
    "defaults": (lambda: collections.defaultdict(int), lambda: collections.defaultdict(list)),
    "queues": (lambda: collections.deque([1], 2), lambda: collections.deque([1], 3)),
    "caches": (lambda: cached(1), lambda: cached(2)),
    "matches": (lambda: re.match("a|b", "a"), lambda: re.match("a|b", "b")),
    "chance": (lambda: random.Random(1), lambda: random.Random(2)),
    "partials": (lambda: functools.partial(int, "1"), lambda: functools.partial(int, "2")),
    "classes": (lambda: Point, lambda: Slotted),
}
if sys.version_info >= (3, 14):
    PAIRS["templates"] = (lambda: eval('t"a{[1]}"'), lambda: eval('t"a{[2]}"'))


@pytest.mark.parametrize("name", PAIRS)
def test_what_differs_has_another_digest_and_what_is_equal_the_same(name: str) -> None:
    one, other = PAIRS[name]
    ours, again, theirs = digest(one())[0], digest(one())[0], digest(other())[0]
    assert ours == again
    assert ours[2] == theirs[2] == "", "it is known in full"
    assert ours[:2] != theirs[:2]
    assert ours[1] != theirs[1]


def test_which_objects_are_one_counts_and_is_left_out_of_the_loose_digest() -> None:
    shared: list[int] = []
    ours, theirs = digest([shared, shared])[0], digest([[], []])[0]
    assert ours[0] != theirs[0]
    assert ours[1] == theirs[1]
    [_, in_both], [_, equal] = digest(shared, [shared]), digest(shared, [[]])
    assert in_both[0] != equal[0]
    assert in_both[1] == equal[1]


def test_addresses_in_texts_are_left_out_of_the_loose_digest() -> None:
    ours, theirs = digest("<object at 0x7f0011223344>")[0], digest("<object at 0x7f0011223355>")[0]
    assert ours[0] != theirs[0]
    assert ours[1] == theirs[1]


def test_values_that_hold_themselves_and_very_deep_ones_have_a_digest() -> None:
    around: list[object] = [1]
    around.append(around)
    other: list[object] = [1]
    other.append([1, other])
    assert digest(around)[0] == digest(around)[0]
    assert digest(around)[0][0] != digest(other)[0][0]
    deep: list[object] = []
    for _ in range(50_000):
        deep = [deep]
    assert digest(deep)[0][2] == ""


def test_no_code_of_the_program_is_run() -> None:
    class Lies:
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        def __hash__(self) -> int:
            return 1

        def __repr__(self) -> str:
            raise AssertionError

        def __getattribute__(self, name: str) -> object:
            raise AssertionError

    assert digest([Lies(), {Lies()}, {"a": Lies()}, iter([Lies()])])[0][2] == ""


def test_what_nobody_can_look_into_is_said() -> None:
    import socket

    with socket.socket() as opened:
        assert "socket" in digest([opened])[0][2]


def test_more_than_can_be_looked_at_is_said() -> None:
    reach = ObjectDigests(ObjectDescriber([], CodeSwap([])), max_objects=100)
    assert "more than 100 objects" in reach.digest("", [[] for _ in range(200)])[2]
