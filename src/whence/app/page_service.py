"""What the page asks for: methods of the session protocol, and pictures of the session's tree.

The page is one more client of the protocol. It is given only those methods that are about its one
session, and no file names: what it can read is the recording and its sources. Pictures and lists
are in `whence.ui.web`, because they are made for a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whence.app.report_writing import html_report
from whence.app.service_progress import ServiceProgress
from whence.app.session_host import SessionHost
from whence.app.session_service import SessionService
from whence.errors import UsageError
from whence.ports import Following
from whence.protocol.problems import Code, Problem
from whence.session.events import Ask
from whence.ui.web.call_lists import CallLists
from whence.ui.web.layouts import Layouts, Parameters
from whence.ui.web.pictures import Pictures

_PROTOCOL = frozenset({
    "next", "wrong", "answer", "keep", "trust", "undo", "redo", "revise", "reject", "rest",
    "oracle", "switch", "allow", "answers", "call", "value", "source", "why", "strategy", "test",
    "zoom",
})  # fmt: skip
_LOOKING = frozenset({"call", "value", "source", "why"})
_FILES = ("path", "write")
"""Parameters of methods that name files, which the page does not."""
_DEEPER = {"depth": 5, "parts": 24, "total": 300}


class PageService:
    """One session as the page sees it. All methods but `progress` are called in one thread."""

    def __init__(
        self,
        host: SessionHost,
        session: SessionService,
        progress: ServiceProgress,
        *,
        browse: bool = False,
    ) -> None:
        """`browse`: the run is only looked at."""
        self._progress = progress
        self._finished = False
        self._host = host
        self._session = session
        self._inner: SessionService | None = None
        self._browse = browse
        self._layouts: tuple[object, Layouts] | None = None
        self._suspects: dict[int, int] = {}
        self._zooms = 0

    def call(self, method: str, parameters: Mapping[str, object]) -> object:
        """The answer to one request of the page."""
        own: dict[str, Callable[[Parameters], object]] = {
            "overview": self._overview,
            "report": self._report,
            "leave": self._leave,
            "finish": self._finish,
            "picture": lambda given: self._pictures().picture(given),
            "merged": lambda given: self._pictures().merged(given),
            "row": lambda given: self._lists().row(given),
            "outline": lambda given: self._lists().outline(given),
            "functions": lambda given: self._lists().functions(given),
            "instances": lambda given: self._lists().instances(given),
            "neighbours": lambda given: self._lists().neighbours(given),
            "search": lambda given: self._lists().search(given),
        }
        if self._browse:
            own["next"] = self._browsed
        if method in own:
            return own[method](parameters)
        if method not in (_LOOKING if self._browse else _PROTOCOL):
            raise UsageError(f"the page has no method {method}")
        hidden = ("session", *_FILES) if method == "test" else ("session",)
        given = {name: value for name, value in parameters.items() if name not in hidden}
        if given.pop("revision", self.revision()) != self.revision():
            raise Problem(Code.STALE, "the session has moved on, in another tab")
        if method == "call":
            given = {**_DEEPER, **given}
        result = self._protocol(method, given)
        if method == "zoom":
            self._inner = self._host.session(result["session"])
            self._zooms += 1
        if isinstance(result, dict) and "needs" in result:
            return {**result, **self._extras(result)}
        return result

    def _protocol(self, method: str, parameters: Mapping[str, object]) -> Any:
        """One request of the protocol about the session that is shown."""
        given = {"session": self._current.handle, **parameters}
        response = self._host.handle({"method": method, "params": given})
        error = response.get("error")
        if isinstance(error, dict):
            raise Problem(Code(error["code"]), error["message"], error["cure"])
        return response["result"]

    def revision(self) -> int:
        """Changes with the session that is shown."""
        return self._current.revision + 1_000_000 * self._zooms

    def progress(self) -> object:
        """What takes long at this moment."""
        activity = self._progress.activity
        return None if activity is None else asdict(activity)

    def ended(self) -> bool:
        """Whether a person has finished the session."""
        return self._finished

    @property
    def _current(self) -> SessionService:
        return self._inner or self._session

    def _extras(self, view: Mapping[str, object]) -> Mapping[str, object]:
        """What the page shows of a session besides its view."""
        answers, suspects = view["answers"], view["suspects"]
        assert isinstance(answers, int)
        assert isinstance(suspects, int)
        self._suspects[answers] = suspects
        question = view.get("question")
        if isinstance(question, dict):  # on a page there is room for more of each value
            node = question["call"]["call"]
            question = {**question, "call": self._protocol("call", {"call": node, **_DEEPER})}
        history = [self._suspects[count] for count in sorted(self._suspects) if count <= answers]
        return {
            "question": question,
            "history": history,
            "inside": self._inner is not None,
            "reruns": self._reruns(),
            "revision": self.revision(),
        }

    def _reruns(self) -> Mapping[str, object] | None:
        """Whether marks can be followed by running the program again, and whether it may."""
        driver = self._current.driver
        reruns = driver.reruns
        if not isinstance(reruns, Following):
            return None
        return {
            "allowed": driver.may_run,
            "is_harmless": reruns.is_harmless,
            "command": reruns.command,
        }

    def _overview(self, parameters: Parameters) -> object:
        path = Path(self._session.path)
        return {"name": path.name, "browse": self._browse}

    def _report(self, parameters: Parameters) -> object:
        """The report as one HTML file."""
        outcome = self._session.outcome
        if outcome is None:
            raise Problem(Code.NOT_NOW, "it is not known yet what is wrong about this run")
        driver = self._session.driver
        text = html_report(driver, driver.diagnosis(outcome, "the session goes on"))
        return {"name": f"whence-{Path(self._session.path).stem}.html", "html": text}

    def _browsed(self, parameters: Parameters) -> object:
        """What a session would say of itself, of a run that is only looked at."""
        session = self._session
        return {
            "revision": 0,
            "needs": "nothing",
            "recording": str(session.path),
            "calls": len(session.driver.state.tree.columns),
            "notes": [],
        }

    def _leave(self, parameters: Parameters) -> object:
        """Go back from inside a call to the whole run."""
        if self._inner is not None:
            self._inner = None
            self._zooms += 1
        return self.call("next", {})

    def _finish(self, parameters: Parameters) -> object:
        """End the session here; its answers are kept."""
        self._finished = True
        log = self._session.driver.log
        return {"log": "" if log is None or log.path is None else str(log.path)}

    # --- pictures ------------------------------------------------------------------------------

    def _pictures(self) -> Pictures:
        return Pictures(self._layouts_now(), self._asked())

    def _lists(self) -> CallLists:
        driver = self._current.driver
        return CallLists(self._layouts_now(), self._asked(), driver.sources)

    def _layouts_now(self) -> Layouts:
        """The layouts of the present state, kept as long as it lasts."""
        state = self._current.driver.state
        key = state.tree, state.facts
        if self._layouts is None or self._layouts[0] != key:
            self._layouts = key, Layouts(state)
        return self._layouts[1]

    def _asked(self) -> int | None:
        outcome = self._current.outcome
        return outcome.question.node if isinstance(outcome, Ask) else None
