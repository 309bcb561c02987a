from dataclasses import fields

import numpy as np
import pytest

from whence.errors import WhenceError
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.langs.python.trace.trace_reader import open_trace, recording_summary
from whence.model.call import OutcomeKind
from whence.model.value import show
from whence.testing.laws import check_tree
from whence.tree import tree_index


def names(tree):
    return [function.name for function in tree.functions]


def test_the_run_is_the_root_and_ended_as_the_last_record_says(maker):
    maker.end()
    call = maker.open().call(0)
    assert call.function.name == "run.py"
    assert show(call.outcome.value) == "None"


@pytest.mark.parametrize("how", [f.ENDED, f.BY_EXCEPTION, f.BY_EXIT])
def test_how_the_run_ended_is_told(maker, how):
    w.add_record(maker.out, f.END, how)
    maker.out.append(f.SMALL + 3)
    tree = maker.open()
    expected = OutcomeKind.RAISED if how == f.BY_EXCEPTION else OutcomeKind.RETURNED
    assert tree.columns.outcome[0] == tree.call(0).outcome.kind == expected


def test_a_run_without_an_end_did_not_terminate(maker):
    maker.call(maker.code("f"))
    tree = maker.open()
    assert list(tree.columns.outcome) == [OutcomeKind.NOT_TERMINATED] * 2
    assert "breaks off" in show(tree.call(0).outcome.value)
    summary = recording_summary(tree)
    assert summary is not None
    assert not summary.ended


def test_functions_of_one_name_are_told_apart_by_their_place(maker):
    maker.code("f", line=3)
    maker.code("f", line=8)
    maker.code("<lambda>", ["a"], line=9)
    maker.code("<lambda>", ["b"], line=9)
    maker.code("g")
    assert names(maker.open())[1:] == [
        "run.f (/x/run.py:3)",
        "run.f (/x/run.py:8)",
        "run.<lambda> (/x/run.py:9)",
        "run.<lambda> (/x/run.py:9) #2",
        "run.g",
    ]


def test_equal_code_is_one_function(maker):
    for _ in range(2):
        maker.call(maker.code("f"), parent=0)
    tree = maker.open()
    assert names(tree) == ["run.py", "run.f"]
    assert list(tree.columns.function) == [0, 1, 1]


def test_a_call_is_a_child_of_the_one_that_made_it_whoever_runs_meanwhile(maker):
    plain, generator = maker.code("f"), maker.code("g", flags=f.GENERATOR)
    first = maker.call(plain, parent=0)
    second = maker.call(generator, parent=0)
    maker.resume(second, by=first)
    third = maker.call(plain, parent=first)
    fourth = maker.call(plain, parent=second)
    tree = maker.open()
    check_tree(tree)
    assert [tree.id(position) for position in range(5)] == [0, first, third, second, fourth]


def test_skipped_calls_beside_recorded_ones_get_a_trusted_stand_in_at_the_end(maker):
    code = maker.code("f")
    first = maker.call(code)
    maker.of(f.SKIPPED, first, 4)
    maker.call(code, parent=first)
    maker.of(f.SKIPPED, first, 3)
    tree = maker.open()
    check_tree(tree)
    assert [tree.id(position) for position in range(4)] == [0, 1, 2, 3]
    assert list(tree.columns.own) == [1, 1, 1, 7]
    assert list(tree.columns.implicit) == [0, 0, 0, 1]
    assert tree.functions[tree.columns.function[3]].trusted
    assert "7 calls" in tree.call(3).equation()


def test_skipped_calls_alone_make_a_call_implicit(maker):
    maker.call(maker.code("f"))
    maker.of(f.SKIPPED, 1, 4)
    tree = maker.open()
    assert (tree.columns.own[1], tree.columns.implicit[1], len(tree.columns)) == (5, 1, 2)


def equations(maker):
    return maker.open().columns.equation


