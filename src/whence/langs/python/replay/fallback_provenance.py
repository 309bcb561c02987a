"""Asks shadow runs where a value came from, and falls back on the recording."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whence.langs.python.replay.shadow_run_provenance import ShadowRunProvenance
from whence.model.call import MarkedPart
from whence.model.origin import Influence, Origin
from whence.ports import Provenance, Tree
from whence.tree.column_tree import ColumnTree


@dataclass(frozen=True)
class FallbackProvenance:
    """Shadow runs know most; the recording knows which call printed or raised something."""

    recorded: Provenance
    shadow_runs: ShadowRunProvenance

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that made the marked part."""
        followed = None
        if self.shadow_runs.can_be_followed(node, part):
            followed = self.shadow_runs.origin(node, part)
            if followed.node is not None:
                return followed
        recorded = self.recorded.origin(node, part)
        return recorded if recorded.node is not None or followed is None else followed

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """The calls that could have influenced the part."""
        if self.shadow_runs.can_be_followed(node, part):
            return self.shadow_runs.influence(node, part)
        return self.recorded.influence(node, part)

    def with_tree(self, tree: Tree) -> Provenance:
        """The same for a tree with more calls in it."""
        runs = (
            self.shadow_runs.with_tree(tree) if isinstance(tree, ColumnTree) else self.shadow_runs
        )
        return replace(self, recorded=self.recorded.with_tree(tree), shadow_runs=runs)
