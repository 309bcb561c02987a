"""Values of an Augmented Redex Trail as questions show them, and the way back from a part.

In the graph everything is a symbol or an application of two; a reader wants lists, tuples and
terms. `ArtValues` reads the graph in that shape, writes it in the program's notation, and walks
from a node along a path of steps to a part, which is how a mark finds its node.

Notation. `:` and `[]` make lists, `T2`, `T3`, … and `(,)` make tuples, any other application is a
term. A call that was never reduced is `_`, which needs the function's arity: the number of
arguments that its reductions took, or else of the patterns in its equation. Where neither is
known, applications are shown as they are. A list whose end is unevaluated is a term `:` of its
elements and its end, written `1:2:_`.

Shared parts make values exponentially larger than their graph, and lists can be long, so values
are cut (`TermLimits` below); a cut value says how much it left out, and `cut` says that it is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from whence.model.value import Kind, Value, atom
from whence.redex_trail.art import Application, Art, Atom

UNEVALUATED = "_"
ELLIPSIS = "…"
_CONS, _NIL = ":", "[]"
_TUPLE = re.compile(r"T([2-9]|[1-9][0-9]{1,2})|\((,{1,60})\)")
_NAME = re.compile(r"[\w'.]+|\[\]|\(.*\)|\".*\"|_")
_NEGATIVE = re.compile(r"-[\d.]")
_STEP = re.compile(r"\[([0-9]{1,9})\]")


@dataclass(frozen=True, slots=True)
class TermLimits:
    """How much of a value is kept: levels, parts of one value, parts of all, letters of an atom."""

    nesting: int = 40
    parts: int = 200
    total: int = 1_000
    letters: int = 1_000
    text: int = 2_000


@dataclass(frozen=True, slots=True)
class TermShape:
    """One level of a value: how it is written, the nodes of its parts, how many were left out."""

    kind: Kind
    text: str = ""
    parts: tuple[str, ...] = ()
    omitted: int = 0


@dataclass(frozen=True)
class ArtValues:
    """The values of one graph."""

    art: Art
    limits: TermLimits = TermLimits()

    @cached_property
    def arities(self) -> dict[str, int]:
        """How many arguments each function takes: as reduced (the fewest), else as written."""
        reduced: dict[str, int] = {}
        for node in self.art.nodes:
            if self.art.reduced(node):
                symbol, arguments = self.redex(node)
                reduced[symbol] = min(len(arguments), reduced.get(symbol, len(arguments)))
        return {**_arities_as_written(self.art.program), **reduced}

    def redex(self, node: str) -> tuple[str, list[str]]:
        """The symbol and the argument nodes of a node as it was before it was reduced."""
        arguments: list[str] = []
        expression = self.art.nodes[node]
        while isinstance(expression, Application):
            arguments.append(expression.right)
            expression = self.art.nodes[self.art.evaluated(expression.left)]
        assert isinstance(expression, Atom), "a value ends in atoms"
        arguments.reverse()
        return expression.symbol, arguments

    # --- shapes --------------------------------------------------------------------------------

    def shape(self, node: str) -> TermShape:
        """The top level of a node's value. Cost: O(its parts), of a list O(those kept)."""
        node = self.art.evaluated(node)
        if node in self._lists:
            return self._list_shape(node)
        symbol, arguments = self.redex(node)
        if symbol in self.arities and len(arguments) >= self.arities[symbol]:
            return TermShape(Kind.ATOM, UNEVALUATED)
        if not arguments:
            return TermShape(Kind.LIST) if symbol == _NIL else TermShape(Kind.ATOM, symbol)
        kept = tuple(arguments[: self.limits.parts])
        omitted = len(arguments) - len(kept)
        if len(arguments) == _tuple_size(symbol):
            return TermShape(Kind.TUPLE, "", kept, omitted)
        return TermShape(Kind.TERM, symbol, kept, omitted)

    def _list_shape(self, node: str) -> TermShape:
        length, end = self._lists[node]
        kept: list[str] = []
        while node in self._lists and len(kept) < self.limits.parts:
            cell = self._application(node)
            kept.append(self._application(self.art.evaluated(cell.left)).right)
            node = self.art.evaluated(cell.right)
        omitted = length - len(kept)
        if self.art.nodes[end] == Atom(_NIL):
            return TermShape(Kind.LIST, "", tuple(kept), omitted)
        if omitted:
            return TermShape(Kind.TERM, _CONS, tuple(kept), omitted + 1)
        return TermShape(Kind.TERM, _CONS, (*kept, end))

    @cached_property
    def _lists(self) -> dict[str, tuple[int, str]]:
        """For each cons cell the number of cells from there on, and the node that ends them."""
        cells: dict[str, tuple[int, str]] = {}
        for node in self.art.order:
            cell = self.art.nodes[node]
            if self.art.reduced(node) or not isinstance(cell, Application):
                continue
            left = self.art.nodes[self.art.evaluated(cell.left)]
            if not isinstance(left, Application):
                continue
            if self.art.nodes[self.art.evaluated(left.left)] == Atom(_CONS):
                rest = self.art.evaluated(cell.right)
                count, end = cells.get(rest, (0, rest))
                cells[node] = (count + 1, end)
        return cells

    def _application(self, node: str) -> Application:
        expression = self.art.nodes[node]
        assert isinstance(expression, Application)
        return expression

    # --- from a part to its node ---------------------------------------------------------------

    def argument(self, node: str, index: int) -> tuple[list[str], str] | None:
        """The nodes on the way to an argument of a node that is taken as a redex, as in `part`."""
        count = len(self.redex(node)[1])
        if not 0 <= index < count:
            return None
        met: list[str] = [node]
        for _ in range(count - 1 - index):
            met += self.art.evaluation(self._application(node).left)
            node = met[-1]
        return met, self._application(node).right

    def part(self, node: str, step: str) -> tuple[list[str], str] | None:
        """The nodes met on the way from a node to the part of its value that a step leads to.

        The second is the part's node, where its evaluation began; None if there is no such part.
        """
        index = _STEP.fullmatch(step)
        if index is None:
            return None
        met = self.art.evaluation(node)
        node = met[-1]
        if node in self._lists:
            return self._element(met, int(index[1]))
        if self.shape(node).kind is Kind.ATOM:
            return None
        located = self.argument(node, int(index[1]))
        return None if located is None else (met + located[0], located[1])

    def _element(self, met: list[str], index: int) -> tuple[list[str], str] | None:
        node = met[-1]
        length, end = self._lists[node]
        if index > length or (index == length and self.art.nodes[end] == Atom(_NIL)):
            return None
        for _ in range(index):
            met += self.art.evaluation(self._application(node).right)
            node = met[-1]
        if index == length:
            return met, node
        met += self.art.evaluation(self._application(node).left)
        return met, self._application(met[-1]).right

    # --- values and text -----------------------------------------------------------------------

    def value(self, node: str) -> tuple[Value, bool]:
        """A node's value, and whether something of it was left out."""
        builder = _Builder(self, self.limits.total)
        return builder.build(node, self.limits.nesting), builder.cut

    def text(self, node: str) -> str:
        """A node's value in the program's notation."""
        return self.shortened(value_text(self.value(node)[0]))

    def shortened(self, text: str) -> str:
        """The text, cut to what a question can show."""
        return text if len(text) <= self.limits.text else text[: self.limits.text] + ELLIPSIS


