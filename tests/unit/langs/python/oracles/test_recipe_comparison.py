"""When two calls are the same, when they differ, and when nobody can tell."""

from __future__ import annotations

import pytest

from whence.langs.python.oracles.recipe_comparison import (
    CallEquation,
    Match,
    compare_equations,
    compare_values,
)
from whence.langs.python.trace.call_recipes import CallRecipe, OutcomeRecipe, Variable
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.langs.python.trace.value_recipes import (
    EntriesRecipe,
    ExtendedRecipe,
    InstanceRecipe,
    ItemsRecipe,
    LiteralRecipe,
    MemberRecipe,
    QualifiedName,
    Recipe,
    SharedRecipe,
    SummaryRecipe,
    UnknownRecipe,
)
from whence.model.call import OutcomeKind

NOTHING = LiteralRecipe(0)
SAME, DIFFERENT, UNKNOWN = Match.SAME, Match.DIFFERENT, Match.UNKNOWN
BOX = QualifiedName("shop", "Box")
CODE = CodeEntry(0, "shop.py", "shop", "f", 1, ("a", "b"), (), (), b"")


def listed(*numbers: int, label: int | None = None) -> ItemsRecipe:
    return ItemsRecipe("list", tuple(map(LiteralRecipe, numbers)), label)


def texts(*words: str) -> ItemsRecipe:
    return ItemsRecipe("set", tuple(map(LiteralRecipe, words)))


def keys(*names: str) -> EntriesRecipe:
    return EntriesRecipe(tuple((LiteralRecipe(name), LiteralRecipe(1)) for name in names))


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        (LiteralRecipe(1), LiteralRecipe(1), SAME),
        (LiteralRecipe(1), LiteralRecipe(True), DIFFERENT),
        (LiteralRecipe(1), LiteralRecipe(1.0), DIFFERENT),
        (LiteralRecipe(0.0), LiteralRecipe(-0.0), DIFFERENT),
        (LiteralRecipe(float("nan")), LiteralRecipe(float("nan")), SAME),
        (listed(1, 2), listed(1, 2), SAME),
        (listed(1, 2), listed(2, 1), DIFFERENT),
        (listed(1), ItemsRecipe("tuple", (LiteralRecipe(1),)), DIFFERENT),
        (texts("a", "b"), texts("b", "a"), SAME),
        (texts("a", "b"), texts("a", "c"), DIFFERENT),
        (keys("a", "b"), keys("b", "a"), UNKNOWN),
        (keys("a", "b"), keys("a", "c"), DIFFERENT),
        (LiteralRecipe("<Box at 0x7f01>"), LiteralRecipe("<Box at 0x7f02>"), UNKNOWN),
        (LiteralRecipe("in /tmp/a/x.py"), LiteralRecipe("in /tmp/b/x.py"), UNKNOWN),
        (LiteralRecipe("a 0x7f01"), LiteralRecipe("b 0x7f01"), DIFFERENT),
        (
            InstanceRecipe(BOX, (("n", LiteralRecipe(1)),)),
            InstanceRecipe(BOX, (("n", LiteralRecipe(2)),)),
            DIFFERENT,
        ),
        (InstanceRecipe(BOX, ()), InstanceRecipe(QualifiedName("other", "Box"), ()), UNKNOWN),
        (InstanceRecipe(BOX, ()), InstanceRecipe(QualifiedName("shop", "Bag"), ()), DIFFERENT),
        (
            ItemsRecipe("set", (InstanceRecipe(BOX, ()),)),
            ItemsRecipe("set", (InstanceRecipe(BOX, ()),)),
            UNKNOWN,
        ),
        (ExtendedRecipe(BOX, listed(1), ()), ExtendedRecipe(BOX, listed(2), ()), DIFFERENT),
        (MemberRecipe(BOX, "RED"), MemberRecipe(BOX, "RED"), SAME),
        (SummaryRecipe(BOX, "Box(1)"), SummaryRecipe(BOX, "Box(2)"), DIFFERENT),
        (UnknownRecipe("cut"), LiteralRecipe(1), UNKNOWN),
        (ItemsRecipe("list", (UnknownRecipe("cut"), LiteralRecipe(1))), listed(1, 2), DIFFERENT),
        (ItemsRecipe("list", (UnknownRecipe("cut"), LiteralRecipe(2))), listed(1, 2), UNKNOWN),
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
    variables: dict[QualifiedName, Variable] | None = None,
) -> CallEquation:
    outcome = OutcomeRecipe(OutcomeKind.RETURNED, result)
    recipe = CallRecipe(CODE, {"a": a, "b": b}, {}, {}, outcome, changed or {}, {}, ())
    return CallEquation(recipe, variables or {}, {1: printed})


COUNT = QualifiedName("shop", "count")


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        (call(LiteralRecipe(1), listed(1)), call(LiteralRecipe(1), listed(1)), SAME),
        (call(LiteralRecipe(1), listed(1)), call(LiteralRecipe(1), listed(2)), UNKNOWN),
        (
            call(LiteralRecipe(1), UnknownRecipe("cut")),
            call(LiteralRecipe(2), UnknownRecipe("cut")),
            UNKNOWN,
        ),
        (
            call(LiteralRecipe(1), LiteralRecipe(1), printed="a"),
            call(LiteralRecipe(1), LiteralRecipe(1)),
            DIFFERENT,
        ),
        # Effects: a change on one side only, and the same one on both.
        (
            call(LiteralRecipe(1), listed(1), changed={"a": listed(1, 2)}),
            call(LiteralRecipe(1), listed(1)),
            DIFFERENT,
        ),
        (
            call(LiteralRecipe(1), listed(1), changed={"a": listed(1, 2)}),
            call(LiteralRecipe(1), listed(1), changed={"a": listed(1, 2)}),
            SAME,
        ),
        (
            call(
                LiteralRecipe(1),
                LiteralRecipe(1),
                variables={COUNT: Variable(LiteralRecipe(1), LiteralRecipe(2))},
            ),
            call(LiteralRecipe(1), LiteralRecipe(1), variables={COUNT: Variable(LiteralRecipe(1))}),
            DIFFERENT,
        ),
        # The input itself given back, a new one that is equal, and one that is not.
        (
            call(SharedRecipe(1), listed(1, label=1)),
            call(SharedRecipe(7), listed(1, label=7)),
            SAME,
        ),
        (call(SharedRecipe(1), listed(1, label=1)), call(listed(1), listed(1)), UNKNOWN),
        (call(SharedRecipe(1), listed(1, label=1)), call(listed(2), listed(1)), DIFFERENT),
        (
            call(SharedRecipe(1), listed(1, label=1), changed={"a": listed(1, 2, label=1)}),
            call(listed(1, 2), listed(1), changed={"a": listed(1, 2)}),
            UNKNOWN,
        ),
        (
            call(SharedRecipe(1), listed(1, label=1), listed(2)),
            call(SharedRecipe(1), listed(1), listed(2, label=1)),
            DIFFERENT,
        ),
        (
            call(SharedRecipe(1), listed(1, label=1), listed(1)),
            call(SharedRecipe(1), listed(1), listed(1, label=1)),
            UNKNOWN,
        ),
    ],
)
def test_calls_are_compared_by_outcome_and_effects(
    one: CallEquation, other: CallEquation, match: Match
) -> None:
    assert compare_equations(one, other).match is match
    assert compare_equations(other, one).match is match
