"""`whence test`: pytest with the plugin on, then the session; and what it learns from tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from whence.cli.main import main
from whence.cli.test import separated
from whence.langs.python.priors.learned_store import FILE, LearnedStore, Spectrum

FILES = {
    "numbers_.py": """
        def double(number):
            return number + 2

        def both(first, second):
            return double(first) + double(second)
    """,
    "test_numbers.py": """
        from numbers_ import both, double

        def test_both():
            assert both(2, 5) == 14

        def test_double():
            assert double(2) == 4
    """,
}


@pytest.fixture(scope="module")
def project(make_project: Any) -> Any:
    return make_project(FILES)


def whence(project: Any, *words: str, answers: str = "") -> Any:
    return project.whence("test", *words, answers=answers)


def test_the_session_is_about_the_first_failing_test(project: Any) -> None:
    done = whence(project, "--no-session", "-q", answers="l\ny\nn\n")
    assert "assert both(2, 5) == 14" in done.stdout
    assert "left:  both(2, 5) → 11" in done.stdout
    assert "So both(first=2, second=5) is wrong: what it was given is written" in done.stdout
    assert "The fault is in double" in done.stdout
    assert done.returncode == 0


BOXES = {
    "test_boxes.py": """
        class Box:
            def __init__(self, *items):
                self.items = items

            def __repr__(self):
                return f"Box of {len(self.items)}"

            def __getitem__(self, where):
                return Box(*self.items[where])

            def __iter__(self):
                return iter(self.items)

            def pair(self):
                return Box(*self.items, *self.items)

            def text(self):
                return f"{self.items} "

            def first(self):
                return self.items[-1]

        def numbers(last):
            for number in range(last):
                yield number

        def test_method():
            box = Box(1, 2)
            assert 1 == box.first()

        def test_slice():
            box = Box(1, 2, 3)
            assert list(box[:1]) == [1, 2]

        def test_generator():
            assert list(numbers(3)) == [1, 2, 3]

        def test_attribute():
            box = Box(1, 2).pair()
            assert box.items[1] == 1

        def test_text():
            assert Box(1, 2).pair().text().strip() == "1"

        def test_literal():
            assert Box(1).first() == 2
    """,
}


@pytest.fixture(scope="module")
def boxes(make_project: Any) -> Any:
    return make_project(BOXES)


@pytest.mark.parametrize(
    ("test", "typed", "said"),
    [
        ("method", "r", " more)\n  Box.first(self=Box(items=(1, 2))) → 2"),
        ("slice", "l", "  Box.__getitem__(self=Box(items=(1, 2, 3)), where=slice(None, 1, None))"),
        ("generator", "l", "So numbers(last=3) is wrong: what it was given is written"),
        ("attribute", "l", " more)\n  Box.pair(self=Box(items=(1, 2))) → Box(items=(1, 2, 1, 2))"),
        ("text", "l", " more)\n  Box.text(self=Box(items=(1, 2, 1, 2))) → '(1, 2, 1, 2) '"),
        ("literal", "r", "Then the test itself is wrong"),
    ],
)
def test_the_call_that_made_the_wrong_side_comes_first(
    boxes: Any, test: str, typed: str, said: str
) -> None:
    done = whence(boxes, "--no-session", "-q", "-k", test, answers=f"{typed}\n")
    assert "The test failed at test_boxes.py:" in done.stdout
    assert said in done.stdout.partition("Question 2")[0]
    assert "items[1] →" not in done.stdout, "that is not what the call gave"


SHOP = """
    __version__ = "{version}"

    def price(item, count):
        return item["price"] * count

    def total(items, tax):
        return sum(price(item, {count}) for item in items) * next(tax)