@dataclass(slots=True)
class _Builder:
    """Builds one value within its limits. It recurs no deeper than `TermLimits.nesting`."""

    values: ArtValues
    room: int
    cut: bool = False

    def build(self, node: str, nesting: int) -> Value:
        shape = self.values.shape(node)
        if self.room <= 0 or (nesting <= 0 and shape.parts):
            self.cut = True
            return atom(ELLIPSIS)
        self.room -= 1
        limit = self.values.limits.letters
        text = shape.text
        if len(text) > limit:
            text = text[:limit] + ELLIPSIS
            self.cut = True
        if shape.kind is Kind.ATOM:
            return atom(text)
        parts: list[tuple[str, Value]] = []
        for index, part in enumerate(shape.parts):
            if self.room <= 0:
                break
            parts.append((f"[{index}]", self.build(part, nesting - 1)))
        omitted = shape.omitted + len(shape.parts) - len(parts)
        self.cut = self.cut or omitted > 0
        return Value(shape.kind, text, tuple(parts), omitted)


def value_text(value: Value, *, nested: bool = False) -> str:
    """A value in the program's notation; `nested` puts parentheses around what needs them."""
    if value.kind is Kind.ATOM:
        return f"({value.text})" if nested and _NEGATIVE.match(value.text) else value.text
    parts = [part for _, part in value.parts]
    if value.kind is Kind.TERM:
        text = application_text(value.text, parts, value.omitted)
        return f"({text})" if nested else text
    inner = [value_text(part) for part in parts]
    if value.omitted:
        inner.append(f"{ELLIPSIS}{value.omitted} more")
    opening, closing = ("[", "]") if value.kind is Kind.LIST else ("(", ")")
    return opening + ",".join(inner) + closing


def application_text(symbol: str, arguments: list[Value], omitted: int = 0) -> str:
    """An application in the program's notation: operators between their two arguments."""
    texts = [value_text(argument, nested=True) for argument in arguments]
    if omitted:
        texts.append(f"{ELLIPSIS}{omitted} more")
    if symbol == _CONS and len(texts) >= 2:
        return _CONS.join(texts)
    if len(texts) == 2 and _NAME.fullmatch(symbol) is None:
        return f"{texts[0]} {symbol} {texts[1]}"
    return " ".join([symbol, *texts])


def _arities_as_written(program: Sequence[str]) -> dict[str, int]:
    arities: dict[str, int] = {}
    for line in program:
        head, equals, _ = line.partition("=")
        if not equals or line[0].isspace():
            continue
        depth, items = 0, [""]
        for letter in head.partition("|")[0]:
            depth += (letter in "([") - (letter in ")]")
            if letter.isspace() and depth == 0:
                items.append("")
            else:
                items[-1] += letter
        name, *patterns = [word for word in items if word] or [""]
        arities.setdefault(name, len(patterns))
    return arities


def _tuple_size(symbol: str) -> int | None:
    commas = _TUPLE.fullmatch(symbol)
    if commas is None:
        return None
    return int(commas[1]) if commas[1] else len(commas[2]) + 1
