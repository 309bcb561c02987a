"""Collects garbage at fixed numbers of calls, so at the same points in a run and its re-runs.

The interpreter's own collections are postponed, and happen only in programs that make much garbage
without any call; such a re-run may diverge, which is noticed.

Invariant: the program sees its own thresholds. Setting them has no effect, except for 0, which
turns collections off.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any

from whence.langs.python.record import _recorder
from whence.langs.python.record.journal.journalled_functions import Handler

_PUT_OFF = 50_000
"""The interpreter collects after so many new objects without a scheduled collection."""


class Collector:
    """The collector of this process."""

    def __init__(self) -> None:
        self._thresholds: tuple[int, ...] = gc.get_threshold()

    def handlers(self) -> Mapping[str, Handler]:
        """The replacements of the functions that show the thresholds."""
        return {"gc.get_threshold": self._get, "gc.set_threshold": self._set}

    def start(self) -> None:
        """Collect by the number of calls from here on."""
        gc.collect()
        self._put_off()
        _recorder.collect_by_number(gc.collect)

    def _put_off(self) -> None:
        if self._thresholds[0] > 0:
            gc.set_threshold(max(_PUT_OFF, self._thresholds[0]), *self._thresholds[1:])

    def _get(self, *_: Any) -> tuple[int, ...]:
        return self._thresholds

    def _set(
        self,
        original: Callable[..., None],
        _: Any,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> None:
        original(*arguments, **keywords)
        self._thresholds = gc.get_threshold()
        self._put_off()
