from pathlib import Path

import pytest

from whence.tree.lines import (
    MAX_FILE,
    BadLine,
    detail_of,
    line_number,
    offset_of,
    parse,
    read_line,
)


@pytest.mark.parametrize(
    "line", [b'{"id": 1}', b'{"id": 1}\n', b'{"id": 1}\r\n', b'  {"id": 1} \t\n', b'\r{"id": 1}']
)
def test_whitespace_around_an_object_does_not_matter(line: bytes) -> None:
    assert parse(line) == {"id": 1}


@pytest.mark.parametrize("line", [b"\n", b"\r\n", b" \t \n", b""])
def test_a_blank_line_holds_nothing(line: bytes) -> None:
    assert parse(line) is None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id": 1', "not JSON"),
        (b'{"id": 1}x', "something follows"),
        (b'{"id": 1}{"id": 2}\n', "something follows"),
        (b'{"id": 1}\xc2\xa0\n', "something follows"),
        (b"[1, 2]\n", "not an object"),
        (b"12\n", "not an object"),
        (b'{"a": "\xff"}\n', "byte 0xff at column 8 is not UTF-8"),
        (b'\xff\xfe{\x00"\x00', "not UTF-8"),
        (b'{"a": NaN}\n', "NaN is not JSON"),
        (b'{"a": -Infinity}\n', "-Infinity is not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}\n", "too many digits"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "nested too deeply"),
        (b'{"a": "\x00"}\n', "not JSON"),
        (b"\x00\n", "not JSON"),
    ],
)
def test_a_line_that_is_not_one_json_object_is_refused(line: bytes, problem: str) -> None:
    with pytest.raises(BadLine) as caught:
        parse(line)
    assert problem in caught.value.problem


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert parse(rb'{"a": "\ud83d\ude00"}') == {"a": "😀"}


def test_an_unpaired_surrogate_is_spelt_out() -> None:
    found = parse(rb'{"a\udc00": ["x\uD83Dy", "\\ud800"]}')
    assert found == {r"a\udc00": [r"x\ud83dy", r"\ud800"]}


def test_a_line_is_found_again_by_its_detail(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"first\nsecond\nthird")
    with path.open("rb") as file:
        assert read_line(file, detail_of(6, b"second\n")) == b"second\n"
        assert read_line(file, detail_of(13, b"third")) == b"third"


def test_a_line_that_was_changed_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"first\nsecond\n")
    with path.open("rb") as file:
        assert read_line(file, detail_of(6, b"Second\n")) is None
        assert read_line(file, detail_of(99, b"second\n")) is None


def test_a_detail_has_room_for_the_largest_offset() -> None:
    detail = detail_of(MAX_FILE - 1, b"a line")
    assert offset_of(detail) == MAX_FILE - 1
    assert 0 <= detail < 2**63


def test_lines_are_numbered_from_one(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"first\n\nthird\n")
    assert [line_number(path, offset) for offset in (0, 6, 7)] == [1, 2, 3]


def test_a_file_that_is_gone_has_no_line_numbers(tmp_path: Path) -> None:
    assert line_number(tmp_path / "gone", 5) is None
