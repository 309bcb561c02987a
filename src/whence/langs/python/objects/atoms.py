"""Values that have no parts, as JSON and back."""

from __future__ import annotations

import re
import types
from typing import Any

_LARGE = 2**53
SCALARS = (int, float, complex, str, bytes)


def value_text(value: Any) -> Any:
    """An atom as JSON."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -_LARGE < value < _LARGE else ["i", hex(value)]
    if kind is float:
        return ["f", value.hex()]
    if kind is bytes:
        return ["b", value.hex()]
    if kind is complex:
        return ["c", value.real.hex(), value.imag.hex()]
    if kind is range:
        return ["r", *map(value_text, (value.start, value.stop, value.step))]
    if kind is re.Pattern:
        return ["p", value_text(value.pattern), value.flags]
    return ["…"] if value is Ellipsis else ["-"]


def value_of(told: Any) -> Any:
    """The atom that `value_text` made JSON of."""
    if not isinstance(told, list):
        return told
    match told:
        case ["i", text]:
            return int(text, 16)
        case ["f", text]:
            return float.fromhex(text)
        case ["b", text]:
            return bytes.fromhex(text)
        case ["c", real, imaginary]:
            return complex(float.fromhex(real), float.fromhex(imaginary))
        case ["r", *numbers]:
            return range(*map(value_of, numbers))
        case ["p", pattern, flags]:
            return re.compile(value_of(pattern), flags)
    return Ellipsis if told == ["…"] else NotImplemented


ATOMS = frozenset(
    (*SCALARS, bool, range, re.Pattern, types.NoneType, types.EllipsisType,
     types.NotImplementedType)
)  # fmt: skip
"""Types of which nobody can tell two equal objects apart, but by what they are."""
