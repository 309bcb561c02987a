import os
import tracemalloc

import pytest

from whence.errors import WhenceError
from whence.langs.python.recording_signature import key_folder, sign
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.langs.python.trace.trace_pages import TraceFile
from whence.langs.python.trace.trace_reader import RecordingSummary, open_trace, recording_summary


def refused(path, data):
    path.write_bytes(data)
    with pytest.raises(WhenceError) as problem:
        open_trace(path)
    return str(problem.value)


def test_an_empty_file_is_refused_with_a_cure(tmp_path):
    assert "empty" in refused(tmp_path / "a", b"")


def test_another_file_is_refused_with_a_cure(tmp_path):
    assert "whence record" in refused(tmp_path / "a", b"#!/usr/bin/python\n")


def test_a_newer_version_is_refused_with_a_cure(tmp_path):
    data = bytearray(w.header_bytes({}))
    data[8] = 2
    assert "newer whence" in refused(tmp_path / "a", bytes(data))


@pytest.mark.parametrize("cut", [9, 19, 21])
def test_a_header_that_is_cut_is_damaged(tmp_path, cut):
    assert "header is damaged" in refused(tmp_path / "a", w.header_bytes({"root": "x"})[:cut])


def test_a_header_with_a_flipped_bit_is_damaged(tmp_path):
    data = bytearray(w.header_bytes({"root": "x"}))
    data[-3] ^= 1
    assert "header is damaged" in refused(tmp_path / "a", bytes(data))


def test_a_header_that_claims_gigabytes_is_damaged(tmp_path):
    data = f.HEADER.pack(f.MAGIC, 1, 2**32 - 1, 0)
    assert "header is damaged" in refused(tmp_path / "a", data)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(WhenceError, match="not a regular file"):
        open_trace(tmp_path)
    with pytest.raises(WhenceError, match="cannot be read"):
        open_trace(tmp_path / "nothing")


def test_header_fields_of_the_wrong_kind_are_left_out(tmp_path):
    (tmp_path / "a").write_bytes(w.header_bytes({"root": 3, "command": "x", "pid": "y", "new": 1}))
    header = TraceFile(tmp_path / "a").header
    assert (header.root, header.command, header.pid) == ("", (), None)


def pages(tmp_path, count):
    texts = [bytes([f.NOTE, 1, 65 + number]) for number in range(count)]
    written = [w.page_bytes(each) for each in texts]
    path = tmp_path / "run.whence"
    path.write_bytes(w.header_bytes({}) + b"".join(written))
    return path, len(w.header_bytes({})), [len(each) for each in written]


def summary_of(path) -> RecordingSummary:
    summary = recording_summary(open_trace(path))
    assert summary is not None
    return summary


def test_a_last_page_that_is_cut_short_does_not_count(tmp_path):
    path, _, _ = pages(tmp_path, 3)
    os.truncate(path, path.stat().st_size - 1)
    known = summary_of(path)
    assert known.notes == ("A", "B")
    assert "cut short" in known.why_unread
    assert known.unread > 0


def test_a_damaged_page_ends_the_file_though_good_ones_follow(tmp_path):
    path, start, sizes = pages(tmp_path, 3)
    data = bytearray(path.read_bytes())
    data[start + sizes[0] + f.PAGE.size] ^= 1
    path.write_bytes(data)
    known = summary_of(path)
    assert known.notes == ("A",)
    assert "check sum" in known.why_unread
    assert known.unread == sizes[1] + sizes[2]


def test_a_whole_file_has_nothing_unread(tmp_path):
    path, _, _ = pages(tmp_path, 2)
    known = summary_of(path)
    assert (known.unread, known.why_unread) == (0, "")


def test_decoded_pages_are_kept_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr("whence.langs.python.trace.trace_pages._KEPT_BYTES", 4)
    path, _, _ = pages(tmp_path, 3)
    file = TraceFile(path)
    assert [file.payload(each)[-1:] for each in (0, 1, 2, 0)] == [b"A", b"B", b"C", b"A"]
    assert len(file._kept) == 1


