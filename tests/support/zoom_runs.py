"""Zooms into calls in this process, and answers the questions about their steps.

The answers come from the repaired function: each piece of its text runs from the state in which the
buggy one was, and its result is the intended one.
"""

from __future__ import annotations

import ast
import builtins
import copy
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from operator import is_not
from types import FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from whence.app.session_driver import SessionDriver
from whence.langs.python.record.snapshot import Snapshots
from whence.langs.python.record.summaries import SUMMARIES
from whence.langs.python.source.code_locations import first_line, functions
from whence.langs.python.zoom.function_body import FunctionBody, find_body
from whence.langs.python.zoom.instrumentation import ENTER
from whence.langs.python.zoom.segments import Segment, SegmentEnding, SegmentKind, read_segments
from whence.langs.python.zoom.step_log import StepLog
from whence.langs.python.zoom.step_recorder import (
    MOST_EVENTS,
    STATE_BOUND,
    StepRecorder,
    ValueTables,
    ZoomRequest,
)
from whence.langs.python.zoom.step_tree import ZoomedCall
from whence.langs.python.zoom.step_variables import StepVariables
from whence.model.call import Call, Function, Location, Mark, Outcome, OutcomeKind, Rule
from whence.model.value import FULL, Value, show
from whence.model.verdict import Answer, Verdict
from whence.ports import Provenance
from whence.report.changes import changes
from whence.session.events import Answered, Ask, StrategyChosen
from whence.session.events import Outcome as Reaction
from whence.session.state import Options
from whence.session.state import State as Session
from whence.tree.column_tree import ColumnTree, Node, tree_of

FILE = "prog.py"
Scope = dict[str, Any]


class Copying(StepRecorder):
    """Also copies the variables at each event, to start from them again."""

    def __init__(
        self, request: ZoomRequest, here: Callable[[], int], ended: Callable[[dict[str, Any]], None]
    ):
        super().__init__(request, here, lambda: 0, ended)
        self.kept: dict[int, Scope] = {}

    def _log_event(self, kind: str, number: int, value: int | None, frame: FrameType) -> None:
        self.kept[len(self._events)] = _copied(dict(self._variables(frame)))
        super()._log_event(kind, number, value, frame)

    def at(self, place: int) -> Scope:
        """A copy of the variables as they were at an event."""
        while place not in self.kept:
            place -= 1
        return _copied(self.kept[place])


def _copied(scope: Scope) -> Scope:
    memo: dict[int, Any] = {}
    return {name: _copy(each, memo) for name, each in scope.items()}


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    """A copy of a value by what it holds, whatever its class says of copies: an object that is
    being made has not got all that this would need."""
    if id(value) in memo:
        return memo[id(value)]
    kind = type(value)
    if isinstance(value, ModuleType | FunctionType | MethodType | type):
        return value
    made: Any
    if kind is list:
        memo[id(value)] = made = []
        made.extend(_copy(each, memo) for each in value)
    elif kind is dict:
        memo[id(value)] = made = {}
        made.update({_copy(key, memo): _copy(each, memo) for key, each in value.items()})
    elif kind is tuple:
        made = tuple(_copy(each, memo) for each in value)
        memo[id(value)] = made = made if any(map(is_not, made, value)) else value
    elif (made := _without_contents(kind)) is not None:
        memo[id(value)] = made
        for name in _slots(kind):
            if hasattr(value, name):
                object.__setattr__(made, name, _copy(object.__getattribute__(value, name), memo))
        if hasattr(value, "__dict__"):
            vars(made).update({name: _copy(each, memo) for name, each in vars(value).items()})
    else:
        try:
            memo[id(value)] = made = copy.deepcopy(value, memo)
        except Exception:
            return value
    return made


_IN_PYTHON, _IN_C = 1 << 9, 1 << 8
"""Flags of classes: made while the program runs; and not to be changed."""


def _without_contents(kind: type) -> Any:
    """An object of a class that is written in Python; None if it is not."""
    flags = [each.__flags__ for each in kind.__mro__ if each is not object]
    in_python = all(each & _IN_PYTHON and not each & _IN_C for each in flags)
    return object.__new__(kind) if in_python else None


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for each in kind.__mro__:
        named = vars(each).get("__slots__", ())
        found += [named] if isinstance(named, str) else [*named]
    return [name for name in found if name not in ("__dict__", "__weakref__")]


@dataclass
class Followed:
    """A call of a program that ran in this process."""

    zoomed: ZoomedCall
    watch: Copying
    namespace: Scope
    entered: int
    """How many calls of the function began."""


