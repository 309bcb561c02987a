"""Runs a recorded program again, from its start, to learn what its recording does not say.

Invariant: nothing is believed of a run that went another way than the recorded one
(`alignment`), and the recording itself is never changed.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from whence.langs.python.debuggee.executed_lines import Wanted
from whence.langs.python.replay.alignment import contradiction, first_divergence
from whence.langs.python.replay.divergence_causes import likely_cause
from whence.langs.python.replay.materializer import windows_of
from whence.langs.python.replay.partial_replay import TOP, Replay
from whence.langs.python.replay.rerun_process import (
    TIME_LIMIT,
    CannotRepeat,
    Conditions,
    Played,
    diverged,
    header_of,
    journal_beside,
    run_again,
    time_allowed,
)
from whence.langs.python.replay.scratch_folder import Scratch
from whence.langs.python.replay.single_call import lines_of_call
from whence.langs.python.trace.call_reader import TraceSource
from whence.langs.python.trace.trace_pages import Header
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import Call
from whence.model.trial import Trial, compared
from whence.tree.column_tree import ColumnTree, all_ids
from whence.tree.readable_call import function_at

_LINES = "lines.json"


class ProgramReruns:
    """The runs of one recording's program, made when something is asked and kept for the next."""

    def __init__(self, recording: Path, tree: ColumnTree, time_limit: float = TIME_LIMIT):
        self._recording = recording
        self._tree = tree
        self._time_limit = time_limit
        self._whole: dict[int, Call] = {}
        self._lines: dict[int, frozenset[int]] = {}
        self.windows = windows_of(recording, tree)

    @property
    def is_harmless(self) -> bool:
        """Whether what the program does to the world is not done again."""
        if self.windows.replay is Replay.OFF:
            return True
        try:
            return journal_beside(self._recording, self._header()) is not None
        except CannotRepeat:
            return False

    @property
    def command(self) -> str:
        """What is run and where."""
        header = self._header()
        return f"python {shlex.join(header.command)}, in {header.cwd}"

    @property
    def how(self) -> str:
        """How it is run again."""
        if not self.is_harmless:
            return "from its start, with all that it does (there is no journal)"
        return self.windows.told()

    def whole(self, node: int) -> Call:
        """The call with all that its values hold."""
        if node not in self._whole:
            self._whole[node] = self._whole_call(node)
        return self._whole[node]

    def lines(self, node: int) -> frozenset[int]:
        """The lines that a call ran, itself and not what it called."""
        if node not in self._lines:
            self._lines[node] = self._lines_of(node)
        return self._lines[node]

    def lines_alone(self, node: int) -> frozenset[int]:
        """The same, learned by making this one call again where it can reach nothing outside."""
        if node not in self._lines:
            self._lines[node] = lines_of_call(self._tree, node)
        return self._lines[node]

    def tried(self, expected: Mapping[int, str]) -> Trial:
        """What becomes of the run if calls give what they should have."""
        self._need_journal("to try a value")
        where = {node: self._wanted(*self.windows.where(node)) for node in expected}
        after = self.windows.tried({node: (where[node], expected[node]) for node in expected})
        return compared(self._tree.call(0), after.call(0))

    def debug(self, node: int, *, at_end: bool = False) -> None:
        """Step through a call, from its start or from its end."""
        self._need_journal("to step through a call")
        wanted = self._wanted(*self.windows.where(node))
        self.windows.debug(node, wanted, at_end=at_end)

    def frozen(self, node: int) -> str:
        """Whether a call is passed over when the program is run again, or why it is not."""
        windows = self.windows
        ordinal = windows.ordinal(node)
        effects = windows.freezing.frozen.get(ordinal)
        if effects is not None:
            return f"frozen: it is not made again, nor the {effects.calls:,} calls below it"
        why = windows.freezing.refused.get(ordinal, "")
        return f"not frozen: {why}" if why else ""

    def _need_journal(self, purpose: str) -> None:
        if not self.is_harmless:
            raise CannotRepeat(
                f"{purpose}, the program has to be run again as it was: record it with --journal"
            )

    def _whole_call(self, node: int) -> Call:
        if self.is_harmless:
            whole = ["--whole-calls", f"{TOP}:{TOP}"]
            with self.windows.run(node, 1, lambda _: whole) as (tree, _):
                return tree.call(TOP)
        with self._again(node, lambda _: ["--whole-calls", f"{node}:{node}"]) as (tree, _):
            recorded = self._tree.call(self._tree.position(node))
            again = tree.call(tree.position(node))
            different = contradiction(recorded, again)
            if different:
                raise self._diverged(f"at call {node}, {different}", Played())
            return again

    def _lines_of(self, node: int) -> frozenset[int]:
        if self.is_harmless:
            wanted = self._wanted(*self.windows.where(node))
            with self.windows.run(node, 1, lambda place: _line_options(wanted, place)) as (_, at):
                return _lines_in(at)
        wanted = self._wanted_of_all(node)
        with self._again(node, lambda place: _line_options(wanted, place)) as (_, place):
            return _lines_in(place)

    def _wanted_of_all(self, node: int) -> Wanted:
        """The call, told by which of the recorded calls of its function it is."""
        position = self._tree.position(node)
        return self._wanted(self._tree, position, self._calls_before(node, position) + 1)

    def _calls_before(self, node: int, position: int) -> int:
        """How many calls of the function at a position began before a call."""
        function = self._tree.columns.function
        of_it = all_ids(self._tree)[function == function[position]]
        return int(np.count_nonzero(of_it < node))

    def _wanted(self, tree: ColumnTree, position: int, count: int = 1) -> Wanted:
        wanted, is_stepped = self._code_of(tree, position, count)
        if is_stepped:
            raise CannotRepeat("that is not to be had of generators and coroutines")
        return wanted

    def _code_of(self, tree: ColumnTree, position: int, count: int) -> tuple[Wanted, bool]:
        """A call by its code, and whether that is a generator's or coroutine's."""
        function = function_at(tree, position)
        source = tree.sources[int(tree.source_of[position])]
        if function.location is None or not isinstance(source, TraceSource):
            raise CannotRepeat("where its code is was not recorded")
        code = source.code(int(tree.details[position]))
        return Wanted(code.file, code.first_line, code.qualname, count), code.is_stepped

    @contextlib.contextmanager
    def _again(
        self, node: int, wishes: Callable[[Path], Sequence[str]]
    ) -> Iterator[tuple[ColumnTree, Path]]:
        """The tree of another run, in step with the recorded one up to the call, and its folder.

        Only in that folder can the run write anything; `wishes` are options, given the folder.
        """
        self.windows.check_allowed()
        conditions = Conditions.of(self._recording, self._header())
        with Scratch() as folder:
            limit = time_allowed(self._recording, self._tree, self._time_limit)
            place = Path(folder)
            output, played = run_again(conditions, place, wishes(place), limit)
            tree = open_trace(output)
            divergence = first_divergence(self._tree, tree, node)
            if divergence is not None:
                raise self._diverged(str(divergence), played)
            yield tree, place

    def _diverged(self, how: str, played: Played) -> CannotRepeat:
        return diverged(how, likely_cause(self._tree, self._header(), played, how))

    def _header(self) -> Header:
        return header_of(self._tree)


def _line_options(wanted: Wanted, folder: Path) -> list[str]:
    return ["--lines-of", wanted.text(), "--lines-to", str(folder / _LINES)]


def _lines_in(folder: Path) -> frozenset[int]:
    try:
        return frozenset(json.loads((folder / _LINES).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise CannotRepeat(
            "which lines ran is not known: the program did not end in the way it did before, or "
            "traces itself"
        ) from None
