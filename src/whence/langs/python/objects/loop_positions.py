"""How far a generator is in the lists and tuples that its loops go through.

Up to 3.14 each loop has an iterator, to which the generator refers. From 3.15 on a loop over a list
or tuple has none: the frame of the generator counts, and nothing but its memory says how far.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import GeneratorType
from typing import Any


def _reader() -> Callable[[GeneratorType[Any, Any, Any]], list[int]]:
    try:
        from whence.langs.python.record import _recorder
    except ImportError:
        from whence.langs.python.record import frame_values

        return lambda value: (
            [] if value.gi_frame is None or value.gi_running
            else frame_values.loop_positions(value.gi_frame)
        )  # fmt: skip
    return _recorder.loop_positions


_read = _reader() if sys.version_info >= (3, 15) else None


def loop_positions(generator: GeneratorType[Any, Any, Any]) -> list[int]:
    """The positions of the loops of a generator, the outermost first; none if it has iterators."""
    return [] if _read is None else _read(generator)
