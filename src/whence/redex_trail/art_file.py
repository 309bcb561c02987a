"""Reading an Augmented Redex Trail from a file (`docs/art-format.md`, schema `art/1`).

Apart from `art`, because a graph can also come from elsewhere. What a file says wrongly, whatever
it is, comes out as a `TreeFormatError` that names the file and, where there is one, the node.
Nothing that is read is executed.

Of a node only its name, kind, references and rule count; `val` is not looked at, and `parent` and
`reduct`, which follow from the name, are checked where they are given: a writer that gets them
wrong names its nodes by other rules than ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from whence.errors import TreeFormatError
from whence.redex_trail.art import (
    Application,
    Art,
    Atom,
    Expression,
    Indirection,
    NotAnArt,
    parent,
    quoted,
)

SCHEMA = "art/1"
_KINDS = 'a node has a "kind": "atom", "app" or "ind"'


def read_art(path: str | Path) -> Art:
    """The graph in a file."""
    name = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the path
        raise TreeFormatError(name, None, f"cannot be read: {error}") from None
    try:
        item = json.loads(text)
    except json.JSONDecodeError as error:
        raise TreeFormatError(name, error.lineno, f"is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number too long, brackets too deep
        raise TreeFormatError(name, None, f"is not JSON that can be read: {error}") from None
    return decode_art(item, name)


def decode_art(item: Any, path: str = "<art>") -> Art:
    """The graph that a file's JSON describes; `path` is for messages."""
    if not isinstance(item, dict) or item.get("schema") != SCHEMA:
        raise TreeFormatError(
            path, None, "is not an Augmented Redex Trail", f'"schema" must be "{SCHEMA}"'
        )
    reader = _ArtReader(path)
    nodes, rules = reader.nodes(item.get("nodes"))
    try:
        return Art(
            nodes=nodes,
            rules=rules,
            start=reader.text(item.get("start_node", "t"), '"start_node"'),
            program=reader.program(item.get("program", [])),
            start_term=reader.text(item.get("start_term", ""), '"start_term"'),
        )
    except NotAnArt as error:
        raise reader.wrong(f"node {quoted(error.node)}: {error.problem}", error.cure) from None


class _ArtReader:
    """Reads the pieces of one file, so that each complaint names it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def wrong(self, problem: str, cure: str = "") -> TreeFormatError:
        return TreeFormatError(self.path, None, problem, cure)

    def text(self, item: Any, what: str) -> str:
        if not isinstance(item, str):
            raise self.wrong(f"{what} must be a text")
        return item

    def program(self, item: Any) -> tuple[str, ...]:
        if isinstance(item, str):
            return tuple(item.splitlines())
        if not isinstance(item, list):
            raise self.wrong('"program" must be a list of lines')
        return tuple(self.text(line, 'a line of "program"') for line in item)

    def nodes(self, items: Any) -> tuple[dict[str, Expression], dict[str, str]]:
        if not isinstance(items, list) or not items:
            raise self.wrong('"nodes" must be a list with at least one node')
        nodes: dict[str, Expression] = {}
        rules: dict[str, str] = {}
        names = {item.get("node") for item in items if _is_named(item)}
        for number, item in enumerate(items, 1):
            if not _is_named(item):
                raise self.wrong(
                    f"entry {number} of nodes has no name", '"node" is a text over l, r, t'
                )
            name = item["node"]
            if name in nodes:
                raise self.wrong(f"node {quoted(name)} stands twice in the file")
            nodes[name] = self.expression(item, name)
            self.check_derived(item, name, name + "t" in names)
            if "rule" in item:
                rules[name] = self.text(item["rule"], f'"rule" of node {quoted(name)}')
        return nodes, rules

    def expression(self, item: dict[str, Any], name: str) -> Expression:
        kind = item.get("kind")
        if kind == "atom":
            value = item.get("value")
            if isinstance(value, bool | int | float):
                return Atom(str(value))
            if not isinstance(value, str) or not value.strip():
                cure = "an atom's value is a text or a number"
                raise self.wrong(f'node {quoted(name)} has no "value"', cure)
            return Atom(value)
        if kind == "app":
            return Application(self.reference(item, "left"), self.reference(item, "right"))
        if kind == "ind":
            return Indirection(self.reference(item, "to"))
        raise self.wrong(f"node {quoted(name)} has no kind that is known", _KINDS)

    def reference(self, item: dict[str, Any], key: str) -> str:
        return self.text(item.get(key), f'"{key}" of node {quoted(item["node"])}')

    def check_derived(self, item: dict[str, Any], name: str, reduced: bool) -> None:
        if item.get("parent") and item["parent"] != parent(name):
            raise self.wrong(
                f"node {quoted(name)} names {quoted(item['parent'])} as its parent; by its name "
                f"it is {quoted(parent(name))}",
                "leave parent out: it follows from the name",
            )
        reduct = item.get("reduct")
        if reduct is not None and (reduct != name + "t" or not reduced):
            raise self.wrong(
                f"node {quoted(name)} names {quoted(reduct)} as its reduct",
                f"the reduct of x is xt, and must be among the nodes: {quoted(name + 't')}",
            )


def _is_named(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("node"), str)
