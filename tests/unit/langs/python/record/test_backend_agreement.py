"""Whatever the program and the values, every backend tells the same."""

from __future__ import annotations

import sys
import textwrap
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded import BACKENDS, record

from whence.langs.python.record.options import Bound, RecordOptions

pytestmark = pytest.mark.skipif(len(BACKENDS) < 2, reason="there is one backend only")

ZOO = """
import array, collections, datetime, decimal, enum, fractions, functools, pathlib, re, types, uuid
def look(x): return x
class Plain: pass
class Slots:
    __slots__ = ("a", "b", "_c")
class Both(Slots): pass
class Private:
    __slots__ = ("__hidden",)
    def __init__(self): self.__hidden = 1
class MyList(list): pass
class MyDict(dict): pass
class MyInt(int): pass
class MyStr(str): pass
class MyFloat(float): pass
class MyTuple(tuple): pass
class MyBytes(bytes): pass
class MySet(set): pass
class MyArray(bytearray): pass
class MyComplex(complex): pass
class SlottedInt(collections.UserList): pass
class Meta(type):
    def __hash__(self): raise RuntimeError("user code was run")
    def __eq__(self, other): raise RuntimeError("user code was run")
    def __getattribute__(self, name): raise RuntimeError("user code was run")
    def __instancecheck__(self, other): raise RuntimeError("user code was run")
class Hostile(metaclass=Meta):
    def __getattribute__(self, name): raise RuntimeError("user code was run")
    def __repr__(self): raise RuntimeError("user code was run")
    def __hash__(self): raise RuntimeError("user code was run")
    def __eq__(self, other): raise RuntimeError("user code was run")
    def __len__(self): raise RuntimeError("user code was run")
    def __iter__(self): raise RuntimeError("user code was run")
class HostileList(list):
    def __getattribute__(self, name): raise RuntimeError("user code was run")
    def __iter__(self): raise RuntimeError("user code was run")
    def __len__(self): raise RuntimeError("user code was run")
    def __getitem__(self, i): raise RuntimeError("user code was run")
class LyingClass:
    @property
    def __class__(self): raise RuntimeError("user code was run")
class Error(Exception):
    def __str__(self): raise RuntimeError("user code was run")
class Colour(enum.Enum):
    RED = 1
class Number(enum.IntEnum):
    ONE = 1
class Flags(enum.Flag):
    A = 1
    B = 2
Point = collections.namedtuple("Point", "x y")
plain = Plain(); plain.b = 1; plain.a = [1, 2]; plain.me = plain
slots = Slots(); slots.b = "b"; slots._c = None
both = Both(); both.a = 1; both.extra = 2
my = MyList([1, 2]); my.note = "x"
error = Error("a", [1]); error.code = 5
hostile = object.__new__(Hostile); object.__setattr__(hostile, "x", [1])
hostile_list = list.__new__(HostileList); list.append(hostile_list, 7)
shared = [1]
ring = {}; ring["ring"] = ring
wide = Plain(); wide.__dict__.update({f"a{i}": i for i in range(50)})
values = [
    None, True, False, 0, 127, 128, -1, 2**62, -2**63, 2**63, -2**200, 10**3000, 1.5, float("nan"),
    -0.0, 1j, "", "text", "é" * 300, "\\ud800", "x" * 1000, b"", b"bytes" * 100, bytearray(b"ab"),
    [], [1, [2, [3, [4, [5]]]]], (), (1, "a"), set(), {1}, frozenset({2}), {}, {"a": [1], 2: {3}},
    list(range(100)), {i: [i] for i in range(100)}, [[j for j in range(20)] for i in range(20)],
    plain, slots, both, Private(), my, MyDict(a=1), MyInt(5), MyInt(2**70), MyStr("s"),
    MyFloat(2.5), MyTuple((1,)), MyBytes(b"x"), MySet({1}), MyArray(b"y"), MyComplex(1j),
    SlottedInt([1]),
    error, ValueError("v"), OSError(2, "no"), hostile, hostile_list, [hostile], LyingClass(),
    Colour.RED, Number.ONE, Flags.A | Flags.B, Point(1, [2]), collections.Counter("aab"),
    collections.OrderedDict(a=1), collections.defaultdict(list, a=[1]), collections.deque([1, 2]),
    collections.ChainMap({}), types.SimpleNamespace(a=1), object(), look, len, [].append, "".join,
    plain.__init__, my.append, Plain, int, Hostile, sys, re.compile("a"), re.match("a", "a"),
    re.compile("a").match, functools.partial(look, 1), lambda: 1, iter([]), (i for i in ()),
    range(3), slice(1), memoryview(b"m"), array.array("i", [1]), decimal.Decimal("1.0"),
    fractions.Fraction(1, 2), datetime.datetime(2020, 1, 1), datetime.date(2020, 1, 1),
    datetime.timedelta(1), pathlib.PurePosixPath("a/b"), uuid.UUID(int=1), [shared, shared], ring,
    wide, NotImplemented, ..., property(look), classmethod(look), type(None), Exception,
    [(), (), ""], {"k": (1, [2])}, [Colour.RED, plain, [Colour.RED]], dict.fromkeys, str.upper,
]
for value in values:
    look(value)
"""


