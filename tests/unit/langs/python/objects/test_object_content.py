"""What objects hold, read and written without running code of their classes."""

from __future__ import annotations

import collections
import io
import itertools
from array import array
from typing import Any

import pytest

from whence.langs.python.objects.object_content import (
    read_content,
    shape_of,
    write_attribute,
    write_content,
)
from whence.langs.python.objects.object_description import ObjectDescriber
from whence.langs.python.objects.object_digest import ObjectDigests
from whence.langs.python.oracles.worker.swap_code import CodeSwap


class _Loud(type):
    """A metaclass whose classes notice all that is asked of them."""

    def __hash__(cls) -> int:
        raise AssertionError("hashed")

    def __eq__(cls, other: object) -> bool:
        raise AssertionError("compared")

    def __getattribute__(cls, name: str) -> Any:
        if name in ("__module__", "__qualname__", "__mro__", "__dict__", "__get__"):
            raise AssertionError(name)
        return super().__getattribute__(name)


class _LoudThing(metaclass=_Loud):
    __slots__ = ("__dict__", "slot")

    def __init__(self) -> None:
        self.attribute, self.slot = 1, 2

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        raise AssertionError("repr")

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")


class _Text(str):
    def __str__(self) -> str:
        raise AssertionError("str")


class _Items(list[int]):
    def __iter__(self) -> Any:
        raise AssertionError("iterated")


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ([1, 2], [3]),
        ({"a": 1}, {"b": 2, "a": 3}),
        ({1, 2}, {3}),
        (collections.deque([1], 3), collections.deque([2], 3)),
        (collections.OrderedDict(a=1), collections.OrderedDict(b=2)),
        (collections.defaultdict(int, a=1), collections.defaultdict(list)),
        (bytearray(b"one"), bytearray(b"another")),
        (array("i", [1, 2]), array("i", [3])),
        (io.StringIO("one"), io.StringIO("another")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_was_read_can_be_written_to_another_object(value: Any, other: Any) -> None:
    before = read_content(value)
    write_content(other, before)
    assert read_content(other).is_same(before)


def test_attributes_and_slots_are_put_back() -> None:
    thing = _LoudThing()
    before = read_content(thing)
    write_attribute(thing, "slot", 5)
    write_attribute(thing, "attribute", 6)
    assert not read_content(thing).is_same(before)
    write_content(thing, before)
    assert read_content(thing).is_same(before)


@pytest.mark.parametrize("name", ["thing", "text", "items"])
def test_no_method_of_the_program_runs(name: str) -> None:
    # Made here: pytest would ask a parameter for its class.
    values: dict[str, Any] = {"thing": _LoudThing(), "text": _Text("a"), "items": _Items([1])}
    assert not shape_of(type(values[name])).kind.is_opaque
    read_content(values[name])
    digests = ObjectDigests(ObjectDescriber([__name__], CodeSwap([])))
    unknown = digests.digest("a", values[name]).unknown
    assert unknown == ""


def test_what_cannot_be_put_back_has_no_function_for_it() -> None:
    assert shape_of(type(iter([]))).kind.write is None
    assert shape_of(type(itertools.chain())).kind.is_opaque
