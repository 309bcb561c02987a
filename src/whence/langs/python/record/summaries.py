"""Short texts for objects whose state cannot be read: dates, decimals, arrays, data frames.

`library_summaries.py` adds those of libraries whose objects hold many others.

A registry from exact types, without their subclasses, to functions that return a text and whether
it is complete. All backends use this registry, so that they record a value in the same way.

Invariants: a summary runs only code of the standard library, numpy and pandas, never that of the
program: of the objects that a value holds, only exact atoms are shown, others by their type. numpy
and pandas are never imported here: if the program has a value of their types, it has imported them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from whence.langs.python.objects.newer_types import LAZY_IMPORTS, SENTINELS
from whence.langs.python.record import matches
from whence.langs.python.record.iterator_summaries import IteratorSummary
from whence.langs.python.record.library_summaries import LIBRARIES, library_summary

Summary = Callable[..., tuple[str, bool]]
"""Returns a text, and whether it is complete: it says all about the object."""

LONGEST = 400
"""The most characters of a summary; a longer one is cut off. More if values are recorded whole."""
_LONGEST_TABLE = 2_000
"""The same for a data frame."""
_HEAD = 16
"""How many items of a long container are shown."""
_ROWS = 8
"""How many rows of a data frame are shown: the same however many columns it has, so that a new
column changes no other."""
_LAST = 2
"""How many elements at the end of an array that is cut off are shown."""
_MEASURED = 10_000
"""The least and the greatest element are looked for in arrays of at most this size."""
_TEXT = 80
# Taken from `type` itself: a class of the program may redefine these names.
_raw_module = type.__dict__["__module__"].__get__
_raw_mro = type.__dict__["__mro__"].__get__
_raw_qualname = type.__dict__["__qualname__"].__get__

_ATOMS = (int, float, complex, bool, type(None), str, bytes)


class Summaries(Mapping[type, Summary]):
    """The registry. Types are compared by identity: their metaclass may define `__hash__`."""

    def __init__(self) -> None:
        # With the type itself: its `id` is unique only while it lives.
        self._known: dict[int, tuple[type, Summary]] = {}
        self._loaders: dict[str, Callable[[Summaries], None]] = {
            "datetime": _load_datetime,
            "decimal": _load_decimal,
            "fractions": _load_fractions,
            "pathlib": _load_pathlib,
            "uuid": _load_uuid,
            "re": _load_re,
            "collections": _load_collections,
            "array": _load_array,
            "zoneinfo": _load_zoneinfo,
            "unittest": _load_unittest,
            "numpy": _load_numpy,
            "pandas": _load_pandas,
        }
        self.register(range, lambda value: (repr(value), True), fixed=True)
        self.register(slice, _slice, fixed=True)
        self.register(memoryview, _memoryview)
        describe = IteratorSummary(atom)
        for kind in IteratorSummary.KINDS:
            self.register(kind, describe)
        for kind in SENTINELS:
            self.register(kind, _sentinel, fixed=True)
        for kind in LAZY_IMPORTS:
            self.register(kind, lambda value: (repr(value), True), fixed=True)

    def register(
        self, kind: type, summary: Summary, fixed: bool = False, takes_size: bool = False
    ) -> None:
        """Record values of exactly this type by this summary.

        `fixed`: values of the type never change, so that a backend reads each only once.
        `takes_size`: the function has a second parameter, about how many characters to return.
        """
        self._known[id(kind)] = (kind, _Checked(summary, fixed, takes_size))

    def find(self, kind: type) -> Summary | None:
        """The summary of a type, if it has one. If it raises, the value counts as opaque."""
        known = self._known.get(id(kind))
        if known is not None:
            return known[1]
        module = _raw_module(kind)
        if type(module) is str:
            loader = self._loaders.get(module.partition(".")[0])
            if loader is not None:
                loader(self)
                known = self._known.get(id(kind))
                if known is not None:
                    return known[1]
            if module.partition(".")[0] in LIBRARIES:
                text = library_summary(kind, atom)
                if text is not None:
                    self.register(kind, text, takes_size=True)
                    return self._known[id(kind)][1]
        if _is_enum(kind):
            return _enum_member
        return None

    def __getitem__(self, kind: type) -> Summary:
        found = self.find(kind)
        if found is None:
            raise KeyError(id(kind))
        return found

    def __iter__(self) -> Iterator[type]:
        return (kind for kind, _ in list(self._known.values()))

    def __len__(self) -> int:
        return len(self._known)


class _Checked:
    """A summary whose result is checked."""

    sized = True
    """Backends pass how many characters of a text they record."""

    def __init__(self, summary: Summary, fixed: bool, takes_size: bool) -> None:
        self._summary = summary
        self._takes_size = takes_size
        self.fixed = fixed

    def __call__(self, value: object, most: int = LONGEST) -> tuple[str, bool]:
        most = max(LONGEST, most)
        text, complete = self._summary(value, most) if self._takes_size else self._summary(value)
        if type(text) is not str or type(complete) is not bool:
            raise TypeError("a summary is a text and whether it is complete")
        most = max(most, _LONGEST_TABLE) if self._takes_size else most
        return (text, complete) if len(text) <= most else (text[:most], False)


def _head(most: int) -> int:
    """How many items are shown in about so many characters."""
    return most * _HEAD // LONGEST


def atom(value: object, longest: int = _TEXT) -> tuple[str, bool]:
    """The `repr` of an exact atom, of a text only the beginning if it is longer than `longest`; of
    anything else its type, which is not complete."""
    kind = type(value)
    if kind not in _ATOMS:
        return f"<{_raw_qualname(kind)}>", False
    if isinstance(value, str | bytes) and len(value) > longest:
        return f"{value[:longest]!r}…", False
    if isinstance(value, int) and value.bit_length() > 4 * _TEXT:
        return f"<int of {value.bit_length()} bits>", False
    return repr(value), True


def listed(values: Iterable[object], count: int, head: int = _HEAD) -> tuple[str, bool]:
    """The first of `count` values, separated by commas."""
    shown, complete = [], count <= head
    longest = max(_TEXT, _TEXT * head // _HEAD)
    for value, _ in zip(values, range(head), strict=False):
        text, whole = atom(value, longest)
        shown.append(text)
        complete = complete and whole
    if count > len(shown):
        shown.append(f"…{count - len(shown)} more")
    return ", ".join(shown), complete


# --- the standard library ------------------------------------------------------------------------


def _is_enum(kind: type) -> bool:
    # `isinstance` would call the metaclass. Only a program with enums has the module.
    enum = sys.modules.get("enum")
    maker = getattr(enum, "EnumType", None)
    return maker is not None and any(base is maker for base in _raw_mro(type(kind)))


def _enum_member(value: object) -> tuple[str, bool]:
    state = object.__getattribute__(value, "__dict__")
    name = state.get("_name_")
    qualname = _raw_qualname(type(value))
    if type(name) is str and name:
        return f"{qualname}.{name}", True
    text, complete = atom(state.get("_value_"))
    return f"{qualname}({text})", complete


def _slice(value: slice) -> tuple[str, bool]:
    parts = [atom(part) for part in (value.start, value.stop, value.step)]
    return f"slice({', '.join(text for text, _ in parts)})", all(whole for _, whole in parts)


def _sentinel(value: Any) -> tuple[str, bool]:
    module, name = value.__module__, value.__name__
    is_named = type(module) is str and module != "__main__"
    return f"{module}.{name}" if is_named else f"{name}", True


def _memoryview(value: memoryview) -> tuple[str, bool]:
    plain = value.ndim == 1 and value.format == "B" and value.contiguous
    head = bytes(value[:_TEXT]) if plain else b""
    complete = plain and value.nbytes <= _TEXT
    return f"memoryview({head!r}, shape={value.shape}, format={value.format!r})", complete


def _load_datetime(registry: Summaries) -> None:
    import datetime

    known_zones: tuple[type, ...] = (type(None), datetime.timezone)

    def with_zone(value: Any) -> tuple[str, bool]:
        zone = value.tzinfo
        module = sys.modules.get("zoneinfo")
        if type(zone) in known_zones or (module and type(zone) is module.ZoneInfo):
            return repr(value), True
        # The `repr` would run code of a time zone that the program defines.
        return f"{value.replace(tzinfo=None)!r} in <{_raw_qualname(type(zone))}>", False

    for kind in (datetime.date, datetime.timedelta, datetime.timezone):
        registry.register(kind, lambda value: (repr(value), True), fixed=True)
    registry.register(datetime.datetime, with_zone, fixed=True)
    registry.register(datetime.time, with_zone, fixed=True)
    del registry._loaders["datetime"]


def _load_zoneinfo(registry: Summaries) -> None:
    module = sys.modules.get("zoneinfo")
    if module is not None and hasattr(module, "ZoneInfo"):
        registry.register(module.ZoneInfo, lambda value: (repr(value), True))
        del registry._loaders["zoneinfo"]


def _load_unittest(registry: Summaries) -> None:
    outcome = getattr(sys.modules.get("unittest.case"), "_Outcome", None)
    if isinstance(outcome, type):
        # Every test case holds one, and it leads to the test runner, such as pytest.
        registry.register(outcome, lambda value: ("_Outcome()", True))
        del registry._loaders["unittest"]


def _load_decimal(registry: Summaries) -> None:
    import decimal

    registry.register(decimal.Decimal, lambda value: (repr(value), True), fixed=True)
    del registry._loaders["decimal"]


def _load_fractions(registry: Summaries) -> None:
    import fractions

    def fraction(value: Any) -> tuple[str, bool]:
        over, complete = atom(value._numerator)
        under, whole = atom(value._denominator)
        return f"Fraction({over}, {under})", complete and whole

    registry.register(fractions.Fraction, fraction, fixed=True)
    del registry._loaders["fractions"]


def _load_pathlib(registry: Summaries) -> None:
    import pathlib

    def path(value: pathlib.PurePath) -> tuple[str, bool]:
        return f"{_raw_qualname(type(value))}({pathlib.PurePath.__str__(value)!r})", True

    for kind in (
        pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath
    ):  # fmt: skip
        registry.register(kind, path, fixed=True)
    del registry._loaders["pathlib"]


def _load_uuid(registry: Summaries) -> None:
    import uuid

    def unique(value: uuid.UUID) -> tuple[str, bool]:
        if type(value.int) is not int:
            raise TypeError("not a UUID as the library makes them")
        return f"UUID({str(value)!r})", True

    registry.register(uuid.UUID, unique, fixed=True)
    del registry._loaders["uuid"]


def _load_re(registry: Summaries) -> None:
    import re

    def pattern(value: re.Pattern[Any], most: int) -> tuple[str, bool]:
        text, complete = atom(value.pattern, most * _TEXT // LONGEST)
        # Every text pattern has this flag.
        flags = int(value.flags) & ~int(re.UNICODE)
        return f"re.compile({text}{f', flags={flags}' if flags else ''})", complete

    registry.register(re.Pattern, pattern, fixed=True, takes_size=True)
    registry.register(re.Match, matches.text_of, fixed=True)
    del registry._loaders["re"]


def _load_collections(registry: Summaries) -> None:
    import collections

    def deque(value: collections.deque[Any], most: int) -> tuple[str, bool]:
        text, complete = listed(value, len(value), _head(most))
        bound = "" if value.maxlen is None else f", maxlen={value.maxlen}"
        return f"deque([{text}]{bound})", complete

    registry.register(collections.deque, deque, takes_size=True)
    del registry._loaders["collections"]


def _load_array(registry: Summaries) -> None:
    import array

    def numbers(value: array.array[Any], most: int) -> tuple[str, bool]:
        text, complete = listed(value[: _head(most)], len(value), _head(most))
        return f"array({value.typecode!r}, [{text}])", complete

    registry.register(array.array, numbers, takes_size=True)
    del registry._loaders["array"]


# --- numpy and pandas ----------------------------------------------------------------------------


def _load_numpy(registry: Summaries) -> None:
    numpy: Any = sys.modules.get("numpy")
    kinds = getattr(numpy, "sctypeDict", None)
    if numpy is None or kinds is None or not hasattr(numpy, "ndarray"):
        return  # it is still being imported
    registry.register(numpy.ndarray, _ndarray, takes_size=True)
    for kind in set(kinds.values()) - {numpy.object_, numpy.void}:
        registry.register(kind, _numpy_scalar)
    del registry._loaders["numpy"]


def _numpy_scalar(value: Any) -> tuple[str, bool]:
    kind = type(value)
    name = _raw_qualname(kind)
    content = value.item()
    if type(content) in _ATOMS:
        text, complete = atom(content)
        return f"{name}({text})", complete
    return f"{name}({str(value)!r})", True


def _ndarray(value: Any, most: int) -> tuple[str, bool]:
    text, complete = _elements(value, _head(most))
    shape = "" if value.ndim == 1 else f", shape={value.shape}"
    extent = _extent(value) if value.size > _head(most) else ""
    return f"array([{text}]{extent}{shape}, dtype={value.dtype.str!r})", complete


def _extent(value: Any) -> str:
    """The last elements of an array of numbers, its least and its greatest one."""
    if value.dtype.kind not in "biuf" or value.size > _MEASURED:
        return ""
    last = ", ".join(map(repr, value.flat[-_LAST:].tolist()))
    return f", last=[{last}], min={value.min().item()!r}, max={value.max().item()!r}"


def _elements(value: Any, most: int) -> tuple[str, bool]:
    """The first elements of an array."""
    if value.dtype.kind not in "biufcSUmMO":  # records and types of other packages
        return f"…{value.size} more" if value.size else "", False
    # Slicing `flat` copies only these elements.
    head = value.flat[:most]
    if value.dtype.kind in "mM":
        return listed(_days(head.astype(str).tolist()), value.size, most)
    return listed(head.tolist(), value.size, most)


def _days(texts: list[str]) -> list[str]:
    """Timestamps as days, if they are all at midnight."""
    at_midnight = all(not text.partition("T")[2].strip("0:.") for text in texts)
    return [text.partition("T")[0] for text in texts] if at_midnight else texts


def _load_pandas(registry: Summaries) -> None:
    pandas: Any = sys.modules.get("pandas")
    if not all(hasattr(pandas, name) for name in ("DataFrame", "Series", "Index", "Timestamp")):
        return  # it is still being imported
    registry.register(pandas.DataFrame, _frame, takes_size=True)
    registry.register(pandas.Series, _series, takes_size=True)
    for name in ("Index", "RangeIndex", "DatetimeIndex", "TimedeltaIndex"):
        registry.register(getattr(pandas, name), _index, takes_size=True)
    for name in ("Timestamp", "Timedelta"):
        registry.register(getattr(pandas, name), lambda value: (repr(value), True))
    del registry._loaders["pandas"]


def _column(values: Any, size: int, most: int) -> tuple[str, bool]:
    """The first elements of a column, if their type is one of numpy or pandas."""
    module = _raw_module(type(values.dtype)).partition(".")[0]
    head = values.iloc[:most] if hasattr(values, "iloc") else values[:most]
    if module == "pandas":
        return listed(head.to_numpy(dtype=object).tolist(), size, most)
    if module != "numpy":
        return f"…{size} more" if size else "", False
    text, complete = _elements(head.to_numpy() if hasattr(head, "iloc") else head.values, most)
    more = f", …{size - most} more" if size > most else ""
    return text + more, complete and not more


def _frame(value: Any, most: int) -> tuple[str, bool]:
    """Its columns, each with the first rows."""
    rows, columns = value.shape
    room, head = max(_LONGEST_TABLE, most), most * _ROWS // LONGEST
    complete, parts = rows <= head, []
    plain = _counts_from_zero(value.index)
    if not plain:
        text, _ = _column(value.index, rows, head)
        parts.append(f"index: {value.index.dtype} [{text}]")
    used = 0
    for number in range(columns):
        column = value.iloc[:head, number]
        name, whole_name = atom(value.columns[number])
        text, whole = _column(column, rows, head)
        part = f"{name}: {column.dtype} [{text}]"
        used += len(part) + 2
        if used > room - 60:
            parts.append(f"…{columns - number} more")
            complete = False
            break
        parts.append(part)
        complete = complete and whole and whole_name
    return f"DataFrame({rows}×{columns}; {'; '.join(parts)})", complete and plain


def _counts_from_zero(index: Any) -> bool:
    """Whether an index is the default one: 0, 1, 2 …"""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _series(value: Any, most: int) -> tuple[str, bool]:
    text, complete = _column(value, len(value), _head(most))
    name, whole = atom(value.name)
    plain = _counts_from_zero(value.index)
    index = ""
    if not plain:
        labels, _ = _column(value.index, len(value), _head(most))
        index = f", index=[{labels}]"
    return (
        f"Series([{text}]{index}, name={name}, dtype={value.dtype})",
        complete and whole and plain,
    )


def _index(value: Any, most: int) -> tuple[str, bool]:
    text, complete = _column(value, len(value), _head(most))
    return f"{_raw_qualname(type(value))}([{text}], dtype={value.dtype})", complete


def can_change(summary: Summary) -> bool:
    """Whether values of the type that the summary is registered for may change."""
    return getattr(summary, "fixed", False) is not True


SUMMARIES = Summaries()


def register_summary(kind: type, summary: Summary) -> None:
    """Record values of exactly this type by `summary(value)`: a text, and whether it is complete.

    The function can run at any point of the program: it must be quick and change nothing, not even
    a cache that the program can see. If it raises, the value is recorded without its content. Texts
    are cut after 400 characters, or later if values are recorded whole.
    """
    if not isinstance(kind, type) or not callable(summary):
        raise TypeError("register_summary takes a class and a function")
    SUMMARIES.register(kind, summary)
