"""Which functions a Python function may call, according to its text.

A function may call everything that its text names: any recorded function with that last name, since
the text does not show the class of an attribute. A class stands for its `__init__` and `__new__`, a
lambda for itself. So there may be too many callees; those that no text names (operators,
properties, calls by libraries) are known only from the recording.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from whence.errors import WhenceError
from whence.langs.python.source.code_locations import first_line
from whence.langs.python.source.scopes import DEFINITIONS
from whence.langs.python.source.source_parsing import parse_source
from whence.model.call import Function

_CONSTRUCTORS = ("__init__", "__new__", "__post_init__")


@dataclass
class PythonCallGraph:
    """The call graph of the modules that the functions of a tree are in."""

    read: Callable[[str], str]
    """Gives the text of a file as it was when the program ran, or raises `WhenceError`."""
    _files: dict[str, Mapping[tuple[str, int], list[str]]] = field(default_factory=dict)
    _named: dict[str, list[int]] = field(default_factory=dict)
    _functions: Sequence[Function] = ()

    def callees(self, function: Function, among: Sequence[Function]) -> Sequence[int] | None:
        """The functions of the tree that a function's text names."""
        where = function.location
        if where is None or where.line is None:
            return None
        if where.file not in self._files:
            self._files[where.file] = self._read(where.file)
        names = self._files[where.file].get((function.qualname, where.line))
        if names is None:
            return None
        callees = self._by_last_name(among)
        return list(dict.fromkeys(index for name in names for index in callees.get(name, ())))

    def _read(self, file: str) -> Mapping[tuple[str, int], list[str]]:
        try:
            tree = parse_source(self.read(file))
            return {} if tree is None else dict(_names_by_scope(tree, ""))
        except (WhenceError, RecursionError):
            return {}

    def _by_last_name(self, functions: Sequence[Function]) -> Mapping[str, list[int]]:
        """The indices of functions by the name that a text would use."""
        if self._functions is not functions:
            self._functions = functions
            self._named = {}
            for number, function in enumerate(functions):
                *above, last = function.short().split(".")
                if last in _CONSTRUCTORS and above:
                    last = above[-1]
                elif last.startswith("<"):
                    last = function.short()
                self._named.setdefault(last, []).append(number)
        return self._named


def _names_by_scope(node: ast.AST, qualname: str) -> Iterator[tuple[tuple[str, int], list[str]]]:
    """The names in each scope, in order of the text, by qualified name and first line."""
    inside = f"{qualname}." if qualname else ""
    if not isinstance(node, ast.ClassDef | ast.Module):
        inside += "<locals>."
    own: list[tuple[int, int, str]] = []
    pending: list[ast.AST] = list(ast.iter_child_nodes(node))
    while pending:
        child = pending.pop()
        if isinstance(child, DEFINITIONS):
            name = inside + (child.name if not isinstance(child, ast.Lambda) else "<lambda>")
            yield from _names_by_scope(child, name)
            if isinstance(child, ast.Lambda):
                own.append((child.lineno, child.col_offset, name))
            if isinstance(child, ast.ClassDef):
                own.append((child.lineno, child.col_offset, child.name))
            pending += _evaluated_outside(child)
            continue
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            own.append((child.end_lineno or 0, child.end_col_offset or 0, child.id))
        elif isinstance(child, ast.Attribute):
            own.append((child.end_lineno or 0, child.end_col_offset or 0, child.attr))
        pending += ast.iter_child_nodes(child)
    yield (qualname or "<module>", first_line(node)), [name for _, _, name in sorted(own)]


def _evaluated_outside(scope: ast.AST) -> list[ast.AST]:
    """Parts of a definition that run in the scope around it."""
    outside: list[ast.AST] = [*getattr(scope, "decorator_list", ()), *getattr(scope, "bases", ())]
    arguments = getattr(scope, "args", None)
    if isinstance(arguments, ast.arguments):
        outside += [*arguments.defaults, *filter(None, arguments.kw_defaults)]
    return outside
