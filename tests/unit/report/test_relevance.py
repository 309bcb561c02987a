from whence.model.call import Call, Function, Outcome, OutcomeKind, Rule
from whence.model.value import Kind, Value, atom, show
from whence.report.relevance import without_repeated_names


def point(**fields: int) -> Value:
    return Value(Kind.OBJECT, "P", tuple((f".{k}", atom(str(v))) for k, v in fields.items()))


def listed(*values: Value) -> Value:
    return Value(Kind.LIST, "", tuple((f"[{n}]", value) for n, value in enumerate(values)))


def shown(value: Value) -> str:
    call = Call(Function("m.f"), Rule("m.f", "m.f"), Outcome(OutcomeKind.RETURNED, value))
    outcome = without_repeated_names(call).outcome.value
    assert outcome is not None
    return show(outcome)


def test_the_attributes_of_a_class_are_named_once() -> None:
    assert shown(listed(point(x=1, y=2), point(x=3, y=4))) == "[P(x=1, y=2), P(3, 4)]"


def test_an_object_with_other_attributes_has_its_names() -> None:
    points = listed(point(x=1, y=2), point(x=3, z=4), point(y=5, x=6))
    assert shown(points) == "[P(x=1, y=2), P(x=3, z=4), P(y=5, x=6)]"


def test_the_attributes_of_a_large_object_are_always_named() -> None:
    large = point(a=1, b=2, c=3, d=4, e=5)
    assert shown(listed(large, large)).count("e=5") == 2


def test_an_object_nested_less_deep_than_the_first_one_has_its_names() -> None:
    points = listed(listed(listed(point(x=1, y=2))), point(x=3, y=4))
    assert shown(points) == "[[[P(x=1, y=2)]], P(x=3, y=4)]"
