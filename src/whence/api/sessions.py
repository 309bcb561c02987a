"""Sessions for programs: questions and answers as objects, oracles as functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeGuard

from whence.api.recorded import Call
from whence.app import session_lookups
from whence.app.served_session import open_service
from whence.app.session_views import SessionViews
from whence.model.question import Question as SessionQuestion
from whence.oracle.python_function import PythonFunction
from whence.ports import Oracle
from whence.protocol import requests
from whence.protocol.views import DiagnosisView, SessionView, WhyView
from whence.report.explanation import Explanation, explain
from whence.session import events
from whence.store.session_log import default_path

Judge = Callable[[Call], Any]
"""Judges a call: True or "right", False or "wrong", "inadmissible", None if it does not know."""
AnyOracle = Judge | Oracle
_COUNT = itertools.count(1)


@dataclass(frozen=True)
class Question:
    """Is this call right? `str(question)` is the question as a terminal shows it."""

    number: int
    call: Call
    why: str
    """Why this call is asked about."""
    suspects: int
    """How many calls can still be at fault."""
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Diagnosis:
    """How a search ended. `str(diagnosis)` is the report."""

    status: str
    """`found`, `candidates`, `none` or `undetermined`."""
    call: Call | None
    """The call at fault."""
    text: str
    record: dict[str, object]
    """The report as data (docs/report.md)."""
    explanation: Explanation
    """The parts of the report, to lay out in a form of one's own."""

    @property
    def function(self) -> str:
        """The function at fault; empty if none was found."""
        return "" if self.call is None else self.call.function

    def __str__(self) -> str:
        return self.text


