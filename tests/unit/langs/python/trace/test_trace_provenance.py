"""Which call printed a line, and where an exception was raised, in programs that are really run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorded import environment

from whence.langs.python.record.backend_choice import NATIVE, candidates
from whence.langs.python.trace.trace_provenance import TraceProvenance
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import find_mark
from whence.model.origin import Origin

if not any(each.name == NATIVE and each.can_be_used for each in candidates()):
    pytest.skip("the recorder in C is needed", allow_module_level=True)


class Recorded:
    """A recorded program, asked by the names of its functions."""

    def __init__(self, folder: Path, source: str) -> None:
        (folder / "program.py").write_text(source)
        self.done = subprocess.run(
            [sys.executable, "-m", "whence", "record", "-q", "-o", "t.whence", "program.py"],
            cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        self.tree = open_trace(folder / "t.whence")
        self.provenance = TraceProvenance(self.tree)

    def origin(self, mark: str, node: int = 0) -> Origin:
        call = self.tree.call(self.tree.position(node))
        return self.provenance.origin(node, find_mark(call, mark, input_side=False))

    def name(self, node: int | None) -> str:
        assert node is not None
        return self.tree.call(self.tree.position(node)).function.short()

    def chain(self, mark: str, node: int = 0) -> list[str]:
        return [self.name(each) for each in self.origin(mark, node).chain]

    def find(self, name: str) -> int:
        return next(
            self.tree.id(each)
            for each in range(len(self.tree.columns))
            if self.name(self.tree.id(each)) == name
        )


def test_each_line_leads_to_the_call_that_printed_it(tmp_path: Path) -> None:
    program = Recorded(tmp_path, """
def one(): print("one"); two()
def two(): print("two", end="")
def three(): print(" three")
def main(): one(); three()
main()
print("last")
""")  # fmt: skip
    assert program.chain("printed[0]") == ["one", "main", "<module>"]
    assert program.chain("printed[1]") == ["two", "one", "main", "<module>"]
    assert program.chain("printed[2]") == ["<module>"]
    assert program.origin("printed").node is None


def test_what_a_call_printed_was_made_by_itself(tmp_path: Path) -> None:
    program = Recorded(tmp_path, "def f(): print('a'); print('b')\nf()\n")
    node = program.find("f")
    assert program.origin("printed[1]", node).node == node


@pytest.mark.parametrize(
    ("source", "chain"),
    [
        ("def a(): 1 // 0\ndef b(): a()\nb()\n", ["a", "b", "<module>"]),
        (
            "def a(): 1 // 0\ndef b():\n  try: a()\n  finally: print()\nb()\n",
            ["a", "b", "<module>"],
        ),
        (
            "def a(): 1 // 0\ndef log(): pass\ndef b():\n  try: a()\n  except Exception:\n"
            "    log()\n    raise\nb()\n",
            ["a", "b", "<module>"],
        ),
        (
            "def a(): 1 // 0\ndef b():\n  try: a()\n  except Exception as e: raise e\nb()\n",
            ["a", "b", "<module>"],
        ),
        (
            "def a(): 1 // 0\ndef b():\n  try: a()\n"
            "  except Exception as e: raise ValueError(3) from e\nb()\n",
            ["b", "<module>"],
        ),
        (
            "def a(): 1 // 0\ndef other(): return {}[1]\ndef b():\n  try: a()\n"
            "  except Exception:\n    try: other()\n    except KeyError: pass\n    raise\nb()\n",
            ["a", "b", "<module>"],
        ),
        (
            "def a(n):\n  if n == 2: 1 // 0\n  raise KeyError(n)\ndef b():\n  for n in range(3):\n"
            "    try: a(n)\n    except KeyError: pass\nb()\n",
            ["a", "b", "<module>"],
        ),
        (
            "def a(): 1 // 0\ndef steps(): yield 1; a()\ndef use(g): return list(g)\n"
            "use(steps())\n",
            ["a", "steps", "use", "<module>"],
        ),
        ("import json\ndef a(): json.loads('{')\na()\n", ["a", "<module>"]),
        ("raise ValueError(3)\n", ["<module>"]),
        ("import sys\ndef a(): sys.exit(4)\ndef b(): a()\nb()\n", ["a", "b", "<module>"]),
    ],
)
def test_an_exception_leads_to_the_call_that_it_left_first(
    tmp_path: Path, source: str, chain: list[str]
) -> None:
    assert Recorded(tmp_path, source).chain("result") == chain


def test_an_exception_that_was_caught_leads_there_too(tmp_path: Path) -> None:
    program = Recorded(tmp_path, """
def a(): 1 // 0
def b(): a()
def c():
    try: b()
    except ZeroDivisionError: return 3
c()
""")  # fmt: skip
    assert program.chain("result", program.find("b")) == ["a"]
    assert "does not show" in program.origin("result", program.find("c")).unknown


def test_results_and_the_end_of_a_good_run_have_no_known_origin(tmp_path: Path) -> None:
    program = Recorded(tmp_path, "def f(x): return [x]\nf(1)\n")
    assert program.origin("result[0]", program.find("f")).node is None
    assert program.origin("result").node is None
