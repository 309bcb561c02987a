"""The command lines of the Python processes that whence starts for itself.

Invariant: no file of the debugged project is imported in place of a module of whence, of the
standard library or of an installed package.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

START = str(Path(__file__).absolute().with_name("isolated_start.py"))
"""The file that these processes start with."""
DEBUGGEE = "whence.langs.python.debuggee.start"
WORKER = "whence.langs.python.oracles.worker.request_loop"
WHOLE_RUN = "whence.langs.python.oracles.worker.whole_run"
MATCH_SOURCE = "whence.langs.python.rebuilding.match_source"
TEST_TRIAL = "whence.langs.python.rebuilding.test_trial"


_BY_ENVIRONMENT = {
    "-B": "PYTHONDONTWRITEBYTECODE",
    "-O": "PYTHONOPTIMIZE",
    "-P": "PYTHONSAFEPATH",
    "-d": "PYTHONDEBUG",
    "-s": "PYTHONNOUSERSITE",
    "-v": "PYTHONVERBOSE",
}
"""Options that a variable stands for. A program finds its options in `sys.orig_argv`."""


def start_command(module: str, *words: str) -> list[str]:
    """Runs `main` of a module of whence, in this Python with the options that it has."""
    return [sys.executable, *interpreter_options(), START, module, *words]


def interpreter_options() -> list[str]:
    """The options that this Python was started with; not those that its environment sets."""
    options: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    if sys.flags.ignore_environment:
        return options
    warnings = os.environ.get("PYTHONWARNINGS", "").split(",")
    return [
        option
        for option in options
        if not os.environ.get(_BY_ENVIRONMENT.get(option[:2], ""))
        and not (option.startswith("-W") and option[2:] in warnings)
    ]


def tool_command(module: str, *words: str) -> list[str]:
    """Runs an installed tool such as pip, whatever is in the current folder or in PYTHONPATH."""
    return [sys.executable, "-E", "-P", "-m", module, *words]
