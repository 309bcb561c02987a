"""What the papers say of slices of an Augmented Redex Trail, by definition and by Figure 3.

[S] is Silva & Chitil, *Combining Algorithmic Debugging and Program Slicing*, PPDP 2006. Here are
weak influence ([S] Definition 4.5), the slice of a node (4.6), the chop of a criterion (5.3), the
algorithm of Figure 3 in both versions that it has, and slicing patterns (section 5). A criterion
`⟨m, n⟩` bounds a chop: `m` is where it starts, and `n` extends `m`'s name.

Figure 3 as it is printed stops at a reduct that is itself a redex: where it says `subnodes(nt)` it
must say `subn(nt)`, else Theorem 5.5 fails. Both are here (`as_printed`); the repaired one is
meant. whence searches by `whence.redex_trail.art_slice.influencing`, which says where the
definitions are too narrow for a search.
"""

from __future__ import annotations

import re

from whence.errors import UsageError
from whence.model.call import MarkedPart
from whence.redex_trail.art import Application, Art, Atom, parent
from whence.redex_trail.art_provenance import ArtProvenance

Pattern = None | str | tuple["Pattern", "Pattern"]
"""A slicing pattern: bottom (nothing of interest here), a symbol, or an application of two."""

_PATTERN_TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")


def ancestors(node: str) -> list[str]:
    """`parent` applied again and again, nearest first ([S] section 3)."""
    names: list[str] = []
    above = parent(node)
    while above is not None:
        names.append(above)
        above = parent(above)
    return names


def weakly_influences(first: str, second: str) -> bool:
    """Whether node `first` weakly influences node `second` ([S] Definition 4.5).

    It does if it is a prefix of it, or if it lies in the redex of one of its ancestors: `first` is
    `m o` for an ancestor `m` and an `o` that does not start with t. Reflexive; read off the names.
    Cost: O(ancestors) comparisons of names.
    """
    return second.startswith(first) or any(
        first.startswith(above) and not first.startswith("t", len(above))
        for above in ancestors(second)
    )


def slice_of(art: Art, node: str) -> set[str]:
    """The slice of a node: all that weakly influences it ([S] Definition 4.6).

    Invariant (Lemma 4.8): prefix-closed, so it is an ART itself. Cost: O(nodes × ancestors).
    """
    art.expression(node)
    return {other for other in art.nodes if weakly_influences(other, node)}


def chop(art: Art, m: str, n: str) -> set[str]:
    """The chop of a criterion, by its definition ([S] Definition 5.3).

    All that `m` weakly influences and that weakly influences `n`. Cost: O(nodes × ancestors).
    """
    _check_criterion(art, m, n)
    return {
        other for other in art.nodes if weakly_influences(m, other) and weakly_influences(other, n)
    }


def collect(art: Art, m: str, n: str, *, as_printed: bool = False) -> set[str]:
    """The chop of a criterion, by the algorithm of [S] Figure 3.

    It goes from `n` to `m` by way of the ancestors and takes each one, the nodes that evaluated
    its arguments, and the path to it. Invariant: repaired, it equals `chop`.
    Cost: O(nodes of the chop), names not counted.
    """
    _check_criterion(art, m, n)
    collected: set[str] = set()
    top = parent(m)
    above = parent(n)
    while above is not None and above != top:
        collected.add(above)
        collected |= subnodes(art, above, as_printed=as_printed)
        collected |= path(above + "t", n)
        n, above = above, parent(above)
    return collected | path(m, n)


def subnodes(art: Art, node: str, *, as_printed: bool = False) -> set[str]:
    """The nodes that evaluated the arguments of an application ([S] Figure 3).

    Only those that stand there by name: what is shared was made elsewhere, and belongs there.
    Cost: O(subnodes).
    """
    reached: set[str] = set()
    waiting = _own_sides(art, node)
    while waiting:
        current = waiting.pop()
        reached.add(current)
        waiting += _own_sides(art, current)
        if art.reduced(current):
            reduct = current + "t"
            waiting += _own_sides(art, reduct) if as_printed else [reduct]
    return reached


