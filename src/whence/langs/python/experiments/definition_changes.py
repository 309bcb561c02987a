"""The differences of two texts of a module, each as a change of one definition.

A definition is a function, a method, a class, a variable of a module or class, an import; any other
statement stands for itself. Decorators, defaults and nested functions belong to their function. A
class that both texts have is compared by its header and its members.

Invariant: the text with all changes made has the definitions of the other text, each with the code
that it has there. Texts are parsed, never run.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import Enum

from whence.langs.python.source.code_locations import first_line
from whence.langs.python.source.scopes import FunctionNode, names_bound_by

_Key = tuple[str, ...]


class ChangeKind(Enum):
    """What the other version does with a definition."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines of a text, counted from 1, and what stands in for them; `last < first`: inserted."""

    first: int
    last: int
    text: str
    order: int = 0
    """Of several insertions before the same line, the lower comes first."""


@dataclass(frozen=True, slots=True)
class NamesUsed:
    """The names that a definition uses, and what it provides."""

    names: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    """Attributes that it sets."""
    provided: frozenset[str] = frozenset()
    """Names that it defines in its module or class."""


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """A definition that differs between two texts of a module."""

    name: str
    """Its qualified name; of an import or another statement, its text."""
    kind: ChangeKind
    edits: tuple[Edit, ...]
    uses: NamesUsed = NamesUsed()
    is_function: bool = False
    is_header: bool = False
    """Whether the decorators or parameters of a function differ."""
    in_class: str = ""
    """The qualified name of the class that it is a member of."""
    lines: tuple[int, int] = (0, 0)
    """The lines that it has in the program's text; (0, 0) if it is not there."""
    other_lines: tuple[int, int] = (0, 0)
    """The lines that it has in the other text."""


class NotComparable(Exception):
    """A text whose definitions cannot be told apart by lines."""


def changes_between(own: str, other: str) -> list[DefinitionChange]:
    """The changes that make one text of a module the other; `NotComparable` if one is no Python."""
    try:
        trees = ast.parse(own), ast.parse(other)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotComparable("one of them cannot be parsed") from None
    comparison = _Comparison(_lines(own), _lines(other))
    comparison.compare_bodies(trees[0].body, trees[1].body, "", "")
    return comparison.changes


def with_changes(text: str, changes: Iterable[DefinitionChange]) -> str:
    """A module's text with some changes made."""
    lines = _lines(text)
    edits = [edit for change in changes for edit in change.edits]
    for edit in sorted(edits, key=lambda edit: (edit.first, edit.last, edit.order), reverse=True):
        lines[edit.first - 1 : max(edit.last, edit.first - 1)] = [edit.text]
    return "".join(lines)


def _lines(text: str) -> list[str]:
    if text and not text.endswith("\n"):
        text += "\n"
    return text.splitlines(keepends=True) if "\f" not in text else _split_at_newlines(text)


def _split_at_newlines(text: str) -> list[str]:
    """The lines as Python counts them; `splitlines` also ends lines at form feeds."""
    return [line + "\n" for line in text.split("\n")[:-1]]


# --- units ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Unit:
    """A statement of a body."""

    key: _Key
    node: ast.stmt
    dump: str
    partner: _Unit | None = field(default=None, repr=False)

    @property
    def lines(self) -> tuple[int, int]:
        return _span(self.node)


def _span(node: ast.stmt) -> tuple[int, int]:
    first = first_line(node) if isinstance(node, FunctionNode | ast.ClassDef) else node.lineno
    return first, node.end_lineno or node.lineno