def with_tail(path, at, records, check=None):
    if check is None:
        check = f.HEADER.unpack_from(path.read_bytes())[-1]
    head = f.TAIL.pack(f.TAIL_MAGIC, check, at, len(records), 0)
    (path.parent / f"{path.name}.tail").write_bytes(head + records + b"what was there before")
    return recording_summary(open_trace(path))


def test_records_in_the_tail_follow_those_in_pages(tmp_path):
    path, start, sizes = pages(tmp_path, 2)
    known = with_tail(path, start + sum(sizes), bytes([f.NOTE, 1, 67]))
    assert known.notes == ("A", "B", "C")
    assert (known.unread, known.why_unread) == (0, "")


def test_a_tail_stands_for_the_page_that_was_cut_short(tmp_path):
    path, start, sizes = pages(tmp_path, 2)
    os.truncate(path, path.stat().st_size - 1)
    known = with_tail(path, start + sizes[0], bytes([f.NOTE, 1, 67]))
    assert (known.notes, known.unread) == (("A", "C"), 0)


def test_a_tail_that_is_in_a_page_by_now_does_not_count(tmp_path):
    path, start, sizes = pages(tmp_path, 2)
    assert with_tail(path, start + sizes[0], bytes([f.NOTE, 1, 67])).notes == ("A", "B")


def test_a_tail_of_another_recording_does_not_count(tmp_path):
    path, start, sizes = pages(tmp_path, 2)
    known = with_tail(path, start + sum(sizes), bytes([f.NOTE, 1, 67]), check=1)
    assert known.notes == ("A", "B")


@pytest.mark.parametrize("records", [b"\xff\xff", bytes([f.NOTE, 100, 67]), bytes([f.RETURN, 0])])
def test_a_damaged_tail_does_not_count(tmp_path, records):
    path, start, sizes = pages(tmp_path, 2)
    known = with_tail(path, start + sum(sizes), bytes([f.NOTE, 1, 67]) + records)
    assert known.notes == ("A", "B")


def test_a_tail_takes_no_more_memory_than_it_has_bytes(tmp_path):
    path, start, sizes = pages(tmp_path, 2)
    with_tail(path, start + sum(sizes), bytes([f.NOTE, 1, 67]))
    with (tmp_path / "run.whence.tail").open("r+b") as file:
        file.seek(f.TAIL_LENGTH_AT)
        file.write((f.MAX_PAGE - 1).to_bytes(8, "little"))
    tracemalloc.start()
    TraceFile(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_a_tail_that_is_cut_short_does_not_count(tmp_path):
    path, start, sizes = pages(tmp_path, 2)
    with_tail(path, start + sum(sizes), bytes([f.NOTE, 1, 67]))
    os.truncate(tmp_path / "run.whence.tail", f.TAIL.size + 2)
    assert summary_of(path).notes == ("A", "B")
    os.truncate(tmp_path / "run.whence.tail", 9)
    assert summary_of(path).notes == ("A", "B")


def test_a_nul_in_a_header_is_escaped(tmp_path):
    (tmp_path / "a").write_bytes(w.header_bytes({"cwd": "/x\0y", "command": ["a\0b"]}))
    header = TraceFile(tmp_path / "a").header
    assert header.cwd == "/x\\x00y"
    assert header.command == header.words == ("a\\x00b",)


def test_a_small_file_that_unpacks_to_very_much_is_refused(tmp_path):
    data = w.header_bytes({"root": "x"})
    payload = bytes(2**20)
    for _ in range(40):
        data += w.page_bytes(payload)
    assert "unpack to 41,943,040" in refused(tmp_path / "a", data)
    sign(tmp_path / "a", key_folder())
    assert len(TraceFile(tmp_path / "a")) == 40, "the user's own is read"
    child = tmp_path / "a.d" / "1"
    child.parent.mkdir()
    child.write_bytes(data)
    assert len(TraceFile(child)) == 40, "so is that of a child process"
