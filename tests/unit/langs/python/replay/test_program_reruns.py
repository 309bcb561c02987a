from __future__ import annotations

import os
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from debuggee_runs import record_repeatably

from whence.langs.python.record.options import Detail, RecordOptions
from whence.langs.python.record.recording import MAX_BYTES, Settings
from whence.langs.python.record.repeatable import pin_hash_seed
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recordings import beside
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.replay.rerun_process import CannotReplay, settings_again
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.value import FULL, show
from whence.tree.column_tree import ColumnTree


class Recorded:
    """A program that was recorded as `whence run` does it."""

    def __init__(self, folder: Path, source: str, *options: str, stdin: str = ""):
        self.script = folder / "program.py"
        self.script.write_text(textwrap.dedent(source))
        self.path = folder / "run.whence"
        beside(self.path, "stdin").write_text(stdin)
        done = record_repeatably(self.path, [*options, str(self.script)], folder, stdin=stdin)
        self.printed, self.complained = done.stdout, done.stderr
        self.tree: ColumnTree = open_trace(self.path)
        self.reruns = ProgramReruns(self.path, self.tree)

    def node(self, name: str, which: int = -1) -> int:
        """The id of a call of a function, the last one unless another is named."""
        numbers = [n for n, each in enumerate(self.tree.functions) if each.short() == name]
        columns = self.tree.columns
        found = [self.tree.id(p) for p in range(len(columns)) if columns.function[p] in numbers]
        return sorted(found)[which]


def test_a_value_beyond_the_bound_is_had_in_full(tmp_path: Path) -> None:
    run = Recorded(
        tmp_path,
        """
        def deep(n):
            return {"far": [[[[[list(range(n))]]]]]}

        for n in range(60):
            deep(n)
        """,
    )
    node = run.node("deep")
    recorded = run.tree.call(run.tree.position(node))
    assert "more" in recorded.equation(FULL)
    whole = run.reruns.whole(node)
    assert whole.outcome.value is not None
    assert show(whole.outcome.value, FULL) == str({"far": [[[[[list(range(59))]]]]]})


def test_sets_of_plain_objects_and_of_texts_are_walked_in_the_same_order(tmp_path: Path) -> None:
    run = Recorded(
        tmp_path,
        """
        import sys

        class Thing:
            def __init__(self, name):
                self.name = name

        def look(thing, word):
            return [[[thing.name, word]]]

        words = sys.stdin.read().split()
        things = {Thing(word) for word in words}
        for thing, word in zip(things, set(words)):
            look(thing, word)
        """,
        stdin=" ".join(f"word{n}" for n in range(200)),
    )
    columns = run.tree.columns
    for node in (run.node("look", 0), run.node("look", 77), run.node("look")):
        whole = run.reruns.whole(node)
        recorded = run.tree.call(run.tree.position(node))
        assert whole.arguments[1] == recorded.arguments[1]
    assert len(columns) > 400


def test_a_run_that_goes_another_way_is_named_and_not_believed(tmp_path: Path) -> None:
    run = Recorded(
        tmp_path,
        """
        import os

        def first():
            return 1

        def second():
            return 2

        def choose():
            return first() if not os.path.exists("there") else second()

        choose()
        open("there", "w").close()
        """,
    )
    with pytest.raises(CannotReplay, match=r"at call \d+, recorded: first .* now: second"):
        run.reruns.whole(run.node("first"))


def test_another_argument_is_noticed_though_all_calls_are_the_same(tmp_path: Path) -> None:
    run = Recorded(
        tmp_path,
        """
        import os

        def told(number):
            return [number]

        told(os.getpid())
        """,
    )
    with pytest.raises(CannotReplay, match="number was"):
        run.reruns.whole(run.node("told"))


def test_the_lines_that_a_call_ran_are_known(tmp_path: Path) -> None:
    run = Recorded(
        tmp_path,
        """\
        def sign(n):
            if n < 0:
                return "minus"
            word = "plus"
            return word

        for n in (1, -1, 1):
            sign(n)
        """,
    )
    assert run.reruns.lines(run.node("sign", 0)) == {2, 4, 5}
    assert run.reruns.lines(run.node("sign", 1)) == {2, 3}


def test_which_lines_ran_is_not_known_of_a_generator(tmp_path: Path) -> None:
    run = Recorded(tmp_path, "def count():\n    yield 1\n\nlist(count())\n")
    with pytest.raises(CannotReplay, match="generators"):
        run.reruns.lines(run.node("count"))


def test_a_program_that_traces_itself_keeps_its_tracing(tmp_path: Path) -> None:
    run = Recorded(
        tmp_path,
        """
        import sys

        def f():
            return 1

        sys.settrace(lambda *_: None)
        f()
        """,
    )
    with pytest.raises(CannotReplay, match="traces itself"):
        run.reruns.lines(run.node("f"))


def test_a_recording_of_another_python_is_refused(tmp_path: Path) -> None:
    run = Recorded(tmp_path, "def f():\n    return 1\n\nf()\n")
    source = run.tree.sources[0]
    source.file.header = replace(source.file.header, python="3.2.1")  # type: ignore[attr-defined]
    with pytest.raises(CannotReplay, match=r"Python 3\.2\.1"):
        run.reruns.whole(run.node("f"))


def test_the_program_does_not_see_the_seed_that_was_chosen_for_it(tmp_path: Path) -> None:
    run = Recorded(tmp_path, "import os\nprint(os.environ.get('PYTHONHASHSEED'))\n")
    assert run.printed == f"{os.environ.get('PYTHONHASHSEED')}\n"


def test_a_module_of_the_current_folder_does_not_stand_in_for_one_that_whence_needs(
    tmp_path: Path,
) -> None:
    (tmp_path / "dataclasses.py").write_text("raise RuntimeError('not that one')\n")
    run = Recorded(tmp_path, "def f():\n    return 1\n\nprint(f())\n")
    assert run.printed == "1\n", run.complained


def test_the_options_of_a_recording_are_those_of_the_next(tmp_path: Path) -> None:
    told = {
        "detail": "shallow", "max_calls": 7, "max_bytes": None, "depth": 3, "backend": None,
        "user_code": ["a", "b"], "only": [], "left_out": ["c*"],
    }  # fmt: skip
    assert settings_again(told, "out") == Settings(
        "out",
        RecordOptions(detail=Detail.SHALLOW, max_calls=7, max_bytes=MAX_BYTES, depth=3),
        UserCodeRules(added=("a", "b"), left_out=("c*",)),
    )


def test_an_own_seed_is_kept_and_a_random_one_is_pin_hash_seed() -> None:
    assert pin_hash_seed({"PYTHONHASHSEED": "7"}) == ({"PYTHONHASHSEED": "7"}, "own")
    environment, by = pin_hash_seed({"PYTHONHASHSEED": "random"})
    assert by == "pinned"
    assert environment["PYTHONHASHSEED"].isdecimal()
