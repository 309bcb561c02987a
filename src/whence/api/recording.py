"""Recording in the running process, and reading recordings.

`record` sees only what begins while it lasts, in this process and in children that it forks or
starts. It cannot pin what the program learns from outside, nor start the program again: such a
recording has no re-runs, so no origins beyond what was recorded and no zoom. `whence run` has them.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, overload

from whence.api.recorded import Call, calls_of
from whence.api.sessions import AnyOracle, Session
from whence.app.frontends import named_or_last, open_any
from whence.app.recording_jobs import RecordingJobs
from whence.errors import UsageError, WhenceError
from whence.langs.python.record.children import Children
from whence.langs.python.record.recording import (
    Recording as RecordedProcess,
)
from whence.langs.python.record.recording import (
    is_recorded,
    usual_settings,
)
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recording_signature import key_folder
from whence.langs.python.recordings import new_recording, remove_companions
from whence.langs.python.trace.trace_format import BY_EXCEPTION, ENDED
from whence.printable_text import printable
from whence.protocol import requests
from whence.protocol.views import WhyView
from whence.ui.terminal.screen_choice import choose_screen

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Recording:
    """A recording that was made, read-only."""

    def __init__(self, path: str | Path | None = None) -> None:
        """Open a recording or tree file; None: the project's last recording."""
        self.path = named_or_last(None if path is None else Path(path))
        self._opened = open_any(self.path)

    @property
    def tree(self) -> Call:
        """The call at the top: the run."""
        return Call(lambda: self._opened.tree, self._opened.tree.id(0))

    def call(self, number: int) -> Call:
        """A call by its number."""
        self._opened.tree.position(number)
        return Call(lambda: self._opened.tree, number)

    def calls(self, function: str = "") -> Iterator[Call]:
        """All recorded calls, each before those that it made, or the calls of one function."""
        return calls_of(self._opened.tree, function)

    def session(self, **options: Any) -> Session:
        """A session about this recording; the options are those of `Session`."""
        return Session(self.path, **options)

    def __len__(self) -> int:
        return len(self._opened.tree.columns)

    def __repr__(self) -> str:
        return f"<recording {self.path}: {len(self):,} calls>"


def open(path: str | Path | None = None) -> Recording:
    """Open a recording or tree file; None: the project's last recording."""
    return Recording(path)


