"""Laws of trace files: what is written is read back, and no bytes make the reader stumble."""

import random
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_programs import HEADER, Recording, recording

from whence.errors import WhenceError
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.langs.python.trace.native_or_python_scan import (
    HAS_NATIVE,
    NativeTraceScanner,
    TraceScanner,
    decode_page,
)
from whence.langs.python.trace.trace_reader import open_trace, recording_summary
from whence.langs.python.trace.trace_scan import DTYPES, PythonTraceScanner
from whence.testing.laws import check_tree
from whence.tree.column_tree import ColumnTree
from whence.tree.tree_file import open_tree, write_tree

randoms = st.integers(0, 2**32).map(random.Random)
sizes = st.integers(0, 60)


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def opened(folder: Path, data: bytes) -> ColumnTree:
    path = folder / "run.whence"
    path.write_bytes(data)
    return open_trace(path)


def read_all(tree: ColumnTree) -> None:
    recording_summary(tree)
    for position in range(len(tree.columns)):
        with suppress(WhenceError):
            tree.call(position)


def check_calls(made: Recording, tree: ColumnTree) -> None:
    for number, known in enumerate(made.calls):
        if number == 0:
            continue
        position = tree.position(number)
        call = tree.call(position)
        assert call.function.short() == known.code
        assert tree.id(int(tree.columns.parent[position])) == known.parent
        assert call.arguments == made.arguments(known)
        assert call.outcome == made.outcome(known)
        assert call.printed == known.printed
        assert call.effects == made.effects(known)
        assert [each.value for each in call.reads] == [each.value for each in made.reads(known)]


@given(randoms, sizes)
def test_any_recording_is_read_back_as_it_was_made(folder, numbers, steps):
    made = recording(numbers, steps)
    tree = opened(folder, made.file())
    check_tree(tree)
    check_calls(made, tree)


@given(randoms, sizes)
def test_skipped_calls_count_exactly(folder, numbers, steps):
    made = recording(numbers, steps)
    tree = opened(folder, made.file())
    skipped = sum(known.skipped for known in made.calls)
    assert tree.columns.weight[0] == len(made.calls) + skipped
    for number, known in enumerate(made.calls):
        position = tree.position(number)
        below = [n for n, each in enumerate(made.calls) if each.parent == number and n]
        assert bool(tree.columns.implicit[position]) == bool(known.skipped and not below)
        if known.skipped and below:
            area = range(position + 1, tree.columns.end[position])
            last = [each for each in area if tree.columns.parent[each] == position][-1]
            assert tree.functions[tree.columns.function[last]].trusted
            assert tree.columns.own[last] == known.skipped


@given(randoms, sizes, st.data())
def test_a_file_that_is_cut_anywhere_gives_a_prefix_of_its_calls(folder, numbers, steps, data):
    made = recording(numbers, steps)
    whole = made.file()
    header = len(w.header_bytes(HEADER))
    cut = data.draw(st.integers(0, len(whole)))
    try:
        tree = opened(folder, whole[:cut])
    except WhenceError:
        assert cut < header
        return
    assert cut >= header
    pages, size = 0, header
    for page in made.pages:
        size += len(page)
        pages += size <= cut
    # The run itself, and the calls of the pages that are whole.
    expected = max(1, made.flushed[pages])
    ids = [tree.id(position) for position in range(len(tree.columns))]
    fillers = [each for each in ids if tree.functions[_function(tree, each)].trusted]
    assert sorted(set(ids) - set(fillers)) == list(range(expected))
    read_all(tree)
    check_tree(tree)


def _function(tree: ColumnTree, node: int) -> int:
    return int(tree.columns.function[tree.position(node)])


@given(randoms, sizes, st.data())
def test_flipped_bytes_of_a_file_are_an_error_or_a_shorter_tree(folder, numbers, steps, data):
    whole = bytearray(recording(numbers, steps).file())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    with suppress(WhenceError):
        tree = opened(folder, bytes(whole))
        check_columns(tree)
        read_all(tree)


