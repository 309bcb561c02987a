"""Chooses the native scanner if it was built, else the Python one. Both give the same result."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_format import MalformedTrace
from whence.langs.python.trace.trace_scan import PythonTraceScanner, TraceScan
from whence.ports import Int32s
from whence.tree.build import TreeShape

try:
    from whence.langs.python.trace import _scan
except ImportError:  # whence was installed without a compiler
    HAS_NATIVE = False
else:
    HAS_NATIVE = True


class TraceScanner(Protocol):
    """Scans a trace page by page."""

    def feed(self, page: int, data: bytes) -> None:
        """Scan all records of a page."""

    def finish(self, *, comparable: bool) -> TraceScan:
        """The result. `comparable`: equal records of two calls mean that the calls are equal."""


class NativeTraceScanner:
    """The scanner in C."""

    def __init__(self) -> None:
        self._scanner = _scan.Scanner()

    def feed(self, page: int, data: bytes) -> None:
        self._scanner.feed(page, data)

    def finish(self, *, comparable: bool) -> TraceScan:
        return TraceScan.from_buffers(self._scanner.finish(comparable))


def new_scanner() -> TraceScanner:
    return NativeTraceScanner() if HAS_NATIVE else PythonTraceScanner()


def decode_page(codec: int, stored: bytes, length: int) -> bytes:
    """The payload of a page, exactly `length` bytes long."""
    if codec == f.LZ4 and HAS_NATIVE:
        try:
            stored = _scan.lz4_decoded(stored, length)
        except ValueError as problem:
            raise MalformedTrace(f"a page cannot be unpacked ({problem})") from None
        codec = f.PLAIN
    return f.decode_page(codec, stored, length)


def arrange(parents: Int32s) -> TreeShape | None:
    """The shape of a tree whose calls come after their parents; None: `build.py` computes it."""
    buffers = _scan.arranged(np.ascontiguousarray(parents)) if HAS_NATIVE else None
    if buffers is None:
        return None
    order, *columns = (
        None if buffer is None else np.frombuffer(buffer, dtype=np.int32) for buffer in buffers
    )
    parent, depth, end = columns
    assert parent is not None and depth is not None and end is not None
    return TreeShape(order, parent, depth, end)
