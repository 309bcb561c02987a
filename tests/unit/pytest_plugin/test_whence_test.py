"""`whence test`: pytest with the plugin on, then the session; and what it learns from tests."""

from __future__ import annotations

from typing import Any

import pytest

from whence.cli.test import separated
from whence.langs.python.learned import FILE, Learned, Spectrum

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
    return project.run("-m", "whence", "test", *words, answers=answers)


def test_the_session_is_about_the_first_failing_test(project: Any) -> None:
    done = whence(project, "--no-session", "-q", answers="l\ny\nn\n")
    assert "assert both(2, 5) == 14" in done.stdout
    assert "left:  both(2, 5) → 11" in done.stdout
    assert "So both(first=2, second=5) is wrong: what it was given is written" in done.stdout
    assert "The fault is in double" in done.stdout
    assert done.returncode == 0


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
    learned = Learned(project.folder / ".whence" / FILE)
    spectra = learned.spectra("")
    learned.close()
    assert spectra["numbers_.double"] == Spectrum(passing=1, failing=1)
    assert spectra["numbers_.both"] == Spectrum(passing=0, failing=1)


def test_long_options_of_whence_are_told_from_those_of_pytest() -> None:
    assert separated(["test", "-x", "--trust", "f", "--tb=short", "--format=json", "tests"]) == [
        "test", "\0-x", "--trust", "f", "\0--tb=short", "--format=json", "\0tests",
    ]  # fmt: skip
    assert separated(["test", "-s", "top-down", "--", "-s", "--trust"]) == [
        "test", "-s", "top-down", "\0-s", "\0--trust",
    ]  # fmt: skip
