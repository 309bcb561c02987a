"""Answers where the values of a recorded program came from, by shadow runs.

First the marked call is shadowed. If the part is older than that call, a caller is shadowed, and so
on up to the whole run. What was learned of a part is kept, so that nothing runs twice for it.

Invariant: where a run is not believed, or its tags do not tell, the origin is unknown, with the
reason.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.langs.python.replay.partial_replay import PartialReplay
from whence.langs.python.replay.rerun_process import TIME_LIMIT, CannotReplay
from whence.langs.python.replay.shadow_alignment import code_at, is_module_body
from whence.langs.python.replay.shadow_origins import FollowedPart, ShadowOrigins
from whence.langs.python.replay.shadow_runs import ShadowRun, ShadowRuns, is_exception, is_stepped
from whence.model.call import PRINTED, RESULT, YIELDED, Mark, MarkedPart, OutcomeKind
from whence.model.origin import Influence, Origin
from whence.model.replay_settings import Progress
from whence.tree.column_tree import ColumnTree

MOST_CALLS = 300_000
"""A caller with more calls below it is not followed: that would take minutes."""
MOST_OF_ALL = 30_000
"""A run with more calls is not followed from its start."""
FEW_CALLS = 3_000
"""In a run with no more calls, inputs are followed from its start."""
FROM_OUTSIDE = "it was given to the program from outside"

_Key = tuple[int, Mark, bool]


class ShadowRunProvenance:
    """Origins and influences of marked parts, learned when they are asked for."""

    def __init__(
        self,
        recording: Path,
        tree: ColumnTree,
        partial: PartialReplay,
        time_limit: float = TIME_LIMIT,
        *,
        has_children: bool = False,
    ) -> None:
        """`tree` has the calls of the main process; `has_children`: there are other processes."""
        self._tree = tree
        self._partial = partial
        self._has_children = has_children
        self._runs = ShadowRuns(recording, tree, partial, time_limit)
        self._origins = ShadowOrigins(tree)
        self._followed: dict[_Key, FollowedPart] = {}
        self._not_in_this_tree: dict[_Key, FollowedPart] = {}
        """What could not be followed while the tree has implicit calls."""
        self._given_up: dict[_Key, str] = {}

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that made the marked part of a call, and the calls that it came through."""
        return self.followed(node, part).origin

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """The calls that could have influenced the part: slices L1 to L3, then all calls.

        L3 has every call that could have changed the part by what it returned or stored. A call
        that should have raised something, and did not, is in none of them.
        """
        influence = self.followed(node, part).influence
        if influence is None or not self._has_children:
            return influence
        # The calls of other processes carry no tags.
        return replace(influence, complete=False)

    def with_tree(self, tree: ColumnTree) -> ShadowRunProvenance:
        """The same for a tree that this one was expanded to; what was followed is kept."""
        if self._has_children:
            return self  # such a tree does not grow
        runs = self._runs
        grown = ShadowRunProvenance(runs.recording, tree, self._partial, runs.time_limit)
        grown._followed = self._followed
        grown._given_up = self._given_up
        return grown

    # --- when a run is made ----------------------------------------------------------------------

    def needs_run(self, node: int, part: MarkedPart) -> bool:
        """Whether a run of the program would tell more of the part."""
        return self.can_be_followed(node, part) and self._known(_key(node, part)) is None

    def give_up(self, node: int, part: MarkedPart, why: str) -> None:
        """Make no run for a part until `follow` is called."""
        self._given_up[_key(node, part)] = why

    def follow(self, node: int, part: MarkedPart) -> None:
        """Make the runs for a part, if they were not made."""
        self._given_up.pop(_key(node, part), None)
        self.followed(node, part)

    def followed(self, node: int, part: MarkedPart) -> FollowedPart:
        """All that is known of a part; makes the runs for it if they were not made."""
        key = _key(node, part)
        result = self._known(key)
        if result is not None:
            return result
        if key in self._given_up:
            return FollowedPart(Origin(None, unknown=self._given_up[key]))
        if not self.can_be_followed(node, part):
            return FollowedPart(Origin(None, unknown="only values of calls are followed"))
        with self._partial.settings.with_progress(f"following {part.mark} back") as progress:
            result = self._follow(node, part, progress)
        is_final = not self._tree.columns.implicit.any()
        (self._followed if is_final else self._not_in_this_tree)[key] = result
        return result

    def history(self, node: int, part: MarkedPart) -> FollowedPart:
        """The same with all that led to the part, also before the marked call.

        The whole run is followed, unless that takes too long.
        """
        try:
            everything = self._caller(node, len(self._tree.columns))
            if len(self._tree.columns) > MOST_OF_ALL:
                return self.followed(node, part)
            with self._partial.settings.with_progress(f"following {part.mark} back") as progress:
                run = self._runs.run(everything, node, part, progress)
            if run.is_older:
                unknown = run.report.origin.unknown or FROM_OUTSIDE
                return FollowedPart(Origin(None, unknown=unknown), slices=run.slices())
            return self._origins.followed_part(node, part, run)
        except WhenceError:
            return self.followed(node, part)

    def can_be_followed(self, node: int, part: MarkedPart) -> bool:
        """Whether shadow runs can tell of the part: most values, and some output."""
        if self._has_children and not has_call(self._tree, node):
            return False
        position = self._tree.position(node)
        outcome = OutcomeKind(int(self._tree.columns.outcome[position]))
        if part.mark.root == PRINTED:
            return position == 0 and len(part.mark.steps) in {1, 2}
        is_raised = is_exception(self._tree, node, part)
        if position == 0 or is_raised:
            return is_raised and not part.mark.steps
        if part.mark.root == YIELDED:
            return bool(part.mark.steps)
        return part.is_input or part.mark.root != RESULT or outcome is OutcomeKind.RETURNED

    def _known(self, key: _Key) -> FollowedPart | None:
        return self._followed.get(key) or self._not_in_this_tree.get(key)

    # --- which call is shadowed ------------------------------------------------------------------

    def _follow(self, node: int, part: MarkedPart, progress: Progress) -> FollowedPart:
        run: ShadowRun | None = None
        shadowed, levels, unknown = node, 1, ""
        try:
            if self._tree.position(node) == 0:
                shadowed = self._whole_run()
            elif part.is_input or is_stepped(self._tree, node):
                result = self._from_the_start(node, part, progress)
                if result is not None:
                    return result
                shadowed = self._caller(node, levels)
            while True:
                run = self._runs.run(shadowed, node, part, progress)
                if not run.is_older:
                    return self._origins.followed_part(node, part, run)
                unknown = run.report.origin.unknown
                shadowed, levels = self._caller(shadowed, levels), levels * 2
        except WhenceError as problem:
            origin = Origin(None, unknown=unknown or str(problem))
            if run is None:
                return FollowedPart(origin)
            return FollowedPart(origin, self._origins.influence(node, part, run), run.slices())

    def _from_the_start(
        self, node: int, part: MarkedPart, progress: Progress
    ) -> FollowedPart | None:
        """The result of shadowing a small run as a whole: it shows what came before the call."""
        if len(self._tree.columns) > FEW_CALLS:
            return None
        try:
            shadowed = self._caller(node, len(self._tree.columns))
            run = self._runs.run(shadowed, node, part, progress)
        except WhenceError:
            return None
        return None if run.is_older else self._origins.followed_part(node, part, run)

    def _caller(self, node: int, levels: int) -> int:
        """The caller so many levels above a call; above all others, the program's statements."""
        tree = self._tree
        position = tree.position(node)
        parent = tree.columns.parent
        while (
            levels or is_module_body(code_at(tree, position)) or is_stepped(tree, tree.id(position))
        ):
            above = int(parent[position])
            if above <= 0:
                break
            position, levels = above, max(0, levels - 1)
        if tree.id(position) == node:
            raise CannotReplay(FROM_OUTSIDE)
        if int(tree.columns.end[position]) - position > MOST_CALLS:
            raise CannotReplay(
                f"it is older than call {node}, and too many calls are below its callers"
            )
        return tree.id(position)

    def _whole_run(self) -> int:
        """The call that is the program's statements, if the run is small enough to follow."""
        tree = self._tree
        if len(tree.columns) < 2 or not is_module_body(code_at(tree, 1)):
            raise CannotReplay("only the output of scripts and modules is followed")
        if len(tree.columns) > MOST_OF_ALL:
            raise CannotReplay("too many calls would have to be followed")
        return tree.id(1)


def has_call(tree: ColumnTree, node: int) -> bool:
    """Whether a tree has a call."""
    try:
        tree.position(node)
    except UsageError:
        return False
    return True


def _key(node: int, part: MarkedPart) -> _Key:
    return node, part.mark, part.is_input
