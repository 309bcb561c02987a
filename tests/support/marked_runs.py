"""Runs programs with tags in this process, with a mark on one of their calls."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

from whence.langs.python.provenance.influence_slices import influencing_calls
from whence.langs.python.provenance.marked_parts import Criterion, Step, criterion
from whence.langs.python.provenance.rewriter.rewriting_importer import run_source
from whence.langs.python.provenance.tags import Activation
from whence.langs.python.provenance.value_origins import OriginResult, find_origin

CLEANED = """
class R:
    def __init__(self, n): self.n = n
def read(): return " bob "
def should(r): return False
def clean(r):
    if should(r): r.n = r.n.strip()
def other(): return 3
def main():
    r = R(read())
    clean(r)
    other()
    return r
main()
"""
"""A program in which `clean` should change an object and does not."""


def steps(text: str) -> tuple[Step, ...]:
    """`[2].name` as steps."""
    import ast

    node = ast.parse("x" + text, mode="eval").body
    path: list[Step] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            path.append(("attribute", node.attr))
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            bounds = (node.slice.lower, node.slice.upper)
            path.append(("text", tuple(ast.literal_eval(each) for each in bounds if each)))
        else:
            assert isinstance(node, ast.Subscript)
            path.append(("item", ast.literal_eval(node.slice)))
        node = node.value
    return tuple(reversed(path))


@dataclass
class Marked:
    """A mark on the `count`th call of a function, its criterion and origin."""

    function: str
    path: str
    argument: str = ""
    count: int = 1
    found: Criterion | None = field(default=None)

    def on_enter(self, activation: Activation) -> None:
        if self.argument and activation.name == self.function:
            self.count -= 1
            if not self.count:
                assert activation.function is not None
                place = activation.function.positional.index(self.argument)
                self._mark(activation, activation.values[place], activation.arguments[place])

    def on_leave(self, activation: Activation) -> None:
        if not self.argument and activation.name == self.function:
            self.count -= 1
            if not self.count and activation.result is not None:
                self._mark(activation, activation.value, activation.result)

    def _mark(self, activation: Activation, value: object, tag: object) -> None:
        self.found = criterion(activation, value, tag, steps(self.path))  # type: ignore[arg-type]

    @property
    def criterion(self) -> Criterion:
        assert self.found is not None, "the marked call ran"
        return self.found

    @property
    def origin(self) -> OriginResult:
        return find_origin(self.criterion)

    def calls(self, width: int) -> set[str]:
        return {each.name for each in influencing_calls(self.criterion, width)}


def mark(source: str, function: str, path: str, argument: str = "", count: int = 1) -> Marked:
    """Run a program with a mark on one of its calls."""
    marked = Marked(function, path, argument, count)
    run_source(
        textwrap.dedent(source).lstrip("\n"), "program.py", on_enter=marked.on_enter,
        on_leave=marked.on_leave,
    )  # fmt: skip
    return marked
