"""The summary of a regular expression's match: how it is recorded, shown and rebuilt.

If pattern and string are short, the summary is complete: a call with literals for the pattern, the
string and the spans of all groups. Else it has only the texts of the match and its groups. It does
not say which function of `re` made the match; rebuilding tries them all.

Invariant: only exact `str` and `bytes` are read. A rebuilt match has the recorded spans.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

_LONGEST = 300
"""The most characters of pattern and string together; a summary is cut after 400."""
_TEXT = 80
_GROUPS = 16
_FUNCTIONS = ("match", "search", "fullmatch")


@dataclass(frozen=True, slots=True)
class MatchSummary:
    """A complete summary of a match."""

    pattern: Any
    string: Any
    spans: tuple[tuple[int, int], ...]
    names: dict[str, int]
    flags: int
    pos: int
    endpos: int


def text_of(value: re.Match[Any]) -> tuple[str, bool]:
    """The text that is recorded, and whether it is complete."""
    regex, string = value.re, value.string
    pattern = regex.pattern
    if type(string) not in (str, bytes):
        return f"Match(span={value.span()})", False
    # `regs` would be cached in the match.
    spans = tuple(value.span(number) for number in range(regex.groups + 1))
    names = dict(regex.groupindex)
    if type(pattern) in (str, bytes) and len(pattern) + len(string) <= _LONGEST:
        # Every text pattern has this flag.
        flags = int(regex.flags) & ~int(re.UNICODE)
        more = f", names={names}" if names else ""
        more += f", flags={flags}" if flags else ""
        more += f", pos={value.pos}" if value.pos else ""
        more += f", endpos={value.endpos}" if value.endpos != len(string) else ""
        text = f"Match({pattern!r}, {string!r}, {spans}{more})"
        if len(text) <= _LONGEST + _TEXT:
            return text, True
    return _brief(string, spans, names), False


def read(text: str) -> MatchSummary | None:
    """Parse a complete text; None if it is not one. Nothing is run."""
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            return None
        pattern, string, spans = map(ast.literal_eval, call.args)
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        summary = MatchSummary(
            pattern, string, spans, named.get("names", {}), named.get("flags", 0),
            named.get("pos", 0), named.get("endpos", len(string)),
        )  # fmt: skip
        return summary if _is_valid(summary) else None
    except (SyntaxError, ValueError, TypeError, AttributeError, MemoryError, RecursionError):
        return None


def _is_valid(summary: MatchSummary) -> bool:
    """Whether the types are right: a trace may come from anywhere."""
    texts = (type(summary.pattern), type(summary.string))
    numbers = [*summary.names.values(), summary.flags, summary.pos, summary.endpos]
    numbers += [number for span in summary.spans for number in span]
    return (
        texts in ((str, str), (bytes, bytes))
        and all(type(number) is int for number in numbers)
        and len(summary.spans) > 0
        and all(type(span) is tuple and len(span) == 2 for span in summary.spans)
    )


def shown(text: str) -> str:
    """A recorded text as it is shown: what matched, and the groups."""
    summary = read(text)
    return text if summary is None else _brief(summary.string, summary.spans, summary.names)


def rebuild(summary: MatchSummary) -> tuple[re.Match[Any], str] | None:
    """An equal match, and an expression that makes it (with `re` imported); None if no function of
    `re` gives a match with these spans."""
    try:
        regex = re.compile(summary.pattern, summary.flags)
        where = (summary.string, summary.pos, summary.endpos)
        for function in _FUNCTIONS:
            match = getattr(regex, function)(*where)
            if match is not None and match.regs == summary.spans:
                return match, _expression(summary, function)
        for number, match in enumerate(regex.finditer(*where)):
            if match.regs == summary.spans:
                return match, f"[*{_expression(summary, 'finditer')}][{number}]"
    except (re.error, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        pass
    return None


def _expression(summary: MatchSummary, function: str) -> str:
    pattern, string, pos, endpos = summary.pattern, summary.string, summary.pos, summary.endpos
    flags = f", flags={summary.flags}" if summary.flags else ""
    if (pos, endpos) == (0, len(string)):
        return f"re.{function}({_raw(pattern)}, {string!r}{flags})"
    end = f", {endpos}" if endpos != len(string) else ""
    return f"re.compile({_raw(pattern)}{flags}).{function}({string!r}, {pos}{end})"


def _raw(pattern: str | bytes) -> str:
    """The pattern as a raw literal, if a plain one would only escape backslashes."""
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
