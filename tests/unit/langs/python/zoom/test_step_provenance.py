"""Parts that are marked inside a call: the step that set them, and the steps that could have."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from itertools import islice
from textwrap import dedent

import bug_corpus
import pytest
from bug_corpus import Bug
from zoom_corpus import CHANGED, TWINS, found_line, last_wrong
from zoom_programs import NTH, PROGRAMS, twins_of
from zoom_runs import Intended, follow, session

from whence.langs.python.zoom.step_provenance import StepProvenance
from whence.model.call import Call, Mark, MarkedPart, find_mark, roots
from whence.model.origin import Influence, Origin
from whence.model.value import atom, parse_path
from whence.model.verdict import Answer, Verdict
from whence.session.events import Answered, Ask, Found
from whence.tree.column_tree import ColumnTree

SHOP = """
def double(x):
    return x * 2
def f(xs, limit):
    kept, seen, names = [], 0, {}
    for x in xs:
        seen += 1
        if x < 0:
            continue
        y = double(x)
        if y > limit:
            y = limit + 1
        kept.append(y)
        names[x] = seen
    row = kept
    row[0] = row[0] + 1
    unrelated = [seen]
    return kept, unrelated, names
"""


class Marked:
    """The steps of a call, and what is known of marks in them."""

    def __init__(self, text: str, call: str) -> None:
        self.tree: ColumnTree
        self.provenance: StepProvenance
        zoomed = follow(dedent(text).lstrip(), "f", call).zoomed
        self.tree, self.provenance = zoomed.searched()

    def label(self, node: int) -> str:
        step = self.tree.call(self.tree.position(node)).step
        return "" if step is None else step.label

    def node(self, label: str) -> int:
        ids = [self.tree.id(each) for each in range(len(self.tree.columns))]
        return next(each for each in ids if label in self.label(each))

    def known(self, label: str, path: str, *, given: bool = False) -> tuple[Origin, Influence]:
        node = self.node(label)
        part = find_mark(self.tree.call(self.tree.position(node)), path, input_side=given)
        influence = self.provenance.influence(node, part)
        assert influence is not None
        return self.provenance.origin(node, part), influence

    def origin(self, label: str, path: str, *, given: bool = False) -> str:
        found, _ = self.known(label, path, given=given)
        return found.unknown if found.node is None else self.label(found.node)

    def labels(self, label: str, path: str, width: int = 0) -> set[str]:
        """The single lines in a slice."""
        _, influence = self.known(label, path)
        assert not influence.complete
        return {each for each in map(self.label, influence.slices()[width]) if "lines" not in each}


@pytest.fixture(scope="module")
def shop() -> Marked:
    return Marked(SHOP, "f([1, -1, 2, 3], 4)")


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("result[0][2]", "line 11, in round 4: y = limit + 1"),
        ("result[0][1]", "line 9, in round 3: y = double(x)"),
        ("result[0][0]", "line 15: row[0] = row[0] + 1"),
        ("result[2][3]", "last by line 6, in round 4: seen += 1"),
        ("result[1]", "line 16: unrelated = [seen]"),
    ],
)
def test_a_part_leads_to_who_set_it_through_who_only_copied_it(
    shop: Marked, path: str, made: str
) -> None:
    assert shop.origin("line 17: return", path).endswith(made)


def test_a_change_under_another_name_counts(shop: Marked) -> None:
    assert shop.origin("line 15: row[0]", "kept[0]") == "line 15: row[0] = row[0] + 1"


def test_what_was_given_leads_to_who_set_it_before(shop: Marked) -> None:
    made = shop.origin("in round 4: kept.append(y)", "y", given=True)
    assert made == "line 11, in round 4: y = limit + 1"
    first = shop.origin("in round 1: y = double(x)", "x", given=True)
    assert "xs[0]: it had this value when the call began" in first
    items = shop.origin("rounds 2 to 4", "still to come[1]", given=True)
    assert items == "line 5: xs"


def test_the_slice_of_a_part_has_what_made_it_and_the_choices_that_led_there(shop: Marked) -> None:
    found = shop.labels("line 17: return", "result[0][2]")
    assert {
        "line 11, in round 4: y = limit + 1",
        "line 10, in round 4: y > limit",
        "line 7, in round 4: x < 0",
        "line 5: xs",
    } <= found
    assert not {each for each in found if "round 1" in each or "round 3" in each}
    assert not {each for each in found if "unrelated =" in each or "names[" in each}
    assert "line 9, in round 4: y = double(x)" in found, "it is what the test was about"


def test_wider_slices_have_all_of_the_variable_and_then_all_that_may_write(shop: Marked) -> None:
    variables = shop.labels("line 17: return", "result[0][2]", 1)
    assert "line 12, in round 1: kept.append(y)" in variables
    assert "line 13, in round 1: names[x] = seen" in shop.labels("line 17: return", "result[0]", 2)


def test_a_branch_that_was_not_taken_is_in_the_slice_of_what_it_would_have_changed() -> None:
    marked = Marked(
        """
        def f(x, y):
            a = b = 1
            if x:
                a = 2
            for n in range(y):
                if n == x:
                    break
                b += n
            return a, b
        """,
        "f(0, 1)",
    )
    assert "line 3: x" in marked.labels("line 9: return", "result[0]")
    assert "line 5: range(y)" not in marked.labels("line 9: return", "result[0]")
    found = marked.labels("line 9: return", "result[1]")
    assert {"line 5: range(y)", "line 6, in round 1: n == x"} <= found
    assert "line 3: x" not in found


def test_what_raised_is_in_the_slice_of_what_its_handler_did() -> None:
    marked = Marked(
        """
        def f(words):
            out = []
            for word in words:
                try:
                    out.append(int(word))
                except ValueError as problem:
                    out.append(str(problem))
            return out
        """,
        "f(['1', 'x'])",
    )
    assert marked.origin("line 8: return", "result[1]").endswith("out.append(str(problem))")
    assert "line 5, in round 2: out.append(int(word))" in marked.labels("line 8", "result[1]")


def test_what_was_yielded_printed_or_raised_leads_to_the_step() -> None:
    marked = Marked(
        """
        def f(n):
            for x in range(n):
                y = x + 1
                yield y
            raise KeyError(n)
        """,
        "list(f(3))",
    )
    assert marked.origin("lines 2 to 4: for x", "yielded[1]") == "line 3, in round 2: y = x + 1"
    assert marked.origin("line 5: raise", "raised") == "line 5: raise KeyError(n)"


def test_what_a_call_set_is_a_step_and_its_calls_are_in_the_slice() -> None:
    marked = Marked(
        """
        def add(xs):
            xs.append(1)
        def f(xs):
            ys = xs
            add(ys)
            other = len(xs)
            return xs
        """,
        "f([0])",
    )
    assert marked.origin("line 7: return", "result[1]") == "line 5: add(ys)"
    assert "line 6: other = len(xs)" not in marked.labels("line 7: return", "result[1]", 1)


def test_a_mark_leads_the_search_on(shop: Marked) -> None:
    debugging, outcome = session(shop.tree, "auto", shop.provenance)
    assert isinstance(outcome, Ask)
    whole = shop.node("lines 5 to 13: for x")
    part = find_mark(shop.tree.call(shop.tree.position(whole)), "kept[2]", input_side=False)
    outcome = debugging.send(Answered((Answer(whole, Verdict.WRONG, part.mark),)))
    assert isinstance(outcome, Ask)
    assert shop.label(outcome.question.node) == "line 11, in round 4: y = limit + 1"


def test_the_fault_is_found_although_it_is_in_no_slice_of_what_was_marked(shop: Marked) -> None:
    fault = "line 16: unrelated = [seen]"
    assert fault not in shop.labels("line 17: return", "result[0][2]", 2)
    debugging, outcome = session(shop.tree, "auto", shop.provenance)
    columns = shop.tree.columns
    at_fault = shop.tree.position(shop.node(fault))
    marked = False
    while isinstance(outcome, Ask):
        node = outcome.question.node
        position = shop.tree.position(node)
        holds = position <= at_fault < columns.end[position]
        mark = None
        if holds and not marked and "result" in roots(outcome.question.call):
            mark, marked = Mark("result", ("[0]", "[2]")), True
        verdict = Verdict.WRONG if holds else Verdict.RIGHT
        outcome = debugging.send(Answered((Answer(node, verdict, mark),)))
    assert marked
    assert isinstance(outcome, Found) and outcome.diagnosis.node == shop.node(fault)


def test_a_mark_on_the_call_itself_leads_inside() -> None:
    """As it does when `zoom` follows a diagnosis of a call whose result was marked."""
    marked = Marked("def f(xs):\n    xs.append(2)\n    return [len(xs)]\n", "f([1])")
    provenance, top = marked.provenance, marked.tree.id(0)
    for path, made in (
        ("result[0]", "line 3: return [len(xs)]"),
        ("xs[1]", "line 2: xs.append(2)"),
    ):
        root, steps = parse_path(path)
        origin = provenance.origin(top, MarkedPart(Mark(root, steps), atom("2"), is_input=False))
        assert origin.node is not None and marked.label(origin.node) == made


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_marks_the_statement_that_was_changed_is_found_too(name: str) -> None:
    buggy, repaired, changed = twins_of(name)
    call = follow(buggy, "f", PROGRAMS[name][1], nth=NTH.get(name, 1))
    intended = Intended(call, repaired, "f")
    for strategy in ("auto", "subterm-tracking", "dynamic-weighting"):
        _, outcome = intended.diagnose(strategy, marks=True)
        assert found_line(intended.tree, outcome) == changed


@pytest.mark.parametrize("bug", bug_corpus.spread(TWINS, 7))
def test_with_marks_the_statement_in_which_twins_of_the_corpus_differ_is_found(
    bug: Bug, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["buggy.py", *bug.argv])
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    intended = last_wrong(bug)
    for strategy in ("auto", "subterm-tracking"):
        _, outcome = intended.diagnose(strategy, marks=True)
        assert found_line(intended.tree, outcome) == CHANGED[bug.name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_part_that_is_shown_can_be_marked(name: str) -> None:
    buggy, _, _ = twins_of(name)
    zoomed = follow(buggy, "f", PROGRAMS[name][1], nth=NTH.get(name, 1)).zoomed
    tree, provenance = zoomed.searched()
    everywhere = {tree.id(each) for each in range(len(tree.columns))}
    for position in range(1, min(len(tree.columns), 24)):
        for part in _markable(tree.call(position)):
            origin = provenance.origin(tree.id(position), part)
            assert origin.node in everywhere or origin.unknown
            influence = provenance.influence(tree.id(position), part)
            if influence is not None:
                narrow, variables, objects = influence.slices()
                assert narrow <= variables <= objects <= everywhere
                assert origin.node is None or origin.node in narrow


def _markable(call: Call) -> Iterator[MarkedPart]:
    """The first parts of all that is shown before and after a step."""
    given = [(each.name, each.value, True) for each in call.arguments]
    given += [(each.target, each.after, False) for each in call.effects if each.after is not None]
    if call.outcome.value is not None:
        given.append(("result", call.outcome.value, False))
    for root, value, is_input in given:
        for steps, _ in islice(value.paths(), 2):
            yield find_mark(call, root + "".join(steps), input_side=is_input)
    if call.outcome.yielded:
        yield find_mark(call, "yielded[0]", input_side=False)
