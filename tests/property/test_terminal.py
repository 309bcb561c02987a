"""Laws of the terminal interface: nothing that is typed can break it, and nothing is lost."""

from __future__ import annotations

import contextlib
import io
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from whence.app.session_driver import SessionDriver
from whence.errors import UsageError, WhenceError
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
from whence.model.question import Question
from whence.model.value import FULL, Kind, Limits, Value, show
from whence.model.verdict import Verdict
from whence.ports import Tree
from whence.printable_text import printable
from whence.report.changes import changes
from whence.search.registry import STRATEGIES
from whence.search.space import Switches
from whence.session import log_entries
from whence.session.events import Exhausted, Found
from whence.session.state import Facts, State
from whence.store.session_log import SessionLog
from whence.testing.trees import partly_implicit, random_parents, tree_from_parents
from whence.tree.codec import decode_value
from whence.tree.column_tree import Node, tree_of
from whence.ui.terminal.commands import SPECS, parse
from whence.ui.terminal.completion import completer
from whence.ui.terminal.loop import converse
from whence.ui.terminal.multiline import brief, fit, fold
from whence.ui.terminal.plain import PlainScreen
from whence.ui.terminal.question_text import question_lines

# --- what is typed ------------------------------------------------------------------------------

WORDS = [word for spec in SPECS for word in spec.words]
BROWSING = ["ls", "cd", "cd ..", "cd /", "pwd", "print", "print depth 2", "mark", "browse"]
PATHS = [
    "result", "result[0]", "result[1].name", "x", "arg1", "xs[3]", "after xs", "raised", "a.b[",
    "['k']", "yielded[0]", "before n", "[0]", ".name", "..", "/",
]  # fmt: skip
NAMES = ["f0", "made.f1", "m", "m.py", "module", "function", "file", "on", "off", "compression"]

arguments = st.one_of(
    st.sampled_from([*PATHS, *NAMES, *STRATEGIES, *Switches.__dataclass_fields__, *WORDS]),
    st.integers(0, 40).map(str),
    st.text(max_size=12),
)
commands = st.builds(
    lambda word, rest: " ".join([word, *rest]),
    st.sampled_from([*WORDS, *BROWSING]),
    st.lists(arguments, max_size=3),
)
answers = st.sampled_from(["y", "n", "i", "?", "", "1", "2", "undo", "redo", "reject", "rest"])
lines = st.lists(st.one_of(answers, commands, st.text(max_size=20)), max_size=40)


class Typed(io.StringIO):
    def isatty(self) -> bool:
        return True


# --- what is debugged ---------------------------------------------------------------------------

atoms = st.one_of(st.none(), st.booleans(), st.integers(-5, 500), st.text(max_size=30))
values: st.SearchStrategy[Any] = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.builds(lambda items, more: {"tuple": items, "more": more}, st.lists(inner, max_size=3),
                  st.integers(0, 3)),
        st.builds(lambda items: {"dict": [[k, v] for k, v in items.items()]},
                  st.dictionaries(st.text("abc' .[]", max_size=4), inner, max_size=4)),
        st.builds(lambda items: {"object": "P", "fields": items},
                  st.dictionaries(st.sampled_from(["name", "x", "y"]), inner, max_size=3)),
        st.builds(lambda number: {"same": number}, st.integers(0, 3)),
    ),
    max_leaves=12,
)  # fmt: skip


@st.composite
def calls(draw: st.DrawFn) -> Call:
    number = draw(st.integers(0, 3))
    place = Location("m.py", number + 1) if number else None
    function = Function(f"m.f{number}", f"f{number}", "m" if number > 1 else "", place)
    rule = Rule(function.name, function.name, place, "def f():\n    pass" if number == 2 else "")
    yielded = tuple(map(decode_value, draw(st.lists(values, max_size=2))))
    result = draw(st.one_of(st.none(), values.map(decode_value)))
    bindings = st.dictionaries(st.sampled_from(["x", "xs", "n", ""]), values, max_size=3)
    effects = st.dictionaries(
        st.sampled_from(["xs", "n", "self.a"]), st.tuples(values, values), max_size=2
    )
    return Call(
        function,
        rule,
        Outcome(draw(st.sampled_from(OutcomeKind)), result, yielded, place),
        tuple(Binding(name, decode_value(each)) for name, each in draw(bindings).items()),
        tuple(Binding(f"r{name}", decode_value(each)) for name, each in draw(bindings).items()),
        tuple(
            Effect(name, decode_value(before), decode_value(after))
            for name, (before, after) in draw(effects).items()
        ),
        draw(st.text(max_size=20)),
        place,
        draw(st.sampled_from(["", "", "f 1 = 2"])),
    )


