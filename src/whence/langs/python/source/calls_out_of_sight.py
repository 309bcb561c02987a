"""Which calls and operations in the code of a function ran code that was not recorded.

A recorder sees the calls of user code. A library, compiled code, another process, code that was
left out, or code that `exec` runs in a namespace of its own may be at fault as well as the function
that called it. The text of that function names such calls, and the operations on objects of such
code (`box.total`, `box + 1`, `for x in box`, `with box`). Builtins and the standard library are
trusted, except where they run other code: processes, `exec`, foreign functions, methods of objects
that were passed to them.

Invariant: what may have run unrecorded code is named, unless its name alone says that it is a
method of a builtin type or of the standard library. What is named may not have run: it comes with
the lines of its text, at least one of which runs if it does.
"""

from __future__ import annotations

import ast
import builtins
import collections
import datetime
import decimal
import io
import logging
import pathlib
import random
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from whence.langs.python.source.classes_out_of_sight import (
    Classes,
    ClassSight,
    imported_names,
    is_elsewhere,
)
from whence.langs.python.source.local_bindings import local_bindings
from whence.langs.python.source.operations_out_of_sight import Operation, operation_of
from whence.langs.python.source.scopes import FunctionNode
from whence.langs.python.source.values_out_of_sight import Thing, Values
from whence.model.call import Call
from whence.model.value import Kind, Value

_RUN_CODE = frozenset({"exec", "eval", "__import__"})
_RUN_ELSEWHERE = frozenset({"concurrent", "ctypes", "multiprocessing", "runpy", "subprocess"})
"""Modules of the standard library that run other code."""
_OF_OS = re.compile(r"os\.(system|popen|fork\w*|exec\w*|spawn\w*|posix_spawn\w*)$")
_PLAIN_TYPES = (
    str, bytes, bytearray, list, dict, set, frozenset, tuple, int, float, complex, range, slice,
    collections.deque, collections.Counter, collections.OrderedDict, collections.defaultdict,
    datetime.datetime, datetime.timedelta, decimal.Decimal, io.StringIO, io.BytesIO,
    io.TextIOWrapper, logging.Logger, pathlib.Path, random.Random, re.Pattern, re.Match,
)  # fmt: skip
_PLAIN_METHODS = frozenset(name for kind in _PLAIN_TYPES for name in dir(kind))
_OF_OTHER_RUNS = frozenset(
    {
        "apply", "apply_async", "get", "get_nowait", "imap", "imap_unordered", "join", "map",
        "map_async", "put", "recv", "result", "run", "send", "starmap", "start", "submit", "wait",
    }
)  # fmt: skip
"""Methods of queues, pools, futures and connections: some builtin types have them too."""
_STORES = frozenset(
    {"append", "appendleft", "clear", "copy", "insert", "pop", "popleft", "reverse"}
)
"""Methods of builtin containers that run nothing of what they are given."""
_LOOKS = frozenset({"callable", "id", "object", "super", "type"})
"""Builtin functions that run nothing of what they are given."""
_TAKES_ITEMS = frozenset(
    {"bool", "enumerate", "iter", "len", "list", "map", "next", "reversed", "tuple", "zip"}
)
"""Builtin functions that run nothing of what is held by what they are given."""
_ASKS_CLASS = frozenset({"isinstance", "issubclass"})
"""Builtin functions that may run a method of their second argument only."""
_MAKES_PLAIN = (
    ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp,
    ast.SetComp,
)  # fmt: skip
_NOT_SEEN = (ClassSight.PARTLY, ClassSight.UNSEEN)
_LONGEST = 40
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
EARLIER_THREADS = "threads that began before the recording"


@dataclass(frozen=True)
class Sight:
    """What is known of the run beside the text."""

    recorded: Collection[str]
    """The names of the functions that the call called, as far as they were recorded."""
    functions: Collection[str]
    """The names of all recorded functions."""
    classes: Classes
    """The classes of the values that were recorded."""
    results: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """What the functions that the call called returned and yielded, by their names."""
    left: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """What these functions left in their arguments, by their names."""
    leaves_out: bool = False
    """Whether user code was left out by a pattern."""
    has_others: bool = False
    """Whether there were other threads or processes."""
    all_processes: bool = False
    """Whether the processes that the call started were recorded."""
    has_earlier_threads: bool = False
    """Whether other threads ran before the recording began."""


