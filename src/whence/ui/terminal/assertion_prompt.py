"""Asks which operand of a failed assertion is wrong: the first question about a test.

Knows how to ask and how an answer is written, not what it leads to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from whence.model.symptom import FailedAssertion
from whence.report.source import from_here
from whence.ui.terminal.screen import Screen

_NONE = ("neither", "none")
_ALL = ("both", "all")
_UNKNOWN = ("?", "")


class Quit(Exception):
    """The person wants to leave."""


def ask_operand(
    screen: Screen, failed: FailedAssertion, statement: str, values: Sequence[str]
) -> FailedAssertion | None:
    """The assertion with the operands that are wrong; None if nobody knows. May raise `Quit`.

    `values` are the operands' values as far as they are known, `statement` its source.
    """
    if not failed.operands:
        return None
    count = len(failed.operands)
    names = ["left", "right"] if count == 2 else [str(n) for n in range(1, count + 1)]
    screen.say("", *_assertion_lines(failed, statement, names, values))
    while True:
        typed = screen.read(f"{_prompt(names)} ")
        if typed is not None and typed.strip() in ("q", "quit"):
            raise Quit
        wrong = None if typed is None else _meant(typed, names)
        if typed is None or wrong == "unknown":
            return None
        if isinstance(wrong, set):
            operands = tuple(
                replace(operand, wrong=name in wrong)
                for name, operand in zip(names, failed.operands, strict=True)
            )
            return replace(failed, operands=operands)
        screen.warn(f"One of {', '.join(_choices(names))}, or ? if you do not know.")


def _assertion_lines(
    failed: FailedAssertion, statement: str, names: Sequence[str], values: Sequence[str]
) -> list[str]:
    lines = [f"The test failed at {from_here(failed.file)}:{failed.line}:"]
    lines += [f"  {line}" for line in statement.splitlines()]
    lines += [f"    {line}" for line in failed.detail]
    width = max(map(len, names), default=0)
    for name, operand, value in zip(names, failed.operands, values, strict=True):
        arrow = f" → {value}" if value and value != operand.expression else ""
        label = f"{name}:".ljust(width + 2) if len(names) > 1 else ""
        lines.append(f"  {label}{' '.join(operand.expression.split())}{arrow}")
    return lines


def _prompt(names: Sequence[str]) -> str:
    if len(names) == 1:
        return "Is that wrong? [y/n/?]"
    which = "Which side" if len(names) == 2 else "Which"
    return f"{which} is wrong? [{'/'.join(_choices(names))}/?]"


def _choices(names: Sequence[str]) -> list[str]:
    if len(names) == 1:
        return ["y", "n"]
    if len(names) == 2:
        return ["l", "r", "both", "neither"]
    return [*names, "all", "none"]


def _meant(typed: str, names: Sequence[str]) -> set[str] | str | None:
    """The names of the wrong operands, the reply that nobody knows, or None for nonsense."""
    text = typed.strip().lower()
    if text in _UNKNOWN:
        return "unknown"
    if len(names) == 1:
        return {"y": set(names), "n": set[str]()}.get(text[:1])
    for replies, meant in ((_NONE, set[str]()), (_ALL, set(names))):
        if any(word.startswith(text) for word in replies):
            return meant
    chosen: set[str] = set()
    for word in filter(None, re.split(r"[\s,]+", text)):
        fitting = [
            name for name in names if name == word or (name.isalpha() and name.startswith(word))
        ]
        if len(fitting) != 1:
            return None
        chosen.add(fitting[0])
    return chosen
