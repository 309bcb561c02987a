"""What the names of a program's modules mean, followed through imports.

A name that is bound twice in different ways, or may come from an `import *`, has no known meaning.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whence.langs.python.source.scopes import DEFINITIONS, names_bound_by
from whence.langs.python.source.source_parsing import parse_file
from whence.langs.python.trace.value_recipes import QualifiedName

_LARGEST = 8 * 2**20
"""Bytes of a file that is parsed."""
_FURTHEST = 8
"""The most modules that a name is followed through."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What `import a.b` or `from a import b` binds: a module, or a name of one."""

    module: str
    name: str = ""


Binding = Imported | ast.expr | ast.ClassDef | None
"""What a name is bound to; None if it is anything else."""


@dataclass(slots=True)
class ModuleBindings:
    """A module's source and the names that it binds."""

    name: str
    tree: ast.Module
    is_package: bool = False
    names: dict[str, list[Binding]] = field(default_factory=dict)
    star: bool = False

    def __post_init__(self) -> None:
        """Collect the names that the module's own scope binds."""
        for statement in _statements(self.tree.body):
            self._bind(statement)
        # Functions can bind names of the module too.
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Global):
                for name in node.names:
                    self._add(name, None)

    def binding(self, name: str) -> tuple[bool, Binding]:
        """Whether the module binds a name, and what it is bound to, if that is certain."""
        bindings = self.names.get(name)
        if bindings is None:
            return self.star, None
        first = bindings[0]
        same = all(isinstance(binding, Imported) and binding == first for binding in bindings)
        return True, first if len(bindings) == 1 or same else None

    def _add(self, name: str, binding: Binding) -> None:
        self.names.setdefault(name, []).append(binding)

    def _bind(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import(names):
                for alias in names:
                    if alias.asname:
                        self._add(alias.asname, Imported(alias.name))
                    else:
                        top = alias.name.partition(".")[0]
                        self._add(top, Imported(top))
            case ast.ImportFrom(module, names, level):
                origin = self._origin(module or "", level)
                for alias in names:
                    if alias.name == "*":
                        self.star = True
                    else:
                        imported = Imported(origin, alias.name) if origin else None
                        self._add(alias.asname or alias.name, imported)
            case ast.ClassDef(name):
                self._add(name, statement)
            case ast.Assign([ast.Name(name)], value):
                self._add(name, value)
            case ast.AnnAssign(ast.Name(name), _, value):
                if value is not None:
                    self._add(name, value)
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                self._add(name, None)
            case _ if isinstance(statement, getattr(ast, "TypeAlias", ())):  # from 3.12 on
                declared: Any = statement
                self._add(declared.name.id, None if declared.type_params else declared.value)
            case _:
                for part in _shallow(statement):
                    for name in names_bound_by(part):
                        self._add(name, None)

    def _origin(self, module: str, level: int) -> str:
        if level == 0:
            return module
        parts = self.name.split(".")
        package = parts[: max(0, len(parts) - level + self.is_package)]
        return ".".join([*package, *([module] if module else [])])


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of one scope, including those in `if`, `try`, `with` and loops."""
    for statement in body:
        yield statement
        if isinstance(statement, DEFINITIONS):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from _statements(handler.body)
        for case in getattr(statement, "cases", []):
            yield from _statements(case.body)


def _shallow(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that are neither statements nor scopes of their own."""
    pending: list[ast.AST] = list(ast.iter_child_nodes(statement))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ExceptHandler):
            yield node
        if isinstance(node, ast.stmt | ast.Lambda | ast.ExceptHandler):
            continue
        yield node
        pending += ast.iter_child_nodes(node)


def bound_in(body: list[ast.stmt]) -> set[str]:
    """The names that a class body or a function body binds itself."""
    scope = ModuleBindings("", ast.Module(body=body, type_ignores=[]))
    return set(scope.names) | ({"*"} if scope.star else set())


