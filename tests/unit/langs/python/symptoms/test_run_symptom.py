"""What a symptom means in a recording that was really made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorded import environment

from whence.errors import UsageError
from whence.langs.python.record.backend_choice import NATIVE, candidates
from whence.langs.python.symptoms.run_symptom import first_answers, summarize_run
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.symptom import SYMPTOM, Symptom, SymptomKind, parse
from whence.model.verdict import Verdict
from whence.tree.column_tree import ColumnTree

if not any(each.name == NATIVE and each.can_be_used for each in candidates()):
    pytest.skip("the recorder in C is needed", allow_module_level=True)


def recorded(folder: Path, source: str, *words: str) -> ColumnTree:
    (folder / "program.py").write_text(source)
    program = words or ("program.py",)
    subprocess.run(
        [sys.executable, "-m", "whence", "record", "-q", "-o", "t.whence", *program],
        cwd=folder, env=environment(), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return open_trace(folder / "t.whence")


def told(tree: ColumnTree, symptom: Symptom) -> list[str]:
    """The calls that are wrong, with what is marked in them."""
    out = []
    for answer in first_answers(tree, symptom):
        assert (answer.verdict, answer.by) == (Verdict.WRONG, SYMPTOM)
        name = tree.call(tree.position(answer.node)).function.short()
        out.append(f"{name} {answer.mark}" if answer.mark else name)
    return out


DEEP = """
def show(x): print(x)
def work(x):
    for n in range(x): twice(n)
    show(x)
def twice(n): return 2 * n
def main():
    work(3)
    print("done")
main()
"""


def test_who_was_given_nothing_is_wrong_and_the_rest_is_asked(tmp_path: Path) -> None:
    tree = recorded(tmp_path, DEEP)
    assert told(tree, parse("output:1")) == ["program.py printed[0]", "<module>", "main"]


def test_a_line_that_most_of_the_program_printed_is_no_lead(tmp_path: Path) -> None:
    tree = recorded(tmp_path, DEEP)
    assert told(tree, parse("output:2")) == ["program.py", "<module>", "main"]


def test_words_of_a_line_are_marked_whoever_printed_it(tmp_path: Path) -> None:
    tree = recorded(tmp_path, DEEP)
    assert told(tree, parse("output:2:one")) == ["program.py printed[1][1:4]", "<module>", "main"]
    with pytest.raises(UsageError, match="has no part"):
        told(tree, parse("output:2:two"))


def test_who_reads_data_may_have_been_given_something_wrong(tmp_path: Path) -> None:
    tree = recorded(tmp_path, "LIMIT = 3\ndef main(): print(LIMIT)\nmain()\n")
    assert told(tree, parse("output:1")) == ["program.py printed[0]", "<module>"]


def test_without_effects_recorded_nobody_is_known_to_have_read_nothing(tmp_path: Path) -> None:
    tree = recorded(tmp_path, "def main(): 1 // 0\nmain()\n", "--detail", "shallow", "program.py")
    assert told(tree, parse("exception")) == ["program.py result"]


def test_who_raised_the_exception_may_be_right_to(tmp_path: Path) -> None:
    tree = recorded(tmp_path, "def load(): open('nowhere')\ndef main(): load()\nmain()\n")
    assert told(tree, parse("exception")) == ["program.py result", "<module>", "main"]


def test_the_call_of_a_named_function_can_be_what_is_wrong(tmp_path: Path) -> None:
    tree = recorded(tmp_path, DEEP)
    assert told(tree, Symptom(SymptomKind.RESULT, function="twice")) == ["twice"]
    with pytest.raises(UsageError, match="no call of thrice"):
        first_answers(tree, Symptom(SymptomKind.RESULT, function="thrice"))


@pytest.mark.parametrize(
    ("source", "ending", "default", "failed"),
    [
        ("pass", "The program ended.", None, False),
        ("print(1)", "The program ended.", Symptom(SymptomKind.OUTPUT, line=1), False),
        ("print(1); print(2)", "The program ended.", Symptom(SymptomKind.OUTPUT), False),
        ("1 // 0", "The program raised ZeroDivisionError", Symptom(SymptomKind.EXCEPTION), True),
        ("exit(2)", "The program ended with exit status 2.", Symptom(SymptomKind.RESULT), True),
        (
            "def f(): f()\nf()",
            "The program did not end: the recursion limit was reached.",
            Symptom(SymptomKind.NOT_ENDED),
            True,
        ),
        (
            "raise KeyboardInterrupt",
            "The program did not end: it was interrupted (Ctrl-C).",
            Symptom(SymptomKind.NOT_ENDED),
            True,
        ),
    ],
)
def test_what_is_to_be_seen_of_a_run(
    tmp_path: Path, source: str, ending: str, default: Symptom | None, failed: bool
) -> None:
    seen = summarize_run(recorded(tmp_path, source))
    assert seen.ending.startswith(ending)
    assert seen.default == default
    assert seen.failed == failed


def test_of_a_called_function_the_result_is_what_is_seen(tmp_path: Path) -> None:
    source = "def half(n): return n // 2\nhalf(8)\n"
    tree = recorded(tmp_path, source, "--call", "program:half", "9")
    assert summarize_run(tree).ending == "half(n=9) → 4"
    assert told(tree, parse("result")) == ["half"]
    assert told(tree, parse("result")) != told(tree, Symptom(SymptomKind.RESULT, "<module>"))
