"""Origins that a tree file gives: what its tracer knew of where parts of values were made.

The `Provenance` port for trees in the open format, whose calls may carry records of origins:
`{"part": "result[1]", "node": 17, "through": [16, 4], "file": …, "line": …, "expression": …,
"influenced_by": [ids]}`, all but `part` optional. Where a call changed its argument, `"input"`
tells whether the part is meant as it was given (true) or as it was left (false). How records are
stored is not known here: a function that gives a call's records, checked, is passed in.

What is known of a part says little of what is inside it: a list that was made here may hold items
that were made long before. So a record of an enclosing part answers for the marked one only where
it is declared `"whole": true` (all that is in it was made there too); else the origin is unknown,
and the reason tells what is known. What a tracer says influenced a part is never held to be all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whence.errors import UsageError
from whence.model.call import Call, MarkedPart
from whence.model.origin import Influence, Origin
from whence.model.value import Steps, parse_path
from whence.ports import Tree
from whence.tree.codec import decode_location

Record = Mapping[str, Any]
OriginsOf = Callable[[Tree, int], Sequence[Record]]
"""Gives the records of the call at a position."""


@dataclass(frozen=True)
class FileProvenance:
    """Answers from a tree's own records of origins."""

    tree: Tree
    origins_of: OriginsOf

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """What the file says of the part's origin."""
        nearest = self._record(node, part)
        if nearest is None:
            return Origin(None, unknown=f"the tree file does not say where {part.mark} was made")
        record, is_whole_path = nearest
        origin = self._origin(node, record)
        if is_whole_path or record.get("whole") is True:
            return origin
        by = "outside the tree" if origin.node is None else f"by call {origin.node}"
        return Origin(
            None,
            location=origin.location,
            expression=origin.expression,
            unknown=f"the tree file says that {record['part']} was made {by}, but not where its "
            f"part {part.mark} was",
        )

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """What the file says influenced the part or, failing that, what the part is in."""
        nearest = self._record(node, part)
        nodes = None if nearest is None else nearest[0].get("influenced_by")
        if nodes is None:
            return None
        return Influence(
            frozenset(influencer for influencer in nodes if self._has(influencer)), complete=False
        )

    def with_tree(self, tree: Tree) -> FileProvenance:
        """The same records, and those of the calls that were added."""
        return replace(self, tree=tree)

    def _record(self, node: int, part: MarkedPart) -> tuple[Record, bool] | None:
        """The record of the part itself (True), else of the smallest part around it (False)."""
        if not self._has(node):  # it came into the tree by expansion, and not from this file
            return None
        position = self.tree.position(node)
        records = self.origins_of(self.tree, position)
        if not records:
            return None
        call = self.tree.call(position)
        roots = _names(call, part)
        best: tuple[int, Record] | None = None
        for record in records:
            path = _path(record)
            if path is None or path[0] not in roots or not _on_same_side(record, part, call):
                continue
            steps = path[1]
            nearer = best is None or len(steps) > best[0]
            if nearer and part.mark.steps[: len(steps)] == steps:
                best = (len(steps), record)
        return None if best is None else (best[1], best[0] == len(part.mark.steps))

    def _origin(self, marked: int, record: Record) -> Origin:
        maker = record.get("node")
        location = decode_location(record if "file" in record else None, "file")
        expression = record.get("expression", "")
        if maker is None or not self._has(maker):
            why = (
                "does not say which call" if maker is None else f"names call {maker}, no call here,"
            )
            return Origin(
                None,
                location=location,
                expression=expression,
                unknown=f"the tree file {why} made {record['part']}",
            )
        through = [node for node in record.get("through", ()) if self._has(node)]
        chain = tuple(node for node in dict.fromkeys([maker, *through]) if node != marked)
        return Origin(maker, chain, location=location, expression=expression)

    def _has(self, node: int) -> bool:
        try:
            self.tree.position(node)
        except UsageError:
            return False
        return True


def _path(record: Record) -> tuple[str, Steps] | None:
    try:
        return parse_path(record["part"])
    except UsageError:
        return None


def _names(call: Call, part: MarkedPart) -> set[str]:
    """What the root of the marked part may be called: an argument has a name and a number."""
    names = {part.mark.root}
    if part.position >= 0:
        names |= {call.arguments[part.position].name, f"arg{part.position + 1}"} - {""}
    return names


def _on_same_side(record: Record, part: MarkedPart, call: Call) -> bool:
    """Whether the record and the mark are about the same side: before the call or after it.

    They differ only if the call changed its argument; then the record must say which.
    """
    is_input = record.get("input")
    if isinstance(is_input, bool):
        return is_input == part.is_input
    names = _names(call, part)
    was_input = any(binding.name in names for binding in (*call.arguments, *call.reads))
    changed = any(effect.target in names for effect in call.effects)
    return not (changed and (was_input or part.is_input))
