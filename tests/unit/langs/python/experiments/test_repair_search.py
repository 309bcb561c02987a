"""The smallest set of a reference's changes that repairs a program, found by whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from reference_versions import asked_of, blamed, run_recorded

from whence.langs.python.experiments.reference_repair import adopt_repair, find_repair
from whence.langs.python.experiments.repair_search import NoRepair, Repair
from whence.langs.python.oracles.reference_oracle import ReferenceOracle, reference_oracle_for
from whence.model.verdict import Verdict

SCRIPT = "import shop\nprint(shop.total([1, 2, 4]))\nprint(shop.label('a'))\n"
SHOP = """\
RATE = 2
class Line:
    kind = "line"
    def __init__(self, price):
        self.price = price
    def value(self):
        return self.price * RATE
def label(name):
    return "<" + name + ">"
def total(prices):
    lines = [Line(price) for price in prices]
    return sum(line.value() for line in lines)
"""
REWRITTEN = (
    SHOP.replace('"<" + name + ">"', 'f"<{name}>"')
    .replace("self.price = price", "self.price = int(price)")
    .replace('kind = "line"', 'kind = "one line"')
    + "def unused():\n    return 1\n"
)
"""Does the same: a function, a method, a class attribute and a new function differ."""


def pair(folder: Path, own: str, other: str, more: dict[str, str] | None = None) -> ReferenceOracle:
    """A script with a module, recorded, and its reference; `more`: files that only that has."""
    for name, text in (("own", own), ("other", other)):
        (folder / name).mkdir()
        (folder / name / "script.py").write_text(SCRIPT)
        (folder / name / "shop.py").write_text(text)
    for name, text in (more or {}).items():
        (folder / "other" / name).write_text(text)
    tree = run_recorded(folder / "own" / "script.py")
    return reference_oracle_for(tree, str(folder / "other"))


def repair_of(oracle: ReferenceOracle) -> Repair:
    return find_repair(oracle, oracle.test_files)


def names(repair: Repair) -> list[str]:
    return [change.name for change in repair.changes]


def test_of_many_changes_the_one_that_matters_is_found_and_its_call_blamed(tmp_path: Path) -> None:
    # The list keeps a lock, so that no call can be made again elsewhere.
    own = "import threading\n" + SHOP.replace("price * RATE", "price + RATE")
    other = "import threading\n" + REWRITTEN.replace("= int(price)", "= price; self.new = 1")
    oracle = pair(tmp_path, own, other)
    assert oracle.is_undecided
    repair = repair_of(oracle)
    assert names(repair) == ["Line.value (shop.py)"] and repair.is_minimal
    text = adopt_repair(oracle, repair)
    oracle.is_run_wrong = True
    assert text.startswith("With Line.value (shop.py) of the reference it is right")
    assert blamed(oracle.tree, oracle) == "Line.value"
    oracle.close()


def test_a_constant_is_found_and_no_function_is_blamed_for_it(tmp_path: Path) -> None:
    oracle = pair(tmp_path, SHOP.replace("RATE = 2", "RATE = 3"), REWRITTEN)
    repair = repair_of(oracle)
    assert names(repair) == ["RATE (shop.py)"]
    adopt_repair(oracle, repair)
    oracle.is_run_wrong = True
    assert oracle.unchanged() and not {"shop.total", "shop.Line.value"} - set(oracle.unchanged())
    # The body of the module set it.
    calls = [asked_of(oracle.tree, oracle, at) for at in range(1, len(oracle.tree.columns))]
    wrong = {call.function for call in calls if call.verdict is Verdict.WRONG}
    assert "Line.value" not in wrong and "total" not in wrong
    oracle.close()


def test_what_a_change_needs_comes_with_it(tmp_path: Path) -> None:
    other = REWRITTEN.replace("self.price * RATE", "scaled(self.price)").replace(
        "def label", "from rates import times\ndef scaled(x):\n    return times(x, RATE)\ndef label"
    )
    more = {"rates.py": "def times(x, y):\n    return x * y\n", "extra.py": "UNUSED = 1\n"}
    oracle = pair(tmp_path, SHOP.replace("price * RATE", "price + RATE"), other, more)
    repair = repair_of(oracle)
    assert names(repair) == [
        "rates.py", "Line.value (shop.py)", "scaled (shop.py)", "from rates import times (shop.py)",
    ] or set(names(repair)) == {
        "rates.py", "Line.value (shop.py)", "scaled (shop.py)", "from rates import times (shop.py)",
    }  # fmt: skip
    assert [change.name for change in repair.causes] == ["Line.value (shop.py)"]
    oracle.close()


def test_changes_that_only_help_together_are_one_cause(tmp_path: Path) -> None:
    own = SHOP.replace("[Line(price)", "[Line((price, 2))").replace("price * RATE", "price[0] + 1")
    oracle = pair(tmp_path, own, REWRITTEN)
    assert names(repair_of(oracle)) == ["Line.value (shop.py)", "total (shop.py)"]
    oracle.close()


@pytest.mark.parametrize(
    ("own", "other", "why"),
    [
        (SHOP, REWRITTEN, "does what the reference does"),
        (SHOP.replace("* RATE", "+ RATE"), "import missing_module\n" + SHOP, "ModuleNotFound"),
        (
            "import os, time\n" + SHOP.replace("* RATE", "* (time.time_ns() // 100 % 1000)"),
            "import os, time\n" + SHOP,
            "does not show each time",
        ),
    ],
    ids=["alike", "not importable", "flaky"],
)
def test_without_a_repair_the_reason_is_said(
    tmp_path: Path, own: str, other: str, why: str
) -> None:
    oracle = pair(tmp_path, own, other)
    with pytest.raises(NoRepair, match=why):
        repair_of(oracle)
    oracle.close()


def test_equal_versions_have_no_changes(tmp_path: Path) -> None:
    oracle = pair(tmp_path, SHOP, SHOP)
    with pytest.raises(NoRepair, match="the versions do not differ"):
        repair_of(oracle)
    oracle.close()