class Recorder:
    """Records what begins in this process while it lasts; `record` makes one."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        name: str = "",
        user_code: tuple[str, ...] = (),
        only: tuple[str, ...] = (),
        leave_out: tuple[str, ...] = (),
        whole_values: bool = False,
        max_calls: int | None = None,
    ) -> None:
        """The options are those of `whence record`. Without a path it is a new recording of the
        project; `name` is what the recorded part is called."""
        self.path: Path | None = None if path is None else Path(path)
        self._name = name or "recorded block"
        self._rules = UserCodeRules(user_code, only, leave_out)
        self._whole_values, self._max_calls = whole_values, max_calls
        self._process: RecordedProcess | None = None

    @property
    def is_recording(self) -> bool:
        """Whether it is recording now. It is not if this process is recorded already."""
        return self._process is not None

    def open(self) -> Recording:
        """The finished recording."""
        if self._process is not None or self.path is None or not self.path.exists():
            raise UsageError("there is no recording: the block goes on, or was not recorded")
        return Recording(self.path)

    def __enter__(self) -> Recorder:
        """Record from here on; does nothing if this process is being recorded already."""
        if is_recorded():
            return self
        if self.path is None:
            self.path = new_recording(_file_name(self._name))
        remove_companions(self.path)
        settings = usual_settings(
            os.fspath(self.path),
            max_calls=self._max_calls,
            rules=self._rules,
            whole_values=self._whole_values,
        )
        settings = replace(settings, children=Children.PYTHONS, key_folder=key_folder())
        process = RecordedProcess(settings, (), block=self._name)
        process.start()
        self._process = process
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process, self._process = self._process, None
        if process is None or not process.is_here:
            return  # it goes on in a forked child, which ends it itself
        written = process.finish(ENDED, 0) if error is None else process.finish(BY_EXCEPTION, error)
        if written.problem and error is None:
            raise WhenceError(f"{written.output}: the recording is incomplete: {written.problem}")


def _file_name(name: str) -> str:
    return name.replace(" ", "-")


@overload
def record(target: Callable[Given, Result], /) -> Callable[Given, Result]: ...


@overload
def record(target: str | Path | None = None, /, **options: Any) -> RecordingBlock: ...


def record(target: Any = None, /, **options: Any) -> Any:
    """Record a block (`with whence.record("run.whence") as recorder:`) or each call of a function
    (`@whence.record`, `@whence.record("run.whence")`)."""
    if callable(target):
        return RecordingBlock(None, **options)(target)
    return RecordingBlock(target, **options)


class RecordingBlock(Recorder):
    """A recorder that also decorates functions; each of their calls is a recording of its own."""

    def __init__(self, path: str | Path | None = None, **options: Any) -> None:
        super().__init__(path, **options)
        self._made = (path, options)

    def __call__(self, function: Callable[Given, Result]) -> Callable[Given, Result]:
        """The function, recorded whenever it is called."""
        path, options = self._made
        name = getattr(function, "__qualname__", "call")

        def recorder() -> Recorder:
            return Recorder(path, **{"name": name, **options})

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with recorder():
                    return await function(*args, **kwargs)

            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            with recorder():
                return function(*args, **kwargs)

        return called


def find(
    target: Callable[[], object] | str,
    *,
    oracle: AnyOracle | list[AnyOracle] | tuple[AnyOracle, ...] = (),
    wrong: str = "",
    **options: Any,
) -> Session:
    """Run something that goes wrong, and search for the fault as far as oracles can judge.

    `target` is a function without parameters, or a test as pytest names it (`tests/test_x.py::test`
    or more of pytest's arguments), which runs in a process of its own. The session that is returned
    has a `diagnosis`, or the next `question`. The other options are those of `Session`.
    """
    if isinstance(target, str):
        path = _recorded_test(target)
    else:
        with Recorder(name=getattr(target, "__qualname__", "call")) as recorder:
            if not recorder.is_recording:
                raise UsageError("this process is being recorded already, so find cannot record it")
            path = _ran(target, recorder)
    return Session(path, oracle=oracle, wrong=wrong, **options)


def _ran(target: Callable[[], object], recorder: Recorder) -> Path:
    error: BaseException | None = None
    try:
        target()
    except Exception as problem:
        error = problem
    recorder.__exit__(None if error is None else type(error), error, None)
    assert recorder.path is not None
    return recorder.path


def _recorded_test(test: str) -> Path:
    jobs = RecordingJobs()
    try:
        job = jobs.start(requests.Record(("-q", *test.split()), kind="test"))
        while job.state == "running":
            job = jobs.look(requests.Job(job.job, 10.0))
    finally:
        jobs.close()
    if not job.recording:
        raise WhenceError(f"no failing test was recorded: {job.problem or job.output[-500:]}")
    return Path(job.recording)


def why(recording: Recording | str | Path, call: Call | int, path: str) -> WhyView:
    """Where a part of a value came from, as far as that is known without running anything."""
    source = recording if isinstance(recording, Recording) else Recording(recording)
    with source.session(keep=False) as session:
        return session.why(call, path, run=False)


def ask(expression: str) -> Any:
    """Evaluate an expression where this is called, and ask at the terminal whether its value is
    right; if it is not, search for the fault at once. Returns the value.

    Like `breakpoint()` it is put into a program for a while: `whence.ask("total(basket)")`. Where
    no person is at a terminal it only evaluates.
    """
    frame = sys._getframe(1)
    code = compile(expression, "<whence.ask>", "eval")
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if not at_terminal or is_recorded():
        return eval(code, frame.f_globals, frame.f_locals)
    with Recorder(name="whence.ask") as recorder:
        value = eval(code, frame.f_globals, frame.f_locals)
    screen = choose_screen(answers=None, output=None, plain=False)
    screen.say(f"{expression} → {printable(repr(value))}")
    reply = screen.read("Right? [y/n] ")
    if reply is not None and reply.strip().lower().startswith("n"):
        _hold(recorder)
    return value


def _hold(recorder: Recorder) -> None:
    """A session at the terminal about what was recorded."""
    from whence.app.diagnosing import diagnose
    from whence.app.session_request import SessionRequest

    assert recorder.path is not None
    diagnose(SessionRequest(), open_any(recorder.path), recorder.path, top_is_wrong=True)
