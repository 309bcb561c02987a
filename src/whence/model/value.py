"""Values as a question shows them: a tree of parts, each with an address.

A value is whatever a tracer saw, already cut down to data: whence never holds an object of the
debugged program. The address of a part is a path of *steps*, each the text that selects it in the
program's own notation (`[2]`, `.name`, `['key']`), so that `result[2].name` needs no knowledge of
the language to be understood.

Invariant: the steps of one value's parts are distinct, and `omitted` counts the parts that the
tracer left out after the ones given.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, takewhile
from unicodedata import combining, east_asian_width

from whence.errors import UsageError

Steps = tuple[str, ...]

_QUOTES = "'\""
NOT_RECORDED = "…"
"""Written in place of a part that was not recorded."""
_TABLE = re.compile(r"(?:array|Series)\(")
"""How the text of an array or a series begins."""
_ROOT = re.compile(r"[^\s\[\].]+")


class Kind(Enum):
    """How a value is written: the brackets around its parts."""

    ATOM = "atom"
    LIST = "list"
    TUPLE = "tuple"
    SET = "set"
    DICT = "dict"
    OBJECT = "object"
    TERM = "term"
    SHARED = "same"


_BRACES = "({", "})"
_BRACKETS = {
    Kind.LIST: ("[", "]"),
    Kind.TUPLE: ("(", ")"),
    Kind.SET: ("{", "}"),
    Kind.DICT: ("{", "}"),
    Kind.OBJECT: ("(", ")"),
    Kind.TERM: ("(", ")"),
}


@dataclass(frozen=True, slots=True)
class Value:
    """One value. `text` is an atom's text, an object's type or a term's functor."""

    kind: Kind
    text: str = ""
    parts: tuple[tuple[str, Value], ...] = ()
    omitted: int = 0
    identity: int | None = None
    unused: int = 0
    """How many parts are not given because the call did not use them."""
    brief: str | None = None
    """What is shown in place of the parts of an object of a library; empty if the library only
    keeps it for itself."""

    @property
    def in_place(self) -> str:
        """What is shown in place of the parts."""
        return self.brief or f"<{self.text}>"

    def part(self, steps: Steps) -> Value:
        """The part that a path leads to; `UsageError` if a step selects nothing."""
        value = self
        for step in steps:
            value = value._select(step)
        return value

    def resolve(self, steps: Steps) -> Steps:
        """The same path in the steps' own spelling (a key may be typed without its quotes)."""
        value, spelt = self, []
        for step in steps:
            own = value._spelling(step)
            spelt.append(own)
            value = value._select(own)
        return tuple(spelt)

    def _spelling(self, step: str) -> str:
        text = self._text()
        if text is not None:
            return _span(text, step)
        loose = _loose(step)
        for own, _ in self.parts:
            if own == step:
                return own
        for own, _ in self.parts:
            if _loose(own) == loose:
                return own
        if self._may_have(step):
            return step
        raise UsageError(f"{show(self, BRIEF)} has no part {step}; it has {self._choices()}")

    def _select(self, step: str) -> Value:
        own = self._spelling(step)
        text, letters = self._text(), TEXT_PART.fullmatch(own)
        if text is not None and letters is not None:
            return atom(repr(text[int(letters[1]) : int(letters[2])]))
        return next((value for name, value in self.parts if name == own), atom(NOT_RECORDED))

    def _may_have(self, step: str) -> bool:
        """Whether a part that was not recorded may be there: beyond the last one of a list or dict,
        or in a value of which only a text was recorded, such as an array."""
        if self.kind is Kind.ATOM:
            return self.text == NOT_RECORDED or bool(_TABLE.match(self.text))
        if not self.omitted or step[:1] != "[":
            return False
        if self.kind not in (Kind.LIST, Kind.TUPLE):
            return self.kind in (Kind.DICT, Kind.OBJECT)
        index = step[1:-1]
        return index.isdecimal() and int(index) < len(self.parts) + self.omitted

    def _text(self) -> str | None:
        """The text that this value is, if it is one and known in full."""
        if self.kind is not Kind.ATOM or self.text[:1] not in _QUOTES:
            return None
        try:
            text = ast.literal_eval(self.text)
        except (ValueError, SyntaxError):
            return None
        return text if isinstance(text, str) else None

    def _choices(self) -> str:
        if not self.parts:
            return "parts that were not recorded" if self.omitted else "no parts"
        names = [step for step, _ in self.parts[:6]]
        more = len(self.parts) - len(names)
        return ", ".join(names) + (f" and {more} more" if more else "")

    def paths(self, limit: int = 10_000) -> Iterator[tuple[Steps, Value]]:
        """Every part with its path, nearest first, at most `limit` of them."""
        queue: list[tuple[Steps, Value]] = [((), self)]
        for count, (steps, value) in enumerate(queue):
            if count >= limit:
                return
            yield steps, value
            if len(queue) < limit:
                queue.extend(((*steps, step), part) for step, part in value.parts)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a value is shown: levels of nesting, parts of one value, characters of all.

    `text`: of a longer text the beginning and the end are shown, with a count between them.
    `insides`: whether the parts of objects of libraries are shown.
    """

    depth: int = 4
    parts: int = 12
    characters: int = 300
    text: int = 200
    insides: bool = False


_FEW, _SHORT = 3, 12
BRIEF = Limits(depth=2, parts=4, characters=60)
FULL = Limits(depth=100, parts=10_000, characters=1_000_000, text=1_000_000, insides=True)


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: wide characters take two, accents none."""
    return len(text) if text.isascii() else sum(map(_column_count, text))