def pair(maker, encode, first, second):
    """Two calls of one function that each got and returned one of these."""
    code = maker.code("f", ["a"], variables=["LIMIT"])
    for value in (first, second):
        call = maker.call(code, value, parent=0)
        maker.of(f.RETURN, call, value=value)


def test_equal_calls_have_equal_equations(maker, encode):
    value = encode["numbers"](*range(20))
    pair(maker, encode, value, value)
    found = equations(maker)
    assert found[1] == found[2]


def test_calls_that_differ_have_different_equations(maker, encode):
    pair(maker, encode, encode["whole"](1), encode["whole"](2))
    assert len(np.unique(equations(maker))) == 3


@pytest.mark.parametrize(
    "incomplete",
    [
        bytes([f.LEFT_OUT]),
        bytes([f.LIST, 2, 1, f.NONE]),
        bytes([f.CUT_STRING, 5, 1, 65]),
        bytes([f.OPAQUE, 0]),
        bytes([f.SUMMARY, 0, 0, 1, 65]),
        bytes([f.FUNCTION, 0, 1]),
        bytes([f.LARGE, 0, 100, 1, 1]),
        bytes([f.BYTES, 2, 1, 65]),
    ],
)
def test_calls_of_which_something_is_not_known_equal_no_other(maker, encode, incomplete):
    maker.name("run")
    maker.name("f.<locals>.g")
    maker.type("T")
    pair(maker, encode, incomplete, incomplete)
    assert len(np.unique(equations(maker))) == 3


def test_calls_that_read_another_global_differ(maker, encode):
    code = maker.code("f", variables=["LIMIT"])
    for number in (1, 2):
        maker.set("LIMIT", encode["whole"](number))
        maker.of(f.RETURN, maker.call(code, parent=0), value=bytes([f.NONE]))
    assert len(np.unique(equations(maker))) == 3


def generators(maker, encode, *steps):
    """Generators of one function that went through these records from one yield to another."""
    code = maker.code("g", ["xs"], flags=f.GENERATOR)
    for records in steps:
        call = maker.call(code, encode["numbers"](1), parent=0)
        maker.resume(call)
        maker.of(f.YIELD, call, value=encode["whole"](5))
        for record in records:
            fields = [0] if record == f.CHANGED else [maker.calls]
            value = None if record == f.RESUME else encode["numbers"](2)
            maker.of(record, call, *fields, value=value)
        maker.of(f.RETURN, call, value=bytes([f.NONE]))


def test_generators_that_went_on_alike_have_equal_equations(maker, encode):
    generators(maker, encode, [f.RESUME], [f.RESUME], [f.SEND], [f.SEND])
    found = equations(maker)
    assert (found[1], found[3]) == (found[2], found[4])
    assert found[1] != found[3]


def test_a_change_by_others_is_not_the_generators_own(maker, encode):
    generators(maker, encode, [f.CHANGED, f.RESUME], [f.RESUME, f.CHANGED])
    assert len(np.unique(equations(maker))) == 3


def test_without_full_detail_no_calls_are_known_to_be_equal(maker, encode):
    maker.header["options"] = {"detail": "shallow"}
    pair(maker, encode, encode["whole"](1), encode["whole"](1))
    assert len(np.unique(equations(maker))) == 3


def test_calls_that_have_not_ended_equal_no_other(maker):
    code = maker.code("f")
    maker.call(code)
    maker.call(code)
    assert len(np.unique(equations(maker))) == 3


