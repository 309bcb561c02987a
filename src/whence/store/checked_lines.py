"""Lines of JSON that carry a checksum, so that one damaged line costs nothing but itself.

The checksum is the last member of the object: `{…, "check": "0f3a5c71"}`. A line stays an ordinary
JSON object that a person can read and git can merge.

Invariant: whatever a line holds, an object is returned only if all of its bytes are as written.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping

_CHECK = re.compile(rb', "check": "([0-9a-f]{8})"\}')


def checked_line(record: Mapping[str, object], about: str = "") -> bytes:
    """A JSON object with its checksum, as a line.

    `about` is part of what is checked, but not of the line: only who knows it can check the line.
    """
    body = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return b'%s, "check": "%s"}\n' % (body[:-1], _checksum(body[:-1], about))


def is_checked(line: bytes) -> bool:
    """Whether a line carries a checksum, right or wrong."""
    return _CHECK.search(line) is not None


def intact_parts(line: bytes, about: str = "") -> Iterator[bytes]:
    """The objects in a line whose checksum is right.

    There is more than one if the byte between two lines was damaged.
    """
    start = 0
    for check in _CHECK.finditer(line):
        for first in (start, start + 1):  # one byte may stand where the end of the line was
            if _checksum(line[first : check.start()], about) == check[1]:
                yield line[first : check.end()]
                start = check.end()
                break
        else:
            start = check.end()


def _checksum(body: bytes, about: str) -> bytes:
    return b"%08x" % zlib.crc32(body, zlib.crc32(about.encode()))
