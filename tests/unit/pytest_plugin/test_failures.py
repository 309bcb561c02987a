"""`pytest --whence`: what is recorded again, what is kept, and what is said."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from whence.app.first_answers import first_answers
from whence.app.frontends import open_any
from whence.langs.python.trace.trace_reader import recording_summary
from whence.model.symptom import SymptomKind
from whence.ui.terminal.plain import PlainScreen

SHOP = '''
    """Prices."""

    def price(item):
        return item["price"] * item.get("count", 1)

    def total(items):
        """The sum of all.

        >>> total([{"price": 2}])
        2
        """
        return sum(price(each) for each in items[1:])

    class Cart:
        def __init__(self, items):
            self.items = items

        def total(self):
            return total(self.items)
'''
CONFTEST = """
    import os
    import pytest

    def pytest_addoption(parser):
        parser.addoption("--currency", default="EUR")

    def pytest_collection_modifyitems(items):
        items.reverse()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        yield

    @pytest.fixture(scope="session")
    def stock():
        return made_stock()

    def made_stock():
        return [{"price": 10}]

    @pytest.fixture
    def currency(request):
        return request.config.getoption("--currency")
"""
TESTS = """
    import os
    import sys
    import unittest
    from pathlib import Path

    import pytest
    from shop import Cart, price, total

    pytestmark = pytest.mark.money

    @pytest.fixture(scope="module")
    def module_cart(stock):
        return Cart(stock)

    @pytest.fixture
    def cart(stock):
        return stock + [{"price": 5, "count": 3}]

    def test_total(cart):
        assert total(cart) == 25

    @pytest.mark.parametrize("count, expected", [(0, 0), (2, 20), (3, 30)])
    def test_count(count, expected):
        result = total([{"price": 10, "count": count}])
        assert result == expected

    class TestCart:
        def test_all_at_once(self, module_cart, tmp_path, monkeypatch, capsys, currency):
            monkeypatch.setenv("SHOP", str(tmp_path))
            print("printed")
            assert capsys.readouterr().out == "printed\\n"
            assert Path(os.environ["SHOP"]).is_dir() and currency == "CHF"
            assert module_cart.total() == 10

    class TestUnit(unittest.TestCase):
        def setUp(self):
            self.items = [{"price": 1}, {"price": 2}]

        def test_it(self):
            self.assertEqual(total(self.items), 3)

        def test_parts(self):
            for number in (0, 1, 2):
                with self.subTest(number=number):
                    self.assertEqual(total(self.items[number:]), [2, 5, 6][number])

    def test_exit():
        sys.exit(price({"price": 3}))

    @pytest.fixture
    def broken():
        return price({})

    def test_broken_fixture(broken):
        pass

    def runs(name):
        place = Path(name)
        count = int(place.read_text()) + 1 if place.exists() else 1
        place.write_text(str(count))
        return count

    def test_flaky():
        assert runs("flaky") > 1

    def test_differs():
        if runs("differs") == 1:
            raise ValueError("the first time")
        raise KeyError("again")

    def test_nothing_raised():
        with pytest.raises(ValueError):
            total([])

    @pytest.mark.xfail(strict=True)
    def test_passes_though_it_should_not():
        pass

    def test_fine():
        assert price({"price": 3}) == 3

    def test_not_chosen():
        assert False

    @pytest.fixture
    def doubled():
        return total([{"price": 1}, {"price": 2}]) * 3

    def test_given_a_wrong_value(doubled):
        assert doubled == 4

    def test_counted():
        assert price({"price": 2, "count": 3}) == 5

    @pytest.fixture
    def checked():
        made = Cart([])
        yield made
        price(made.items[0])

    def test_leaves_what_its_teardown_cannot_take(checked):
        checked.items.append({})
"""
INI = """
    [pytest]
    addopts = --strict-markers --doctest-modules
    markers = money: about money