@pytest.mark.parametrize(
    "records",
    [
        bytes([0xEE]),
        bytes([f.CALL, 1, 0, 0]),
        bytes([f.RETURN, 1, f.NONE]),
        bytes([f.GLOBAL, 0, f.NONE]),
        bytes([f.THREAD, 2]),
        bytes([f.TYPE, 0, 0, 0]),
        bytes([f.END, 4, f.NONE]),
        bytes([f.END, 0, f.NONE, f.END, 0, f.NONE]),
        bytes([f.END, 0, f.REFERENCE, 1]),
        bytes([f.END, 0, f.LIST, 1, 1, f.REFERENCE, 1]),
        bytes([f.END, 0, f.SAME, 1]),
        bytes([f.END, 0, f.LIST, 1, 2, f.NONE, f.NONE]),
        bytes([f.END, 0]) + bytes([f.LIST, 1, 1]) * 200 + bytes([f.NONE]),
        bytes([f.NOTE, 1, 0xFF]),
    ],
)
def test_records_that_make_no_sense_are_an_error(maker, records):
    maker.out += records
    with pytest.raises(WhenceError):
        recording_summary(maker.open())


def test_a_large_trace_is_indexed_and_opens_alike_from_its_index(maker, encode, monkeypatch):
    monkeypatch.setattr(tree_index, "MIN_LINES", 1)
    code = maker.code("f", ["a"], variables=["LIMIT"])
    maker.set("LIMIT", encode["whole"](1))
    call = maker.call(code, encode["numbers"](*range(9)))
    maker.of(f.SKIPPED, call, 3)
    maker.of(f.RETURN, call, value=encode["numbers"](*range(9)))
    w.add_note(maker.out, "a note")
    maker.end()
    first = maker.open()

    def no_scan(*arguments):
        raise AssertionError("scanned again")

    monkeypatch.setattr("whence.langs.python.trace.trace_reader._scanned", no_scan)
    second = open_trace(maker.path)
    check_tree(second)
    assert [first.call(p) for p in range(2)] == [second.call(p) for p in range(2)]
    assert recording_summary(first) == recording_summary(second)


def test_an_index_of_an_earlier_state_is_not_used(maker, encode, monkeypatch):
    monkeypatch.setattr(tree_index, "MIN_LINES", 1)
    code = maker.code("f")
    maker.call(code)
    assert len(maker.open().columns) == 2
    maker.call(code)
    assert len(maker.open().columns) == 3


def test_an_indexed_trace_still_tells_of_its_damage(maker, monkeypatch):
    monkeypatch.setattr(tree_index, "MIN_LINES", 1)
    maker.call(maker.code("f"))
    maker.flush()
    maker.end()
    data = bytearray(maker.bytes())
    data[-1] ^= 1
    maker.path.write_bytes(data)
    first, second = (recording_summary(open_trace(maker.path)) for _ in range(2))
    assert first == second
    assert second is not None
    assert "check sum" in second.why_unread


@pytest.mark.parametrize("is_plain", [True, False])
def test_columns_that_follow_from_others_are_not_in_the_index(
    maker, encode, monkeypatch, tmp_path, is_plain
):
    monkeypatch.setattr(tree_index, "MIN_LINES", 0)
    outer = maker.call(maker.code("f", ["x"]), encode["whole"](1))
    generator = maker.call(maker.code("g", flags=f.GENERATOR), parent=outer)
    inner = maker.call(maker.code("h"), parent=outer)
    maker.of(f.RETURN, inner, value=bytes([f.NONE]))
    if not is_plain:  # calls in an order that is not that of the tree, and skipped ones
        maker.resume(generator)
        maker.call(maker.code("k"), parent=generator)
        maker.of(f.SKIPPED, outer, 7)
    scanned = maker.open()
    files = {path.name for path in (tmp_path / "cache").rglob("*.npy")}
    kept = open_trace(maker.path)
    assert "rule.npy" not in files
    assert ("weight.npy" in files, "details.npy" in files) == (not is_plain, not is_plain)
    for column in fields(scanned.columns):
        one, other = (getattr(tree.columns, column.name) for tree in (scanned, kept))
        assert one.tolist() == other.tolist()
        assert one.dtype == other.dtype
    assert kept.details.tolist() == scanned.details.tolist()
    assert [kept.call(at) for at in range(len(kept.columns))] == [
        scanned.call(at) for at in range(len(kept.columns))
    ]