def path(first: str, last: str) -> set[str]:
    """The nodes on the way from a node to one below it, both included ([S] Figure 3)."""
    if not last.startswith(first):
        raise UsageError(f"there is no path from node {first!r} to node {last!r}")
    return {last[:length] for length in range(len(first), len(last) + 1)}


def execution_tree_slice(art: Art, m: str, n: str, *, as_printed: bool = False) -> set[str]:
    """The reductions of a chop that are worth a question ([S] Figure 3 without the underlined).

    No paths and no unreduced nodes, but always the redex that `m` is the reduct of, or the start
    node: so it is never empty. Cost: O(nodes of the chop).
    """
    _check_criterion(art, m, n)
    top = parent(m)
    collected = {m} if m == art.start else {m[:-1]} if m.endswith("t") else set()
    for above in ancestors(n):
        if above == top:
            break
        collected.add(above)
        below = subnodes(art, above, as_printed=as_printed)
        collected.update(node for node in below if art.reduced(node))
    return collected


def _own_sides(art: Art, node: str) -> list[str]:
    return [side for side in art.sides(node) if side in (node + "l", node + "r")]


def _check_criterion(art: Art, m: str, n: str) -> None:
    art.expression(m)
    art.expression(n)
    if not n.startswith(m):
        raise UsageError(f"⟨{m}, {n}⟩ is not a slicing criterion: {n} does not lie below {m}")


def pat_nodes(art: Art, pattern: Pattern, node: str) -> set[str]:
    """The nodes of the symbols that a pattern leaves visible in a node's value ([S] section 5).

    In print the conditions `d ∈ G` and `m ∉ G` must read `d ∈ D` and `G(n) = m`. A pattern that
    the value is not an instance of is a `UsageError`. Cost: one step for each pair of a pattern's
    part and a node, however often parts are shared.
    """
    symbols: set[str] = set()
    visited: set[tuple[int, str]] = set()
    stack: list[tuple[Pattern, str]] = [(pattern, node)]
    while stack:
        wanted, current = stack.pop()
        if wanted is None:
            continue
        current = art.evaluated(current)
        if (id(wanted), current) in visited:
            continue
        visited.add((id(wanted), current))
        expression = art.nodes[current]
        if isinstance(wanted, tuple) and isinstance(expression, Application):
            stack += [(wanted[0], expression.left), (wanted[1], expression.right)]
        elif isinstance(expression, Atom) and wanted == expression.symbol:
            symbols.add(current)
        else:
            raise UsageError(f"the value of node {node!r} is not an instance of the pattern")
    return symbols


def parse_pattern(text: str) -> Pattern:
    """A pattern from the papers' notation, `((_ . _) . _) . 8`, in which `_` is bottom."""
    open_groups: list[list[Pattern]] = [[]]
    for token in _PATTERN_TOKEN.findall(text):
        if token == "(":
            open_groups.append([])
        elif token == ")" and len(open_groups) > 1:
            inner = _applied(open_groups.pop(), text)
            open_groups[-1].append(inner)
        elif token != ".":
            open_groups[-1].append(None if token == "_" else token)
    if len(open_groups) != 1:
        raise UsageError(f"{text!r} is not a pattern: a parenthesis is not closed")
    return _applied(open_groups[0], text)


def _applied(patterns: list[Pattern], text: str) -> Pattern:
    if not patterns:
        raise UsageError(f"{text!r} is not a pattern: write it like (_ . _) . 8")
    whole = patterns[0]
    for pattern in patterns[1:]:
        whole = (whole, pattern)
    return whole


def criterion(provenance: ArtProvenance, node: int, part: MarkedPart) -> tuple[str, str] | None:
    """The papers' slicing criterion of a mark ([S] section 5).

    `⟨mt, n⟩` for a part of the result of the redex `m`: what was there before is trusted. For a
    part of an argument `⟨t, n⟩`: all that went before may have made it.
    """
    marked = provenance.find(node, part)
    return None if isinstance(marked, str) else (marked.m, marked.node)