"""
FILES = {"shop.py": SHOP, "conftest.py": CONFTEST, "test_shop.py": TESTS, "pytest.ini": INI}


@pytest.fixture(scope="module")
def project(make_project: Any) -> Any:
    return make_project(FILES)


@pytest.fixture(scope="module")
def said(project: Any) -> str:
    """What one run says; all that follows is about it."""
    told = project.pytest(
        "--whence", "--whence-most=20", "--currency", "CHF", "-k", "not test_not_chosen", "."
    )
    return str(told)


@pytest.mark.usefixtures("said")
def test_what_fixtures_of_every_scope_compute_is_in_the_tree(project: Any) -> None:
    assert project.calls("test_shop.py::test_total") == [
        "stock() → [{'price': 10}]",
        "  made_stock() → [{'price': 10}]",
        "cart(stock=[{'price': 10}]) → [{'price': 10}, {'price': 5, 'count': 3}]",
        "test_total(cart=[{'price': 10}, {'price': 5, 'count': 3}]) raised "
        """AssertionError("assert 15 == 25\\n +  where 15 = total([{'price': 10}, """
        """{'price': 5, 'count': 3}])")""",
        "  total(items=[{'price': 10}, {'price': 5, 'count': 3}]) → 15",
        "    price(item={'price': 5, 'count': 3}) → 15",
    ]


@pytest.mark.usefixtures("said")
def test_each_set_of_parameters_is_recorded_by_itself(project: Any) -> None:
    assert "test_shop.py::test_count[0-0]" not in project.recordings()
    for count in (2, 3):
        test = f"test_shop.py::test_count[{count}-{count * 10}]"
        assert f"total(items=[{{'price': 10, 'count': {count}}}]) → 0" in project.calls(test)[-1]


@pytest.mark.usefixtures("said")
def test_options_markers_and_the_fixtures_of_pytest_are_those_of_the_whole_run(
    project: Any,
) -> None:
    calls = project.calls("test_shop.py::TestCart::test_all_at_once")
    assert "currency(request=" in " ".join(calls) and "→ 'CHF'" in " ".join(calls)
    assert any(each.startswith("  Cart.total(self=Cart(") for each in calls)
    # It failed in its last line, as in the whole run: what it needed of pytest was there.
    assert "assert 0 == 10" in " ".join(calls)


@pytest.mark.usefixtures("said")
def test_tests_of_unittest_are_recorded_with_their_set_up(project: Any) -> None:
    calls = project.calls("test_shop.py::TestUnit::test_it")
    assert [each.split("(")[0] for each in calls] == [
        "TestUnit.setUp", "TestUnit.test_it", "  total", "    price",
    ]  # fmt: skip


@pytest.mark.usefixtures("said")
def test_what_a_set_up_did_is_told_without_what_runs_the_tests(project: Any) -> None:
    path = project.recordings()["test_shop.py::TestUnit::test_it"]
    done = project.whence("show", "--call", "1", str(path))
    assert "    _outcome=_Outcome(),\n" in done.stdout
    assert "    items=[{'price': 1}, {'price': 2}],\n" in done.stdout


@pytest.mark.usefixtures("said")
def test_the_recording_ends_with_the_first_subtest_that_fails(project: Any) -> None:
    path = project.recordings()["test_shop.py::TestUnit::test_parts"]
    done = project.whence("debug", "--answers", "-", str(path), answers="l\nn\n")
    assert "left:  total(self.items[number:]) → 0\n" in done.stdout
    assert "Question 1 (up to 3 more)\n  total(items=[{'price': 2}]) → 0\n" in done.stdout
    assert "The fault is in total (shop.py:7), call 5.\n" in done.stdout


@pytest.mark.usefixtures("said")
def test_a_test_that_exits_is_recorded(project: Any) -> None:
    tree = project.tree("test_shop.py::test_exit")
    assert tree.call(0).right() == "raised SystemExit(3)"
    assert project.calls("test_shop.py::test_exit")[-1] == "  price(item={'price': 3}) → 3"


@pytest.mark.usefixtures("said")
def test_a_fixture_that_fails_is_recorded(project: Any) -> None:
    test = "test_shop.py::test_broken_fixture"
    assert project.calls(test) == [
        "broken() raised KeyError('price')",
        "  price(item={}) raised KeyError('price')",
    ]
    assert project.symptom(test).kind is SymptomKind.EXCEPTION
    output = io.StringIO()
    path = project.recordings()[test]
    first_answers(open_any(path), None, PlainScreen(io.StringIO(), output), asks=False)
    assert output.getvalue() == "\nThe test raised KeyError('price').\n"