class OneCall:
    """Watches the `nth` call of a function, and raises `then` when that has logged enough."""

    def __init__(
        self, body: FunctionBody, name: str, file: str, first: int, nth: int, most: int,
        then: BaseException | None = None,
    ):  # fmt: skip
        self._body, self._name, self._file, self._then = body, name, file, then
        self._logs: list[dict[str, Any]] = []
        self.entered = 0
        request = ZoomRequest(nth, file, first, name, StepVariables(body).of_module, most)
        self.watch = Copying(request, self._here, self._ended)

    def _here(self) -> int:
        self.entered += 1
        return self.entered

    def _ended(self, log: dict[str, Any]) -> None:
        self._logs.append(log)
        if self._then is not None:
            raise self._then

    def followed(self, namespace: Scope) -> Followed | None:
        """What the call did; None if it did not come."""
        if not self._logs:
            return None
        log = StepLog(self._logs[0])
        steps = read_segments(log, self._body)
        zoomed = ZoomedCall(log, self._body, steps, recorded(self._name), 1, self._file)
        return Followed(zoomed, self.watch, namespace, self.entered)


def follow(
    source: str, name: str, run: Callable[[Scope], object] | str, *, nth: int = 1,
    most: int = MOST_EVENTS, file: str = FILE, module: str = "program",
    then: BaseException | None = None,
) -> Followed:  # fmt: skip
    """What the `nth` call of a function does. `run`: an expression to work out, if not a call.

    `then` is raised when it has logged enough, where a process of its own would end.
    """
    first = next(first_line(node) for each, node in functions(ast.parse(source)) if each == name)
    one = OneCall(find_body(source, first, name), name, file, first, nth, most, then)
    namespace: Scope = {"__name__": module}
    try:
        exec(one.watch.compiled(source, file), namespace)
        if isinstance(run, str):
            eval(run, namespace)
        else:
            run(namespace)
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt):
            raise
    followed = one.followed(namespace)
    if followed is None:
        raise LookupError(f"{name} was called {one.entered} times")
    return followed


def recorded(name: str) -> ColumnTree:
    """A recording of one call, for what is gone into without one."""
    function = Function(f"program.{name}", name, "program", Location(FILE, 1))
    call = Call(function, Rule(name, name), Outcome(OutcomeKind.RETURNED))
    return tree_of([Node(1, None, call)])


def session(
    tree: ColumnTree, strategy: str = "auto", provenance: Provenance | None = None
) -> tuple[SessionDriver, Reaction]:
    """A session about a call that is known to be wrong."""
    options = Options(ask_top=False, confirm_top=False)
    debugging = SessionDriver(Session(tree, provenance, options=options))
    return debugging, debugging.start([StrategyChosen(strategy)] if strategy != "auto" else [])


