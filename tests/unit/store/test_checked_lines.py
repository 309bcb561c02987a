from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from whence.store.checked_lines import checked_line, intact_parts, is_checked

RECORDS = st.dictionaries(st.text(max_size=5), st.text(max_size=9) | st.integers(), min_size=1)


@given(RECORDS, st.text(max_size=4))
def test_a_line_is_json_and_is_intact(record: dict[str, object], about: str) -> None:
    record.pop("check", None)
    record["event"] = "x"
    line = checked_line(record, about)
    assert is_checked(line)
    assert line.count(b"\n") == 1
    [part] = intact_parts(line, about)
    assert part + b"\n" == line
    assert {**record, "check": json.loads(part)["check"]} == json.loads(part)


@given(RECORDS, st.data())
def test_a_damaged_line_is_not_intact(record: dict[str, object], data: st.DataObject) -> None:
    line = bytearray(checked_line(record)[:-1])
    place = data.draw(st.integers(0, len(line) - 1))
    line[place] ^= data.draw(st.integers(1, 255))
    assert not list(intact_parts(bytes(line)))


def test_a_line_about_something_else_is_not_intact() -> None:
    assert not list(intact_parts(checked_line({"a": 1}, "this tree"), "that tree"))


def test_two_lines_without_the_end_between_them_are_both_intact() -> None:
    first, second = checked_line({"a": 1}), checked_line({"b": 2})
    parts = list(intact_parts(first[:-1] + b"#" + second))
    assert [json.loads(part).keys() for part in parts] == [{"a", "check"}, {"b", "check"}]
