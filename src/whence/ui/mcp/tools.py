"""The eight tools, as functions over the session protocol. None keeps anything between calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from whence.errors import WhenceError
from whence.protocol import requests, views
from whence.protocol.problems import Code, Problem
from whence.protocol.values import ValueView
from whence.ui.mcp.replies import (
    Reply,
    call_reply,
    job_reply,
    rows_reply,
    session_reply,
    value_reply,
    why_reply,
)

Carry = Callable[[Any], Any]
"""Carries out a request of the session protocol; every failure is a `Problem`."""
LONGEST_WAIT = 15.0
BY = "agent"
_View = TypeVar("_View")
LONGEST_ARGUMENT = 100_000


class Tools:
    """The tools of one server."""

    def __init__(self, carry: Carry) -> None:
        self._carry = carry

    def _ask(self, kind: type[_View], request: object) -> _View:
        view = self._carry(request)
        assert isinstance(view, kind), view
        return view

    def record(
        self,
        command: list[str],
        kind: str,
        folder: str,
        time_limit: float,
        job: str,
        *,
        stop: bool,
    ) -> Reply:
        """Start a recording, or wait for one."""
        if job:
            if stop:
                return job_reply(self._ask(views.JobView, requests.Stop(job)))
            return job_reply(self._ask(views.JobView, requests.Job(job, LONGEST_WAIT)))
        request = requests.Record(tuple(command), kind, folder, time_limit)
        begun = self._ask(views.JobView, request)
        return job_reply(self._ask(views.JobView, requests.Job(begun.job, LONGEST_WAIT)))

    def find(
        self,
        recording: str,
        session: str,
        wrong: str,
        operands: list[int] | None,
        reference: str,
        *,
        fresh: bool,
        allow_rerun: bool,
        detailed: bool,
    ) -> Reply:
        """Begin or go on with a search, as far as oracles can judge."""
        may_run = True if allow_rerun else None
        if session:
            view = self._ask(views.SessionView, requests.Next(session))
            if allow_rerun:
                view = self._ask(views.SessionView, requests.Allow(view.session))
        else:
            request = requests.Open(
                recording, wrong, reference=reference, fresh=fresh, may_run=may_run
            )
            view = self._ask(views.SessionView, request)
        if view.symptom is not None and operands is not None:
            said = requests.Wrong(view.session, operands=tuple(operands))
            view = self._ask(views.SessionView, said)
        elif view.symptom is not None and (wrong or self._is_obvious(view.symptom)):
            view = self._ask(views.SessionView, requests.Wrong(view.session, wrong))
        return self._needs(view, detailed=detailed)

    def _is_obvious(self, symptom: views.SymptomView) -> bool:
        """Whether nobody has to say what is wrong: the run failed, and not by an assertion."""
        return symptom.failed and not symptom.operands

    def _needs(self, view: views.SessionView, *, detailed: bool) -> Reply:
        source = None
        if detailed and view.question is not None:
            source = self._source(view.session, view.question.call.call)
        return session_reply(view, source)

    def _source(self, session: str, call: int) -> views.SourceView | None:
        try:
            return self._ask(views.SourceView, requests.Source(session, call))
        except WhenceError:
            return None

    def answer(
        self,
        session: str,
        verdict: str,
        calls: list[int],
        part: str,
        expected: str,
        reason: str,
        keep: str,
        *,
        by: str = BY,
        detailed: bool,
    ) -> Reply:
        """Judge calls, or resolve a contradiction."""
        if keep:
            view = self._ask(views.SessionView, requests.Keep(session, keep))
        elif not verdict:
            raise Problem(
                Code.BAD_PARAMETERS,
                "an answer needs a verdict",
                "give verdict; only a contradiction is answered with keep",
            )
        else:
            request = requests.AnswerCall(
                session, verdict, tuple(calls), part, expected, by, reason
            )
            view = self._ask(views.SessionView, request)
        return self._needs(view, detailed=detailed)

    def why(self, session: str, path: str, call: int | None, side: str, *, run: bool) -> Reply:
        """The origin of a part of a value."""
        request = requests.Why(session, path, call, side, True if run else None)
        return why_reply(self._ask(views.WhyView, request), session)

    def call(
        self, session: str, call: int | None, path: str, side: str, *, detailed: bool
    ) -> Reply:
        """One call whole, or a part of one of its values."""
        if path:
            if call is None:
                call = self._ask(views.CallView, requests.Call(session)).call
            most = 200 if detailed else 40
            request = requests.Value(session, call, path, side, parts=most)
            return value_reply(self._ask(ValueView, request))
        view = self._ask(views.CallView, requests.Call(session, call, whole=detailed))
        return call_reply(view, self._source(session, view.call))

    def search(self, request: requests.Calls) -> Reply:
        """Calls that fulfil all conditions."""
        return rows_reply(self._ask(views.CallsView, request))

    def check(self, session: str, recording: str, time_limit: float, job: str) -> Reply:
        """Run the program of a recording again after a fix, or wait for such a run."""
        if job:
            return _checked(self._ask(views.JobView, requests.Job(job, LONGEST_WAIT)))
        if session:
            recording = self._ask(views.SessionView, requests.Next(session)).recording
        if not recording:
            raise Problem(Code.BAD_PARAMETERS, "which run?", "give session or recording")
        request = requests.Record((recording,), "check", time_limit=time_limit)
        begun = self._ask(views.JobView, request)
        return _checked(self._ask(views.JobView, requests.Job(begun.job, LONGEST_WAIT)))

    def undo(self, session: str, revise: int | None, verdict: str, *, redo: bool) -> Reply:
        """Take the last answer back, say it again, or replace any."""
        request: object
        if revise is not None:
            index = self._index(session, revise)
            request = requests.ReviseAnswer(session, index, verdict, by=BY)
        else:
            request = requests.Redo(session) if redo else requests.Undo(session)
        return self._needs(self._ask(views.SessionView, request), detailed=False)

    def _index(self, session: str, call: int) -> int:
        """The place of the last answer about a call."""
        listed = self._ask(views.AnswersView, requests.Answers(session))
        places = [answer.index for answer in listed.answers if answer.call == call]
        if not places:
            given = ", ".join(str(answer.call) for answer in listed.answers[-20:])
            raise Problem(
                Code.BAD_PARAMETERS, f"no answer is about call {call}", f"there are some on {given}"
            )
        return places[-1]


def _checked(view: views.JobView) -> Reply:
    data: dict[str, object] = {"job": view.job, "state": view.state}
    if view.state == "running":
        text = f'It still runs after {view.seconds} s: check(job="{view.job}") waits on.'
        return Reply(text, data)
    data["fixed"] = view.exit_code == 0
    return Reply(view.output.strip() or view.problem, data)
