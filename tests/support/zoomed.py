"""Calls that are gone into in this process, and answers to what is asked about them.

The answers are those of somebody who knows what the function should do: each piece of the repaired
text is run from the state that the buggy one was in, and what it comes to is what was intended.
"""

from __future__ import annotations

import ast
import builtins
import copy
from dataclasses import dataclass
from typing import Any

from whence.app import Debugging
from whence.langs.python.zoom.body import Body, find_body
from whence.langs.python.zoom.execution import How, Segment, State, Told, What, read_call
from whence.langs.python.zoom.instrumenting import instrumented
from whence.langs.python.zoom.steps import Zoomed
from whence.langs.python.zoom.variables import Variables
from whence.langs.python.zoom.watching import MOST_EVENTS, Watch, Wish
from whence.model.call import Call, Function, Location, Outcome, OutcomeKind, Rule
from whence.model.value import FULL, Value, show
from whence.model.verdict import Answer, Verdict
from whence.session.events import Answered, Ask, StrategyChosen
from whence.session.events import Outcome as Reaction
from whence.session.state import Options
from whence.session.state import State as Session
from whence.tree.memory import ColumnTree, Node, tree_of

FILE = "prog.py"


def follow(source: str, name: str, call: str, *, nth: int = 1, most: int = MOST_EVENTS) -> Zoomed:
    """What the `nth` call of a function does when an expression of the program is worked out."""
    lines = source.splitlines()
    first = next(n for n, line in enumerate(lines, 1) if f"def {name.rpartition('.')[2]}(" in line)
    body = find_body(source, first, name)
    found: list[dict[str, Any]] = []
    count = 0

    def here() -> int:
        nonlocal count
        count += 1
        return count

    wish = Wish(nth, FILE, first, name, Variables(body).of_module, most)
    watch = Watch(wish, here, lambda: 0, found.append)
    watch.install()
    namespace: dict[str, Any] = {"__name__": "program"}
    try:
        exec(instrumented(source, FILE, first, name), namespace)
        try:
            eval(call, namespace)
        except Exception:
            pass
    finally:
        for hook in [each for each in builtins.__dict__ if each.startswith("@zoom.")]:
            del builtins.__dict__[hook]
    told = Told(found[0])
    return Zoomed(told, body, read_call(told, body), _recorded(name), 1, FILE)


def _recorded(name: str) -> ColumnTree:
    function = Function(f"program.{name}", name, "program", Location(FILE, 1))
    call = Call(function, Rule(name, name), Outcome(OutcomeKind.RETURNED))
    return tree_of([Node(1, None, call)])


def session(tree: ColumnTree, strategy: str = "auto") -> tuple[Debugging, Reaction]:
    """A session about a call that is known to be wrong."""
    debugging = Debugging(Session(tree, options=Options(ask_top=False, confirm_top=False)))
    return debugging, debugging.start([StrategyChosen(strategy)] if strategy != "auto" else [])


@dataclass
class Intended:
    """Knows what the repaired text does, piece by piece."""

    zoomed: Zoomed
    tree: ColumnTree
    repaired: str

    def __post_init__(self) -> None:
        name = self.zoomed.body.owner.name  # type: ignore[union-attr]
        first = self.zoomed.body.owner.lineno
        self._body = find_body(self.repaired, first, name)
        self._namespace: dict[str, Any] = {"__name__": "program"}
        exec(compile(self.repaired, FILE, "exec"), self._namespace)

    def diagnose(self, strategy: str) -> tuple[Debugging, Reaction]:
        """Answer all questions."""
        debugging, outcome = session(self.tree, strategy)
        while isinstance(outcome, Ask):
            answer = Answer(outcome.question.node, self.judge(outcome.question.node))
            outcome = debugging.send(Answered((answer,)))
        return debugging, outcome

    def judge(self, node: int) -> Verdict:
        """Whether a step is what the repaired text would have made of the same state."""
        position = self.tree.position(node)
        steps: Any = self.tree.sources[0]
        segment: Segment = steps.segments[int(self.tree.details[position])]
        told = self.zoomed.told
        before = _objects(told, told.states[segment.first])
        how, value, after, out = self._run(segment, before)
        actual = _objects(told, told.states[segment.end])
        alive = steps._alive(segment)
        same = all(
            actual.get(name, _GONE) == after.get(name, _GONE)
            for name in alive
            if name in actual or name in after
        )
        yielded = [_object(told.value(each)) for each in told.yielded(segment.first, segment.end)]
        is_right = same and (how, value) == self._ended(segment) and out == yielded
        return Verdict.RIGHT if is_right else Verdict.WRONG

    def _ended(self, segment: Segment) -> tuple[str, Any]:
        told = self.zoomed.told
        if segment.what in (What.TEST, What.ITEMS):
            assert segment.value is not None
            return "value", _object(told.value(segment.value))
        if segment.how is How.RETURN:
            assert segment.value is not None
            return "return", _object(told.value(segment.value))
        if segment.how is How.RAISE:
            shown = "" if segment.value is None else told.value(segment.value).text
            return "raise", shown
        return ("" if segment.how is None else segment.how.value), None

    def _run(self, segment: Segment, before: dict[str, Any]) -> tuple[str, Any, Any, list[Any]]:
        """The same piece of the repaired text from the same state."""
        is_async = isinstance(self._body.owner, ast.AsyncFunctionDef)
        made = _piece(self._body, segment, sorted(before), is_async)
        scope = dict(self._namespace)
        exec(compile(made, FILE, "exec"), scope)
        out: list[Any] = []
        given = copy.deepcopy(before)
        items = self._items(segment)
        try:
            found = scope["__piece"](out, items, **given)
            if is_async:
                try:
                    found.send(None)
                except StopIteration as done:
                    found = done.value
        except Exception as raised:
            return "raise", type(raised).__name__, given, out
        how, value, after = found
        if how == "value" and f"<{type(value).__name__}>" == self._ended(segment)[1]:
            value = f"<{type(value).__name__}>"  # what is in it shows in the rounds
        if how == "continue" and segment.what is What.ROUND:
            how = ""
        after = {name: each for name, each in after.items() if not name.startswith("__")}
        return how, value, after, out

    def _items(self, segment: Segment) -> list[Any]:
        """What a loop still has to go over."""
        node = self._body.statements[segment.number].node
        if segment.what is not What.ROUNDS or isinstance(node, ast.While):
            return []
        pending, chosen = [self.zoomed.whole], None
        while pending:
            each = pending.pop()
            if each.what is What.ITEMS and each.number == segment.number:
                if each.first <= segment.first:
                    chosen = each if chosen is None or each.first > chosen.first else chosen
            pending += each.children
        assert chosen is not None and chosen.value is not None
        items = _object(self.zoomed.told.value(chosen.value))
        if isinstance(items, str) and items.startswith("<"):
            steps: Any = self.tree.sources[0]
            to_come = steps._to_come(segment)
            return list(_object(to_come))
        return list(items)[segment.round - 1 :]


