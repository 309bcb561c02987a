import functools
import itertools
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from whence.langs.python.record.summaries import Summaries
from whence.langs.python.trace.trace_reader import open_trace


class Own:
    """An object none of whose methods may run."""

    def __repr__(self) -> str:
        raise AssertionError("code of the program ran")

    __hash__ = __eq__ = __iter__ = __len__ = __repr__  # type: ignore[assignment]


def is_even(number: int) -> bool:
    return number % 2 == 0


def advanced(iterator: Any) -> Any:
    next(iterator)
    return iterator


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (iter([]), "iter([])"),
        (advanced(iter([1, 2, 3])), "iter([2, 3])"),
        (iter((1, ["a"])), "iter([1, ['a']])"),
        (iter("abc"), "iter('abc')"),
        (advanced(iter("äöü")), "iter('öü')"),
        (iter(b"ab"), "iter(b'ab')"),
        (advanced(iter(range(5))), "iter(range(1, 5))"),
        (iter([Own()]), "iter([<Own>])"),
        (iter(list(range(20))), "iter([" + "".join(f"{n}, " for n in range(16)) + "…4 more])"),
        (map(is_even, [1, 2]), "map(is_even, iter([1, 2]))"),
        (map(len, ["a"]), "map(len, iter(['a']))"),
        (filter(None, ["a", ""]), "filter(None, iter(['a', '']))"),
        (zip([1], "ab", strict=False), "zip(iter([1]), iter('ab'))"),
        (enumerate(["x"], 3), "enumerate(iter(['x']), 3)"),
        (itertools.chain([1], (2, 3)), "chain([1], (2, 3))"),
        (advanced(itertools.chain([1, 5], [2])), "chain(iter([5]), [2])"),
        (itertools.islice([1, 2, 3], 2), "islice(iter([1, 2, 3]))"),
        ({"a": 1}.keys(), "dict_keys(['a'])"),
        ({"a": Own()}.items(), "dict_items([('a', <Own>)])"),
        (functools.partial(print, 3, end={1: Own()}), "partial(print, 3, end={1: <Own>})"),
    ],
)  # fmt: skip
def test_an_iterator_shows_what_it_has_left(value: Any, text: str) -> None:
    summary = Summaries().find(type(value))
    assert summary is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert summary(value) == (text, False)
        assert summary(value) == (text, False)  # it was not moved


def test_iterators_that_hold_each_other_end() -> None:
    holder: list[Iterable[Any]] = []
    holder.append(iter(holder))
    summary = Summaries().find(type(holder[0]))
    assert summary is not None
    text, complete = summary(holder[0])
    assert text.startswith("iter([iter([")
    assert not complete


@pytest.mark.parametrize("backend", ["native", "pure"])
def test_a_result_that_is_an_iterator_can_be_judged(backend: str, tmp_path: Path) -> None:
    source = (
        "from itertools import chain\n"
        "def parts(text):\n    return filter(None, chain(text.split('-'), ['end']))\n"
        "def drop(items):\n    next(items)\n"
        "found = parts('a-b')\ndrop(found)\nprint(list(found))\n"
    )
    (tmp_path / "p.py").write_text(source)
    record = [sys.executable, "-m", "whence", "record", "--backend", backend, "-o", "t.whence"]
    done = subprocess.run(
        [*record, "p.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['b', 'end']\n"
    tree = open_trace(tmp_path / "t.whence")
    parts, drop = tree.call(2), tree.call(3)
    assert parts.outcome.value is not None
    assert parts.outcome.value.text == "filter(None, chain(['a', 'b'], ['end']))"
    (effect,) = drop.effects
    assert effect.after is not None
    assert effect.after.text == "filter(None, chain(iter(['b']), ['end']))"
