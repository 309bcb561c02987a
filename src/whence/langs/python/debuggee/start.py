"""Reads the order of a debuggee process, carries it out, and reports what prevents that."""

from __future__ import annotations

import os
import sys

from whence.errors import WhenceError, bug_notice, cause_outside
from whence.langs.python.debuggee.interpreter_start import InterpreterStart
from whence.langs.python.debuggee.order import Order
from whence.langs.python.debuggee.order_execution import execute
from whence.printable_text import printable_lines

_CHUNK = 2**16


def main(interpreter: InterpreterStart, descriptor: str) -> None:
    """Carry out the order that a descriptor holds. Failures end as in `whence` itself."""
    try:
        execute(_order(int(descriptor)), interpreter)
    except WhenceError as problem:
        print(f"whence: {printable_lines(str(problem))}", file=sys.stderr)
        sys.exit(2)
    except Exception as problem:
        cause = cause_outside(problem) if isinstance(problem, OSError) else None
        if cause is not None:
            print(f"whence: {printable_lines(cause)}", file=sys.stderr)
            sys.exit(2)
        import traceback

        import whence

        text = f"{traceback.format_exc()}{bug_notice(whence.__version__)}"
        print(printable_lines(text), file=sys.stderr)
        sys.exit(70)


def _order(descriptor: int) -> Order:
    try:
        order = Order.from_text(_read(descriptor))
        order.target.check()
    except KeyboardInterrupt:  # nothing of the program has run yet
        print("whence: stopped", file=sys.stderr)
        sys.exit(130)
    return order


def _read(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, _CHUNK):
        pieces.append(piece)
    os.close(descriptor)
    return b"".join(pieces)
