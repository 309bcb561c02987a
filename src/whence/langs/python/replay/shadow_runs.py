"""Makes one shadow run, and says which recorded calls its calls are.

A shadow run is a re-run whose task is to tag values (`debuggee/tagged_run.py`). Invariant: a run
whose calls are not those of the recording is not believed.
"""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from whence.langs.python.debuggee.order import PartStep, StepKind, TagTask, Task
from whence.langs.python.debuggee.tag_report import WHOLE, PartMaker, TagAnswer, TagReport
from whence.langs.python.replay.call_target import target_in_run, target_since
from whence.langs.python.replay.partial_replay import PartialReplay
from whence.langs.python.replay.rerun_process import (
    TIME_LIMIT,
    CannotReplay,
    Conditions,
    RerunOutcome,
    divergence_message,
    header_of,
    order_again,
    report_in,
    start_rerun,
    wait_for,
)
from whence.langs.python.replay.scratch_folder import ScratchFolder
from whence.langs.python.replay.shadow_alignment import (
    CallAlignment,
    ShadowRunDiverged,
    align,
    code_at,
    is_module_body,
)
from whence.model.call import PRINTED, RAISED, RESULT, MarkedPart, OutcomeKind
from whence.model.replay_settings import Progress
from whence.model.value import TEXT_PART, Kind, Steps, parse_path, show
from whence.tree.column_tree import ColumnTree

WHOLE_RUN = 30.0
"""Seconds that a shadow run of the whole program may take."""
IMPLICIT = "some calls were only counted, not recorded"
_CUT = "…"
_ANSWER, _PROGRESS = "answer", "progress"


@dataclass(frozen=True, slots=True)
class ShadowRun:
    """What one shadow run reports, with its calls matched to the recorded ones."""

    top: int
    """The recorded call below which all calls carried tags."""
    report: TagReport
    aligned: CallAlignment

    @property
    def makers(self) -> tuple[PartMaker, ...]:
        """The expressions that may have made the part."""
        return self.report.origin.makers

    @property
    def is_older(self) -> bool:
        """Whether the part was there before the shadowed call."""
        return not self.makers or any(maker.parameter for maker in self.makers)

    def slices(self) -> tuple[frozenset[int], ...]:
        """The slices L1, L2 and L3 of the part."""
        ids, others = self.aligned.ids, self.aligned.others
        return tuple(
            others.union(ids[call] for call in calls if call in ids) for calls in self.report.slices
        )


