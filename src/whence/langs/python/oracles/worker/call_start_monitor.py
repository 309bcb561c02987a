"""Notices that calls of some code begin, in all of a process.

Apart from the recorder, which writes down all calls: here one is waited for, or should not be.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from whence.langs.python.record.choose import free_tool_id


class CallStartMonitor:
    """Tells of each call of the code that is wanted, once it begins."""

    def __init__(
        self, wanted: Callable[[CodeType], bool], began: Callable[[FrameType], None]
    ) -> None:
        self._wanted = wanted
        self._began = began
        self._tool: int | None = None
        self.problem = ""
        """Why not all were told of."""

    def start(self) -> None:
        """Watch from here on."""
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
        """Watch no further."""
        if sys.version_info < (3, 12):
            if sys.getprofile() != self._profiled:
                self.problem = "it set a profile function of its own"
            sys.setprofile(None)
            threading.setprofile(None)
        elif self._tool is not None:
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)

    def _started(self, code: CodeType, offset: int) -> Any:
        if not self._wanted(code):
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        self._began(sys._getframe(1))
        return None

    def _profiled(self, frame: FrameType, event: str, argument: object) -> None:
        # A generator that goes on is told as a call, too; but it does not resume at 0.
        if (
            event == "call"
            and self._wanted(frame.f_code)
            and frame.f_code.co_code[frame.f_lasti + 1] == 0
        ):
            self._began(frame)