class SomeOrigins:
    """Says now and then where a part came from."""

    def __init__(self, nodes: list[int]) -> None:
        self._nodes = nodes

    def origin(self, node: int, part: MarkedPart) -> Origin:
        if len(str(part.mark)) % 2:
            return Origin(None, unknown="nobody knows")
        return Origin(self._nodes[-1], (self._nodes[-1],), expression="x + 1")

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        return Influence(frozenset(self._nodes), complete=False) if part.is_input else None

    def with_tree(self, tree: Tree) -> SomeOrigins:
        return self


class Moody:
    """An oracle that knows some answers and breaks at others."""

    name = "moody"

    def judge(self, question: Question) -> Verdict | None:
        if question.node % 7 == 3:
            raise WhenceError("the oracle is in a mood")
        return Verdict.RIGHT if question.node % 7 == 5 else None


@st.composite
def states(draw: st.DrawFn) -> State:
    count = draw(st.integers(1, 12))
    parents = random_parents(random.Random(draw(st.integers(0, 99))), count)
    strategy = draw(st.sampled_from(list(STRATEGIES)))
    facts = Facts(strategy=strategy)
    shape = draw(st.integers(0, 2))
    if shape < 2:
        tree = tree_from_parents(parents)
        return State(partly_implicit(tree, 1) if shape else tree, facts=facts)
    nodes = [
        Node(number + 1, parent + 1 if number else None, draw(calls()))
        for number, parent in enumerate(parents)
    ]
    provenance = SomeOrigins([node.id for node in nodes]) if draw(st.booleans()) else None
    try:
        return State(tree_of(nodes), provenance, facts=facts)
    except WhenceError:
        return State(tree_from_parents(parents), facts=facts)


@contextlib.contextmanager
def elsewhere() -> Iterator[Path]:
    """A folder of its own, because `save` writes files."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


@given(states(), lines, st.booleans(), st.booleans(), st.booleans())
def test_nothing_that_is_typed_breaks_the_session(
    state: State, typed: list[str], person: bool, moody: bool, kept: bool
) -> None:
    text = "".join(line + "\n" for line in typed)
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="ascii" if moody else "utf-8", newline="\n")
    screen = PlainScreen(Typed(text) if person else io.StringIO(text), output)
    with elsewhere() as folder:
        log = (
            SessionLog(folder / "kept" / "session", state.tree, "t", log_entries) if kept else None
        )
        debugging = SessionDriver(state, [Moody()] if moody else [], log=log, notify=screen.note)
        try:
            start = debugging.start()
        except WhenceError:
            return
        outcome, left = converse(debugging, screen, start)
        if log is not None:
            log.close()
    assert isinstance(outcome, Found | Exhausted) == (left == "")
    assert all(byte >= 0x20 or byte == 0x0A for byte in raw.getvalue())


@given(st.text())
def test_every_line_means_something_or_is_told(text: str) -> None:
    with contextlib.suppress(UsageError):
        parse(text)


@given(calls(), st.one_of(commands, st.text(max_size=15)))
def test_whatever_is_proposed_begins_with_what_was_typed(call: Call, text: str) -> None:
    tree = tree_from_parents([-1, 0])
    typed = " ".join(text.lstrip().split(" ", maxsplit=1)[:1])
    for proposal in completer(tree, call)(text):
        assert proposal.startswith(typed)


@given(values.map(decode_value), st.integers(20, 100))
def test_folding_loses_nothing(value: Value, width: int) -> None:
    def bare(text: str) -> str:
        return text.replace(" ", "").replace(",", "").replace("\n", "")

    folded = list(fold(value, FULL, width))
    assert bare("".join(line.strip(" ") for line in folded)) == bare(show(value, FULL))


@given(values.map(decode_value), st.integers(40, 100), st.integers(2, 9))
def test_a_value_takes_no_more_lines_than_it_may(value: Value, width: int, most: int) -> None:
    assert len(fit(value, Limits(), width, most, before="x = ")) <= most


@given(calls(), st.integers(60, 120))
def test_a_question_fits_on_the_screen(call: Call, width: int) -> None:
    question = Question(1, call, "auto", "", 9, 9.0, 3)
    for line in question_lines(question, 1, width):
        if "printed" not in line.text and "|" not in line.text:
            assert len(line.text) <= width
    assert len(brief(call, width)) <= width


@given(values.map(decode_value), values.map(decode_value))
def test_values_without_changes_are_shown_alike(one: Value, other: Value) -> None:
    assert list(changes(one, one)) == []
    if not list(changes(one, other)):
        assert show(one, FULL) == show(other, FULL)
    if show(one, FULL) != show(other, FULL):
        assert list(changes(one, other))


@given(st.text())
def test_what_is_shown_stays_in_its_line(text: str) -> None:
    assert "\n" not in printable(text)
    assert len(printable(text).splitlines()) <= 1
    assert "\x1b" not in printable(text)


def test_the_kinds_of_values_are_all_drawn() -> None:
    drawn = {"tuple", "list", "dict", "object", "same", "atom"}
    assert {kind.value for kind in Kind} - drawn == {"set", "term"}