def _units(body: Sequence[ast.stmt]) -> list[_Unit]:
    counts: Counter[_Key] = Counter()
    units: list[_Unit] = []
    for node in body:
        if _is_docstring(node) or _is_future(node):
            continue
        dump = _dump(node)
        key = _key(node, dump)
        counts[key] += 1
        unit = _Unit((*key, str(counts[key])), node, dump)
        if units and units[-1].lines[1] >= unit.lines[0]:
            raise NotComparable("several statements are in one line")
        units.append(unit)
    return units


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_docstring(node: ast.stmt) -> bool:
    """Whether it is a text by itself, which does nothing."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _key(node: ast.stmt, dump: str) -> _Key:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return "function", name
        case ast.ClassDef(name=name):
            return "class", name
        case ast.Import() | ast.ImportFrom():
            return "import", dump
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return "variable", name
        case ast.If(test=test):
            return "if", ast.dump(test)
        case _:
            return "statement", dump


def _dump(node: ast.AST) -> str:
    """The text of a node without its locations and docstrings."""
    if isinstance(node, FunctionNode | ast.ClassDef) and node.body and _is_docstring(node.body[0]):
        head = ast.dump(node.body[0])
        return ast.dump(node).replace(head, "docstring", 1)
    return ast.dump(node)


# --- comparison ----------------------------------------------------------------------------------


class _Comparison:
    """Compares two texts."""

    def __init__(self, own: list[str], other: list[str]) -> None:
        self._own = own
        self._other = other
        self._order = 0
        self.changes: list[DefinitionChange] = []

    def compare_bodies(
        self, own: Sequence[ast.stmt], other: Sequence[ast.stmt], within: str, indent: str
    ) -> None:
        """The changes between the bodies of two modules or classes."""
        ours, theirs = _units(own), _units(other)
        start = _start(own)
        by_key = {unit.key: unit for unit in ours}
        for unit in theirs:
            partner = by_key.get(unit.key)
            if partner is not None:
                unit.partner, partner.partner = partner, unit
        for unit in ours:
            if unit.partner is not None and unit.dump != unit.partner.dump:
                self._compare(unit, unit.partner, within, indent)
        self._unpaired(ours, theirs, within, (start, indent))

    def _compare(self, one: _Unit, two: _Unit, within: str, indent: str) -> None:
        nodes = one.node, two.node
        if isinstance(nodes[0], ast.ClassDef) and isinstance(nodes[1], ast.ClassDef):
            is_compared = self._compare_classes(nodes[0], nodes[1], within)
            if is_compared:
                return
        first, last = one.lines
        edit = Edit(first, last, self._text(two, indent))
        self._add(ChangeKind.CHANGED, one, two, within, (edit,))

    def _compare_classes(self, one: ast.ClassDef, two: ast.ClassDef, within: str) -> bool:
        """Compare two classes by their parts; returns whether that is possible."""
        if not all(node.lineno < node.body[0].lineno for node in (one, two)):
            return False
        before = len(self.changes)
        try:
            ours, theirs = (_header(node) for node in (one, two))
            self.compare_bodies(
                one.body, two.body, _qualified(within, one.name), self._indent_of(one.body[0])
            )
        except NotComparable:
            del self.changes[before:]
            return False
        if ours != theirs:
            if one.col_offset != two.col_offset:
                del self.changes[before:]
                return False
            first, last = _span(one)[0], _body_start(one) - 1
            edit = Edit(first, last, "".join(self._other[_span(two)[0] - 1 : _body_start(two) - 1]))
            name = _qualified(within, one.name)
            uses = _names_used([*two.bases, *two.decorator_list, *two.keywords], ())
            self.changes.append(
                DefinitionChange(
                    name, ChangeKind.CHANGED, (edit,), uses, False, False, within, (first, last),
                    (_span(two)[0], _body_start(two) - 1),
                )
            )  # fmt: skip
        return True

    def _unpaired(
        self, ours: list[_Unit], theirs: list[_Unit], within: str, place: tuple[int, str]
    ) -> None:
        """What only one of two bodies has. Statements without a name are paired by their place."""
        replaced = _replaced(ours, theirs)
        done = {id(unit) for pair in replaced for units in pair for unit in units}
        for one, two in replaced:
            edits = [Edit(*unit.lines, "") for unit in one]
            text = "".join(self._text(unit, place[1]) for unit in two)
            edits[0] = Edit(*one[0].lines, text)
            self._add(ChangeKind.CHANGED, one[0], two[0], within, tuple(edits))
        at = place[0]
        for unit in theirs:
            if unit.partner is not None:
                at = unit.partner.lines[1] + 1
            elif id(unit) not in done:
                self._order += 1
                edit = Edit(at, at - 1, self._text(unit, place[1]), self._order)
                self._add(ChangeKind.ADDED, None, unit, within, (edit,))
        for unit in ours:
            if unit.partner is None and id(unit) not in done:
                keeps_body = sum(other.partner is not None for other in ours) == 0
                text = f"{place[1]}pass\n" if keeps_body and within else ""
                edit = Edit(*unit.lines, text)
                self._add(ChangeKind.REMOVED, unit, None, within, (edit,))

    def _add(
        self, kind: ChangeKind, one: _Unit | None, two: _Unit | None, within: str,
        edits: tuple[Edit, ...],
    ) -> None:  # fmt: skip
        unit = two or one
        assert unit is not None
        is_function = isinstance(unit.node, FunctionNode)
        uses = _names_used([unit.node], _provided(unit.node)) if two is not None else NamesUsed()
        self.changes.append(
            DefinitionChange(
                _qualified(within, _name(unit.node)), kind, edits, uses, is_function,
                one is not None and two is not None and _head(one.node) != _head(two.node), within,
                one.lines if one is not None else (0, 0),
                two.lines if two is not None else (0, 0),
            )
        )  # fmt: skip

    def _text(self, unit: _Unit, indent: str) -> str:
        """The text of a statement of the other version, as deep as the program's are."""
        first, last = unit.lines
        lines = self._other[first - 1 : last]
        if lines[0][: unit.node.col_offset] == indent:
            return "".join(lines)
        return _unparsed(unit.node, indent)

    def _indent_of(self, node: ast.stmt) -> str:
        return self._own[_span(node)[0] - 1][: node.col_offset]


