"""Asks what is wrong about a run, before any call is judged.

It shows how the run ended and its output with numbered lines, and asks one question; an empty line
means the most likely symptom. It knows nothing of recordings: the caller gives the ending and the
output.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest

from whence.errors import UsageError
from whence.model.symptom import Symptom, SymptomKind, parse
from whence.model.value import cut
from whence.ui.terminal.screen import Line, Screen, Tone, wrap

_LINE = re.compile(r"(\d+)(?:\s*([:=])(.*))?", re.ASCII)
"""The number of a line, and which words of it are wrong or what it should have been."""
_WORD = re.compile(r"\S+")
_MOST = 14
_HEAD = 4
_LONGEST = 160
_MEANT = {
    SymptomKind.EXCEPTION: "that exception",
    SymptomKind.RESULT: "that result",
    SymptomKind.NOT_ENDED: "that it did not end",
}
_HELP = (
    "Say where the fault shows; the questions start there.",
    "  3               line 3 of what was printed",
    "  3:total         this word of line 3",
    '  3 = "total: 7"  what line 3 should have been',
    "  output          what was printed, in several places",
    "  exception       the exception that ended it",
    "  raises KeyError an exception that is missing",
    "  result          what the function returned, or the exit status",
    "  not-ended       that it did not end",
    "  result[2].name  this part of the result",
    "  n               nothing: whence ends, and the recording is kept",
)


class NobodySaid(Exception):
    """Nobody is there who could say what is wrong."""


def ask(
    screen: Screen,
    ending: str,
    lines: Sequence[str],
    default: Symptom | None,
    accept: Callable[[Symptom], object],
) -> Symptom | None:
    """The symptom, or None if nothing is wrong. `accept` raises `UsageError` for what is not there.

    `ending` says how the run ended, on its first line, and then what is known of why. Raises
    `NobodySaid` if there is nobody to ask.
    """
    first, *more = ending.splitlines()
    screen.say("", Line(first, Tone.TITLE))
    for line in more:
        screen.say(*wrap(line, screen.width))
    if lines:
        screen.say("It printed:", *_number_lines(lines, _MOST))
    choice = [f"Enter: {_meant(default)}"]
    if len(lines) > (default is not None and default.kind is SymptomKind.OUTPUT):
        choice.append(f"1-{len(lines)}: that line" if len(lines) > 1 else "1: that line")
    prompt = f"What is wrong? [{', '.join([*choice, 'n: nothing'])}] "
    while True:
        typed = screen.read(prompt)
        if typed is None:
            raise NobodySaid
        text = typed.strip()
        if text in ("nothing", "n", "q", "quit"):
            return None
        if text in ("all", "more") and lines:
            screen.say(*_number_lines(lines, len(lines)))
            continue
        if text in ("?", "help"):
            screen.say(*_HELP)
            continue
        try:
            symptom = understood(text, default, lines)
            accept(symptom)
        except UsageError as problem:
            screen.warn(f"{problem}. A part is named as in result[2].name; ? tells more.")
        else:
            return symptom


def understood(text: str, default: Symptom | None, lines: Sequence[str]) -> Symptom:
    """The symptom that a typed text means; `UsageError` if it means none."""
    if not text:
        return default or Symptom(SymptomKind.OUTPUT)
    named = _LINE.fullmatch(text)
    if named is None:
        return parse(text)
    line, relation, rest = named[1], named[2] or "", (named[3] or "").strip()
    symptom = parse(f"{SymptomKind.OUTPUT.value}:{line}")
    if relation == ":":
        return replace(symptom, expression=rest)
    if relation == "=" and symptom.line is not None and symptom.line <= len(lines):
        return replace(symptom, expression=_wrong_words(lines[symptom.line - 1], rest))
    return symptom


def _wrong_words(line: str, typed: str) -> str:
    """The first word of a line that should have been another one; empty if a word is missing."""
    expected = typed
    try:
        value = ast.literal_eval(typed)
        expected = value if isinstance(value, str) else typed
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        pass  # as it is: quotes are not needed
    if line == expected:
        raise UsageError("that is what the line is")
    words = list(_WORD.finditer(line))
    pairs = zip_longest(words, _WORD.findall(expected))
    wrong = next((word for word, right in pairs if word is None or word[0] != right), None)
    if wrong is None:
        return ""
    start = wrong.start()
    while start and line.index(line[start : wrong.end()]) != start:
        start -= 1  # a word that is there twice is told by what comes before it
    return line[start : wrong.end()]


def _meant(default: Symptom | None) -> str:
    if default is None:
        return "something else"
    if default.kind is SymptomKind.OUTPUT:
        return "that line" if default.line is not None else "several lines"
    return _MEANT.get(default.kind, "that")


def _number_lines(lines: Sequence[str], most: int) -> list[Line]:
    width = len(str(len(lines)))

    def shown(first: int, stop: int) -> list[Line]:
        return [
            Line(f"  {number:{width}} | {cut(line, _LONGEST)}")
            for number, line in enumerate(lines[first:stop], first + 1)
        ]

    if len(lines) <= most:
        return shown(0, len(lines))
    left = len(lines) - most
    note = Line(f"  … {left:,} more lines; all shows them", Tone.QUIET)
    return [*shown(0, _HEAD), note, *shown(len(lines) - most + _HEAD, len(lines))]
