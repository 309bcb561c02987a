"""Opens a session for the protocol: no terminal, no questions outside the messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from whence.app import oracle_gathering
from whence.app.frontends import open_any
from whence.app.service_progress import ServiceProgress
from whence.app.session_opening import (
    Log,
    Surroundings,
    check_request,
    own_log,
    prepare_session,
)
from whence.app.session_request import SessionRequest
from whence.app.session_service import SessionService
from whence.errors import WhenceError
from whence.model.diagnosis import Diagnosis
from whence.ports import Opened, Oracle
from whence.protocol import requests
from whence.session import log_entries
from whence.store.session_log import SessionLog, default_path, is_session, put_aside


def open_service(
    path: Path, handle: str, request: requests.Open, more_oracles: Sequence[Oracle] = ()
) -> SessionService:
    """Open a recording or tree, and begin its session or go on with it.

    `more_oracles` are asked after all others.
    """
    opened = open_any(path)
    wanted = _session_request(request)
    check_request(wanted, opened.tree)
    notes: list[str] = []
    if opened.trust is not None and opened.trust.why_foreign():
        if request.trust_recording:
            opened.trust.allow()
        else:
            notes.append(
                f"{path}: {opened.trust.why_foreign()}. Its program is not executed, so marks "
                "and re-runs are left out; open with trust_recording allows them."
            )
    resources = ExitStack()
    try:
        surroundings = Surroundings(
            notes.append,
            ServiceProgress(),
            lambda: _log(request, opened, path, notes.append),
            answer_sink=oracle_gathering.answer_writer(wanted, opened, path, notes.append),
        )
        prepared = prepare_session(
            wanted, opened, path, surroundings, resources, more_oracles=more_oracles
        )
        session = SessionService(handle, path, prepared.driver, resources, notes, opened.symptoms)
        opening = () if request.wrong else prepared.judged_run(surroundings)
        if isinstance(opening, Diagnosis):
            notes.append(f"The fault is in no call that was recorded: {opening.reason}.")
            opening = ()
        session.begin(prepared, opening, request.wrong, fresh=request.fresh)
    except BaseException:
        resources.close()
        raise
    return session


def _session_request(request: requests.Open) -> SessionRequest:
    return SessionRequest(
        strategy=request.strategy or None,
        trust=request.trust,
        reference=request.reference or None,
        oracle=request.oracles,
        no_oracle=request.without_oracles,
        rerun=request.may_run,
        fresh=request.fresh,
        remember=request.remember,
        trust_recording=request.trust_recording,
    )


def _log(
    request: requests.Open, opened: Opened, path: Path, note: Callable[[str], None]
) -> Log | None:
    """The log of a session, which is opened for this process alone."""
    if not request.keep:
        return None
    file = Path(request.log).expanduser() if request.log else default_path(path)
    if request.fresh and file.exists():
        if not is_session(file):
            raise WhenceError(f"{file} is not a whence session, so it is left alone")
        note(f"The earlier session is in {put_aside(file)}.")
    if request.log:
        return SessionLog(file, opened.tree, str(path.absolute()), log_entries, note)
    return own_log(file, opened, path.absolute(), note)