def _unparsed(node: ast.stmt, indent: str) -> str:
    """A statement's text from its syntax tree: no text in it but docstrings has several lines."""
    return "".join(f"{indent}{line}\n" for line in ast.unparse(node).split("\n") if line.strip())


def _head(node: ast.stmt) -> list[str]:
    """The decorators and parameters of a function, as texts."""
    if not isinstance(node, FunctionNode):
        return []
    return [ast.dump(part) for part in (*node.decorator_list, node.args)]


def _header(node: ast.ClassDef) -> list[str]:
    return [ast.dump(part) for part in (*node.decorator_list, *node.bases, *node.keywords)]


def _body_start(node: ast.ClassDef) -> int:
    return _span(node.body[0])[0]


def _start(body: Sequence[ast.stmt]) -> int:
    """The line at which a definition can be put before all others."""
    head = [node for node in body if _is_docstring(node) or _is_future(node)]
    first = [node for node in head[:1] if node is body[0]]
    last = [node for node in head if _is_future(node)] or first
    if last:
        return (last[-1].end_lineno or last[-1].lineno) + 1
    return _span(body[0])[0] if body else 1


def _replaced(ours: list[_Unit], theirs: list[_Unit]) -> list[tuple[list[_Unit], list[_Unit]]]:
    """The statements without a name that stand where others stand in the other text."""
    one, two = (
        [unit for unit in units if unit.key[0] in ("statement", "if")] for units in (ours, theirs)
    )
    matcher = SequenceMatcher(None, [u.key for u in one], [u.key for u in two], autojunk=False)
    pairs = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "replace":
            left = [unit for unit in one[i1:i2] if unit.partner is None]
            right = [unit for unit in two[j1:j2] if unit.partner is None]
            if left and right:
                pairs.append((left, right))
    return pairs


# --- names ---------------------------------------------------------------------------------------


def _qualified(within: str, name: str) -> str:
    return f"{within}.{name}" if within else name


def _name(node: ast.stmt) -> str:
    if isinstance(node, FunctionNode | ast.ClassDef):
        return node.name
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    text = ast.unparse(node).split("\n")[0]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_LONGEST = 60


def _provided(node: ast.stmt) -> Iterable[str]:
    """The names that a statement binds in its body."""
    if isinstance(node, FunctionNode | ast.ClassDef):
        yield node.name
        return
    for inner in _own_nodes(node):
        yield from names_bound_by(inner)


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A statement's nodes, without what is inside of functions and classes."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode | ast.ClassDef):
            yield child
        elif not isinstance(child, ast.Lambda):
            yield from _own_nodes(child)


def _names_used(nodes: Sequence[ast.AST], provided: Iterable[str]) -> NamesUsed:
    names: set[str] = set()
    attributes: set[str] = set()
    stored: set[str] = set()
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                is_store = isinstance(node.ctx, ast.Store)
                (stored if is_store else attributes).add(node.attr)
            elif isinstance(node, ast.ImportFrom):
                names.update(alias.name for alias in node.names)
    return NamesUsed(
        frozenset(names), frozenset(attributes), frozenset(stored), frozenset(provided)
    )
