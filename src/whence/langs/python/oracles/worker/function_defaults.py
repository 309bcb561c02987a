"""Which default values a nested function has in each version, read from the source text.

Defaults belong to a function object and not to its code. A function that exists already was given
the defaults of the version that ran; when its code is exchanged, it needs those of the other
version. Only constants can be known without running code of the program.
"""

from __future__ import annotations

import ast
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import Any

from whence.langs.python.oracles.worker.program_names import CannotBuild

_Lambda = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Defaults = dict[str, ast.expr]
"""The default expression of each parameter that has one."""


class SourceDefaults:
    """The default expressions of all functions of a file."""

    def __init__(self, source: bytes) -> None:
        self._by_place: dict[tuple[str, int], list[Defaults]] = {}
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, _Lambda):
                name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
                decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
                line = min([node.lineno, *(decorator.lineno for decorator in decorators)])
                self._by_place.setdefault((name, line), []).append(_defaults(node.args))

    def of(self, code: CodeType) -> Defaults | None:
        """The defaults of a function; None if another one of its name is in the same line."""
        if code.co_name.startswith("<") and code.co_name != "<lambda>":
            return {}  # the code of a comprehension
        found = self._by_place.get((code.co_name, code.co_firstlineno), [])
        same = all(_texts(other) == _texts(found[0]) for other in found)
        return found[0] if found and same else None


def _defaults(arguments: ast.arguments) -> Defaults:
    positional = [*arguments.posonlyargs, *arguments.args]
    first = len(positional) - len(arguments.defaults)
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(positional[first:], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {parameter.arg: value for parameter, value in pairs if value is not None}


def _texts(defaults: Defaults) -> dict[str, str]:
    return {name: ast.dump(value) for name, value in defaults.items()}


def takes_same_arguments(one: CodeType, other: CodeType) -> bool:
    """Whether two codes take the same arguments; names count only for keyword arguments."""
    return _signature(one) == _signature(other)


def _signature(code: CodeType) -> tuple[object, ...]:
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    named = code.co_varnames[counts[0] : counts[0] + counts[2]]
    return counts, code.co_flags & (CO_VARARGS | CO_VARKEYWORDS), named


def give_defaults(
    function: FunctionType, code: CodeType, held: Defaults | None, wanted: Defaults | None
) -> None:
    """Give a function the defaults that it has in the version that `code` is of.

    `held` and `wanted` are its defaults in the text of both versions. `CannotBuild` if they differ
    and are not constants.
    """
    if held is not None and wanted is not None and _texts(held) == _texts(wanted):
        if takes_same_arguments(function.__code__, code):
            return
    elif held is None or wanted is None:
        raise CannotBuild(f"which defaults {code.co_qualname} has there is not known")
    values = {name: _value(function, code, held, name, wanted[name]) for name in wanted}
    positional = code.co_varnames[: code.co_argcount]
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    function.__defaults__ = tuple(values[name] for name in positional if name in values) or None
    function.__kwdefaults__ = {name: values[name] for name in named if name in values} or None


def _value(
    function: FunctionType, code: CodeType, held: Defaults, name: str, wanted: ast.expr
) -> Any:
    if name in held and ast.dump(held[name]) == ast.dump(wanted):
        current = _current(function)
        if name in current:
            return current[name]
    try:
        value = ast.literal_eval(wanted)
        hash(value)  # one that can change is shared by all calls, so that its state counts
    except (ValueError, TypeError):
        raise CannotBuild(f"{code.co_qualname} has another default for {name} there") from None
    return value


def _current(function: FunctionType) -> dict[str, Any]:
    """The defaults that a function has, by parameter."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return {**dict(zip(names, defaults, strict=True)), **(function.__kwdefaults__ or {})}
