"""Values without parts: which types they have, and their encoding as JSON."""

from __future__ import annotations

import re
import types
from typing import Any, TypeAlias

from whence.langs.python.objects.newer_types import FROZENDICTS

Json: TypeAlias = Any
"""What `json` reads and writes."""
_LARGE = 2**53
SCALARS = (int, float, complex, str, bytes)
PLAIN = (types.NoneType, bool, *SCALARS)
"""The types that a recording writes as a value and nothing else."""
ATOMS = frozenset((*PLAIN, range, re.Pattern, types.EllipsisType, types.NotImplementedType))
"""Types of which two equal objects differ in nothing but their identity."""
CONTENT_TYPES = (*SCALARS, bytearray, list, tuple, set, frozenset, dict, *FROZENDICTS)
"""The builtin types whose content a recording shows, also where a class extends them."""
PLAIN_IDS = frozenset(map(id, PLAIN))
"""By address: a class of the program may define a hash."""
ATOM_IDS = frozenset(map(id, ATOMS))


def exact_scalar(value: Any, base: type) -> Any:
    """The content of an instance of a scalar type or of a subclass, as the builtin itself."""
    if base is int:
        return int.__int__(value)
    if base is float:
        return float.__float__(value)
    if base is complex:
        return complex.__complex__(value)
    if base is str:
        return str.__str__(value)
    return bytes.__getitem__(value, slice(None))


def encode_atom(value: Any) -> Json:
    """An atom as JSON."""
    cls = type(value)
    if value is None or cls is bool or cls is str:
        return value
    if cls is int:
        return value if -_LARGE < value < _LARGE else ["i", hex(value)]
    if cls is float:
        return ["f", value.hex()]
    if cls is bytes:
        return ["b", value.hex()]
    if cls is complex:
        return ["c", value.real.hex(), value.imag.hex()]
    if cls is range:
        return ["r", *map(encode_atom, (value.start, value.stop, value.step))]
    if cls is re.Pattern:
        return ["p", encode_atom(value.pattern), value.flags]
    return ["…"] if value is Ellipsis else ["-"]


def decode_atom(encoded: Json) -> Any:
    """The atom that `encode_atom` wrote."""
    if not isinstance(encoded, list):
        return encoded
    match encoded:
        case ["i", text]:
            return int(text, 16)
        case ["f", text]:
            return float.fromhex(text)
        case ["b", text]:
            return bytes.fromhex(text)
        case ["c", real, imaginary]:
            return complex(float.fromhex(real), float.fromhex(imaginary))
        case ["r", *numbers]:
            return range(*map(decode_atom, numbers))
        case ["p", pattern, flags]:
            return re.compile(decode_atom(pattern), flags)
    return Ellipsis if encoded == ["…"] else NotImplemented
