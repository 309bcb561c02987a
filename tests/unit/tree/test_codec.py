import json
from typing import Any

import pytest

from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Location,
    Outcome,
    OutcomeKind,
    Rule,
)
from whence.model.value import Kind, Value, atom, show
from whence.tree.codec import (
    MalformedRecord,
    decode_call,
    decode_function,
    decode_outcome,
    decode_rule,
    decode_value,
    encode_call,
    encode_function,
    encode_outcome,
    encode_rule,
    encode_value,
    equation_digest,
    outcome_kind,
)

F, R = Function("f"), Rule("f", "f")


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ("'a'", "'a'"),
        (3, "3"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        ([1, [2]], "[1, [2]]"),
        ({"list": [1], "more": 4}, "[1, …4 more]"),
        ({"tuple": [1]}, "(1,)"),
        ({"set": [1, 2]}, "{1, 2}"),
        ({"dict": [["'a'", 1], [[1, 2], 3]]}, "{'a': 1, [1, 2]: 3}"),
        ({"object": "Point", "fields": {"x": 1}}, "Point(x=1)"),
        ({"object": "Empty"}, "Empty()"),
        ({"object": "Stack", "fields": {"[0]": 1, "name": "'s'"}}, "Stack(1, name='s')"),
        ({"term": "s", "args": [{"term": "z"}]}, "s(z())"),
        ({"text": "<socket>", "id": 4}, "<socket>"),
        ({"same": 4}, "<same as #4>"),
    ],
)
def test_a_value_is_shown_as_its_language_writes_it(item: Any, text: str) -> None:
    assert show(decode_value(item)) == text


@pytest.mark.parametrize(
    ("item", "steps"),
    [
        ([5, 6], ["[0]", "[1]"]),
        ({"term": "f", "args": [5, 6], "steps": ["[1]", "[2]"]}, ["[1]", "[2]"]),
        ({"dict": [["'a'", 1], ["'a'", 2], ["'a'", 3]]}, ["['a']", "['a'′]", "['a'′′]"]),
        ({"object": "o", "fields": {"a": 1, "[0]": 2}}, [".a", "[0]"]),
    ],
)
def test_each_part_has_an_address_of_its_own(item: Any, steps: list[str]) -> None:
    assert [step for step, _ in decode_value(item).parts] == steps


def test_a_long_key_is_not_cut_off() -> None:
    key = "k" * 1000
    ((step, _),) = decode_value({"dict": [[key, 1]]}).parts
    assert step == f"[{key}]"


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"colour": "red"},
        {"list": 3},
        {"list": [1], "more": -1},
        {"list": [1], "more": True},
        {"list": [1], "id": "7"},
        {"list": [1], "id": True},
        {"list": [1], "steps": ["[0]", "[1]"]},
        {"list": [1, 2], "steps": ["[0]", "[0]"]},
        {"list": [1], "steps": [0]},
        {"list": [1], "steps": "x"},
        {"dict": {"a": 1}},
        {"dict": [[1]]},
        {"object": 3},
        {"object": "o", "fields": [1]},
        {"term": 3},
        {"term": "f", "args": {}},
        {"text": 3},
        {"same": "7"},
        {"same": None},
        {"same": True},
        float("inf"),
        {1, 2},
    ],
)
def test_a_malformed_value_is_refused(item: Any) -> None:
    with pytest.raises(MalformedRecord):
        decode_value(item)


@pytest.mark.parametrize(
    "value",
    [
        atom("3"),
        Value(Kind.ATOM, "<socket>", identity=3),
        Value(Kind.LIST, "", (("[0]", atom("1")),), omitted=3, identity=0),
        Value(Kind.LIST, "", (("[3]", atom("1")),)),
        Value(Kind.SET, "", (("{0}", atom("1")), ("{1}", atom("2")))),
        Value(Kind.OBJECT, "S", ((".x", atom("1")), ("[0]", atom("2")), ("..y", atom("3")))),
        Value(Kind.DICT, "", (("['a']", atom("1")), ("[(1, 2)]", atom("2")))),
        Value(Kind.TERM, "f", (("[1]", Value(Kind.SHARED, identity=3)),)),
    ],
)
def test_an_encoded_value_is_decoded_equal(value: Value) -> None:
    assert decode_value(json.loads(json.dumps(encode_value(value)))) == value


@pytest.mark.parametrize(
    ("record", "kind", "text"),
    [
        ({}, OutcomeKind.RETURNED, "→ ?"),
        ({"returned": 3}, OutcomeKind.RETURNED, "→ 3"),
        ({"returned": None}, OutcomeKind.RETURNED, "→ null"),
        ({"raised": "Oops"}, OutcomeKind.RAISED, "raised Oops"),
        ({"raised": None}, OutcomeKind.RAISED, "raised"),
        ({"raised": {"error": "Oops", "at": {"file": "a"}}}, OutcomeKind.RAISED, "raised Oops"),
        ({"yielded": [1, 2]}, OutcomeKind.YIELDED, "yielded 1, 2, and was left there"),
        ({"yielded": []}, OutcomeKind.YIELDED, "yielded nothing"),
        ({"yielded": [1], "returned": 2}, OutcomeKind.RETURNED, "yielded 1, then returned 2"),
        ({"yielded": [1], "raised": "E"}, OutcomeKind.RAISED, "yielded 1, raised E"),
        ({"not_terminated": True}, OutcomeKind.NOT_TERMINATED, "did not end"),
        ({"not_terminated": "10 s"}, OutcomeKind.NOT_TERMINATED, "did not end: 10 s"),
        ({"failed": True}, OutcomeKind.FAILED, "failed"),
        ({"yielded": [1], "failed": True}, OutcomeKind.FAILED, "yielded 1, then failed"),
        ({"not_terminated": False}, OutcomeKind.RETURNED, "→ ?"),
    ],
)
def test_an_outcome_is_one_of_four_kinds(
    record: dict[str, Any], kind: OutcomeKind, text: str
) -> None:
    call = decode_call(record, F, R)
    assert outcome_kind(record) is call.outcome.kind is kind
    assert call.right() == text
    assert decode_outcome(encode_outcome(call.outcome)) == call.outcome


