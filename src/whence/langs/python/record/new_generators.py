"""Finds the generator or coroutine that a call has just created.

The interpreter reports the call, not its result. But the garbage collector lists a new generator
among its youngest objects, so it can be found right after the call.

Invariant: a generator that existed before the call is never taken for the new one.
"""

from __future__ import annotations

import gc
from collections.abc import Container, Iterator
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any

_YOUNG = (0, 1)
_WRAPPED = "async_generator_wrapped_value"


class Creations:
    """A call that is about to create a generator, and the generators of its code before."""

    def __init__(self, code: CodeType, creator: FrameType, known: Container[int]) -> None:
        self._code = code
        self._known = known
        self.site = creator.f_lasti // 2 + 1
        self._before = {id(generator) for generator in self._all()}

    def new_generator(self) -> Any:
        """The new generator; None if it is gone, or if there is more than one."""
        new = [generator for generator in self._all() if id(generator) not in self._before]
        return new[0] if len(new) == 1 else None

    def _all(self) -> Iterator[Any]:
        for generation in _YOUNG:
            for candidate in gc.get_objects(generation):
                frame = self.frame_of(candidate)
                if frame is None or frame.f_code is not self._code:
                    continue
                if id(frame) not in self._known:
                    yield candidate

    @staticmethod
    def frame_of(candidate: Any) -> FrameType | None:
        """The frame of a generator or coroutine that has not ended; None for all other objects."""
        kind = type(candidate)
        if kind is GeneratorType:
            return candidate.gi_frame  # type: ignore[no-any-return]
        if kind is CoroutineType:
            return candidate.cr_frame  # type: ignore[no-any-return]
        if kind is AsyncGeneratorType:
            return candidate.ag_frame  # type: ignore[no-any-return]
        return None


def unwrapped(value: Any) -> tuple[Any, bool]:
    """What an asynchronous generator yields, and whether that is a value and not an await."""
    if type(value).__name__ != _WRAPPED:
        return value, False
    return gc.get_referents(value)[0], True
