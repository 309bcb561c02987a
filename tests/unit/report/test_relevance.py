from whence.model.call import Call, Effect, Function, Outcome, OutcomeKind, Rule
from whence.model.value import Kind, Value, atom, show
from whence.report.relevance import without_internals, without_repeated_names


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


def library_object(brief: str, **fields: Value) -> Value:
    return Value(Kind.OBJECT, "S", tuple((f".{k}", v) for k, v in fields.items()), brief=brief)


def user(state: str, name: str) -> Value:
    kept = library_object("", runid=atom(state))
    return Value(Kind.OBJECT, "User", (("._state", kept), (".name", atom(name))))


def effects_of(*effects: Effect) -> tuple[Effect, ...]:
    call = Call(
        Function("m.f"), Rule("m.f", "m.f"), Outcome(OutcomeKind.RETURNED, atom("1")),
        effects=effects,
    )  # fmt: skip
    return without_internals(call).effects


def test_what_a_library_keeps_in_an_object_of_the_program_is_no_effect() -> None:
    assert effects_of(Effect("u", user("1", "'a'"), user("2", "'a'"))) == ()
    kept = library_object("", runid=atom("1")), library_object("", runid=atom("2"))
    assert effects_of(Effect("u._state", *kept)) == ()
    renamed = effects_of(Effect("u", user("1", "'a'"), user("2", "'b'")))
    assert [(show(e.before or atom("")), show(e.after or atom(""))) for e in renamed] == [
        ("User(name='a')", "User(name='b')")
    ]


def test_a_change_that_was_not_recorded_stays_an_effect() -> None:
    unseen = Effect("u", user("1", "'a'"), user("1", "'a'"))
    assert len(effects_of(unseen)) == 1


def test_the_private_attributes_of_a_model_are_shown() -> None:
    private = Value(Kind.DICT, "", (("['_n']", atom("1")),))
    model = Value(
        Kind.OBJECT, "M", ((".__pydantic_private__", private), (".__slots__", atom("()")))
    )
    call = Call(Function("m.f"), Rule("m.f", "m.f"), Outcome(OutcomeKind.RETURNED, model))
    value = without_internals(call).outcome.value
    assert value is not None
    assert [step for step, _ in value.parts] == [".__pydantic_private__"]
