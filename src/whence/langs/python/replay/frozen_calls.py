"""Freezes calls: when the program runs again, their effects are applied instead (DDS).

One re-run records what the calls do (`langs/python/freezing`). Then the program runs with all these
calls frozen, and every other call is compared with the recording (`frozen_check`). Only calls whose
effects were applied there without a difference are frozen in later re-runs.

Invariant: a call is frozen only where the run up to it is the one that was compared.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from whence.langs.python.debuggee.order import Task
from whence.langs.python.replay.frozen_check import FrozenDifference, first_frozen_difference
from whence.langs.python.replay.rerun_process import rerun, trace_of
from whence.langs.python.trace.trace_reader import open_trace
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.tree.column_tree import ColumnTree

WORTH = 1_000
"""Calls that made fewer calls are frozen only on request."""
MOST_CALLS = 200
"""The most calls considered at once, those that made the most calls."""
MOST_RUNS = 8
"""The most re-runs to record effects."""
_ORDER, _NOTES, _FROZEN, _REPORTS = "freezing.json", "notes.txt", "frozen.txt", "said.txt"
_NOT_REACHED = "the re-run did not reach it as the recorded run did"
_COUNT_ONLY: Mapping[str, Any] = {"depth": None, "max_calls": None, "filter": None}


@dataclass(frozen=True, slots=True)
class Effects:
    """What a call does, as a re-run recorded it."""

    calls: int
    """How many calls it made."""
    seconds: float
    line: str
    """The recorded effects; only a re-run's process reads them."""


@dataclass
class FrozenCalls:
    """The frozen calls of one recording, by ordinal."""

    recording: Path
    tree: ColumnTree
    frozen: dict[int, Effects] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    """Why a call that was considered is not frozen."""
    seconds: float = 0.0
    """How long the compared run took."""

    def order_file(self, folder: Path, before: int) -> str:
        """Write the file by which a re-run freezes all calls that end before one begins.

        Empty if there are none.
        """
        ready = {at: call for at, call in self.frozen.items() if at + call.calls < before}
        return _played(folder, ready) if ready else ""

    def worthwhile(self, right: Mapping[int, int], before: int) -> dict[int, int]:
        """The calls judged right that should be frozen for a run up to a call.

        None, unless that saves half of the calls before it.
        """
        wanted = {
            at: calls
            for at, calls in outermost(right).items()
            if calls >= WORTH and at + calls < before and at not in self.refused
        }
        is_new = not wanted.keys() <= self.frozen.keys()
        return wanted if is_new and 2 * sum(wanted.values()) >= before else {}

    def freeze(self, wanted: Mapping[int, int]) -> None:
        """Freeze these calls, and no others, if possible; `wanted` has how many calls each made.

        None of them lies in another.
        """
        wanted = {at: calls for at, calls in wanted.items() if not self._is_stepped(at)}
        largest = sorted(wanted, key=lambda ordinal: -wanted[ordinal])[:MOST_CALLS]
        for ordinal in set(wanted).difference(largest):
            self.refused[ordinal] = f"only the {MOST_CALLS} that made the most calls are considered"
        effects = self._record_effects({at: wanted[at] for at in largest}) if largest else {}
        if effects:
            self._check(effects)

    def _is_stepped(self, ordinal: int) -> bool:
        if not _code(self.tree, ordinal).is_stepped:
            return False
        self.refused[ordinal] = "it is a generator or coroutine, which others resume"
        return True

    def _record_effects(self, wanted: Mapping[int, int]) -> dict[int, Effects]:
        """The effects of those calls whose effects can be applied."""
        noted: dict[int, Effects] = {}
        left = dict(wanted)
        for _ in range(MOST_RUNS):
            over = self._record_in_one_run(left, noted)
            left = {at: calls for at, calls in left.items() if at > over}
            if not left:
                break
        self.refused |= dict.fromkeys(left, "too many objects end in calls before it")
        return noted

    def _record_in_one_run(self, wanted: Mapping[int, int], noted: dict[int, Effects]) -> int:
        """Record effects in one run; the last call that this run could handle."""

        def task(folder: Path) -> Task:
            codes = {at: _code(self.tree, at) for at in sorted(wanted)}
            calls = [(at, wanted[at], code.qualname, code.first_line) for at, code in codes.items()]
            note = {"do": "note", "calls": calls, "to": str(folder / _NOTES)}
            return Task(window=(calls[-1][0], 1), freezing=_ordered(folder, note))

        run = rerun(self.recording, self.tree, task, options=_COUNT_ONLY)
        with run as (_, outcome, folder):
            notes = _lines(folder / _NOTES)
        note: dict[str, Any]
        for ordinal in sorted(wanted):
            line = notes.get(ordinal, "")
            note = json.loads(line) if line else {"refused": outcome.problem or _NOT_REACHED}
            if "refused" not in note:
                noted[ordinal] = Effects(note["calls"], note["seconds"], line)
                continue
            self.refused[ordinal] = str(note["refused"])
            if "over" in note:
                return ordinal
        return max(wanted)

    def _check(self, noted: dict[int, Effects]) -> None:
        """Run the program with all of these frozen, and compare the other calls.

        A call that cannot be frozen together with the others is left out, and the rest is
        compared again.
        """
        self.frozen = {}
        while noted:
            began = time.monotonic()
            task = partial(_freezing_task, effects=noted)
            with rerun(self.recording, self.tree, task) as (output, outcome, folder):
                self.seconds = time.monotonic() - began
                reports = {at: json.loads(line) for at, line in _lines(folder / _REPORTS).items()}
                failed = {at: report["not"] for at, report in reports.items() if "not" in report}
                failed |= {at: _NOT_REACHED for at in noted if at not in reports}
                calls = {at: effects.calls for at, effects in noted.items() if at not in failed}
                difference = first_frozen_difference(self.tree, open_trace(output), calls, outcome)
            if difference is None and not failed:
                self.frozen = noted
                return
            # What comes after the first difference is its consequence.
            suspects = {
                at: why
                for at, why in failed.items()
                if difference is None or at < difference.ordinal
            }
            if difference is not None and not suspects:
                suspects = _suspects(noted, difference)
            self.refused |= suspects
            noted = {at: effects for at, effects in noted.items() if at not in suspects}

    def plain_seconds(self) -> float:
        """How long such a run takes with nothing frozen."""
        began = time.monotonic()
        with rerun(self.recording, self.tree, lambda _: Task()):
            return time.monotonic() - began


