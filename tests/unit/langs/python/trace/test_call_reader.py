import pytest

from whence.errors import CannotExpand, WhenceError
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.langs.python.trace.recorded_effects import UNKNOWN
from whence.model.call import Binding, Effect, Location, OutcomeKind, expand_shared
from whence.model.value import atom, show
from whence.tree.codec import decode_call, encode_call


def caller(a, b):
    return sorted(a, key=b)


def place_of_call(code):
    """A place in the code that stands on its second line, and where that is in the source."""
    for unit, (line, _, column, _) in enumerate(code.co_positions()):
        if line == code.co_firstlineno + 1 and column is not None:
            return unit + 1, line, column + 1
    raise AssertionError


def test_a_call_has_its_arguments_by_name(maker, encode):
    maker.call(maker.code("f", ["a", "b"]), encode["whole"](1), encode["text"]("x"))
    call = maker.open().call(1)
    assert call.arguments == (Binding("a", atom("1")), Binding("b", atom("'x'")))


def test_the_site_is_where_the_caller_stood(maker):
    code = caller.__code__
    place, line, column = place_of_call(code)
    outer = maker.code("caller", line_table=code.co_linetable, line=code.co_firstlineno)
    maker.call(outer)
    maker.call(maker.code("f"), site=place)
    assert maker.open().call(2).site == Location("/x/run.py", line, column)


def test_an_exception_has_the_place_where_it_left(maker):
    code = caller.__code__
    place, line, column = place_of_call(code)
    number = maker.type("ValueError", "builtins")
    maker.call(maker.code("f", line_table=code.co_linetable, line=code.co_firstlineno))
    maker.of(f.RAISE, 1, place, value=bytes([f.EXCEPTION, number, f.TUPLE, 0, 0, 0, 0]))
    outcome = maker.open().call(1).outcome
    assert outcome.kind is OutcomeKind.RAISED
    assert show(outcome.value) == "ValueError()"
    assert outcome.location == Location("/x/run.py", line, column)


def test_a_result_that_is_an_input_is_the_input_as_it_is_then(maker, encode):
    maker.call(maker.code("f", ["xs"]), encode["numbers"](1))
    maker.of(f.CHANGED, 1, 0, value=encode["numbers"](1, 2))
    maker.of(f.RETURN, 1, value=bytes([f.INPUT, 0]))
    call = expand_shared(maker.open().call(1))
    assert call.outcome.value is not None
    assert show(call.outcome.value) == "[1, 2]"
    assert show(call.arguments[0].value) == "[1]"


def test_an_input_given_twice_is_shown_twice(maker, encode):
    maker.call(maker.code("f", ["a", "b"]), encode["numbers"](1), bytes([f.INPUT, 0]))
    call = expand_shared(maker.open().call(1))
    assert [show(each.value) for each in call.arguments] == ["[1]", "[1]"]


def test_equal_values_are_read_through_references(maker, encode):
    code = maker.code("f", ["a"])
    value = encode["numbers"](*range(20))
    maker.call(code, value)
    maker.flush()
    maker.call(code, value)
    maker.of(f.RETURN, 2, value=value)
    assert len(maker.out) < 20
    tree = maker.open()
    assert tree.call(2).arguments == tree.call(1).arguments
    assert tree.call(2).outcome.value == tree.call(1).arguments[0].value


def test_what_a_call_changed_is_an_effect(maker, encode):
    maker.call(maker.code("f", ["xs"]), encode["numbers"](1, 2))
    maker.of(f.CHANGED, 1, 0, value=encode["numbers"](1, 3))
    maker.of(f.RETURN, 1, value=bytes([f.NONE]))
    assert maker.open().call(1).effects == (Effect("xs[1]", atom("2"), atom("3")),)


def test_a_change_that_is_not_known_is_said(maker, encode):
    maker.call(maker.code("f", ["x"]), encode["whole"](1))
    maker.of(f.LOST, 1, 0)
    maker.of(f.RETURN, 1, value=bytes([f.NONE]))
    assert maker.open().call(1).effects == (Effect("x", atom("1"), UNKNOWN),)


