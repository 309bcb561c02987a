"""When garbage is collected, in both runs: at fixed numbers of calls, so at the same places.

The interpreter's own collections are put off. They are left to programs that make much garbage
without calling anything; such a run may go another way when it is run again, which is noticed.

Invariant: the program sees the thresholds that it would see, and sets them in vain, but for 0,
which still means never.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any

from whence.langs.python.record import _recorder
from whence.langs.python.record.journal.kinds import Handler

_PUT_OFF = 50_000
"""So many more objects than before may be there, if no number of calls is reached meanwhile."""


class Collector:
    """The collector of this process."""

    def __init__(self) -> None:
        self._seen: tuple[int, ...] = gc.get_threshold()

    def handlers(self) -> Mapping[str, Handler]:
        """What stands in for the functions that tell of it."""
        return {"gc.get_threshold": self._get, "gc.set_threshold": self._set}

    def start(self) -> None:
        """From here on it depends on the calls that the program makes."""
        gc.collect()
        self._put_off()
        _recorder.collect_by_number(gc.collect)

    def _put_off(self) -> None:
        if self._seen[0] > 0:
            gc.set_threshold(max(_PUT_OFF, self._seen[0]), *self._seen[1:])

    def _get(self, *_: Any) -> tuple[int, ...]:
        return self._seen

    def _set(
        self, original: Callable[..., None], _: Any, given: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        original(*given, **named)
        self._seen = gc.get_threshold()
        self._put_off()
