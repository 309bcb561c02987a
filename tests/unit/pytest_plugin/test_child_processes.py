"""`pytest --whence` records the processes that a failing test starts, or says that it did not."""

from __future__ import annotations

from typing import Any

import pytest

WORK = """
    import subprocess, sys

    def square(x):
        return x * x + (x == 3)

    def refuse(x):
        raise ValueError(x)

    def total_out_of_sight(numbers):
        words = [sys.executable, "-I", "-c", f"print(sum({numbers}) + 1)"]
        return int(subprocess.run(words, capture_output=True, text=True).stdout)
"""
TESTS = """
    import multiprocessing, subprocess, sys
    from concurrent.futures import ProcessPoolExecutor

    import pytest
    from work import refuse, square, total_out_of_sight

    @pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
    def test_pool(method):
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.map(square, [3]) == [9]

    @pytest.mark.parametrize("method", ["fork", "spawn"])
    def test_process(method):
        process = multiprocessing.get_context(method).Process(target=refuse, args=(3,))
        process.start()
        process.join()
        assert process.exitcode == 0

    def test_executor():
        with ProcessPoolExecutor(1) as pool:
            assert pool.submit(refuse, 3).result() == 9

    def test_new_python():
        words = [sys.executable, "-c", "from work import square; print(square(3))"]
        assert subprocess.run(words, capture_output=True, text=True).stdout == "9\\n"

    def test_out_of_sight():
        assert total_out_of_sight([1, 2]) == 3
"""


@pytest.fixture(scope="module")
def project(make_project: Any) -> Any:
    project = make_project({"work.py": WORK, "test_work.py": TESTS})
    said = project.pytest("--whence", "test_work.py")
    assert said.count("whence debug") == 8, said
    return project


@pytest.mark.parametrize(
    ("test", "call"),
    [
        ("test_pool[fork]", "square(x=3) → 10"),
        ("test_pool[spawn]", "square(x=3) → 10"),
        ("test_pool[forkserver]", "square(x=3) → 10"),
        ("test_process[fork]", "refuse(x=3) raised ValueError(3)"),
        ("test_process[spawn]", "refuse(x=3) raised ValueError(3)"),
        ("test_executor", "refuse(x=3) raised ValueError(3)"),
        ("test_new_python", "square(x=3) → 10"),
    ],
)
def test_what_a_process_of_the_test_did_is_in_its_tree_and_can_be_blamed(
    project: Any, test: str, call: str
) -> None:
    name = f"test_work.py::{test}"
    assert call in [equation.strip() for equation in project.calls(name)]
    done = project.run(
        "-m", "whence", "debug", "--no-session", "--answers", "-",
        str(project.recordings()[name]), answers="n\n" * 5,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    function = call.partition("(")[0]
    assert f"The fault is in {function} (work.py:" in done.stdout


def test_a_process_that_was_not_recorded_is_the_other_candidate(project: Any) -> None:
    recording = project.recordings()["test_work.py::test_out_of_sight"]
    done = project.run(
        "-m", "whence", "debug", "--no-session", "--answers", "-", str(recording), answers="n\n" * 3
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The fault is in total_out_of_sight (work.py:" in done.stdout
    assert "or in what it ran out of sight (" in " ".join(done.stdout.split())
    assert "It called      nothing that could be at fault" not in done.stdout
