"""No method of the program is called twice, or not at all, because whence wants to know something.

With tags a program prints the same, and calls each of its functions as often as without.
"""

from __future__ import annotations

from pathlib import Path

from same_calls import alone, with_tags

OWN_METHODS = Path(__file__).parent / "programs" / "own_methods.py"


def test_methods_are_called_as_often_as_without_tags(twin: str) -> None:
    source = OWN_METHODS.read_text()
    expected, found = alone(source), with_tags(source)
    assert len(expected.calls) > 400
    differences = {
        case: (calls, found.calls.get(case))
        for case, calls in expected.calls.items()
        if calls != found.calls.get(case)
    }
    assert differences == {}
    assert found.printed == expected.printed
