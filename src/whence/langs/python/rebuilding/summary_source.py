"""Values that were recorded as a short text (`record/summaries.py`), as source.

Apart from `value_source.py` because these texts are source already. Invariant: none of it is
copied; a text is parsed, and only literals and the constructors that are named here are written.
"""

from __future__ import annotations

import re

from whence.langs.python.rebuilding.checked_source import (
    CannotRebuild,
    checked_call,
    is_identifier,
    literal_source,
)
from whence.langs.python.rebuilding.import_names import ImportNames
from whence.langs.python.rebuilding.match_source import match_source
from whence.langs.python.trace.value_recipes import (
    QualifiedName,
    SummaryRecipe,
    literal_arguments,
)

_DATES = {
    f"datetime.{name}": f"datetime.{name}"
    for name in ("date", "time", "datetime", "timedelta", "timezone", "timezone.utc")
}
_ZONE = "zoneinfo.ZoneInfo"
_IN_MODULE = {
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "uuid": {"UUID"},
    "collections": {"deque"},
    "array": {"array"},
}
_PATHS = {"PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"}
_DTYPES = set("biufcSU")
_NUMPY_SCALAR = re.compile(
    r"(bool|str|bytes)_?|(u?int|float|complex)\d*|u?longlong|u?intc|c?longdouble|(datetime|timedelta)64"
)


def summary_source(imports: ImportNames, recipe: SummaryRecipe) -> str:
    """An expression that creates the value that was summarized."""
    of, text = recipe.of, recipe.text
    package = of.module.partition(".")[0]
    if package in ("datetime", "zoneinfo"):
        source = checked_call(text, {**_DATES, _ZONE: _ZONE})
        imports.module("datetime")
        if f"{_ZONE}(" in source:
            imports.module("zoneinfo")
        return source
    if package == "pathlib" and of.qualname in _PATHS:
        # The program's Path is the one of the machine it runs on.
        name = of.qualname.removeprefix("Posix") if of.qualname == "PosixPath" else of.qualname
        return checked_call(text, {of.qualname: imports.name(QualifiedName("pathlib", name))})
    if package == "re":
        imports.module("re")
        if of.qualname == "Match":
            return _match(recipe)
        return checked_call(text, {"re.compile": "re.compile"})
    if package == "builtins" and of.qualname == "slice":
        return checked_call(text, {"slice": "slice"})
    if package in _IN_MODULE and of.qualname in _IN_MODULE[package]:
        return checked_call(text, {of.qualname: imports.name(QualifiedName(package, of.qualname))})
    if package == "numpy":
        return _numpy(imports, recipe)
    flags = text.removeprefix(f"{of.qualname}.").split("|")
    if text.startswith(f"{of.qualname}.") and all(map(is_identifier, flags)):
        return " | ".join(f"{imports.name(of)}.{flag}" for flag in flags)
    raise CannotRebuild(f"an object of {of}: {text[:60]}")


def _match(recipe: SummaryRecipe) -> str:
    source = match_source(recipe.text)
    if source is None:
        raise CannotRebuild("a match that no function of re gives, or not soon")
    return source


def _numpy(imports: ImportNames, recipe: SummaryRecipe) -> str:
    parsed = literal_arguments(recipe.text)
    if parsed is None:
        raise CannotRebuild(f"an object of {recipe.of}: {recipe.text[:60]}")
    called, positional, named = parsed
    numpy = imports.module("numpy")
    if called != "array":
        if not _NUMPY_SCALAR.fullmatch(called):
            raise CannotRebuild(f"an object of {recipe.of}: {recipe.text[:60]}")
        return f"{numpy}.{called}({', '.join(map(literal_source, positional))})"
    dtype = named.get("dtype")
    if not isinstance(dtype, str) or dtype.strip("<>|=")[:1] not in _DTYPES:
        raise CannotRebuild(f"an array of {dtype}")
    values = positional[0] if positional else []
    array = f"{numpy}.array({values!r}, dtype={literal_source(dtype)})"
    shape = named.get("shape")
    return array if shape is None else f"{array}.reshape({shape!r})"