@dataclass(frozen=True)
class ShadowRuns:
    """Shadow runs of one recording's program."""

    recording: Path
    tree: ColumnTree
    partial: PartialReplay
    """Says whether the program may run again at all."""
    time_limit: float = TIME_LIMIT

    def run(self, shadowed: int, node: int, part: MarkedPart, progress: Progress) -> ShadowRun:
        """Follow a marked part of call `node` back, with the values of call `shadowed` tagged."""
        self.partial.check_allowed()
        if self.tree.columns.implicit.any():
            raise CannotReplay(IMPLICIT)
        try:
            conditions = Conditions.of(self.recording, header_of(self.tree))
            of_run = self.tree.position(node) == 0
            root, steps = self._path(node, part)
            position = self.tree.position(shadowed)
            count = int(self.tree.columns.end[position]) - position
            with ScratchFolder() as name:
                folder = Path(name)
                task = TagTask(
                    shadowed=target_in_run(self.tree, shadowed),
                    marked=target_since(self.tree, shadowed, shadowed if of_run else node),
                    root=root, steps=tuple(map(_step, steps)), is_input=part.is_input,
                    answer=str(folder / _ANSWER), progress=str(folder / _PROGRESS),
                    printed=str(folder / PRINTED) if root == PRINTED else "",
                )  # fmt: skip
                report = self._report(conditions, folder, task, lambda done: progress(done, count))
            top = self._followed_below(shadowed)
            aligned = align(self.tree, top, report.calls)
            if not of_run:
                self._check_values(node, part, report)
                if aligned.ids.get(report.marked, node) != node:
                    raise ShadowRunDiverged(f"call {node} is another one")
            return ShadowRun(top, report, aligned)
        except ShadowRunDiverged as how:
            raise CannotReplay(divergence_message(str(how))) from None

    def _followed_below(self, shadowed: int) -> int:
        """The call below which all calls carried tags.

        With the body of one module those of all modules do: `python -m` runs that of a package
        first.
        """
        tree, position = self.tree, self.tree.position(shadowed)
        whole = position == 1 and int(tree.columns.end[position]) == len(tree.columns)
        return shadowed if whole or not is_module_body(code_at(tree, position)) else tree.id(0)

    def _check_values(self, node: int, part: MarkedPart, report: TagReport) -> None:
        """Check that the inputs of the marked call, and the part itself, are the recorded ones."""
        call = self.tree.call(self.tree.position(node))
        now_passed = dict(report.arguments)
        compared = [
            (argument.name, argument.value, now_passed.get(argument.name))
            for argument in call.arguments
        ]
        compared.append((str(part.mark), part.value, report.value))
        for name, value, now in compared:
            before = show(value)
            is_known = value.kind is Kind.ATOM and now is not None and _CUT not in before + now
            if is_known and before != now:
                raise ShadowRunDiverged(f"{name} of call {node} was {before}, now {now}")

    def _path(self, node: int, part: MarkedPart) -> tuple[str, Steps]:
        """The value that a mark begins with, and the steps from there.

        Something that a call changed may be named by a path, and arguments by their numbers.
        """
        if is_exception(self.tree, node, part):
            return RAISED, ()
        if part.position >= 0:
            call = self.tree.call(self.tree.position(node))
            return call.arguments[part.position].name, part.mark.steps
        root, steps = parse_path(part.mark.root)
        return root, (*steps, *part.mark.steps)

    def _report(
        self,
        conditions: Conditions,
        folder: Path,
        task: TagTask,
        progress: Callable[[int], None],
    ) -> TagReport:
        """Run the program with tags, and read the answer."""
        whole = task.shadowed.name == WHOLE
        limit = min(self.time_limit, WHOLE_RUN) if whole else self.time_limit

        def show_progress() -> None:
            with contextlib.suppress(OSError, ValueError):
                progress(int(Path(task.progress).read_text(encoding="ascii")))

        order = replace(order_again(conditions, folder), task=Task(tags=task), stop_signals=())
        with Path(task.printed or os.devnull).open("wb") as output:
            process = start_rerun(conditions, order, stdout=output.fileno())
            if not wait_for(process, limit, show_progress):
                raise CannotReplay(f"following it takes longer than {limit:g} s")
        why = RerunOutcome(report_in(folder)).problem
        if why:
            raise CannotReplay(f"the program could not be run again as it was: {why}")
        try:
            text = Path(task.answer).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise CannotReplay(
                "the program was run with tags, and did not come to the call"
            ) from None
        answer = TagAnswer.from_text(text)
        if answer.report is None:
            raise CannotReplay(answer.unknown)
        return answer.report


def _step(text: str) -> PartStep:
    """A step of a mark, as the run takes it."""
    if text.startswith("."):
        return PartStep(StepKind.ATTRIBUTE, text[1:])
    letters = TEXT_PART.fullmatch(text)
    if letters is not None:
        return PartStep(StepKind.TEXT, letters=(int(letters[1]), int(letters[2])))
    try:
        key = ast.literal_eval(text[1:-1])
    except (ValueError, SyntaxError):
        key = text
    if type(key) not in {int, str}:
        raise CannotReplay(f"parts at {text} are not followed yet, only those at texts and numbers")
    return PartStep(StepKind.ITEM, key)


def is_exception(tree: ColumnTree, node: int, part: MarkedPart) -> bool:
    """Whether the marked part is the exception that ended the call."""
    outcome = int(tree.columns.outcome[tree.position(node)])
    is_outcome = part.mark.root in (RESULT, RAISED) and not part.is_input
    return is_outcome and outcome == OutcomeKind.RAISED


def is_stepped(tree: ColumnTree, node: int) -> bool:
    """Whether a call is a generator or coroutine, which others resume."""
    return code_at(tree, tree.position(node)).is_stepped
