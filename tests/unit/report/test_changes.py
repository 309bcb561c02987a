from typing import Any

import pytest

from whence.model.value import FULL, Kind, Limits, Value, atom
from whence.report.changes import changes
from whence.tree.codec import decode_value


def found(before: Any, after: Any) -> list[str]:
    old, new = (None if value is None else decode_value(value) for value in (before, after))
    return ["".join(change.steps) for change in changes(old, new)]


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        (1, 1, []),
        (1, 2, [""]),
        (None, 2, [""]),
        (1, None, [""]),
        ([1, 2], [1, 3], ["[1]"]),
        ([1, 2], [1], ["[1]"]),
        ([1], [1, 2, 3], ["[1]", "[2]"]),
        ([[1, 2], [3]], [[1, 2], [4]], ["[1][0]"]),
        ([1], {"tuple": [1]}, [""]),
        ([], [1], [""]),
        ({"list": [1], "more": 2}, {"list": [1], "more": 3}, [""]),
        ({"text": "a", "id": 1}, {"text": "a", "id": 2}, []),
        ({"same": 1}, {"same": 2}, [""]),
        ({"dict": [["'a'", 1]]}, {"dict": [["'a'", 2], ["'b'", 1]]}, ["['a']", "['b']"]),
        ({"dict": [["'a'", 1], ["'b'", 2]]}, {"dict": [["'b'", 2], ["'a'", 1]]}, [""]),
        ({"dict": [["'a'", 1], ["'b'", 2]]}, {"dict": [["'b'", 3], ["'a'", 1]]}, ["['b']", ""]),
    ],
)
def test_the_smallest_parts_that_differ_are_found(
    before: Any, after: Any, paths: list[str]
) -> None:
    assert found(before, after) == paths


def test_what_differs_only_beyond_what_was_recorded_is_said_so() -> None:
    before = decode_value({"object": "Stack", "fields": {"a": 1, "b": 2}, "more": 16})
    after = decode_value({"object": "Stack", "fields": {"a": 1, "b": 3}, "more": 17})
    seen, unseen = changes(before, after)
    assert seen.words("self", FULL) == "changed self.b: 2 → 3"
    assert unseen.words("self", FULL) == (
        "changed self in a part that was not recorded (…16 more → …17 more)"
    )
    assert unseen.short("self", FULL) == (
        "self, in a part that was not recorded: …16 more → …17 more"
    )
    (moved,) = changes(
        decode_value({"dict": [["'a'", 1], ["'b'", 2]], "more": 2}),
        decode_value({"dict": [["'b'", 2], ["'c'", 3]], "more": 1}),
    )
    assert not moved.steps, "'c' may have been there before"


def test_a_dict_that_only_has_another_order_is_said_to_be_reordered() -> None:
    before = decode_value([{"dict": [["'a'", 1], ["'b'", 2]]}])
    after = decode_value([{"dict": [["'b'", 2], ["'a'", 1]]}])
    (change,) = changes(before, after)
    assert change.words("d", FULL) == "reordered d[0]: {'a': 1, 'b': 2} → {'b': 2, 'a': 1}"
    assert change.short("d", FULL) == "d[0], reordered: {'a': 1, 'b': 2} → {'b': 2, 'a': 1}"


def test_a_key_that_may_have_been_there_before_is_not_said_to_be_new() -> None:
    before = decode_value({"dict": [["'a'", 1], ["'b'", 2]], "more": 3})
    after = decode_value({"dict": [["'b'", 2], ["'c'", 3]], "more": 3})
    (change,) = changes(before, after)
    assert change.words("d", FULL) == (
        "changed d: {'a': 1, 'b': 2, …3 more} → {'b': 2, 'c': 3, …3 more}"
    )


def test_what_nobody_saw_is_not_said_to_have_changed() -> None:
    (change,) = changes(atom("[]"), atom("<not known: the name was rebound>"))
    assert change.words("xs", FULL) == "may have changed xs: the name was rebound"
    assert change.short("xs", FULL) == "perhaps xs: the name was rebound"


def test_a_reference_that_only_has_another_number_is_no_change() -> None:
    def ring(number: int, key: str = "'a'") -> dict[str, Any]:
        link = {"object": "Link", "fields": {"key": key, "prev": {"same": number}}}
        root = {"object": "Link", "fields": {"next": link}, "id": number}
        return {"object": "Cache", "fields": {"root": root, "first": {"same": number}}}

    assert found(ring(1), ring(5)) == []
    assert found(ring(1), ring(5, "'b'")) == [".root.next.key"]


def test_a_reference_to_something_else_is_a_change() -> None:
    def pair(number: int) -> list[Any]:
        return [{"list": [1], "id": 1}, {"list": [1], "id": 2}, {"same": number}]

    assert found(pair(1), pair(2)) == ["[2]"]


def test_a_set_that_was_cut_off_at_another_place_did_not_change() -> None:
    before, after = {"set": [1, 2, 3], "more": 5}, {"set": [2, 3, 4], "more": 5}
    assert found(before, after) == []
    (change,) = changes(decode_value(before), decode_value({**after, "more": 6}))
    assert change.is_unseen()
    assert found({"set": [1, 2]}, after) == ["", ""], "3 and 4 are new, for all was known before"


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ([1, 2, 3, 4, 5], [2, 3, 4, 5], ["[0]"]),
        ([1, 2, 3, 4, 5], [1, 3, 9, 5], ["[1]", "[2]"]),
        ([1, 2, 3, 4], [2, 3, 4, 1], ["[0]", "[3]"]),
        ({"list": [1, 2, 3], "more": 4}, {"list": [2, 3, 4], "more": 3}, ["[0]"]),
        ({"list": [2, 3, 4], "more": 3}, {"list": [1, 2, 3], "more": 4}, ["[0]"]),
    ],
)
def test_an_item_taken_out_or_put_in_leaves_the_others_unchanged(
    before: Any, after: Any, paths: list[str]
) -> None:
    assert found(before, after) == paths


def test_a_value_whose_parts_were_not_recorded_is_not_said_to_have_changed() -> None:
    link = {"object": "Link", "fields": {"key": 1, "next": 2}}
    assert found([link], [{"object": "Link", "fields": {}, "more": 2}]) == []
    assert found([link], [{"object": "Link", "fields": {}, "more": 3}]) == ["[0]"]
    assert found([link], [{"object": "Node", "fields": {}, "more": 2}]) == ["[0]"]


def library_object(count: str, brief: str = "<Session>") -> Value:
    return Value(Kind.OBJECT, "Session", ((".count", atom(count)),), brief=brief)


def test_a_change_in_an_object_of_a_library_is_one_change_of_its_inside() -> None:
    (change,) = changes(library_object("1"), library_object("2"))
    assert change.steps == ()
    assert change.is_inside()
    assert change.words("s", Limits()) == "changed the inside of s"
    assert not list(changes(library_object("1"), library_object("1")))
    (shown,) = changes(library_object("1", "<Response 200>"), library_object("2", "<Response 404>"))
    assert not shown.is_inside()
    assert shown.words("r", Limits()) == "changed r: <Response 200> → <Response 404>"
