"""The open sessions of one process, and the one place where messages of the protocol arrive.

`handle` takes a message and returns one; it never raises. A session is known by its handle, which
stands for its log file, so that another process can go on with it: a handle is valid as long as
the log exists, whoever opened it. A session that is not kept has a handle of this process only.
"""

from __future__ import annotations

import json
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import whence
from whence.app import session_lookups
from whence.app.frontends import named_or_last
from whence.app.recording_jobs import RecordingJobs
from whence.app.served_session import open_service
from whence.app.session_service import SessionService
from whence.app.session_views import SessionViews
from whence.errors import WhenceError, bug_notice
from whence.model.value import cut
from whence.protocol import requests, views
from whence.protocol.problems import Code, Problem, problem_of
from whence.protocol.requests import METHODS, READERS, VERSION
from whence.store.session_log import default_path, is_session, log_header
from whence.typed_json import to_data
from whence.user_folders import state_folder

MAX_REQUEST = 1 << 20
"""A longer message is refused."""
MAX_RESPONSE = 4 << 20
_DIGEST = 16
_LEAST_HANDLE = 4
Done = TypeVar("Done")


class SessionHost:
    """Sessions and recordings by their handles."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: where recordings and projects are looked for, in place of the working one."""
        self.folder = folder
        self.jobs = RecordingJobs()
        self._sessions: dict[str, SessionService] = {}
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._count = 0
        self._methods = self._table()

    # --- messages --------------------------------------------------------------------------------

    def handle_text(self, text: str | bytes) -> str:
        """Carry out one line of JSON; the response, on one line."""
        number: object = None
        try:
            if len(text) > MAX_REQUEST:
                raise Problem(
                    Code.TOO_LARGE, f"the message has more than {MAX_REQUEST:,} characters"
                )
            message = _parsed(text)
            number = message.get("id")
            response = self.handle(message)
        except Problem as problem:
            response = _failure(number, problem)
        line = json.dumps(response)
        if len(line) <= MAX_RESPONSE:
            return line
        size = f"the response has {len(line):,} characters"
        cure = "ask for fewer parts, or for a part further inside"
        return json.dumps(_failure(number, Problem(Code.TOO_LARGE, size, cure)))

    def handle(self, message: Mapping[str, Any]) -> dict[str, object]:
        """Carry out one message; the response, which may be an error."""
        number = message.get("id")
        try:
            method, parameters = _checked(message)
            request = READERS[method](parameters, "params")
        except Problem as problem:
            return _failure(number, problem)
        except WhenceError as problem:
            return _failure(number, Problem(Code.BAD_PARAMETERS, str(problem)))
        try:
            result = self.carry_out(request)
        except Problem as problem:
            return _failure(number, problem)
        return {"version": VERSION, "id": number, "result": to_data(result)}

    def carry_out(self, request: object) -> object:
        """Carry out a request; every failure is a `Problem`."""
        try:
            return self._methods[type(request)](request)
        except WhenceError as error:
            raise problem_of(error) from error
        except OSError as error:
            raise Problem(Code.CANNOT, str(error)) from error
        except Exception as error:
            text = f"{traceback.format_exc()}{bug_notice(whence.__version__)}"
            raise Problem(Code.BUG, text) from error

    def _table(self) -> dict[type, Callable[[Any], object]]:
        def changing(
            change: Callable[[SessionService, Any], object],
        ) -> Callable[[Any], views.SessionView]:
            def carry_out(request: Any) -> views.SessionView:
                session = self.session(request.session)
                with session.lock:
                    with session.new_notes():
                        change(session, request)
                    return session.view()

            return carry_out

        def reading(read: Callable[[SessionService, Any], Done]) -> Callable[[Any], Done]:
            def carry_out(request: Any) -> Done:
                session = self.session(request.session)
                with session.lock:
                    return read(session, request)

            return carry_out

        service = SessionService
        return {
            requests.Hello: lambda _: self._hello(),
            requests.Open: lambda request: self.open(request).view(),
            requests.Record: self.jobs.start,
            requests.Job: self.jobs.look,
            requests.Jobs: lambda _: self.jobs.all(),
            requests.Stop: self.jobs.stop,
            requests.Sessions: lambda _: self._list(),
            requests.Next: reading(lambda session, _: session.view()),
            requests.Wrong: changing(service.wrong),
            requests.AnswerCall: changing(service.answer),
            requests.Keep: changing(service.keep),
            requests.Trust: changing(service.trust),
            requests.Undo: changing(service.undo),
            requests.Redo: changing(service.redo),
            requests.ReviseAnswer: changing(service.revise),
            requests.Reject: changing(service.reject),
            requests.Rest: changing(service.rest),
            requests.Oracle: changing(service.turn_oracle),
            requests.Switch: changing(service.turn_switch),
            requests.Allow: changing(service.allow),
            requests.Answers: reading(lambda session, _: _views(session).answers()),
            requests.Call: reading(session_lookups.call),
            requests.Value: reading(session_lookups.value),
            requests.Calls: reading(session_lookups.calls),
            requests.Source: reading(session_lookups.source),
            requests.Why: reading(session_lookups.why),
            requests.Strategy: reading(_strategy),
            requests.Diagnosis: reading(_diagnosis),
            requests.RegressionTest: reading(session_lookups.regression_test),
            requests.Zoom: self._zoom,
            requests.Save: reading(session_lookups.save),
            requests.Close: self._close,
        }

    # --- sessions --------------------------------------------------------------------------------

    def session(self, handle: str) -> SessionService:
        """The session with a handle; one that is not open here is opened from its log."""
        with self._lock:
            found = self._sessions.get(handle) or self._by_beginning(handle)
        if found is not None:
            return found
        return self.open(requests.Open(recording=str(_recording_of(handle)), log=_log_of(handle)))

    def add(self, session: SessionService) -> None:
        """Take over a session that was opened elsewhere."""
        with self._lock:
            self._sessions[session.handle] = session

    def _by_beginning(self, handle: str) -> SessionService | None:
        if len(handle) < _LEAST_HANDLE:
            return None
        fitting = [name for name in self._sessions if name.startswith(handle)]
        return self._sessions[fitting[0]] if len(fitting) == 1 else None

    def open(self, request: requests.Open) -> SessionService:
        """Open a recording, and begin its session or go on with it."""
        path = named_or_last(Path(request.recording).expanduser() if request.recording else None)
        handle = self._handle(path, request)
        with self._lock:
            opening = self._opening.setdefault(handle, threading.Lock())
        with opening:
            earlier = self._sessions.get(handle)
            if earlier is not None and not request.fresh:
                with earlier.lock:
                    return self._again(earlier, request)
            if earlier is not None:
                self._close(requests.Close(handle))
            session = open_service(path, handle, request)
            with self._lock:
                self._sessions[handle] = session
            return session

    def _again(self, session: SessionService, request: requests.Open) -> SessionService:
        """An open session, with what the request adds to it."""
        if request.wrong and session.outcome is None:
            session.wrong(requests.Wrong(session.handle, request.wrong))
        if request.may_run is not None:
            session.driver.may_run = request.may_run
        return session

    def _handle(self, path: Path, request: requests.Open) -> str:
        if not request.keep:
            self._count += 1
            return f"unkept-{self._count}"
        if request.log:
            return str(Path(request.log).expanduser().absolute())
        return default_path(path).stem[-_DIGEST:]

    def _zoom(self, request: requests.Zoom) -> views.SessionView:
        session = self.session(request.session)
        with session.lock:
            driver, outcome = session.zoom()
            handle = f"{session.handle}/zoom"
            inner = SessionService(handle, session.path, driver, ExitStack(), [])
            inner.lock = session.lock
            inner.outcome = outcome
            with self._lock:
                self._sessions[handle] = inner
            return inner.view()

    def _close(self, request: requests.Close) -> views.Done:
        session = self.session(request.session)
        with self._lock:
            self._sessions.pop(session.handle, None)
            inner = self._sessions.pop(f"{session.handle}/zoom", None)
        for service in filter(None, (inner, session)):
            service.close()
        log = session.driver.log
        kept = f" Its answers are in {log.path}." if log is not None and log.path else ""
        return views.Done(f"Session {session.handle} is closed.{kept}")

    def close(self) -> None:
        """Close all sessions and stop all recordings."""
        self.jobs.close()
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()

    # --- lists -----------------------------------------------------------------------------------

    def _hello(self) -> views.ServerView:
        return views.ServerView(whence.__version__, VERSION, tuple(METHODS), str(Path.cwd()))

    def _list(self) -> views.SessionsView:
        with self._lock:
            sessions = list(self._sessions.values())
        rows = []
        for session in sessions:
            with session.lock:
                shown = session.view()
            rows.append(
                views.SessionRow(shown.session, shown.recording, shown.needs, shown.answers)
            )
        return views.SessionsView(tuple(rows))


