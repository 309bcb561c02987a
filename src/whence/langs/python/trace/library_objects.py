"""What a question shows in place of an object of a library: `<Session>`, `<Response 200 b'…'>`.

Only the display: the recording has the attributes, and they count wherever values are compared.
Whose class it is decides: not that of a module whose code was recorded, but of the standard library
or of a package that is installed beside whence. What consists of a few plain values is shown by
them, whoever defined its class.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from whence.langs.python.trace.trace_format import EXCEPTION_TYPE, USER_TYPE
from whence.langs.python.trace.trace_tables import TypeEntry
from whence.model.value import Kind, Value, is_opaque, names_code

Parts = Sequence[tuple[str, Value]]

BOOKKEEPING = ""
"""Shown in place of what a library only keeps for itself in an object of the program."""

_MOST_PLAIN = 6
_MOST_NODES = 150
_BODY = 60
_SITES = ("site-packages", "dist-packages")
_KEPT = frozenset(
    (
        ("django.db.models.base", "ModelState"),
        ("sqlalchemy.orm.state", "InstanceState"),
        ("sqlalchemy.orm.collections", "CollectionAdapter"),
    )
)
_OF_THE_WEB = frozenset(("requests", "httpx", "starlette", "fastapi", "django"))
_BODIES = ("._content", ".body", "._container")
_TRANSPARENT = frozenset((("types", "SimpleNamespace"), ("argparse", "Namespace")))
_UNKNOWN = "…"


def text_in_place(kind: TypeEntry, parts: Parts, omitted: int) -> str | None:
    """What is shown in place of an object; None if its attributes are."""
    if kind.flags & (USER_TYPE | EXCEPTION_TYPE) or (kind.module, kind.qualname) in _TRANSPARENT:
        return None
    package = kind.module.partition(".")[0]
    if (kind.module, kind.qualname) in _KEPT:
        return BOOKKEEPING
    if not _is_library(package):
        return None
    if package == "ast":
        return _source(kind.short, parts)
    if package in _OF_THE_WEB:
        text = _message(kind.short, dict(parts))
        if text is not None:
            return text
    if package == "django" and kind.qualname == "QuerySet":
        query = dict(parts).get("._query")
        if query is not None and query.kind is Kind.ATOM:
            return f"<QuerySet {query.text}>"
    if package == "logging" and kind.qualname in ("Logger", "RootLogger"):
        return f"<Logger {_atom(dict(parts), '.name').strip(chr(39))}>"
    few = len(parts) <= _MOST_PLAIN and not omitted
    return None if few and all(_is_plain(part) for _, part in parts) else f"<{kind.short}>"


@cache
def _is_library(package: str) -> bool:
    return package in sys.stdlib_module_names or package in _installed()


@cache
def _installed() -> frozenset[str]:
    """The names of packages and modules in the folders for installed ones. Nothing is imported."""
    folders = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    folders |= {Path(folder) for folder in sys.path if Path(folder).name in _SITES}
    names: set[str] = set()
    for folder in folders:
        try:
            names |= {entry.name.partition(".")[0] for entry in folder.iterdir()}
        except OSError:
            continue
    return frozenset(names)


def _is_plain(value: Value) -> bool:
    if value.kind is Kind.SHARED or value.brief is not None:
        return False
    if value.kind is Kind.ATOM:
        return not (is_opaque(value) or names_code(value))
    return not value.omitted and all(_is_plain(part) for _, part in value.parts)


def _atom(parts: dict[str, Value], step: str) -> str:
    value = parts.get(step)
    return value.text if value is not None and value.kind is Kind.ATOM else ""


def _message(name: str, parts: dict[str, Value]) -> str | None:
    """A request by its method and address, or a response by its status and the body's start."""
    method = _atom(parts, ".method").strip("'")
    if method and "Request" in name:
        address = next((_atom(parts, step) for step in (".url", ".path") if step in parts), "")
        return f"<{name} {method} {address.strip(chr(39))}>".replace(" >", ">")
    if "Response" not in name:
        return None
    body = ""
    for step in _BODIES:
        part = parts.get(step)
        if part is not None and part.kind is Kind.LIST and len(part.parts) == 1:
            part = part.parts[0][1]
        if part is not None and part.kind is Kind.ATOM and part.text[:2] in ("b'", 'b"'):
            body = part.text if len(part.text) <= _BODY else f"{part.text[:_BODY]}…"
    words = [word for word in (name, _atom(parts, ".status_code"), body) if word]
    return f"<{' '.join(words)}>"


# --- nodes of `ast` ------------------------------------------------------------------------------


def _source(name: str, parts: Parts) -> str | None:
    """A node as the source that it stands for: `BinOp('a + b')`; what is unknown as `…`."""
    if _count(parts, _MOST_NODES) > _MOST_NODES:
        return f"<{name}>"
    if name == "Constant":
        return f"Constant({_atom(dict(parts), '.value') or _UNKNOWN})"
    node = _node(name, dict(parts))
    if node is None:
        return f"<{name}>"
    try:
        text = ast.unparse(ast.fix_missing_locations(node))
    except Exception:  # a node that the program made otherwise than a parser would
        return f"<{name}>"
    if isinstance(node, ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop):
        return f"{name}()"
    context = getattr(node, "ctx", None)
    stored = f", ctx={type(context).__name__}()" if isinstance(context, ast.Store | ast.Del) else ""
    return f"{name}({text!r}{stored})"


def _count(parts: Parts, most: int) -> int:
    count, left = 0, [part for _, part in parts]
    while left and count <= most:
        value = left.pop()
        count += 1
        left += [part for _, part in value.parts]
    return count


def _node(name: str, parts: dict[str, Value]) -> ast.AST | None:
    kind = getattr(ast, name, None)
    if not (isinstance(kind, type) and issubclass(kind, ast.AST)):
        return None
    node = kind()
    for field in kind._fields:
        value = parts.get(f".{field}")
        in_body = field in ("body", "orelse", "finalbody")
        if kind is ast.Constant and field == "value":
            text = _UNKNOWN if value is None or value.kind is not Kind.ATOM else value.text
            return ast.Name(text)
        setattr(node, field, _field(value, is_statement=in_body))
    if isinstance(node, ast.stmt):
        node.lineno = 1
    return node


def _field(value: Value | None, *, is_statement: bool) -> object:
    unknown: ast.AST = ast.Name(_UNKNOWN)
    unknown = ast.Expr(unknown) if is_statement else unknown  # type: ignore[arg-type]
    if value is None:
        return None
    if value.kind is Kind.LIST:
        items = [_field(item, is_statement=is_statement) for _, item in value.parts]
        return [*items, unknown] if value.omitted else items
    if value.kind is Kind.OBJECT:
        fields = _node(value.text, dict(value.parts)) if value.parts or not value.omitted else None
        return unknown if fields is None else fields
    if value.kind is not Kind.ATOM or value.text == _UNKNOWN:
        return unknown
    try:
        return ast.literal_eval(value.text)
    except (ValueError, SyntaxError):
        return value.text
