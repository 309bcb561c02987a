"""A program in a process of its own, beside the run that is debugged.

It has no input and no output. A request that takes too long ends the process; the next request
starts a new one with the program loaded.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from whence.langs.prolog.swipl_process import Engine, EngineProblem, quoted

_STACK = "1g"


class SideProcess:
    """`load` loads the program into a new process."""

    def __init__(self, load: Callable[[Engine], None], seconds: float) -> None:
        self._load = load
        self._seconds = seconds
        self._engine: Engine | None = None
        self._goal = ""

    def note_goal(self, goal: str) -> None:
        """Note the goal of the debugged run, which may change more than the program does."""
        self._goal = goal
        if self._engine is not None:
            self._engine.do(f"note_goal({quoted(goal)})")

    def asked(self, request: str) -> list[list[str]]:
        """The reply to a request; `EngineProblem` if it takes too long."""
        engine = self.engine()
        try:
            with engine.within(self._seconds):
                return engine.do(request)
        except EngineProblem:
            self.close()
            raise

    def engine(self) -> Engine:
        """The process with the program in it."""
        if self._engine is None:
            nowhere = subprocess.DEVNULL
            self._engine = Engine(stdin=nowhere, stdout=nowhere, stack=_STACK)
            self._load(self._engine)
            self.note_goal(self._goal)
        return self._engine

    def close(self) -> None:
        """End the process."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