def _views(session: SessionService) -> SessionViews:
    return SessionViews(session.driver, session.handle, session.path, session.revision)


def _strategy(session: SessionService, request: requests.Strategy) -> views.StrategiesView:
    if request.name:
        with session.new_notes():
            session.choose_strategy(request.name)
    return session_lookups.strategies(session)


def _diagnosis(session: SessionService, request: requests.Diagnosis) -> views.DiagnosisView:
    if session.outcome is None:
        raise Problem(Code.NOT_NOW, "it is not known yet what is wrong about this run")
    return _views(session).diagnosis(session.outcome, "the session goes on")


def _log_of(handle: str) -> str:
    """The log that a handle names by its path; empty if it is kept where whence keeps it."""
    return handle if os.sep in handle and is_session_file(Path(handle)) else ""


def is_session_file(path: Path) -> bool:
    """Whether a path is that of a session log."""
    try:
        return path.is_file() and is_session(path)
    except OSError:
        return False


def _recording_of(handle: str) -> Path:
    """The recording that a handle is about: of a log, or the path of a recording itself."""
    path = Path(handle).expanduser()
    if is_session_file(path):
        return Path(log_header(path)["tree"])
    if path.is_file():
        return path
    folder = state_folder() / "sessions"
    is_digest = len(handle) >= _LEAST_HANDLE and all(c in "0123456789abcdef" for c in handle)
    logs = sorted(folder.glob(f"*-{handle}*.jsonl")) if is_digest else []
    if len(logs) == 1:
        return Path(log_header(logs[0])["tree"])
    if logs:
        raise Problem(
            Code.NO_SESSION, f"several sessions begin with {handle}", "name more of its handle"
        )
    raise Problem(Code.NO_SESSION, f"there is no session {cut(handle, 60)}")


def _parsed(text: str | bytes) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Problem(Code.BAD_MESSAGE, f"this is no JSON ({problem})") from None
    if not isinstance(message, dict):
        raise Problem(Code.BAD_MESSAGE, "this is JSON, but no object")
    return message


def _checked(message: Mapping[str, Any]) -> tuple[str, object]:
    unknown = set(message) - {"version", "id", "method", "params"}
    if unknown:
        raise Problem(Code.BAD_MESSAGE, f"a message has no member {sorted(unknown)[0]}")
    if message.get("version", VERSION) != VERSION:
        raise Problem(
            Code.BAD_VERSION, f"this whence speaks version {VERSION}, not {message['version']!r}"
        )
    method = message.get("method")
    if not isinstance(method, str) or method not in METHODS:
        raise Problem(Code.UNKNOWN_METHOD, f"there is no method {method!r}")
    return method, message.get("params", {})


def _failure(number: object, problem: Problem) -> dict[str, object]:
    return {"version": VERSION, "id": number, "error": problem.message()}
