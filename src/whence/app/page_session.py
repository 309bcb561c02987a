"""Holds a session on the page: the counterpart of the terminal's question loop.

`diagnosing.py` opens and ends the session as for a terminal; only the loop in between is another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from whence.app.page_service import PageService
from whence.app.service_progress import ServiceProgress
from whence.app.session_host import SessionHost
from whence.app.session_opening import PreparedSession
from whence.app.session_request import SessionRequest
from whence.app.session_service import SessionService
from whence.errors import WhenceError
from whence.model.symptom import Symptom
from whence.ports import RunSymptoms
from whence.session.events import Event, Outcome
from whence.user_folders import make_private_folder, state_folder

if TYPE_CHECKING:
    from whence.ui.web.server import PageServer

LEFT = "the page was left before the end"
NOBODY = "nobody said what is wrong"
MISSING = "the page needs Starlette and uvicorn: pip install 'whence[web]'"


class Page:
    """A page that is about to be served. Making one fails early if packages are missing."""

    def __init__(self, request: SessionRequest) -> None:
        self._make_server = _server_maker()
        self._request = request
        self.notes: list[str] = []
        """What the session notes, for the page to show."""
        self.progress = ServiceProgress()

    def hold(
        self,
        path: Path,
        prepared: PreparedSession,
        opening: Sequence[Event],
        symptom: Symptom | None,
        symptoms: RunSymptoms | None,
    ) -> Outcome | None:
        """Serve until the session is finished, or Ctrl-C; what the session needs then.

        None: nobody said what is wrong with the run.
        """
        host = SessionHost()
        session = SessionService(
            path.name, path, prepared.driver, ExitStack(), self.notes, symptoms
        )
        host.add(session)
        if not self._request.browse:
            session.begin(prepared, opening, symptom or "", fresh=self._request.fresh)
        service = PageService(host, session, self.progress, browse=self._request.browse)
        try:
            self._serve(self._make_server(service, self._request.port))
        finally:
            host.close()
        return session.outcome

    def _serve(self, server: PageServer) -> None:
        """Serve; the address is one line, for whoever starts whence."""
        from whence.ui.web.server import open_browser

        files: list[Path] = []
        to_stdout = self._request.format == "text" or self._request.output is not None

        def shown(address: str) -> None:
            print(address, file=sys.stdout if to_stdout else sys.stderr, flush=True)
            if not self._request.no_open:
                folder = state_folder() / "pages"
                make_private_folder(folder)
                files.append(open_browser(address, folder))

        try:
            with suppress(KeyboardInterrupt):
                server.serve(shown)
        finally:
            for file in files:
                file.unlink(missing_ok=True)


def _server_maker() -> Callable[[PageService, int], PageServer]:
    """Makes the server, if the packages that it needs are there."""
    try:
        from whence.ui.web.server import PageServer
    except ImportError as problem:
        raise WhenceError(MISSING) from problem
    return PageServer