class Intended:
    """Knows what the repaired text does, piece by piece."""

    def __init__(self, followed: Followed, repaired: str, name: str):
        self._followed = followed
        self._log = followed.zoomed.log
        self.tree, self.provenance = followed.zoomed.searched()
        first = next(
            first_line(node) for each, node in functions(ast.parse(repaired)) if each == name
        )
        self._body = find_body(repaired, first, name)
        self._steps: Any = self.tree.sources[0]

    def diagnose(self, strategy: str, *, marks: bool = False) -> tuple[SessionDriver, Reaction]:
        """Answer all questions; `marks`: with the part that is wrong, where there is one."""
        debugging, outcome = session(self.tree, strategy, self.provenance)
        while isinstance(outcome, Ask):
            node = outcome.question.node
            verdict = self.judge(node)
            part = self.wrong_part(node) if marks and verdict is Verdict.WRONG else None
            outcome = debugging.send(Answered((Answer(node, verdict, part),)))
        return debugging, outcome

    def is_wrong(self) -> bool:
        """Whether the call as a whole is."""
        return self._judge(self._followed.zoomed.whole) is Verdict.WRONG

    def judge(self, node: int) -> Verdict:
        """Whether a step is what the repaired text would have made of the same state."""
        return self._judge(self._segment(node))

    def _segment(self, node: int) -> Segment:
        segment: Segment = self._steps.segments[int(self.tree.details[self.tree.position(node)])]
        return segment

    def wrong_part(self, node: int) -> Mark | None:
        """A part of what came of a wrong step that is not what the repaired text makes of it."""
        segment = self._segment(node)
        call = self.tree.call(self.tree.position(node))
        how, value, after, out = self._run(segment)
        for effect in call.effects:
            if effect.target in after and effect.after is not None:
                meant = _value(after[effect.target])
                for change in changes(meant, effect.after):
                    steps = change.steps if change.after is not None else change.steps[:-1]
                    return Mark(effect.target, steps)
        for number, given in enumerate(call.outcome.yielded):
            if number >= len(out) or show(given, FULL) != show(_value(out[number]), FULL):
                return Mark("yielded", (f"[{number}]",))
        if call.outcome.value is not None and (how, value) != self._ended(segment):
            return Mark("result")
        return None

    def _judge(self, segment: Segment) -> Verdict:
        log = self._log
        how, value, after, out = self._run(segment)
        actual = {name: self._shown(each) for name, each in log.states[segment.end].items()}
        alive = self._alive(segment)
        code = {name for name, each in actual.items() if each.startswith("<function")}
        names = [name for name in {*after, *actual} if name in alive and name not in code]
        names = [name for name in names if not self._is_kept(segment, name, after)]
        same = all(actual.get(name) == _written(after[name]) for name in names if name in after)
        gone = [name for name in names if name not in after]
        yielded = [self._shown(each) for each in log.yielded(segment.first, segment.end)]
        is_right = (
            same and not gone and (how, value) == self._ended(segment)
            and list(map(_written, out)) == yielded
        )  # fmt: skip
        return Verdict.RIGHT if is_right else Verdict.WRONG

    def _is_kept(self, segment: Segment, name: str, after: Scope) -> bool:
        """Whether a variable was what it had been, and should be. A copy may look otherwise."""
        before, ended = (
            self._log.states[place].get(name) for place in (segment.first, segment.end)
        )
        if before != ended or name not in after:
            return False
        copied = self._followed.watch.at(segment.first)
        return name in copied and _written(copied[name]) == _written(after[name])

    def _alive(self, segment: Segment) -> frozenset[str]:
        variables = StepVariables(self._followed.zoomed.body)
        if segment.kind is SegmentKind.CALL:
            return variables.parameters | variables.outer
        alive: frozenset[str] = self._steps.alive(segment)
        return alive

    def _shown(self, number: int) -> str:
        return show(self._log.value(number), FULL) + str(sorted(self._log.twice(number)))

    def _ended(self, segment: Segment) -> tuple[str, str]:
        value = "" if segment.value is None else self._shown(segment.value)
        if segment.kind in (SegmentKind.TEST, SegmentKind.ITEMS):
            return "value", value
        if segment.ending is SegmentEnding.RAISE:
            return "raise", _kind_of_exception(value.partition("(")[0])
        if segment.ending is SegmentEnding.RETURN or segment.kind is SegmentKind.CALL:
            return "return", value or "None"
        return ("" if segment.ending is None else segment.ending.value), ""

    def _run(self, segment: Segment) -> tuple[str, str, Scope, list[Any]]:
        """The same piece of the repaired text from the same state."""
        before = self._followed.watch.at(segment.first)
        is_async = isinstance(self._body.owner, ast.AsyncFunctionDef)
        scope = dict(self._followed.namespace)
        exec(compile(_piece(self._body, segment, list(before), is_async), FILE, "exec"), scope)
        out: list[Any] = []
        builtins.__dict__[ENTER] = lambda: False  # what it calls of itself runs as always
        try:
            found = scope["__piece"](out, self._items(segment), **before)
            if is_async:
                found = _finished(found)
        except Exception as raised:
            return "raise", _kind_of_exception(type(raised).__name__), _left_by(raised), out
        finally:
            del builtins.__dict__[ENTER]
        how, value, after = found
        if segment.kind is SegmentKind.ROUND and how == "continue":
            how = ""
        if segment.kind is SegmentKind.CALL and how == "":
            how = "return"
        shown = _written(value) if how in ("return", "value") else ""
        after = {name: each for name, each in after.items() if not name.startswith("__")}
        return how, shown, after, out

    def _items(self, segment: Segment) -> list[Any]:
        """What a loop still has to go over: what was bound in the rounds that came."""
        node = self._body.statements[segment.number].node if segment.number >= 0 else None
        if segment.kind is not SegmentKind.ROUNDS or not isinstance(node, ast.For):
            return []
        whole = self._literal(segment)
        if whole is not None:
            return whole[segment.round - 1 :]
        items = []
        above: Segment | None = segment
        while above is not None:
            one = next((each for each in above.children if each.kind is SegmentKind.ROUND), None)
            if one is not None:
                items.append(_value_of(node.target, self._followed.watch.at(one.first)))
            above = next((each for each in above.children if each.kind is SegmentKind.ROUNDS), None)
        return items

    def _literal(self, segment: Segment) -> list[Any] | None:
        """All items, where they are numbers or texts: also those that never came."""
        pending, chosen = [self._followed.zoomed.whole], None
        while pending:
            each = pending.pop()
            is_its = each.kind is SegmentKind.ITEMS and each.number == segment.number
            later = chosen is None or each.first > chosen.first
            if is_its and each.first <= segment.first and later:
                chosen = each
            pending += each.children
        assert chosen is not None and chosen.value is not None
        try:
            shown = show(self._log.value(chosen.value), FULL)
            return list(eval(shown, {"__builtins__": {"range": range}}))
        except (SyntaxError, NameError, TypeError):
            return None


