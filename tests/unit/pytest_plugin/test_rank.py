"""`whence test --rank`: where to look first, from the failing test and from those that pass."""

from __future__ import annotations

import json
from typing import Any

import pytest

FILES = {
    "shop.py": """
        def parse(text):
            return [part.strip() for part in text.split(",")]

        def price(name, prices):
            if name.startswith("gift "):
                return prices[name[5:]] + 20
            return prices[name]

        def total(text, prices):
            return sum(price(name, prices) for name in parse(text))
    """,
    "test_shop.py": """
        from shop import parse, total

        PRICES = {"tea": 3, "milk": 1}

        def test_gifts():
            assert total("tea, gift milk", PRICES) == 6
    """,
    "test_other.py": """
        from shop import parse, total
        import pytest

        PRICES = {"tea": 3, "milk": 1}

        @pytest.mark.parametrize("number", range(5))
        def test_sums(number):
            assert total("tea, milk", PRICES) == 4

        def test_parts():
            assert parse("a, b") == ["a", "b"]

        def test_that_fails_too():
            assert parse("a,, b") == ["a", "b"]
    """,
    "test_unrelated.py": """
        def test_nothing():
            raise SystemExit("this file names nothing that ran")
    """,
    "test_broken.py": "from shop import no_such_total\n",
}


@pytest.fixture(scope="module")
def project(make_project: Any) -> Any:
    return make_project(FILES)


@pytest.fixture(scope="module")
def ranking(project: Any) -> dict[str, Any]:
    done = project.whence("test", "--rank", "--format", "json", "test_shop.py", "-q")
    assert done.returncode == 0, done.stderr
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def test_the_function_with_the_line_that_no_passing_test_ran_comes_first(
    ranking: dict[str, Any],
) -> None:
    first = ranking["functions"][0]
    assert first["function"] == "price"
    assert "no passing test ran line 7, 5 ran others" in first["reasons"]
    assert [entry["function"] for entry in ranking["functions"][1:]] == ["total", "parse"]


def test_only_passing_tests_that_name_what_ran_are_witnesses(ranking: dict[str, Any]) -> None:
    assert ranking["witnesses"] == 6


def test_a_ranking_is_not_a_diagnosis(ranking: dict[str, Any]) -> None:
    assert ranking["whence"] == "ranking"
    assert "at_fault" not in ranking


def test_the_calls_of_the_first_functions_are_listed(ranking: dict[str, Any]) -> None:
    equations = [call["equation"] for call in ranking["calls"]]
    assert "price(name='gift milk', prices={'tea': 3, 'milk': 1}) → 21" in equations


def test_the_text_says_that_it_is_evidence_also_with_xdist(project: Any) -> None:
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTEST_ADDOPTS": ""}
    done = project.whence("test", "--rank", "test_shop.py", "-q", "-n", "1", **plugins)
    assert "Where to look first for test_shop.py::test_gifts" in done.stdout
    assert "evidence, not a diagnosis; 6 passing tests" in done.stdout
    assert "1. price  shop.py:5" in done.stdout
    assert "To judge calls instead: whence debug .whence" in done.stdout


def test_without_time_no_other_test_is_run(project: Any) -> None:
    words = ("--rank", "--rank-seconds", "0", "--format", "json", "test_shop.py", "-q")
    record = json.loads(project.whence("test", *words).stdout)
    assert record["witnesses"] == 0
    assert record["notes"] == ["Nothing is known from passing tests: no other test was run"]
    assert {entry["function"] for entry in record["functions"]} == {"price", "total", "parse"}


def test_if_all_tests_pass_the_exit_code_is_that_of_pytest(project: Any) -> None:
    done = project.whence("test", "--rank", "test_other.py::test_parts", "-q")
    assert done.returncode == 0
    assert "Where to look first" not in done.stdout


def test_a_ranking_has_no_html(project: Any) -> None:
    done = project.whence("test", "--rank", "--format", "html", "test_shop.py", "-q")
    assert done.returncode == 2
    assert "a ranking is text or JSON" in done.stderr
