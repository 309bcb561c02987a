"""Logs what one call does, statement by statement, in the program's process.

The recorder numbers the calls, so the target call and the calls of each statement are known by
number. Values are written as the recorder writes them. Output goes to a file whose size shows which
statement printed what. The process ends when the call has ended or enough is logged: nothing after
that is needed.

Invariant: logging runs no code of the program and changes nothing in it. A call that is not the
target costs one comparison.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeVar

from whence.langs.python.objects.raw_class import BUILTIN_FUNCTIONS
from whence.langs.python.record.options import Bound
from whence.langs.python.record.repeatable import Aside, directly, uncounted
from whence.langs.python.record.snapshot import Snapshots, Tables, is_class, type_name
from whence.langs.python.record.summaries import SUMMARIES
from whence.langs.python.source.pytest_modules import Asserts, replace_test_modules
from whence.langs.python.zoom.instrumentation import (
    AT,
    BODY,
    CAUGHT,
    DONE,
    ENTER,
    ITEMS,
    LEFT,
    PART,
    RAISED,
    RETURNED,
    ROUND,
    SENT,
    TEST,
    YIELDED,
    instrument,
    with_hooks,
)
from whence.secret_values import secrets_for

STATE_BOUND = Bound(depth=4, width=64, attributes=32, text=400, budget=300)
PART_BOUND = Bound(depth=2, width=12, attributes=8, text=80, budget=24)
MOST_EVENTS = 40_000
"""After so many events the rest of the call is not logged."""
WAITING = "waiting"
"""Why the log stops early: a generator was never resumed."""
_T = TypeVar("_T")
_OUTPUT = 1
_ATOMS = frozenset({int, float, bool, str, bytes, complex, type(None)})
_CODE = (FunctionType, *BUILTIN_FUNCTIONS, ModuleType)

_WRAPPER = getattr(uncounted(len), "__code__", None)
"""The code of the function between a hook and the program, if there is one."""

# Bound now, because the program may replace them.
_open, _frame, _exit, _fstat, _exc_info = open, sys._getframe, os._exit, os.fstat, sys.exc_info


@dataclass(frozen=True, slots=True)
class ZoomRequest:
    """Which call is logged, of which function, and how many events at most."""

    node: int
    file: str
    first_line: int
    name: str
    module_names: tuple[str, ...] = ()
    """Module variables that its text uses."""
    most: int = MOST_EVENTS

    def text(self) -> str:
        """The request as JSON."""
        return json.dumps([
            self.node, self.file, self.first_line, self.name, self.module_names, self.most
        ])  # fmt: skip

    @classmethod
    def from_text(cls, text: str) -> ZoomRequest:
        """The request from JSON."""
        node, file, first_line, name, names, most = json.loads(text)
        return cls(int(node), str(file), int(first_line), str(name), tuple(names), int(most))


class ValueTables(Tables):
    """The names and types that encoded values refer to by number."""

    def __init__(self) -> None:
        super().__init__(bytearray(), ())

    def as_json(self) -> dict[str, object]:
        """The tables as they stand in the log file."""
        return {"names": list(self._names), "types": [list(key) for key in self._types]}


class _ModuleBody:
    """Stands around the statements of a module: logs how they end."""

    __slots__ = ("_frame", "_left")

    def __init__(self, left: Callable[[bool, FrameType], None], frame: FrameType):
        self._left, self._frame = left, frame

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._left(error is not None, self._frame)


class StepRecorder:
    """Waits for the target call and logs its steps."""

    def __init__(
        self, request: ZoomRequest, here: Callable[[], int], calls: Callable[[], int],
        ended: Callable[[dict[str, Any]], None], aside: Aside = directly,
    ):  # fmt: skip
        self._request, self._aside = request, aside
        self._here, self._calls, self._ended = here, calls, ended
        self._numbers = ValueTables()
        self._secrets = secrets_for()
        self._snapshots = Snapshots(self._numbers, SUMMARIES, self._secrets)
        self._values: dict[bytes, int] = {}
        self._names: dict[str, int] = {}
        self._last: dict[str, tuple[object, int]] = {}
        self._events: list[list[Any]] = []
        self._full = 0
        self._over = False
        self._handled: object = None
        self._process = os.getpid()
        self._hooks = self._made_hooks()

    def _made_hooks(self) -> dict[str, Callable[..., object]]:
        """The hooks that rewritten code calls. All but the first take no hash that counts."""
        hooks: Mapping[str, Callable[..., object]] = {
            AT: self._at, DONE: self._event("done"),
            ROUND: self._event("round"), TEST: self._value_event("test"),
            ITEMS: self._value_event("items"), RETURNED: self._value_event("return"),
            YIELDED: self._value_event("yield"), SENT: self._value_event("sent"),
            PART: self._part, CAUGHT: self._caught, RAISED: self._raised, LEFT: self._left,
            BODY: self._body,
        }  # fmt: skip
        made = {name: self._aside(uncounted(hook)) for name, hook in hooks.items()}
        made[ENTER] = self._aside(self._enter)
        for hook in made.values():
            hash(hook)  # as a constant of the code it may be hashed when the program runs
        return made

    def compiled(self, source: bytes | str, file: str) -> CodeType:
        """The code of a module; the one with the target function is rewritten."""
        # Compiled in any case, which gives the program its own warnings.
        usual = compile(source, file, "exec", dont_inherit=True)
        return self._instrumented(source, file) if file == self._request.file else usual

    def compiled_test(self, code: CodeType, _: object, asserts: Asserts) -> CodeType:
        """The same for a module that pytest loads."""
        file = code.co_filename
        if file != self._request.file:
            return code
        with _open(file, "rb") as stream:
            return self._instrumented(stream.read(), file, asserts)

    def _instrumented(
        self, source: bytes | str, file: str, asserts: Asserts | None = None
    ) -> CodeType:
        request = self._request
        code: CodeType = self._aside(uncounted(instrument))(
            source, file, request.first_line, request.name, asserts
        )
        return with_hooks(code, self._hooks)

    # --- the hooks ---------------------------------------------------------------

    def _enter(self) -> bool:
        if self._here() != self._request.node or os.getpid() != self._process:
            return False
        self._handled = _exc_info()[1]
        uncounted(self._log_event)("enter", -1, None, _frame(1))
        return True

    def _at(self, number: int) -> None:
        last = self._events[-1]
        if last[0] == "done":  # nothing happens between two statements
            self._events.append(["at", number, None, [], *last[4:]])
        else:
            self._log_event("at", number, None, self._frame())

    def _event(self, kind: str) -> Callable[[int], None]:
        """The hook that logs an event of a statement."""
        return lambda number: self._log_event(kind, number, None, self._frame())

    def _value_event(self, kind: str) -> Callable[[int, _T], _T]:
        """The hook that logs an event with a value, and returns the value."""

        def hook(number: int, value: _T) -> _T:
            self._log_event(kind, number, self._value(value, STATE_BOUND), self._frame())
            return value

        return hook

    def _part(self, number: int, value: _T) -> _T:
        self._events.append(["part", number, self._value(value, PART_BOUND)])
        return value

    def _caught(self, number: int) -> None:
        """A handler or a `finally` begins."""
        self._log_event("caught", number, self._exception(), self._frame())

    def _raised(self) -> None:
        self._log_event("raise", -1, self._exception(), self._frame())

    def _left(self) -> None:
        self._log_event("left", -1, None, self._frame())
        self._finish("left")

    def _body(self) -> _ModuleBody:
        return _ModuleBody(self._aside(uncounted(self._module_left)), self._frame())

    def _module_left(self, is_raised: bool, frame: FrameType) -> None:
        if is_raised:
            self._log_event("raise", -1, self._exception(), frame)
        self._log_event("left", -1, None, frame)
        self._finish("left")

    # --- writing the log --------------------------------------------------------------------------

    def _frame(self) -> FrameType:
        """The frame of the program that called the hook that calls this."""
        frame = _frame(2)
        is_wrapped = frame.f_code is _WRAPPER
        assert not is_wrapped or frame.f_back is not None, "the program called the wrapper"
        return frame.f_back if is_wrapped and frame.f_back is not None else frame

    def _exception(self) -> int | None:
        error = _exc_info()[1]
        return None if error is None or error is self._handled else self._value(error, STATE_BOUND)

    def _log_event(self, kind: str, number: int, value: int | None, frame: FrameType) -> None:
        self._events.append(
            [kind, number, value, self._state(frame), self._calls(), self._printed()]
        )
        self._full += 1
        if self._full >= self._request.most:
            self._finish("enough")

    def _state(self, frame: FrameType) -> list[list[int]]:
        """The variables that changed since the last state: numbers of name and value."""
        changed, last = [], self._last
        bound = set()
        for name, value in self._variables(frame):
            bound.add(name)
            previous = last.get(name)
            if previous is not None and previous[0] is value and type(value) in _ATOMS:
                continue
            number = self._value(value, STATE_BOUND, self._secrets.least(name))
            if previous is None or previous[1] != number:
                changed.append([self._name(name), number])
            # Only immutable values are kept, so that no object lives longer than it would.
            last[name] = (value if type(value) in _ATOMS else self, number)
        for name in [name for name in last if name not in bound]:
            changed.append([self._name(name), -1])
            del last[name]
        return changed

    def _variables(self, frame: FrameType) -> list[tuple[str, object]]:
        variables = frame.f_globals
        is_module = frame.f_locals is variables
        names = (name for name in self._request.module_names if name in variables)
        data = [(name, variables[name]) for name in names if not _is_code(variables[name])]
        return data if is_module else [*frame.f_locals.items(), *data]

    def _name(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _value(self, value: object, bound: Bound, least: int = 0) -> int:
        written = self._snapshots.write(value, bound, least=least)
        return self._values.setdefault(written, len(self._values))

    def _printed(self) -> int:
        stream = sys.stdout
        try:
            if type_name(type(stream)) == ("_io", "TextIOWrapper"):
                stream.flush()
            return _fstat(_OUTPUT).st_size
        except (OSError, ValueError):
            return 0

    def program_ended(self) -> None:
        """The program has ended; a call that has not is a generator that waits."""
        if self._events:
            self._finish(WAITING)

    def _finish(self, why: str) -> None:
        if self._over or os.getpid() != self._process:  # a forked child continues
            return
        self._over = True
        self._ended({
            **self._numbers.as_json(), "variables": list(self._names), "events": list(self._events),
            "values": [value.hex() for value in self._values], "why": why,
        })  # fmt: skip


def _is_code(value: object) -> bool:
    return type(value) in _CODE or is_class(value)


class _ZoomLoader(SourceFileLoader):
    """Loads the module of the target function."""

    compiled: Callable[[bytes | str, str], CodeType]

    def get_code(self, fullname: str) -> CodeType:
        """The rewritten code, never from a cache."""
        path = self.get_filename(fullname)
        return self.compiled(self.get_data(path), path)


class _ZoomFinder(MetaPathFinder):
    def __init__(self, watch: StepRecorder, file: str):
        self._watch, self._file = watch, file

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of the target function; the normal finders find all others."""
        replace_test_modules(self._watch.compiled_test)
        spec = uncounted(PathFinder.find_spec)(fullname, path, target)
        if spec is None or spec.origin != self._file or type(spec.loader) is not SourceFileLoader:
            return None
        loader = _ZoomLoader(fullname, spec.origin)
        loader.compiled = self._watch.compiled
        spec.loader = loader
        return spec


