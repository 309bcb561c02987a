"""Digests of all that can be reached from values, equal in processes in which these are equal.

The processes were forked from one, so that what neither changed is the same in both. Each value
gets two digests: an exact one, and a loose one that ignores addresses in texts and which objects
are identical.

Invariant: equal digests of values that are described in full mean equal values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from whence.langs.python.objects.object_description import ObjectDescriber
from whence.langs.python.objects.object_kinds import Description, ProgramObject

MAX_OBJECTS = 400_000
_ADDRESS = re.compile(rb"0x[0-9a-fA-F]{4,}|\b\d{9,}\b")
_SHORTEST_ADDRESS = 9
_SIZE = 12


class Digest(NamedTuple):
    """The digests of one value."""

    exact: str
    loose: str
    unknown: str
    """What is not known of the value; empty if all is."""


@dataclass(slots=True)
class _OpenObject:
    """An object whose parts are being visited, and the encoded parts so far."""

    value: ProgramObject
    description: Description
    parts: Iterator[ProgramObject]
    exact: list[bytes] = field(default_factory=list)
    loose: list[bytes] = field(default_factory=list)


class ObjectDigests:
    """Digests values one after the other; an object that was visited before is referred to."""

    def __init__(self, describer: ObjectDescriber, max_objects: int = MAX_OBJECTS) -> None:
        self._describer = describer
        self._max_objects = max_objects
        self._visited: dict[int, tuple[bytes, bytes]] = {}
        """By address: the reference to the object, and its loose digest."""
        self._kept_alive: list[object] = []
        self.count = 0

    def digest(self, name: str, value: ProgramObject) -> Digest:
        """The digests of one value; `name` is part of later references to its objects."""
        root = _OpenObject(None, Description(""), iter((value,)))
        work = [root]
        unknown = ""
        first = self.count
        while work:
            top = work[-1]
            for part in top.parts:
                encode = _PLAIN.get(id(type(part)))
                if encode is not None:
                    text = encode(part)
                    top.exact.append(text)
                    top.loose.append(_without_addresses(text))
                    continue
                visited = self._visited.get(id(part))
                if visited is not None:
                    top.exact.append(visited[0])
                    top.loose.append(visited[1])
                    continue
                self.count += 1
                if self.count > self._max_objects:
                    reason = f"more than {self._max_objects:,} objects can be reached from it"
                    return Digest("", "", reason)
                description = self._describer.describe(part)
                if not description.is_complete:
                    unknown = unknown or f"it reaches an object of {description.label[:80]}"
                if description.is_shared:
                    reference = f"#{name}/{self.count - first};".encode()
                    self._visited[id(part)] = reference, b"cycle;"
                parts = self._sorted(description) if description.is_unordered else description.parts
                self._kept_alive.append((part, parts))
                work.append(_OpenObject(part, description, iter(parts)))
                break
            else:
                work.pop()
                if work:
                    self._close(top, work[-1])
        exact, loose = _digest(b"".join(root.exact)), _digest(b"".join(root.loose))
        return Digest(exact.hex(), loose.hex(), unknown)

    def digest_alone(self, value: ProgramObject) -> Digest:
        """The digests of a value to which no later digest refers."""
        return ObjectDigests(self._describer, self._max_objects).digest("", value)

    def _close(self, closed: _OpenObject, holder: _OpenObject) -> None:
        text = _with_length(b"o", closed.description.label.encode("utf-8", "surrogatepass"))
        holder.exact.append(_digest(text + b"".join(closed.exact)))
        loose = _digest(_without_addresses(text) + b"".join(closed.loose))
        holder.loose.append(loose)
        if closed.description.is_shared:
            self._visited[id(closed.value)] = self._visited[id(closed.value)][0], loose

    def _sorted(self, description: Description) -> Sequence[ProgramObject]:
        """The members of a set in an order that is the same in every process."""
        parts = description.parts
        if all(id(type(part)) in _PLAIN for part in parts):
            return sorted(parts, key=lambda part: _PLAIN[id(type(part))](part))
        keys = []
        for part in parts:
            inner = ObjectDigests(self._describer, max(0, self._max_objects - self.count))
            keys.append(inner.digest("", part).loose)
            self.count += inner.count
        return [parts[at] for at in sorted(range(len(keys)), key=keys.__getitem__)]


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_SIZE).digest()


def _with_length(kind: bytes, data: bytes) -> bytes:
    return b"%b%d:%b;" % (kind, len(data), data)


def _without_addresses(text: bytes) -> bytes:
    return _ADDRESS.sub(b"", text) if len(text) > _SHORTEST_ADDRESS else text


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    str: lambda value: _with_length(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: _with_length(b"b", value),
    int: lambda value: b"i%x;" % value,
    bool: lambda value: b"t;" if value else b"f;",
    type(None): lambda value: b"n;",
    # By their text: -0.0 is not 0.0, and nan is nan.
    float: lambda value: _with_length(b"d", repr(value).encode()),
    complex: lambda value: _with_length(b"c", repr(value).encode()),
}
_PLAIN = {id(cls): encode for cls, encode in _ENCODERS.items()}
"""By address of the type: a class of the program may define a hash."""
