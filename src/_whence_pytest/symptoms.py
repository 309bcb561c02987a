"""The symptom of a failed test: an assertion with its operands, or else an exception.

Runs after the recording has ended. The only values shown are those of names in the assertion, which
pytest has shown already.
"""

from __future__ import annotations

import ast
import linecache
import reprlib
from dataclasses import replace
from types import FrameType, TracebackType

import pytest

from whence.langs.python.source.assertions import operands_at
from whence.model.symptom import AssertionOperand, FailedAssertion, Symptom, SymptomKind

_REWRITTEN = "@pytest_ar"
"""The name that pytest puts into modules whose assertions it explains."""
_NOT_RAISED = ("DID NOT RAISE", "not raised")
_MOST_LINES = 40


def symptom_of(
    item: pytest.Item, exception: BaseException, traceback: TracebackType, message: str
) -> Symptom:
    """The symptom; `message` is what pytest says of the exception."""
    place = _frame_of_test(item, traceback)
    if place is not None and isinstance(exception, AssertionError | pytest.fail.Exception):
        frame, line, innermost = place
        source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
        first = message.partition("\n")[0]
        operands = operands_at(
            source, line, not_raised=any(words in first for words in _NOT_RAISED)
        )
        if operands or innermost:
            shown = tuple(_with_value(operand, frame) for operand in operands)
            failed = FailedAssertion(
                frame.f_code.co_filename, line, shown, tuple(message.split("\n")[:_MOST_LINES])
            )
            name = frame.f_code.co_qualname
            return Symptom(SymptomKind.ASSERTION, function=name, assertion=failed)
    return Symptom(SymptomKind.EXCEPTION)


def _frame_of_test(
    item: pytest.Item, traceback: TracebackType
) -> tuple[FrameType, int, bool] | None:
    """The innermost frame of the tests' own code, its line, and whether it is the innermost of all.

    unittest and pytest may be below it. If the program is below it, the program raised: None.
    """
    from whence.langs.python.record.user_code import UserCode

    user_code = UserCode()
    place: tuple[FrameType, int, bool] | None = None
    entry: TracebackType | None = traceback
    while entry is not None:
        frame = entry.tb_frame
        of_test = frame.f_code.co_filename == str(item.path) or _REWRITTEN in frame.f_globals
        if of_test:
            place = frame, entry.tb_lineno, entry.tb_next is None
        elif user_code.owns(frame.f_code, frame.f_globals):
            place = None
        entry = entry.tb_next
    return place


def _with_value(operand: AssertionOperand, frame: FrameType) -> AssertionOperand:
    """The operand with its value, where it is a name or a constant."""
    try:
        expression = ast.parse(operand.expression, mode="eval").body
    except SyntaxError:
        return operand
    if isinstance(expression, ast.Name) and expression.id in frame.f_locals:
        try:
            return replace(operand, value=reprlib.repr(frame.f_locals[expression.id]))
        except Exception:  # the program's `__repr__` raised, which pytest has reported
            return operand
    return operand
