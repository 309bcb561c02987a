"""Reads variables of a running frame without disturbing it.

It does not use `frame.f_locals`: up to 3.12 that makes a dictionary that belongs to the frame,
keeps every value alive, and is the one that the program gets from `locals()`. From 3.12 on the
interpreter has a function that reads one variable. On 3.11 the memory of the frame is read, whose
layout is the same in every release of 3.11; so is, on all versions, the function of a frame.

The value sent to a generator is in no variable but on top of the frame's stack. From 3.14 on the
lowest bit of a reference in a frame says that it is not counted.

Separate from the recorder because only this module knows the memory layout of frames.
"""

from __future__ import annotations

import ctypes
import sys
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any


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