def outermost(calls: Mapping[int, int]) -> dict[int, int]:
    """The calls that lie in no other one; `calls` has how many calls each made."""
    outer: dict[int, int] = {}
    end = 0
    for at in sorted(calls):
        if at > end:
            outer[at] = calls[at]
            end = at + calls[at]
    return outer


def _suspects(noted: Mapping[int, Effects], difference: FrozenDifference) -> dict[int, str]:
    """The frozen calls that are suspected to cause a difference: the later half of those before it.

    If leaving them out does not help, more follow.
    """
    before = sorted(at for at in noted if at <= difference.ordinal) or sorted(noted)
    return dict.fromkeys(before[len(before) // 2 :], f"with it frozen, {difference}")


def _code(tree: ColumnTree, ordinal: int) -> CodeEntry:
    """The code of a call."""
    source = trace_of(tree)
    return source.code(int(np.searchsorted(source.ordinals(), ordinal)))


def _ordered(folder: Path, request: Mapping[str, Any]) -> str:
    order = folder / _ORDER
    order.write_text(json.dumps(request), encoding="utf-8")
    return str(order)


def _played(folder: Path, effects: Mapping[int, Effects]) -> str:
    lines = folder / _FROZEN
    lines.write_text("".join(f"{at}\t{call.line}" for at, call in effects.items()), "utf-8")
    return _ordered(folder, {"do": "play", "from": str(lines), "to": str(folder / _REPORTS)})


def _freezing_task(folder: Path, effects: Mapping[int, Effects]) -> Task:
    return Task(freezing=_played(folder, effects))


def _lines(path: Path) -> dict[int, str]:
    """The lines that a process appended, by ordinal."""
    lines = {}
    if path.exists():
        with path.open(encoding="utf-8") as file:
            for line in file:
                ordinal, _, text = line.partition("\t")
                lines[int(ordinal)] = text
    return lines
