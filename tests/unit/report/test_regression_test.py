"""Tests that whence writes, really run: they fail on a buggy program and pass on its repaired twin.

Each case is a module in which `BUG` stands where the repaired twin has `FIX`. All modules are run
and recorded by one program, and all tests that are written run in one pytest for each twin.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from whence.app.frontends import open_any
from whence.errors import UsageError, WhenceError
from whence.langs.python.frontend import source_files
from whence.langs.python.rebuilding.recorded_test import PythonTestWriter
from whence.langs.python.replay.rerun_process import trace_of
from whence.langs.python.trace.trace_reader import recording_summary
from whence.model.call import Call, Function, Mark, Outcome, OutcomeKind, Rule, find_mark
from whence.model.diagnosis import Diagnosis, Status
from whence.model.verdict import Answer, Verdict
from whence.ports import Tree
from whence.report.regression_test import RegressionTest, regression_test, write_test
from whence.session.state import Facts, State
from whence.tree.column_tree import ColumnTree, Node, tree_of
from whence.tree.readable_call import readable_call


@dataclass(frozen=True)
class Case:
    """A program; `bug` becomes `fix`. `function` is at fault; `says` must stand in its test."""

    text: str
    bug: str
    fix: str
    function: str
    says: str
    mark: str = ""
    expected: str | None = None
    which: int = -1


CASES = {
    "literals": Case(
        "def begun(grams):\n    return grams // 1000\n\ndef run():\n    begun(700)\n",
        "grams // 1000", "-(-grams // 1000)", "begun", "assert begun(700) == 1", expected="1",
    ),
    "not_the_wrong_one": Case(
        "def double(xs):\n    return [2 * x for x in xs[1:]]\n\ndef run():\n    double([1, 2])\n",
        "xs[1:]", "xs", "double", "assert result != [4]",
    ),
    "a_dataclass": Case(
        """
from dataclasses import dataclass, field

@dataclass
class Parcel:
    weight: int
    to: str = "Bonn"
    tags: list = field(default_factory=list)

def heaviest(parcels):
    return min(parcels, key=lambda p: p.weight)

def run():
    heaviest([Parcel(3), Parcel(5, "Ulm", ["x"])])
""",
        "min(", "max(", "heaviest",
        'result = heaviest([Parcel(weight=3), Parcel(weight=5, to="Ulm", tags=["x"])])',
        expected="Parcel(5, 'Ulm', ['x'])",
    ),
    "a_method_with_an_effect": Case(
        """
class Shop:
    def __init__(self, name, limit=10):
        self.name = name
        self.limit = limit
        self.items = []

    def add(self, item):
        self.items.insert(0, item)

def run():
    shop = Shop("corner")
    shop.add("tea")
    shop.add("milk")
""",
        "insert(0, item)", "append(item)", "Shop.add", 'shop = Shop(name="corner")',
    ),
    "a_marked_effect": Case(
        """
def fill(table, key):
    table[key] = len(table)

def run():
    fill({"a": 0}, "b")
""",
        "len(table)", "len(table) + 1", "fill", "assert table['b'] == 2", "table['b']", "2",
    ),
    "an_exception": Case(
        "def first(xs):\n    return xs[1]\n\ndef run():\n    first([4])\n",
        "xs[1]", "xs[0]", "first", "# It raised IndexError, which it should not.",
    ),
    "an_expected_exception": Case(
        """
def age(text):
    if int(text) < -1:
        raise ValueError("too young")
    return int(text)

def run():
    age("-1")
""",
        "< -1", "< 0", "age", 'with pytest.raises(ValueError, match="too\\\\ young"):',
        expected="ValueError('too young')",
    ),
    "a_constructor_that_computes": Case(
        """
class Account:
    def __init__(self, entries):
        self.balance = sum(entries)
        self.count = len(entries)

    def mean(self):
        return self.balance // self.count + 1

def run():
    Account([1, 2, 3]).mean()
""",
        " + 1", "", "Account.mean", "account = Account(entries=[1, 2, 3])",
    ),
    "raw_state": Case(
        """
class Account:
    @classmethod
    def of(cls, entries):
        account = cls.__new__(cls)
        account.balance = sum(entries)
        account.count = len(entries)
        return account

    def __init__(self, path):
        self.balance, self.count = map(int, open(path))

    def mean(self):
        return self.balance // self.count + 1

