"""Goals that are run for tests, and what a test does where there is no SWI-Prolog."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from whence.langs.prolog.evaluation_tree import children_of
from whence.langs.prolog.port_events import Run, run_goal
from whence.langs.prolog.swipl_process import INSTALL, Engine, plain
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Port, PortEvent


def need_swipl() -> None:
    """Skip the module that calls this where swipl is missing; in CI that is a failure."""
    if shutil.which("swipl") is None:
        reason = f"swipl is not installed ({INSTALL})"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason, allow_module_level=True)


@dataclass
class Traced:
    """The trace of a goal with the texts of its terms."""

    trace: TraceTree
    run: Run
    texts: dict[int, str]

    def text(self, event: PortEvent) -> str:
        call = event.call
        return self.texts[call.answers[event.number].term if event.port is Port.EXIT else call.term]

    def shown(self, event: PortEvent) -> str:
        """An event on one line: `exit p(1)`."""
        return f"{event.port.value} {self.text(event)}"

    def children(self, event: PortEvent) -> list[str]:
        return [self.shown(child) for child in children_of(event)]

    def answer(self, number: int = 0) -> PortEvent:
        return PortEvent(Port.EXIT, self.trace.root, number)

    def failure(self) -> PortEvent:
        return PortEvent(Port.FAIL, self.trace.root)


def traced(file: Path, goal: str, *, solutions: int = 20) -> Traced:
    """Run a goal of a program."""
    with Engine() as engine:
        engine.load(file)
        run = Run()
        trace = TraceTree(run_goal(engine, goal, solutions=solutions), run)
        return Traced(trace, run, _texts(engine, trace))


def _texts(engine: Engine, trace: TraceTree) -> dict[int, str]:
    numbers: Sequence[int] = [
        term
        for call in trace.calls
        for term in (call.term, call.raised, *(each.term for each in call.answers))
        if term is not None
    ]
    return {int(number): plain(text) for _, number, text in engine.numbered("terms", numbers)}
