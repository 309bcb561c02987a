"""Which calls in the code of a function ran code that was not recorded, read from its text.

A recorder sees the calls of user code. A library, compiled code, another process, code that was
left out, or code that `exec` runs in a namespace of its own may be at fault as well as the function
that called it. The text of that function names such calls. Builtins and the standard library are
trusted, except where they run other code: processes, `exec`, foreign functions.

Invariant: a call that may have run unrecorded code is named, unless its name alone says that it is
a method of a builtin type or of the standard library. A named call may not have run.
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
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from whence.model.call import Call
from whence.model.value import Kind

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
_MAKES_PLAIN = (
    ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp,
    ast.SetComp,
)  # fmt: skip
_LONGEST = 40
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Sight:
    """What is known of the run beside the text."""

    recorded: Collection[str]
    """The names of the functions that the call called, as far as they were recorded."""
    functions: Collection[str]
    """The names of all recorded functions."""
    leaves_out: bool = False
    """Whether user code was left out by a pattern."""
    has_others: bool = False
    """Whether there were other threads or processes."""
    all_processes: bool = False
    """Whether the processes that the call started were recorded."""


@dataclass
class _Scope:
    """The names of a function, and what its local variables hold."""

    module: ast.Module
    body: ast.AST
    call: Call
    sight: Sight
    imports: dict[str, str] = field(default_factory=dict)
    """The dotted name that an imported name stands for."""
    defined: set[str] = field(default_factory=set)
    """Functions and classes of the module, methods included."""
    held: dict[str, ast.expr] = field(default_factory=dict)
    """What a local variable was set to last in the text."""


def calls_out_of_sight(module: ast.Module, body: ast.AST, call: Call, sight: Sight) -> list[str]:
    """The names of the calls in a body that may have run code that was not recorded."""
    scope = _Scope(module, body, call, sight)
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                scope.imports[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            for alias in node.names:
                scope.imports[alias.asname or alias.name] = f"{origin}.{alias.name}"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope.defined.add(node.name)
    own = list(_own_nodes(body))
    for node in own:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            _hold(scope, node.targets[0], node.value)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            _hold(scope, node.optional_vars, node.context_expr)
    names = [_unseen(scope, node) for node in own if isinstance(node, ast.Call)]
    return list(dict.fromkeys(name for name in names if name))


def _hold(scope: _Scope, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name):
        scope.held[target.id] = value


def _own_nodes(body: ast.AST) -> Iterator[ast.AST]:
    """The nodes that a call of this body runs itself, in the order of the text."""
    pending = list(getattr(body, "body", []))
    if isinstance(body, ast.Lambda):
        pending = [body.body]
    pending.reverse()
    while pending:
        node = pending.pop()
        yield node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, _SCOPES):
            children = [*getattr(node, "decorator_list", [])]
        pending += reversed(children)


def _unseen(scope: _Scope, node: ast.Call) -> str:
    """The name of a call that may have run unrecorded code; empty if it did not."""
    function, sight = node.func, scope.sight
    text = ast.unparse(function)
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    if isinstance(function, ast.Name):
        return shown if _is_unseen_name(scope, function.id) else ""
    if isinstance(function, ast.Attribute):
        dotted = _dotted(scope, function)
        if dotted is not None:
            return shown if _is_unseen_import(scope, dotted) else ""
        return shown if _is_unseen_method(scope, function) else ""
    # A function out of a container, or one that was returned: which one is not known here.
    return "" if sight.recorded else shown


def _is_unseen_name(scope: _Scope, name: str) -> bool:
    sight = scope.sight
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
    if name in sight.recorded:
        return False
    if name in scope.defined:
        return sight.leaves_out and name not in sight.functions
    if name in sight.functions or _is_plain(scope, node.value):
        return False
    if name in _OF_OTHER_RUNS and sight.has_others:
        return not sight.all_processes
    return name not in _PLAIN_METHODS


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
