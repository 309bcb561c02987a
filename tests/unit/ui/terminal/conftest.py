"""Calls and sessions that are small enough to be read in a test."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from whence.app.session_driver import SessionDriver
from whence.model.call import Binding, Call, Effect, Function, Location, Outcome, OutcomeKind, Rule
from whence.session.state import Facts, State
from whence.tree.codec import decode_value
from whence.tree.column_tree import Node, tree_of
from whence.ui.terminal.loop import converse
from whence.ui.terminal.plain import PlainScreen

Build = Callable[..., Call]


def build(name: str = "f", **parts: Any) -> Call:
    """A call of `m.NAME`: `given`, `read`, `changed`, `returned` and so on as plain data."""
    place = Location("m.py", parts.pop("line", 3))
    function = Function(f"m.{name}", name, "m", place)
    rule = Rule(function.name, function.name, place, parts.pop("source", ""))
    value = parts.pop("returned", None)
    kind = parts.pop("kind", OutcomeKind.RETURNED)
    outcome = Outcome(
        kind,
        None if value is None else decode_value(value),
        tuple(decode_value(each) for each in parts.pop("yielded", ())),
        parts.pop("raised_at", None),
    )
    given = parts.pop("given", {})
    read = parts.pop("read", {})
    changed = parts.pop("changed", {})
    return Call(
        function,
        rule,
        outcome,
        tuple(Binding(name, decode_value(each)) for name, each in given.items()),
        tuple(Binding(name, decode_value(each)) for name, each in read.items()),
        tuple(Effect(name, *_both(pair)) for name, pair in changed.items()),
        **parts,
    )


def _both(pair: tuple[Any, Any]) -> list[Any]:
    return [None if each is None else decode_value(each) for each in pair]


@pytest.fixture
def call() -> Build:
    return build


class Typed(io.StringIO):
    """Lines as if somebody typed them."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def small() -> State:
    """main (1) calls f (2), which calls g (3) and g (4), and h (5), which calls g (6)."""
    rows = [
        (1, None, build("main", returned=9)),
        (2, 1, build("f", given={"x": 1}, returned=[1, 2])),
        (3, 2, build("g", given={"x": 1}, returned=1)),
        (4, 2, build("g", given={"x": 2}, returned=2)),
        (5, 1, build("h", given={"x": 3}, returned=3)),
        (6, 5, build("g", given={"x": 3}, returned=3)),
    ]
    tree = tree_of([Node(node, parent, each) for node, parent, each in rows])
    return State(tree, facts=Facts(strategy="top-down"))


Session = Callable[..., tuple[str, SessionDriver, str]]


@pytest.fixture
def session() -> Session:
    """Hold a session: all that was seen, the session, and why it was left."""

    def hold(state: State, *lines: str, typed: bool = False, **more: Any) -> Any:
        text = "".join(line + "\n" for line in lines)
        output = io.StringIO()
        screen = PlainScreen(Typed(text) if typed else io.StringIO(text), output)
        debugging = SessionDriver(state, notify=screen.note, **more)
        _, left = converse(debugging, screen, debugging.start())
        return output.getvalue(), debugging, left

    return hold
