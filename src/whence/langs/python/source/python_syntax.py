"""What the text of a Python file says of a call: the `SourceSyntax` of Python."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from whence.langs.python.source.calls_out_of_sight import Sight, calls_out_of_sight
from whence.langs.python.source.class_bodies import class_at, outline
from whence.langs.python.source.classes_out_of_sight import Classes, RecordedType
from whence.langs.python.source.code_locations import first_line
from whence.langs.python.source.definitions import ModuleDefinitions, definitions_in
from whence.langs.python.source.named_attributes import attributes_named
from whence.langs.python.source.operation_spans import operation_at
from whence.langs.python.source.scopes import FunctionNode
from whence.model.call import Call, Function, expand_shared
from whence.model.primitive import RaisingOperation, Span
from whence.model.value import Kind, Value
from whence.ports import AttributeUse

_ANYTHING = Value(Kind.SHARED)
"""A value of which nothing is known."""
_TOO_DEEP = "expressions nested too deeply to be read"
_MAKERS = frozenset({"__init__", "__new__", "__call__", "__post_init__"})


@dataclass(frozen=True)
class PythonSyntax:
    """Reads Python source. A text that cannot be parsed says nothing."""

    leaves_out: bool = False
    """Whether user code was left out of the recording by a pattern."""
    has_others: bool = False
    """Whether the program had other threads or processes."""
    has_unrecorded: bool = False
    """Whether the program started processes that were not recorded."""
    has_earlier_threads: bool = False
    """Whether other threads ran before the recording began."""
    types: Callable[[], Sequence[RecordedType]] = field(default=list, compare=False)
    """The types of which values were recorded."""

    def outline(self, text: str, line: int) -> list[str]:
        """A line for each attribute and method of the class that begins at a line."""
        node = class_at(text, line)
        return [] if node is None else outline(node)

    def attributes_named(self, text: str, function: Function) -> AttributeUse:
        """Which attributes the code of a function names."""
        return attributes_named(text, function.qualname)

    def tuple_fields(self, text: str, name: str) -> list[str]:
        """The fields of a named tuple that is defined in the text; empty for other names."""
        module = definitions_in(text)
        return (module.tuple_fields(name) or []) if module is not None else []

    def is_plain_class(self, text: str, name: str) -> bool:
        """Whether a class of this name is defined in the text, and by nothing but the text."""
        module = definitions_in(text)
        return module is not None and module.is_plain_class(name)

    def summary(self, text: str, call: Call) -> str:
        """The first line of the docstring of the called function; … if its sentence goes on."""
        function = _called(text, call)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return ""
        first, _, rest = (ast.get_docstring(function) or "").strip().partition("\n")
        goes_on = rest.partition("\n")[0].strip() and not first.rstrip().endswith((".", ":", "!"))
        return f"{first.rstrip()} …" if goes_on else first.rstrip()

    def defaults(self, text: str, call: Call) -> dict[str, str]:
        """The defaults that are written as a constant, an empty container or a name."""
        function = _called(text, call)
        if function is None:
            return {}
        given = function.args
        positional = [*given.posonlyargs, *given.args]
        late = positional[len(positional) - len(given.defaults) :]
        pairs = [*zip(late, given.defaults, strict=True)]
        pairs += [
            (parameter, default)
            for parameter, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
            if default is not None
        ]
        return {parameter.arg: ast.unparse(default) for parameter, default in pairs}

    def calling_expression(self, expression: str, function: Function) -> str:
        """The expression itself; in a comprehension, whose place is that of its calls on CPython
        3.11, the only call of a function with this name."""
        try:
            whole = ast.parse(f"({expression})", mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return expression
        if not isinstance(whole, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return expression
        name = function.short().rpartition(".")[2]
        calls = [
            node
            for node in ast.walk(whole)
            if isinstance(node, ast.Call) and _name_of(node.func) == name
        ]
        return ast.unparse(calls[0]) if len(calls) == 1 else ""

    def calls_out_of_sight(
        self,
        text: str,
        call: Call,
        callees: Sequence[Function],
        functions: Sequence[Function],
        calls: Sequence[Call] | None = None,
        read: Callable[[str], str | None] = lambda file: None,
    ) -> dict[str, set[int]]:
        """The names and lines of what a call may have run without its being recorded."""
        where, module = call.where(), definitions_in(text)
        if module is None or where is None or where.line is None:
            return {}
        body = _body(module, call.function.qualname, where.line)
        if body is None:
            return {}
        files = {f.module: f.location.file for f in functions if f.location is not None}
        files[call.function.module] = where.file
        names = _names(functions)
        classes = Classes(
            self.types(), files, lambda file: text if file == where.file else read(file), names,
            leaves_out=self.leaves_out,
        )  # fmt: skip
        has_process = any(function.trusted for function in callees)
        sight = Sight(
            _names(callees), names, classes, _results(callees, calls), _left(callees, calls),
            self.leaves_out, self.has_others,
            all_processes=has_process and not self.has_unrecorded,
            has_earlier_threads=self.has_earlier_threads,
        )  # fmt: skip
        try:
            return calls_out_of_sight(module.tree, body, call, sight)
        except RecursionError:
            return {_TOO_DEEP: set()}

    def operation_at(self, text: str, span: Span) -> RaisingOperation | None:
        """The operation at exactly this span."""
        module = definitions_in(text)
        return None if module is None else operation_at(module.tree, module.text, span)


def _name_of(function: ast.expr) -> str:
    """The last part of the name of a called function; empty if it has none."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _called(text: str, call: Call) -> FunctionNode | None:
    """The definition of the called function."""
    where, module = call.where(), definitions_in(text)
    if module is None or where is None or where.line is None:
        return None
    return module.function(call.function.qualname, where.line)


