"""Holds one session on the page, from the first question to the report.

The counterpart of the terminal's loop in `diagnosing.py`: the same session, opened in the same way,
with a server in place of a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whence.app.oracle_gathering import answer_writer
from whence.app.page_service import PageService
from whence.app.service_progress import ServiceProgress
from whence.app.session_driver import SessionDriver
from whence.app.session_host import SessionHost
from whence.app.session_opening import Log, Surroundings, prepare_session
from whence.app.session_request import SessionRequest
from whence.app.session_service import SessionService
from whence.errors import WhenceError
from whence.model.diagnosis import Diagnosis, Status
from whence.model.symptom import Symptom
from whence.ports import Note, Opened, Oracle
from whence.session.events import Event
from whence.user_folders import make_private_folder, state_folder

if TYPE_CHECKING:
    from whence.ui.web.server import PageServer

LEFT = "the page was left before the end"
NOBODY = "nobody said what is wrong"
MISSING = "the page needs Starlette and uvicorn: pip install 'whence[web]'"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A session to be held on the page, besides what all sessions are asked for."""

    top_is_wrong: bool = False
    is_zoom: bool = False
    symptom: Symptom | None = None
    """What the command line says is wrong with the run."""


def hold_on_page(
    request: SessionRequest,
    opened: Opened,
    path: Path,
    wanted: PageRequest,
    log: Callable[[Note], Log | None],
    first: Callable[[], Sequence[Event]],
) -> tuple[SessionDriver, Diagnosis, Sequence[Oracle]]:
    """Serve the page until it is finished or Ctrl-C; how the session stands then.

    `first` finds the first events of a session whose tree is of no recorded run.
    """
    server_of = _server()
    notes: list[str] = []
    resources = ExitStack()
    progress = ServiceProgress()
    with resources:
        surroundings = Surroundings(
            notes.append,
            progress,
            lambda: log(notes.append),
            answer_sink=None
            if wanted.is_zoom
            else answer_writer(request, opened, path, notes.append),
        )
        prepared = prepare_session(
            request, opened, path, surroundings, resources,
            top_is_wrong=wanted.top_is_wrong, is_zoom=wanted.is_zoom,
        )  # fmt: skip
        host = SessionHost()
        session = SessionService(
            path.name, path, prepared.driver, ExitStack(), notes, opened.symptoms
        )
        host.add(session)
        opening = () if wanted.symptom is not None else prepared.judged_run(surroundings)
        if not opening and not prepared.resumes and opened.symptoms is None:
            opening = first()
        session.begin(prepared, opening, wanted.symptom, fresh=request.fresh)
        service = PageService(host, session, progress, browse=request.browse)
        _serve(server_of(service, request.port), opens_browser=not request.no_open)
        host.close()
        driver = prepared.driver
        outcome = session.outcome
        if outcome is None:
            return driver, Diagnosis(Status.UNDETERMINED, reason=NOBODY), prepared.oracles
        return driver, driver.diagnosis(outcome, LEFT), prepared.oracles


def _server() -> Callable[[PageService, int], PageServer]:
    """The server, if the packages that it needs are there."""
    try:
        from whence.ui.web.server import PageServer
    except ImportError as problem:
        raise WhenceError(MISSING) from problem
    return PageServer


def _serve(server: PageServer, *, opens_browser: bool) -> None:
    """Serve until the end; the address is one line, for whoever starts whence."""
    from whence.ui.web.server import open_browser

    def shown(address: str) -> None:
        print(address, flush=True)
        if not opens_browser:
            return
        folder = state_folder() / "pages"
        make_private_folder(folder)
        file = open_browser(address, folder)
        files.append(file)

    files: list[Path] = []
    try:
        with suppress(KeyboardInterrupt):
            server.serve(shown)
    finally:
        for file in files:
            file.unlink(missing_ok=True)
