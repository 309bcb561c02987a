"""When two calls are the same, when they differ, and when nobody can tell."""

from __future__ import annotations

import pytest

from whence.langs.python.oracles.recipe_comparison import (
    Equation,
    Match,
    compare_equations,
    compare_values,
)
from whence.langs.python.trace.call_recipes import CallRecipe, OutcomeRecipe, Variable
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.langs.python.trace.value_recipes import (
    Entries,
    Extended,
    Instance,
    Items,
    Literal,
    Member,
    Name,
    Recipe,
    Shared,
    Unknown,
    Written,
)
from whence.model.call import OutcomeKind

NOTHING = Literal(0)
SAME, DIFFERENT, UNKNOWN = Match.SAME, Match.DIFFERENT, Match.UNKNOWN
BOX = Name("shop", "Box")
CODE = CodeEntry(0, "shop.py", "shop", "f", 1, ("a", "b"), (), (), b"")


def listed(*numbers: int, label: int | None = None) -> Items:
    return Items("list", tuple(map(Literal, numbers)), label)


def texts(*words: str) -> Items:
    return Items("set", tuple(map(Literal, words)))


def keys(*names: str) -> Entries:
    return Entries(tuple((Literal(name), Literal(1)) for name in names))


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        (Literal(1), Literal(1), SAME),
        (Literal(1), Literal(True), DIFFERENT),
        (Literal(1), Literal(1.0), DIFFERENT),
        (Literal(0.0), Literal(-0.0), DIFFERENT),
        (Literal(float("nan")), Literal(float("nan")), SAME),
        (listed(1, 2), listed(1, 2), SAME),
        (listed(1, 2), listed(2, 1), DIFFERENT),
        (listed(1), Items("tuple", (Literal(1),)), DIFFERENT),
        (texts("a", "b"), texts("b", "a"), SAME),
        (texts("a", "b"), texts("a", "c"), DIFFERENT),
        (keys("a", "b"), keys("b", "a"), UNKNOWN),
        (keys("a", "b"), keys("a", "c"), DIFFERENT),
        (Literal("<Box at 0x7f01>"), Literal("<Box at 0x7f02>"), UNKNOWN),
        (Literal("in /tmp/a/x.py"), Literal("in /tmp/b/x.py"), UNKNOWN),
        (Literal("a 0x7f01"), Literal("b 0x7f01"), DIFFERENT),
        (Instance(BOX, (("n", Literal(1)),)), Instance(BOX, (("n", Literal(2)),)), DIFFERENT),
        (Instance(BOX, ()), Instance(Name("other", "Box"), ()), UNKNOWN),
        (Instance(BOX, ()), Instance(Name("shop", "Bag"), ()), DIFFERENT),
        (Items("set", (Instance(BOX, ()),)), Items("set", (Instance(BOX, ()),)), UNKNOWN),
        (Extended(BOX, listed(1), ()), Extended(BOX, listed(2), ()), DIFFERENT),
        (Member(BOX, "RED"), Member(BOX, "RED"), SAME),
        (Written(BOX, "Box(1)"), Written(BOX, "Box(2)"), DIFFERENT),
        (Unknown("cut"), Literal(1), UNKNOWN),
        (Items("list", (Unknown("cut"), Literal(1))), listed(1, 2), DIFFERENT),
        (Items("list", (Unknown("cut"), Literal(2))), listed(1, 2), UNKNOWN),
    ],
)
def test_values_are_compared_as_far_as_they_are_known(
    one: Recipe, other: Recipe, match: Match
) -> None:
    assert compare_values(one, other).match is match
    assert compare_values(other, one).match is match


def call(
    result: Recipe,
    a: Recipe,
    b: Recipe = NOTHING,
    changed: dict[str, Recipe] | None = None,
    printed: str = "",
    variables: dict[Name, Variable] | None = None,
) -> Equation:
    outcome = OutcomeRecipe(OutcomeKind.RETURNED, result)
    recipe = CallRecipe(CODE, {"a": a, "b": b}, {}, {}, outcome, changed or {}, {}, ())
    return Equation(recipe, variables or {}, {1: printed})


COUNT = Name("shop", "count")


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        (call(Literal(1), listed(1)), call(Literal(1), listed(1)), SAME),
        (call(Literal(1), listed(1)), call(Literal(1), listed(2)), UNKNOWN),
        (call(Literal(1), Unknown("cut")), call(Literal(2), Unknown("cut")), UNKNOWN),
        (call(Literal(1), Literal(1), printed="a"), call(Literal(1), Literal(1)), DIFFERENT),
        # Effects: a change on one side only, and the same one on both.
        (
            call(Literal(1), listed(1), changed={"a": listed(1, 2)}),
            call(Literal(1), listed(1)),
            DIFFERENT,
        ),
        (
            call(Literal(1), listed(1), changed={"a": listed(1, 2)}),
            call(Literal(1), listed(1), changed={"a": listed(1, 2)}),
            SAME,
        ),
        (
            call(Literal(1), Literal(1), variables={COUNT: Variable(Literal(1), Literal(2))}),
            call(Literal(1), Literal(1), variables={COUNT: Variable(Literal(1))}),
            DIFFERENT,
        ),
        # The input itself given back, a new one that is equal, and one that is not.
        (
            call(Shared(1), listed(1, label=1)),
            call(Shared(7), listed(1, label=7)),
            SAME,
        ),
        (call(Shared(1), listed(1, label=1)), call(listed(1), listed(1)), UNKNOWN),
        (call(Shared(1), listed(1, label=1)), call(listed(2), listed(1)), DIFFERENT),
        (
            call(Shared(1), listed(1, label=1), changed={"a": listed(1, 2, label=1)}),
            call(listed(1, 2), listed(1), changed={"a": listed(1, 2)}),
            UNKNOWN,
        ),
        (
            call(Shared(1), listed(1, label=1), listed(2)),
            call(Shared(1), listed(1), listed(2, label=1)),
            DIFFERENT,
        ),
        (
            call(Shared(1), listed(1, label=1), listed(1)),
            call(Shared(1), listed(1), listed(1, label=1)),
            UNKNOWN,
        ),
    ],
)
def test_calls_are_compared_by_outcome_and_effects(
    one: Equation, other: Equation, match: Match
) -> None:
    assert compare_equations(one, other).match is match
    assert compare_equations(other, one).match is match
