"""The diagnosis as text for a person."""

from __future__ import annotations

from whence.model.diagnosis import Diagnosis
from whence.report.explanation import Row, explain
from whence.report.findings import NOT_ASKED, Findings
from whence.report.source import MOST_LINES, Sources
from whence.session.state import State

_LABEL = 14


def lines(
    state: State,
    diagnosis: Diagnosis,
    sources: Sources | None = None,
    findings: Findings = NOT_ASKED,
) -> list[str]:
    """The diagnosis, ready to be printed; lines that are known to have run are marked."""
    parts = explain(state, diagnosis, sources or Sources(), findings)
    out = [parts.headline]
    if parts.source is not None:
        out += [f"  {line}" for line in parts.source.numbered(MOST_LINES)]
    if parts.no_lines:
        out.append(f"  (which lines ran is not known: {parts.no_lines})")
    for row in parts.rows:
        out += _labelled(row)
    out += [f"  {sentence}" for sentence in parts.sentences]
    return out + _labelled(("But", list(parts.doubts)))


def _labelled(row: Row) -> list[str]:
    """The items below each other, with a label before the first."""
    label, items = row
    return [
        f"  {label if number == 0 else '':{_LABEL}} {item}" for number, item in enumerate(items)
    ]
