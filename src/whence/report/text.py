"""The diagnosis as text for a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whence.model.diagnosis import Diagnosis
from whence.report.explanation import Explanation, Row, explain
from whence.report.findings import NOT_ASKED, Findings
from whence.report.source import MOST_LINES, Sources
from whence.session.state import State

_LABEL = 14
_SHORTENED = "  (shortened: report shows all of it)"


@dataclass(frozen=True, slots=True)
class _Size:
    """How much of a diagnosis is shown."""

    source: int
    """The most lines of source."""
    items: int
    """The most items beside a label."""
    rows: int
    """The most rows that an item takes on the screen."""


_SIZES = (
    _Size(MOST_LINES, 10, 6),
    _Size(20, 8, 3),
    _Size(14, 5, 2),
    _Size(10, 4, 2),
    _Size(8, 3, 1),
    _Size(6, 2, 1),
    _Size(4, 1, 1),
)
"""From the longest to the shortest."""


def lines(
    state: State,
    diagnosis: Diagnosis,
    sources: Sources | None = None,
    findings: Findings = NOT_ASKED,
) -> list[str]:
    """The diagnosis, ready to be printed; lines that are known to have run are marked."""
    parts = explain(state, diagnosis, sources or Sources(), findings)
    return [*_beginning(parts, MOST_LINES), *_all_rows(parts), *_end(parts)]


def fitting_lines(
    parts: Explanation, width: int, most: int, wrapped: Callable[[str, int], list[str]]
) -> list[str]:
    """The same in so many rows of a screen. The fault and what is said of it are never shortened,
    however few the rows."""

    def on_screen(texts: list[str], rows: int) -> list[str]:
        out = []
        for text in texts:
            pieces = wrapped(text, width)
            if len(pieces) > rows:
                pieces = [*pieces[: rows - 1], f"{pieces[rows - 1][: width - 2]} …"]
            out += pieces
        return out

    everything = [*_beginning(parts, MOST_LINES), *_all_rows(parts), *_end(parts)]
    out = [piece for text in everything for piece in wrapped(text, width)]
    if len(out) <= most:
        return out
    headline = wrapped(parts.headline, width)
    end = [*(piece for text in _end(parts) for piece in wrapped(text, width)), _SHORTENED]
    room = max(0, most - len(headline) - len(end))
    middle: list[str] = []
    for size in _SIZES:
        middle = on_screen(_beginning(parts, size.source)[1:], 1)
        for label, items in parts.rows:
            more = len(items) - size.items
            shown = items if more <= 1 else [*items[: size.items], f"… and {more} more"]
            middle += on_screen(_labelled((label, shown)), size.rows)
        if len(middle) <= room:
            break
    return [*headline, *middle[:room], *end]


def _beginning(parts: Explanation, most: int) -> list[str]:
    """The headline and the source."""
    out = [parts.headline]
    if parts.source is not None:
        out += [f"  {line}" for line in parts.source.numbered(most)]
    if parts.no_lines:
        out.append(f"  (which lines ran is not known: {parts.no_lines})")
    return out


def _all_rows(parts: Explanation) -> list[str]:
    return [line for row in parts.rows for line in _labelled(row)]


def _end(parts: Explanation) -> list[str]:
    """What is wrong, and what that rests on."""
    sentences = [f"  {sentence}" for sentence in parts.sentences]
    return sentences + _labelled(("But", list(parts.doubts)))


def _labelled(row: Row) -> list[str]:
    """The items below each other, with a label before the first."""
    label, items = row
    return [
        f"  {label if number == 0 else '':{_LABEL}} {item}" for number, item in enumerate(items)
    ]
