from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path

from whence.langs.python.record.repeatable import pinned
from whence.langs.python.replay.shadowing import ShadowedProvenance
from whence.langs.python.running import launcher
from whence.langs.python.trace.opening import open_trace
from whence.model.call import find_mark
from whence.model.origin import Influence, Origin
from whence.tree.memory import ColumnTree

PROGRAM = """
def read(text):
    return [int(word) for word in text.split()]
def scale(n, by):
    return n * by
def scaled(numbers, by):
    return [scale(n, by) for n in numbers]
def log(x):
    return len(x)
def report(numbers):
    log(numbers)
    return {"all": numbers, "first": numbers[0]}
def main(text, by):
    numbers = read(text)
    big = scaled(numbers, by)
    return report(big)
main("1 2", 3)
main("4 5 6", 2)
"""


class Recorded:
    """A program that was recorded, and marks on its calls."""

    def __init__(self, folder: Path, source: str = PROGRAM):
        (folder / "program.py").write_text(textwrap.dedent(source))
        path = folder / "run.whence"
        environment, seed_by = pinned(os.environ)
        subprocess.run(
            [*launcher(), "--output", str(path), "--repeatable", seed_by, "program.py"],
            env=environment, cwd=folder, capture_output=True, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.tree: ColumnTree = open_trace(path)
        self.provenance = ShadowedProvenance(path, self.tree)

    def nodes(self, name: str) -> list[int]:
        columns = self.tree.columns
        return sorted(
            self.tree.id(place)
            for place in range(len(columns))
            if columns.function[place] >= 0
            and self.tree.functions[columns.function[place]].short() == name
        )

    def origin(self, node: int, mark: str, *, is_input: bool = False) -> Origin:
        call = self.tree.call(self.tree.position(node))
        return self.provenance.origin(node, find_mark(call, mark, input_side=is_input))

    def influence(self, node: int, mark: str) -> Influence | None:
        call = self.tree.call(self.tree.position(node))
        return self.provenance.influence(node, find_mark(call, mark, input_side=False))


def test_a_marked_part_of_a_result_leads_to_the_recorded_call_that_made_it(tmp_path: Path) -> None:
    run = Recorded(tmp_path)
    found = run.origin(run.nodes("main")[1], "result['all'][2]")
    assert found.node == run.nodes("scale")[4]
    assert found.expression == "n * by"
    assert found.location is not None
    assert found.location.line == 5
    assert set(found.chain) == {run.nodes("scale")[4], run.nodes("scaled")[1],
                                run.nodes("report")[1]}  # fmt: skip
    assert found.passed_through == {run.nodes("report")[1]}


def test_a_part_that_was_given_to_a_call_is_followed_up_to_its_callers(tmp_path: Path) -> None:
    run = Recorded(tmp_path)
    found = run.origin(run.nodes("scale")[3], "n", is_input=True)
    assert found.node == run.nodes("read")[1]
    assert found.expression == "int(word)"


def test_a_part_that_no_function_made_leads_to_the_statements_of_the_program(
    tmp_path: Path,
) -> None:
    run = Recorded(tmp_path)
    found = run.origin(run.nodes("main")[0], "by", is_input=True)
    assert found.node in run.nodes("<module>")
    assert found.expression == "3"


def test_a_part_of_a_variable_of_the_module_is_followed_to_its_statement(tmp_path: Path) -> None:
    run = Recorded(tmp_path, """
        SHOP = {"prices": [1, 2 + 3]}
        def prices(): return SHOP["prices"]
        def main(): return prices()
        main()
    """)  # fmt: skip
    found = run.origin(run.nodes("main")[0], "result[1]")
    assert found.node in run.nodes("<module>")
    assert found.expression == "2 + 3"


def test_what_the_program_was_given_is_said_to_be_unknown(tmp_path: Path) -> None:
    run = Recorded(tmp_path, """
        import sys
        def first(words): return words[0]
        first(sys.argv)
    """)  # fmt: skip
    found = run.origin(run.nodes("first")[0], "result")
    assert found.node is None
    assert found.unknown


def test_calls_that_could_not_have_mattered_are_outside_the_influence(tmp_path: Path) -> None:
    run = Recorded(tmp_path)
    found = run.influence(run.nodes("scaled")[1], "result[1]")
    assert found is not None
    assert run.nodes("scale")[3] in found.nodes
    assert run.nodes("scale")[2] not in found.nodes
    assert found.complete


def test_a_program_that_goes_another_way_is_not_believed(tmp_path: Path) -> None:
    run = Recorded(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM.replace("    log(numbers)\n", "    pass\n"))
    found = run.origin(run.nodes("main")[1], "result['all'][2]")
    assert found.node is None
    assert "went another way" in found.unknown
