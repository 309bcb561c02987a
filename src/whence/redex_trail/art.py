"""The Augmented Redex Trail: the graph of a functional computation, and what its names tell.

A node is named by a string over `l`, `r` and `t`: an application `x` has its function at `xl` and
its argument at `xr`, a redex `x` has its reduct at `xt`; so a name tells who made a node. A
variable of a rule keeps the node that it was bound to, wherever it is used: then an application
names a node elsewhere, and a reduct that is just a variable is an indirection.

Owned here: the graph with its invariant, `parent` and `val` ([S] section 3; [C] appendix). Files
are read in `art_file`, slices are taken in `art_slice`.

Invariant of `Art` (checked when it is made, else `NotAnArt`): the domain is prefix-closed from the
start node on; all references exist; `xl` and `xr` exist only as the two sides of an application
`x`; an indirection has no reduct; no value contains itself; nothing is applied to more than
`MAX_ARGUMENTS` arguments. So every walk along the graph ends, and as graphs can be deeper than
Python's stack, every walk is a loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from whence.errors import UsageError

MAX_ARGUMENTS = 500

_LETTERS = "lrt"


class NotAnArt(Exception):
    """The nodes are not an Augmented Redex Trail; `node` is where that shows."""

    def __init__(self, node: str, problem: str, cure: str = "") -> None:
        super().__init__(problem)
        self.node = node
        self.problem = problem
        self.cure = cure


@dataclass(frozen=True, slots=True)
class Atom:
    """A function symbol, a constructor or a literal."""

    symbol: str


@dataclass(frozen=True, slots=True)
class Application:
    """An application of two nodes."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Indirection:
    """A node that is another one: the reduct of a rule whose right-hand side is a variable."""

    to: str


