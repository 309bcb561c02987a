from __future__ import annotations

import pytest

from whence.langs.python.source.definitions import ModuleDefinitions
from whence.langs.python.source.named_attributes import attributes_named

TEXT = """
import copy
class Shop:
    def plain(self, other):
        return self.a + other.b["c"]
    def by_text(self):
        return getattr(self, "d")
    def by_any_text(self, name):
        return getattr(self, name)
    def copies(self):
        return copy.copy(self)
    def takes_apart(self, other):
        match other:
            case Shop(e=1):
                return 1
    def by_position(self, other):
        match other:
            case Shop(1):
                return 1
    def compares(self, other):
        return self == other
    def compares_a_number(self):
        return len(self.a) > 3 or self.b is None
    def prints(self):
        return f"{self}"
def outer():
    def inner(x):
        return x.f
    return inner
@decorated
class Made:
    pass
class Derived(Shop):
    pass
class Foreign(Elsewhere):
    pass
"""


@pytest.mark.parametrize(
    ("function", "names"),
    [
        ("Shop.plain", {"a", "b", "c"}),
        ("Shop.by_text", {"d"}),
        ("Shop.takes_apart", {"e"}),
        ("outer.<locals>.inner", {"f"}),
    ],
)
def test_attributes_are_named_as_such_or_in_texts(function: str, names: set[str]) -> None:
    found = attributes_named(TEXT, function)
    assert found.names == names
    assert not found.reaches_all


@pytest.mark.parametrize("function", ["by_any_text", "copies", "by_position"])
def test_code_can_reach_attributes_without_naming_them(function: str) -> None:
    assert attributes_named(TEXT, f"Shop.{function}").reaches_all


def test_code_without_a_name_counts_as_the_whole_text() -> None:
    assert attributes_named(TEXT, "<lambda>").reaches_all
    assert attributes_named("this is no Python", "f").reaches_all


@pytest.mark.parametrize(
    ("function", "uses"), [("compares", True), ("compares_a_number", False), ("prints", True)]
)
def test_whole_objects_are_used_where_they_are_compared_or_printed(
    function: str, uses: bool
) -> None:
    assert attributes_named(TEXT, f"Shop.{function}").uses_wholes is uses


def test_a_class_is_plain_if_nothing_but_the_text_defines_it() -> None:
    module = ModuleDefinitions(TEXT)
    plain = [name for name in ("Shop", "Made", "Derived", "Foreign") if module.is_plain_class(name)]
    assert plain == ["Shop", "Derived"]
