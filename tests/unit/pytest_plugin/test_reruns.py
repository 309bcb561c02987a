"""Recordings of tests run again: calls are counted from the test on, not from pytest's start."""

from __future__ import annotations

from typing import Any

import pytest

from whence.langs.python.record.backend_choice import choose_backend
from whence.langs.python.replay.partial_replay import PartialReplay

SHOP = """
    def price(name):
        return {"pen": 150, "lamp": 1250}[name]

    def total(basket):
        amount = 0
        for name, count in basket.items():
            amount += price(name) * count
            if count > 2:
                print("many")
                amount -= 1
        return amount
"""
TESTS = """
    import unittest
    import pytest
    from shop import price, total

    PEN = price("pen")  # a call that belongs to no test

    def counted(number):
        found = 0
        for one in range(number):
            found += one
            if one == 3:
                found += 1
        return found

    @pytest.fixture
    def basket():
        assert price("pen") == PEN
        return {"pen": 3}

    def test_total(basket):
        assert total(basket) == 450

    class TestCounted(unittest.TestCase):
        def test_counted(self):
            self.assertEqual(counted(5), 10)

    @pytest.fixture
    def leaving():
        yield
        assert counted(5) == 10

    def test_teardown(leaving):
        assert price("lamp") == 1250
"""
TOTAL, COUNTED, TEARDOWN = (
    f"test_shop.py::{name}" for name in ("test_total", "TestCounted::test_counted", "test_teardown")
)


@pytest.fixture(scope="module")
def project(make_project: Any) -> Any:
    project = make_project({"shop.py": SHOP, "test_shop.py": TESTS})
    project.pytest("--whence")
    assert set(project.recordings()) == {TOTAL, COUNTED, TEARDOWN}
    return project


def whence(project: Any, *command: str, answers: str = "") -> str:
    done = project.run("-m", "whence", *command, answers=answers)
    return f"{done.stdout}{done.stderr}"


@pytest.mark.parametrize("test", [TOTAL, COUNTED, TEARDOWN])
def test_a_rerun_makes_the_calls_of_the_test(project: Any, test: str) -> None:
    screen = whence(project, "rerun", "--live", str(project.recordings()[test]))
    assert "the re-run matches the recording" in " ".join(screen.split())


def test_zoom_goes_into_a_function_that_a_test_calls(project: Any) -> None:
    recording = str(project.recordings()[TOTAL])
    screen = whence(project, "zoom", recording, "total", "--answers", "-", answers="n\n" * 9)
    assert "before: amount = 450" in screen
    assert "it printed: many" in screen
    assert "The fault is in total" in screen


@pytest.mark.parametrize("test", [COUNTED, TEARDOWN])
def test_zoom_goes_into_a_function_of_a_test_module(project: Any, test: str) -> None:
    recording = str(project.recordings()[test])
    screen = whence(project, "zoom", recording, "counted", "--answers", "-", answers="n\n" * 9)
    assert "before: found = " in screen
    assert "The fault is in counted" in screen


def test_zoom_goes_into_the_test_itself(project: Any) -> None:
    recording = str(project.recordings()[TOTAL])
    screen = whence(project, "zoom", recording, "test_total", "--answers", "-")
    assert "assert total(basket) == 450" in screen
    assert "raises AssertionError" in screen


def test_origins_are_those_of_the_test_and_not_of_its_collection(project: Any) -> None:
    screen = whence(project, "why", str(project.recordings()[TOTAL]), "total", "result")
    assert "as amount -= 1" in screen
    screen = whence(project, "why", str(project.recordings()[TOTAL]), "price", "result")
    assert "was made in call" in screen
    assert "as 150" in screen


@pytest.mark.skipif(choose_backend(None).name == "python", reason="windows need the C recorder")
def test_one_call_of_a_test_is_recorded_again(project: Any) -> None:
    tree = project.tree(TOTAL)
    (position,) = (
        at for at in range(len(tree.columns)) if tree.call(at).function.short() == "total"
    )
    replay = PartialReplay(project.recordings()[TOTAL], tree)
    window = replay.record(tree.id(position), budget=10)
    assert [window.tree.call(at).equation() for at in range(1, len(window.tree.columns))] == [
        tree.call(at).equation() for at in (position, position + 1)
    ]
