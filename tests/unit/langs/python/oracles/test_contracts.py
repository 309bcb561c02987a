"""What stands beside the code: asserts, icontract, deal and `whence.spec` as givers of verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from reference_versions import judged, run_recorded

from whence.langs.python.oracles.contracts import (
    ContractOracle,
    declares,
    equation_at_or_none,
)
from whence.model.call import Call
from whence.model.question import Question
from whence.model.verdict import Verdict
from whence.tree.column_tree import ColumnTree


def verdicts(source: str, folder: Path) -> dict[str, tuple[Verdict | None, str]]:
    """The verdict on the last call of each function, and what it is based on."""
    script = folder / "program.py"
    script.write_text(source)
    tree = run_recorded(script)
    oracle = ContractOracle(tree)
    try:
        return {each.function: (each.verdict, each.why) for each in judged(tree, oracle)}
    finally:
        oracle.close()


ASSERTS = [
    ("assert x > 0", Verdict.INADMISSIBLE),
    ("'Half of it.'\n    assert x, 'none'\n    assert isinstance(x, int) and x > 0",
     Verdict.INADMISSIBLE),
    ("assert isinstance(x, Shape)", Verdict.INADMISSIBLE),
    ("assert enabled", None),
    ("assert x > least", None),
    ("y = x - 1\n    assert y > 0", Verdict.WRONG),
    ("for part in [x]:\n        assert part > 0", None),
    ("y = x\n    assert y > 0", None),
    ("if True:\n        assert x > 0", None),
    ("assert helper(x)", None),
    ("raise AssertionError(x)", None),
    ("y = helper\n    assert (lambda: helper(x))()", None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "verdict"), ASSERTS)
def test_a_failed_assert_is_judged_by_what_it_is_about(
    body: str, verdict: Verdict | None, tmp_path: Path
) -> None:
    source = f"""
enabled = False
least = 3
class Shape: pass
def helper(x):
    raise AssertionError
def f(x):
    {body}
    return x
try:
    f(-1)
except AssertionError:
    pass
"""
    assert verdicts(source, tmp_path)["f"][0] is verdict


def test_conditions_of_icontract_are_evaluated_on_the_recorded_call(tmp_path: Path) -> None:
    source = """
import icontract

@icontract.require(lambda n: n > 0, "n is positive")
def inner(n):
    return n

@icontract.ensure(lambda result, xs: result >= max(xs))
def most(xs):
    return xs[0]

@icontract.ensure(lambda result, xs: result >= max(xs))
def fine(xs):
    return max(xs)

@icontract.snapshot(lambda xs: len(xs), "size")
@icontract.ensure(lambda OLD, xs: len(xs) == OLD.size + 1)
def grow(xs):
    xs.extend([1, 2])

@icontract.invariant(lambda self: self.size >= 0)
class Box:
    def __init__(self):
        self.size = 0
    def take(self):
        self.size -= 1

for step in (lambda: most([1, 2]), lambda: fine([1, 2]), lambda: grow([]), lambda: Box().take()):
    try:
        step()
    except icontract.ViolationError:
        pass
inner.__wrapped__(-1)
"""
    found = verdicts(source, tmp_path)
    assert found["most"][0] is Verdict.WRONG
    assert found["grow"][0] is Verdict.WRONG
    assert found["Box.take"][0] is Verdict.WRONG
    assert found["inner"][0] is Verdict.INADMISSIBLE
    assert "n is positive" in found["inner"][1]
    assert found["fine"] == (None, "")
    assert found["Box.__init__"] == (None, "")


def test_conditions_of_deal_are_evaluated_on_the_recorded_call(tmp_path: Path) -> None:
    source = """
import deal

@deal.post(lambda result: result >= 0)
def size(xs):
    return -len(xs)

@deal.ensure(lambda x, result: result > x)
def more(x):
    return x

@deal.pre(lambda x: x > 0)
def inner(x):
    return x

@deal.post(lambda result: result >= 0)
def fine(x):
    return x

for step in (lambda: size([1]), lambda: more(2), lambda: fine(3)):
    try:
        step()
    except deal.ContractError:
        pass
deal.disable()
inner(-1)
"""
    found = verdicts(source, tmp_path)
    assert found["size"][0] is Verdict.WRONG
    assert found["more"][0] is Verdict.WRONG
    assert found["inner"][0] is Verdict.INADMISSIBLE
    assert found["fine"] == (None, "")


def test_a_spec_is_a_property_or_a_function_that_does_the_same(tmp_path: Path) -> None:
    source = """
