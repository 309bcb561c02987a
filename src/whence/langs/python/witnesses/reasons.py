"""Says why a function is suspicious: what each kind of evidence found, in half a sentence each."""

from __future__ import annotations

from collections.abc import Mapping

from whence.langs.python.witnesses.evidence import Evidence

_MOST = 4


def reasons(evidence: Evidence, terms: Mapping[str, float], witnesses: int) -> tuple[str, ...]:
    """The reasons, the weightiest first; that no passing test ran a line comes before all."""
    only_here = evidence.passing == 0
    ordered = sorted(
        terms, key=lambda name: (not (only_here and name == "spectrum"), -abs(terms[name]))
    )
    texts = (_reason(name, evidence, witnesses) for name in ordered)
    return tuple(text for text in texts if text)[:_MOST]


def _reason(name: str, evidence: Evidence, witnesses: int) -> str:
    match name:
        case "spectrum":
            return _spectrum(evidence, witnesses)
        case "stack":
            return _stack(evidence.stack or 0)
        case "raised":
            return "an exception left it"
        case "operand":
            return _operand(evidence.operand or 0)
        case "depth" if evidence.depth == 0:
            return "the test calls it"
        case "named" if evidence.named >= 1:
            return "the name of the test names it"
        case "lacks":
            return f"the exception says that {evidence.lacks} is missing there"
        case "changed":
            return "its code changed since the last commit, or since tests passed"
        case "age" if evidence.days_old is not None and evidence.days_old < 30:
            return f"its newest line was committed {evidence.days_old:.0f} days ago"
        case "imports":
            return "it ran only while modules were imported"
    return ""


def _spectrum(evidence: Evidence, witnesses: int) -> str:
    assert evidence.passing is not None
    if evidence.passing_calls == 0:
        return f"none of {witnesses} passing tests ran it"
    if evidence.passing == evidence.passing_calls:
        return f"{evidence.passing} of {witnesses} passing tests ran it"
    if evidence.passing == 0:
        return f"no passing test ran line {evidence.rarest}, {evidence.passing_calls} ran others"
    ran = f"{evidence.passing} of {evidence.passing_calls} passing tests that called it"
    return f"{ran} ran line {evidence.rarest}"


def _stack(distance: int) -> str:
    if distance == 0:
        return "the exception left it first"
    return f"it was on the stack of the exception, {_times(distance)} above where it was raised"


def _operand(distance: int) -> str:
    if distance == 0:
        return "it made what the assertion compares"
    return f"it ran {_times(distance)} below the call that made what the assertion compares"


def _times(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