@dataclass
class _Scope:
    """The names of a function, and what its expressions hold."""

    call: Call
    sight: Sight
    imports: dict[str, str]
    """The dotted name that an imported name stands for."""
    defined: dict[str, list[ast.AST]]
    """Functions and classes of the module, methods included."""
    values: Values
    held: dict[str, ast.expr] = field(default_factory=dict)
    """What a local variable was set to last in the text."""
    named: set[ast.AST] = field(default_factory=set)
    """The expressions that are named."""
    _may_be_unseen: bool | None = None

    def is_unseen(self, thing: Thing, *, deeply: bool = False) -> bool:
        """Whether operations on it may run unrecorded code."""
        seen = self.values.is_deeply_seen(thing) if deeply else thing.seen
        if seen is None:
            return self.has_unseen
        return not seen

    @property
    def has_unseen(self) -> bool:
        """Whether objects of libraries or compiled code can be here at all."""
        if self._may_be_unseen is None:
            files = self.sight.classes.files
            self._may_be_unseen = self.sight.classes.has_unseen or any(
                is_elsewhere(ast.Name(name), self.imports, files)
                and dotted.rpartition(".")[2] not in self.sight.functions
                for name, dotted in self.imports.items()
            )
        return self._may_be_unseen


def _never_called(defined: Mapping[str, Sequence[ast.AST]], sight: Sight) -> set[str]:
    """The functions of the module that were recorded elsewhere and that the call did not call.

    Not those with a decorator: a cache gives a result without a call.
    """
    if sight.has_others:
        return set()
    return {
        name
        for name, nodes in defined.items()
        if name in sight.functions
        and name not in sight.recorded
        and all(isinstance(node, FunctionNode) and not node.decorator_list for node in nodes)
    }


