from __future__ import annotations

import pytest

from whence.langs.python.source.attribute_uses import attributes_used
from whence.langs.python.source.definitions import ModuleDefinitions

TEXT = """
class Base:
    LIMIT = 3
    def above(self):
        return self.inherited

class Shop(Base):
    def plain(self):
        return self.a + self.b
    def through(self):
        return self.plain() + self.c
    def whole(self):
        return str(self)
    def unknown(self):
        return self.elsewhere()
    def recursive(self, n):
        return self.recursive(n - 1) if n else self.a
    def constant(self):
        return self.LIMIT + self.above()
    def makes(self):
        self.new = self.a
    def indirect(self):
        return self.whole()
    @property
    def total(self):
        return self.c
    def by_property(self):
        return self.total

def outside(shop, other):
    return shop.a if other else shop.total
"""
ALL = ("a", "b", "c", "inherited")


def seen(name: str, parameter: str = "self") -> set[str] | None:
    module = ModuleDefinitions(TEXT)
    lines = TEXT.splitlines()
    last = name.rpartition(".")[2]
    line = next(n for n, text in enumerate(lines, 1) if f"def {last}(" in text)
    node = module.function(name, line)
    assert node is not None
    found = attributes_used(module, node, parameter, "Shop", ALL)
    return None if found is None else set(found)


@pytest.mark.parametrize(
    ("method", "attributes"),
    [
        ("plain", {"a", "b"}),
        ("through", {"a", "b", "c"}),
        ("whole", None),
        ("unknown", None),
        ("recursive", {"a"}),
        ("constant", {"inherited"}),
        ("makes", {"a"}),
        ("indirect", None),
        ("by_property", {"c"}),
    ],
)
def test_only_what_the_text_says_plainly_is_believed(
    method: str, attributes: set[str] | None
) -> None:
    assert seen(f"Shop.{method}") == attributes


def test_an_argument_of_a_function_is_looked_at_too() -> None:
    assert seen("outside", "shop") == {"a", "c"}