class ProgramBindings:
    """The bindings of a program's modules, parsed on demand.

    `files` holds those that have not changed since the program ran.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._parsed: dict[str, ModuleBindings | None] = {}
        self._known_ancestors: dict[QualifiedName, tuple[frozenset[QualifiedName], bool]] = {}

    def module(self, name: str) -> ModuleBindings | None:
        """The bindings of a module, if its source is available."""
        if name not in self._parsed:
            path = self._files.get(name)
            tree = None if path is None else parse_file(path, most_bytes=_LARGEST)
            is_package = path is not None and path.name == "__init__.py"
            self._parsed[name] = None if tree is None else ModuleBindings(name, tree, is_package)
        return self._parsed[name]

    def meaning(self, module: ModuleBindings, name: str, steps: int = 0) -> tuple[str, Binding]:
        """The module that binds a name, followed through imports, and the binding.

        An `Imported` binding belongs to a module without available source.
        """
        is_bound, binding = module.binding(name)
        if not is_bound:
            return module.name, Imported("builtins", name)
        if not isinstance(binding, Imported) or not binding.name:
            return module.name, binding
        other = self.module(binding.module)
        if other is None or steps > _FURTHEST:
            return module.name, binding
        if not other.binding(binding.name)[0]:
            return module.name, None  # it may be a submodule
        return self.meaning(other, binding.name, steps + 1)

    # --- classes ---------------------------------------------------------------------------------

    def ancestors(self, name: QualifiedName) -> tuple[frozenset[QualifiedName], bool]:
        """The class and its known base classes, and whether these are all."""
        if name not in self._known_ancestors:
            self._known_ancestors[name] = frozenset((name,)), False  # for cyclic bases
            self._known_ancestors[name] = self._find_ancestors(name)
        return self._known_ancestors[name]

    def _find_ancestors(self, name: QualifiedName) -> tuple[frozenset[QualifiedName], bool]:
        alone = frozenset((name,))
        if name.module == "builtins":
            builtin = getattr(builtins, name.qualname, None)
            if not isinstance(builtin, type):
                return alone, False
            return frozenset(
                QualifiedName("builtins", ancestor.__qualname__) for ancestor in builtin.__mro__
            ), True
        if str(name) in _KNOWN_BASES:
            return alone, True
        module = self.module(name.module)
        if module is None or "." in name.qualname:
            return alone, False
        _, definition = module.binding(name.qualname)
        if not isinstance(definition, ast.ClassDef):
            return alone, False
        above, complete = set(alone), _is_plain(definition)
        for base in definition.bases:
            base_name = self.class_named(module, base)
            if base_name is None:
                complete = False
                continue
            more, base_complete = self.ancestors(base_name)
            above |= more
            complete = complete and base_complete
        return frozenset(above), complete

    def class_named(self, module: ModuleBindings, expression: ast.expr) -> QualifiedName | None:
        """The class that an expression in a module denotes, if that is certain."""
        if isinstance(expression, ast.Subscript):
            return self.class_named(module, expression.value)
        if isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name):
            _, binding = self.meaning(module, expression.value.id)
            if not isinstance(binding, Imported) or binding.name:
                return None
            other = self.module(binding.module)
            if other is None:
                return QualifiedName(binding.module, expression.attr)
            return self.class_named(other, ast.Name(expression.attr, ast.Load()))
        if not isinstance(expression, ast.Name):
            return None
        module_name, binding = self.meaning(module, expression.id)
        if isinstance(binding, ast.ClassDef):
            return QualifiedName(module_name, binding.name)
        if isinstance(binding, Imported) and binding.name:
            return QualifiedName(binding.module, binding.name)
        return None


_KNOWN_BASES = {
    "enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag",
    "typing.NamedTuple", "typing.Generic",
}  # fmt: skip
"""Classes of the standard library that do not affect `isinstance`."""
_PLAIN_DECORATORS = {"dataclass", "dataclasses.dataclass", "total_ordering", "final", "unique",
                     "functools.total_ordering", "typing.final", "enum.unique"}  # fmt: skip
_TRICKS = {"__class__", "__instancecheck__", "__subclasscheck__", "__subclasshook__"}


def _is_plain(definition: ast.ClassDef) -> bool:
    """Whether a class does not customize `isinstance`."""
    for decorator in definition.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(called) not in _PLAIN_DECORATORS:
            return False
    return not definition.keywords and not (_TRICKS & bound_in(definition.body))