"""


NAMES = {
    "names_.py": """
        import asyncio
        import functools

        def logged(function):
            @functools.wraps(function)
            def wrapper(*values):
                return function(*values)
            return wrapper

        def _double(number):
            return number * 3

        double = functools.partial(_double)

        @logged
        def triple(number):
            return number * 2

        def square(number):
            return 7 if number == 2 else number * number

        async def fetch(number):
            return number + 1

        class Missing(KeyError):
            pass

        def find(table, key):
            return table.get(key)
    """,
    "test_names.py": """
        import asyncio

        import pytest

        import names_
        from names_ import _double as twice, square

        NUMBER = 2

        def test_alias():
            number = NUMBER
            assert twice(number) == 4

        def test_attribute():
            number = NUMBER
            assert names_.double(number) == 4

        def test_decorator():
            number = NUMBER
            assert names_.triple(number) == 6

        def test_comprehension():
            numbers = [1, 2, 3]
            assert [square(number) for number in numbers] == [1, 4, 9]

        def test_inner():
            number = NUMBER
            result = asyncio.run(names_.fetch(number))
            assert result == 4

        def test_callback():
            numbers = [3, 1]
            assert sorted(numbers, key=square) == [2, 3]

        def test_missing():
            table = {}
            with pytest.raises(names_.Missing):
                names_.find(table, "a")
    """,
}


@pytest.fixture(scope="module")
def names(make_project: Any) -> Any:
    return make_project(NAMES)


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("alias", ")\n  _double(number=2) → 6"),
        ("attribute", ")\n  _double(number=2) → 6"),
        ("decorator", ")\n  logged.<locals>.wrapper(values=(2,)) → 4"),
        ("comprehension", ")\n  square(number=2) → 7"),
        ("inner", ")\n  fetch(number=2) → 3"),
        ("callback", "Which call made sorted(numbers, key=square) is not known (2 calls made it)"),
    ],
)
def test_the_call_of_the_wrong_side_is_found_by_its_place(names: Any, test: str, said: str) -> None:
    words = ["--no-session", "-q", f"test_names.py::test_{test}"]
    assert said in whence(names, *words, answers="l\nn\n").stdout


def test_the_regression_test_expects_the_exception_that_was_due(names: Any) -> None:
    words = ["--no-session", "-q", "test_names.py::test_missing"]
    done = whence(names, *words, answers="y\nn\ntest\n")
    assert 'with pytest.raises(Missing):\n          find({}, "a")\n' in done.stdout


def test_a_released_version_that_passes_leaves_nothing_to_ask(make_project: Any) -> None:
    test = """
        from shop import total

        def test_total():
            assert total([{"price": 5, "count": 3}], iter([2])) == 30
    """
    shop = make_project({"shop.py": SHOP.format(version=1, count=1), "test_shop.py": test})
    kept = shop.folder / "cache" / "whence" / "reference" / "{}.{}".format(*sys.version_info)
    (kept / "shop__2").mkdir(parents=True)
    right = dedent(SHOP.format(version=2, count='item["count"]'))
    (kept / "shop__2" / "shop.py").write_text(right, encoding="utf-8")
    words = ["test", "--no-session", "-q", "--reference", "shop==2"]
    done = shop.whence(*words, XDG_CACHE_HOME=str(shop.folder / "cache"))
    assert "The test passes with shop==2." in done.stdout
    assert "Right?" not in done.stdout
    assert "The fault is in total" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


INSIDE = """
    def made(text):
        return eval(compile(f"lambda x: {text}", "<compiled>", "eval"))

    def total(prices):
        return sum(prices[{first}:])
