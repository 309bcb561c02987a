"""Which attributes the code of a function names, whatever object they belong to.

An attribute that no code names which a call ran was not used by that call: this holds through any
number of callees, aliases and containers. It does not hold where code reaches attributes without
naming them; then nothing is known (`reaches_all`). A class whose comparison or printing is
generated (a dataclass) has its attributes read when it is used as a whole (`uses_wholes`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import lru_cache

from whence.langs.python.source.definitions import definitions_in
from whence.ports import AttributeUse

_WORD = re.compile(r"[^\W\d]\w*")
_BY_NAME = frozenset({"getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"})
"""Functions that take the name of an attribute as a text."""
_REACH_ALL = frozenset({
    "vars", "dir", "locals", "eval", "exec", "copy", "deepcopy", "asdict", "astuple", "fields",
    "replace", "evolve", "pickle", "inspect", "pprint",
})  # fmt: skip
"""Functions and modules through which code can reach an attribute without naming it."""
_ALL_OF_IT = frozenset({
    "__dict__", "__slots__", "__getstate__", "__reduce__", "_asdict", "_replace", "asdict",
    "astuple", "deepcopy", "model_dump", "model_copy",
})  # fmt: skip
"""The same, as attributes."""
_WHOLES = frozenset({
    "print", "repr", "str", "format", "ascii", "hash", "set", "frozenset", "sorted", "min", "max",
})  # fmt: skip
"""Functions that print, hash or compare objects."""
_METHODS_OF_WHOLES = frozenset({"sort", "index", "remove", "count", "format", "join"})
_IDENTITY = (ast.Is, ast.IsNot)


@lru_cache(maxsize=2048)
def attributes_named(text: str, qualname: str) -> AttributeUse:
    """What the functions of this name in a module's text name, with the functions inside them.

    For code that has no name of its own there, it is what the whole text names.
    """
    module = definitions_in(text)
    if module is None:
        return AttributeUse(reaches_all=True)
    own = module.named(qualname.partition(".<locals>")[0])
    return _named_in(own or [module.tree])


def _named_in(nodes: Iterable[ast.AST]) -> AttributeUse:
    names: set[str] = set()
    words: set[str] = set()
    variables: set[str] = set()
    wholes = reaches_all = False
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        match node:
            case ast.Attribute(attr=name):
                names.add(name)
            case ast.Name(id=name):
                variables.add(name)
            case ast.Constant(value=str(text)):
                words.update(_WORD.findall(text))
            case ast.MatchClass(patterns=patterns, kwd_attrs=keywords):
                names.update(keywords)
                reaches_all = reaches_all or bool(patterns)
            case ast.Compare():
                wholes = wholes or _may_compare_objects(node)
            case ast.FormattedValue():
                wholes = True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments):
                is_constant = all(isinstance(each, ast.Constant) for each in arguments[1:])
                reaches_all = reaches_all or (name in _BY_NAME and not is_constant)
    return AttributeUse(
        frozenset(names | words),
        wholes or bool(variables & _WHOLES or names & _METHODS_OF_WHOLES),
        reaches_all or bool(variables & _REACH_ALL or names & _ALL_OF_IT),
    )


def _may_compare_objects(node: ast.Compare) -> bool:
    """Whether a comparison may be one of two objects: none of it is a constant or a length."""
    sides = [node.left, *node.comparators]
    return not all(isinstance(each, _IDENTITY) for each in node.ops) and not any(
        isinstance(side, ast.Constant)
        or (isinstance(side, ast.Call) and ast.unparse(side.func) == "len")
        for side in sides
    )
