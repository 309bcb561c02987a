"""Short texts for objects of installed libraries: markup of Beautiful Soup, queries as SQL.

Apart from `summaries.py` because these objects hold others, which are followed up to a bound, and
because a library has many such types: they are recognized by the class that they extend.

Invariant: attributes are read without running a method, only of objects whose class is of the
library itself; of what a program puts into them only exact atoms are shown, all else by its type.
No summary is complete, so that objects are never taken for equal because their texts are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType

from whence.langs.python.objects.raw_class import own_names

LIBRARIES = frozenset(("bs4", "django", "sqlalchemy"))
Atom = Callable[[object], tuple[str, bool]]
Text = Callable[[object, int], tuple[str, bool]]

_MISSING = object()
_DEEPEST = 12
_raw_module = type.__dict__["__module__"].__get__
_raw_name = type.__dict__["__qualname__"].__get__
_raw_mro = type.__dict__["__mro__"].__get__
_VOID = frozenset(("area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"))
_SIGNS = {
    "exact": "=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">=", "eq": "=", "ne": "!=",
    "le": "<=", "ge": ">=", "in": "IN", "in_op": "IN", "not_in_op": "NOT IN", "like_op": "LIKE",
    "ilike_op": "ILIKE", "is_": "IS", "is_not": "IS NOT", "and_": "AND", "or_": "OR",
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "concat_op": "||",
    "desc_op": "DESC", "asc_op": "ASC", "contains_op": "CONTAINS",
    "startswith_op": "STARTS WITH", "endswith_op": "ENDS WITH", "between_op": "BETWEEN",
}  # fmt: skip


def library_summary(kind: type, atom: Atom) -> Text | None:
    """The summary of a type of a library, if it has one; `atom` writes an exact atom."""
    names = {(_raw_module(base), _raw_name(base)) for base in _raw_mro(kind)}
    described = (text for base, text in _DESCRIBED if base in names)
    text = next(described, None) if _package(kind) in LIBRARIES else None
    if text is None:
        return None
    write = text

    def summary(value: object, most: int) -> tuple[str, bool]:
        writer = _Writer(most, atom)
        write(value, writer)
        return writer.text(), False

    return summary


def _package(kind: type) -> str:
    module = _raw_module(kind)
    return module.partition(".")[0] if type(module) is str else ""


def _is_a(value: object, kind: type) -> bool:
    """Whether a value extends a builtin; `isinstance` could run a `__class__` property."""
    return any(base is kind for base in _raw_mro(type(value)))


def _get(value: object, name: str) -> object:
    """An attribute of an object of a library, read past every `__getattr__`."""
    if _package(type(value)) not in LIBRARIES:
        return _MISSING
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return _MISSING


def _type_name(value: object) -> str:
    return str(_raw_name(type(value)))


class _Writer:
    """Collects a text of at most about so many characters."""

    def __init__(self, most: int, atom: Atom) -> None:
        self._parts: list[str] = []
        self._left = most
        self._atom = atom
        self.depth = 0

    @property
    def is_full(self) -> bool:
        """Whether nothing more is written."""
        return self._left <= 0

    def add(self, text: str) -> None:
        """Append a text as long as there is room."""
        if self._left > 0:
            self._parts.append(text if len(text) < self._left else f"{text[: self._left]}…")
        self._left -= len(text)

    def add_atom(self, value: object) -> None:
        """Append an exact atom, or the type of anything else."""
        if type(value) in (list, tuple) and self.depth <= _DEEPEST:
            self.depth += 1
            self.add("(")
            self.join(_items(value), ", ", self.add_atom)
            self.add(")")
            self.depth -= 1
        else:
            self.add(self._atom(value)[0])

    def join(
        self, values: Sequence[object], between: str, write: Callable[[object], object]
    ) -> None:
        """Append several values."""
        for number, value in enumerate(values):
            if self.is_full:
                return
            if number:
                self.add(between)
            write(value)

    def text(self) -> str:
        """What was written."""
        return "".join(self._parts)


# --- Beautiful Soup ------------------------------------------------------------------------------


def _navigable(value: object, writer: _Writer) -> None:
    writer.add_atom(_content(value))


def _content(value: object) -> str:
    return str.__str__(value) if _is_a(value, str) else f"<{_type_name(value)}>"


def _items(value: object) -> list[object]:
    """The items of a list or tuple, of a subclass of them too; none of anything else."""
    if _is_a(value, list):
        return list.copy(value)  # type: ignore[arg-type]
    return list(tuple.__iter__(value)) if _is_a(value, tuple) else []  # type: ignore[arg-type]


def _tag(value: object, writer: _Writer) -> None:
    """A tag as its markup, attributes and content included."""
    name, attributes, contents = (_get(value, each) for each in ("name", "attrs", "contents"))
    is_document = name == "[document]" if type(name) is str else False
    children = _items(contents)
    writer.depth += 1
    if is_document or type(name) is not str:
        writer.add(f"<{_type_name(value)}: ")
    else:
        writer.add(f"<{name}")
        for key, text in _markup_attributes(attributes):
            writer.add(f' {key}="{text}"')
        writer.add(">")
    if writer.depth > _DEEPEST and children:
        writer.add("…")
        children = []
    for child in children:
        if writer.is_full:
            break
        if _package(type(child)) != "bs4":
            writer.add(f"<{_type_name(child)}>")
        elif _is_a(_get(child, "contents"), list):
            _tag(child, writer)
        elif _type_name(child) == "Comment":
            writer.add(f"<!--{_content(child)}-->")
        else:
            writer.add(_content(child))
    writer.depth -= 1
    if is_document or type(name) is not str:
        writer.add(">")
    elif name not in _VOID or children:
        writer.add(f"</{name}>")


def _markup_attributes(attributes: object) -> list[tuple[str, str]]:
    if not _is_a(attributes, dict):
        return []
    pairs: list[tuple[object, object]] = list(dict.items(attributes))  # type: ignore[arg-type]
    return [
        (_content(key), " ".join(map(_content, _items(value) if _is_a(value, list) else [value])))
        for key, value in pairs
    ]


# --- Django --------------------------------------------------------------------------------------


def _django_query(value: object, writer: _Writer) -> None:
    """A query roughly as SQL: its table, its filters, its order and its limits."""
    table = _get(value, "base_table")
    if type(table) is not str:
        model = _get(value, "model")
        table = _get(own_names(model).get("_meta"), "db_table") if _is_class(model) else None  # type: ignore[arg-type]
    writer.add("SELECT ")
    if _get(value, "distinct") is True:
        writer.add("DISTINCT ")
    names = [_content(name) for name in _items(_get(value, "values_select"))]
    writer.add(", ".join(names) if names else "…")
    annotations = _get(value, "annotations")
    if type(annotations) is dict:
        for name, expression in list(annotations.items()):
            writer.add(f", {_type_name(expression)}(…) AS {_content(name)}")
    writer.add(f" FROM {table}" if type(table) is str else " FROM ?")
    where = _get(value, "where")
    if _children(where):
        writer.add(" WHERE ")
        _django_condition(where, writer)
    texts = [_content(part) for part in _items(_get(value, "order_by"))]
    if texts:
        shown = [f"{text[1:]} DESC" if text.startswith("-") else text for text in texts]
        writer.add(f" ORDER BY {', '.join(shown)}")
    low, high = _get(value, "low_mark"), _get(value, "high_mark")
    if type(low) is int and type(high) is int:
        writer.add(f" LIMIT {high - low}")
    if type(low) is int and low:
        writer.add(f" OFFSET {low}")


def _children(node: object) -> list[object]:
    return _items(_get(node, "children"))


def _django_condition(node: object, writer: _Writer) -> None:
    if _package(type(node)) != "django":
        writer.add(f"<{_type_name(node)}>")
        return
    children = _children(node)
    if not children:
        _django_lookup(node, writer)
        return
    if writer.depth > _DEEPEST:
        writer.add("…")
        return
    is_negated, connector = _get(node, "negated") is True, _get(node, "connector")
    between = f" {connector} " if type(connector) is str else " AND "
    inner = is_negated or (writer.depth > 0 and len(children) > 1)
    writer.depth += 1
    writer.add("NOT " * is_negated + "(" * inner)
    writer.join(children, between, lambda child: _django_condition(child, writer))
    writer.add(")" * inner)
    writer.depth -= 1


def _django_lookup(node: object, writer: _Writer) -> None:
    """One comparison: of a column, with a value or another expression."""
    lookup = _get(node, "lookup_name")
    if type(lookup) is not str:
        writer.add(f"<{_type_name(node)}>")
        return
    _django_operand(_get(node, "lhs"), writer)
    writer.add(f" {_SIGNS.get(lookup, lookup.upper())} ")
    _django_operand(_get(node, "rhs"), writer)


def _django_operand(operand: object, writer: _Writer) -> None:
    column = _get(_get(operand, "target"), "column")
    if _package(type(operand)) == "django" and type(column) is str:
        alias = _get(operand, "alias")
        writer.add(f"{alias}.{column}" if type(alias) is str else column)
    elif _package(type(operand)) == "decimal":
        writer.add(str(operand))
    else:
        writer.add_atom(operand)


# --- SQLAlchemy ----------------------------------------------------------------------------------


def _clause(value: object, writer: _Writer) -> None:
    """A statement or an expression as SQL."""
    if _package(type(value)) != "sqlalchemy" or writer.depth > _DEEPEST:
        writer.add_atom(value)
        return
    writer.depth += 1
    kind = _type_name(value).removeprefix("Annotated")
    if kind in ("Select", "Update", "Delete", "Insert"):
        _statement(kind, value, writer)
    elif kind == "InstrumentedAttribute":
        owner = _get(value, "class_")
        owned = f"{_raw_name(owner)}." if _is_class(owner) else ""
        writer.add(f"{owned}{_name(value, 'key')}")
    elif kind == "Column":
        table = _name(_get(value, "table"), "name")
        writer.add(f"{table}.{_name(value, 'name')}" if table else _name(value, "name"))
    elif kind == "Table":
        writer.add(_name(value, "name"))
    elif kind == "BinaryExpression":
        _clause(_get(value, "left"), writer)
        writer.add(f" {_operator(_get(value, 'operator'))} ")
        _clause(_get(value, "right"), writer)
    elif kind == "BindParameter":
        writer.add_atom(_get(value, "value"))
    elif kind in ("Grouping", "Label", "UnaryExpression"):
        _clause(_get(value, "element"), writer)
        modifier = _get(value, "modifier")
        writer.add(f" {_operator(modifier)}" if type(modifier) is FunctionType else "")
    elif _clauses(value, "clauses"):
        operator = _operator(_get(value, "operator"))
        between = ", " if operator == "?" else f" {operator} "
        writer.join(_clauses(value, "clauses"), between, lambda clause: _clause(clause, writer))
    elif kind in ("Null", "True_", "False_"):
        writer.add(kind.strip("_").upper())
    else:
        name = _name(value, "name")
        writer.add(f"{name}(…)" if name else f"<{_type_name(value)}>")
    writer.depth -= 1


def _statement(kind: str, value: object, writer: _Writer) -> None:
    if kind == "Select":
        writer.add("SELECT ")
        columns = _clauses(value, "_raw_columns")
        writer.join(columns, ", ", lambda each: _column(each, writer))
    else:
        writer.add(f"{kind.upper()} {_name(_get(value, 'table'), 'name')}")
    for attribute, words, between in (
        ("_where_criteria", " WHERE ", " AND "),
        ("_group_by_clauses", " GROUP BY ", ", "),
        ("_having_criteria", " HAVING ", " AND "),
        ("_order_by_clauses", " ORDER BY ", ", "),
    ):
        clauses = _clauses(value, attribute)
        if clauses:
            writer.add(words)
            writer.join(clauses, between, lambda each: _clause(each, writer))
    for attribute, words in (("_limit_clause", " LIMIT "), ("_offset_clause", " OFFSET ")):
        clause = _get(value, attribute)
        if clause is not None and clause is not _MISSING:
            writer.add(words)
            _clause(clause, writer)


def _column(value: object, writer: _Writer) -> None:
    """What a statement selects: an expression, or all columns of a table."""
    _clause(value, writer)
    writer.add(".*" if "Table" in _type_name(value) else "")


def _clauses(value: object, attribute: str) -> list[object]:
    return _items(_get(value, attribute))


def _name(value: object, attribute: str) -> str:
    name = _get(value, attribute)
    return _content(name) if _is_a(name, str) else ""


def _operator(operator: object) -> str:
    if type(operator) not in (FunctionType, BuiltinFunctionType):
        return "?"
    name = str(_get_name(operator))
    return _SIGNS.get(name, name.upper())


def _get_name(function: object) -> object:
    return object.__getattribute__(function, "__name__")


def _is_class(value: object) -> bool:
    return _is_a(value, type)


_DESCRIBED: tuple[tuple[tuple[str, str], Callable[[object, _Writer], None]], ...] = (
    (("bs4.element", "Tag"), _tag),
    (("bs4.element", "NavigableString"), _navigable),
    (("django.db.models.sql.query", "Query"), _django_query),
    (("sqlalchemy.sql.elements", "ClauseElement"), _clause),
    (("sqlalchemy.orm.attributes", "InstrumentedAttribute"), _clause),
)
"""By the class that a type of a library is or extends."""