def test_free_variables_and_globals_are_read(maker, encode):
    code = maker.code("f", [], ["free"], ["LIMIT", "OTHER"])
    maker.set("LIMIT", encode["whole"](7))
    maker.call(code, encode["whole"](1))
    reads = maker.open().call(1).reads
    assert reads == (Binding("free", atom("1")), Binding("LIMIT", atom("7")))


def test_a_free_variable_without_a_value_is_not_read(maker):
    maker.call(maker.code("f", [], ["free"]), bytes([f.UNBOUND]))
    assert maker.open().call(1).reads == ()


def test_a_global_that_changed_during_a_call_is_its_effect_and_its_callers(maker, encode):
    code = maker.code("f", variables=["LIMIT"])
    maker.set("LIMIT", encode["whole"](1))
    for _ in range(2):
        maker.call(code)
    maker.set("LIMIT", encode["whole"](2))
    maker.of(f.RETURN, 2, value=bytes([f.NONE]))
    maker.of(f.RETURN, 1, value=bytes([f.NONE]))
    maker.call(code, parent=0)
    tree = maker.open()
    changed = (Effect("LIMIT", atom("1"), atom("2")),)
    assert [tree.call(number).effects for number in (1, 2, 3)] == [changed, changed, ()]
    assert tree.call(3).reads == (Binding("LIMIT", atom("2")),)


def generator(maker, encode):
    return maker.call(maker.code("g", ["xs"], flags=f.GENERATOR), encode["numbers"](1))


def test_a_generator_shows_what_it_yielded_and_how_it_ended(maker, encode):
    call = generator(maker, encode)
    for number in (5, 6):
        maker.resume(call)
        maker.of(f.YIELD, call, value=encode["whole"](number))
    maker.resume(call)
    maker.of(f.RETURN, call, value=bytes([f.NONE]))
    assert maker.open().call(1).right() == "yielded 5, 6, then returned None"


@pytest.mark.parametrize("closed", [True, False])
def test_a_generator_that_was_left_suspended_says_so(maker, encode, closed):
    call = generator(maker, encode)
    maker.resume(call)
    maker.of(f.YIELD, call, value=encode["whole"](5))
    if closed:
        maker.of(f.CLOSED, call)
    tree = maker.open()
    assert tree.call(1).right() == "yielded 5, and was left there"
    assert tree.columns.outcome[1] == OutcomeKind.YIELDED


def test_a_generator_that_was_running_did_not_end(maker, encode):
    maker.resume(generator(maker, encode))
    assert maker.open().call(1).outcome.kind is OutcomeKind.NOT_TERMINATED


def test_a_generator_that_yielded_nothing_or_was_closed_reads_as_such(maker, encode):
    code = maker.code("make", flags=f.GENERATOR)
    closing = maker.type("GeneratorExit", "builtins")
    empty, closed = maker.call(code), maker.call(code)
    maker.resume(empty)
    maker.of(f.RETURN, empty, value=bytes([f.NONE]))
    maker.resume(closed)
    maker.of(f.YIELD, closed, value=encode["whole"](5))
    maker.resume(closed)
    maker.of(f.RAISE, closed, 0, value=bytes([f.EXCEPTION, closing, f.TUPLE, 0, 0, 0, 0]))
    tree = maker.open()
    assert tree.call(1).right() == "yielded nothing"
    assert tree.call(2).right() == "yielded 5, and was closed there"
    assert (
        decode_call(encode_call(tree.call(1)), *_names(tree.call(1))).right() == "yielded nothing"
    )


def _names(call):
    return call.function, call.rule


def test_a_suspended_coroutine_did_not_end_and_yielded_nothing(maker, encode):
    call = maker.call(maker.code("c", flags=f.COROUTINE))
    maker.resume(call)
    maker.of(f.YIELD, call, value=encode["whole"](5))
    outcome = maker.open().call(1).outcome
    assert (outcome.kind, outcome.yielded) == (OutcomeKind.NOT_TERMINATED, ())


