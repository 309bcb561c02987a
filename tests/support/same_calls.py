"""Checks that a program makes the same calls with tags as without."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from types import CodeType, FrameType

from whence.langs.python.provenance.rewriter.rewriting_importer import run_source
from whence.langs.python.provenance.tags import Activation
from whence.langs.python.record.code_reader import is_transparent

FILE = "program.py"
CASE = "case_"
_STEPPED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass
class Behaviour:
    """What a program did: what it printed, and which of its functions each of its cases called.

    A case is a function whose name begins so; all else is of the case that was begun last. Of
    generators and coroutines only what they call counts, and so it is with the bodies of classes.
    """

    calls: dict[str, Counter[str]] = field(default_factory=dict)
    printed: str = ""
    _case: str = ""

    def note(self, name: str) -> None:
        """A function was called."""
        if name.startswith(CASE):
            self._case = name
        self.calls.setdefault(self._case, Counter())[name] += 1

    def ended(self, output: io.StringIO) -> None:
        """Take what was printed, without addresses."""
        self.printed = re.sub(r"0x[0-9a-f]+", "0x…", output.getvalue())


def alone(source: str) -> Behaviour:
    """What a program does when it runs as it is."""
    found = Behaviour()

    def called(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename == FILE and _is_plain_function(code):
            found.note(code.co_qualname)

    code = compile(source, FILE, "exec")
    output = io.StringIO()
    before = sys.getprofile()
    with contextlib.redirect_stdout(output):
        sys.setprofile(called)
        try:
            exec(code, {"__name__": "__main__"})
        finally:
            sys.setprofile(before)
    found.ended(output)
    return found


def with_tags(source: str) -> Behaviour:
    """What it does when all that it computes carries tags."""
    found = Behaviour()
    functions = {each.co_qualname for each in _codes(compile(source, FILE, "exec"))}

    def entered(activation: Activation) -> None:
        if activation.name in functions:
            found.note(activation.name)

    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        run_source(source, FILE, on_enter=entered)
    found.ended(output)
    return found


def _is_plain_function(code: CodeType) -> bool:
    is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_flags & _STEPPED
    return bool(is_function) and not is_transparent(code)


def _codes(code: CodeType) -> list[CodeType]:
    """The plain functions of a program."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    own = [code] if _is_plain_function(code) else []
    return own + [found for each in inner for found in _codes(each)]
