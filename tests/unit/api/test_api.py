"""What `import whence` offers: recording a block, reading it, sessions, and finding a fault."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import whence
from whence.ports import Choice, Expansion, Suspects
from whence.protocol.problems import Problem
from whence.search.registry import DESCRIPTIONS, STRATEGIES

PUBLIC = {
    "Call", "Diagnosis", "Question", "Recording", "Session", "Value", "WhenceError", "__version__",
    "ask", "find", "open", "record", "register_strategy", "register_summary", "spec", "why",
}  # fmt: skip


def double(x: int) -> int:
    return x + x


def shift(x: int) -> int:
    return x - 1


class Basket:
    def __init__(self) -> None:
        self.prices = {"pen": 120}


def price(basket: Basket, name: str) -> int:
    return basket.prices[name]


def whole(xs: list[int]) -> list[int]:
    return [shift(double(x)) for x in xs]


def is_right(call: whence.Call) -> bool | None:
    """Doubled numbers should be shifted up."""
    if call.function in ("double", "shift"):
        x = call.arguments["x"].python()
        returned = call.returned.python() if call.returned else None
        return bool(returned == (2 * x if call.function == "double" else x + 1))
    return False if call.function == "whole" else None


@pytest.fixture
def recording(tmp_path: Path) -> whence.Recording:
    with whence.record(tmp_path / "block.whence", only=(__file__,)) as recorder:
        whole([1, 2, 3])
    return recorder.open()


def test_the_public_names_are_these() -> None:
    assert set(whence.__all__) == PUBLIC == set(dir(whence))
    assert [name for name in PUBLIC if getattr(whence, name, None) is None] == []


def test_importing_whence_loads_nothing_else() -> None:
    source = Path(whence.__file__).parents[1]
    program = (
        f"import sys\nsys.path.insert(0, {str(source)!r})\nbefore = set(sys.modules)\n"
        "import whence\nprint(*(set(sys.modules) - before))"
    )
    result = subprocess.run([sys.executable, "-S", "-c", program], stdout=-1, text=True, check=True)
    assert result.stdout.split() == ["whence"]


def test_a_recorded_block_is_a_tree_of_calls(recording: whence.Recording) -> None:
    assert str(recording.tree) == "recorded block() → 0"
    (call,) = recording.calls("whole")
    assert str(call) == "whole(xs=[1, 2, 3]) → [1, 3, 5]"
    assert [callee.function for callee in call.callees] == ["double", "shift"] * 3
    assert call.caller == recording.tree
    assert call.callees[0].caller == call
    assert call.place == (__file__, whole.__code__.co_firstlineno)
    assert call.outcome == "returned"
    assert len(recording) == len(list(recording.calls())) == 8


def test_values_are_read_only_and_have_parts(recording: whence.Recording) -> None:
    (call,) = recording.calls("whole")
    value = call.part("result")
    assert (value.kind, len(value), str(value)) == ("list", 3, "[1, 3, 5]")
    assert value[1].python() == call.part("result[1]").python() == 3
    assert value.is_whole
    with pytest.raises(KeyError):
        value[7]
    with pytest.raises(TypeError):
        call.arguments["xs"] = value  # type: ignore[index]  # that is the point
    with pytest.raises((AttributeError, TypeError)):
        value.kind = "tuple"  # type: ignore[misc]  # that is the point


def test_an_object_is_read_by_the_names_of_its_attributes(tmp_path: Path) -> None:
    with whence.record(tmp_path / "block.whence", only=(__file__,)) as recorder:
        price(Basket(), "pen")
    (call,) = recorder.open().calls("price")
    basket = call.arguments["basket"]
    assert (basket.kind, basket.type) == ("object", "Basket")
    assert basket["prices"]["pen"].python() == 120


def test_a_session_is_held_by_a_program(recording: whence.Recording) -> None:
    with recording.session() as session:
        question = session.question
        assert question is not None
        assert str(question).startswith("Question 1")
        session.answer(True, by="agent")
        session.undo()
        again = session.question
        assert again is not None
        assert again.call == session.call(question.call.number)
        diagnosis = session.run(is_right)
        assert diagnosis is not None
        assert (diagnosis.status, diagnosis.function) == ("found", "shift")
        assert "return x - 1" in str(diagnosis)
        assert diagnosis.explanation.sentences
        with pytest.raises(Problem):
            session.answer("right", part="result[0]")


def test_an_oracle_answers_in_a_session(recording: whence.Recording) -> None:
    with recording.session(oracle=is_right) as session:
        assert session.question is None
        assert session.diagnosis is not None
        assert session.diagnosis.function == "shift"


def test_a_session_that_is_kept_goes_on(recording: whence.Recording) -> None:
    with recording.session(keep=True) as session:
        first = session.question
        session.answer("right")
    with recording.session(keep=True) as session:
        assert session.view.answers > 0
        assert session.question != first


def test_what_raises_leads_to_its_fault() -> None:
    def check() -> None:
        assert whole([1, 2]) == [3, 5]

    session = whence.find(check, oracle=is_right)
    assert session.diagnosis is not None
    assert session.diagnosis.function == "shift"


def test_without_an_oracle_find_leaves_a_question(tmp_path: Path) -> None:
    session = whence.find(lambda: whole([1]))
    assert session.diagnosis is None
    assert session.question is not None


def test_a_decorated_function_is_recorded_at_each_call(tmp_path: Path) -> None:
    path = tmp_path / "call.whence"

    @whence.record(path, only=(__file__,))
    def job(n: int) -> list[int]:
        """Some work."""
        return whole([n])

    assert job(4) == [7]
    assert (job.__name__, job.__doc__) == ("job", "Some work.")
    names = [call.function for call in whence.open(path).calls()][1:]
    assert names == [job.__qualname__, "whole", "double", "shift"]
    assert job(5) == [9]
    assert [str(call) for call in whence.open(path).calls("whole")] == ["whole(xs=[5]) → [9]"]


def test_a_coroutine_is_recorded_to_its_end(tmp_path: Path) -> None:
    @whence.record(tmp_path / "call.whence", only=(__file__,))
    async def job() -> list[int]:
        await asyncio.sleep(0)
        return whole([4])

    assert asyncio.run(job()) == [7]
    calls = whence.open(tmp_path / "call.whence").calls("whole")
    assert [str(call) for call in calls] == ["whole(xs=[4]) → [7]"]


def test_a_forked_child_is_recorded_too(tmp_path: Path) -> None:
    with whence.record(tmp_path / "block.whence", only=(__file__,)) as recorder:
        child = os.fork()
        if child == 0:
            try:
                whole([9])
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    assert [str(call) for call in recorder.open().calls("whole")] == ["whole(xs=[9]) → [17]"]


def test_an_exception_leaves_the_block_and_is_recorded(tmp_path: Path) -> None:
    recorder = whence.record(tmp_path / "block.whence", only=(__file__,))
    with pytest.raises(TypeError), recorder:
        whole(["a", None])  # type: ignore[list-item]  # that is the point
    top = recorder.open().tree
    assert top.outcome == "raised"
    assert top.raised is not None
    assert "TypeError" in str(top.raised)


def test_a_recording_inside_another_one_does_nothing(tmp_path: Path) -> None:
    with whence.record(tmp_path / "outer.whence", only=(__file__,)) as outer:
        with whence.record(tmp_path / "inner.whence") as inner:
            assert not inner.is_recording
            whole([1])
        with pytest.raises(whence.WhenceError, match="recorded already"):
            whence.find(lambda: None)
    assert [str(call) for call in outer.open().calls("whole")] == ["whole(xs=[1]) → [1]"]
    with pytest.raises(whence.WhenceError, match="no recording"):
        inner.open()


def test_a_recorded_block_is_never_run_again(recording: whence.Recording) -> None:
    (call,) = recording.calls("whole")
    told = whence.why(recording, call, "result[1]")
    assert told.origin is None
    assert not told.needs_run
    with recording.session(may_run=True) as session:
        assert session.why(call, "result[1]", run=True).origin is None


def test_a_strategy_of_a_program_chooses_questions(recording: whence.Recording) -> None:
    class LastFirst:
        name = "last-first"
        asks_top = False

        def choose(self, suspects: Suspects) -> Choice | Expansion | None:
            positions = suspects.open_calls.positions()
            return Choice(int(positions[-1]), "it is the last one") if len(positions) else None

    whence.register_strategy(LastFirst(), "the last call first")
    try:
        with recording.session(strategy="last-first") as session:
            assert session.question is not None
            assert str(session.question.call) == "shift(x=6) → 5"
            assert session.question.why == "it is the last one"
        with pytest.raises(whence.WhenceError, match="cannot be the name"):
            whence.register_strategy(type("Auto", (), {"name": "auto"})())
    finally:
        del STRATEGIES["last-first"], DESCRIPTIONS["last-first"]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "stdin", None)
    yield


@pytest.mark.usefixtures("terminal")
def test_without_a_terminal_ask_only_evaluates() -> None:
    numbers = [1, 2]
    assert whence.ask("whole(numbers)") == whole(numbers)
