"""What is shown of a step: of large objects only what it looks at, and what it changed."""

from __future__ import annotations

from textwrap import dedent

from zoom_runs import follow

from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.question import Question
from whence.report.source import NOWHERE
from whence.report.text import lines
from whence.session.state import State
from whence.tree.column_tree import ColumnTree
from whence.ui.terminal.question_text import question_lines

SHOP = """
class Shop:
    def __init__(self, count):
        self.items = [{"name": str(n), "price": n, "tags": ["a", "b", "c"]} for n in range(count)]
        self.sold, self.log, self.discount, self.open = [], {}, 2, True
    def count(self):
        return len(self.sold)
    def sell(self, place):
        price = self.items[place]["price"] - self.discount
        self.sold.append(self.items[place])
        self.log[place] = price
        return self.count()
"""


def sold(count: int = 12) -> ColumnTree:
    return follow(SHOP, "Shop.sell", f"Shop({count}).sell(7)").zoomed.tree()


def position(tree: ColumnTree, label: str) -> int:
    steps = [tree.call(each).step for each in range(len(tree.columns))]
    return next(n for n, step in enumerate(steps) if step is not None and label in step.label)


def shown(tree: ColumnTree, label: str) -> list[str]:
    """The lines of the question about the step with this label."""
    question = Question(1, tree.call(position(tree, label)), "", "", 1, 1.0, 1)
    return [line.text.strip() for line in question_lines(question, 1, 100)[1:]]


def test_of_a_large_object_only_what_a_step_changed_is_shown_after_it() -> None:
    tree = sold()
    asked = "\n".join(shown(tree, "self.sold.append"))
    assert "\nafter:  self.sold = [{'name': '7', 'price': 7, " in asked
    assert asked.count("items=") == 1, "before it, and not after it"
    assert "self.sold[0] is self.items[7]" in asked


def test_of_an_object_only_the_attributes_that_a_step_looks_at_are_shown_before_it() -> None:
    tree = sold()
    asked = shown(tree, "self.log[place] = price")
    assert "before: self = Shop(log={}, …4 not used), place = 7, price = 5" in asked
    assert not any("was left out" in line for line in asked)
    returned = " ".join(shown(tree, "return self.count()"))
    assert "items" not in returned and "sold=[" in returned, "what the method looks at"


def test_that_also_holds_for_objects_of_classes_that_are_defined_elsewhere() -> None:
    text = """
        from types import SimpleNamespace as Made
        def f(one):
            return one.value.upper()
        """
    tree = follow(dedent(text), "f", "f(Made(value='a', kind=1, parent=None))").zoomed.tree()
    assert "before: one = SimpleNamespace(value='a', …2 not used)" in shown(tree, "return")


def test_what_cannot_be_shown_in_full_is_made_up_for_by_what_was_worked_out_of_it() -> None:
    asked = shown(sold(100), "price = self.items[place]")
    assert 'self.items[place]["price"] = 7' in asked
    assert 'self.items[place]["price"] - self.discount = 5' in asked
    assert not any(line.startswith("in it:") for line in shown(sold(12), "self.log[place]"))


def test_the_report_of_a_step_shows_no_more_than_its_question() -> None:
    tree = sold()
    node = tree.id(position(tree, "self.log[place] = price"))
    found = Diagnosis(Status.FOUND, node=node, kind=FaultKind.WRONG_RESULT)
    said = "\n".join(lines(State(tree), found, NOWHERE))
    assert "Before it      self = Shop(log={}, …4 not used)" in said
    assert "After it       self.log = {7: 5}" in said


def test_the_parts_of_what_lacks_something_are_named_by_their_labels() -> None:
    tree = sold()
    parts = tuple(tree.id(position(tree, label)) for label in ("line 9", "lines 10 to 12"))
    found = Diagnosis(
        Status.FOUND, node=tree.id(0), kind=FaultKind.WRONG_RESULT, callees=parts
    )  # fmt: skip
    said = "\n".join(lines(State(tree), found, NOWHERE))
    assert "Its steps      line 9: price = self.items[place]" in said
    assert "self.discount  (not asked about)\n" in said


def test_a_long_result_is_folded_like_other_values() -> None:
    tree = follow("def f(n):\n    return {str(i): i * 'x' for i in range(n)}\n", "f", "f(20)")
    asked = shown(tree.zoomed.tree(), "return")
    assert "returns {" in asked and "'3': 'xxx'," in " ".join(asked)
