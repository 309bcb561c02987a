"""Rebuilds a value of the standard library or numpy from the text of its complete summary.

Invariant: a text can call nothing but the constructors that are listed here.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from typing import Any

from whence.langs.python.objects.object_kinds import ProgramObject
from whence.langs.python.oracles.worker.program_names import CannotBuild, find_class
from whence.langs.python.record import matches

_CONSTRUCTORS = {
    "datetime": ("date", "datetime", "time", "timedelta", "timezone", "utc"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "pathlib": ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"),
    "uuid": ("UUID",),
    "re": ("compile",),
    "collections": ("deque",),
    "array": ("array",),
    "zoneinfo": ("ZoneInfo",),
    "builtins": ("range", "slice"),
}
"""What a text may call."""


def value_from_summary(module: str, qualname: str, text: str) -> ProgramObject:
    """The value that a complete summary describes; `CannotBuild` if there is none."""
    package = module.partition(".")[0]
    if package not in (*_CONSTRUCTORS, "numpy"):
        return _enum_flags(find_class(module, qualname), text)
    try:
        expression = ast.parse(text, mode="eval").body
        if package == "numpy":
            return _numpy_value(qualname, expression)
        if (package, qualname) == ("re", "Match"):
            return _match(text)
        return _evaluate(expression, package)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
        raise CannotBuild(f"a {qualname} from {text[:80]}") from None


def _match(text: str) -> ProgramObject:
    details = matches.read(text)
    made = None if details is None else matches.rebuild(details)
    if made is None:
        raise CannotBuild("a match that no function of re gives")
    return made[0]


def _enum_flags(cls: type, text: str) -> ProgramObject:
    """Enum flags that have no common name: `Right(0)`, `Right(5)`."""
    number = text.removeprefix(f"{cls.__qualname__}(").removesuffix(")")
    enum = sys.modules.get("enum")
    if enum is None or not issubclass(cls, enum.Flag) or not number.isdecimal():
        raise CannotBuild(f"a {cls.__qualname__} from {text[:80]}")
    return cls(int(number))


def _evaluate(node: ast.expr, package: str) -> ProgramObject:
    """An expression of literals and calls of what `_CONSTRUCTORS` lists."""
    if isinstance(node, ast.Call):
        function = _evaluate(node.func, package)
        named = {item.arg: _evaluate(item.value, package) for item in node.keywords if item.arg}
        return function(*(_evaluate(argument, package) for argument in node.args), **named)
    if isinstance(node, ast.Attribute | ast.Name):
        return _constructor(ast.unparse(node), package)
    return ast.literal_eval(node)


def _constructor(text: str, package: str) -> Callable[..., ProgramObject]:
    """`date`, `datetime.date` or `datetime.timezone.utc`, if it is listed."""
    first, *path = text.split(".")
    if first in _CONSTRUCTORS and path:
        package = first
    else:
        path = [first, *path]
    if package not in _CONSTRUCTORS or any(part not in _CONSTRUCTORS[package] for part in path):
        raise ValueError(text)
    constructor: Any = importlib.import_module(package)
    for part in path:
        constructor = getattr(constructor, part)
    return constructor  # type: ignore[no-any-return]


def _numpy_value(qualname: str, node: ast.expr) -> ProgramObject:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(node, ast.Call):
        raise ValueError("numpy was not imported")
    named = {item.arg: ast.literal_eval(item.value) for item in node.keywords}
    positional = [ast.literal_eval(argument) for argument in node.args]
    if qualname == "ndarray":
        made = numpy.array(positional[0], dtype=named["dtype"])
        return made.reshape(named["shape"]) if "shape" in named else made
    cls = getattr(numpy, qualname)
    if not isinstance(cls, type) or not issubclass(cls, numpy.generic):
        raise ValueError(qualname)
    return cls(*positional)
