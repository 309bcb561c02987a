"""Which lines of user code run, from one moment to another: with `sys.monitoring` on 3.12 and
later, with `sys.settrace` before.

It runs in a process whose tests are witnesses, beside no other tracer. What the program sees of it
is a trace function on 3.11; a program that sets its own keeps it, and some lines are not seen.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Protocol

Owns = Callable[[CodeType, dict[str, Any]], bool]
Ran = list[tuple[CodeType, set[int]]]


class ExecutedLines(Protocol):
    """Collects lines between `start` and `stop`."""

    def start(self) -> None:
        """Collect from here on, in all threads."""

    def stop(self) -> Ran:
        """The lines that ran since `start`, by code object."""


def executed_lines(owns: Owns) -> ExecutedLines:
    """The collector for this interpreter."""
    if sys.version_info >= (3, 12):
        return MonitoredLines(owns)
    return TracedLines(owns)


class _CodeLines:
    """The lines of one code object that ran."""

    __slots__ = ("code", "lines", "quiet", "ran", "size")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.lines: set[int] = set()
        self.size = self.quiet = 0
        add = self.lines.add

        def ran(frame: FrameType, event: str, argument: object) -> Any:
            add(frame.f_lineno)
            return ran

        self.ran = ran


class TracedLines:
    """The lines that a trace function sees.

    A function whose last calls ran no new line is followed no further in this test: the cost of
    a test then depends on its calls and no longer on its lines. A line that only later calls run is
    missed, so the result is evidence and no proof.
    """

    def __init__(self, owns: Owns, patience: int = 100) -> None:
        self._owns = owns
        self._patience = patience
        self._known: dict[int, _CodeLines | None] = {}
        """By the address of a code object; None if it is not owned."""
        self._others: list[CodeType] = []
        """Held, so that no address is used twice."""

    def start(self) -> None:
        """Collect from here on, in all threads."""
        for known in self._known.values():
            if known is not None:
                known.lines.clear()
                known.size = known.quiet = 0
        threading.settrace(self._called)
        sys.settrace(self._called)

    def stop(self) -> Ran:
        """The lines that ran since `start`, by code object."""
        sys.settrace(None)
        threading.settrace(None)
        return [
            (known.code, set(known.lines))
            for known in self._known.values()
            if known is not None and known.lines
        ]

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        try:
            known = self._known[id(code)]
        except KeyError:
            known = self._first_call(code, frame.f_globals)
        if known is None:
            return None
        size = len(known.lines)
        if size != known.size:
            known.size, known.quiet = size, 0
        elif known.quiet > self._patience:
            return None
        else:
            known.quiet += 1
        return known.ran

    def _first_call(self, code: CodeType, namespace: dict[str, Any]) -> _CodeLines | None:
        if self._owns(code, namespace):
            known = self._known[id(code)] = _CodeLines(code)
            return known
        self._others.append(code)
        self._known[id(code)] = None
        return None


if sys.version_info >= (3, 12):

    class MonitoredLines:
        """The lines that `sys.monitoring` reports, each once between `start` and `stop`."""

        _TOOLS = (4, 3, 5, 1, 0, 2)

        def __init__(self, owns: Owns) -> None:
            self._owns = owns
            self._lines: dict[int, tuple[CodeType, set[int]]] = {}
            self._decided: dict[int, tuple[CodeType, bool]] = {}
            monitoring = sys.monitoring
            self._tool = next(t for t in self._TOOLS if monitoring.get_tool(t) is None)
            monitoring.use_tool_id(self._tool, "whence")
            monitoring.register_callback(self._tool, monitoring.events.PY_START, self._started)
            monitoring.register_callback(self._tool, monitoring.events.LINE, self._ran)

        def start(self) -> None:
            """Collect from here on, in all threads."""
            for _, lines in self._lines.values():
                lines.clear()
            sys.monitoring.set_events(self._tool, sys.monitoring.events.PY_START)
            sys.monitoring.restart_events()

        def stop(self) -> Ran:
            """The lines that ran since `start`, by code object."""
            sys.monitoring.set_events(self._tool, 0)
            for code, _ in self._lines.values():
                sys.monitoring.set_local_events(self._tool, code, 0)
            return [(code, set(lines)) for code, lines in self._lines.values() if lines]

        def _started(self, code: CodeType, offset: int) -> Any:
            decided = self._decided.get(id(code))
            if decided is None:
                owned = self._owns(code, sys._getframe(1).f_globals)
                decided = self._decided[id(code)] = code, owned
            if decided[1]:
                self._lines.setdefault(id(code), (code, set()))
                sys.monitoring.set_local_events(self._tool, code, sys.monitoring.events.LINE)
            return sys.monitoring.DISABLE

        def _ran(self, code: CodeType, line: int) -> Any:
            self._lines[id(code)][1].add(line)
            return sys.monitoring.DISABLE
