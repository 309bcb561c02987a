"""All that can be reached from some values, as digests that are equal in processes that are equal.

The processes were forked off one, so that what none of them changed is the same in all. Each value
gets two digests: one of all that there is, and a loose one, which knows neither addresses in texts
nor which objects are one.

Invariant: equal digests of values that are known in full mean equal values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from whence.langs.python.objects.digest_content import Content, Contents

MOST = 400_000
"""More objects are not looked at."""
_ADDRESS = re.compile(rb"0x[0-9a-fA-F]{4,}|\b\d{9,}\b")
_SHORTEST = 9
"""Of a text with an address in it."""
_SIZE = 12


class _Open:
    """An object whose parts are being looked at."""

    __slots__ = ("content", "exact", "loose", "parts", "value")

    def __init__(self, value: Any, content: Content, parts: Iterator[Any]) -> None:
        self.value = value
        self.content = content
        self.parts = parts
        self.exact: list[bytes] = []
        self.loose: list[bytes] = []


class Reach:
    """Digests of values one after the other; what one has shown, the next refers to."""

    def __init__(self, contents: Contents, most: int = MOST) -> None:
        self._contents = contents
        self._most = most
        self._seen: dict[int, tuple[bytes, bytes]] = {}
        """Of each object by its address: what it is called, and its loose digest."""
        self._alive: list[Any] = []
        self.count = 0

    def digest(self, name: str, value: Any) -> tuple[str, str, str]:
        """Of one value: its digest, its loose digest, and what is not known of it."""
        whole = _Open(None, Content(""), iter((value,)))
        work = [whole]
        unknown = ""
        first = self.count
        while work:
            top = work[-1]
            for part in top.parts:
                kind = type(part)
                if kind in _PLAIN:
                    text = _PLAIN[kind](part)
                    top.exact.append(text)
                    top.loose.append(_without_addresses(text))
                    continue
                known = self._seen.get(id(part))
                if known is not None:
                    top.exact.append(known[0])
                    top.loose.append(known[1])
                    continue
                self.count += 1
                if self.count > self._most:
                    return "", "", f"more than {self._most:,} objects can be reached from it"
                content = self._contents.of(part)
                if not content.known:
                    unknown = unknown or f"it reaches an object of {content.label[:80]}"
                if content.shared:
                    self._seen[id(part)] = f"#{name}/{self.count - first};".encode(), b"around;"
                parts = self._sorted(content) if content.unordered else content.parts
                self._alive.append((part, parts))
                work.append(_Open(part, content, iter(parts)))
                break
            else:
                work.pop()
                if work:
                    self._leave(top, work[-1])
        exact, loose = _digest(b"".join(whole.exact)), _digest(b"".join(whole.loose))
        return exact.hex(), loose.hex(), unknown

    def alone(self, value: Any) -> tuple[str, str, str]:
        """Of a value that nothing else refers to by its digest."""
        return Reach(self._contents, self._most).digest("", value)

    def _leave(self, left: _Open, above: _Open) -> None:
        text = _measured(b"o", left.content.label.encode("utf-8", "surrogatepass"))
        above.exact.append(_digest(text + b"".join(left.exact)))
        loose = _digest(_without_addresses(text) + b"".join(left.loose))
        above.loose.append(loose)
        if left.content.shared:
            self._seen[id(left.value)] = self._seen[id(left.value)][0], loose

    def _sorted(self, content: Content) -> Sequence[Any]:
        """The members of a set in an order that is the same everywhere."""
        if all(type(part) in _PLAIN for part in content.parts):
            return sorted(content.parts, key=lambda part: _PLAIN[type(part)](part))
        keys = []
        for part in content.parts:
            inner = Reach(self._contents, max(0, self._most - self.count))
            keys.append(inner.digest("", part)[1])
            self.count += inner.count
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return [content.parts[at] for at in order]


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_SIZE).digest()


def _measured(kind: bytes, data: bytes) -> bytes:
    return b"%b%d:%b;" % (kind, len(data), data)


def _without_addresses(text: bytes) -> bytes:
    return _ADDRESS.sub(b"", text) if len(text) > _SHORTEST else text


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    str: lambda value: _measured(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: _measured(b"b", value),
    int: lambda value: b"i%x;" % value,
    bool: lambda value: b"t;" if value else b"f;",
    type(None): lambda value: b"n;",
    # By their writing: -0.0 is not 0.0, and nan is nan.
    float: lambda value: _measured(b"d", repr(value).encode()),
    complex: lambda value: _measured(b"c", repr(value).encode()),
}