def test_of_a_test_that_then_passes_nothing_is_kept(project: Any, said: str) -> None:
    assert "test_flaky: passed when it was run again by itself, so no recording is kept" in said
    assert "test_shop.py::test_flaky" not in project.recordings()


def test_of_a_test_that_then_fails_otherwise_nothing_is_kept(project: Any, said: str) -> None:
    assert "test_differs: failed differently when it was run again by itself" in said
    assert "before: ValueError at" in said and "again:  KeyError at" in said
    assert "test_shop.py::test_differs" not in project.recordings()


def test_what_cannot_be_recorded_is_said(project: Any, said: str) -> None:
    test = "test_shop.py::test_passes_though_it_should_not"
    assert f"{test}: cannot be recorded: no exception of a test function made it fail" in said


@pytest.mark.usefixtures("said")
def test_what_a_teardown_does_is_recorded_where_that_failed(project: Any) -> None:
    test = "test_shop.py::test_leaves_what_its_teardown_cannot_take"
    assert project.calls(test)[0].startswith("checked() yielded Cart(items=[]), raised KeyError")
    assert "  price(item={}) raised KeyError('price')" in project.calls(test)
    assert project.symptom(test).kind is SymptomKind.EXCEPTION


@pytest.mark.usefixtures("said")
def test_an_example_in_a_docstring_is_recorded(project: Any) -> None:
    path = project.recordings()["shop.py::shop.total"]
    done = project.whence("debug", "--answers", "-", str(path), answers="n\n")
    assert "total(items=[{'price': 2}]) → 0" in done.stdout
    assert "The fault is in total" in done.stdout


@pytest.mark.usefixtures("said")
def test_an_operand_that_a_fixture_made_leads_to_the_fixture(project: Any) -> None:
    path = project.recordings()["test_shop.py::test_given_a_wrong_value"]
    done = project.whence("debug", "--answers", "-", str(path), answers="l\n")
    assert "So doubled() is wrong: it was given nothing. It should give 4." in done.stdout


@pytest.mark.usefixtures("said")
def test_the_other_side_of_an_equality_is_what_it_should_be(project: Any) -> None:
    path = project.recordings()["test_shop.py::test_counted"]
    done = project.whence(
        "debug", "--answers", "-", "--regression-test", "test_again.py", str(path),
        answers="l\n",
    )  # fmt: skip
    assert "It should be   5" in done.stdout
    written = (project.folder / "test_again.py").read_text(encoding="utf-8")
    (project.folder / "test_again.py").unlink()
    assert 'assert price({"price": 2, "count": 3}) == 5' in written


def test_only_what_failed_is_recorded_and_each_once(project: Any, said: str) -> None:
    assert sorted(project.recordings()) == [
        "shop.py::shop.total",
        "test_shop.py::TestCart::test_all_at_once",
        "test_shop.py::TestUnit::test_it",
        "test_shop.py::TestUnit::test_parts",
        "test_shop.py::test_broken_fixture",
        "test_shop.py::test_count[2-20]",
        "test_shop.py::test_count[3-30]",
        "test_shop.py::test_counted",
        "test_shop.py::test_exit",
        "test_shop.py::test_given_a_wrong_value",
        "test_shop.py::test_leaves_what_its_teardown_cannot_take",
        "test_shop.py::test_nothing_raised",
        "test_shop.py::test_total",
    ]
    runs = project.folder / ".whence" / "runs"
    assert len(list(runs.glob("*.whence"))) == 13
    assert said.count("whence debug ") == 13
    assert "whence debug '.whence/runs/test_count[2-20]-" in said


@pytest.mark.usefixtures("said")
def test_what_is_wrong_is_kept_with_its_operands(project: Any) -> None:
    failed = project.symptom("test_shop.py::test_total").assertion
    assert [each.expression for each in failed.operands] == ["total(cart)", "25"]
    assert failed.detail[0] == "AssertionError: assert 15 == 25"
    assert failed.detail[1].startswith(" +  where 15 = total(")
    of_unittest = project.symptom("test_shop.py::TestUnit::test_it").assertion
    assert [each.expression for each in of_unittest.operands] == ["total(self.items)", "3"]
    nothing = project.symptom("test_shop.py::test_nothing_raised").assertion
    assert [each.expression for each in nothing.operands] == ["total([])"]