def calls_out_of_sight(
    module: ast.Module, body: ast.AST, call: Call, sight: Sight
) -> dict[str, set[int]]:
    """The names of the calls and operations in a body that may have run unrecorded code, each with
    the lines on which it stands; without lines if it stands nowhere."""
    imports = imported_names(module)
    defined: dict[str, list[ast.AST]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.setdefault(node.name, []).append(node)
    own = list(_own_nodes(body))
    values = Values(
        call, imports, defined, sight.classes, sight.results, sight.left,
        call.function.module, local_bindings(own), _never_called(defined, sight),
    )  # fmt: skip
    scope = _Scope(call, sight, imports, defined, values)
    for node in own:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            _hold(scope, node.targets[0], node.value)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            _hold(scope, node.optional_vars, node.context_expr)
    functions = {id(node.func) for node in own if isinstance(node, ast.Call)}
    functions |= {id(node.value) for node in own if isinstance(node, ast.Attribute)}
    names: dict[int, str] = {}
    for number in range(len(own) - 1, -1, -1):  # inner expressions first
        node = own[number]
        name = _unseen(scope, node) if isinstance(node, ast.Call) else ""
        if not name and not (id(node) in functions and isinstance(node, ast.Name | ast.Attribute)):
            name = _unseen_operation(scope, node)
        if name:
            scope.named.add(node)
            names[number] = name
    frames = _nodes_of_other_frames(own)
    found: dict[str, set[int]] = {}
    for number in sorted(names):
        node = own[number]
        found.setdefault(names[number], set()).update(_lines(frames.get(node, node)))
    if sight.has_earlier_threads and _shares(call):
        found[EARLIER_THREADS] = set()
    return found


def _nodes_of_other_frames(own: Sequence[ast.AST]) -> dict[ast.AST, ast.AST]:
    """For each node in a comprehension the outermost one: its lines are those of another frame."""
    outermost: dict[ast.AST, ast.AST] = {}
    for node in own:  # outer ones first
        if isinstance(node, _COMPREHENSIONS) and node not in outermost:
            outermost.update(dict.fromkeys(ast.walk(node), node))
    return outermost


def _lines(node: ast.AST) -> range:
    first = getattr(node, "lineno", None)
    return range(0) if first is None else range(first, getattr(node, "end_lineno", first) + 1)


def _shares(call: Call) -> bool:
    """Whether other threads could reach something that a call used."""
    bindings = (*call.arguments, *call.reads)
    return bool(call.effects) or any(
        (part.kind is not Kind.ATOM and part.kind is not Kind.TUPLE) or part.text.startswith("<")
        for binding in bindings
        for _, part in binding.value.paths()
    )


def _hold(scope: _Scope, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name):
        scope.held[target.id] = value


def _own_nodes(body: ast.AST) -> Iterator[ast.AST]:
    """The nodes that a call of this body runs itself, in the order of the text."""
    inner: list[ast.AST] = (
        [body.body] if isinstance(body, ast.Lambda) else getattr(body, "body", [])
    )
    pending = list(reversed(inner))
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(list(_executed_parts(node)))


def _executed_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that are executed with it."""
    if isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *node.keywords)
    elif isinstance(node, _SCOPES):
        yield from getattr(node, "decorator_list", [])
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from node.args.defaults
        yield from (default for default in node.args.kw_defaults if default is not None)
    elif isinstance(node, ast.ExceptHandler):
        yield from node.body  # which exceptions it catches is decided by no method
    elif isinstance(node, ast.AnnAssign):
        yield from (part for part in (node.target, node.value) if part is not None)
    else:
        yield from ast.iter_child_nodes(node)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"


# --- operations ----------------------------------------------------------------------------------


def _unseen_operation(scope: _Scope, node: ast.AST) -> str:
    """What an operation that is no call is named by if it may have run unrecorded code."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _unseen_import_statement(scope, node)
    if isinstance(node, ast.Name):
        is_read = isinstance(node.ctx, ast.Load) and node.id in scope.imports
        return node.id if is_read and _is_passed_on(scope, node) else ""
    operation = operation_of(node)
    if operation is None or any(
        part in scope.named for operand in operation.operands for part in ast.walk(operand)
    ):
        return ""
    if isinstance(node, ast.Attribute) and scope.values.is_input(node):
        return ""
    is_unseen = any(
        _runs_unseen(scope, operation, operand, thing)
        for operand in operation.operands
        for thing in scope.values.of(operand)
    )
    return _shortened(operation.text) if is_unseen else ""


def _runs_unseen(scope: _Scope, operation: Operation, operand: ast.expr, thing: Thing) -> bool:
    if operation.attribute:
        return _is_unseen_attribute(scope, operation.attribute, thing)
    if thing.is_lazy and not operation.iterates:
        return False
    if operation.looks_up and thing.value is not None and not scope.values.has_seen_keys(thing):
        return True
    return scope.is_unseen(thing, deeply=operation.is_deep)


def _is_unseen_attribute(scope: _Scope, name: str, thing: Thing) -> bool:
    """Whether reading, setting or deleting an attribute may run unrecorded code."""
    value = thing.value
    if name in ("__class__", "__dict__", "__name__", "__doc__"):
        return False
    if any(name in facts.made_elsewhere for facts in thing.facts):
        return True
    if value is not None and any(step == f".{name}" for step, _ in value.parts):
        return False
    is_class = value is not None and value.text.startswith("<class ")
    if is_class or thing.facts:
        return any(facts.sight in _NOT_SEEN and name not in facts.own for facts in thing.facts)
    return not thing.is_lazy and scope.is_unseen(thing)


def _is_passed_on(scope: _Scope, node: ast.Name) -> bool:
    """Whether a name is code of a library that the function uses without calling it."""
    if not scope.values.is_elsewhere(node) or _is_recorded_import(scope, node.id):
        return False
    things = scope.values.of(node)
    return any(thing.seen is False for thing in things)


def _is_recorded_import(scope: _Scope, name: str) -> bool:
    return scope.imports[name].rpartition(".")[2] in scope.sight.functions


def _unseen_import_statement(scope: _Scope, node: ast.Import | ast.ImportFrom) -> str:
    if "<module>" in scope.sight.recorded and isinstance(node, ast.ImportFrom) and node.level:
        return ""
    modules = (
        [alias.name for alias in node.names]
        if isinstance(node, ast.Import)
        else ["." * node.level + (node.module or "")]
    )
    for name in modules:
        package = name.partition(".")[0]
        is_own = any(own == name or own.startswith(f"{name}.") for own in scope.sight.classes.files)
        if package not in sys.stdlib_module_names and not is_own and not name.startswith("."):
            return _shortened(f"import {name}")
    return ""


# --- calls ---------------------------------------------------------------------------------------


def _unseen(scope: _Scope, node: ast.Call) -> str:
    """The name of a call that may have run unrecorded code; empty if it did not."""
    function, sight = node.func, scope.sight
    shown = _shortened(ast.unparse(function))
    if isinstance(function, ast.Name):
        if _is_unseen_name(scope, function.id):
            return shown
    elif isinstance(function, ast.Attribute):
        dotted = _dotted(scope, function)
        if dotted is not None:
            if _is_unseen_import(scope, dotted):
                return shown
        elif _is_unseen_method(scope, function):
            return shown
    elif not sight.recorded:
        # A function out of a container, or one that was returned: which one is not known here.
        return shown
    return _shortened(ast.unparse(node)) if _gives_unseen_to_trusted(scope, node) else ""


def _gives_unseen_to_trusted(scope: _Scope, node: ast.Call) -> bool:
    """Whether a builtin or the standard library gets objects whose methods were not recorded."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    if name in scope.sight.recorded or name in scope.defined or name in _LOOKS:
        return False
    if isinstance(function, ast.Attribute):
        if name in _STORES:
            return False
    elif not hasattr(builtins, name) and name not in scope.imports:
        return False
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    if name in _ASKS_CLASS:
        arguments = arguments[1:]
    return any(
        not thing.is_lazy and scope.is_unseen(thing, deeply=name not in _TAKES_ITEMS)
        for argument in arguments
        if not any(part in scope.named for part in ast.walk(argument))
        for thing in scope.values.of(argument)
    )


def _is_unseen_name(scope: _Scope, name: str) -> bool:
    sight = scope.sight
    if name in scope.defined and _is_decorated_elsewhere(scope, name):
        return True
    is_variable = name not in scope.imports and name not in scope.defined
    if is_variable and _is_unseen_function(scope, name):
        return True
    if name in sight.recorded:
        return False
    if name in scope.held:
        value = scope.held[name]
        if isinstance(value, ast.Lambda):
            return False
        return not sight.recorded
    if name in scope.defined:
        return sight.leaves_out and name not in sight.functions
    if name in scope.imports:
        return _is_unseen_import(scope, scope.imports[name])
    if name in _RUN_CODE:
        return "<module>" not in sight.recorded
    if hasattr(builtins, name):
        return False
    # A parameter, or a variable of an enclosing function: some function that was passed in.
    return not sight.recorded


def _is_unseen_function(scope: _Scope, name: str) -> bool:
    """Whether a variable holds something out of sight that can be called."""
    recorded = {*scope.sight.functions, "<lambda>"}
    for thing in scope.values.of(ast.Name(name)):
        text = "" if thing.value is None else thing.value.text
        if text.startswith("<function "):
            if text[len("<function ") : -1].rpartition(".")[2] not in recorded:
                return True
        elif thing.seen is False or any(facts.sight in _NOT_SEEN for facts in thing.facts):
            own = [facts for facts in thing.facts if {"__init__", "__call__"} & facts.own]
            if not own:
                return True
    return False


def _is_decorated_elsewhere(scope: _Scope, name: str) -> bool:
    """Whether a function or class of the module is made or changed by code of a library."""
    files = scope.sight.classes.files
    for node in scope.defined[name]:
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        if any(is_elsewhere(decorator, scope.imports, files) for decorator in decorators):
            return True
        if isinstance(node, ast.ClassDef):
            facts = scope.sight.classes.defined(scope.values.module, name)
            if facts.sight is ClassSight.PARTLY and "__init__" not in facts.own:
                return True
    return False


def _is_unseen_import(scope: _Scope, dotted: str) -> bool:
    sight, package = scope.sight, dotted.lstrip(".").partition(".")[0]
    if dotted.rpartition(".")[2] in sight.recorded:
        return False
    if package in _RUN_ELSEWHERE or _OF_OS.match(dotted):
        return not sight.all_processes
    if package in sys.stdlib_module_names and not dotted.startswith("."):
        return False
    # A function of the project that this call did not make is known by its name.
    return dotted.rpartition(".")[2] not in sight.functions


def _dotted(scope: _Scope, node: ast.expr) -> str | None:
    """The dotted name of what an expression gets from an imported module; None if it does not."""
    if isinstance(node, ast.Attribute):
        above = _dotted(scope, node.value)
        return None if above is None else f"{above}.{node.attr}"
    if isinstance(node, ast.Call):
        return _dotted(scope, node.func)
    if isinstance(node, ast.Name):
        if node.id in scope.held and scope.held[node.id] is not node:
            value = scope.held[node.id]
            is_itself = any(
                isinstance(part, ast.Name) and part.id == node.id for part in ast.walk(value)
            )
            return None if is_itself else _dotted(scope, value)
        return scope.imports.get(node.id)
    return None


def _is_unseen_method(scope: _Scope, node: ast.Attribute) -> bool:
    sight, name = scope.sight, node.attr
    things = scope.values.of(node.value)
    if any(_is_unseen_attribute(scope, name, thing) for thing in things if thing.seen is False):
        return True
    if any(name in facts.made_elsewhere for thing in things for facts in thing.facts):
        return True
    if name in sight.recorded:
        return False
    if name in scope.defined:
        return sight.leaves_out and name not in sight.functions
    if name in sight.functions:
        return False
    is_plain = _is_plain(scope, node.value)
    is_opaque = any(thing.value and thing.value.text.startswith("<") for thing in things)
    if name in _OF_OTHER_RUNS and sight.has_others and (is_opaque or not is_plain):
        return not sight.all_processes
    if is_plain:
        return False
    if name not in _PLAIN_METHODS:
        return True
    return scope.has_unseen and any(thing.seen is None for thing in things)


def _is_plain(scope: _Scope, node: ast.expr) -> bool:
    """Whether an expression is a value of a builtin type."""
    if isinstance(node, _MAKES_PLAIN):
        return True
    if not isinstance(node, ast.Name):
        return False
    if node.id in scope.held:
        value = scope.held[node.id]
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return hasattr(builtins, value.func.id)
        return isinstance(value, _MAKES_PLAIN)
    inputs = {binding.name: binding.value for binding in (*scope.call.arguments, *scope.call.reads)}
    recorded = inputs.get(node.id)
    return recorded is not None and recorded.kind not in (Kind.OBJECT, Kind.SHARED)
