"""What a call can change besides objects: the state of the process that Python keeps in C.

Invariant: states are compared by identity or as plain text; no code of the program runs.
"""

from __future__ import annotations

import _locale
import _thread
import atexit
import contextvars
import gc
import importlib
import sys
from typing import Any

from whence.langs.python.record import _recorder
from whence.langs.python.record.journal import _interposition

_signal: Any = importlib.import_module("_signal")
ProcessState = dict[str, object]
"""Each by what a call does that changes it, in half a sentence."""


def process_state() -> ProcessState:
    """The state as it is now."""
    context = contextvars.copy_context()
    recorded = _recorder.state()
    return {
        "it writes text": recorded["texts"],
        "garbage is collected in it, which the program may notice": recorded["garbage"],
        "it asks the outside world for something": _interposition.asked(),
        "it changes the recursion limit": sys.getrecursionlimit(),
        "it changes the switch interval": sys.getswitchinterval(),
        "it changes a context variable": [(id(key), id(value)) for key, value in context.items()],
        "it starts or ends a thread": _thread._count(),
        "it changes what is done on exit": atexit._ncallbacks(),
        "it changes how signals are handled": [
            id(_signal.getsignal(number)) for number in _signal.valid_signals()
        ],
        "it changes the context of decimals": _decimal_context(context),
        "it changes when garbage is collected": gc.get_threshold(),
        "it changes the locale": str(_locale.setlocale(_locale.LC_ALL)),
    }


def first_change(before: ProcessState, after: ProcessState) -> str:
    """What a call did, in half a sentence; empty if nothing changed."""
    return next((name for name in before if before[name] != after[name]), "")


def _decimal_context(context: contextvars.Context) -> str:
    """Not by `getcontext`, which creates one where there is none."""
    cls = getattr(sys.modules.get("decimal"), "Context", None)
    return next((repr(value) for value in context.values() if type(value) is cls), "")
