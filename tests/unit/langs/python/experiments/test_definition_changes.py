"""The changes between two texts of a module, and texts with some of them made."""

from __future__ import annotations

import ast
from itertools import chain, combinations

import pytest

from whence.langs.python.experiments.definition_changes import (
    ChangeKind,
    DefinitionChange,
    NotComparable,
    changes_between,
    with_changes,
)

OWN = '''\
"""A shop."""
from __future__ import annotations
import os
LIMIT = 3


@cache
def price(item, rate=1):
    # by hand
    def net(x):
        return x
    return net(item) * rate


class Cart(Base):
    """What is bought."""

    size = 1

    def add(self, item):
        self.items.append(item)

    @property
    def total(self): return 0

if os.name == "nt":
    SEPARATOR = 1
print(price(1))
'''

OTHER = '''\
"""A shop, in another version."""
from __future__ import annotations
import os
import re
LIMIT = 4


def rounded(x):
    return round(x)


@cache
def price(item, rate=2):
    def net(x):
        return rounded(x)
    return net(item) * rate


class Cart(Base, Mixin):
    """What is bought, now."""

    size = 2
    more = {}

    def add(self, item):
        self.items.insert(0, item)

    @property
    def total(self): return 0

    def clear(self):
        self.items[:] = []

if os.name == "nt":
    SEPARATOR = 2
print(price(2))
'''


def named(changes: list[DefinitionChange]) -> dict[str, ChangeKind]:
    return {change.name: change.kind for change in changes}


def test_each_definition_that_differs_is_one_change() -> None:
    assert named(changes_between(OWN, OTHER)) == {
        "LIMIT": ChangeKind.CHANGED,
        "price": ChangeKind.CHANGED,
        "Cart": ChangeKind.CHANGED,
        "Cart.size": ChangeKind.CHANGED,
        "Cart.add": ChangeKind.CHANGED,
        "Cart.more": ChangeKind.ADDED,
        "Cart.clear": ChangeKind.ADDED,
        "import re": ChangeKind.ADDED,
        "rounded": ChangeKind.ADDED,
        "if os.name == 'nt':": ChangeKind.CHANGED,
        "print(price(2))": ChangeKind.CHANGED,
    }


def test_comments_and_docstrings_are_no_changes() -> None:
    other = OWN.replace("# by hand", "# by machine").replace("What is bought", "Nothing")
    assert changes_between(OWN, other) == []


def test_with_all_changes_no_difference_is_left() -> None:
    for one, two in ((OWN, OTHER), (OTHER, OWN)):
        made = with_changes(one, changes_between(one, two))
        assert changes_between(made, two) == []


def test_every_mixture_is_python() -> None:
    changes = changes_between(OWN, OTHER)
    chosen = chain.from_iterable(combinations(changes, count) for count in (1, 2, 9, 10))
    for some in chosen:
        ast.parse(with_changes(OWN, some))


def test_a_change_alone_changes_nothing_else() -> None:
    for change in changes_between(OWN, OTHER):
        made = with_changes(OWN, [change])
        assert set(named(changes_between(OWN, made))) == {change.name}


def test_what_a_definition_uses_is_known() -> None:
    changes = {change.name: change for change in changes_between(OWN, OTHER)}
    assert "rounded" in changes["price"].uses.names
    assert changes["rounded"].uses.provided == {"rounded"}
    assert changes["Cart.clear"].in_class == "Cart"


def test_decorators_belong_to_their_function() -> None:
    [change] = changes_between("@a\ndef f(): pass\n", "@b\n@a\ndef f(): pass\n")
    assert (change.name, change.lines, change.other_lines) == ("f", (1, 2), (1, 3))


def test_members_take_the_indentation_of_their_class() -> None:
    own = "class A:\n\tdef f(self):\n\t\treturn 1\n\tx = 2\n"
    other = 'class A:\n  def f(self):\n    return """a\n  b"""\n  x = 3\n'
    made = with_changes(own, changes_between(own, other))
    assert changes_between(made, other) == []
    [some] = [change for change in changes_between(own, other) if change.name == "A.f"]
    function = next(ast.walk(ast.parse(with_changes(own, [some]).replace("class A:", "if 1:"))))
    assert any(
        isinstance(node, ast.Constant) and node.value == "a\n  b" for node in ast.walk(function)
    )


def test_a_class_that_loses_all_its_members_stays_a_class() -> None:
    own, other = "class A:\n    x = 1\n    y = 2\n", "class A:\n    z = 1\n"
    for change in changes_between(own, other):
        ast.parse(with_changes(own, [change]))
    made = with_changes(own, changes_between(own, other))
    assert ast.dump(ast.parse(made)).count("'z'") == 1


def test_names_that_are_bound_twice_are_told_apart() -> None:
    own = "x = 1\nf(x)\nx = 2\n"
    other = "x = 1\nf(x)\nx = 3\n"
    [change] = changes_between(own, other)
    assert change.lines == (3, 3)


@pytest.mark.parametrize("other", ["def f(:", "x = 1; y = 2\n"])
def test_what_cannot_be_told_apart_is_refused(other: str) -> None:
    with pytest.raises(NotComparable):
        changes_between("x = 1\n", other)
