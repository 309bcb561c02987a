"""A match of a regular expression by a text: how it is recorded, shown and made again.

If pattern and string are short, the text is a call of literals that says all there is, the spans of
all groups too; else it is what the match and its groups are, which is a part of it. No text says
which function of `re` made the match: that is found out by trying them.

Invariant: only exact `str` and `bytes` are looked into. What was made again has the spans that were
recorded.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

_LONGEST = 300
"""Of pattern and string together; a summary is cut after 400."""
_TEXT = 80
_GROUPS = 16
_WAYS = ("match", "search", "fullmatch")


@dataclass(frozen=True, slots=True)
class Told:
    """All that there is to know of a match."""

    pattern: Any
    string: Any
    spans: tuple[tuple[int, int], ...]
    names: dict[str, int]
    flags: int
    pos: int
    endpos: int


def text_of(value: re.Match[Any]) -> tuple[str, bool]:
    """The text that is recorded, and whether it says all."""
    regex, string = value.re, value.string
    pattern = regex.pattern
    if type(string) not in (str, bytes):
        return f"Match(span={value.span()})", False
    # Not `regs`, which the match would keep.
    spans = tuple(value.span(number) for number in range(regex.groups + 1))
    names = dict(regex.groupindex)
    if type(pattern) in (str, bytes) and len(pattern) + len(string) <= _LONGEST:
        # The flag that a text pattern has anyway says nothing.
        flags = int(regex.flags) & ~int(re.UNICODE)
        more = f", names={names}" if names else ""
        more += f", flags={flags}" if flags else ""
        more += f", pos={value.pos}" if value.pos else ""
        more += f", endpos={value.endpos}" if value.endpos != len(string) else ""
        text = f"Match({pattern!r}, {string!r}, {spans}{more})"
        if len(text) <= _LONGEST + _TEXT:
            return text, True
    return _brief(string, spans, names), False


def read(text: str) -> Told | None:
    """What a text says that says all; None if it does not. Nothing is run."""
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            return None
        pattern, string, spans = map(ast.literal_eval, call.args)
        named = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
        told = Told(
            pattern, string, spans, named.get("names", {}), named.get("flags", 0),
            named.get("pos", 0), named.get("endpos", len(string)),
        )  # fmt: skip
        return told if _is_match(told) else None
    except (SyntaxError, ValueError, TypeError, AttributeError, MemoryError, RecursionError):
        return None


def _is_match(told: Told) -> bool:
    """Whether it can be what a match was told by: a trace may come from anywhere."""
    texts = (type(told.pattern), type(told.string))
    numbers = [*told.names.values(), told.flags, told.pos, told.endpos]
    numbers += [each for span in told.spans for each in span]
    return (
        texts in ((str, str), (bytes, bytes))
        and all(type(each) is int for each in numbers)
        and len(told.spans) > 0
        and all(type(each) is tuple and len(each) == 2 for each in told.spans)
    )


def shown(text: str) -> str:
    """A recorded text as a person needs it: what matched, and the groups."""
    told = read(text)
    return text if told is None else _brief(told.string, told.spans, told.names)


def made(told: Told) -> tuple[re.Match[Any], str] | None:
    """The match once more, and the expression that makes it (`re` being imported); None if no
    function of `re` gives one with these spans."""
    try:
        regex = re.compile(told.pattern, told.flags)
        where = (told.string, told.pos, told.endpos)
        for way in _WAYS:
            found = getattr(regex, way)(*where)
            if found is not None and found.regs == told.spans:
                return found, _written(told, way)
        for number, found in enumerate(regex.finditer(*where)):
            if found.regs == told.spans:
                return found, f"[*{_written(told, 'finditer')}][{number}]"
    except (re.error, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        pass
    return None


def _written(told: Told, way: str) -> str:
    flags = f", flags={told.flags}" if told.flags else ""
    if (told.pos, told.endpos) == (0, len(told.string)):
        return f"re.{way}({_raw(told.pattern)}, {told.string!r}{flags})"
    until = f", {told.endpos}" if told.endpos != len(told.string) else ""
    return f"re.compile({_raw(told.pattern)}{flags}).{way}({told.string!r}, {told.pos}{until})"


def _raw(pattern: str | bytes) -> str:
    """A pattern as people write it, if backslashes are all that a literal would have to escape."""
    text = repr(pattern)
    raw = text.replace("\\\\", "\\")
    plain = raw.replace("\\", "").isprintable() and raw[-2] != "\\"
    return f"r{raw}" if raw != text and plain and ast.literal_eval(f"r{raw}") == pattern else text


def _brief(string: Any, spans: tuple[tuple[int, int], ...], names: dict[str, int]) -> str:
    named = {number: name for name, number in names.items()}
    groups = [
        (repr(named.get(number, number)), _part(string, span))
        for number, span in enumerate(spans[1 : _GROUPS + 1], 1)
    ]
    left = len(spans) - 1 - len(groups)
    more = f", …{left} more" if left else ""
    shown = ""
    if named:
        shown = f", groups={{{', '.join(f'{name}: {part}' for name, part in groups)}{more}}}"
    elif groups:
        comma = "," if len(groups) == 1 else ""
        shown = f", groups=({', '.join(part for _, part in groups)}{comma}{more})"
    return f"Match({_part(string, spans[0])}{shown}, span={spans[0]})"


def _part(string: Any, span: tuple[int, int]) -> str:
    begin, end = span
    if begin < 0:
        return "None"
    cut = "…" if end - begin > _TEXT else ""
    return f"{string[begin : min(end, begin + _TEXT)]!r}{cut}"
