"""Which lines a test ran: the collector of this interpreter, and the trace function of 3.11."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

import pytest

from _whence_pytest.executed_lines import ExecutedLines, TracedLines, executed_lines


def own(code: CodeType, namespace: dict[str, Any]) -> bool:
    return code.co_filename == __file__


@pytest.fixture(params=[executed_lines, TracedLines])
def collector(request: pytest.FixtureRequest) -> ExecutedLines:
    make: Callable[..., ExecutedLines] = request.param
    return make(own)


def sign(number: int) -> str:
    if number < 0:
        return "negative"
    return "positive"


FIRST = sign.__code__.co_firstlineno


def ran(collector: ExecutedLines, function: Callable[[], object]) -> set[int]:
    """The lines of `sign` that a function runs, counted from its first."""
    collector.start()
    function()
    lines = dict(collector.stop())
    return {line - FIRST for line in lines.get(sign.__code__, ())}


def test_only_lines_that_ran_are_collected(collector: ExecutedLines) -> None:
    assert ran(collector, lambda: sign(1)) == {1, 3}


def test_each_start_begins_anew(collector: ExecutedLines) -> None:
    assert ran(collector, lambda: sign(1)) == {1, 3}
    assert ran(collector, lambda: sign(-1)) == {1, 2}
    assert ran(collector, lambda: None) == set()


def test_nothing_is_collected_after_stop(collector: ExecutedLines) -> None:
    collector.start()
    collector.stop()
    sign(-1)
    assert ran(collector, lambda: sign(1)) == {1, 3}


def test_lines_of_threads_are_collected(collector: ExecutedLines) -> None:
    def in_thread() -> None:
        thread = threading.Thread(target=sign, args=(-1,))
        thread.start()
        thread.join()

    assert ran(collector, in_thread) == {1, 2}


def test_code_that_is_not_owned_is_left_out() -> None:
    collector = TracedLines(lambda code, namespace: False)
    collector.start()
    sign(1)
    assert collector.stop() == []


def test_a_function_whose_calls_run_no_new_line_is_not_followed_further() -> None:
    def calls() -> None:
        for _ in range(20):
            sign(1)
        sign(-1)

    assert ran(TracedLines(own, patience=50), calls) == {1, 2, 3}
    assert ran(TracedLines(own, patience=5), calls) == {1, 3}