def test_what_others_changed_while_it_was_suspended_is_read_not_changed(maker, encode):
    call = generator(maker, encode)
    maker.of(f.CHANGED, call, 0, value=encode["numbers"](2))
    maker.resume(call)
    maker.of(f.CHANGED, call, 0, value=encode["numbers"](3))
    maker.of(f.YIELD, call, value=encode["whole"](5))
    found = maker.open().call(1)
    assert [(each.name, show(each.value)) for each in found.reads] == [("xs(resumed)", "[2]")]
    assert found.effects == (Effect("xs[0]", atom("2"), atom("3")),)


def test_changes_of_several_steps_are_one_effect(maker, encode):
    call = generator(maker, encode)
    for number in (2, 3):
        maker.resume(call)
        maker.of(f.CHANGED, call, 0, value=encode["numbers"](number))
        maker.of(f.YIELD, call, value=encode["whole"](5))
    assert maker.open().call(1).effects == (Effect("xs[0]", atom("1"), atom("3")),)


def test_what_was_thrown_into_a_generator_is_read(maker, encode):
    call = generator(maker, encode)
    maker.of(f.THROW, call, maker.calls, value=encode["whole"](9))
    assert maker.open().call(1).reads == (Binding("thrown", atom("9")),)


def test_what_was_sent_into_a_generator_has_the_number_of_the_yield_that_gave_it(maker, encode):
    call = generator(maker, encode)
    maker.resume(call)
    for number in (5, 6):
        maker.of(f.YIELD, call, value=encode["whole"](number))
        maker.of(f.SEND, call, maker.calls, value=encode["whole"](number + 10))
    found = maker.open().call(1)
    assert found.reads == (Binding("sent[0]", atom("15")), Binding("sent[1]", atom("16")))
    assert found.outcome.yielded == (atom("5"), atom("6"))


def test_of_endless_yields_only_the_first_are_read(maker, encode, monkeypatch):
    monkeypatch.setattr("whence.langs.python.trace.call_reader.MOST_YIELDED", 2)
    call = generator(maker, encode)
    for number in range(5):
        maker.resume(call)
        maker.of(f.YIELD, call, value=encode["whole"](number))
    yielded = maker.open().call(1).outcome.yielded
    assert [show(each) for each in yielded] == ["0", "1", "…3 more"]


def test_output_belongs_to_the_call_that_wrote(maker):
    code = maker.code("f")
    maker.call(code)
    maker.call(code)
    w.add_output(maker.out, 1, 1, "inner\n")
    w.add_output(maker.out, 2, 2, "outer\n")
    w.add_output(maker.out, 3, 1, "run\n")
    tree = maker.open()
    assert [tree.call(number).printed for number in range(3)] == ["run\n", "outer\n", "inner\n"]


def test_a_call_without_values_shows_that_there_were_some(maker):
    maker.code("f", ["a", "b"])
    w.add_record(maker.out, f.BARE_CALL, 1, 0, 0)
    w.add_record(maker.out, f.BARE_RETURN, 1)
    assert maker.open().call(1).equation() == "f(…) → ?"


def test_an_input_that_there_is_not_is_an_error_of_that_call_only(maker):
    code = maker.code("f", ["a"])
    maker.call(code, bytes([f.INPUT, 3]))
    maker.call(code, bytes([f.NONE]))
    tree = maker.open()
    with pytest.raises(WhenceError, match="call 1 cannot be read"):
        tree.call(1)
    assert tree.call(2).arguments == (Binding("a", atom("None")),)


def test_calls_that_were_not_recorded_are_not_to_be_had(maker):
    maker.call(maker.code("f"))
    maker.of(f.SKIPPED, 1, 7)
    tree = maker.open()
    assert tree.columns.implicit[1]
    with pytest.raises(CannotExpand, match="higher bounds"):
        tree.expand(1, 3)
