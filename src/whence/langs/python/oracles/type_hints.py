"""The oracle of type hints: an argument that its annotation excludes makes a call inadmissible, a
result that its annotation excludes makes it wrong.

It runs nothing of the program. It reads annotations from source files that did not change since the
recording and compares them with recorded values. Only certain violations count
(`allowed_types.py`). A result is called wrong only if all annotated arguments are known to fit: a
wrong argument may be the cause.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.oracles.allowed_types import Allowed, Builtin, UnionOf, all_of, fits
from whence.langs.python.oracles.annotations import (
    AnnotationReader,
    AnnotationScope,
    Parameter,
    find_function,
    parameters,
    parse_annotation,
)
from whence.langs.python.oracles.recipe_comparison import labelled_parts
from whence.langs.python.source.bindings import ProgramBindings
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import value_recipes as r
from whence.langs.python.trace.call_recipes import CallRecipe, place_of
from whence.langs.python.trace.partial_recipes import partial_recipe
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.model.call import Call, OutcomeKind
from whence.model.question import Question
from whence.model.value import BRIEF, show
from whence.model.verdict import Judgement, Verdict
from whence.ports import Tree

NAME = "type hints"
_YIELDING = {
    "Iterator", "Iterable", "Generator", "AsyncIterator", "AsyncIterable", "AsyncGenerator",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Declared:
    """The annotations of a function."""

    parameters: tuple[Parameter, ...]
    returns: ast.expr | None
    scope: AnnotationScope


class TypeHintOracle:
    """Judges calls of a recording by the annotations of their functions."""

    def __init__(self, tree: Tree) -> None:
        self.name = NAME
        self._tree = tree
        self._readers: dict[int, AnnotationReader] = {}
        """By address of the recorded process's source."""
        self._declared: dict[tuple[int, CodeEntry], _Declared | None] = {}

    def judge(self, question: Question) -> Judgement | None:
        """Judge a call by its annotations."""
        try:
            position = self._tree.position(question.node)
            source, number = place_of(self._tree, position)
            if number < 1:
                return None
            call = partial_recipe(self._tree, position)
        except WhenceError:
            return None
        if id(source) not in self._readers:
            modules = ProgramBindings(unchanged_files(source))
            self._readers[id(source)] = AnnotationReader(modules)
        reader, key = self._readers[id(source)], (id(source), call.code)
        if key not in self._declared:
            self._declared[key] = _declared(reader.modules, call.code)
        declared = self._declared[key]
        return (
            None if declared is None else _CallCheck(reader, declared, call, question.call).judge()
        )


def unchanged_files(source: TraceSource) -> dict[str, Path]:
    """The files of the modules that were not written to since the recording began.

    Code that is in no file (`CodeEntry.is_text`) does not count, though it may name a module.
    """
    files_of: dict[str, set[str]] = {}
    for code in source.tables.codes():
        if not code.is_text:
            files_of.setdefault(code.module, set()).add(code.file)
    header = source.file.header
    files: dict[str, Path] = {}
    for module, names in files_of.items():
        path = Path(header.cwd, next(iter(names)))
        try:
            unchanged = len(names) == 1 and path.stat().st_mtime_ns < header.clock
        except (OSError, ValueError):
            continue
        if unchanged and path.suffix == ".py":
            files[module] = path
    return files


def _declared(modules: ProgramBindings, code: CodeEntry) -> _Declared | None:
    """The annotations of a code object's function, if the source is certain to be its own."""
    module = modules.module(code.module)
    if module is None or code.is_text:
        return None
    match = find_function(module, code.qualname, code.first_line)
    if match is None:
        return None
    function, scope = match
    declared = tuple(parameters(function))
    names = tuple(_mangle(parameter.name, code.qualname) for parameter in declared)
    decorators = map(ast.unparse, function.decorator_list)
    if names != code.parameters or any("no_type_check" in decorator for decorator in decorators):
        return None
    return _Declared(declared, function.returns, scope)


def _mangle(name: str, qualname: str) -> str:
    """A private name as the compiler mangles it inside a class."""
    owner = qualname.rpartition(".")[0].rpartition(".")[2].lstrip("_")
    private = name.startswith("__") and not name.endswith("__")
    return f"_{owner}{name}" if private and owner and owner != "<locals>" else name


