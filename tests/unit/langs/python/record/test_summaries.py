"""Objects that are told by a short text: what it says, and whether it claims to say all."""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import enum
import fractions
import pathlib
import re
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any

import pytest
from recorded import Node

import whence
from whence.langs.python.record.summaries import LONGEST, SUMMARIES, Summaries


class Colour(enum.Enum):
    RED = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Zone(datetime.tzinfo):
    """A zone of the program's own, which must not be asked anything."""

    def __repr__(self) -> str:
        raise AssertionError("code of the program was run")

    utcoffset = dst = tzname = __repr__  # type: ignore[assignment]


class Loud:
    def __repr__(self) -> str:
        raise AssertionError("code of the program was run")


def told(value: object) -> tuple[str, bool]:
    return Summaries()[type(value)](value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime.date(2026, 1, 2), "datetime.date(2026, 1, 2)"),
        (datetime.timedelta(days=1), "datetime.timedelta(days=1)"),
        (
            datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
            "datetime.datetime(2026, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)",
        ),
        (decimal.Decimal("1.50"), "Decimal('1.50')"),
        (fractions.Fraction(6, 4), "Fraction(3, 2)"),
        (pathlib.PurePosixPath("/a/b"), "PurePosixPath('/a/b')"),
        (uuid.UUID(int=5), "UUID('00000000-0000-0000-0000-000000000005')"),
        (re.compile("a+"), "re.compile('a+')"),
        (re.compile("a+", re.IGNORECASE), "re.compile('a+', flags=2)"),
        (collections.deque([1, "b"], maxlen=4), "deque([1, 'b'], maxlen=4)"),
        (array.array("i", [1, 2]), "array('i', [1, 2])"),
        (range(1, 9, 2), "range(1, 9, 2)"),
        (slice(1, None, "x"), "slice(1, None, 'x')"),
        (Colour.RED, "Colour.RED"),
        (Access.READ | Access.WRITE, "Access.READ|WRITE"),
        (memoryview(b"abc"), "memoryview(b'abc', shape=(3,), format='B')"),
    ],
)
def test_a_value_that_the_text_says_all_about(value: object, text: str) -> None:
    assert told(value) == (text, True)


def test_a_time_zone_of_the_library_is_told_in_full() -> None:
    moment = datetime.datetime(2026, 1, 2, tzinfo=zoneinfo.ZoneInfo("UTC"))
    assert told(moment) == (repr(moment), True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (collections.deque(range(20)), "deque([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, …4 more])"),  # noqa: E501
        (collections.deque([Loud()]), "deque([<Loud>])"),
        (slice(Loud(), None), "slice(<Loud>, None, None)"),
        (datetime.datetime(2026, 1, 2, tzinfo=Zone()), "datetime.datetime(2026, 1, 2, 0, 0) in <Zone>"),  # noqa: E501
        (memoryview(b"a" * 100), f"memoryview(b'{'a' * 80}', shape=(100,), format='B')"),
        (fractions.Fraction(2**400, 1), "Fraction(<int of 401 bits>, 1)"),
    ],
)  # fmt: skip
def test_a_value_of_which_something_is_left_out_says_so(value: object, text: str) -> None:
    assert told(value) == (text, False)


def test_a_subclass_is_not_told_by_the_summary_of_its_base() -> None:
    class Money(decimal.Decimal):
        pass

    assert Summaries().find(Money) is None


def test_a_long_text_is_cut_and_no_longer_complete() -> None:
    class Long:
        pass

    registry = Summaries()
    registry.register(Long, lambda _: ("x" * 1000, True))
    assert registry[Long](Long()) == ("x" * LONGEST, False)


def test_a_summary_that_breaks_its_contract_raises() -> None:
    class Odd:
        pass

    registry = Summaries()
    registry.register(Odd, lambda _: ("text", 1))  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match="a summary is a text"):
        registry[Odd](Odd())


def test_types_are_told_apart_without_asking_them() -> None:
    class Meta(type):
        def __hash__(cls) -> int:
            raise AssertionError("code of the program was run")

        def __eq__(cls, other: object) -> bool:
            raise AssertionError("code of the program was run")

    class Odd(metaclass=Meta):
        pass

    assert Summaries().find(Odd) is None


