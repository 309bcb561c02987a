"""Calls that yielded, printed or changed something very often are read in bounded time."""

import numpy as np
import pytest

from whence.langs.python.trace import call_reader, call_recipes
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.langs.python.trace.call_reader import TOO_OFTEN
from whence.langs.python.trace.call_recipes import CallTooLong, call_recipe
from whence.langs.python.trace.many_records import ManyRecords
from whence.langs.python.trace.trace_format import MalformedTrace
from whence.langs.python.trace.trace_records import TraceRecords
from whence.model.call import Binding, Effect
from whence.model.value import atom, show

MANY = 300
BOUND = 20


@pytest.fixture(autouse=True)
def low_bounds(monkeypatch):
    for module in (call_reader, call_recipes):
        monkeypatch.setattr(module, "MOST_EVENTS", BOUND)
        monkeypatch.setattr(module, "MOST_TEXTS", BOUND)


@pytest.fixture
def reads(monkeypatch):
    """Counts the records that are read one by one."""
    counts = []
    single = TraceRecords.fields

    def counted(*arguments):
        counts.append(1)
        return single(*arguments)

    monkeypatch.setattr(TraceRecords, "fields", counted)
    return counts


def generator(maker, encode):
    return maker.call(maker.code("g", ["xs"], flags=f.GENERATOR), encode["numbers"](1))


def write(maker, call, text, descriptor=f.STANDARD_OUTPUT):
    maker.of(f.OUTPUT, call, descriptor)
    w.add_text(maker.out, text)


def test_of_very_many_yielded_values_the_first_are_read_and_the_rest_counted(maker, encode, reads):
    number = generator(maker, encode)
    for value in range(MANY):
        maker.resume(number)
        maker.of(f.YIELD, number, value=encode["whole"](value))
        if value % 7 == 0:
            maker.flush()
    outcome = maker.open().call(1).outcome
    read = [show(value) for value in outcome.yielded]
    assert read == [*map(str, range(BOUND // 2)), f"…{MANY - BOUND // 2} more"]
    assert len(reads) < 2 * BOUND + 20


def test_an_input_that_changed_too_often_is_one_that_is_not_known(maker, encode):
    number = generator(maker, encode)
    for value in range(MANY):
        maker.resume(number)
        maker.of(f.CHANGED, number, 0, value=encode["numbers"](1, value))
        maker.of(f.YIELD, number, value=encode["whole"](value))
    call = maker.open().call(1)
    assert call.effects == (Effect("xs", call.arguments[0].value, TOO_OFTEN),)


def test_what_others_changed_between_the_later_steps_is_something_that_it_read(maker, encode):
    number = generator(maker, encode)
    for value in range(MANY):
        maker.resume(number)
        maker.of(f.YIELD, number, value=encode["whole"](value))
        if value > BOUND:
            maker.of(f.CHANGED, number, 0, value=encode["numbers"](value))
    call = maker.open().call(1)
    assert call.effects == ()
    assert call.reads == (Binding("xs(resumed)", TOO_OFTEN),)


@pytest.mark.parametrize("own", [True, False])
def test_a_variable_that_changed_in_the_later_steps_is_an_effect_if_it_ran_then(maker, encode, own):
    code = maker.code("g", [], variables=["total"], flags=f.GENERATOR)
    maker.set("total", encode["whole"](0))
    number = maker.call(code)
    for value in range(MANY):
        maker.resume(number)
        if own and value == MANY - 1:
            maker.set("total", encode["whole"](5))
        maker.of(f.YIELD, number, value=encode["whole"](value))
        if not own and value == MANY - 1:
            maker.set("total", encode["whole"](5))
    effects = maker.open().call(1).effects
    assert effects == ((Effect("total", atom("0"), atom("5")),) if own else ())


def test_a_variable_that_changed_in_very_many_steps_is_read_up_to_a_bound(
    maker, encode, reads, monkeypatch
):
    monkeypatch.setattr(call_reader, "MOST_EFFECTS", 3)
    code = maker.code("g", [], variables=["total"], flags=f.GENERATOR)
    number = maker.call(code)
    for value in range(MANY):
        maker.set("total", encode["whole"](-value))
        maker.resume(number)
        maker.set("total", encode["whole"](value + 1))
        maker.of(f.YIELD, number, value=encode["whole"](value))
    assert len(maker.open().call(1).effects) == 3
    assert len(reads) < 100


def test_of_very_many_texts_the_first_are_read_and_the_rest_counted(maker, encode, reads):
    number = maker.call(maker.code("f", ["x"]), encode["whole"](1))
    for place in range(MANY):
        write(maker, number, f"{place} é\n", 1 + place % 2)
        if place % 7 == 0:
            maker.flush()
    maker.of(f.RETURN, number, value=bytes([f.NONE]))
    printed = maker.open().call(1).printed
    lines = [f"{place} é" for place in range(BOUND)]
    assert printed.split("\n") == [*lines, "", f"…{MANY - BOUND} more texts", ""]
    assert len(reads) < 20


def test_a_call_with_very_many_records_has_no_recipe(maker, encode):
    number = maker.call(maker.code("f", ["x"]), encode["whole"](1))
    for _ in range(BOUND):
        write(maker, number, "a\n")
    maker.of(f.RETURN, number, value=bytes([f.NONE]))
    number = maker.call(maker.code("g", ["x"]), encode["whole"](1), parent=0)
    for _ in range(BOUND + 1):
        write(maker, number, "a\n")
    maker.of(f.RETURN, number, value=bytes([f.NONE]))
    tree = maker.open()
    assert call_recipe(tree, 1).printed == ((1, "a\n"),) * BOUND
    with pytest.raises(CallTooLong):
        call_recipe(tree, 2)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\x80" * 12, "more than"),
        (bytes([f.OUTPUT, 0x80]), "breaks off"),
        (bytes([f.OUTPUT, 1, 1, 5, 65]), "breaks off"),
        (bytes([f.OUTPUT, 1, 1, 1, 0xFF]), "UTF-8"),
        (bytes([f.YIELD, 1, 1, 1, 65]), "changed"),
    ],
)
def test_damaged_records_are_refused(data, problem):
    if data[0] == 0x80:
        data = bytes([f.OUTPUT]) + data
    records = ManyRecords(lambda page: data, np.array([0], dtype=np.int64))
    with pytest.raises(MalformedTrace, match=problem):
        list(records.texts())
