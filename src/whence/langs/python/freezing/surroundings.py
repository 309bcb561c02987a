"""What a call can change besides objects: the state of the process that Python keeps in C.

Invariant: what is told is compared by identity or as plain text; no code of the program is run.
"""

from __future__ import annotations

import _thread
import contextvars
import sys
from typing import Any

from whence.langs.python.record import _recorder
from whence.langs.python.record.journal import _passages


def surroundings() -> dict[str, Any]:
    """By what a person would call it."""
    return {
        "the world outside": _passages.asked(),
        "a stream of text": _recorder.state()["texts"],
        "the recursion limit": sys.getrecursionlimit(),
        "the switch interval": sys.getswitchinterval(),
        "the context": [(id(name), id(value)) for name, value in contextvars.copy_context().items()],
        "threads": _thread._count(),
        "what is done on exit": _called_on_exit(),
        "signals": _signals(),
        "the precision of decimals": _decimals(),
        "the locale": _locale(),
    }


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What a call changed, or turned to; nothing if it did not."""
    return next((name for name in before if before[name] != after[name]), "")


def _called_on_exit() -> Any:
    import atexit

    return atexit._ncallbacks()


def _signals() -> list[int]:
    import _signal

    return [id(_signal.getsignal(number)) for number in _signal.valid_signals()]


def _decimals() -> str:
    module = sys.modules.get("decimal")
    return repr(module.getcontext()) if module is not None else ""


def _locale() -> str:
    import _locale

    return str(_locale.setlocale(_locale.LC_ALL))
