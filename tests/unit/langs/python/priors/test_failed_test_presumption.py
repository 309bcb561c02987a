from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorded import environment

from whence.langs.python.priors.failed_test_presumption import RunPresumption
from whence.langs.python.trace.trace_reader import open_trace
from whence.ports import Presumed

SHOP = """
def total(items):
    return check(items)
def check(items):
    if not items: raise ValueError("empty")
    return len(items)
"""
TESTS = """
import pytest, shop, unittest
@pytest.fixture
def items():
    return ["pen", "ink"]
def holds(items, count):
    assert shop.total(items) == count
def test_assertion(items):
    holds(items, 3)
def test_exception(items):
    shop.total([])
class Test(unittest.TestCase):
    def setUp(self): self.items = []
    def test_method(self): self.assertEqual(shop.total(self.items), 3)
"""


@pytest.mark.parametrize(
    ("test", "presumed"),
    [
        ("test_assertion", ["test_assertion", "holds"]),
        ("test_exception", ["test_exception"]),
        ("Test::test_method", ["Test.test_method"]),
    ],
)
def test_only_the_test_and_its_helpers_are_presumed_right(
    tmp_path: Path, test: str, presumed: list[str]
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "test_shop.py").write_text(TESTS)
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--whence", f"test_shop.py::{test}"],
        cwd=tmp_path, env=environment(), capture_output=True, timeout=100, check=False,
    )  # fmt: skip
    (recording,) = (tmp_path / ".whence" / "runs").glob("*.whence")
    tree = open_trace(recording)
    levels = RunPresumption().presumed(tree)
    assert set(levels[levels > 0].tolist()) == {Presumed.WHOLE}
    functions = tree.columns.function[levels > 0]
    assert [tree.functions[int(number)].short() for number in functions] == presumed
