"""Programs that do not end, or crash: right answers lead to the function at fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from recorded import BACKENDS

from whence.langs.python.record.backend_choice import NATIVE
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.symptoms.run_symptom import first_answers, summarize_run
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import Call, OutcomeKind
from whence.model.diagnosis import FaultKind
from whence.model.symptom import Symptom, SymptomKind
from whence.model.verdict import Answer, Verdict
from whence.session.engine import step
from whence.session.events import Answered, Ask, Found
from whence.session.state import Options, State
from whence.tree.column_tree import ColumnTree

pytestmark = pytest.mark.skipif(NATIVE not in BACKENDS, reason="only the recorder in C has limits")

RIGHT, WRONG, BAD = Verdict.RIGHT, Verdict.WRONG, Verdict.INADMISSIBLE
Judge = Callable[[Call], Verdict]


@dataclass(frozen=True)
class Program:
    source: str
    judge: Judge
    """What a person who knows the program would say of a call."""
    function: str
    kind: FaultKind
    expected: str | None = None


def given(call: Call, name: str) -> str:
    return next(each.value.text for each in call.arguments if each.name == name)


def ended(call: Call) -> Verdict:
    return WRONG if call.outcome.kind is OutcomeKind.NOT_TERMINATED else RIGHT


PROGRAMS = {
    "infinite recursion": Program(
        "def size(n):\n    return 1 + size(n // 2)\ndef main():\n    return size(8)\nmain()\n",
        lambda call: (
            ended(call) if call.function.short() == "main" or given(call, "n") != "0" else BAD
        ),
        "size",
        FaultKind.BAD_INPUT_PASSED,
    ),
    "endless loop with calls": Program(
        "def next_one(n):\n    return n + 2\ndef search(n):\n    while n != 5:\n"
        "        n = next_one(n)\n    return n\nsearch(0)\n",
        ended,
        "search",
        FaultKind.DID_NOT_END,
    ),
    "endless loop without calls": Program(
        "def start():\n    return 1\ndef spin(n):\n    while n:\n        limit()\nspin(start())\n",
        ended,
        "spin",
        FaultKind.DID_NOT_END,
    ),
    "cycle through two functions": Program(
        "def even(n):\n    return n == 0 or odd(n)\ndef odd(n):\n    return even(n)\n"
        "def main():\n    return even(3)\nmain()\n",
        lambda call: (
            ended(call) if call.function.short() != "odd" or given(call, "n") != "3" else BAD
        ),
        "even",
        FaultKind.BAD_INPUT_PASSED,
    ),
    "index error": Program(
        "def last(items):\n    return items[len(items)]\ndef report(items):\n"
        "    return last(items)\nreport([1, 2])\n",
        lambda call: WRONG,
        "last",
        FaultKind.RAISED,
    ),
    "attribute of None": Program(
        "def find(names, name):\n    if name in names:\n        return names[name]\n"
        "def greet(name):\n    return name.upper()\ndef main():\n"
        "    return greet(find({'a': 'Ada'}, 'b'))\nmain()\n",
        lambda call: {"find": RIGHT, "greet": BAD}.get(call.function.short(), WRONG),
        "main",
        FaultKind.BAD_INPUT_PASSED,
    ),
    "wrong exception": Program(
        "def parse(text):\n    return int(text, 99)\ndef read(text):\n    try:\n"
        "        return parse(text)\n    except KeyError:\n        return 0\nread('x')\n",
        lambda call: WRONG,
        "parse",
        FaultKind.RAISED,
    ),
    "missing exception": Program(
        "def checked(n):\n    return n\ndef half(n):\n    return checked(n) // 2\nhalf(3)\n",
        lambda call: WRONG,
        "checked",
        FaultKind.DID_NOT_RAISE,
        "ValueError('odd')",
    ),
}


class _TooMuch(KeyboardInterrupt):
    """Gets us out of a program that would not end."""


def recorded(folder: Path, source: str) -> ColumnTree:
    from whence.langs.python.record import _recorder

    program, output = folder / "program.py", folder / "run.whence"
    program.write_text(source)
    settings = Settings(str(output), RecordOptions(), UserCodeRules(only=(str(program),)), NATIVE)
    under_way = Recording(settings, ("program.py",))

    def stop(*_: object) -> None:
        under_way.finish(3, "it was stopped")
        raise _TooMuch

    how: tuple[int, object] = (0, 0)
    under_way.start()
    _recorder.limits(60, 2**64 - 1, stop)
    try:
        exec(compile(source, str(program), "exec"), {"__name__": "program", "limit": stop})
    except _TooMuch:
        return open_trace(output)
    except Exception as error:
        how = 1, error
    under_way.finish(*how)
    return open_trace(output)


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_answers_end_at_the_function_at_fault(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    tree = recorded(tmp_path, program.source)
    symptom = summarize_run(tree).default or Symptom(SymptomKind.RESULT)
    known = Options(ask_top=False, confirm_top=False)
    state, outcome = step(State(tree, options=known), Answered(first_answers(tree, symptom)))
    while isinstance(outcome, Ask):
        question = outcome.question
        answer = Answer(question.node, program.judge(question.call), expected=program.expected)
        state, outcome = step(state, Answered((answer,)))
    assert isinstance(outcome, Found), outcome
    diagnosis = outcome.diagnosis
    assert diagnosis.node is not None
    blamed = tree.call(tree.position(diagnosis.node))
    assert (blamed.function.short(), diagnosis.kind) == (program.function, program.kind)
