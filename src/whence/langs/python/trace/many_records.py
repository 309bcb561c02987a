"""Reads the same fields of many records at once, with passes of numpy.

A generator may yield a million values and a call may print a million lines: reading their records
one by one takes minutes. It knows numbers and texts only, no values; single records are read by
`trace_records.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_format import MalformedTrace
from whence.langs.python.trace.trace_pages import printable
from whence.ports import Bytes, Int64s

CHANGED_FILE = "the file was changed after it was opened"
_BREAKS_OFF = "a record breaks off"
_OFFSET = (1 << f.PAGE_BITS) - 1

Payload = Callable[[int], bytes]
"""Gives the records of a page by its number."""


@dataclass(frozen=True, slots=True)
class ManyRecords:
    """The records at some positions, which are in the order of time."""

    payload: Payload
    positions: Int64s

    def kinds(self) -> Bytes:
        """The kind of each record."""
        kinds = np.empty(len(self.positions), dtype=np.uint8)
        for part, data, places in self._pages():
            kinds[part] = _bytes_at(np.frombuffer(data, np.uint8), places)
        return kinds

    def second_numbers(self) -> Int64s:
        """The second number of each record."""
        numbers = np.empty(len(self.positions), dtype=np.int64)
        for part, data, places in self._pages():
            column = np.frombuffer(data, np.uint8)
            _, after_first = _numbers_at(column, places + 1)
            numbers[part], _ = _numbers_at(column, after_first)
        return numbers

    def outputs(self) -> Iterator[tuple[int, str]]:
        """The descriptor and the text of each record, all of which are OUTPUT."""
        for _, data, places in self._pages():
            column = np.frombuffer(data, np.uint8)
            if bool((_bytes_at(column, places) != f.OUTPUT).any()):
                raise MalformedTrace(CHANGED_FILE)
            _, after_call = _numbers_at(column, places + 1)
            descriptors = _bytes_at(column, after_call).tolist()
            lengths, texts = _numbers_at(column, after_call + 1)
            if bool((lengths > len(data) - texts).any()):
                raise MalformedTrace(_BREAKS_OFF)
            starts, stops = texts.tolist(), (texts + lengths).tolist()
            for descriptor, start, stop in zip(descriptors, starts, stops, strict=True):
                yield descriptor, _text(data[start:stop])

    def texts(self) -> Iterator[str]:
        """The texts of the same, as they can be printed."""
        for _, text in self.outputs():
            yield text if text.isascii() else printable(text)

    def _pages(self) -> Iterator[tuple[slice, bytes, Int64s]]:
        """For each page: which of the records are in it, its bytes, and their places in it."""
        pages = self.positions >> f.PAGE_BITS
        starts = [0, *(np.flatnonzero(pages[1:] != pages[:-1]) + 1).tolist(), len(pages)]
        for start, stop in pairwise(starts):
            if start < stop:
                part = slice(start, stop)
                yield part, self.payload(int(pages[start])), self.positions[part] & _OFFSET


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise MalformedTrace("a text is not UTF-8") from None


def _bytes_at(column: Bytes, places: Int64s) -> Bytes:
    if len(places) and int(places.max()) >= len(column):
        raise MalformedTrace(_BREAKS_OFF)
    found: Bytes = column[places]
    return found


def _numbers_at(column: Bytes, places: Int64s) -> tuple[Int64s, Int64s]:
    """The unsigned numbers at some places, and where the next fields start."""
    numbers = np.zeros(len(places), dtype=np.int64)
    places = np.array(places)
    unfinished = np.arange(len(places))
    for shift in range(0, 63, 7):
        here = _bytes_at(column, places[unfinished])
        numbers[unfinished] |= (here & np.uint8(0x7F)).astype(np.int64) << shift
        places[unfinished] += 1
        unfinished = unfinished[here >= 0x80]
        if not len(unfinished):
            return numbers, places
    raise MalformedTrace("a number has more than 63 bits")
