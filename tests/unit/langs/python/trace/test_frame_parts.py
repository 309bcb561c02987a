from __future__ import annotations

import pytest

from whence.langs.python.trace.summary_text import frame_parts
from whence.langs.python.trace.trace_tables import TypeEntry
from whence.model.value import Kind, Value, show

FRAME = TypeEntry("pandas.core.frame", "DataFrame", 0)


def shown(text: str) -> str | None:
    columns = frame_parts(FRAME, text)
    return None if columns is None else show(Value(Kind.OBJECT, "DataFrame", *map_parts(columns)))


def map_parts(
    columns: tuple[list[tuple[str, Value]], int],
) -> tuple[tuple[tuple[str, Value], ...], int]:
    return tuple(columns[0]), columns[1]


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        (
            "DataFrame(2×2; 'a': int64 [1, 2]; 'b; c': object ['x, y', \"it's]\"])",
            "DataFrame({'a': [1, 2], 'b; c': ['x, y', \"it's]\"]})",
        ),
        (
            "DataFrame(9×3; index: object ['r', …8 more]; 'p': float64 [nan, …8 more]; …2 more)",
            "DataFrame(index=['r', …8 more], 'p': [nan, …8 more], …2 more)",
        ),
        (
            "DataFrame(1×1; 'd': datetime64[ns] ['2026-01-02'])",
            "DataFrame({'d': datetime64[ns]('2026-01-02')})",
        ),
        ("DataFrame(1×1; 'd': category ['x'])", "DataFrame({'d': category('x')})"),
        ("DataFrame(0×1; 'a': int64 [])", "DataFrame({'a': []})"),
        ("DataFrame(2×2; 'a': int64 [1, 2]; 'b': flo", None),
        ("Series([1, 2], name='s', dtype=int64)", None),
    ],
)
def test_the_text_of_a_frame_is_taken_apart(text: str, frame: str | None) -> None:
    assert shown(text) == frame


def test_the_same_text_of_another_type_is_left_alone() -> None:
    other = TypeEntry("shop", "DataFrame", 1)
    assert frame_parts(other, "DataFrame(1×1; 'a': int64 [1])") is None
