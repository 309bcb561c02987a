"""Notices the start of calls of some code, in all threads of a process.

The recorder writes down every call; this only watches for calls that are wanted or forbidden.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from whence.langs.python.record.backend_choice import free_tool_id


class CallStartMonitor:
    """Calls `on_start` with the frame of each call whose code is wanted."""

    def __init__(
        self, is_wanted: Callable[[CodeType], bool], on_start: Callable[[FrameType], None]
    ) -> None:
        self._is_wanted = is_wanted
        self._on_start = on_start
        self._tool: int | None = None
        self.problem = ""
        """Why some calls may have been missed."""

    def start(self) -> None:
        """Begin to watch."""
        if sys.version_info < (3, 12):
            threading.setprofile(self._profiled)
            sys.setprofile(self._profiled)
            return
        self._tool = free_tool_id()
        if self._tool is None:
            self.problem = "the tool ids of sys.monitoring were taken"
            return
        monitoring = sys.monitoring
        monitoring.use_tool_id(self._tool, "whence")
        monitoring.register_callback(self._tool, monitoring.events.PY_START, self._started)
        monitoring.set_events(self._tool, monitoring.events.PY_START)
        monitoring.restart_events()

    def stop(self) -> None:
        """Stop watching."""
        if sys.version_info < (3, 12):
            if sys.getprofile() != self._profiled:
                self.problem = "it set a profile function of its own"
            sys.setprofile(None)
            threading.setprofile(None)
        elif self._tool is not None:
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)

    def _started(self, code: CodeType, offset: int) -> Any:
        if not self._is_wanted(code):
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        self._on_start(sys._getframe(1))
        return None

    def _profiled(self, frame: FrameType, event: str, argument: object) -> None:
        # A resumed generator is also reported as a call, but does not resume at 0.
        if (
            event == "call"
            and self._is_wanted(frame.f_code)
            and frame.f_code.co_code[frame.f_lasti + 1] == 0
        ):
            self._on_start(frame)