class _CallCheck:
    """Checks one call against its annotations."""

    def __init__(
        self, reader: AnnotationReader, declared: _Declared, call: CallRecipe, shown: Call
    ) -> None:
        self._reader = reader
        self._declared = declared
        self._call = call
        self._shown = shown

    def judge(self) -> Judgement | None:
        labels = labelled_parts(self._inputs())
        certain = True
        for index, parameter in enumerate(self._declared.parameters):
            value = self._call.arguments[self._call.code.parameters[index]]
            fits_hint = self._argument(parameter, value, labels)
            if fits_hint is False:
                shown = f"{parameter.name} {self._argument_text(index)}"
                reason = f"{shown} is not {_text(parameter.annotation)}"
                return Judgement(Verdict.INADMISSIBLE, reason)
            certain = certain and fits_hint is True
        return self._result() if certain else None

    def _argument(
        self, parameter: Parameter, value: r.Recipe, labels: dict[int, r.Recipe]
    ) -> bool | None:
        if parameter.annotation is None:
            return True
        allowed = self._read(parameter.annotation)
        if parameter.is_variadic:
            return all_of(self._fits(item, allowed, labels) for item in _held(value))
        default = parameter.default
        if isinstance(default, ast.Constant) and default.value is None:
            allowed = UnionOf((allowed, Builtin("None")))
        fits_hint = self._fits(value, allowed, labels)
        if fits_hint is False and default is not None and not _is_other(value, default):
            return None  # a default may be outside of its annotation on purpose
        return fits_hint

    def _result(self) -> Judgement | None:
        call, annotation = self._call, self._declared.returns
        if annotation is None:
            return None
        labels = labelled_parts([*self._inputs(), *call.changed.values()])
        outcome = call.outcome
        if call.code.flags & (f.GENERATOR | f.ASYNC_GENERATOR):
            held = self._yielded(annotation)
            if held is None:
                return None
            for number, value in enumerate(outcome.yielded):
                if self._fits(value, held, labels) is False:
                    shown = self._shown.outcome.yielded
                    what = show(shown[number], BRIEF) if number < len(shown) else "a value"
                    return _wrong(f"yielded {what}", annotation)
            return None
        if outcome.kind is not OutcomeKind.RETURNED or outcome.value is None:
            return None
        if self._fits(outcome.value, self._read(annotation), labels) is not False:
            return None
        shown_value = self._shown.outcome.value
        return _wrong(f"result {show(shown_value, BRIEF) if shown_value else '?'}", annotation)

    def _yielded(self, annotation: ast.expr) -> Allowed | None:
        """What a generator's annotation allows as yielded values."""
        expression: ast.expr | None = annotation
        if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
            expression = parse_annotation(expression.value)
        if not isinstance(expression, ast.Subscript):
            return None
        named = self._reader.meaning(expression.value, self._declared.scope)
        module, name = getattr(named, "module", ""), getattr(named, "name", "")
        if module not in ("typing", "collections.abc") or name not in _YIELDING:
            return None
        inner = expression.slice
        return self._read(inner.elts[0] if isinstance(inner, ast.Tuple) else inner)

    def _read(self, annotation: ast.expr) -> Allowed:
        return self._reader.allowed(annotation, self._declared.scope)

    def _fits(self, value: r.Recipe, allowed: Allowed, labels: dict[int, r.Recipe]) -> bool | None:
        return fits(value, allowed, self._reader.modules, labels.get)

    def _inputs(self) -> list[r.Recipe]:
        return [*self._call.arguments.values(), *self._call.captured.values()]

    def _argument_text(self, index: int) -> str:
        arguments = self._shown.arguments
        return show(arguments[index].value, BRIEF) if index < len(arguments) else ""


def _wrong(what: str, annotation: ast.expr) -> Judgement:
    return Judgement(Verdict.WRONG, f"{what} is not {_text(annotation)}")


def _text(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return "" if annotation is None else ast.unparse(annotation)


def _held(value: r.Recipe) -> Iterator[r.Recipe]:
    """The items of `*args`, or the values of `**kwargs`."""
    match value:
        case r.ItemsRecipe("tuple", items):
            yield from items
        case r.EntriesRecipe(entries):
            for _, item in entries:
                yield item
        case _:
            yield r.UnknownRecipe("not all of it was recorded")


def _is_other(value: r.Recipe, default: ast.expr) -> bool:
    """Whether a value is certain not to be the default."""
    if not isinstance(default, ast.Constant):
        return False
    if not isinstance(value, r.LiteralRecipe):
        return isinstance(value, r.ItemsRecipe | r.EntriesRecipe)
    return type(value.value) is not type(default.value) or value.value != default.value