def run():
    Account.of([1, 2, 3]).mean()
""",
        " + 1", "", "Account.mean", "account = object.__new__(Account)",
    ),
    "a_changed_object": Case(
        """
import threading

class Customer:
    def __init__(self, name, *tags):
        self.name = name.title()
        self.tags = list(tags)
        self.lock = threading.Lock()
        self.spent = 0

def discount(customer, other):
    return customer.spent // 10 + 1

def run():
    customer, _ = Customer("ada", "x"), Customer("bob", "y", "z")
    customer.spent = 30
    discount(customer, customer)
""",
        " + 1", "", "discount",
        'customer = Customer("ada", "x")\n    customer.spent = 30\n'
        "    assert discount(customer, customer) == 3",
        expected="3",
    ),
    "equal_literals": Case(
        """
def is_other(one, other):
    return one is not other

def run():
    is_other("".join(["a", "b"]), "".join(["a", "b"]))
""",
        "is not", "!=", "is_other", 'is_other("ab", "".join("ab")) is False', expected="False",
    ),
    "a_wrong_constant": Case(
        """
RATES = dict(a=2)

def cost(kind, count):
    return RATES[kind] * count

def run():
    cost("a", 5)
""",
        "dict(a=2)", "dict(a=3)", "cost", 'assert cost("a", 5) == 15', expected="15",
    ),
    "an_exception_with_its_own_text": Case(
        """
class NotThere(Exception):
    def __str__(self):
        return f"{self.args[0]} is not there"

def lookup(table, key):
    return table.get(key)

def run():
    lookup({"a": 1}, "b")
""",
        "    return table.get(key)", "    if key not in table: raise NotThere(key)", "lookup",
        "with pytest.raises(NotThere):", expected="NotThere('key')",
    ),
    "dates_and_others": Case(
        """
import datetime
import enum
import pathlib
from decimal import Decimal

class Color(enum.Enum):
    RED = 1
    BLUE = 2

class Way(enum.Flag):
    AIR = 1
    SEA = 2

def price(day, color, path, amount, ways=Way.AIR):
    if day.weekday() > 5 and color is Color.RED and path.suffix == ".txt":
        return amount * 2
    return amount

def run():
    price(datetime.date(2024, 5, 4), Color.RED, pathlib.Path("a.txt"), Decimal("1.50"),
          Way.AIR | Way.SEA)
""",
        "> 5", "> 4", "price",
        "        path=Path('a.txt'),\n        amount=Decimal('1.50'),\n"
        "        ways=Way.AIR | Way.SEA,\n",
    ),
    "a_shared_list": Case(
        """
def total(rows):
    return sum(map(sum, rows[1:]))

def run():
    row = [1, 2]
    total([row, row])
""",
        "rows[1:]", "rows", "total", "items = [1, 2]", expected="6",
    ),
    "shared_objects": Case(
        """
from dataclasses import dataclass

@dataclass
class Node:
    value: int
    next: object = None

def total(one, other):
    one.value += 1
    return one.value + other.value - 1

def run():
    node = Node(3)
    total(node, node)
""",
        " - 1", "", "total", "one = Node(value=3)\n    assert total(one, one) == 8", expected="8",
    ),
    "a_cycle": Case(
        """
class Node:
    def __init__(self, name, parent=None):
        self.name = name
        self.parent = parent
        self.children = []
        if parent:
            parent.children.append(self)

def depth(node):
    return 1 if node.parent else 0 if node.name else depth(node.parent)

def run():
    depth(Node("leaf", Node("top")))
""",
        "1 if node.parent else 0", "2 if node.parent else 0", "depth",
        "node = object.__new__(Node)",
    ),
    "a_generator": Case(
        """
def evens(numbers):
    for n in numbers:
        if n % 2:
            yield n

def run():
    list(evens([1, 2, 3]))
""",
        "if n % 2:", "if n % 2 == 0:", "evens", "list(evens([1, 2, 3])) == [2]", expected="[2]",
    ),
    "a_coroutine": Case(
        """
import asyncio

async def add(a, b, *, times=1):
    return (a - b) * times

def run():
    asyncio.run(add(1, 2, times=3))
