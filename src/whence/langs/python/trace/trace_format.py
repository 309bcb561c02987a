"""The bytes of docs/trace-format.md: their names, numbers, pages and checks.

What the writers and the readers of a trace must agree on, and nothing else. Nothing here trusts the
data: whatever does not fit is a `MalformedTrace`, and a length is believed only if the data is that
long.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from typing import Final

from whence.secret_values import SECRET_DIGEST, SECRET_NUMBER

MAGIC: Final = b"\x89whence\n"
FOLDER: Final = ".d"
"""Suffix of a trace's name: the folder with the traces of its child processes."""
MAIN: Final = "-"
"""The name of the main trace in that folder's list of starts; others have their file names."""
STARTED: Final = "started"
"""The list of starts, a file in that folder: process id, call, time and trace of each start."""
VERSION: Final = 1
HEADER: Final = struct.Struct("<8sIII")
"""Magic, version, length and CRC-32 of the JSON that follows."""
TAIL_SUFFIX: Final = ".tail"
"""Suffix of a trace's name: the file with the records that are in no page yet."""
TAIL_MAGIC: Final = b"\x89whtail\n"
TAIL: Final = struct.Struct("<8sQQQQ24x")
"""Magic, CRC-32 of the trace's header, where in the trace it belongs, how many bytes follow, the
number of the error that ended the recording."""
TAIL_LENGTH_AT: Final = 24
TAIL_ERROR_AT: Final = 32
PAGE_MAGIC: Final = b"PAGE"
PAGE: Final = struct.Struct("<4sB3xIII")
"""Magic, codec, length as stored, length once decoded, CRC-32 as stored."""
MAX_PAGE: Final = 256 * 2**20
"""The most bytes of one decoded page."""
MAX_RATIO: Final = 1100
"""The highest compression ratio of any codec: a page that claims more is not sound."""
PAGE_BITS: Final = 28
"""A position in a trace is `page << PAGE_BITS | offset in the decoded page`."""
MAX_NESTING: Final = 100
"""How many levels a value may have."""

PLAIN, ZLIB, LZ4 = 0, 1, 2

# Records.
CALL, BARE_CALL, RETURN, BARE_RETURN, YIELD, BARE_YIELD = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
RESUME, THROW, RAISE, BARE_RAISE, CLOSED = 0x07, 0x08, 0x09, 0x0A, 0x0B
CHANGED, LOST, GLOBAL, THREAD, SKIPPED = 0x0C, 0x0D, 0x0E, 0x0F, 0x10
NAME, TYPE, CODE, VARIABLE = 0x11, 0x12, 0x13, 0x14
OUTPUT, NOTE, END, SEND = 0x15, 0x16, 0x17, 0x18

STANDARD_OUTPUT = 1
"""The descriptor in OUTPUT of standard output; the other one is standard error."""

# How a run ended, the first field of END.
ENDED, BY_EXCEPTION, BY_EXIT, STOPPED = 0, 1, 2, 3

# Flags of TYPE.
USER_TYPE, EXCEPTION_TYPE, C_TYPE = 1, 2, 4

# Flags of CODE.
STAR_ARGS, STAR_KWARGS, GENERATOR, COROUTINE, ASYNC_GENERATOR = 1, 2, 4, 8, 16
MODULE_BODY, CLASS_BODY, LAMBDA = 32, 64, 128
STEPPED = GENERATOR | COROUTINE | ASYNC_GENERATOR
"""Code whose calls run in steps: from each RESUME to the next YIELD."""
YIELDING = GENERATOR | ASYNC_GENERATOR

# Values.
UNBOUND, NONE, TRUE, FALSE, WHOLE, LARGE, FLOAT, COMPLEX = range(0x00, 0x08)
STRING, CUT_STRING, BYTES, BYTEARRAY = range(0x08, 0x0C)
LIST, TUPLE, SET, FROZENSET, DICT, OBJECT, SUBCLASS, EXCEPTION = range(0x10, 0x18)
OPAQUE, SUMMARY, CLASS, FUNCTION, METHOD, MODULE = range(0x18, 0x1E)
SAME, INPUT, REFERENCE, LEFT_OUT = range(0x1E, 0x22)
SECRET = 0x22
"""A text, bytes or a number that is recorded as its digest: kind, length, digest."""
SMALL = 0x80
"""From here on a byte is a whole number from 0 to 127."""
CONTAINERS = frozenset((*range(LIST, SUMMARY + 1), BYTEARRAY, METHOD))
"""Values that are counted in a root, so that SAME can refer to them."""

NUMBERED: Final = 8
"""A root value of this many bytes or more, written in full, gets a number."""

_MASK = 2**64 - 1
_FACTOR = 0x9E3779B97F4A7C15


def ending_error(number: int) -> str:
    """What an error says that ended a recording."""
    if number == errno.EBADF:
        return "the program closed the file of the trace"
    try:
        return os.strerror(number)
    except OverflowError:
        return f"error {number}"


class MalformedTrace(Exception):
    """The bytes are not what the format says; the text says what is wrong."""


# --- pages ---------------------------------------------------------------------------------------


