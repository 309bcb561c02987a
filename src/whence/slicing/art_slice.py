"""Slices of an Augmented Redex Trail: by definition, by Figure 3, and for execution trees.

Owned here: weak influence ([S] Definition 4.5), the slice of a node (4.6), the chop of a criterion
(5.3), the algorithm of [S] Figure 3 in both versions that it has, and `influencing`, which whence
searches by. A criterion `⟨m, n⟩` bounds a chop: `m` is where it starts, and `n` extends `m`'s name.

Figure 3 as it is printed stops at a reduct that is itself a redex: where it says `subnodes(nt)`
it must say `subn(nt)`, else Theorem 5.5 fails. Both are here (`as_printed`), the repaired one is
meant. The definitions are left as they stand, and `influencing` says where they are too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable

from whence.errors import UsageError
from whence.slicing.art import Application, Art, ancestors, parent


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


def influencing(art: Art, m: str, places: Iterable[str], values: Iterable[str]) -> set[str]:
    """The reductions below `m` that could have put the values of `values` where they are found.

    `places` are the nodes met on the way from a call to the marked part, `values` the nodes whose
    whole value is marked. What the papers' criterion leaves out, and a search must not:

    - It looks at the marked node alone. Where a call handed an argument on (`g y = y`), or a value
      holds a shared node, the marked node was made elsewhere; that it stands *here* is the work of
      other calls, which are met on the way. So all of `places` count.
    - A compound part counts with all that is in it.
    - What a redex looked at is followed along the graph, not by names: an argument that it shares
      with another call of the same right-hand side (`let`) has its name over there.

    Closure: a node needs its parent; a redex needs the values of its two sides; a value needs
    everything that its evaluation met. Invariant: it contains every reduction of
    `execution_tree_slice(m, n)` for each n of `places` and `values`, and equals their union if
    variables are the only sharing and the marked part stands where it was made.
    Cost: O(nodes + edges) below `m`.
    """
    needed: set[str] = set()
    whole: set[str] = set()
    reductions = {m} if m == art.start else {m[:-1]}
    waiting = [(node, False) for node in places] + [(node, True) for node in values]
    while waiting:
        node, as_value = waiting.pop()
        if not node.startswith(m):
            continue
        if as_value and node not in whole:
            whole.add(node)
            waiting += [(below, True) for below in _met(art, node)]
        if node not in needed:
            needed.add(node)
            above = parent(node)
            if above is not None and above.startswith(m):
                reductions.add(above)
                waiting.append((above, False))
                waiting += [(side, True) for side in _sides(art, above)]
    return {node for node in reductions | whole if art.reduced(node)}


def _met(art: Art, node: str) -> tuple[str, ...]:
    """What the evaluation of a node met: its redex's sides, and what its value is put of."""
    below = art.towards_value(node)
    return (*_sides(art, node), *below) if art.reduced(node) else below


def _sides(art: Art, node: str) -> tuple[str, ...]:
    expression = art.nodes[node]
    return (expression.left, expression.right) if isinstance(expression, Application) else ()


def _own_sides(art: Art, node: str) -> list[str]:
    return [side for side in _sides(art, node) if side in (node + "l", node + "r")]


def _check_criterion(art: Art, m: str, n: str) -> None:
    art.expression(m)
    art.expression(n)
    if not n.startswith(m):
        raise UsageError(f"⟨{m}, {n}⟩ is not a slicing criterion: {n} does not lie below {m}")