class Session:
    """Finds the fault in one recording. It is a context manager, which closes it."""

    def __init__(
        self,
        recording: str | Path | Any,
        *,
        wrong: str = "",
        oracle: AnyOracle | Iterable[AnyOracle] = (),
        strategy: str = "",
        trust: Iterable[str] = (),
        reference: str = "",
        keep: bool = False,
        fresh: bool = False,
        may_run: bool | None = None,
    ) -> None:
        """`wrong`: what is wrong with the run, as `--wrong` takes it (default: what shows).

        `oracle`: functions that judge calls, or objects that implement `whence.ports.Oracle`; they
        are asked after remembered answers, contracts and type hints. `keep`: go on with the session
        that whence keeps of this recording, and keep this one. `may_run`: whether the program may
        run again (default: only where that has no effects).
        """
        path = Path(getattr(recording, "path", recording))
        request = requests.Open(
            str(path), wrong, strategy, tuple(trust), reference, fresh=fresh, keep=keep,
            may_run=may_run,
        )  # fmt: skip
        handle = default_path(path).stem if keep else f"unkept-{next(_COUNT)}"
        self._service = open_service(
            path, handle, request, tuple(map(self._adapted, _listed(oracle)))
        )
        if self._service.outcome is None:
            self._service.wrong(requests.Wrong(handle))

    def _adapted(self, oracle: AnyOracle) -> Oracle:
        if _judges(oracle):
            return oracle
        assert callable(oracle)
        name = getattr(oracle, "__qualname__", type(oracle).__name__)
        return PythonFunction(name, oracle, self._described)

    def _described(self, question: SessionQuestion) -> Call:
        """A call that is asked about, for a function that judges it.

        Some are judged before the session is complete, so the tree is asked for when it is needed.
        """
        return Call(lambda: self._service.driver.state.tree, question.node, question.call)

    # --- what it needs ---------------------------------------------------------------------------

    @property
    def view(self) -> SessionView:
        """All that the session shows of itself, as the session protocol has it."""
        return self._service.view()

    @property
    def question(self) -> Question | None:
        """The question that is open; None if there is none."""
        asked = self.view.question
        if asked is None:
            return None
        call = self.call(asked.call.call)
        return Question(asked.number, call, asked.why, asked.suspects, asked.text)

    @property
    def contradiction(self) -> str:
        """Two answers that contradict each other; empty if none do. `keep` resolves it."""
        clash = self.view.contradiction
        return "" if clash is None else f"earlier: {clash.earlier}\nlater: {clash.later}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened since the last statement, such as what oracles answered."""
        return self.view.notes

    @property
    def diagnosis(self) -> Diagnosis | None:
        """How the search ended; None as long as a question is open."""
        outcome, driver = self._service.outcome, self._service.driver
        if not isinstance(outcome, events.Found | events.Exhausted):
            return None
        service = self._service
        views = SessionViews(driver, service.handle, service.path, service.revision)
        view: DiagnosisView = views.diagnosis(outcome)
        found = driver.diagnosis(outcome)
        parts = explain(driver.state, found, driver.sources, driver.findings(found))
        call = None if found.node is None else self.call(found.node)
        return Diagnosis(view.status, call, view.text, view.record, parts)

    def call(self, number: int) -> Call:
        """A call by its number."""
        tree = self._service.driver.state.tree
        tree.position(number)
        return Call(lambda: self._service.driver.state.tree, number)

    # --- statements ------------------------------------------------------------------------------

    def answer(
        self,
        verdict: str | bool,
        *,
        part: str = "",
        expected: str = "",
        calls: Call | int | Iterable[Call | int] = (),
        by: str = "person",
        reason: str = "",
    ) -> None:
        """Judge the call that is asked about, or others.

        `verdict`: True or "right", False or "wrong", "inadmissible", "unknown". `part`: the path of
        the part that is wrong. `expected`: what this part, or else the outcome, should have been.
        """
        word = {True: "right", False: "wrong"}[verdict] if isinstance(verdict, bool) else verdict
        listed = [calls] if isinstance(calls, Call | int) else list(calls)
        numbers = tuple(call.number if isinstance(call, Call) else call for call in listed)
        handle = self._service.handle
        with self._service.lock, self._service.new_notes():
            self._service.answer(
                requests.AnswerCall(handle, word, numbers, part, expected, by, reason)
            )

    def run(self, judge: Judge) -> Diagnosis | None:
        """Answer all questions by a function; ends where it does not know, or at the diagnosis."""
        while (question := self.question) is not None:
            verdict = judge(question.call)
            if verdict is None:
                return None
            self.answer(verdict, by="agent")
        return self.diagnosis

    def undo(self) -> None:
        """Take the last statement back."""
        self._service.undo(requests.Undo(self._service.handle))

    def redo(self) -> None:
        """Say again what was taken back."""
        self._service.redo(requests.Redo(self._service.handle))

    def keep(self, which: str) -> None:
        """Resolve a contradiction: the `earlier` or the `later` answer holds."""
        self._service.keep(requests.Keep(self._service.handle, which))

    def trust(self, name: str, *, scope: str = "function") -> None:
        """Trust a function, module or file: it cannot be at fault itself."""
        self._service.trust(requests.Trust(self._service.handle, name, scope))

    def reject(self) -> None:
        """Do not believe the diagnosis: questions are asked again."""
        self._service.reject(requests.Reject(self._service.handle))

    # --- what else it knows ----------------------------------------------------------------------

    def why(self, call: Call | int, path: str, *, run: bool | None = None) -> WhyView:
        """Where a part of a value came from. `run`: the program may run again for it."""
        number = call.number if isinstance(call, Call) else call
        request = requests.Why(self._service.handle, path, number, run=run)
        with self._service.lock:
            return session_lookups.why(self._service, request)

    def regression_test(self, path: str | Path | None = None) -> str:
        """A test that fails because of the fault; with a path it is written there."""
        request = requests.RegressionTest(
            self._service.handle, "" if path is None else str(path), write=path is not None
        )
        return session_lookups.regression_test(self._service, request).text

    def close(self) -> None:
        """End the processes of the session."""
        self._service.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _judges(oracle: object) -> TypeGuard[Oracle]:
    """Whether an object implements `whence.ports.Oracle`."""
    return hasattr(oracle, "judge") and hasattr(oracle, "name")


def _listed(oracle: AnyOracle | Iterable[AnyOracle]) -> list[AnyOracle]:
    if _judges(oracle) or callable(oracle):
        return [oracle]
    assert isinstance(oracle, Iterable), "it is neither a function nor an oracle"
    return list(oracle)