import whence

def least(xs):
    return xs[0]

@whence.spec(least)
def _(call):
    return None if call.raised else call.result == min(call.before.xs)

def total(xs):
    return sum(xs[1:])

@whence.spec(total)
def slow_total(xs):
    result = 0
    for x in xs:
        result += x
    return result

def double(xs):
    xs.extend(xs)

@whence.spec(double)
def slow_double(xs):
    xs.extend(list(xs))

def unsure(x):
    return x

@whence.spec(unsure)
def _(call):
    return None

least([3, 1])
total([1, 2])
double([1])
unsure(1)
"""
    found = verdicts(source, tmp_path)
    assert found["least"][0] is Verdict.WRONG
    assert found["total"][0] is Verdict.WRONG
    assert found["double"][0] is Verdict.RIGHT
    assert found["unsure"][0] is None


def test_a_spec_costs_a_program_nothing_but_an_entry(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = """
import sys, whence
before = set(sys.modules)
whence.spec
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name.startswith(("whence", "collections", "typing")) or "." not in name
               for name in done.stdout.split())  # fmt: skip
    assert "numpy" not in done.stdout


def test_what_reaches_beyond_its_process_is_not_evaluated(tmp_path: Path) -> None:
    target = tmp_path / "written"
    source = f"""
import whence

def f(x):
    return x

@whence.spec(f)
def _(call):
    open({str(target)!r}, "w").close()
    return False

f(1)
"""
    assert verdicts(source, tmp_path)["f"][0] is None
    assert not target.exists()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import deal\n", True),
        ("import os, icontract as ic\n", True),
        ("if True:\n    from whence import spec\n", True),
        ("from deal.introspection import get_contracts\n", True),
        ("# an ideal way to deal with it\n", False),
        ("import ideal\nfrom game import deal\n", False),
        ("import os  # deal\n", False),
    ],
)
def test_only_a_program_that_imports_them_declares_contracts(
    tmp_path: Path, source: str, expected: bool
) -> None:
    file = tmp_path / "program.py"
    file.write_text(source)
    assert declares(str(file)) is expected


class _CountingTree(ColumnTree):
    """Counts the calls that are read."""

    reads = 0

    def call(self, position: int) -> Call:
        self.reads += 1
        return super().call(position)


def _counting(source: str, folder: Path) -> _CountingTree:
    script = folder / "program.py"
    script.write_text(source)
    tree = run_recorded(script)
    assert isinstance(tree, ColumnTree)
    counting = _CountingTree.__new__(_CountingTree)
    counting.__dict__.update(tree.__dict__)
    return counting


MANY = """
def one(x):
    if x == {raising}:
        raise ValueError(x)
def f(n):
    for x in range(n):
        try:
            one(x)
        except ValueError:
            pass
    total = len([n])
    {ending}
try:
    f(3000)
except AssertionError:
    pass
"""


@pytest.mark.parametrize(
    ("raising", "ending", "most", "verdict"),
    [
        ("-1", "return total", 0, None),
        ("-1", "assert total == 2", 0, Verdict.WRONG),
        ("7", "assert total == 2", 1, Verdict.WRONG),
        ("x", "assert total == 2", 0, None),
    ],
)
def test_only_the_callees_that_raised_are_read_and_not_too_many(
    raising: str, ending: str, most: int, verdict: Verdict | None, tmp_path: Path
) -> None:
    tree = _counting(MANY.format(raising=raising, ending=ending), tmp_path)
    names = [tree.functions[number].qualname for number in tree.columns.function]
    position = names.index("f")
    question = Question(tree.id(position), tree.call(position), "", "", 1, 1.0, 1)
    tree.reads = 0
    oracle = ContractOracle(tree)
    judgement = oracle.judge(question)
    assert (judgement and judgement.verdict) is verdict
    assert tree.reads <= most


def test_a_call_with_very_many_callees_is_not_compared_with_its_spec(tmp_path: Path) -> None:
    tree = _counting(MANY.format(raising="-1", ending="return total"), tmp_path)
    assert equation_at_or_none(tree, 1, most=3000) is None
    assert equation_at_or_none(tree, 1, most=4000) is not None


def test_of_a_call_with_very_many_records_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
import whence
def f(n):
    for x in range(n):
        print(x)
    return n
f(100)
"""
    monkeypatch.setattr("whence.langs.python.trace.call_recipes.MOST_TEXTS", 50)
    assert verdicts(source, tmp_path)["f"] == (None, "")
