"""A small writer of whole traces for the tests of this folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.langs.python.trace.trace_reader import open_trace
from whence.tree.column_tree import ColumnTree


class TraceMaker:
    """Writes records by name; tables are filled as they are needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: dict[str, Any] = {"root": "run.py", "options": {"detail": "full"}}
        self.out = bytearray()
        self.pages: list[bytes] = []
        self.calls = 1
        self._names: dict[str, int] = {}
        self._types: dict[str, int] = {}
        self._variables: dict[str, int] = {}
        self._codes = 0
        self.roots = w.RootNumbering()

    def name(self, text: str) -> int:
        if text not in self._names:
            w.add_name(self.out, text)
            self._names[text] = len(self._names)
        return self._names[text]

    def type(self, qualname: str, module: str = "run") -> int:
        if qualname not in self._types:
            numbers = self.name(module), self.name(qualname)
            w.add_type(self.out, *numbers, f.USER_TYPE)
            self._types[qualname] = len(self._types)
        return self._types[qualname]

    def variable(self, name: str) -> int:
        if name not in self._variables:
            numbers = self.name("run"), self.name(name)
            w.add_record(self.out, f.VARIABLE, *numbers)
            self._variables[name] = len(self._variables)
        return self._variables[name]

    def code(
        self,
        qualname: str,
        parameters: Sequence[str] = (),
        free: Sequence[str] = (),
        variables: Sequence[str] = (),
        *,
        flags: int = 0,
        line: int = 1,
        line_table: bytes = b"",
        file: str = "/x/run.py",
    ) -> int:
        place = self.name(file), self.name("run"), self.name(qualname), line
        inputs = [self.name(each) for each in parameters], [self.name(each) for each in free]
        numbers = [self.variable(each) for each in variables]
        w.add_code(self.out, flags, place, inputs, numbers, line_table)
        self._codes += 1
        return self._codes - 1

    def call(self, code: int, *values: bytes, parent: int | None = None, site: int = 0) -> int:
        above = self.calls - 1 if parent is None else parent
        w.add_record(self.out, f.CALL, self.calls - above, code, site)
        for value in values:
            self.roots.add(self.out, value)
        self.calls += 1
        return self.calls - 1

    def of(self, record: int, call: int, *fields: int, value: bytes | None = None) -> None:
        """A record of a call; `fields` are what follows the distance."""
        w.add_record(self.out, record, self.calls - call, *fields)
        if value is not None:
            self.roots.add(self.out, value)

    def resume(self, call: int, by: int = 0) -> None:
        self.of(f.RESUME, call, self.calls - by)

    def set(self, variable: str, value: bytes) -> None:
        number = self.variable(variable)
        w.add_record(self.out, f.GLOBAL, number)
        self.roots.add(self.out, value)

    def end(self) -> None:
        w.add_record(self.out, f.END, f.ENDED)
        self.out.append(f.NONE)

    def flush(self) -> None:
        self.pages.append(w.page_bytes(self.out))
        self.out.clear()

    def bytes(self) -> bytes:
        if self.out:
            self.flush()
        return w.header_bytes(self.header) + b"".join(self.pages)

    def open(self) -> ColumnTree:
        self.path.write_bytes(self.bytes())
        return open_trace(self.path)


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TraceMaker:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return TraceMaker(tmp_path / "run.whence")


def whole(number: int) -> bytes:
    out = bytearray()
    w.add_whole(out, number)
    return bytes(out)


def text(string: str, most: int | None = None) -> bytes:
    out = bytearray()
    w.add_string(out, string, most)
    return bytes(out)


def container(kind: int, *items: bytes, more: int = 0) -> bytes:
    out = bytearray()
    w.add_record(
        out,
        kind,
        len(items) // (2 if kind == f.DICT else 1) + more,
        len(items) // (2 if kind == f.DICT else 1),
    )
    return bytes(out) + b"".join(items)


def numbers(*items: int) -> bytes:
    return container(f.LIST, *map(whole, items))


@pytest.fixture
def encode() -> dict[str, Callable[..., bytes]]:
    return {"whole": whole, "text": text, "container": container, "numbers": numbers}
