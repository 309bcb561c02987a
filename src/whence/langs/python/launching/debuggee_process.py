"""Starts a process that carries out an order.

The order reaches it through an inherited descriptor, which it closes before the program starts. So
the program finds nothing of it: not in its arguments, environment or descriptors.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, NoReturn

from whence.langs.python.debuggee.order import Order
from whence.langs.python.launching.own_python import DEBUGGEE, start_command


def start_debuggee(
    order: Order,
    *,
    environment: Mapping[str, str],
    cwd: str | None = None,
    stdin: int | IO[bytes] | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start the process. Streams are as `subprocess.Popen` takes them."""
    descriptor = _order_descriptor(order)
    command = start_command(DEBUGGEE, str(descriptor))
    try:
        return subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=stdin, stdout=stdout, stderr=stderr,
            pass_fds=(*pass_fds, descriptor),
        )  # fmt: skip
    finally:
        os.close(descriptor)


def become_debuggee(order: Order, environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by one that carries out the order."""
    descriptor = _order_descriptor(order)
    os.set_inheritable(descriptor, True)
    os.execve(sys.executable, start_command(DEBUGGEE, str(descriptor)), environment)


def _order_descriptor(order: Order) -> int:
    """A descriptor from which the order can be read. It is a file, as a pipe may be too small."""
    descriptor = _nameless_file()
    view = memoryview(order.text().encode("ascii"))
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("whence order")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