@given(randoms, sizes, st.data())
def test_flipped_bytes_of_records_are_an_error_or_some_tree(folder, numbers, steps, data):
    payload = bytearray(b"".join(payloads(recording(numbers, steps))))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(payload) - 1))
        payload[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    with suppress(WhenceError):
        tree = opened(folder, w.header_bytes(HEADER) + w.page_bytes(payload))
        check_columns(tree)
        read_all(tree)


@given(st.binary(max_size=200))
def test_any_bytes_as_records_are_an_error_or_some_tree(folder, payload):
    with suppress(WhenceError):
        tree = opened(folder, w.header_bytes(HEADER) + w.page_bytes(payload))
        read_all(tree)


@given(st.binary(max_size=200), st.integers(0, 300))
def test_any_bytes_as_an_lz4_block_are_refused_or_give_what_they_claim(block, length):
    with suppress(f.MalformedTrace):
        assert len(f.decode_page(f.LZ4, block, length)) == length


def check_columns(tree: ColumnTree) -> None:
    parent = tree.columns.parent
    assert parent[0] == -1
    assert all(0 <= parent[each] < each for each in range(1, len(parent)))


@given(randoms, sizes)
def test_a_converted_recording_is_the_same_tree(folder, numbers, steps):
    tree = opened(folder, recording(numbers, steps).file())
    write_tree(folder / "tree.jsonl", tree)
    again = open_tree(folder / "tree.jsonl")
    assert len(tree.columns) == len(again.columns)
    for position in range(len(tree.columns)):
        # The lines that a whole program printed are not part of the open format.
        assert replace(tree.call(position), output=()) == again.call(position)
        assert tree.id(position) == again.id(position)
    for name in ("parent", "end", "outcome", "own", "weight", "implicit"):
        assert (getattr(tree.columns, name) == getattr(again.columns, name)).all()


@given(randoms, sizes)
def test_equal_equations_are_those_of_equal_calls(folder, numbers, steps):
    tree = opened(folder, recording(numbers, steps).file())
    seen: dict[int, object] = {}
    for position in range(len(tree.columns)):
        call = tree.call(position)
        judged = (call.function, call.arguments, call.reads, call.outcome, call.effects)
        known = seen.setdefault(int(tree.columns.equation[position]), judged)
        assert known == judged


# --- native and Python ---------------------------------------------------------------------------

needs_c = pytest.mark.skipif(not HAS_NATIVE, reason="whence was built without a compiler")


def scanned(
    scanner: TraceScanner, pages: list[bytes], comparable: bool
) -> dict[str, list[int]] | None:
    try:
        for number, page in enumerate(pages):
            scanner.feed(number, page)
    except f.MalformedTrace:
        return None
    found = scanner.finish(comparable=comparable)
    return {name: getattr(found, name).tolist() for name in DTYPES}


def payloads(made: Recording) -> list[bytes]:
    out = []
    for page in made.pages:
        _, codec, _, length, _ = f.PAGE.unpack(page[: f.PAGE.size])
        out.append(f.decode_page(codec, page[f.PAGE.size :], length))
    return out


@needs_c
@given(randoms, sizes, st.booleans())
def test_both_scanners_find_the_same(numbers, steps, comparable):
    pages = payloads(recording(numbers, steps))
    expected = scanned(PythonTraceScanner(), pages, comparable)
    assert expected is not None
    assert scanned(NativeTraceScanner(), pages, comparable) == expected


@needs_c
@given(randoms, sizes, st.data())
def test_both_scanners_refuse_the_same(numbers, steps, data):
    pages = payloads(recording(numbers, steps))
    broken = bytearray(pages[-1])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(broken)))
        broken[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    pages[-1] = bytes(broken)
    assert scanned(NativeTraceScanner(), pages, True) == scanned(PythonTraceScanner(), pages, True)


@needs_c
@given(st.binary(max_size=60))
def test_both_scanners_refuse_the_same_bytes(payload):
    made = Recording(random.Random(0))
    pages = [bytes(made.out), payload]
    assert scanned(NativeTraceScanner(), pages, True) == scanned(PythonTraceScanner(), pages, True)


@needs_c
@given(st.binary(max_size=100), st.integers(0, 300))
def test_both_unpack_lz4_alike(block, length):
    results: list[bytes | None] = []
    for unpack in (f.decode_page, decode_page):
        try:
            results.append(unpack(f.LZ4, block, length))
        except f.MalformedTrace:
            results.append(None)
    assert results[0] == results[1]