Expression = Atom | Application | Indirection


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A value: a symbol, or (with no symbol) an application. Parts are shared, never copied.

    Terms are compared by fingerprint, a digest of the whole term: comparing them part by part
    would take exponential time where values share their parts.
    """

    symbol: str | None
    left: Term | None = None
    right: Term | None = None
    fingerprint: bytes = b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def symbol_term(symbol: str) -> Term:
    """The term of a symbol."""
    text = b"symbol " + symbol.encode("utf-8", "surrogatepass")
    return Term(symbol, fingerprint=_digest(text))


def application_term(left: Term, right: Term) -> Term:
    """The term of an application."""
    return Term(None, left, right, _digest(b"apply " + left.fingerprint + right.fingerprint))


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


def parent(node: str) -> str | None:
    """The redex whose reduction made a node; None where there is none ([S] section 3).

    `parent(nl) = parent(nr) = parent(n)` and `parent(nt) = n`. It is read off the name, so it may
    name the empty node, which stands before the start node `t` and is in no graph.
    Cost: the length of the name.
    """
    stem = node.rstrip("lr")
    return stem[:-1] if stem else None


@dataclass(frozen=True)
class Art:
    """A trace graph ([S] Definition 3.1). `rules` names the rule that reduced a redex.

    `program` and `start_term` are the traced program's text, for people. In [S] the start term
    stands at `t`, in [C] at the empty name.
    """

    nodes: Mapping[str, Expression]
    rules: Mapping[str, str] = field(default_factory=dict)
    start: str = "t"
    program: tuple[str, ...] = ()
    start_term: str = ""

    def __post_init__(self) -> None:
        """Check the invariant. Cost: one look at each letter of each name, and at each edge."""
        _check_names(self)
        for node, expression in self.nodes.items():
            _check_references(self, node, expression)
        _check_arguments(self)

    def __contains__(self, node: object) -> bool:
        return node in self.nodes

    def expression(self, node: str) -> Expression:
        """The node expression; `UsageError` if there is no such node."""
        try:
            return self.nodes[node]
        except KeyError:
            raise UsageError(f"there is no node {node!r} in this graph") from None

    def reduced(self, node: str) -> bool:
        """Whether the node is a redex that was reduced: `nt` is in the graph ([S] section 3)."""
        return node + "t" in self.nodes and node in self.nodes

    def towards_value(self, node: str) -> tuple[str, ...]:
        """The nodes that the node's value is directly put together from."""
        if self.reduced(node):
            return (node + "t",)
        expression = self.nodes[node]
        return (expression.to,) if isinstance(expression, Indirection) else self.sides(node)

    def sides(self, node: str) -> tuple[str, ...]:
        """The function and the argument of an application; nothing for other nodes."""
        expression = self.nodes[node]
        return (expression.left, expression.right) if isinstance(expression, Application) else ()

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All nodes, each after those that its value is put together from.

        A depth-first walk with its own stack; a node met again while it is open would be part of
        its own value. Cost: O(nodes + edges).
        """
        done: list[str] = []
        closed: dict[str, bool] = {}
        for root in self.nodes:
            stack = [root] if root not in closed else []
            while stack:
                node = stack[-1]
                if node in closed:
                    stack.pop()
                    if not closed[node]:
                        closed[node] = True
                        done.append(node)
                    continue
                closed[node] = False
                for below in self.towards_value(node):
                    if below not in closed:
                        stack.append(below)
                    elif not closed[below]:
                        raise NotAnArt(
                            below,
                            "its value contains itself",
                            "follow its reducts, indirections and applications",
                        )
        return tuple(done)

    @cached_property
    def _evaluated(self) -> Mapping[str, str]:
        heads: dict[str, str] = {}
        for node in self.order:
            if self.reduced(node):
                heads[node] = heads[node + "t"]
            else:
                expression = self.nodes[node]
                heads[node] = heads[expression.to] if isinstance(expression, Indirection) else node
        return heads

    def evaluated(self, node: str) -> str:
        """The node in which a node's evaluation ended: an atom, or an application without reduct.

        This is the node *associated* to an expression ([C] Definition 3).
        """
        self.expression(node)
        return self._evaluated[node]

    def evaluation(self, node: str) -> list[str]:
        """The nodes from a node to the one in which its evaluation ended, both included."""
        passed = [node]
        while self.evaluated(node) != node:
            (node,) = self.towards_value(node)
            passed.append(node)
        return passed

    @cached_property
    def _values(self) -> Mapping[str, Term]:
        terms: dict[bytes, Term] = {}
        values: dict[str, Term] = {}
        for node in self.order:
            expression = self.nodes[node]
            below = self.towards_value(node)
            if len(below) == 1:
                values[node] = values[below[0]]
                continue
            if isinstance(expression, Atom):
                term = symbol_term(expression.symbol)
            else:
                term = application_term(values[below[0]], values[below[1]])
            values[node] = terms.setdefault(term.fingerprint, term)
        return values

    def val(self, node: str) -> Term:
        """The most evaluated form of a node: `val` of [S] section 3, `mef` of [C] appendix.

        A reduct goes before everything else, for a reduced constant (`main`) too, although the
        clauses stand in another order in print. Cost: O(nodes) once for all nodes.
        """
        self.expression(node)
        return self._values[node]


def _check_names(art: Art) -> None:
    if art.start.strip(_LETTERS):
        raise NotAnArt(art.start, "the start node's name has letters other than l, r and t")
    if art.start not in art.nodes:
        raise NotAnArt(art.start, "the start node is not among the nodes", "give start_node")
    for node in art.nodes:
        if node.strip(_LETTERS):
            raise NotAnArt(node, "its name has letters other than l, r and t")
        if node == art.start:
            continue
        if not node.startswith(art.start):
            raise NotAnArt(node, f"it does not lie below the start node {art.start!r}")
        if node[:-1] not in art.nodes:
            raise NotAnArt(
                node,
                f"there is no node {quoted(node[:-1])}",
                "every prefix of a name is a node",
            )


def _check_references(art: Art, node: str, expression: Expression) -> None:
    sides: Iterable[str] = ()
    if isinstance(expression, Application):
        sides = (expression.left, expression.right)
    elif isinstance(expression, Indirection):
        sides = (expression.to,)
        if art.reduced(node):
            raise NotAnArt(node, "it is an indirection, and yet it has a reduct")
    for other in sides:
        if other not in art.nodes:
            raise NotAnArt(node, f"it refers to node {quoted(other)}, which is not there")
    for letter, side in (("l", "left"), ("r", "right")):
        below = node + letter
        if below in art.nodes and getattr(expression, side, None) != below:
            raise NotAnArt(
                below, f"node {quoted(node)} is not an application with this on its {side}"
            )


def _check_arguments(art: Art) -> None:
    counts: dict[str, int] = {}
    # Values first: the order promises a redex's reduct before it, but not its function.
    for node in sorted(art.order, key=art.reduced):
        expression = art.nodes[node]
        if isinstance(expression, Application):
            counts[node] = counts.get(art.evaluated(expression.left), 0) + 1
            if counts[node] > MAX_ARGUMENTS:
                raise NotAnArt(node, f"something is applied to more than {MAX_ARGUMENTS} arguments")


def quoted(node: object) -> str:
    """The name of a node, or what stands in its place, for a message."""
    text = str(node)
    return repr(text if len(text) <= 60 else text[:50] + "…")