@pytest.mark.usefixtures("said")
def test_a_recording_tells_the_command_that_runs_its_test_alone(project: Any) -> None:
    known = recording_summary(project.tree("test_shop.py::test_total"))
    assert known is not None
    assert list(known.header.command)[:3] == ["-m", "pytest", "-q"]
    assert not any(word.startswith("--whence") for word in known.header.command)
    done = project.run(*known.header.command)
    assert done.returncode == 1 and "1 failed" in done.stdout


def test_the_cache_is_left_as_the_whole_run_left_it(project: Any, said: str) -> None:
    cache = project.folder / ".pytest_cache" / "v" / "cache" / "lastfailed"
    failed = json.loads(cache.read_text(encoding="utf-8"))
    assert "test_shop.py::test_flaky" in failed and "test_shop.py::test_total" in failed


LITTLE = {
    "test_little.py": """
        import sys
        import pytest

        def double(number):
            return number + 2

        @pytest.mark.parametrize("number", [1, 2, 3, 4])
        def test_double(number):
            assert double(number) == 2 * number

        def test_nothing_is_loaded():
            assert not [name for name in sys.modules if name.split(".")[0] == "whence"]
            assert sys.argv[0].endswith("__main__.py")
            assert sys.path[0] != "" and sys.stdin is not None
    """
}


def test_with_xdist_each_failing_test_is_recorded_once_up_to_the_limit(make_project: Any) -> None:
    pytest.importorskip("xdist")
    little = make_project(LITTLE)
    said = little.pytest("-p", "xdist", "-n2", "-k", "double", "--whence", "--whence-most", "2")
    assert len(little.recordings()) == 2
    assert "1 more failed test was not recorded: --whence-most 3 records all" in said


def test_without_the_option_nothing_of_whence_is_loaded(make_project: Any) -> None:
    little = make_project(LITTLE)
    said = little.pytest("-k", "nothing")
    assert "1 passed" in said and "whence" not in said
    assert not (little.folder / ".whence").exists()


def test_where_warnings_are_errors_tests_are_recorded_all_the_same(make_project: Any) -> None:
    little = make_project({**LITTLE, "pytest.ini": "[pytest]\nfilterwarnings = error\n"})
    said = little.pytest("-W", "error", "--whence", "-k", "double and 1")
    assert "whence debug " in said, said


def test_a_run_that_stops_at_the_first_failure_records_that(make_project: Any) -> None:
    little = make_project(LITTLE)
    little.pytest("--whence", "-x", "--lf", "--junitxml=report.xml")
    report = (little.folder / "report.xml").read_text(encoding="utf-8")
    assert list(little.recordings()) == ["test_little.py::test_double[1]"]
    assert 'tests="1"' in report and 'failures="1"' in report


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals here")
def test_at_a_terminal_the_session_follows(make_project: Any) -> None:
    pexpect = pytest.importorskip("pexpect")
    little = make_project(LITTLE)
    child = pexpect.spawn(
        sys.executable, ["-m", "pytest", "-q", "--whence", "-k", "1"], cwd=str(little.folder),
        env=little.environment(TERM="dumb", NO_COLOR="1"), encoding="utf-8", timeout=60,
    )  # fmt: skip
    child.expect("Which side is wrong")
    assert re.search(r"[\r\n]test_little.py::test_double\[1\]: \d+ calls recorded", child.before)
    child.sendline("l")
    child.expect("double")
    child.expect("Right")
    child.sendline("n")
    child.expect("The fault is in double")
    child.close(force=True)


def test_a_file_named_like_a_library_module_is_not_imported_by_pytest(
    make_project: Any,
) -> None:
    small = make_project({
        "random.py": "raise SystemExit('not for pytest')",
        "test_it.py": "def double(n): return n + 2\ndef test_double(): assert double(3) == 6",
    })  # fmt: skip
    # Unlike `python -m pytest` the command does not import from the current folder.
    said = small.run(str(Path(sys.executable).with_name("pytest")), "-q", "--whence").stdout
    assert "test_it.py::test_double: 2 calls recorded" in said
