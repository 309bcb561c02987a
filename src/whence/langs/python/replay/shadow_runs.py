"""Makes one shadow run, and says which recorded calls its calls are.

A shadow run happens in its own process (`provenance.shadow_run`). Invariant: a run whose calls are
not those of the recording is not believed.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.langs.python.provenance.shadow_run import WHOLE, Request
from whence.langs.python.record.repeatable import OWN
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.replay.call_target import target_in_run, target_since
from whence.langs.python.replay.partial_replay import PartialReplay
from whence.langs.python.replay.rerun_process import (
    TIME_LIMIT,
    CannotReplay,
    Conditions,
    RerunOutcome,
    divergence_message,
    header_of,
    report_in,
    run_to_end,
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


@dataclass(frozen=True, slots=True)
class ShadowRun:
    """What one shadow run reports, with its calls matched to the recorded ones."""

    top: int
    """The recorded call below which all calls carried tags."""
    report: Mapping[str, Any]
    aligned: CallAlignment

    @property
    def makers(self) -> Sequence[Mapping[str, Any]]:
        """The expressions that may have made the part."""
        makers: Sequence[Mapping[str, Any]] = self.report["origin"].get("makers", ())
        return makers

    @property
    def is_older(self) -> bool:
        """Whether the part was there before the shadowed call."""
        return not self.makers or any("parameter" in maker for maker in self.makers)

    def slices(self) -> tuple[frozenset[int], ...]:
        """The slices L1, L2 and L3 of the part."""
        ids, others = self.aligned.ids, self.aligned.others
        reported = (self.report["slices"][width] for width in ("L1", "L2", "L3"))
        return tuple(others.union(ids[call] for call in calls if call in ids) for calls in reported)


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
            request = Request(
                words=conditions.command, wanted=target_in_run(self.tree, shadowed),
                marked=target_since(self.tree, shadowed, shadowed if of_run else node),
                root=root, steps=tuple(map(_step, steps)), is_input=part.is_input,
                rules=UserCodeRules.from_header(conditions.options),
                seed_by=str(conditions.repeatable.get("hash_seed_by", OWN)),
                journal=str(conditions.journal.absolute()) if conditions.journal else "",
            )  # fmt: skip
            position = self.tree.position(shadowed)
            count = int(self.tree.columns.end[position]) - position
            report = self._report(conditions, request, lambda done: progress(done, count))
            if "unknown" in report:
                raise CannotReplay(str(report["unknown"]))
            top = self._followed_below(shadowed)
            aligned = align(self.tree, top, report["calls"])
            if not of_run:
                self._check_values(node, part, report)
                if aligned.ids.get(report["marked"], node) != node:
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

    def _check_values(self, node: int, part: MarkedPart, report: Mapping[str, Any]) -> None:
        """Check that the inputs of the marked call, and the part itself, are the recorded ones."""
        call = self.tree.call(self.tree.position(node))
        compared = [
            (argument.name, argument.value, report["given"].get(argument.name))
            for argument in call.arguments
        ]
        compared.append((str(part.mark), part.value, report["value"]))
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
        self, conditions: Conditions, request: Request, progress: Callable[[int], None]
    ) -> dict[str, Any]:
        with ScratchFolder() as name:
            folder = Path(name)
            asked, answered, progress_file = (
                folder / "request",
                folder / "answer",
                folder / "progress",
            )
            printed = folder / PRINTED
            asked.write_text(request.text(), encoding="utf-8")
            command = [
                sys.executable, "-m", "whence.langs.python.provenance.shadow_run", str(asked),
                str(answered), str(progress_file),
            ]  # fmt: skip
            whole = request.wanted.name == WHOLE
            limit = min(self.time_limit, WHOLE_RUN) if whole else self.time_limit

            def show_progress() -> None:
                with contextlib.suppress(OSError, ValueError):
                    progress(int(progress_file.read_text(encoding="ascii")))

            target = printed if request.root == PRINTED else Path(os.devnull)
            with target.open("wb") as output:
                if not run_to_end(
                    conditions, command, limit, show_progress, stdout=output.fileno()
                ):
                    raise CannotReplay(f"following it takes longer than {limit:g} s")
            why = RerunOutcome(report_in(folder)).problem
            if why:
                raise CannotReplay(f"the program could not be run again as it was: {why}")
            if not answered.exists():
                raise CannotReplay("the program was run with tags, and did not come to the call")
            report = json.loads(answered.read_text(encoding="utf-8"))
            assert isinstance(report, dict)
            return report


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
        raise CannotReplay(f"parts at {text} are not followed yet, only those at texts and numbers")
    return "item", key


def is_exception(tree: ColumnTree, node: int, part: MarkedPart) -> bool:
    """Whether the marked part is the exception that ended the call."""
    outcome = int(tree.columns.outcome[tree.position(node)])
    is_outcome = part.mark.root in (RESULT, RAISED) and not part.is_input
    return is_outcome and outcome == OutcomeKind.RAISED


def is_stepped(tree: ColumnTree, node: int) -> bool:
    """Whether a call is a generator or coroutine, which others resume."""
    return code_at(tree, tree.position(node)).is_stepped
