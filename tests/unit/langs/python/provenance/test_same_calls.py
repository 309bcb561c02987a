"""No method of the program is called twice, or not at all, because whence wants to know something.

With tags a program prints the same, and calls each of its functions as often as without.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from same_calls import alone, with_tags

from whence.langs.python.provenance.rewriter.rewriting_importer import run_source

PROGRAMS = Path(__file__).parent / "programs"


def test_methods_are_called_as_often_as_without_tags(twin: str) -> None:
    source = (PROGRAMS / "own_methods.py").read_text(encoding="utf-8")
    expected, found = alone(source), with_tags(source)
    assert len(expected.calls) > 400
    differences = {
        case: (calls, found.calls.get(case))
        for case, calls in expected.calls.items()
        if calls != found.calls.get(case)
    }
    assert differences == {}
    assert found.printed == expected.printed


def test_no_method_of_an_object_or_its_class_is_called_more_often_or_less() -> None:
    source = (PROGRAMS / "watched.py").read_text(encoding="utf-8")
    plain: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "program.py", "exec"), plain)
    tagged = run_source(source, "program.py")
    assert _by_operation(tagged["LOG"]) == _by_operation(plain["LOG"])


def _by_operation(log: list[str]) -> dict[str, list[str]]:
    """What was called, by what was done with which object."""
    called: list[str] = []
    found = {"": called}
    for each in log:
        if each.startswith("-- "):
            called = found[each] = []
        else:
            called.append(each)
    return found
