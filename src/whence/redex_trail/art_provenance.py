"""Origins and slices of marked parts, read off an Augmented Redex Trail.

The `Provenance` port for traces that are graphs. A mark is a call and a path of steps; the path is
walked through the graph to the node of the marked part ([S] `patNodes`, [C] Definition 3), and the
node's name tells who made it ([C] Lemma 1: `parent`). A primitive is nobody to blame for a wrong
value, so an origin in one is lifted to the nearest call of the program.

The influence is a slice that leaves out nothing that could have mattered (`complete`): see
`art_slice.influencing` for what it takes in beyond the papers' criterion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whence.model.call import RESULT, MarkedPart
from whence.model.origin import Influence, Origin
from whence.ports import Tree
from whence.redex_trail.art import parent
from whence.redex_trail.art_slice import influencing
from whence.redex_trail.art_tree import ArtTree, is_primitive
from whence.redex_trail.art_value import application_text


@dataclass(frozen=True, slots=True)
class MarkedNode:
    """A marked part in the graph: where the slice starts, the nodes on the way, the part's node."""

    m: str
    met: tuple[str, ...]
    node: str


@dataclass(frozen=True)
class ArtProvenance:
    """Where the values of one graph came from. `art_tree` says which call is which redex."""

    art_tree: ArtTree

    # --- the port ------------------------------------------------------------------------------

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that made the marked part, with the chain from it to the marked call."""
        marked = self.find(node, part)
        if isinstance(marked, str):
            return Origin(None, unknown=marked)
        maker = parent(marked.node)
        redex = maker
        while redex is not None and is_primitive(self.art_tree.art, redex):
            redex = parent(redex)
        origin = self.art_tree.nearest_call(redex)
        if origin is None:
            return Origin(None, unknown=f"{part.mark} stands in the start term, no call made it")
        chain = tuple(self._way(origin, node))[:-1]
        return Origin(
            node=origin,
            chain=chain,
            passed_through=self._passed_through(chain, marked.node),
            expression=self._expression(maker),
        )

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """The calls that could have influenced the marked part; no other can have."""
        marked = self.find(node, part)
        if isinstance(marked, str):
            return None
        reductions = influencing(self.art_tree.art, marked.m, marked.met, [marked.node])
        call_id = self.art_tree.call_id
        calls = {call_id[reduction] for reduction in reductions if reduction in call_id}
        if self.art_tree.stands_for_start and marked.m == self.art_tree.art.start:
            calls.add(1)
        return Influence(frozenset(calls), complete=True)

    def with_tree(self, tree: Tree) -> ArtProvenance:
        """The tree of a graph is complete from the start."""
        return self

    # --- the marked part in the graph ----------------------------------------------------------

    def find(self, node: int, part: MarkedPart) -> MarkedNode | str:
        """The marked part in the graph, or why it cannot be found."""
        tree, mark = self.art_tree, part.mark
        art, redex = tree.art, tree.art_node.get(node)
        if redex is None:
            return f"call {node} is not in the graph"
        is_start = tree.stands_for_start and node == 1
        if mark.root == RESULT and not part.is_input:
            m = current = art.start if is_start else redex + "t"
            met: list[str] = []
        else:
            m = art.start
            located = None if is_start else tree.values.argument(redex, part.position)
            if located is None:
                return f"the graph has the arguments and the result of a call, but no {mark.root}"
            met, current = located
        for step in mark.steps:
            located = tree.values.part(current, step)
            if located is None:
                return f"the graph has no part {step} on the way to {mark}"
            met += located[0]
            current = located[1]
        return MarkedNode(m, (*met, *art.evaluation(current)), art.evaluated(current))

    # --- origins -------------------------------------------------------------------------------

    def _way(self, first: int, last: int) -> Iterator[int]:
        """The calls on the path through the tree from one to the other, both included."""
        tree = self.art_tree.tree
        parents, depth = tree.columns.parent, tree.columns.depth
        here, there = tree.position(first), tree.position(last)
        down: list[int] = []
        while here != there:
            if depth[here] >= depth[there]:
                yield tree.id(here)
                here = int(parents[here])
            else:
                down.append(there)
                there = int(parents[there])
        yield tree.id(here)
        yield from (tree.id(position) for position in reversed(down))

    def _passed_through(self, chain: tuple[int, ...], node: str) -> frozenset[int]:
        """The calls on a chain that were given a node and handed it back (Mercury's sense).

        MacLarty et al. 2005, 5.2: "the chain dives into a call and then climbs out again". A call
        in which the part was made is not one of them.
        """
        holders: set[str] | None = None
        passed: set[int] = set()
        for call in chain[1:]:
            redex = self.art_tree.art_node[call]
            if redex not in self.art_tree.call_id or node.startswith(redex + "t"):
                continue
            if holders is None:
                holders = self._holders(node)
            arguments = self.art_tree.values.redex(redex)[1]
            if redex + "t" in holders and not holders.isdisjoint(arguments):
                passed.add(call)
        return frozenset(passed)

    def _holders(self, node: str) -> set[str]:
        """The nodes whose value contains a node. Cost: O(nodes + edges)."""
        art, holders = self.art_tree.art, {node}
        for other in art.order:
            if not holders.isdisjoint(art.towards_value(other)):
                holders.add(other)
        return holders

    def _expression(self, maker: str | None) -> str:
        """The expression that made the part, as far as the graph shows it."""
        art, values = self.art_tree.art, self.art_tree.values
        if maker is None or not art.reduced(maker):
            return art.start_term
        if is_primitive(art, maker):
            symbol, arguments = values.redex(maker)
            return values.shortened(
                application_text(symbol, [values.value(argument)[0] for argument in arguments])
            )
        number = self.art_tree.call_id[maker]
        tree = self.art_tree.tree
        return tree.rules[int(tree.columns.rule[tree.position(number)])].source
