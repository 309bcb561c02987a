"""What the text of a Python file says of a call: the `SourceSyntax` of Python."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from whence.langs.python.source.attribute_uses import attributes_used
from whence.langs.python.source.calls_out_of_sight import Sight, calls_out_of_sight
from whence.langs.python.source.class_bodies import class_at, outline
from whence.langs.python.source.code_locations import first_line
from whence.langs.python.source.definitions import ModuleDefinitions, definitions_in
from whence.langs.python.source.operation_spans import operation_at
from whence.langs.python.source.scopes import FunctionNode
from whence.model.call import Call, Function
from whence.model.primitive import RaisingOperation, Span
from whence.model.value import Kind

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

    def outline(self, text: str, line: int) -> list[str]:
        """A line for each attribute and method of the class that begins at a line."""
        node = class_at(text, line)
        return [] if node is None else outline(node)

    def attributes_used(self, text: str, call: Call) -> dict[str, frozenset[str]]:
        """For arguments of which a call uses only some attributes, which ones."""
        where, module = call.where(), definitions_in(text)
        if module is None or where is None or where.line is None:
            return {}
        function = module.function(call.function.qualname, where.line)
        if function is None:
            return {}
        used: dict[str, frozenset[str]] = {}
        for argument in call.arguments:
            value = argument.value
            names = [step[1:] for step, _ in value.parts if step.startswith(".")]
            is_whole = value.kind is Kind.OBJECT and len(names) == len(value.parts)
            if is_whole and not value.omitted and module.is_class(value.text):
                attributes = attributes_used(module, function, argument.name, value.text, names)
                if attributes is not None:
                    used[argument.name] = attributes
        return used

    def summary(self, text: str, call: Call) -> str:
        """The first line of the docstring of the called function."""
        function = _called(text, call)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return ""
        lines = (ast.get_docstring(function) or "").strip().splitlines()
        return lines[0].strip() if lines else ""

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

    def calls_out_of_sight(
        self, text: str, call: Call, callees: Sequence[Function], functions: Sequence[Function]
    ) -> list[str]:
        """The names of what a call may have called without its being recorded."""
        where, module = call.where(), definitions_in(text)
        if module is None or where is None or where.line is None:
            return []
        body = _body(module, call.function.qualname, where.line)
        has_process = any(function.trusted for function in callees)
        sight = Sight(
            _names(callees), _names(functions), self.leaves_out, self.has_others,
            all_processes=has_process and not self.has_unrecorded,
        )  # fmt: skip
        return [] if body is None else calls_out_of_sight(module.tree, body, call, sight)

    def operation_at(self, text: str, span: Span) -> RaisingOperation | None:
        """The operation at exactly this span."""
        module = definitions_in(text)
        return None if module is None else operation_at(module.tree, module.text, span)


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


def _names(functions: Sequence[Function]) -> frozenset[str]:
    """The names by which functions are called; that of a class for what makes its objects."""
    names = set()
    for function in functions:
        *above, last = function.qualname.split(".")
        names.add(last)
        if above and last in _MAKERS:
            names.add(above[-1])
    return frozenset(names)
