"""Runs of a recorded program up to one of its calls, which is then looked at more closely.

A call is told by its *ordinal*: which of all calls of the run it is, recorded or only counted. That
is the same in every run of a program that goes the same way. Before and beside the call nothing is
recorded; when it ends, so does the run (`record/native/window.c`).

A call that came to light in such a run has an id that is made of its ordinal, so that it is the
same in every session.

Invariant: what is learned is believed only if the call's function, and what both recordings know of
its inputs and its outcome, agree.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar
from weakref import ReferenceType, ref

import numpy as np

from whence.langs.python.debuggee.executed_lines import Wanted
from whence.langs.python.debuggee.on_target_call import ARRIVED, BREAKPOINT, END, START, TRIED
from whence.langs.python.replay.alignment import contradiction, other_outcome
from whence.langs.python.replay.checkpoint_pool import Checkpoints, NotRunOn, obstacle
from whence.langs.python.replay.frozen_calls import Freezing
from whence.langs.python.replay.rerun_process import (
    TIME_LIMIT,
    CannotRepeat,
    Conditions,
    Played,
    WentAnotherWay,
    calls_allowed,
    diverged,
    header_of,
    run_again,
    time_allowed,
)
from whence.langs.python.replay.scratch_folder import Scratch
from whence.langs.python.trace.call_reader import TraceSource
from whence.langs.python.trace.trace_reader import open_trace
from whence.ports import Int64s
from whence.tree.column_tree import ColumnTree
from whence.tree.readable_call import function_at

TOP = 1
"""The call for which a window was recorded is the first in its file."""
MOST_RECORDED = 2_000_000
"""So many calls at most are recorded in a re-run."""
NOT_REPLAYED = "the program would have to be run again for it, and --replay=off forbids that"
_A_DAY = 86_400.0
_RUNS_BEFORE = 2
"""A program that was run again so often will be run again, which is when freezing pays."""
_LONG = 2.0
"""Seconds; of a run that takes less nothing is spared."""
_HIGH = 700
_NO_BOUNDS: Mapping[str, Any] = {
    "depth": None,
    "max_bytes": None,
    "max_calls": MOST_RECORDED,
    "filter": None,
}

_T = TypeVar("_T")


@dataclass
class Recorded:
    """One recording of the run: that of the whole, or a window."""

    tree: ColumnTree
    before: int
    """How many calls of the run came before its first one."""
    node: int = 0
    """The id of the call that a window is of."""

    @cached_property
    def ordinals(self) -> Int64s:
        """Of each of its calls, by number, which of all calls it is."""
        source = self.tree.sources[0]
        assert isinstance(source, TraceSource)
        return source.ordinals() + self.before

    def position(self, ordinal: int) -> int | None:
        """Where a call stands in it, if it does."""
        number = int(np.searchsorted(self.ordinals[1:], ordinal)) + 1
        if number >= len(self.ordinals) or self.ordinals[number] != ordinal:
            return None
        return self.tree.position(number)


class Replay(Enum):
    """How a program is run again."""

    OFF = "off"
    RERUN = "rerun"
    CHECKPOINTS = "checkpoints"


@dataclass
class Windows:
    """The windows of one recording, made when they are needed."""

    recording: Path
    tree: ColumnTree
    runs: int = 0
    """How many times the program was run again, from its start or from a checkpoint."""
    replay: Replay = Replay.RERUN
    tell: Callable[[str, int, int], object] = lambda *_: None
    """Is told what is run for, and how many of how many calls are made, while that takes long."""
    right: Callable[[], Iterable[int]] = lambda: ()
    """The calls that were judged right."""
    _seconds: float = 0.0
    """How long the last run took."""
    _known: list[ReferenceType[Recorded]] = field(default_factory=list)
    """Windows live as long as a tree has calls of theirs."""
    checkpoints: Checkpoints | None = None
    """The processes that sleep, once there are any."""

    @cached_property
    def first(self) -> Recorded:
        """The recording of the whole run."""
        return Recorded(self.tree, 0)

    @cached_property
    def first_id(self) -> int:
        """What is added to an ordinal to make an id: larger than all ids of the recording."""
        return int(self.tree.columns.weight[0]) + len(self.tree.columns) + 1

    @cached_property
    def freezing(self) -> Freezing:
        """The calls that are not made again."""
        return Freezing(self.recording, self.tree)

    def ordinal(self, node: int) -> int:
        """Which of all calls one is, by its id."""
        if node >= self.first_id:
            return (node - self.first_id) % self.first_id
        return int(self.first.ordinals[node])

    def where(self, node: int) -> tuple[ColumnTree, int]:
        """A recording in which a call stands, and where it does."""
        ordinal = self.ordinal(node)
        for each in (self.first, *(window() for window in self._known)):
            position = None if each is None else each.position(ordinal)
            if each is not None and position is not None:
                return each.tree, position
        raise CannotRepeat("this call is in no recording that is open")

    def look(self, node: int, budget: int) -> Recorded:
        """A recording of this call and what is below it; its call is checked."""
        with self.run(node, budget) as (tree, _):
            # The file stays open, and so readable, when its folder is gone.
            found = Recorded(tree, self.ordinal(node) - 1, node)
        gc.collect()  # a window and its tree hold each other
        self._known = [each for each in self._known if each() is not None] + [ref(found)]
        return found

    @contextmanager
    def run(
        self, node: int, budget: int, wishes: Callable[[Path], Sequence[str]] = lambda _: ()
    ) -> Iterator[tuple[ColumnTree, Path]]:
        """Run the program up to the end of a call; its tree, and the folder of the run.

        Only in that folder can the run write anything; `wishes` are options, given the folder.
        """

        def checked(output: Path, played: Played, _: Path) -> ColumnTree:
            tree = open_trace(output)
            self._check(node, tree, played)
            return tree

        with self._believed(node, budget, wishes, checked) as (tree, place):
            yield tree, place

    def debug(self, node: int, wanted: Wanted, *, at_end: bool) -> None:
        """Run the program up to a call, and let a person step from there."""
        where = END if at_end else START
        named = os.environ.get(BREAKPOINT, "")

        def wishes(_: Path) -> list[str]:
            sleeping = self._sleeping()
            source, target = given if sleeping is None else sleeping.terminal
            told = f"{source}:{target}:{where}:{named}"
            return ["--lines-of", wanted.text(), "--debugger", told]

        def arrived(_: Path, played: Played, place: Path) -> None:
            if not (place / ARRIVED).exists():
                raise _missed(played)

        with _talking() as given, self._believed(node, 1, wishes, arrived, given):
            pass

    def tried(self, values: Mapping[int, tuple[Wanted, str]]) -> ColumnTree:
        """The run in which something else comes of some calls; it is recorded how that run ends."""
        nodes = sorted(values, key=self.ordinal)
        told = [(self.ordinal(each), values[each][0].text(), values[each][1]) for each in nodes]

        def came_of_it(output: Path, played: Played, place: Path) -> ColumnTree:
            noted = place / TRIED
            if not noted.exists():
                raise _missed(played)
            problem, made = json.loads(noted.read_text(encoding="utf-8"))
            if problem:
                raise CannotRepeat(problem)
            if played.problem:
                raise CannotRepeat(f"what comes of it is not known: {played.problem}")
            tree = open_trace(output)
            for node, number in zip_longest(nodes, made):
                if number is None or not self._has_same_inputs(node, tree, number):
                    raise CannotRepeat(
                        f"with the other values call {node} is not made as it was, so what it "
                        "should give then is not known"
                    )
            return tree

        wishes = [f"--trial={json.dumps(told)}"]
        with self._believed(nodes[0], 1, lambda _: wishes, came_of_it, will_end=False) as (tree, _):
            return tree

    def _has_same_inputs(self, node: int, theirs: ColumnTree, number: int) -> bool:
        ours, position = self.where(node)
        recorded, again = ours.call(position), theirs.call(theirs.position(number))
        common = {each.name for each in recorded.reads} & {each.name for each in again.reads}
        both = [
            replace(call, arguments=(*call.arguments, *(r for r in call.reads if r.name in common)))
            for call in (recorded, again)
        ]
        return contradiction(*both) is None

    @contextmanager
    def _believed(
        self,
        node: int,
        budget: int,
        wishes: Callable[[Path], Sequence[str]],
        judged: Callable[[Path, Played, Path], _T],
        descriptors: Sequence[int] = (),
        will_end: bool = True,
    ) -> Iterator[tuple[_T, Path]]:
        """What a run up to the end of a call is judged to tell, and its folder.

        `judged` raises if it is not believed. One that began at a checkpoint is then made once
        more, from the start.
        """
        self.check_allowed()
        with ExitStack() as stack:
            while True:
                sleeping = self._sleeping()
                again = sleeping is not None and sleeping.is_before(self.ordinal(node))
                try:
                    run = stack.enter_context(
                        self._run(node, budget, wishes, descriptors, will_end)
                    )
                    found = judged(*run)
                    break
                except (WentAnotherWay, NotRunOn) as problem:
                    stack.close()
                    self._give_up(problem)
                    if not again:
                        raise
            yield found, run[2]

    def _give_up(self, problem: CannotRepeat) -> None:
        """Nothing that such a run has left behind is believed."""
        if isinstance(problem, NotRunOn):
            self.close()
        elif self.checkpoints is not None:
            self.checkpoints.drop()

    @contextmanager
    def _run(
        self,
        node: int,
        budget: int,
        wishes: Callable[[Path], Sequence[str]],
        descriptors: Sequence[int],
        will_end: bool,
    ) -> Iterator[tuple[Path, Played, Path]]:
        """A run up to the end of a call without the bounds of the first: what it recorded, how it
        went, and its folder."""
        ordinal = self.ordinal(node)
        limit = time_allowed(self.recording, self.tree, TIME_LIMIT, will_end=will_end)
        progress = self._progress(node)
        if descriptors:  # a person talks to it
            limit, progress = _A_DAY, lambda calls: None

        def words(place: Path) -> list[str]:
            return ["--window", f"{ordinal}:{budget}", *wishes(place)]

        sleeping = self._sleeping()
        if sleeping is None and self.runs >= _RUNS_BEFORE and self._seconds >= _LONG:
            self._freeze_before(node)  # a copy has made these calls already
        self.runs += 1
        if sleeping is not None:
            with sleeping.run(ordinal, words, limit, progress) as run:
                yield run
            return
        with Scratch() as folder:
            place = Path(folder)
            asked = [*words(place), *calls_allowed(self.tree)]
            asked += self.freezing.words(place, ordinal)
            began = time.monotonic()
            output, played = run_again(
                self._conditions(), place, asked, limit, descriptors, progress
            )
            self._seconds = time.monotonic() - began
            yield output, played, place

    def _freeze_before(self, node: int) -> None:
        """Freeze what was judged right and takes long before a call, if that is worth two runs."""
        calls = {}
        for each in self.right():
            with contextlib.suppress(CannotRepeat):
                tree, position = self.where(each)
                calls[self.ordinal(each)] = int(tree.columns.weight[position]) - 1
        wanted = self.freezing.worthwhile(calls, self.ordinal(node))
        if wanted:
            self.runs += 2
            with contextlib.suppress(CannotRepeat):
                self.freezing.look(wanted)

    def _conditions(self) -> Conditions:
        conditions = Conditions.of(self.recording, header_of(self.tree))
        return replace(conditions, options={**conditions.options, **_NO_BOUNDS})

    def _sleeping(self) -> Checkpoints | None:
        """Where the program can be run on from, if that is wished for and possible."""
        if self.replay is not Replay.CHECKPOINTS or obstacle():
            return None
        if self.checkpoints is None:
            self.checkpoints = Checkpoints(self._conditions(), calls_allowed(self.tree))
        return self.checkpoints

    def check_allowed(self) -> None:
        """`CannotRepeat` where nothing may be run again."""
        if self.replay is Replay.OFF:
            raise CannotRepeat(NOT_REPLAYED)

    def close(self) -> None:
        """End the processes that sleep."""
        if self.checkpoints is not None:
            self.checkpoints.close()
            self.checkpoints = None

    def told(self) -> str:
        """How the program is run again, for a person."""
        if self.replay is Replay.OFF:
            return "never (--replay=off)"
        if self.replay is Replay.RERUN:
            return "from its start (--replay=rerun)"
        if obstacle():
            return f"from its start: there are no checkpoints, {obstacle()}"
        sleeping = self.checkpoints
        if sleeping is None:
            return "from its start, and from checkpoints after that"
        count, why = len(sleeping), sleeping.why_not
        if not count:
            return f"from its start: there is no checkpoint{f', {why}' if why else ' yet'}"
        told = f"from {count} checkpoint{'s' if count != 1 else ''}, {sleeping.memory >> 20:,} MB"
        return f"{told}; none where {why}" if why else told

    def _progress(self, node: int) -> Callable[[int], object]:
        tree, position = self.where(node)
        name, first = function_at(tree, position).short(), self.ordinal(node)
        last = first + int(tree.columns.weight[position]) - 1
        return lambda calls: self.tell(f"{name}, call {first:,}", calls, last)

    def _check(self, node: int, theirs: ColumnTree, played: Played) -> None:
        ours, position = self.where(node)
        if len(theirs.columns) <= TOP or theirs.details[TOP] < 0:
            raise diverged(played.problem or "the call was not made")
        names = [function_at(ours, position).short(), function_at(theirs, TOP).short()]
        if names[0] != names[1]:
            raise diverged(f"{names[1]} was called instead of {names[0]}")
        recorded, again = ours.call(position), theirs.call(TOP)
        different = contradiction(recorded, again) or other_outcome(recorded, again)
        if different:
            raise diverged(different)


def _missed(played: Played) -> CannotRepeat:
    """Why a run has not told of the call that it was for."""
    if played.in_time:
        return diverged(played.problem or "another call was made in its place")
    return CannotRepeat("it took too long, and was stopped")


@contextmanager
def _talking() -> Iterator[tuple[int, int]]:
    """Our terminal under high numbers, which the program does not see; interrupts are not ours."""
    source, target = (fcntl.fcntl(each, fcntl.F_DUPFD, _HIGH) for each in (0, 1))
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield source, target
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(source)
        os.close(target)
