"""What is wrong about a run, as its user sees it before any call is judged.

A symptom comes from the command line (`--wrong`), from a person who was asked, or from a failed
test. It names what anybody can see: an exception, a line of output, a result, an operand of an
assertion. Which calls are wrong because of it is decided elsewhere.

Symptoms are stored beside recordings, as JSON; what is read from there is checked, never executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from whence.errors import UsageError, WhenceError

SYMPTOM = "symptom"
"""The name under which answers that follow from a symptom are given."""


class SymptomKind(Enum):
    """Where the fault shows."""

    EXCEPTION = "exception"
    """The exception that ended the program, or left the call."""
    RESULT = "result"
    OUTPUT = "output"
    """What was printed; `Symptom.line` says which line of it, counted from 1, if that is known, and
    `Symptom.expression` which words of that line."""
    ASSERTION = "assertion"
    """`Symptom.assertion` says which one, and has its operands."""
    EXPRESSION = "expression"
    """A part of what the call returned or changed: `Symptom.expression` is the text of a mark."""
    NOT_ENDED = "not ended"
    """The run was stopped because it did not end."""


@dataclass(frozen=True, slots=True)
class AssertionOperand:
    """A side of an assertion: its expression as written, and its value as shown."""

    expression: str
    value: str = ""
    span: tuple[int, int, int, int] | None = None
    """Its span in the file, as `ast` counts: line, column, last line, column after it."""
    wrong: bool | None = None
    """Whether the user said that it is wrong."""


@dataclass(frozen=True, slots=True)
class FailedAssertion:
    """An assertion that failed."""

    file: str
    line: int
    operands: tuple[AssertionOperand, ...] = ()
    detail: tuple[str, ...] = ()
    """The lines in which the test framework explains the failure."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """What is wrong, and in which function's call it shows, by its qualified name ("": the top)."""

    kind: SymptomKind
    function: str = ""
    line: int | None = None
    expression: str = ""
    assertion: FailedAssertion | None = None


def parse(text: str) -> Symptom:
    """The symptom that a person names: its kind, `output:LINE:WORDS`, or the path of a part."""
    name = text.strip()
    kind, colon, rest = name.partition(":")
    if kind == SymptomKind.OUTPUT.value and colon:
        line, _, wrong = rest.partition(":")
        if not line.strip().isdecimal() or int(line) < 1:
            raise UsageError(f"{name}: a line of the output is named by its number, as output:3")
        return Symptom(SymptomKind.OUTPUT, line=int(line), expression=wrong)
    if name.replace("-", " ") in _NAMED:
        return Symptom(_NAMED[name.replace("-", " ")])
    if not name:
        raise UsageError(f"what is wrong is one of {', '.join(_NAMED)}, or a part as result[2]")
    return Symptom(SymptomKind.EXPRESSION, expression=name)


_NAMED = {
    kind.value: kind
    for kind in (
        SymptomKind.EXCEPTION,
        SymptomKind.RESULT,
        SymptomKind.OUTPUT,
        SymptomKind.NOT_ENDED,
    )
}


def to_json(symptom: Symptom) -> dict[str, Any]:
    """The symptom as a JSON object; unknown fields are left out."""
    record: dict[str, Any] = {"kind": symptom.kind.value}
    if symptom.function:
        record["function"] = symptom.function
    if symptom.line is not None:
        record["line"] = symptom.line
    if symptom.expression:
        record["expression"] = symptom.expression
    if symptom.assertion is not None:
        failed = symptom.assertion
        record["assertion"] = {
            "file": failed.file,
            "line": failed.line,
            "operands": [_operand_to_json(operand) for operand in failed.operands],
            "detail": list(failed.detail),
        }
    return record


def _operand_to_json(operand: AssertionOperand) -> dict[str, Any]:
    record: dict[str, Any] = {"expression": operand.expression}
    if operand.value:
        record["value"] = operand.value
    if operand.span is not None:
        record["span"] = list(operand.span)
    if operand.wrong is not None:
        record["wrong"] = operand.wrong
    return record


def from_json(record: object) -> Symptom:
    """The symptom that `to_json` wrote; `WhenceError` if it is not one."""
    fields = _object(record)
    try:
        kind = SymptomKind(fields.get("kind"))
    except ValueError:
        raise _malformed(f"of an unknown kind, {fields.get('kind')!r}") from None
    failed = fields.get("assertion")
    return Symptom(
        kind,
        function=_text(fields, "function"),
        line=None if fields.get("line") is None else _number(fields, "line"),
        expression=_text(fields, "expression"),
        assertion=None if failed is None else _assertion(_object(failed)),
    )


def _assertion(fields: Mapping[str, Any]) -> FailedAssertion:
    detail = _list(fields, "detail")
    if not all(isinstance(line, str) for line in detail):
        raise _malformed("whose detail is no list of lines")
    operands = tuple(_operand(_object(operand)) for operand in _list(fields, "operands"))
    return FailedAssertion(_text(fields, "file"), _number(fields, "line"), operands, tuple(detail))


def _operand(fields: Mapping[str, Any]) -> AssertionOperand:
    span, wrong = fields.get("span"), fields.get("wrong")
    if span is not None and not (
        isinstance(span, list) and len(span) == 4 and all(type(number) is int for number in span)
    ):
        raise _malformed("with a span that is not four numbers")
    if wrong is not None and not isinstance(wrong, bool):
        raise _malformed("with a `wrong` that is neither true nor false")
    where = None if span is None else (span[0], span[1], span[2], span[3])
    return AssertionOperand(_text(fields, "expression"), _text(fields, "value"), where, wrong)


def _object(record: object) -> Mapping[str, Any]:
    if not isinstance(record, dict):
        raise _malformed("that is no JSON object")
    return record


def _text(fields: Mapping[str, Any], name: str) -> str:
    text = fields.get(name, "")
    if not isinstance(text, str):
        raise _malformed(f"whose {name} is no text")
    return text


def _number(fields: Mapping[str, Any], name: str) -> int:
    number = fields.get(name)
    if type(number) is not int or number < 1:
        raise _malformed(f"whose {name} is no line number")
    return number


def _list(fields: Mapping[str, Any], name: str) -> list[Any]:
    items = fields.get(name, [])
    if not isinstance(items, list):
        raise _malformed(f"whose {name} is no list")
    return items


def _malformed(what: str) -> WhenceError:
    return WhenceError(f"a symptom {what}")
