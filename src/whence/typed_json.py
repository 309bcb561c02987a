"""Frozen dataclasses as JSON, read strictly.

A class's annotations are its schema. They may name dataclasses, enums, str, int, float, bool,
tuples, any of these or None, and `int | str`. As text, a value has its name and version with it.

Invariant: a reader is complete when it is made. Reading imports nothing and calls only builtins, so
it works in a program that has replaced parts of the standard library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from json import dumps, loads
from types import NoneType, UnionType
from typing import TypeVar, cast, get_args, get_origin, get_type_hints

from whence.errors import WhenceError

T = TypeVar("T")
_PLAIN = frozenset({str, int, float, bool, NoneType})
Reader = Callable[[object, str], object]
"""Takes JSON data and the path to it, which an error names."""


def to_text(name: str, version: int, value: object) -> str:
    """A value as JSON. Other whences refuse the version if it changed."""
    return dumps({f"whence {name}": version, name: to_data(value)})


def from_text(name: str, version: int, read: Callable[[object, str], T], text: str | bytes) -> T:
    """Read what `to_text` wrote; a `WhenceError` says why it cannot be read."""
    try:
        data = loads(text)
    except (ValueError, RecursionError) as problem:
        raise WhenceError(f"{name}: is not JSON ({problem})") from None
    field = f"whence {name}"
    if not isinstance(data, dict) or field not in data:
        raise WhenceError(f"{name}: is not an {name}")
    if data[field] != version:
        raise WhenceError(f"{name}: has version {data[field]!r}, and this whence reads {version}")
    return read(data.get(name), name)


def to_data(value: object) -> object:
    """What `json.dumps` takes for a value."""
    if type(value) in _PLAIN:
        return value
    if is_dataclass(value):
        return {field.name: to_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [to_data(item) for item in value]
    return value


def reader(kind: type[T]) -> Callable[[object, str], T]:
    """A function that reads what `to_data` wrote of a value of this class."""
    return cast("Callable[[object, str], T]", _reader(kind))


def _reader(kind: object) -> Reader:
    arguments = get_args(kind)
    if NoneType in arguments:
        inner = _reader(next(part for part in arguments if part is not NoneType))
        return lambda data, path: None if data is None else inner(data, path)
    if get_origin(kind) is UnionType:
        return _either(arguments)
    if get_origin(kind) is tuple:
        if arguments[1:] == (...,):
            plain = arguments[0] in _PLAIN and arguments[0] is not float
            return _column(arguments[0]) if plain else _sequence(_reader(arguments[0]))
        return _row([_reader(part) for part in arguments])
    assert isinstance(kind, type), kind
    if is_dataclass(kind):
        return _object(kind)
    if issubclass(kind, Enum):
        return _member(kind)
    return _plain(kind)


def _object(kind: type) -> Reader:
    hints = get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
    required = {
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    }

    def read(data: object, path: str) -> object:
        members = _checked(dict, data, path)
        for name in members:
            if name not in readers:
                raise WhenceError(f"{path}.{name}: is unknown")
        for name in required:
            if name not in members:
                raise WhenceError(f"{path}.{name}: is missing")
        return kind(
            **{name: readers[name](value, f"{path}.{name}") for name, value in members.items()}
        )

    return read


def _sequence(item: Reader) -> Reader:
    def read(data: object, path: str) -> object:
        items = _checked(list, data, path)
        return tuple([item(value, f"{path}[{at}]") for at, value in enumerate(items)])

    return read


def _column(kind: type) -> Reader:
    """Reads many plain values at once."""

    def read(data: object, path: str) -> object:
        items = _checked(list, data, path)
        for at, item in enumerate(items):
            if type(item) is not kind:
                _checked(kind, item, f"{path}[{at}]")
        return tuple(items)

    return read


def _either(kinds: tuple[type, ...]) -> Reader:
    def read(data: object, path: str) -> object:
        if type(data) not in kinds:
            names = " or ".join(kind.__name__ for kind in kinds)
            raise WhenceError(f"{path}: is of type {type(data).__name__}, not {names}")
        return data

    return read


def _row(columns: list[Reader]) -> Reader:
    def read(data: object, path: str) -> object:
        items = _checked(list, data, path)
        if len(items) != len(columns):
            raise WhenceError(f"{path}: has {len(items)} items, not {len(columns)}")
        return tuple([columns[at](value, f"{path}[{at}]") for at, value in enumerate(items)])

    return read


def _member(kind: type[Enum]) -> Reader:
    members = {member.value: member for member in kind}

    def read(data: object, path: str) -> object:
        if type(data) is not str or data not in members:
            raise WhenceError(f"{path}: {data!r} is none of {', '.join(map(repr, members))}")
        return members[data]

    return read


def _plain(kind: type) -> Reader:
    def read(data: object, path: str) -> object:
        if kind is float and type(data) is int:
            return float(data)
        return _checked(kind, data, path)

    return read


def _checked(kind: type[T], data: object, path: str) -> T:
    if type(data) is not kind:
        raise WhenceError(f"{path}: is of type {type(data).__name__}, not {kind.__name__}")
    return data
