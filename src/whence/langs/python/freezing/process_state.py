"""What a call can change besides objects: the state of the process that Python keeps in C.

Invariant: what is told is compared by identity or as plain text; no code of the program is run.
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


def surroundings() -> dict[str, Any]:
    """Each by what a call does that changes it."""
    context = contextvars.copy_context()
    handled = [id(_signal.getsignal(each)) for each in _signal.valid_signals()]
    recorded = _recorder.state()
    return {
        "it writes text": recorded["texts"],
        "garbage is collected in it whose end is noticed": recorded["garbage"],
        "it turns to the world outside": _interposition.asked(),
        "it changes the recursion limit": sys.getrecursionlimit(),
        "it changes the switch interval": sys.getswitchinterval(),
        "it changes a context variable": [(id(each), id(context[each])) for each in context],
        "it starts or ends a thread": _thread._count(),
        "it changes what is done on exit": atexit._ncallbacks(),
        "it changes how signals are handled": handled,
        "it changes the context of decimals": _decimals(context),
        "it changes when garbage is collected": gc.get_threshold(),
        "it changes the locale": str(_locale.setlocale(_locale.LC_ALL)),
    }


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What a call did, in half a sentence; nothing if it did nothing of it."""
    return next((name for name in before if before[name] != after[name]), "")


def _decimals(context: contextvars.Context) -> str:
    """Not by `getcontext`, which makes one where there is none yet."""
    kind = getattr(sys.modules.get("decimal"), "Context", None)
    return next((repr(value) for value in context.values() if type(value) is kind), "")
