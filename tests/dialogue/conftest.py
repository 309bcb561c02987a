"""The trees that dialogues are held about, by name."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from papers import load, paper_tree

from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Location,
    MarkedPart,
    Outcome,
    OutcomeKind,
    Rule,
)
from whence.model.origin import Influence, Origin
from whence.model.value import Value
from whence.ports import Provenance, Tree
from whence.tree.codec import decode_value
from whence.tree.column_tree import ColumnTree, Node, tree_of

Subject = tuple[ColumnTree, Provenance | None]


def sqrtest() -> Subject:
    """The tree of Silva 2006; sum2 is at fault."""
    return paper_tree(load("tree_sqrtest")["nodes"]), None


def value(item: Any) -> Value:
    """A value in the words of the tree format."""
    return decode_value(item)


def thing(name: str, **fields: Any) -> Any:
    """An object in the words of the tree format."""
    return {"object": name, "fields": fields}


def pairs(**entries: Any) -> Any:
    """A dictionary with texts for keys."""
    return {"dict": [[repr(key), entry] for key, entry in entries.items()]}


@dataclass
class Program:
    """Makes calls of one file, as a tracer would."""

    file: str
    lines: dict[str, int]
    sources: dict[str, str]

    def call(self, name: str, outcome: Outcome, site: int | None = None, **more: Any) -> Call:
        module = self.file.removesuffix(".py")
        place = Location(self.file, self.lines[name])
        function = Function(f"{module}.{name}", name, module, place)
        rule = Rule(function.name, function.name, place, self.sources.get(name, ""))
        where = Location(self.file, site) if site else None
        return Call(function, rule, outcome, site=where, **more)


def given(**arguments: Any) -> tuple[Binding, ...]:
    return tuple(Binding(name, value(item)) for name, item in arguments.items())


def returned(item: Any) -> Outcome:
    return Outcome(OutcomeKind.RETURNED, value(item))


def raised(item: Any, line: int) -> Outcome:
    return Outcome(OutcomeKind.RAISED, value(item), location=Location("settings.py", line))


@dataclass(frozen=True)
class KnownOrigins:
    """Origins that were written down."""

    origins: dict[tuple[int, str], Origin]

    def origin(self, node: int, part: MarkedPart) -> Origin:
        unknown = Origin(None, unknown="it was made by code that was not recorded")
        return self.origins.get((node, str(part.mark)), unknown)

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        return None

    def with_tree(self, tree: Tree) -> KnownOrigins:
        return self


INVOICE = """\
def line_sum(line):
    return times(line.count + 1, price(line.item))"""


def invoice() -> Subject:
    """An invoice whose second sum is wrong: line_sum passes on a count that is one too large."""
    lines = {"invoice": 1, "load_prices": 9, "line_sum": 14, "price": 17, "times": 20, "book": 24}
    program = Program("shop.py", lines, {"line_sum": INVOICE})
    pen, ink = thing("Line", item="'pen'", count=0), thing("Line", item="'ink'", count=2)
    prices = pairs(pen=2, ink=15)
    order = thing("Order", customer="'Ada'", lines=[pen, ink])
    read = given(PRICES=prices)
    entries = [thing("Entry", day=day, amount=10 * day) for day in range(1, 10)]
    entry = thing("Entry", day=10, amount=45)
    before = thing("Ledger", entries=entries, balance=450)
    after = thing("Ledger", entries=[*entries, entry], balance=495)
    call = program.call
    bill = returned(thing("Invoice", customer="'Ada'", sums=[0, 45], total=45))
    nodes = [
        Node(1, None, call("invoice", bill, arguments=given(order=order))),
        Node(
            2,
            1,
            call(
                "load_prices",
                returned(prices),
                2,
                arguments=given(path="'prices.csv'"),
                printed="reading prices.csv\n2 prices\n",
            ),
        ),
        Node(3, 1, call("line_sum", returned(0), 4, arguments=given(line=pen), reads=read)),
        Node(4, 3, call("price", returned(2), 15, arguments=given(item="'pen'"), reads=read)),
        Node(5, 3, call("times", returned(0), 15, arguments=given(n=0, amount=2))),
        Node(6, 1, call("line_sum", returned(45), 4, arguments=given(line=ink), reads=read)),
        Node(7, 6, call("price", returned(15), 15, arguments=given(item="'ink'"), reads=read)),
        Node(8, 6, call("times", returned(45), 15, arguments=given(n=3, amount=15))),
        Node(
            9,
            1,
            call(
                "book",
                returned("None"),
                5,
                arguments=given(ledger=before, amount=45),
                effects=(Effect("ledger", value(before), value(after)),),
            ),
        ),
    ]
    made = Origin(6, (6,), location=Location("shop.py", 15), expression="times(line.count + 1, …)")
    origins = {(1, "result.sums[1]"): made, (1, "result.total"): made}
    return tree_of(nodes), KnownOrigins(origins)


def settings() -> Subject:
    """A reader of settings that raises, a generator that was left, and a call that did not end."""
    lines = {"main": 1, "read": 5, "split": 12, "pair": 15, "ticks": 20, "wait": 24}
    program = Program("settings.py", lines, {})
    call = program.call
    text = "'a=1;b'"
    error = thing("ValueError", args={"tuple": ["\"no '=' in b\""]})
    left = Outcome(OutcomeKind.YIELDED, yielded=(value(1), value(2)))
    nodes = [
        Node(1, None, call("main", raised(error, 16))),
        Node(2, 1, call("ticks", left, 2)),
        Node(3, 1, call("wait", Outcome(OutcomeKind.NOT_TERMINATED), 3, arguments=given(n=-1))),
        Node(4, 1, call("read", raised(error, 16), 4, arguments=given(text=text))),
        Node(5, 4, call("split", returned(["'a=1'", "'b'"]), 6, arguments=given(text=text))),
        Node(
            6, 4, call("pair", returned({"tuple": ["'a'", "'1'"]}), 8, arguments=given(t="'a=1'"))
        ),
        Node(7, 4, call("pair", raised(error, 16), 8, arguments=given(t="'b'"))),
    ]
    return tree_of(nodes), None


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "sqrtest": sqrtest,
    "invoice": invoice,
    "settings": settings,
}


@pytest.fixture
def subjects() -> dict[str, Callable[[], Subject]]:
    return SUBJECTS
