"""Programs as people write them, each with a bug that a line in it puts in.

The comments at a program's head give `goal: GOAL`, `bug: OLD ==> NEW` (`\\n` is a line break) and
`blame: NAME/ARITY`. They are debugged by `prolog_debugging.py` with the original as the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whence.app.session_driver import SessionDriver
from whence.langs.prolog.frontend import opened_goal
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.hidden_parts import HiddenParts
from whence.langs.prolog.port_events import RunLimits
from whence.langs.prolog.reference_program import (
    ReferenceProgram,
    ReferenceProgramOracle,
    first_difference,
)
from whence.langs.prolog.swipl_process import Engine
from whence.model.diagnosis import Status
from whence.search.registry import DEFAULT
from whence.session import events
from whence.session.state import Options, State

FOLDER = Path(__file__).parents[1] / "corpus_prolog" / "people"
LIMITS = RunLimits(events=1_000_000, depth=100_000, seconds=60)


@dataclass(frozen=True)
class BuggyProgram:
    """A program, and the same with a bug in it."""

    file: Path
    goal: str
    wrong: str
    blame: str

    @property
    def name(self) -> str:
        return self.file.stem


@dataclass(frozen=True)
class Located:
    """How a session ended: who is blamed ("" if nobody), after how many questions of how much."""

    predicate: str
    questions: int
    nodes: int
    events: int
    reason: str = ""


def programs() -> list[BuggyProgram]:
    """All of them, by name."""
    return [_read(file) for file in sorted(FOLDER.glob("*.pl"))]


def _read(file: Path) -> BuggyProgram:
    text = file.read_text(encoding="utf-8")
    comments = (line[2:] for line in text.splitlines() if line.startswith("% "))
    notes = dict(comment.split(": ", 1) for comment in comments if ": " in comment)
    head, body = _parted(text)
    old, new = (part.replace("\\n", "\n") for part in notes["bug"].split(" ==> "))
    assert body.count(old) == 1, f"{file.name}: the bug goes to {body.count(old)} places"
    return BuggyProgram(file, notes["goal"], head + body.replace(old, new), notes["blame"])


def _parted(text: str) -> tuple[str, str]:
    """The comments at the head, without which the bug is put in, and the rest."""
    lines = text.splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if not line.startswith("%"))
    return "".join(lines[:start]), "".join(lines[start:])


def located(
    program: BuggyProgram, folder: Path, strategy: str = DEFAULT, limits: RunLimits = LIMITS
) -> Located:
    """Debug the buggy program; the original answers every question, as a person would."""
    wrong = folder / f"{program.name}.pl"
    wrong.write_text(program.wrong, encoding="utf-8")
    reference = ReferenceProgram(program.file)
    try:
        with Engine() as engine:
            execution = GoalExecution(engine, wrong, program.goal, solutions=5, limits=limits)
            tree = first_difference(execution, reference, lambda _: None)
            if tree is None:  # what it printed or left behind is wrong
                tree = execution.wrong(1)
            goal = opened_goal(execution, tree)
            options = Options(ask_top=False, confirm_top=False)
            oracle = ReferenceProgramOracle(reference, execution)
            state = State(tree, goal.provenance, options=options)
            driver = SessionDriver(state, [HiddenParts(execution.source), oracle])
            outcome = driver.start([events.StrategyChosen(strategy)])
            diagnosis = driver.diagnosis(outcome)
            predicate = ""
            if diagnosis.status is Status.FOUND and diagnosis.node is not None:
                predicate = execution.source.event(diagnosis.node).call.predicate.indicator
            nodes = round(float(tree.columns.own.sum()))
            asked = driver.counts.oracles.total()
            length = execution.trace.length
            execution.close()
            return Located(predicate, asked, nodes, length, diagnosis.reason)
    finally:
        reference.close()