class _Gone:
    pass


_GONE = _Gone()


def _objects(told: Told, state: State) -> dict[str, Any]:
    found = {}
    for name, number in state.items():
        value = told.value(number)
        if not value.text.startswith("<") and name.isidentifier():
            found[name] = _object(value)
    return found


def _object(value: Value) -> Any:
    text = show(value, FULL)
    try:
        return eval(text, {"__builtins__": {"set": set, "range": range, "frozenset": frozenset}})
    except (SyntaxError, NameError, TypeError):
        return text


class _Ends(ast.NodeTransformer):
    """Makes all ways out of a piece the end of a function."""

    def __init__(self) -> None:
        self._loops = 0

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return _end("return", node.value or ast.Constant(None))

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        return node if self._loops else _end("break")

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        return node if self._loops else _end("continue")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        out = ast.Attribute(ast.Name("__out", ast.Load()), "append", ast.Load())
        return ast.Call(out, [node.value or ast.Constant(None)], [])

    def visit_For(self, node: ast.For) -> ast.stmt:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.stmt:
        return self._loop(node)

    def _loop(self, node: Any) -> Any:
        self._loops += 1
        node.body = [self.visit(each) for each in node.body]
        self._loops -= 1
        node.orelse = [self.visit(each) for each in node.orelse]
        return node


def _end(how: str, value: ast.expr | None = None) -> ast.stmt:
    state = ast.parse("{**locals()}", mode="eval").body
    return ast.Return(ast.Tuple([ast.Constant(how), value or ast.Constant(None), state], ast.Load()))


def _piece(body: Body, segment: Segment, names: list[str], is_async: bool) -> ast.Module:
    node: Any = body.statements[segment.number].node
    parts: list[ast.stmt]
    if segment.what is What.TEST:
        parts = [_end("value", copy.deepcopy(node.test))]
    elif segment.what is What.ITEMS:
        parts = [_end("value", copy.deepcopy(node.iter))]
    elif segment.what is What.ROUND:
        parts = copy.deepcopy(node.body)
    elif segment.what is What.ROUNDS and isinstance(node, ast.For):
        loop = copy.deepcopy(node)
        loop.iter = ast.Name("__items", ast.Load())
        parts = [loop]
    else:
        last, parent = segment.last, body.statements[segment.number].parent
        chosen = body.statements[segment.number : last + 1]
        parts = [copy.deepcopy(each.node) for each in chosen if each.parent == parent]
    if segment.what not in (What.TEST, What.ITEMS):
        ends = _Ends()
        parts = [ends.visit(each) for each in parts]
    done = [*parts, _end("")]
    given = ast.parse(f"def f(__out, __items, {', '.join(names)}): pass").body[0]
    assert isinstance(given, ast.FunctionDef)
    kind: Any = ast.AsyncFunctionDef if is_async else ast.FunctionDef
    made = kind("__piece", given.args, done, [], None)
    if hasattr(given, "type_params"):
        made.type_params = []
    return ast.fix_missing_locations(ast.Module([made], []))
