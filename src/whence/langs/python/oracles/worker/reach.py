"""All that can be reached from some values, as digests that are equal in processes that are equal.

The processes were forked off one, so that what none of them changed is the same in all. Each value
gets two digests: one of all that there is, and a loose one, which knows neither addresses in texts
nor which objects are one.

Invariant: equal digests of values that are known in full mean equal values.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any

from whence.langs.python.oracles.worker.contents import Content, Contents

MOST = 400_000
"""More objects are not looked at."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}|\b\d{9,}\b")
_SHORTEST = 9
"""Of a text with an address in it, with its type and quotes."""
_SIZE = 12


class Reach:
    """Digests of values one after the other; what one has shown, the next refers to."""

    def __init__(self, contents: Contents, most: int = MOST) -> None:
        self._contents = contents
        self._most = most
        self._seen: dict[int, tuple[str, bytes]] = {}
        """Of each object by its address: what it is called, and its loose digest."""
        self._alive: list[Any] = []
        self.count = 0

    def digest(self, name: str, value: Any) -> tuple[str, str, str]:
        """Of one value: its digest, its loose digest, and what is not known of it."""
        exact = blake2b(digest_size=_SIZE)
        unknown = ""
        work: list[tuple[Any, Content | None, int]] = [(value, None, 0)]
        loose: list[bytes] = []
        number = 0
        while work:
            value, content, place = work.pop()
            if content is not None:
                self._leave(value, content, loose, place)
                continue
            known = self._seen.get(id(value))
            if known is not None:
                exact.update(known[0].encode())
                loose.append(known[1])
                continue
            self.count += 1
            if self.count > self._most:
                unknown = unknown or f"more than {self._most:,} objects can be reached from it"
                break
            content = self._contents.of(value)
            if not content.known:
                unknown = unknown or f"it reaches an object of {content.label[:80]}"
            text = content.label.encode("utf-8", "surrogatepass")
            exact.update(b"%d:%d:" % (len(text), len(content.parts)) + text)
            if content.shared:
                number += 1
                self._seen[id(value)] = f"#{name}/{number};", b"around"
                self._alive.append(value)
            if not content.parts:
                self._leave(value, content, loose, len(loose))
                continue
            parts = self._sorted(content) if content.unordered else content.parts
            self._alive.append(parts)
            work.append((value, content, len(loose)))
            work += [(part, None, 0) for part in reversed(parts)]
        return exact.hexdigest(), b"".join(loose).hex(), unknown

    def alone(self, value: Any) -> tuple[str, str, str]:
        """Of a value that nothing else refers to by its digest."""
        return Reach(self._contents, self._most).digest("", value)

    def _leave(self, value: Any, content: Content, loose: list[bytes], place: int) -> None:
        label = content.label
        if len(label) > _SHORTEST:
            label = _ADDRESS.sub("", label)
        text = label.encode("utf-8", "surrogatepass")
        parts = b"".join(loose[place:])
        found = blake2b(b"%d:" % len(text) + text + parts, digest_size=_SIZE).digest()
        del loose[place:]
        loose.append(found)
        if content.shared:
            self._seen[id(value)] = self._seen[id(value)][0], found

    def _sorted(self, content: Content) -> list[Any]:
        """The members of a set in an order that is the same everywhere."""
        if all(type(part) in (str, int, bytes) for part in content.parts):
            return sorted(content.parts, key=repr)
        keys = []
        for part in content.parts:
            inner = Reach(self._contents, max(0, self._most - self.count))
            keys.append(inner.digest("", part)[1])
            self.count += inner.count
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return [content.parts[at] for at in order]
