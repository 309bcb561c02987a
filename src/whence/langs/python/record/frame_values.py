"""Reads variables of a running frame without disturbing it.

It does not use `frame.f_locals`: up to 3.12 that makes a dictionary that belongs to the frame,
keeps every value alive, and is the one that the program gets from `locals()`. From 3.12 on the
interpreter has a function that reads one variable. On 3.11 the memory of the frame is read, whose
layout is the same in every release of 3.11; so is, on all versions, the function of a frame.

What a generator was sent is in no variable: it is on top of the frame's stack. From 3.14 on the
lowest bit of a reference in a frame says that the frame does not count as holding the object. From
3.15 on what is no reference may be there too: how far a loop over a list or tuple is.

Separate from the recorder because only this module knows the memory layout of frames.
"""

from __future__ import annotations

import sys
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from whence.langs.python.record.hidden_ctypes import ctypes


class Unbound:
    """Stands for the value of an unbound name."""


class Unknown:
    """Stands for a value that is not available."""


UNBOUND = Unbound()
UNKNOWN = Unknown()
_NULL = 0
_POINTER = 8
# Offsets: in a frame object, of its inner frame; in the inner frame, of the function, of the number
# of variables and stack values (from 3.14 on: of the pointer to their end), and of the first one.
_INNER_FRAME = 24
_FUNCTION = 16 if sys.version_info >= (3, 12) else 0
_COUNT = 64
_VARIABLES = 80 if sys.version_info >= (3, 14) else 72
_UNCOUNTED = 1
_TAG, _TAG_BITS = 3, 2
"""Of a word that is a number (3.15): its lowest bits."""

if sys.version_info >= (3, 12):
    _get_variable = ctypes.pythonapi.PyFrame_GetVar
    _get_variable.argtypes = [ctypes.py_object, ctypes.py_object]
    _get_variable.restype = ctypes.py_object

    def variable(frame: FrameType, name: str) -> Any:
        """The value of a parameter or free variable, or `UNBOUND`."""
        try:
            return _get_variable(frame, name)
        except NameError:
            return UNBOUND

else:

    def variable(frame: FrameType, name: str) -> Any:
        """The value of a parameter or free variable, or `UNBOUND`."""
        code = frame.f_code
        index = _index(code, name)
        if index is None:
            return UNBOUND
        address = _word(_word(id(frame) + _INNER_FRAME) + _VARIABLES + _POINTER * index)
        if address == _NULL:
            return UNBOUND
        value = ctypes.cast(address, ctypes.py_object).value
        if type(value) is CellType and (name in code.co_cellvars or name in code.co_freevars):
            try:
                return value.cell_contents
            except ValueError:
                return UNBOUND
        return value


def sent_value(frame: FrameType) -> Any:
    """The value that a generator is resumed with, during the event of its resumption."""
    inner = _word(id(frame) + _INNER_FRAME)
    if sys.version_info >= (3, 14):
        place = _word(inner + _COUNT) - _POINTER
    else:
        count = ctypes.c_int.from_address(inner + _COUNT).value
        place = inner + _VARIABLES + _POINTER * (count - 1)
    return ctypes.cast(_address(place), ctypes.py_object).value


def loop_positions(frame: FrameType) -> list[int]:
    """How far the loops over lists and tuples are in a frame that stands still (3.15)."""
    if sys.version_info < (3, 15):
        return []
    code = frame.f_code
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    variables = len(code.co_varnames) + len(cells) + len(code.co_freevars)
    inner = _word(id(frame) + _INNER_FRAME)
    first, end = inner + _VARIABLES + _POINTER * variables, _word(inner + _COUNT)
    words = map(_word, range(first, end, _POINTER))
    return [word >> _TAG_BITS for word in words if word & _TAG == _TAG]


def function(frame: FrameType) -> FunctionType | None:
    """The function that a frame runs."""
    address = _address(_word(id(frame) + _INNER_FRAME) + _FUNCTION)
    value = ctypes.cast(address, ctypes.py_object).value if address else None
    return value if isinstance(value, FunctionType) else None


def is_borrowed(frame: FrameType, name: str) -> bool:
    """Whether a parameter is a borrowed reference: the caller holds the value for the frame."""
    code = frame.f_code
    if sys.version_info < (3, 14) or name not in code.co_varnames or name in code.co_cellvars:
        return False
    place = _VARIABLES + _POINTER * code.co_varnames.index(name)
    return bool(_word(_word(id(frame) + _INNER_FRAME) + place) & _UNCOUNTED)


def _word(place: int) -> int:
    return ctypes.c_size_t.from_address(place).value


def _address(place: int) -> int:
    """The address of the object that a reference in a frame points to."""
    return _word(place) & ~_UNCOUNTED if sys.version_info >= (3, 14) else _word(place)


def _index(code: CodeType, name: str) -> int | None:
    """The index of a variable: plain ones, then cells that are no parameters, then free ones."""
    if name in code.co_varnames:
        return code.co_varnames.index(name)
    cells = [cell for cell in code.co_cellvars if cell not in code.co_varnames]
    others = [*cells, *code.co_freevars]
    return len(code.co_varnames) + others.index(name) if name in others else None
