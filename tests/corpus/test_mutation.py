"""A few bugs made by a machine in modules that every Python has; tests/soak has many more."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from mutation import DRIVERS, FOUND, KEPT, MISTAKEN, SAME, Subject, debugged, mutants

SOURCE = """
LIMIT = 3 + 4
def f(x, y=1):
    if x < 2 and not y:
        return x + 1
    class Inner:
        def g(self):
            return [k for k in self.items[1:]]
    x = max(x, y)
    return x
"""


def test_a_mutant_changes_one_function_and_nothing_else() -> None:
    found = [(each.function, each.line, each.what) for each in mutants(SOURCE, "f.py")]
    assert found == [
        ("f", 4, "and/or"),
        ("f", 4, "comparison"),
        ("f", 4, "constant"),
        ("f", 4, "missing not"),
        ("f", 5, "result"),
        ("f", 5, "operator"),
        ("f", 5, "constant"),
        ("f.<locals>.Inner.g", 8, "result"),
        ("f.<locals>.Inner.g", 8, "slice"),
        ("f.<locals>.Inner.g", 8, "constant"),
        ("f", 9, "dropped"),
        ("f", 9, "swapped arguments"),
        ("f", 10, "result"),
    ]
    ours = SOURCE.splitlines()
    for each in mutants(SOURCE, "f.py"):
        theirs = each.applied(SOURCE).splitlines()
        lines = range(1, len(ours) + 1)
        assert [n for n in lines if ours[n - 1] != theirs[n - 1]] == [each.line]


@pytest.mark.parametrize("package", ["graphlib"])
def test_a_change_is_found_by_the_module_as_it_was(package: str, tmp_path: Path) -> None:
    [result] = debugged(Subject(package, tmp_path), 1)
    assert result.how == FOUND, f"{result.mutant}: {result.blamed}; {result.why}"


def test_what_came_of_mutants_is_counted_and_a_line_that_was_cut_off_is_not(
    tmp_path: Path,
) -> None:
    bench = runpy.run_path(str(DRIVERS.parent / "mutants.py"))
    common = {"package": "p", "version": "1", "key": "k", "mutant": "m"}
    found = {**common, "how": FOUND, "among": 1, "seconds": 2.0}
    lines = [
        found,
        {**found, "among": 3, "asked": 1},
        {**common, "how": KEPT, "why": "it is too large (4); another reason (1)"},
        {**common, "how": MISTAKEN, "blamed": "g"},
        {**common, "how": SAME},
    ]
    results = tmp_path / "results"
    results.write_text("\n".join(map(json.dumps, lines)) + '\n{"package": "p", "ver')
    told = bench["read"](results)
    assert len(told) == 5
    text = bench["report"](told)
    row = next(line for line in text.splitlines() if line.startswith("| p 1"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["p 1", "5", "4", "2 (50%)", "1", "1", "1", "1", "1.0"]
    assert "- 1 × it is too large\n" in text + "\n"
    assert "- m: g ()" in text