def test_a_generator_that_ended_with_something_unknown_did_end() -> None:
    outcome = Outcome(OutcomeKind.RETURNED, None, (atom("1"),))
    assert decode_outcome(encode_outcome(outcome)).kind is OutcomeKind.RETURNED


def test_an_empty_reason_for_not_ending_is_no_reason() -> None:
    outcome = Outcome(OutcomeKind.NOT_TERMINATED, atom(""))
    assert decode_outcome(encode_outcome(outcome)) == Outcome(OutcomeKind.NOT_TERMINATED)


@pytest.mark.parametrize(
    "record",
    [
        {"args": 3},
        {"args": [{}]},
        {"reads": [3]},
        {"yielded": 3},
        {"raised": {"error": 1, "at": 3}},
        {"not_terminated": 3},
        {"effects": {}},
        {"effects": [3]},
        {"effects": [{"before": 3}]},
        {"effects": [{"target": 3}]},
        {"printed": 3},
        {"at": "here"},
        {"at": {"file": "a", "line": 2**40}},
        {"at": {"file": "a", "column": 1.5}},
        {"equation": 3},
    ],
)
def test_a_malformed_call_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(MalformedRecord):
        decode_call(record, F, R)


def test_an_encoded_call_is_decoded_equal() -> None:
    function, rule = Function("m.f", "f", "m"), Rule("m.f.1", "m.f")
    call = Call(
        function,
        rule,
        Outcome(OutcomeKind.RAISED, atom("E()"), (atom("1"),), Location("a.py", 3, 4)),
        (Binding("x", atom("1")), Binding("y", atom("2"))),
        (Binding("LIMIT", atom("9")),),
        (Effect("self", atom("1"), atom("2")), Effect("new", None, atom("3"))),
        "hello\n",
        Location("b.py", 7),
        "f x = 3",
    )
    record = json.loads(json.dumps(encode_call(call)))
    assert decode_call(record, function, rule) == call


@pytest.mark.parametrize(
    ("names", "args"),
    [
        (["x", "y"], {"x": "1", "y": "2"}),
        (["", ""], ["1", "2"]),
        (["", "y"], {"arg1": "1", "y": "2"}),
        (["x", "x"], ["1", "2"]),
        (["arg2", ""], ["1", "2"]),
    ],
)
def test_arguments_keep_the_names_that_marks_know_them_by(names: list[str], args: Any) -> None:
    arguments = tuple(
        Binding(name, atom(text)) for name, text in zip(names, ["1", "2"], strict=True)
    )
    call = Call(F, R, Outcome(OutcomeKind.RETURNED), arguments)
    assert encode_call(call)["args"] == args


def test_definitions_are_decoded_as_they_were_encoded() -> None:
    function = Function("m.f", "f", "m", Location("m.py", 3, 1), trusted=True)
    rule = Rule("m.f.1", "m.f", Location("m.py", 4), "return 3")
    assert decode_function(encode_function(function)) == function
    assert decode_rule(encode_rule(rule)) == rule


def test_a_digest_depends_on_what_is_judged_and_on_nothing_else() -> None:
    record = {"id": 1, "function": "f", "args": {"a": 1, "b": 2}, "returned": 3}
    same = {"function": "f", "returned": 3, "args": {"b": 2, "a": 1}, "id": 2, "at": {}}
    assert equation_digest(record) == equation_digest(same)
    for key in ("function", "args", "returned", "equation", "raised", "printed", "effects"):
        assert equation_digest({**record, key: "other"})[0] != equation_digest(record)[0]
    assert equation_digest({"function": "f", "returned": None}) != equation_digest(
        {"function": "f"}
    )


def test_of_the_numbers_of_values_only_the_pattern_counts() -> None:
    def digest(first: int, second: int, same: int) -> int:
        record = {
            "function": "f",
            "args": {"x": {"list": [1], "id": first}, "y": {"list": [1], "id": second}},
            "returned": {"same": same},
        }
        return equation_digest(record)[0]

    assert digest(7, 9, 7) == digest(100, 3, 100)
    assert digest(7, 9, 7) != digest(7, 9, 9)


def test_what_refers_to_nothing_in_the_record_is_not_the_same_by_chance() -> None:
    def digest(number: int) -> int:
        return equation_digest({"function": "f", "args": [{"same": number}], "returned": 1})[0]

    assert digest(7) != digest(8)


@pytest.mark.parametrize(
    "judged", [{"args": [{"list": [1], "more": 3}], "returned": 1}, {"args": [1]}]
)
def test_a_call_of_which_not_all_is_known_equals_no_other(judged: dict[str, Any]) -> None:
    def digest(node: int) -> int:
        return equation_digest({"id": node, "function": "f", **judged})[0]

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_a_field_called_more_leaves_nothing_out() -> None:
    def digest(node: int) -> int:
        value = {"object": "Page", "fields": {"more": 5}}
        return equation_digest({"id": node, "function": "f", "args": [value], "returned": 1})[0]

    assert digest(1) == digest(2)


def test_a_field_called_id_is_no_number_of_a_value() -> None:
    def digest(number: int) -> int:
        value = {"object": "User", "fields": {"id": number, "same": number}, "id": 5}
        return equation_digest({"function": "f", "args": [value], "returned": 1})[0]

    assert digest(1) != digest(2)