def _body(module: ModuleDefinitions, qualname: str, line: int) -> ast.AST | None:
    """What a call of this name ran: a module, a class, a function or a lambda."""
    if qualname == "<module>":
        return module.tree
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    for node in ast.walk(module.tree):
        if isinstance(node, kinds):
            is_lambda = isinstance(node, ast.Lambda)
            name = "<lambda>" if is_lambda else getattr(node, "name", "")
            begins = node.lineno if isinstance(node, ast.Lambda) else first_line(node)
            if begins == line and name == qualname.rpartition(".")[2]:
                return node
    return None


def _names(functions: Iterable[Function]) -> frozenset[str]:
    """The names by which functions are called; that of a class for what makes its objects."""
    return frozenset(name for function in functions for name in _names_of(function))


def _names_of(function: Function) -> list[str]:
    *above, last = function.qualname.split(".")
    return [last, above[-1]] if above and last in _MAKERS else [last]


def _results(callees: Sequence[Function], calls: Sequence[Call] | None) -> dict[str, list[Value]]:
    """What functions returned and yielded, by name; of a class, its new objects."""
    if calls is None:
        return {name: [_ANYTHING] for name in _names(callees)}
    results: dict[str, list[Value]] = {}
    for call in map(expand_shared, calls):
        outcome, last = call.outcome, call.function.qualname.rpartition(".")[2]
        for name in _names_of(call.function):
            known = results.setdefault(name, [])
            if name == last and outcome.value is not None:
                known.append(outcome.value)
            elif name != last:
                known.extend(_made(call, last))
            known.extend(Value(Kind.LIST, parts=(("[0]", value),)) for value in outcome.yielded)
    return {name: list(dict.fromkeys(values)) for name, values in results.items()}


def _made(call: Call, maker: str) -> list[Value]:
    """The object that a method such as `__init__` has made or changed."""
    if maker in ("__new__", "__call__"):
        return [] if call.outcome.value is None else [call.outcome.value]
    first = call.arguments[0].name if call.arguments else ""
    made = [effect.after for effect in call.effects if effect.after and effect.target == first]
    parts = tuple(
        (effect.target.removeprefix(first), effect.after)
        for effect in call.effects
        if effect.after and effect.target.startswith(f"{first}.")
    )
    if call.arguments and parts:
        before = call.arguments[0].value
        made.append(Value(Kind.OBJECT, before.text, (*before.parts, *parts), before.omitted))
    return made or [_ANYTHING]


def _left(callees: Sequence[Function], calls: Sequence[Call] | None) -> dict[str, list[Value]]:
    """What functions left in their arguments, by name."""
    if calls is None:
        return {name: [_ANYTHING] for name in _names(callees)}
    left: dict[str, list[Value]] = {}
    for call in map(expand_shared, calls):
        after = [effect.after for effect in call.effects if effect.after is not None]
        for name in _names_of(call.function):
            left.setdefault(name, []).extend(after)
    return {name: list(dict.fromkeys(values)) for name, values in left.items()}
