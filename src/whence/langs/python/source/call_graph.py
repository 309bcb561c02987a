"""Which functions a Python function may call, by the text of its module, which is never run.

A function that its text names, called or handed on, may be called: any function of the recording
with that last name, for what an attribute is of cannot be told from the text; a class stands for
its `__init__` and `__new__`; a lambda or nested function without a name that is used, for itself.
So there may be too many; what no text names (operators, properties, calls by libraries) is known
from the recording alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from whence.errors import WhenceError
from whence.langs.python.source.code_locations import first_line
from whence.langs.python.source.scopes import DEFINITIONS
from whence.langs.python.source.source_files import parse_source
from whence.model.call import Function

_CONSTRUCTORS = ("__init__", "__new__", "__post_init__")


@dataclass
class PythonCallGraph:
    """The call graph of the modules that the functions of a tree are in."""

    read: Callable[[str], str]
    """The text of a file as it was when the program ran; `WhenceError` where that is not known."""
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
        found = self._files[where.file].get((function.qualname, where.line))
        if found is None:
            return None
        known = self._by_last_name(among)
        return list(dict.fromkeys(each for name in found for each in known.get(name, ())))

    def _read(self, file: str) -> Mapping[tuple[str, int], list[str]]:
        try:
            tree = parse_source(self.read(file))
            return {} if tree is None else dict(_names_by_scope(tree, ""))
        except (WhenceError, RecursionError):
            return {}

    def _by_last_name(self, functions: Sequence[Function]) -> Mapping[str, list[int]]:
        """The places of functions by what a text calls them."""
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
    """For each scope, by its qualified name and first line, what it names in the order of text."""
    inside = f"{qualname}." if qualname else ""
    if not isinstance(node, ast.ClassDef | ast.Module):
        inside += "<locals>."
    own: list[tuple[int, int, str]] = []
    left: list[ast.AST] = list(ast.iter_child_nodes(node))
    while left:
        each = left.pop()
        if isinstance(each, DEFINITIONS):
            name = inside + (each.name if not isinstance(each, ast.Lambda) else "<lambda>")
            yield from _names_by_scope(each, name)
            if isinstance(each, ast.Lambda):
                own.append((each.lineno, each.col_offset, name))
            if isinstance(each, ast.ClassDef):
                own.append((each.lineno, each.col_offset, each.name))
            left += _evaluated_outside(each)
            continue
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            own.append((each.end_lineno or 0, each.end_col_offset or 0, each.id))
        elif isinstance(each, ast.Attribute):
            own.append((each.end_lineno or 0, each.end_col_offset or 0, each.attr))
        left += ast.iter_child_nodes(each)
    yield (qualname or "<module>", first_line(node)), [name for _, _, name in sorted(own)]


def _evaluated_outside(scope: ast.AST) -> list[ast.AST]:
    """What belongs to a scope by its text and is run where it is defined."""
    outside: list[ast.AST] = [*getattr(scope, "decorator_list", ()), *getattr(scope, "bases", ())]
    arguments = getattr(scope, "args", None)
    if isinstance(arguments, ast.arguments):
        outside += [*arguments.defaults, *filter(None, arguments.kw_defaults)]
    return outside