"""


def test_a_test_inside_of_a_package_is_that_of_the_reference_if_it_is_the_same(
    make_project: Any,
) -> None:
    test = """
        from shop.prices import made, total

        def test_total():
            assert made("x + 1")(1) == 2
            assert total([1, 2]) == 3
    """
    packages = {
        folder: {
            # pytest asks a package for what it has: that this raises is no failure.
            f"{folder}/shop/__init__.py": "def __getattr__(name): raise AttributeError(name)",
            f"{folder}/shop/prices.py": INSIDE.replace("{first}", first),
            f"{folder}/shop/tests/__init__.py": "",
            f"{folder}/shop/tests/test_prices.py": test,
        }
        for folder, first in (("own", "1"), ("good", "0"))
    }
    shop = make_project({**packages["own"], **packages["good"]})
    file = shop.folder / "good" / "shop" / "tests" / "test_prices.py"
    words = ["test", "--no-session", "-q", "--reference", "good", "own/shop"]
    done = shop.whence(*words)
    assert "The test passes with good." in done.stdout, done.stdout + done.stderr
    assert "The fault is in total" in done.stdout, done.stdout + done.stderr
    file.write_text(file.read_text().replace("3", "4"), encoding="utf-8")
    done = shop.whence("debug", "--no-session", "--reference", "good")
    assert "the test is another one there." in done.stdout, done.stdout + done.stderr


def test_without_answers_the_exit_code_says_that_nothing_was_found(project: Any) -> None:
    assert whence(project, "--no-session", "--", "-q", "-x").returncode == 1


def test_where_nothing_fails_the_exit_code_is_that_of_pytest(project: Any) -> None:
    assert whence(project, "-q", "-k", "test_double").returncode == 0
    assert whence(project, "-q", "-k", "no_such_test").returncode == 5
    assert whence(project, "--no-such-option").returncode == 4


def test_learning_keeps_what_passing_and_failing_tests_did(project: Any) -> None:
    done = whence(project, "--learn", "-q")
    assert done.returncode == 1
    assert "Learned from 1 passing and 1 failing tests: 4 functions" in done.stdout
    learned = LearnedStore(project.folder / ".whence" / FILE)
    spectra = learned.spectra("")
    learned.close()
    assert spectra["numbers_.double"] == Spectrum(passing=1, failing=1)
    assert spectra["numbers_.both"] == Spectrum(passing=0, failing=1)


def test_a_function_that_was_changed_since_is_looked_at_first(project: Any) -> None:
    module, test = project.folder / "shifted.py", project.folder / "test_shifted.py"
    source = "def up(n): return n + 1\ndef down(n): return n - 1\ndef same(n): return down(up(n))\n"
    module.write_text(source)
    test.write_text("from shifted import same\ndef test_same():\n    assert same(4) == 4\n")
    try:
        assert whence(project, "-q", test.name, "--learn").returncode == 0
        # Of another size: within a second, Python takes an equal one for the file it compiled.
        module.write_text(source.replace("n - 1", "n - 1 - 1"))
        done = whence(project, "-q", test.name, "--no-session", answers="l\nn\n")
    finally:
        module.unlink()
        test.unlink()
    assert "Changed since tests passed, and so the first to look at: down." in done.stdout
    assert "Question 1" in done.stdout
    assert "The fault is in down" in done.stdout
    assert "Question 2" not in done.stdout


def test_learning_that_is_stopped_keeps_what_was_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    learned_from = []

    def run_tests(options: Any, arguments: list[str], meanwhile: Any) -> int:
        folder = Path(arguments[-1].partition("=")[2])
        lines = [{"test": each, "file": each, "passed": True} for each in ("t1", "t2", "t3")]
        (folder / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert meanwhile()
        return 1

    def learn(self: Any, path: Path, test: str, passed: bool) -> None:
        learned_from.append(test)
        if test == "t2":
            raise KeyboardInterrupt
        self._learned.learn(test, passed, {}, [])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("whence.cli.test._run_tests", run_tests)
    monkeypatch.setattr("whence.langs.python.priors.learner.Learner._learn", learn)
    assert main(["test", "--learn"]) == 130
    assert learned_from == ["t1", "t2"]
    assert "Stopped: nothing was learned from the last 2 tests." in capsys.readouterr().out
    kept = LearnedStore(tmp_path / ".whence" / FILE)
    assert kept.has_passed("t1")
    assert not kept.has_passed("t2")
    kept.close()


def test_long_options_of_whence_are_told_from_those_of_pytest() -> None:
    assert separated(["test", "-x", "--trust", "f", "--tb=short", "--format=json", "tests"]) == [
        "test", "--trust", "f", "--format=json", "\0-x", "\0--tb=short", "\0tests",
    ]  # fmt: skip
    assert separated(["test", "a", "--regression-test", "b.py", "--learn", "-k", "c"]) == [
        "test", "--regression-test=b.py", "--learn", "\0a", "\0-k", "\0c",
    ]  # fmt: skip
    assert separated(["test", "--regression-test", "-k", "c"])[1] == "--regression-test="
    assert separated(["test", "--regression-test", "/"])[1:] == ["--regression-test=", "\0/"]
    assert separated(["test", "-s", "top-down", "--", "-s", "--trust"]) == [
        "test", "-s", "top-down", "\0-s", "\0--trust",
    ]  # fmt: skip
