"""Where the values of a recorded program came from, learned by running it again with tags.

The call that was marked is shadowed, in a process of its own (`provenance.shadow_run`). If the part
was given to it, a caller is shadowed, and so on up to the whole run. Calls of that run are calls
of the recording if the tree of calls below the shadowed one is the same (`shadow_alignment`).

Invariant: nothing is believed of a run whose calls are not those that were recorded; then, and
where the tags do not tell, the origin is unknown, and the reason is given. What was learned of a
part is kept, so that nothing is run twice for it.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whence.errors import WhenceError
from whence.langs.python.debuggee.executed_lines import Wanted
from whence.langs.python.provenance.shadow_run import WHOLE, Request
from whence.langs.python.record.repeatable import OWN
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.replay.call_zoom import ZoomingReruns
from whence.langs.python.replay.rerun_process import (
    TIME_LIMIT,
    CannotRepeat,
    Conditions,
    Played,
    another_way,
    ends_in_time,
    report_in,
)
from whence.langs.python.replay.scratch_folder import Scratch
from whence.langs.python.replay.shadow_alignment import (
    Aligned,
    Difference,
    align,
    code_at,
    is_whole,
)
from whence.model.call import (
    PRINTED,
    RAISED,
    RESULT,
    YIELDED,
    Location,
    Mark,
    MarkedPart,
    OutcomeKind,
)
from whence.model.origin import Influence, Origin
from whence.model.value import TEXT_PART, Kind, Steps, parse_path, show
from whence.tree.column_tree import ColumnTree
from whence.tree.readable_call import up_from

MOST_CALLS = 300_000
"""With more calls than this below it, no caller is followed: that would take minutes."""
MOST_OF_ALL = 30_000
"""With more calls than this, what led to a call is not followed from the start of the run."""
FEW_CALLS = 3_000
"""With no more calls than this, what a call was given is followed from the start of the run."""
WHOLE_RUN = 30.0
"""Seconds that following a whole run may take: what is not in the way of a part takes long, too."""
FROM_OUTSIDE = "it was given to the program from outside"
_CUT = "…"

Progress = Callable[[int, int], None]
"""How many calls were followed so far, of how many."""
Watch = Callable[[str], AbstractContextManager[Progress]]
"""Around what takes long: tells a person what is done, and how far it is."""


@contextlib.contextmanager
def unwatched(doing: str) -> Iterator[Progress]:
    """Nobody looks."""
    yield lambda done, of: None


@dataclass(frozen=True, slots=True)
class Followed:
    """What is known of a marked part."""

    origin: Origin
    influence: Influence | None = None
    slices: tuple[frozenset[int], ...] = ()
    """Of the calls below the one that was shadowed: L1, L2 and L3."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one run with tags told, in the words of the recording."""

    shadowed: int
    told: Mapping[str, Any]
    aligned: Aligned

    @property
    def makers(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.told["origin"].get("makers", ())
        return found

    @property
    def is_older(self) -> bool:
        """Whether the part was there before the shadowed call."""
        return not self.makers or any("parameter" in each for each in self.makers)

    def slices(self) -> tuple[frozenset[int], ...]:
        ids, others = self.aligned.ids, self.aligned.others
        told = (self.told["slices"][width] for width in ("L1", "L2", "L3"))
        return tuple(others.union(ids[each] for each in one if each in ids) for one in told)


_Key = tuple[int, Mark, bool]


class ShadowedProvenance(ZoomingReruns):
    """Origins and influences of marked parts, by runs that are made when they are asked for."""

    def __init__(
        self,
        recording: Path,
        tree: ColumnTree,
        time_limit: float = TIME_LIMIT,
        known: dict[_Key, Followed] | None = None,
    ):
        super().__init__(recording, tree, time_limit)
        self.watch: Watch = unwatched
        self._known: dict[_Key, Followed] = {} if known is None else known
        self._given_up: dict[_Key, str] = {}

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that made the marked part of a call, and the calls that it came through."""
        return self.followed(node, part).origin

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """The calls that could have influenced the part, L1 to L3: then all are searched.

        L3 misses no call that could have changed the part by what it returned or stored. A call
        that should have raised something, and did not, is in none of them.
        """
        return self.followed(node, part).influence

    def grown(self, tree: ColumnTree) -> ShadowedProvenance:
        """The same for a tree with more of the calls in it."""
        other = ShadowedProvenance(self._recording, tree, self._time_limit)
        other.watch = self.watch
        other._given_up = self._given_up
        return other

    # --- when a person decides about it ----------------------------------------------------------

    def needs_run(self, node: int, part: MarkedPart) -> bool:
        """Whether a run of the program would tell more of the part."""
        return self.can_be_followed(node, part) and _key(node, part) not in self._known

    def give_up(self, node: int, part: MarkedPart, why: str) -> None:
        """No run is made for a part until `follow` is called."""
        self._given_up[_key(node, part)] = why

    def follow(self, node: int, part: MarkedPart) -> None:
        """Make the runs for a part, if they were not made."""
        self._given_up.pop(_key(node, part), None)
        self.followed(node, part)

    def followed(self, node: int, part: MarkedPart) -> Followed:
        """All that is known of a part, by runs that are made now if they were not before."""
        key = _key(node, part)
        if key in self._known:
            return self._known[key]
        if key in self._given_up:
            return Followed(Origin(None, unknown=self._given_up[key]))
        if not self.can_be_followed(node, part):
            return Followed(Origin(None, unknown="only values of calls are followed"))
        with self.watch(f"following {part.mark} back") as progress:
            self._known[key] = self._follow(node, part, progress)
        return self._known[key]

    def history(self, node: int, part: MarkedPart) -> Followed:
        """The same with all that led to the part, also before the marked call: the whole run is
        followed, if that does not take too long."""
        try:
            everything = self._caller(node, len(self._tree.columns))
            if len(self._tree.columns) > MOST_OF_ALL:
                return self.followed(node, part)
            with self.watch(f"following {part.mark} back") as progress:
                answer = self._answer(everything, node, part, progress)
            if answer.is_older:
                unknown = answer.told["origin"].get("unknown", "") or FROM_OUTSIDE
                return Followed(Origin(None, unknown=unknown), slices=answer.slices())
            return self._told(node, part, answer)
        except WhenceError:
            return self.followed(node, part)

    def can_be_followed(self, node: int, part: MarkedPart) -> bool:
        """Whether it is a value: what was printed or raised is known otherwise, or not at all."""
        position = self._tree.position(node)
        outcome = OutcomeKind(int(self._tree.columns.outcome[position]))
        is_exception = self._is_exception(node, part)
        if part.mark.root == PRINTED:
            return position == 0 and len(part.mark.steps) in {1, 2}
        if position == 0 or is_exception:
            return is_exception and not part.mark.steps
        if part.mark.root == YIELDED:
            return bool(part.mark.steps)
        return part.is_input or part.mark.root != RESULT or outcome is OutcomeKind.RETURNED

    def _is_exception(self, node: int, part: MarkedPart) -> bool:
        """Whether what was marked is the exception that ended a call."""
        outcome = int(self._tree.columns.outcome[self._tree.position(node)])
        is_outcome = part.mark.root in (RESULT, RAISED) and not part.is_input
        return is_outcome and outcome == OutcomeKind.RAISED

    # --- from the marked call up to where the part was made --------------------------------------

    def _follow(self, node: int, part: MarkedPart, progress: Progress) -> Followed:
        last: _Answer | None = None
        shadowed, levels, unknown = node, 1, ""
        try:
            if self._tree.position(node) == 0:
                shadowed = self._whole_run()
            elif part.is_input or self._is_stepped(node):
                told = self._from_the_start(node, part, progress)
                if told is not None:
                    return told
                shadowed = self._caller(node, levels)
            while True:
                last = self._answer(shadowed, node, part, progress)
                if not last.is_older:
                    return self._told(node, part, last)
                unknown = last.told["origin"].get("unknown", "")
                shadowed, levels = self._caller(shadowed, levels), levels * 2
        except WhenceError as problem:
            origin = Origin(None, unknown=unknown or str(problem))
            if last is None:
                return Followed(origin)
            return Followed(origin, self._influence(node, part, last), last.slices())

    def _from_the_start(self, node: int, part: MarkedPart, progress: Progress) -> Followed | None:
        """What a run tells that is followed as a whole, if it is small: what came before the call
        is known then, too."""
        if len(self._tree.columns) > FEW_CALLS:
            return None
        try:
            shadowed = self._caller(node, len(self._tree.columns))
            answer = self._answer(shadowed, node, part, progress)
        except WhenceError:
            return None
        return None if answer.is_older else self._told(node, part, answer)

    def _caller(self, node: int, levels: int) -> int:
        """A caller of a call, so many levels above it; above all, the program's statements."""
        tree = self._tree
        position = tree.position(node)
        parent = tree.columns.parent
        while levels or is_whole(code_at(tree, position)) or self._is_stepped(tree.id(position)):
            above = int(parent[position])
            if above <= 0:
                break
            position, levels = above, max(0, levels - 1)
        if tree.id(position) == node:
            raise CannotRepeat(FROM_OUTSIDE)
        if int(tree.columns.end[position]) - position > MOST_CALLS:
            raise CannotRepeat(
                f"it is older than call {node}, and too many calls are below its callers"
            )
        return tree.id(position)

    def _is_stepped(self, node: int) -> bool:
        """Whether a call is a generator or coroutine, which others make go on."""
        return code_at(self._tree, self._tree.position(node)).is_stepped

    def _whole_run(self) -> int:
        """The program's statements, if what they led to is not too much to be followed."""
        tree = self._tree
        if len(tree.columns) < 2 or not is_whole(code_at(tree, 1)):
            raise CannotRepeat("only the output of scripts and modules is followed")
        if len(tree.columns) > MOST_OF_ALL:
            raise CannotRepeat("too many calls would have to be followed")
        return tree.id(1)

    # --- one run -------------------------------------------------------------------------------

    def _answer(self, shadowed: int, node: int, part: MarkedPart, progress: Progress) -> _Answer:
        """What a run tells of the part."""
        self.windows.check_allowed()
        if self._tree.columns.implicit.any():
            raise CannotRepeat("some calls were only counted, not recorded")
        try:
            conditions = Conditions.of(self._recording, self._header())
            of_run = self._tree.position(node) == 0
            root, steps = self._place(node, part)
            request = Request(
                words=conditions.command, wanted=self._wanted_of_all(shadowed),
                marked=self._marked(shadowed, shadowed if of_run else node),
                root=root, steps=tuple(map(_step, steps)), is_input=part.is_input,
                rules=UserCodeRules.told(conditions.options),
                seed_by=str(conditions.repeatable.get("hash_seed_by", OWN)),
                journal=str(conditions.journal.absolute()) if conditions.journal else "",
            )  # fmt: skip
            position = self._tree.position(shadowed)
            count = int(self._tree.columns.end[position]) - position
            told = self._shadow(conditions, request, lambda done: progress(done, count))
            if "unknown" in told:
                raise CannotRepeat(str(told["unknown"]))
            top = self._followed_below(shadowed)
            aligned = align(self._tree, top, told["calls"])
            if not of_run:
                self._compare(node, part, told)
                if aligned.ids.get(told["marked"], node) != node:
                    raise Difference(f"call {node} is another one")
            return _Answer(top, told, aligned)
        except Difference as how:
            raise CannotRepeat(another_way(str(how))) from None

    def _marked(self, shadowed: int, node: int) -> Wanted:
        """A call, told by the how manieth of its function it is from the shadowed one on."""
        position = self._tree.position(node)
        before = self._calls_before(shadowed, position)
        count = self._calls_before(node, position) - before + 1
        return self._code_of(self._tree, position, count)[0]

    def _followed_below(self, shadowed: int) -> int:
        """The call below which all calls were followed. With the statements of one module those of
        all modules are: `python -m` runs that of a package first."""
        tree, position = self._tree, self._tree.position(shadowed)
        whole = position == 1 and int(tree.columns.end[position]) == len(tree.columns)
        return shadowed if whole or not is_whole(code_at(tree, position)) else tree.id(0)

    def _compare(self, node: int, part: MarkedPart, told: Mapping[str, Any]) -> None:
        """Whether the marked call was given what it was, and the part is what it was."""
        call = self._tree.call(self._tree.position(node))
        seen = [(each.name, each.value, told["given"].get(each.name)) for each in call.arguments]
        seen.append((str(part.mark), part.value, told["value"]))
        for name, value, now in seen:
            before = show(value)
            is_known = value.kind is Kind.ATOM and now is not None and _CUT not in before + now
            if is_known and before != now:
                raise Difference(f"{name} of call {node} was {before}, now {now}")

    def _place(self, node: int, part: MarkedPart) -> tuple[str, Steps]:
        """The value that a mark begins with, and the steps from there: what a call changed may be
        named by a path, and arguments by their numbers."""
        if self._is_exception(node, part):
            return RAISED, ()
        if part.position >= 0:
            call = self._tree.call(self._tree.position(node))
            return call.arguments[part.position].name, part.mark.steps
        root, steps = parse_path(part.mark.root)
        return root, (*steps, *part.mark.steps)

    def _shadow(
        self, conditions: Conditions, request: Request, progress: Callable[[int], None]
    ) -> dict[str, Any]:
        with Scratch() as name:
            folder = Path(name)
            asked, answered, far = folder / "request", folder / "answer", folder / "progress"
            printed = folder / PRINTED
            asked.write_text(request.text(), encoding="utf-8")
            command = [
                sys.executable, "-m", "whence.langs.python.provenance.shadow_run", str(asked),
                str(answered), str(far),
            ]  # fmt: skip
            whole = request.wanted.name == WHOLE
            limit = min(self._time_limit, WHOLE_RUN) if whole else self._time_limit

            def look() -> None:
                with contextlib.suppress(OSError, ValueError):
                    progress(int(far.read_text(encoding="ascii")))

            target = printed if request.root == PRINTED else Path(os.devnull)
            with target.open("wb") as output:
                if not ends_in_time(conditions, command, limit, look, stdout=output.fileno()):
                    raise CannotRepeat(f"following it takes longer than {limit:g} s")
            why = Played(report_in(folder)).problem
            if why:
                raise CannotRepeat(f"the program could not be run again as it was: {why}")
            if not answered.exists():
                raise CannotRepeat("the program was run with tags, and did not come to the call")
            found = json.loads(answered.read_text(encoding="utf-8"))
            assert isinstance(found, dict)
            return found

    # --- telling -------------------------------------------------------------------------------

    def _told(self, node: int, part: MarkedPart, answer: _Answer) -> Followed:
        influence, slices = self._influence(node, part, answer), answer.slices()
        makers = [self._maker(each, answer) for each in answer.makers]
        if len(makers) > 1:
            texts = [f"{each.expression} ({each.location})" for each in makers]
            unknown = f"it is one of {', '.join(texts)}"
            return Followed(
                Origin(None, unknown=unknown, candidates=tuple(makers)), influence, slices
            )
        [maker] = makers
        if maker.node is None:
            why = "it was made in a generator or coroutine, and which one is not known"
            return Followed(replace(maker, unknown=why), influence, slices)
        ids = answer.aligned.ids
        way = [ids[each] for each in reversed(answer.told["chain"]) if each in ids]
        chain = tuple(dict.fromkeys(each for each in way if each != node))
        callers = self._callers(maker.node) | self._callers(node)
        passed = frozenset(each for each in chain if each not in callers)
        made_of = [self._maker(each, answer) for each in answer.told["origin"]["made_of"]]
        origin = replace(
            maker, chain=chain, passed_through=passed,
            made_of=tuple(each for each in made_of if each.node is not None),
        )  # fmt: skip
        return Followed(origin, influence, slices)

    def _maker(self, maker: Mapping[str, Any], answer: _Answer) -> Origin:
        node = answer.aligned.ids.get(maker["call"])
        if node == self._tree.id(0):
            node = self._body_of_module(maker["file"])
        return Origin(
            node,
            location=Location(maker["file"], maker["line"]),
            expression=maker["expression"],
        )

    def _body_of_module(self, file: str) -> int | None:
        """The call that ran the statements of a module, if there was one only."""
        tree = self._tree
        bodies = [number for number, each in enumerate(tree.functions) if each.qualname == WHOLE]
        places = np.flatnonzero(np.isin(tree.columns.function, bodies)).tolist()
        found = [each for each in places if code_at(tree, each).file == file]
        return tree.id(found[0]) if len(found) == 1 else None

    def _influence(self, node: int, part: MarkedPart, answer: _Answer) -> Influence:
        ids, slices = answer.aligned.ids, answer.slices()
        if part.is_input:
            # It was made somewhere above: of what was not followed, nothing is set aside.
            outside = self._outside(answer.shadowed)
            slices = tuple(each | outside for each in slices)
        # What was not raised may matter as well, where it would have been caught.
        caught = {ids[each] for each in answer.told["catchable"] if each in ids}
        complete = answer.told["is_complete"] and self._is_value(node, part)
        return Influence(slices[0], complete=complete, wider=(slices[1], slices[2] | caught))

    def _is_value(self, node: int, part: MarkedPart) -> bool:
        """Whether what was marked is a value that a call left behind when it returned: then no
        exception that it should have let pass is what is missing."""
        outcome = int(self._tree.columns.outcome[self._tree.position(node)])
        given = part.is_input or part.mark.root in (PRINTED, YIELDED)
        return outcome == OutcomeKind.RETURNED and not given and not self._is_stepped(node)

    def _outside(self, node: int) -> frozenset[int]:
        tree = self._tree
        position = tree.position(node)
        end = int(tree.columns.end[position])
        places = [*range(position), *range(end, len(tree.columns))]
        return frozenset(tree.id(each) for each in places)

    def _callers(self, node: int) -> set[int]:
        """A call and all that led to it."""
        tree = self._tree
        return {tree.id(each) for each in up_from(tree, tree.position(node))}


def _key(node: int, part: MarkedPart) -> _Key:
    return node, part.mark, part.is_input


def _step(text: str) -> tuple[str, Any]:
    """A step of a mark, as the run takes it."""
    if text.startswith("."):
        return "attribute", text[1:]
    letters = TEXT_PART.fullmatch(text)
    if letters is not None:
        return "text", (int(letters[1]), int(letters[2]))
    try:
        key = ast.literal_eval(text[1:-1])
    except (ValueError, SyntaxError):
        key = text
    if type(key) not in {int, str}:
        raise CannotRepeat(f"parts at {text} are not followed yet, only those at texts and numbers")
    return "item", key