def _column_count(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1


def fitting(text: str, width: int) -> int:
    """How many characters at the beginning of a text fit into a width."""
    if text.isascii():
        return min(len(text), width)
    taken = accumulate(map(_column_count, text))
    return sum(1 for _ in takewhile(lambda count: count <= width, taken))


def cut(text: str, width: int) -> str:
    """A text on one line, cut off where it is too long."""
    return text if columns(text) <= width else text[: max(1, fitting(text, width - 1))] + "…"


def atom(text: str) -> Value:
    """A value without parts, written as its language writes it."""
    return Value(Kind.ATOM, text)


_CODE = ("<function ", "<class ", "<module ", "<method ")
_MORE = re.compile(r"…(?:[\d,]+ more)?\Z")


def names_code(value: Value) -> bool:
    """Whether a value is a function, a class or a module: a piece of the program, not data."""
    return value.text.startswith(_CODE)


def is_opaque(value: Value) -> bool:
    """Whether only the type of a value is known, or shown."""
    text = value.text
    if value.brief is not None:
        return value.in_place == f"<{text}>"
    return (
        value.kind is Kind.ATOM
        and text[:1] == "<"
        and text[-1:] == ">"
        and (not names_code(value) and not text.startswith("<unbound"))
    )


def is_cut(value: Value) -> bool:
    """Whether the value itself, apart from its parts, was cut off."""
    if value.omitted > 0 or value.kind is not Kind.ATOM:
        return value.omitted > 0
    is_text = value.text.lstrip("bruf")[:1] in ("'", '"')
    return bool(_MORE.search(value.text)) if is_text else "…" in value.text


def show(value: Value, limits: Limits = Limits()) -> str:
    """The value on one line, with `…` and a count where something was left out."""
    out: list[str] = []
    room = _write(value, limits, limits.depth, limits.characters, out)
    text = "".join(out)
    return text if room >= 0 else text[: limits.characters].rstrip("…") + "…"


_CUT_OFF = re.compile(r"…([\d,]+) more\Z")


def fold_text(text: str, most: int) -> str:
    """A text of about this length; the middle of a longer one is left out and counted."""
    if len(text) <= most:
        return text
    cut = _CUT_OFF.search(text)
    if cut is not None:  # its end was not recorded, so only its beginning is shown
        hidden = cut.start() - most + int(cut[1].replace(",", ""))
        return f"{text[:most]}…{hidden:,} more"
    end = most // 4
    return f"{text[: most - end]}…{len(text) - most:,} more…{text[-end:]}"


def _write(value: Value, limits: Limits, depth: int, room: int, out: list[str]) -> int:
    """Append the value's text and return the room that is left, negative when it ran out."""
    if value.kind is Kind.ATOM:
        text = fold_text(value.text, limits.text)
        out.append(text)
        return room - len(text)
    if value.kind is Kind.SHARED:
        text = f"<same as #{value.identity}>"
        out.append(text)
        return room - len(text)
    if value.brief is not None and not limits.insides:
        out.append(value.in_place)
        return room - len(value.in_place)
    opening, closing = brackets(value)
    head = value.text + opening
    out.append(head)
    room -= len(head) + len(closing)
    if depth <= 0 and value.parts and not _is_small(value):
        text = _telling(value)
        out.append(text)
        room -= len(text) - 1
    else:
        room = _write_parts(value, limits, depth, room, out)
    out.append(closing)
    return room


def _is_small(value: Value) -> bool:
    """Whether a value is so small, like a pair, that an ellipsis would not be shorter."""
    atoms = [part.text for _, part in value.parts if part.kind is Kind.ATOM]
    few = len(value.parts) <= _FEW and len(atoms) == len(value.parts)
    return few and value.kind is not Kind.OBJECT and sum(map(len, atoms)) <= _SHORT


def _telling(value: Value) -> str:
    """What is shown for the parts of a value that is not opened: a text that identifies it."""
    for _, part in value.parts:
        is_text = part.kind is Kind.ATOM and part.text[:1] in _QUOTES
        if value.kind is Kind.OBJECT and is_text and 2 < len(part.text) <= _SHORT * 2:
            return f"{part.text}, …"
    return "…"


def brackets(value: Value) -> tuple[str, str]:
    """The brackets around a value's parts; a kind of dict or set is written with their braces."""
    first = value.parts[0][0] if value.parts else ""
    if value.kind is Kind.OBJECT and first.startswith("["):
        plain = all(step.startswith("[") for step, _ in value.parts)
        if plain and (value.text == "frozenset" or first != "[0]"):
            return _BRACES
    if value.kind is Kind.SET and not value.parts and not value.omitted:
        return "set(", ")"  # empty braces are a dict's
    return _BRACKETS[value.kind]


def shown_parts(value: Value, limits: Limits) -> tuple[tuple[str, Value], ...]:
    """The parts that are shown. Of more than a few, a single one more is, instead of a note."""
    one_more = len(value.parts) == limits.parts + 1 > _FEW + 1 and not value.omitted
    return value.parts if one_more else value.parts[: limits.parts]


def left_out(value: Value, shown: int) -> str:
    """How many parts of a value are not shown, if only so many are; empty if all are."""
    more = len(value.parts) - shown + value.omitted
    counts = [f"…{more} more"] if more else []
    return ", ".join(counts + [f"…{value.unused} not used"] * bool(value.unused))


def _write_parts(value: Value, limits: Limits, depth: int, room: int, out: list[str]) -> int:
    shown = 0
    for step, part in shown_parts(value, limits):
        if room < 0:
            return room
        if shown:
            out.append(", ")
            room -= 2
        label = label_of(value, step, shown)
        out.append(label)
        room = _write(part, limits, depth - 1, room - len(label), out)
        shown += 1
    hidden = left_out(value, shown)
    if hidden:
        text = f", {hidden}" if shown else hidden
        out.append(text)
        room -= len(text)
    elif value.kind is Kind.TUPLE and shown == 1:
        out.append(",")
    return room


def label_of(value: Value, step: str, index: int) -> str:
    """What is written before a part: a name, or a key if that is not its index."""
    kind = value.kind
    if kind is Kind.OBJECT and step.startswith("."):
        return f"{step[1:]}="
    is_keyed = step != f"[{index}]" or brackets(value) == _BRACES
    if kind is Kind.DICT or (kind is Kind.OBJECT and is_keyed and value.text != "frozenset"):
        return f"{step[1:-1]}: "
    return ""


TEXT_PART = re.compile(r"\[(\d+):(\d+)\]")
"""A step to some letters of a text, from one index to another."""


def _span(text: str, step: str) -> str:
    """The step to some letters of a text, which are given by their indices or literally."""
    places = TEXT_PART.fullmatch(step)
    if places is not None and int(places[1]) < int(places[2]) <= len(text):
        return step
    letters = _loose(step)
    if places is None and step[:1] == "[" and letters and letters in text:
        begin = text.index(letters)
        return f"[{begin}:{begin + len(letters)}]"
    shown = cut(repr(text), BRIEF.characters)
    raise UsageError(f"{shown} has no part {step}; name letters of it, as ['{text[:3]}'] or [0:3]")


def _loose(step: str) -> str:
    """A step without the quotes of its key, so that `d[k]` finds `d['k']`."""
    inner = step[1:-1] if step.startswith("[") else step[1:]
    if len(inner) >= 2 and inner[0] == inner[-1] and inner[0] in _QUOTES:
        inner = inner[1:-1]
    return inner


def parse_steps(text: str, start: int) -> Steps:
    """The steps of a path from a position on. What does not parse is a `UsageError`."""
    steps: list[str] = []
    while start < len(text):
        start, step = _parse_step(text, start)
        steps.append(step)
    return tuple(steps)


def parse_path(text: str) -> tuple[str, Steps]:
    """Split `result[2].name` into its root and steps. What does not parse is a `UsageError`."""
    text = text.strip()
    root = _ROOT.match(text)
    if root is None:
        raise UsageError(
            f"{text!r} is not a path: write a name and then parts, as in result[2].name"
        )
    return root.group(), parse_steps(text, root.end())


def _parse_step(text: str, start: int) -> tuple[int, str]:
    if text[start] == ".":
        name = _ROOT.match(text, start + 1)
        if name is None:
            raise UsageError(f"{text!r}: a name must follow the dot at column {start + 1}")
        return name.end(), text[start : name.end()]
    if text[start] != "[":
        raise UsageError(f"{text!r}: expected [ or . at column {start + 1}")
    depth, quote, position = 0, "", start
    while position < len(text):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in _QUOTES:
            quote = character
        elif character in "[({":
            depth += 1
        elif character in "])}":
            depth -= 1
            if depth == 0:
                return position + 1, text[start : position + 1]
        position += 1
    raise UsageError(f"{text!r}: the bracket at column {start + 1} is not closed")