def _copy_redirected_output(path: str) -> None:
    """Copy what was printed into a file, if the program sends its output elsewhere, as pytest does.

    Only what can be read back is copied: another regular file.
    """
    with contextlib.suppress(OSError), _open(path, "r+b") as file:
        status = _fstat(_OUTPUT)
        if os.path.samestat(status, _fstat(file.fileno())) or not stat.S_ISREG(status.st_mode):
            return
        file.write(os.pread(_OUTPUT, status.st_size, 0))


def start(
    request: ZoomRequest, output: str, here: Callable[[], int], calls: Callable[[], int],
    finish: Callable[[], None], aside: Aside = directly,
) -> StepRecorder:  # fmt: skip
    """Log the target call; then write the log to `output` and end the process.

    `finish` ends the recording. Hooks run `aside`, unnoticed by the journal.
    """
    output = os.path.abspath(output)  # noqa: PTH100 - the program may change its directory
    printed = f"{output}.printed"

    def ended(log: dict[str, Any]) -> None:
        with _open(output, "w", encoding="utf-8") as file:
            json.dump(log, file)
        _copy_redirected_output(printed)
        finish()
        _exit(0)

    watch = StepRecorder(request, here, calls, ended, aside)
    sys.meta_path.insert(0, _ZoomFinder(watch, request.file))
    descriptor = os.open(printed, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
    os.dup2(descriptor, _OUTPUT)
    os.close(descriptor)
    return watch
