"""What may become source text: identifiers, comments, docstrings, and calls of known constructors.

A recording may come from anybody, and people run the tests that whence writes. Invariant: a text
of a recording becomes source only through a function of this module, or as the `repr` of plain
data. Whatever else it holds is refused with `CannotRebuild`.
"""

from __future__ import annotations

import ast
import keyword
import math
import unicodedata
from collections.abc import Mapping

from whence.errors import WhenceError

_SHOWN = 60
_LONG_BITS = 4096
"""Python refuses to write a longer integer in decimal."""


class CannotRebuild(WhenceError):
    """A value or a call cannot be written as source; says which and why."""


def is_identifier(name: str) -> bool:
    """Whether source with this name means exactly this name.

    The parser normalizes names (NFKC), so one that is not normalized would mean another.
    """
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and unicodedata.normalize("NFKC", name) == name
    )


def identifier(name: str) -> str:
    """The name itself; `CannotRebuild` if it is no identifier."""
    if not is_identifier(name):
        raise CannotRebuild(f"{_shown(name)} is no name that Python source can have")
    return name


def dotted_name(name: str) -> str:
    """A name such as `package.module` or `Outer.Inner`, each part of which is an identifier."""
    if not all(map(is_identifier, name.split("."))):
        raise CannotRebuild(f"{_shown(name)} is no name that Python source can have")
    return name


def literal_source(value: object) -> str:
    """Plain data as a literal, as people write it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, complex) and not (math.isfinite(value.real + value.imag)):
        return f"complex({literal_source(value.real)}, {literal_source(value.imag)})"
    if isinstance(value, int) and value.bit_length() > _LONG_BITS:
        return hex(value)
    text = repr(value)
    if isinstance(value, str) and "'" not in value and '"' not in value:
        return f'"{text[1:-1]}"'
    return text


def comment(text: str) -> str:
    """A text as a comment of one line."""
    return f"# {_printable(' '.join(text.split()))}"


def docstring(text: str) -> str:
    """A text as a docstring."""
    escaped = _printable(text.replace("\\", "\\\\")).replace('"""', "'''")
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    return f'"""{escaped}"""'


def checked_call(text: str, names: Mapping[str, str]) -> str:
    """An expression of literals and calls of known functions, written anew.

    `names` maps each name that may be called or read to its name in the test; no other is accepted.
    """
    try:
        tree = ast.parse(text, mode="eval").body
        written = _checked(tree, names)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise CannotRebuild(f"{_shown(text)} is more than a call with literals") from None
    return ast.unparse(written)


def _checked(node: ast.expr, names: Mapping[str, str]) -> ast.expr:
    if isinstance(node, ast.Name | ast.Attribute):
        return _known(node, names)
    if isinstance(node, ast.Call):
        if any(word.arg is None for word in node.keywords):
            raise ValueError("keywords that are not known")
        return ast.Call(
            _known(node.func, names),
            [_checked(argument, names) for argument in node.args],
            [ast.keyword(word.arg, _checked(word.value, names)) for word in node.keywords],
        )
    ast.literal_eval(node)
    return node


def _known(node: ast.expr, names: Mapping[str, str]) -> ast.expr:
    name = ast.unparse(node)
    if name not in names:
        raise ValueError(f"the name {name}")
    return ast.parse(names[name], mode="eval").body


def checked_file(text: str) -> str:
    """The text of a file; `CannotRebuild` if the parser does not accept it."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as problem:
        raise CannotRebuild(f"the test would not be valid Python ({problem})") from None
    return text


def _printable(text: str) -> str:
    """The text with escapes in place of all that cannot be seen: line ends, NUL, bidi controls."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _shown(text: str) -> str:
    return ascii(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
