"""Scans the records of a trace's tables: names, types, module variables and code.

Part of the pass of `trace_scan.py`: entries are counted and checked, and their positions kept.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_format import MalformedTrace, read_v, skip_text

_FRAME = 6
_MAX_LINE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ScannedCode:
    """What the pass needs to know of a code object."""

    inputs: int
    stepped: bool
    variables: tuple[int, ...]
    effort: int


class TableScanner:
    """The entries scanned so far. Each handler of a record returns where the next one begins."""

    def __init__(self) -> None:
        self.name_at, self._name_size, self.name_is_vague = array("q"), array("q"), bytearray()
        self.type_at, self.code_at, self.variable_at = array("q"), array("q"), array("q")
        self.codes: list[ScannedCode] = []
        self.data = b""
        self.base = 0

    def name(self, at: int, place: int) -> int:
        stop = skip_text(self.data, place)
        length, start = read_v(self.data, place)
        self.name_at.append(self.base | at)
        self._name_size.append(length)
        # <lambda>, f.<locals>.g: different functions can have this name.
        self.name_is_vague.append(b"<" in self.data[start:stop])
        return stop

    def name_number(self, place: int) -> tuple[int, int]:
        number, place = read_v(self.data, place)
        if number >= len(self.name_at):
            raise MalformedTrace("there is no name of this number")
        return number, place

    def type(self, at: int, place: int) -> int:
        _, place = self.name_number(place)
        _, place = self.name_number(place)
        self.type_at.append(self.base | at)
        return place + 1

    def variable(self, at: int, place: int) -> int:
        _, place = self.name_number(place)
        _, place = self.name_number(place)
        self.variable_at.append(self.base | at)
        return place

    def code(self, at: int, place: int) -> int:
        flags, place = read_v(self.data, place)
        _, place = self.name_number(place)
        _, place = self.name_number(place)
        qualname, place = self.name_number(place)
        line, place = read_v(self.data, place)
        parameters, place = read_v(self.data, place)
        free, place = read_v(self.data, place)
        count, place = read_v(self.data, place)
        if line > _MAX_LINE or parameters + free + count > len(self.data) - place:
            raise MalformedTrace("a code claims more than there is")
        effort = _FRAME + self._name_size[qualname]
        for _ in range(parameters + free):
            name, place = self.name_number(place)
            effort += self._name_size[name] + 2
        variables: list[int] = []
        for _ in range(count):
            variable, place = read_v(self.data, place)
            if variable >= len(self.variable_at):
                raise MalformedTrace("a code names a global that does not exist")
            variables.append(variable)
        place = skip_text(self.data, place)
        self.code_at.append(self.base | at)
        stepped = bool(flags & f.STEPPED)
        self.codes.append(ScannedCode(parameters + free, stepped, tuple(variables), effort))
        return place