def decode_page(codec: int, stored: bytes | memoryview, length: int) -> bytes:
    """The payload of a page, exactly `length` bytes long."""
    if codec == PLAIN:
        data = bytes(stored)
    elif codec == ZLIB:
        data = _inflated(stored, length)
    elif codec == LZ4:
        data = lz4_decoded(stored, length)
    else:
        raise MalformedTrace(f"a page is packed in a way that this whence does not know ({codec})")
    if len(data) != length:
        raise MalformedTrace(f"a page holds {len(data):,} bytes where it says {length:,}")
    return data


def _inflated(stored: bytes | memoryview, length: int) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        # One byte more than there should be shows that there are more.
        data = unpacker.decompress(stored, length + 1)
    except zlib.error as problem:
        raise MalformedTrace(f"a page cannot be unpacked ({problem})") from None
    return data


def lz4_decoded(stored: bytes | memoryview, length: int) -> bytes:
    """An LZ4 block; never more than `length` bytes are made of it."""
    block, out = bytes(stored), bytearray()
    place, end = 0, len(block)
    try:
        while place < end:
            token = block[place]
            place += 1
            literals = token >> 4
            if literals == 15:
                literals, place = _lz4_count(block, place, literals)
            if literals > end - place or literals > length - len(out):
                raise MalformedTrace("a page cannot be unpacked (it breaks off)")
            out += block[place : place + literals]
            place += literals
            if place == end:
                break
            distance = block[place] | block[place + 1] << 8
            place += 2
            count = token & 15
            if count == 15:
                count, place = _lz4_count(block, place, count)
            count += 4
            start = len(out) - distance
            if distance == 0 or start < 0 or count > length - len(out):
                raise MalformedTrace("a page cannot be unpacked (it points outside of itself)")
            if distance >= count:
                out += out[start : start + count]
            else:
                pattern = out[start:]
                out += (pattern * (count // distance + 1))[:count]
    except IndexError:
        raise MalformedTrace("a page cannot be unpacked (it breaks off)") from None
    return bytes(out)


def _lz4_count(block: bytes, place: int, count: int) -> tuple[int, int]:
    while True:
        more = block[place]
        place += 1
        count += more
        if more != 255:
            return count, place


# --- numbers -------------------------------------------------------------------------------------


def read_v(data: bytes, place: int) -> tuple[int, int]:
    """An unsigned number and where the next field starts."""
    try:
        byte = data[place]
        if byte < 0x80:
            return byte, place + 1
        number, shift = byte & 0x7F, 7
        while True:
            place += 1
            byte = data[place]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise MalformedTrace("a number has more than 64 bits")
    except IndexError:
        raise MalformedTrace("a record breaks off") from None
    if number > _MASK:
        raise MalformedTrace("a number has more than 64 bits")
    return number, place + 1


def read_z(data: bytes, place: int) -> tuple[int, int]:
    """A signed number and where the next field starts."""
    number, place = read_v(data, place)
    return number >> 1 ^ -(number & 1), place


def read_text(data: bytes, place: int) -> tuple[str, int]:
    """A text and where the next field starts."""
    raw, place = read_bytes(data, place)
    try:
        return raw.decode("utf-8", "surrogatepass"), place
    except UnicodeDecodeError:
        raise MalformedTrace("a text is not UTF-8") from None


def skip_text(data: bytes, place: int) -> int:
    """Where the text at a place ends."""
    length, place = read_v(data, place)
    if length > len(data) - place:
        raise MalformedTrace("a record breaks off")
    return place + length


def read_bytes(data: bytes, place: int) -> tuple[bytes, int]:
    """Bytes with their length before them, and where the next field starts."""
    length, place = read_v(data, place)
    if length > len(data) - place:
        raise MalformedTrace("a record breaks off")
    return data[place : place + length], place + length


# --- digests -------------------------------------------------------------------------------------


def mix(digest: int, word: int) -> int:
    """Mix a word into a digest of 64 bits; for a given digest this maps words one to one.

    The same as in `native/scan.h`: both scanners must compute the same digests.
    """
    digest = ((digest ^ word) * _FACTOR) & _MASK
    return digest ^ digest >> 29


def digest_of(data: bytes, start: int, stop: int) -> int:
    """The digest of a part of some data."""
    digest = mix(0x77, stop - start)
    for place in range(start, stop, 8):
        word = data[place : place + 8] if place + 8 <= stop else data[place:stop]
        digest = mix(digest, int.from_bytes(word, "little"))
    return digest


# --- secrets -------------------------------------------------------------------------------------


def read_secret(data: bytes, place: int) -> tuple[int, int, bytes, int]:
    """The kind, the length and the digest of a secret, and where the next field starts."""
    if place >= len(data) or data[place] > SECRET_NUMBER:
        raise MalformedTrace("there is no secret of this kind")
    length, stop = read_v(data, place + 1)
    digest = data[stop : stop + SECRET_DIGEST]
    if len(digest) < SECRET_DIGEST:
        raise MalformedTrace("a record breaks off")
    return data[place], length, digest, stop + SECRET_DIGEST
