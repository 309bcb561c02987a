"""The calls that could have influenced a marked part, found in an Augmented Redex Trail.

The papers' own definitions (weak influence, slices, chops, [S] Figure 3) are in
`tests/support/art_definitions.py`; tests compare `influencing` with them.
"""

from __future__ import annotations

from collections.abc import Iterable

from whence.redex_trail.art import Art, parent


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
                waiting += [(side, True) for side in art.sides(above)]
    return {node for node in reductions | whole if art.reduced(node)}


def _met(art: Art, node: str) -> tuple[str, ...]:
    """What the evaluation of a node met: its redex's sides, and what its value is put of."""
    below = art.towards_value(node)
    return (*art.sides(node), *below) if art.reduced(node) else below