def both(source: str, folder: Path, options: RecordOptions | None = None, **names: Any) -> None:
    told = [record(source, folder, backend, options, **names).text() for backend in BACKENDS]
    first, *others = told
    for other in others:
        assert first == other


BOUNDS = [
    RecordOptions(),
    RecordOptions(first_calls=0),
    RecordOptions(first_bound=Bound(depth=0, width=3, attributes=3, text=5, budget=3)),
    RecordOptions(first_bound=Bound(depth=1, width=2, attributes=1, text=1, budget=2)),
    RecordOptions(first_bound=Bound(depth=3, width=4, attributes=2, text=9, budget=7)),
    RecordOptions(first_bound=Bound(depth=9, width=99, attributes=99, text=999, budget=999)),
    RecordOptions(whole_calls=(1, 10_000)),
]

ROUNDS = """
def look(board): return board
def play(boards):
    for board in boards: yield look(board)
for _ in play([[[1, 2], [3, 4]]] * 30): pass
"""


@pytest.mark.parametrize("early", [0, 7, 40])
def test_the_first_calls_of_a_run_and_of_each_function_have_the_larger_bound(
    tmp_path: Path, early: int
) -> None:
    options = RecordOptions(early_calls=early)
    if sys.version_info >= (3, 12):  # before, the Python backend does not see who made a generator
        both(ROUNDS, tmp_path, options)
    text = record(ROUNDS, tmp_path, BACKENDS[0], options).text()
    # Once as an input, the outcome is a reference; a generator's outcome once more.
    detailed = max(10, early - 1)
    assert text.count("[[1, 2], [3, 4]]") == min(30, detailed) + min(30, 10 + early), text


@pytest.mark.parametrize("options", BOUNDS, ids=range(len(BOUNDS)))
def test_a_zoo_of_values_is_told_alike(tmp_path: Path, options: RecordOptions) -> None:
    from dataclasses import replace

    if options.first_calls:
        options = replace(options, first_calls=10_000)
    both(ZOO, tmp_path, options, sys=sys)


def test_functions_in_c_that_a_call_reads_are_text_and_not_data(tmp_path: Path) -> None:
    program = """
import re
match, size, limit = re.compile("a").match, len, 3
def found(text): return bool(match(text)) and size(text) < limit
found("a")
"""
    both(program, tmp_path, RecordOptions())
    assert "limit" in record(program, tmp_path, BACKENDS[0]).text()
    assert "match" not in record(program, tmp_path, BACKENDS[0]).text()


def test_the_length_of_a_summary_is_bounded_only_unless_values_are_whole(tmp_path: Path) -> None:
    source = "def look(value): return value\nlook(values)"
    values = deque(range(1000))
    for whole, end in (((1, 9), "998, 999])"), (None, "15, …984 more]")):
        options = RecordOptions(whole_calls=whole)
        both(source, tmp_path, options, values=values)
        assert end in record(source, tmp_path, BACKENDS[0], options, values=values).text()


def test_whole_values_of_many_containers_and_of_long_texts_are_told_alike(tmp_path: Path) -> None:
    source = """
        def look(value): return value
        rows = [[n, (n,)] for n in range(700)]
        look(rows + rows[::-1])
        look([letter * 900_000 for letter in "abcdefgh"] + ["é" * 60, "e" * 60, b"b" * 60, 10**400])
    """
    both(textwrap.dedent(source), tmp_path, RecordOptions(whole_calls=(2, 3)))


class Thing:
    def __init__(self, **state: Any) -> None:
        self.__dict__.update(state)


atoms = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**200), 2**200), st.floats(),
    st.complex_numbers(), st.text(max_size=12), st.binary(max_size=12),
    st.builds(bytearray, st.binary(max_size=5)),
)  # fmt: skip
hashable = st.one_of(st.integers(), st.text(max_size=4), st.tuples(st.integers()))
things = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(hashable, inner, max_size=4),
        st.sets(hashable, max_size=4),
        st.dictionaries(st.sampled_from("abc"), inner).map(lambda state: Thing(**state)),
        inner.map(lambda value: [value, value]),
        st.lists(inner, max_size=2).map(lambda args: ValueError(*args)),
    ),
    max_leaves=25,
)
bounds = st.builds(
    Bound, depth=st.integers(0, 5), width=st.integers(0, 6), attributes=st.integers(0, 4),
    text=st.integers(0, 8), budget=st.integers(1, 30),
)  # fmt: skip


@given(st.lists(things, max_size=3), bounds)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_values_and_bounds_are_told_alike(
    tmp_path: Path, values: list[Any], bound: Bound
) -> None:
    source = "def look(*x): return x\nlook(*values)\nfor v in values: look(v)"
    both(source, tmp_path, RecordOptions(first_bound=bound), values=values)
