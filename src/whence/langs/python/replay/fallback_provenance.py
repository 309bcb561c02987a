"""What a recording tells of where its values came from; for the rest the program is run again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whence.langs.python.replay.shadow_run_provenance import ShadowedProvenance
from whence.model.call import MarkedPart
from whence.model.origin import Influence, Origin
from whence.ports import Provenance, Tree
from whence.tree.column_tree import ColumnTree


@dataclass(frozen=True)
class FollowedProvenance:
    """A run tells more than the recording, which knows who printed or raised something."""

    recorded: Provenance
    reruns: ShadowedProvenance

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that made the marked part."""
        followed = self.reruns.can_be_followed(node, part)
        told = self.reruns.origin(node, part) if followed else None
        if told is not None and told.node is not None:
            return told
        recorded = self.recorded.origin(node, part)
        return recorded if recorded.node is not None or told is None else told

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """The calls that could have influenced the part."""
        if self.reruns.can_be_followed(node, part):
            return self.reruns.influence(node, part)
        return self.recorded.influence(node, part)

    def grown(self, tree: Tree) -> Provenance:
        """The same for a tree with more calls in it."""
        reruns = self.reruns.grown(tree) if isinstance(tree, ColumnTree) else self.reruns
        return replace(self, recorded=self.recorded.grown(tree), reruns=reruns)