SOURCE = """
class Point:
    __slots__ = ()
def f(p): return p
def go(p): return f(p)
go(Point())
"""


def test_the_summary_of_a_type_of_the_program_is_recorded(
    run: Callable[..., Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SUMMARIES, "_known", dict(SUMMARIES._known))
    source = "register(Point, lambda p: ('a point', True))\n"
    lines = SOURCE.replace("def f(p)", source + "def f(p)")
    node = run(lines, register=whence.register_summary)
    assert node.find("f").arguments == {"p": "a point"}


def test_a_summary_that_raises_leaves_the_type(
    run: Callable[..., Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SUMMARIES, "_known", dict(SUMMARIES._known))
    lines = SOURCE.replace("def f(p)", "register(Point, lambda p: 1 / 0)\ndef f(p)")
    node = run(lines, register=whence.register_summary)
    assert "Point" in node.find("f").arguments["p"]
    assert node.find("f").outcome.startswith("→")


def test_only_a_class_and_a_function_can_be_registered() -> None:
    with pytest.raises(TypeError, match="a class and a function"):
        whence.register_summary("int", str)  # type: ignore[arg-type]


# --- numpy and pandas ----------------------------------------------------------------------------


def test_numpy_arrays_and_numbers() -> None:
    numpy: Any = pytest.importorskip("numpy")
    kind = numpy.dtype("int64").str
    assert told(numpy.arange(3)) == (f"array([0, 1, 2], dtype={kind!r})", True)
    square = numpy.zeros((2, 2))
    text = "array([0.0, 0.0, 0.0, 0.0], shape=(2, 2), dtype='<f8')"
    assert told(square) == (text, True)
    long, complete = told(numpy.arange(1000))
    ends = "last=[998, 999], min=0, max=999"
    assert long.endswith(f"15, …984 more], {ends}, dtype={kind!r})")
    assert not complete
    assert told(numpy.float64(1.5)) == ("float64(1.5)", True)
    assert told(numpy.array([Loud()], dtype=object)) == ("array([<Loud>], dtype='|O')", False)
    assert told(numpy.array(["2026-01-02"], dtype="M8[D]"))[0].startswith("array(['2026-01-02']")
    days = numpy.array(["2024-01-30", "2024-02-01"], dtype="datetime64[us]")
    assert told(days) == ("array(['2024-01-30', '2024-02-01'], dtype='<M8[us]')", True)
    later = days + numpy.timedelta64(1, "s")
    assert "'2024-01-30T00:00:01.000000'" in told(later)[0]
    records = numpy.zeros(2, dtype=[("a", "i4")])
    assert told(records)[1] is False


def test_the_cost_of_a_large_array_is_that_of_its_head() -> None:
    numpy: Any = pytest.importorskip("numpy")
    huge = numpy.broadcast_to(numpy.uint8(7), (2**40,))  # a copy of which would not fit
    text, complete = told(huge)
    assert text.startswith("array([7, 7")
    assert not complete


def test_pandas_frames_series_and_their_like() -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    text = "DataFrame(2×2; 'a': int64 [1, 2]; 'b': float64 [0.5, 1.5])"
    assert told(frame) == (text, True)
    assert told(frame.set_index("a"))[1] is False
    words = pandas.DataFrame({"w": pandas.array(["x", "y"], dtype="string")})
    assert told(words) == ("DataFrame(2×1; 'w': string ['x', 'y'])", True)
    assert told(pandas.Series([1, 2], name="s")) == ("Series([1, 2], name='s', dtype=int64)", True)
    assert told(pandas.Series(range(100)))[1] is False
    assert told(pandas.Timestamp("2026-01-02")) == ("Timestamp('2026-01-02 00:00:00')", True)


def test_a_long_pattern_is_cut_unless_values_are_whole() -> None:
    pattern = re.compile("a" * 500)
    summary = Summaries()[re.Pattern]
    assert summary(pattern) == (f"re.compile('{'a' * 80}'…)", False)
    assert summary(pattern, 10_000) == (f"re.compile('{'a' * 500}')", True)
