from whence.langs.python.trace.recorded_effects import MOST_PARTS, effects_on
from whence.model.call import Effect
from whence.model.value import Kind, Value, atom


def listed(*items, omitted=0, identity=None):
    values = (item if isinstance(item, Value) else atom(str(item)) for item in items)
    parts = tuple((f"[{number}]", value) for number, value in enumerate(values))
    return Value(Kind.LIST, "", parts, omitted, identity)


def box(**attributes):
    parts = tuple((f".{name}", value) for name, value in attributes.items())
    return Value(Kind.OBJECT, "Box", parts)


def mapping(omitted=0, **entries):
    parts = tuple((f"[{name!r}]", atom(str(value))) for name, value in entries.items())
    return Value(Kind.DICT, "", parts, omitted)


def targets(effects):
    return [effect.target for effect in effects]


def test_only_the_parts_that_differ_are_effects():
    before = box(items=listed(1, 2), total=atom("3"))
    after = box(items=listed(1, 5), total=atom("3"))
    assert effects_on("self", before, after) == [Effect("self.items[1]", atom("2"), atom("5"))]


def test_a_part_that_came_or_went_has_one_side_only():
    assert effects_on("xs", listed(1), listed(1, 2)) == [Effect("xs[1]", None, atom("2"))]
    assert effects_on("xs", listed(1, 2), listed(1)) == [Effect("xs[1]", atom("2"), None)]


def test_the_nearest_parts_come_first():
    before = box(deep=listed(listed(1)), near=atom("1"))
    after = box(deep=listed(listed(2)), near=atom("2"))
    assert targets(effects_on("self", before, after)) == ["self.near", "self.deep[0][0]"]


def test_many_differences_are_one_of_the_whole():
    count = MOST_PARTS + 1
    before, after = listed(*range(count)), listed(*range(1, count + 1))
    assert effects_on("xs", before, after) == [Effect("xs", before, after)]


def test_another_kind_of_value_is_a_change_of_the_whole():
    assert targets(effects_on("x", atom("1"), listed(1))) == ["x"]


def test_sets_have_no_places_so_the_whole_is_shown():
    before = Value(Kind.SET, "", (("[0]", atom("1")),))
    after = Value(Kind.SET, "", (("[0]", atom("2")),))
    assert targets(effects_on("s", before, after)) == ["s"]


def test_a_change_beyond_the_bound_is_shown_by_the_whole():
    before, after = listed(1, omitted=5), listed(1, omitted=6)
    assert effects_on("xs", before, after) == [Effect("xs", before, after)]


def test_another_order_of_keys_is_a_change_of_the_whole_dict():
    before, after = mapping(a=1, b=2), mapping(b=2, a=1)
    assert effects_on("d", before, after) == [Effect("d", before, after)]
    changed_too = mapping(b=3, a=1)
    assert effects_on("d", before, changed_too) == [Effect("d", before, changed_too)]


def test_a_key_that_may_have_been_beyond_the_bound_is_not_a_new_one():
    before, after = mapping(a=1, b=2, omitted=3), mapping(b=2, c=3, omitted=3)
    assert effects_on("d", before, after) == [Effect("d", before, after)]


def test_values_that_share_are_shown_whole():
    shared = listed(1, identity=1)
    before = listed(shared, Value(Kind.SHARED, identity=1), 3)
    after = listed(shared, Value(Kind.SHARED, identity=1), 4)
    assert targets(effects_on("xs", before, after)) == ["xs"]


def test_a_name_that_was_bound_or_deleted_has_one_side_only():
    unbound = atom("<unbound>")
    assert effects_on("x", unbound, atom("1")) == [Effect("x", None, atom("1"))]
    assert effects_on("x", atom("1"), unbound) == [Effect("x", atom("1"), None)]
