"""Which classes run code that was not recorded, according to the table of types and the text.

Operations on an object run methods of its class. Those of builtin classes and of the standard
library are trusted, those of user code were recorded. A class of a library or of a compiled module
is out of sight. So is part of a class of user code that inherits from such a class, or that a
decorator or a metaclass from elsewhere has changed: its own methods were recorded, others were not.

Invariant: a class counts as recorded only if its text says where all of it comes from.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from whence.langs.python.source.definitions import definitions_in

_LOCALS = "<locals>."


@dataclass(frozen=True, slots=True)
class RecordedType:
    """A type of which values were recorded."""

    module: str
    qualname: str
    is_user_code: bool = False

    @property
    def short(self) -> str:
        """The name as a value of the type is written."""
        return self.qualname.rpartition(_LOCALS)[2]

    @property
    def is_trusted(self) -> bool:
        """Whether it is a builtin type or one of the standard library."""
        package = self.module.partition(".")[0]
        return not self.is_user_code and (not package or package in sys.stdlib_module_names)


class ClassSight(Enum):
    """How much of what a class does was recorded."""

    TRUSTED = "trusted"
    RECORDED = "recorded"
    PARTLY = "partly"
    """Its own methods were recorded; inherited or generated ones were not."""
    UNSEEN = "unseen"


@dataclass(frozen=True)
class ClassFacts:
    """What the text says of a class."""

    sight: ClassSight
    own: frozenset[str] = frozenset()
    """What it defines itself, and what bases of user code define."""
    made_elsewhere: frozenset[str] = frozenset()
    """Attributes that a call of a library made, and methods that it decorates."""
    constants: Mapping[str, ast.expr] = field(default_factory=dict, compare=False)


TRUSTED = ClassFacts(ClassSight.TRUSTED)
UNSEEN = ClassFacts(ClassSight.UNSEEN)


@dataclass
class Classes:
    """The classes of a recording. `files` has the text file of each module of user code."""

    types: Sequence[RecordedType]
    files: Mapping[str, str]
    read: Callable[[str], str | None]
    functions: Collection[str]
    """The names of all recorded functions."""
    leaves_out: bool = False
    _facts: dict[tuple[str, str], ClassFacts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._named: dict[str, list[RecordedType]] = {}
        for entry in self.types:
            self._named.setdefault(entry.short, []).append(entry)
            self._named.setdefault(f"{entry.module}.{entry.short}", []).append(entry)

    @property
    def has_unseen(self) -> bool:
        """Whether a value of a class out of sight was recorded."""
        return any(
            self._of(entry).sight in (ClassSight.PARTLY, ClassSight.UNSEEN) for entry in self.types
        )

    def named(self, name: str) -> list[ClassFacts]:
        """The facts of all types that are written so; none if no value of such a type is known."""
        return [self._of(entry) for entry in self._named.get(name, [])]

    def _of(self, entry: RecordedType) -> ClassFacts:
        if entry.is_trusted:
            return TRUSTED
        if not entry.is_user_code and entry.module not in self.files:
            return UNSEEN
        return self.defined(entry.module, entry.short)

    def defined(self, module: str, name: str) -> ClassFacts:
        """The facts of a class of user code."""
        key = module, name
        if key not in self._facts:
            self._facts[key] = UNSEEN  # for bases that lead back here
            self._facts[key] = self._read(module, name)
        return self._facts[key]

    def _read(self, module: str, name: str) -> ClassFacts:
        file = self.files.get(module)
        text = None if file is None else self.read(file)
        definitions = None if text is None else definitions_in(text)
        if definitions is None:
            return UNSEEN
        imports = imported_names(definitions.tree)
        last = name.rpartition(".")[2]
        matches = [
            node for node in ast.walk(definitions.tree)
            if isinstance(node, ast.ClassDef) and node.name == last
        ]  # fmt: skip
        if matches:
            facts = [self._defined_by(node, module, imports) for node in matches]
            worst = max(facts, key=lambda known: list(ClassSight).index(known.sight))
            return ClassFacts(
                worst.sight,
                frozenset.intersection(*(known.own for known in facts)),
                frozenset.union(*(known.made_elsewhere for known in facts)),
                worst.constants,
            )
        return TRUSTED if _is_made_by_library(definitions.tree, last, imports) else UNSEEN

    def _defined_by(
        self, node: ast.ClassDef, module: str, imports: Mapping[str, str]
    ) -> ClassFacts:
        own: set[str] = set()
        elsewhere: set[str] = set()
        constants: dict[str, ast.expr] = {}
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                own.add(statement.name)
                if any(
                    is_elsewhere(part, imports, self.files) for part in statement.decorator_list
                ):
                    elsewhere.add(statement.name)
            for name, value in _assigned(statement):
                own.add(name)
                constants[name] = value
                parts = [part for part in ast.walk(value) if isinstance(part, ast.expr)]
                if any(is_elsewhere(part, imports, self.files) for part in parts):
                    elsewhere.add(name)
        sight = ClassSight.RECORDED
        if self.leaves_out and any(
            isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
            and part.name not in self.functions
            for part in node.body
        ):
            sight = ClassSight.PARTLY
            own &= set(self.functions)
        if any(is_elsewhere(part, imports, self.files) for part in node.decorator_list):
            sight = ClassSight.PARTLY
        for base in [*node.bases, *(keyword.value for keyword in node.keywords)]:
            facts = self._base(base, module, imports)
            own |= facts.own
            elsewhere |= facts.made_elsewhere
            if facts.sight in (ClassSight.PARTLY, ClassSight.UNSEEN):
                sight = ClassSight.PARTLY
        return ClassFacts(sight, frozenset(own), frozenset(elsewhere), constants)

    def _base(self, node: ast.expr, module: str, imports: Mapping[str, str]) -> ClassFacts:
        while isinstance(node, ast.Subscript):  # a generic class with its parameters
            node = node.value
        if isinstance(node, ast.Constant):
            return TRUSTED  # an option of the class statement
        dotted = dotted_name(node, imports)
        if dotted is not None:
            package, _, name = dotted.rpartition(".")
            if package.lstrip(".").partition(".")[0] in sys.stdlib_module_names:
                return TRUSTED
            known = next((own for own in self.files if _ends_alike(own, package)), None)
            return UNSEEN if known is None else self.defined(known, name)
        if isinstance(node, ast.Name | ast.Attribute):
            name = ast.unparse(node)
            if hasattr(builtins, name):
                return TRUSTED
            return self.defined(module, name)
        return UNSEEN


def _ends_alike(module: str, package: str) -> bool:
    """Whether an import, which may be relative, names a module."""
    tail = package.lstrip(".")
    return module == tail or (package.startswith(".") and module.endswith(f".{tail}"))


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield ast.unparse(statement.target), statement.value


def _is_made_by_library(tree: ast.Module, name: str, imports: Mapping[str, str]) -> bool:
    """Whether the standard library makes a class without a class statement, as `namedtuple`."""
    values = [
        value
        for statement in ast.walk(tree)
        if isinstance(statement, ast.stmt)
        for target, value in _assigned(statement)
        if target == name and isinstance(value, ast.Call)
    ]
    return bool(values) and all(
        (dotted_name(value.func, imports) or "").partition(".")[0] in sys.stdlib_module_names
        for value in values
    )


def imported_names(tree: ast.AST) -> dict[str, str]:
    """The dotted name that each imported name stands for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                names[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            for alias in node.names:
                dot = "" if origin.endswith(".") else "."
                names[alias.asname or alias.name] = f"{origin}{dot}{alias.name}"
    return names


def dotted_name(node: ast.expr, imports: Mapping[str, str]) -> str | None:
    """The dotted name of what an expression gets from an imported module; None if it does not."""
    if isinstance(node, ast.Attribute):
        above = dotted_name(node.value, imports)
        return None if above is None else f"{above}.{node.attr}"
    return imports.get(node.id) if isinstance(node, ast.Name) else None


def is_elsewhere(node: ast.expr, imports: Mapping[str, str], files: Collection[str]) -> bool:
    """Whether an expression is something of a library."""
    dotted = dotted_name(node.func if isinstance(node, ast.Call) else node, imports)
    if dotted is None:
        return False
    if not dotted.startswith(".") and dotted.partition(".")[0] in sys.stdlib_module_names:
        return False
    return not any(_ends_alike(own, dotted.rpartition(".")[0] or dotted) for own in files)
