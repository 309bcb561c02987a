"""Reads the origin of a marked part, and its slices, off the report of a shadow run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from whence.langs.python.debuggee.tag_report import WHOLE, PartMaker
from whence.langs.python.replay.shadow_alignment import code_at
from whence.langs.python.replay.shadow_runs import ShadowRun, is_stepped
from whence.model.call import PRINTED, YIELDED, Location, MarkedPart, OutcomeKind
from whence.model.origin import Influence, Origin
from whence.tree.column_tree import ColumnTree
from whence.tree.readable_call import up_from


@dataclass(frozen=True, slots=True)
class FollowedPart:
    """What is known of a marked part."""

    origin: Origin
    influence: Influence | None = None
    slices: tuple[frozenset[int], ...] = ()
    """Of the calls below the shadowed one: L1, L2 and L3."""


@dataclass(frozen=True, slots=True)
class ShadowOrigins:
    """Translates reports of shadow runs into origins among the calls of a tree."""

    tree: ColumnTree

    def followed_part(self, node: int, part: MarkedPart, run: ShadowRun) -> FollowedPart:
        """All that a run tells of a part that was made during it."""
        influence, slices = self.influence(node, part, run), run.slices()
        makers = [self._maker(maker, run) for maker in run.makers]
        if len(makers) > 1:
            texts = [f"{maker.expression} ({maker.location})" for maker in makers]
            unknown = f"it was made by one of these expressions: {', '.join(texts)}"
            origin = Origin(None, unknown=unknown, candidates=tuple(makers))
            return FollowedPart(origin, influence, slices)
        [maker] = makers
        if maker.node is None:
            why = "it was made in a generator or coroutine, and which one is not known"
            return FollowedPart(replace(maker, unknown=why), influence, slices)
        ids = run.aligned.ids
        path = [ids[call] for call in reversed(run.report.chain) if call in ids]
        chain = tuple(dict.fromkeys(call for call in path if call != node))
        callers = self._callers(maker.node) | self._callers(node)
        passed = frozenset(call for call in chain if call not in callers)
        made_of = [self._maker(operand, run) for operand in run.report.origin.made_of]
        origin = replace(
            maker, chain=chain, passed_through=passed,
            made_of=tuple(operand for operand in made_of if operand.node is not None),
        )  # fmt: skip
        return FollowedPart(origin, influence, slices)

    def influence(self, node: int, part: MarkedPart, run: ShadowRun) -> Influence:
        """The calls that could have influenced the part."""
        ids, slices = run.aligned.ids, run.slices()
        if part.is_input:
            # It was made somewhere above: calls that carried no tags are never set aside.
            outside = self._outside(run.top)
            slices = tuple(calls | outside for calls in slices)
        # A call that should have raised may matter as well, where that would have been caught.
        caught = {ids[call] for call in run.report.catchable if call in ids}
        complete = run.report.is_complete and self._is_value(node, part)
        return Influence(slices[0], complete=complete, wider=(slices[1], slices[2] | caught))

    def _maker(self, maker: PartMaker, run: ShadowRun) -> Origin:
        node = run.aligned.ids.get(maker.call)
        if node == self.tree.id(0):
            node = self._body_of_module(maker.file)
        return Origin(
            node,
            location=Location(maker.file, maker.line),
            expression=maker.expression,
        )

    def _body_of_module(self, file: str) -> int | None:
        """The call that ran the statements of a module, if there was only one."""
        tree = self.tree
        bodies = [number for number, f in enumerate(tree.functions) if f.qualname == WHOLE]
        positions = np.flatnonzero(np.isin(tree.columns.function, bodies)).tolist()
        matches = [position for position in positions if code_at(tree, position).file == file]
        return tree.id(matches[0]) if len(matches) == 1 else None

    def _is_value(self, node: int, part: MarkedPart) -> bool:
        """Whether the part is a value that a call left behind when it returned.

        Then a missing exception cannot be what is wrong about it.
        """
        outcome = int(self.tree.columns.outcome[self.tree.position(node)])
        is_other = part.is_input or part.mark.root in (PRINTED, YIELDED)
        return outcome == OutcomeKind.RETURNED and not is_other and not is_stepped(self.tree, node)

    def _outside(self, node: int) -> frozenset[int]:
        tree = self.tree
        position = tree.position(node)
        end = int(tree.columns.end[position])
        return frozenset(map(tree.id, [*range(position), *range(end, len(tree.columns))]))

    def _callers(self, node: int) -> set[int]:
        """A call and all its callers."""
        tree = self.tree
        return {tree.id(position) for position in up_from(tree, tree.position(node))}
