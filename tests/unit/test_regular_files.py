"""Names that lead to devices, FIFOs and huge files: nothing is read without a bound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whence.errors import WhenceError
from whence.langs.python.oracles.contracts import declares
from whence.langs.python.source.code_digest import digests_of
from whence.langs.python.source.source_parsing import parse_file, read_source
from whence.regular_files import read_regular_file
from whence.store.answer_file import AnswerFile
from whence.tree.source_files import SourceFiles


@pytest.fixture
def endless(tmp_path: Path) -> list[str]:
    """Names that nobody may wait for."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    return ["/dev/zero", str(tmp_path / "fifo"), str(tmp_path / "link"), "nul\0name", "\ud800"]


def test_only_regular_files_are_read(endless: list[str], tmp_path: Path) -> None:
    for name in [*endless, str(tmp_path)]:
        with pytest.raises(OSError, match=r"regular|name"):
            read_regular_file(name)


def test_no_more_than_the_bound_is_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_regular_file(file, 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_regular_file(file, 4)


def test_source_files_of_a_trace_may_be_anything(endless: list[str]) -> None:
    for name in endless:
        assert read_source(name) is None
        assert parse_file(name) is None
        assert digests_of(name) == {}
        assert not declares(name)
        with pytest.raises(WhenceError):
            SourceFiles().read(name)


def test_remembered_answers_that_never_end_are_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.symlink_to("/dev/zero")
    with pytest.raises(WhenceError, match="cannot be read"):
        AnswerFile(path).all()