def _left_by(raised: BaseException) -> Scope:
    """The variables of a piece when an exception left it."""
    frames = [each for each, _ in traceback.walk_tb(raised.__traceback__)]
    piece = next(each for each in frames if each.f_code.co_name == "__piece")
    return {name: each for name, each in piece.f_locals.items() if not name.startswith("__")}


def _kind_of_exception(name: str) -> str:
    """A variable that is not there is local where it stands, and none at all in a piece."""
    return "NameError" if name == "UnboundLocalError" else name


def _finished(coroutine: Any) -> Any:
    try:
        while coroutine.send(None) is None:  # it only lets others go first
            pass
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits for something")


def _value_of(target: ast.expr, scope: Scope) -> Any:
    return eval(ast.unparse(target), {}, scope)


def _written(value: Any) -> str:
    """A value as it is shown to a person."""
    log = _log_of(value)
    return show(log.value(0), FULL) + str(sorted(log.twice(0)))


def _value(value: Any) -> Value:
    """A value as it is seen in a call."""
    return _log_of(value).value(0)


def _log_of(value: Any) -> StepLog:
    numbers = ValueTables()
    written = Snapshots(numbers, SUMMARIES).write(value, STATE_BOUND)
    fields = {
        **numbers.as_json(), "values": [written.hex()], "variables": [], "events": [],
        "why": "left",
    }  # fmt: skip
    return StepLog(fields)


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

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        return ast.Pass()

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        out = ast.Attribute(ast.Name("__out", ast.Load()), "append", ast.Load())
        return ast.Call(out, [node.value or ast.Constant(None)], [])

    def visit_For(self, node: ast.For) -> ast.stmt:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.stmt:
        return self._loop(node)

    def _loop(self, node: ast.For | ast.While) -> ast.stmt:
        self._loops += 1
        node.body = [self.visit(each) for each in node.body]
        self._loops -= 1
        node.orelse = [self.visit(each) for each in node.orelse]
        return node


def _end(how: str, value: ast.expr | None = None) -> ast.stmt:
    state = ast.parse("{**locals()}", mode="eval").body
    return ast.Return(
        ast.Tuple([ast.Constant(how), value or ast.Constant(None), state], ast.Load())
    )


def _piece(body: FunctionBody, segment: Segment, names: list[str], is_async: bool) -> ast.Module:
    """A function that takes variables and does what a piece of the text does with them."""
    node: Any = body.owner if segment.number < 0 else body.statements[segment.number].node
    parts: list[ast.stmt]
    if segment.kind in (SegmentKind.TEST, SegmentKind.ITEMS):
        header = node.test if segment.kind is SegmentKind.TEST else node.iter
        parts = [_end("value", copy.deepcopy(header))]
    else:
        if segment.kind in (SegmentKind.ROUND, SegmentKind.CALL):
            chosen = node.body
        elif segment.kind is SegmentKind.ROUNDS:
            chosen = [node]
        else:
            parent = body.statements[segment.number].parent
            pieces = body.statements[segment.number : segment.last + 1]
            chosen = [each.node for each in pieces if each.parent == parent]
        ends = _Ends()
        parts = [ends.visit(copy.deepcopy(each)) for each in chosen]
        if segment.kind is SegmentKind.ROUNDS and isinstance(node, ast.For):
            parts[0].iter = ast.Name("__items", ast.Load())  # type: ignore[attr-defined]
    text = f"{'async ' * is_async}def __piece({', '.join(['__out', '__items', *names])}): pass"
    module = ast.parse(text)
    [function] = module.body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    function.body = [*parts, _end("")]
    return ast.fix_missing_locations(module)