""",
        "a - b", "a + b", "add", "asyncio.run(add(1, 2, times=3)) == 9", expected="9",
    ),
    "module_state": Case(
        """
RATES = {"a": 1}
LIMIT = 5

def cost(kind):
    return RATES[kind] + LIMIT - 1

def run():
    RATES["b"] = 7
    cost("b")
""",
        " - 1", "", "cost", 'monkeypatch.setattr(module_state, "RATES", {"a": 1, "b": 7})',
        expected="12",
    ),
    "a_decorated_function": Case(
        """
import functools

def logged(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner

@logged
def third(a, b, c=0):
    return a + b

def run():
    third(1, 2, 3)
""",
        "return a + b", "return a + b + c", "third", "inspect.unwrap(third)(1, 2, c=3) == 6",
        expected="6",
    ),
    "stars_and_classes": Case(
        """
class Base:
    @classmethod
    def make(cls, *parts, **more):
        return len(parts) - len(more)

class Derived(Base):
    pass

def run():
    Derived.make(1, 2, k=3)
""",
        "len(parts) - len(more)", "len(parts) + len(more)", "Base.make",
        "Base.make.__func__(Derived, 1, 2, k=3) == 3", expected="3",
    ),
    "numbers_that_round": Case(
        "def both(a, b):\n    return a + b + 1\n\ndef run():\n    both(0.1, 0.2)\n",
        " + 1", "", "both", "assert both(0.1, 0.2) == pytest.approx(0.3)",
        expected="0.3",
    ),
    "output": Case(
        "def greet(name):\n    print('Hello', name + '!!')\n\ndef run():\n    greet('Ada')\n",
        "'!!'", "'!'", "greet", 'assert capsys.readouterr().out != "Hello Ada!!\\n"',
    ),
    "arrays": Case(
        """
import numpy as np

def scaled(a):
    return a * 2 + 1

def run():
    scaled(np.array([[1, 2], [3, 4]]))
""",
        " + 1", "", "scaled",
        "scaled(numpy.array([1, 2, 3, 4], dtype=\"<i8\").reshape((2, 2)))",
    ),
    "a_match_that_is_given": Case(
        """
import re

def parts(found):
    return int(found[1]) + int(found["day"])

def run():
    [parts(each) for each in re.finditer(r"(\\d+)\\.(?P<day>\\d+)", "x 3.4 5.6")]
""",
        'int(found[1]) + int(found["day"])', 'int(found[1]) - int(found["day"])', "parts",
        "parts([*re.finditer(r'(\\d+)\\.(?P<day>\\d+)', 'x 3.4 5.6')][1])",
    ),
    "a_match_that_comes_back": Case(
        """
import re

def word(text):
    return re.search("([a-z])[a-z]*", text)

def run():
    word("12 ab Cd")
""",
        '"([a-z])', '"([A-Z])', "word", "assert (result.span(), result.groups()) != ((3, 5), (",
    ),
    "a_constructor": Case(
        """
class Box:
    def __init__(self, width, height):
        self.area = width + height

def run():
    Box(2, 5)
""",
        "width + height", "width * height", "Box.__init__",
        "box = Box(2, 5)\n    assert box.area == 10", "self.area", "10",
    ),
    "named_tuples": Case(
        """
from collections import Counter, namedtuple
from typing import NamedTuple

Point = namedtuple("Point", "x y")

class Size(NamedTuple):
    width: int
    height: int

def grown(point, size, counts):
    return Point(point.x, point.y + size.width)

def run():
    grown(Point(1, 2), Size(3, 4), Counter("aab"))
""",
        "size.width)", "size.height)", "grown",
        'Size(width=3, height=4),\n        counts=Counter({"a": 2, "b": 1}),\n',
        expected="Point(1, 6)",
    ),
}  # fmt: skip

LOADER = """
import importlib

for name in {names!r}:
    try:
        importlib.import_module(name).run()
    except Exception:
        pass
"""


def record(folder: Path, *command: str) -> Tree:
    trace = folder / "run.whence"
    words = [sys.executable, "-m", "whence", "record", "-o", str(trace), *command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert trace.exists(), done.stderr
    return open_any(trace).tree


def writer_for(tree: Tree) -> PythonTestWriter:
    assert isinstance(tree, ColumnTree)
    recording = recording_summary(tree)
    assert recording is not None
    path = trace_of(tree).file.path
    return PythonTestWriter(source_files(recording), path, tuple(recording.header.command))


def blamed(tree: Tree, case: Case, module: str, path: Path | None = None) -> RegressionTest:
    """The test for the call of a case's function that is at fault."""
    positions = [
        position
        for position in range(len(tree.columns))
        for function in [tree.functions[int(tree.columns.function[position])]]
        if function.qualname == case.function and function.module == module
    ]
    position = positions[case.which]
    call, _ = readable_call(tree, position)
    node = tree.id(position)
    mark = find_mark(call, case.mark, input_side=False).mark if case.mark else None
    answer = Answer(node, Verdict.WRONG, mark, expected=case.expected)
    state = State(tree, facts=Facts(answers=(answer,)))
    return regression_test(state, Diagnosis(Status.FOUND, node=node), writer_for(tree), path)


def outcomes(folder: Path) -> dict[str, str]:
    """What came of each test file: passed, failed or error."""
    words = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        verdict, _, rest = line.partition(" ")
        if verdict in ("PASSED", "FAILED", "ERROR"):
            found[Path(rest.split("::")[0].split(" ")[0]).stem] = verdict
    return found


@dataclass
class Run:
    tests: dict[str, RegressionTest]
    buggy: dict[str, str]
    repaired: dict[str, str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    twins = [tmp_path_factory.mktemp(name) for name in ("buggy", "repaired")]
    for folder in twins:
        (folder / "tests").mkdir()
        for name, case in CASES.items():
            assert case.text.count(case.bug) == 1, name
            text = case.text if folder is twins[0] else case.text.replace(case.bug, case.fix)
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (twins[0] / "main.py").write_text(LOADER.format(names=list(CASES)), encoding="utf-8")
    tree = record(twins[0], "main.py")
    tests = {}
    for name, case in CASES.items():
        path = twins[0] / "tests" / f"test_regression_{name}.py"
        tests[name] = blamed(tree, case, name, path)
        for folder in twins:
            (folder / "tests" / path.name).write_text(tests[name].text, encoding="utf-8")
    return Run(tests, *map(outcomes, twins))


@pytest.mark.parametrize("name", CASES)
def test_the_test_fails_on_the_buggy_program_and_passes_on_its_repaired_twin(
    name: str, run: Run
) -> None:
    stem = f"test_regression_{name}"
    text = run.tests[name].text
    assert CASES[name].says in text, text
    assert (run.buggy.get(stem), run.repaired.get(stem)) == ("FAILED", "PASSED"), text
    assert run.tests[name].note == ""


SCRIPT = """
import threading

def price(grams):
    return grams // 100

class Plain:
    def __init__(self, n):
        self.n = [n, n]

def made(n):
    return [Plain(n)]

def outer(n):
    def inner(m):
        return m + n
    return inner(3)

def locked(lock):
    return 1

def echo(n):
    sent = yield n

def long(text):
    return len(text)

TABLE = {{"x": 1}}

def put(key):
    TABLE[key] = 2
    return len(TABLE)

put("y")
print(price(700), made(1), outer(2), locked(threading.Lock()), next(echo(1)), long("x" * 100_000))
{ending}
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    folder = tmp_path_factory.mktemp("script")
    (folder / "my-script.py").write_text(SCRIPT.format(ending="raise RuntimeError"))
    return record(folder, "my-script.py")


def of(tree: Tree, function: str, **more: object) -> RegressionTest:
    case = Case("", "", "", function, "", **more)  # type: ignore[arg-type]
    return blamed(tree, case, "__main__")


def test_a_script_that_raises_when_it_is_imported_is_loaded_all_the_same(
    script: Tree, tmp_path: Path
) -> None:
    folder = writer_for(script).files.folder
    assert folder is not None
    case = Case("", "", "", "price", "", expected="8")
    test = blamed(script, case, "__main__", tmp_path / "tests" / "test_it.py")
    assert "assert my_script.price(700) == 8" in test.text
    assert write_test(test).startswith("Written to ")
    assert outcomes(tmp_path) == {"test_it": "FAILED"}
    file = folder / "my-script.py"
    buggy = file.read_text()
    file.write_text(buggy.replace("grams // 100", "grams // 100 + 1"))
    assert outcomes(tmp_path) == {"test_it": "PASSED"}
    file.write_text(buggy)


def test_what_a_script_has_changed_by_the_time_it_is_loaded_is_set_back(script: Tree) -> None:
    text = of(script, "put").text
    assert 'monkeypatch.setattr(my_script, "TABLE", {"x": 1})' in text
    assert 'assert (result, my_script.TABLE) != (2, {"x": 1, "y": 2})' in text


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (
            "outer.<locals>.inner",
            "it is a function inside outer, which cannot be named from outside",
        ),
        ("locked", "whose state cannot be seen"),
        ("made", "objects of Plain cannot be compared"),
        ("echo", "it takes what is sent to it"),
        ("long", "a text longer than what was recorded of it"),
        ("Plain", "it is the body of a class"),
        ("<module>", "it is the body of a module"),
    ],
)
def test_what_cannot_be_made_again_is_said_and_no_test_is_written(
    script: Tree, function: str, why: str
) -> None:
    with pytest.raises(WhenceError, match=why):
        of(script, function)


def test_a_test_that_would_pass_now_is_not_written(script: Tree) -> None:
    with pytest.raises(WhenceError, match="what was expected, 7, is what it gave"):
        of(script, "price", expected="7")


def test_an_expectation_in_words_becomes_a_comment(script: Tree) -> None:
    text = of(script, "price", expected="one more, I think").text
    assert "# It should be: one more, I think\n    assert result != 7\n" in text
    assert "# It should be: a_thing\n" in of(script, "price", expected="a_thing").text


def test_a_wrong_caller_is_tested_where_the_call_at_fault_cannot_be(script: Tree) -> None:
    names = [script.functions[int(number)].qualname for number in script.columns.function]
    inner, outer = names.index("outer.<locals>.inner"), names.index("outer")
    answers = (Answer(script.id(outer), Verdict.WRONG, expected="6"),)
    state = State(script, facts=Facts(answers=answers))
    found = Diagnosis(Status.FOUND, node=script.id(inner))
    test = regression_test(state, found, writer_for(script))
    assert "assert my_script.outer(2) == 6" in test.text
    assert test.note.startswith("of outer, a caller; not of outer.<locals>.inner: ")


UNFIT = """
import itertools
import os
import pathlib

numbers = itertools.count(5)

def ticket(kind):
    return f"{kind}-{next(numbers)}"

def save(text):
    pathlib.Path("kept.txt").write_text(text)
    return len(text)

def limit(kind):
    return int(os.environ["SHOP_LIMIT"]) + ("SHOP_EXTRA" in os.environ)

if __name__ == "__main__":
    print(ticket("a"), ticket("b"), save("text"), limit("a"))
"""


@pytest.fixture(scope="module")
def unfit(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    folder = tmp_path_factory.mktemp("unfit")
    (folder / "shop.py").write_text(UNFIT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_LIMIT", "3")
        patch.delenv("SHOP_EXTRA", raising=False)
        return record(folder, "--journal", "shop.py")


def test_a_test_that_passes_although_the_fault_is_there_is_not_offered(unfit: Tree) -> None:
    with pytest.raises(WhenceError, match="would pass although the fault is there"):
        of(unfit, "ticket")


def test_a_test_that_fails_for_another_reason_is_not_offered(unfit: Tree) -> None:
    # It fails, too, if the expected value is something else than what comes now.
    with pytest.raises(WhenceError, match="would pass although"):
        of(unfit, "ticket", expected="'b-7'")


def test_a_test_that_is_tried_changes_nothing(unfit: Tree) -> None:
    folder = writer_for(unfit).files.folder
    assert folder is not None
    (folder / "kept.txt").write_text("mine")
    with pytest.raises(WhenceError, match=r"for another reason .PermissionError"):
        of(unfit, "save")
    assert (folder / "kept.txt").read_text() == "mine"


def test_the_environment_that_was_read_is_set(unfit: Tree, tmp_path: Path) -> None:
    case = Case("", "", "", "limit", "", expected="4")
    test = blamed(unfit, case, "__main__", tmp_path / "tests" / "test_it.py")
    assert 'monkeypatch.delenv("SHOP_EXTRA", raising=False)' in test.text
    assert 'monkeypatch.setenv("SHOP_LIMIT", "3")' in test.text
    write_test(test)
    assert outcomes(tmp_path) == {"test_it": "FAILED"}


def test_a_foreign_recording_is_not_run_for_a_test(unfit: Tree, tmp_path: Path) -> None:
    writer = writer_for(unfit)
    copy = shutil.copy(writer.recording, tmp_path)
    node = next(unfit.id(p) for p in range(len(unfit.columns)) if _name(unfit, p) == "limit")
    found = Diagnosis(Status.FOUND, node=node)
    with pytest.raises(WhenceError, match="the recording is not your own"):
        regression_test(State(unfit), found, replace(writer, recording=Path(copy)))


HIDDEN = """
import sys

def run(lines):
    def total(words):
        return sum(map(int, words[1:]))

    for line in lines:
        print("total:", total(line.split()), sys.argv[1])

run(sys.stdin)
"""


@pytest.mark.parametrize("expected", [None, "'total: 15 x'"])
def test_where_no_call_can_be_written_the_output_is_tested(
    expected: str | None, tmp_path: Path
) -> None:
    (tmp_path / "hidden.py").write_text(HIDDEN)
    (tmp_path / "input").write_text("1 2 3\n4 5 6\n")
    words = [sys.executable, "-m", "whence", "run", "--answers", "/dev/null", "--wrong", "output:2"]
    with (tmp_path / "input").open() as stdin:
        subprocess.run(
            [*words, "hidden.py", "x"],
            cwd=tmp_path,
            stdin=stdin,
            check=False,
        )
    tree = open_any(next((tmp_path / ".whence" / "runs").glob("*.whence"))).tree
    answer = Answer(tree.id(0), Verdict.WRONG, Mark("printed", ("[1]",)), expected=expected)
    state = State(tree, facts=Facts(answers=(answer,)))
    node = next(tree.id(p) for p in range(len(tree.columns)) if _name(tree, p).endswith("total"))
    path = tmp_path / "tests" / "test_it.py"
    found = Diagnosis(Status.FOUND, node=node)
    test = regression_test(state, found, writer_for(tree), path)
    assert '[sys.executable, "hidden.py", "x"]' in test.text
    assert 'input="1 2 3\\n4 5 6\\n"' in test.text
    assert ('== ["total: 15 x"]' if expected else '!= ["total: 11 x"]') in test.text
    write_test(test)
    assert outcomes(tmp_path) == {"test_it": "FAILED"}
    (tmp_path / "hidden.py").write_text(HIDDEN.replace("words[1:]", "words"))
    assert outcomes(tmp_path) == {"test_it": "PASSED"}


def test_a_file_that_exists_is_not_overwritten(script: Tree, tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write_test(RegressionTest("other", path))
    assert path.read_text() == "mine"


def test_a_script_that_does_not_end_is_not_imported(tmp_path: Path) -> None:
    text = "import os\ndef f(n):\n    return n\nf(1)\nwhile True:\n    os._exit(1)\n"
    (tmp_path / "endless.py").write_text(text)
    tree = record(tmp_path, "endless.py")
    state = State(tree)
    node = next(tree.id(p) for p in range(len(tree.columns)) if _name(tree, p) == "f")
    tree.columns.outcome.flags.writeable = True
    tree.columns.outcome[0] = OutcomeKind.NOT_TERMINATED
    with pytest.raises(WhenceError, match="runs its program as soon as it is imported"):
        regression_test(state, Diagnosis(Status.FOUND, node=node), writer_for(tree))


def _name(tree: Tree, position: int) -> str:
    return tree.functions[int(tree.columns.function[position])].short()


def test_there_is_no_test_before_a_call_is_found_or_without_a_recording(script: Tree) -> None:
    with pytest.raises(UsageError):
        regression_test(State(script), Diagnosis(Status.NONE), None)
    rule = Rule("f", "f")
    other = tree_of([Node(1, None, Call(Function("f"), rule, Outcome(OutcomeKind.RETURNED)))])
    with pytest.raises(WhenceError, match="only of a recorded Python program"):
        regression_test(State(other), Diagnosis(Status.FOUND, node=1), None)
