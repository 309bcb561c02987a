"""Calls as they are known in every run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorded import BACKENDS, environment, recording

from whence.langs.python.record.options import Bound, RecordOptions
from whence.langs.python.trace.equation_digest import EquationDigests, NoEquationDigest
from whence.langs.python.trace.trace_reader import open_trace

WIDE = Bound(depth=50, width=1000, attributes=1000, text=10_000, budget=10_000)
WHOLE = RecordOptions(bound=WIDE, first_bound=WIDE)


def digests(
    source: str, folder: Path, options: RecordOptions = WHOLE, backend: str = BACKENDS[0]
) -> dict[str, tuple[str, str] | str]:
    """For the last call of each function its digests, or why it has none."""
    folder.mkdir(exist_ok=True)
    program = folder / "program.py"
    program.write_text(source)
    output = folder / "program.whence"
    namespace = {"__name__": "program", "__file__": str(program)}
    with recording(output, program, backend, options):
        exec(compile(source, str(program), "exec"), namespace)
    tree = open_trace(output)
    equations = EquationDigests(tree, folder)
    found: dict[str, tuple[str, str] | str] = {}
    for at in range(1, len(tree.columns)):
        name = tree.functions[int(tree.columns.function[at])].qualname
        try:
            found[name] = equations.of(at)[1:]
        except NoEquationDigest as why:
            found[name] = str(why)
    return found


PROGRAM = """
from dataclasses import dataclass
import math
RATE = 3
class Item:
    def __init__(self, name): self.name = name
def helper(x): return x
def f(x, *more, key=None):
    print("f", x)
    helper(math.floor(1))
    return {*map(str, x)}
def g(item): item.name = item.name * RATE; return item
f([1, 2.5, True, None, "a", b"b", 1j, -0.0, float("nan"), 10**40], (1, (2,)), key={"k": {1}})
g(Item("n"))
"""


def test_digests_are_the_same_in_another_run_and_for_every_recorder(tmp_path: Path) -> None:
    first = digests(PROGRAM, tmp_path / "a")
    assert isinstance(first["f"], tuple)
    assert isinstance(first["g"], tuple)
    # Other code before it, in other places, with other names in the tables of the trace.
    moved = PROGRAM.replace("RATE = 3", "def other(n): return [n]\n\nother(7)\nRATE = 3")
    for number, backend in enumerate(BACKENDS):
        again = digests(moved, tmp_path / f"b{number}", backend=backend)
        for name in ("f", "g", "helper"):
            assert again[name] == first[name]


def last_of_script(folder: Path, source: str, seed: str = "0") -> tuple[str, str, str]:
    """What the last call of a script is known by, which is run in a process of its own."""
    (folder / "p.py").write_text(source)
    output = folder / "run.whence"
    subprocess.run(
        [sys.executable, "-m", "whence", "record", "-o", output, "p.py"],
        check=True,
        cwd=folder,
        env={**environment(), "PYTHONHASHSEED": seed},
        stdout=subprocess.DEVNULL,
    )
    tree = open_trace(output)
    return EquationDigests(tree, folder).of(len(tree.columns) - 1)


def test_digests_of_sets_do_not_depend_on_the_seed_of_hashes(tmp_path: Path) -> None:
    source = "def f(x): return set(x) | {frozenset(x)}\nf(['a', 'b', 'c', 'd', 'e'])\n"
    found = {last_of_script(tmp_path, source, seed) for seed in ("1", "2", "3")}
    ((name, _, _),) = found
    assert name == "p.py.f", "a script is known by its file"


def test_what_was_printed_counts_and_in_how_many_pieces_does_not(tmp_path: Path) -> None:
    silent = last_of_script(tmp_path, "def f(): pass\nf()\n")
    printing = last_of_script(tmp_path, "def f(): print('ab')\nf()\n")
    pieces = last_of_script(tmp_path, "def f():\n    print('a', end='')\n    print('b')\nf()\n")
    assert silent != printing == pieces


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(): return 1\nf()", "def f(): return True\nf()"),
        ("def f(): return 1\nf()", "def f(): return 1.0\nf()"),
        ("def f(): return [1, 2]\nf()", "def f(): return (1, 2)\nf()"),
        ("def f(x): return 1\nf([])", "def f(x):\n    x.append(1)\n    return 1\nf([])"),
        ("def f(x): return x\nf([1])", "def f(x): return [1]\nf([1])"),
        ("def f(): raise ValueError(1)", "def f(): raise KeyError(1)"),
        ("R = 1\ndef f(): return R and 1\nf()", "R = 2\ndef f(): return R and 1\nf()"),
        ("def f():\n    yield 1\nlist(f())", "def f():\n    yield 1\n    yield 2\nlist(f())"),
        ("def f(x, y): return 1\na = []\nf(a, a)", "def f(x, y): return 1\nf([], [])"),
        (
            "class A: pass\nclass B: pass\ndef f(x): return 1\nf(A())",
            "class A: pass\nclass B: pass\ndef f(x): return 1\nf(B())",
        ),
    ],
)
def test_what_differs_in_anything_that_is_judged_differs(
    tmp_path: Path, one: str, other: str
) -> None:
    ending = "\ntry: f()\nexcept Exception: pass\n" if "raise" in one else "\n"
    first = digests(one + ending, tmp_path / "a")["f"]
    second = digests(other + ending, tmp_path / "b")["f"]
    assert isinstance(first, tuple)
    assert isinstance(second, tuple)
    assert first[0] != second[0]


def test_the_digest_of_inputs_leaves_out_what_came_of_it(tmp_path: Path) -> None:
    first = digests("def f(x): return 1\nf([2])", tmp_path / "a")["f"]
    second = digests("def f(x): x.append(3); print(x); return 2\nf([2])", tmp_path / "b")["f"]
    third = digests("def f(x): return 1\nf([3])", tmp_path / "c")["f"]
    assert first[1] == second[1] != third[1]


def test_code_that_a_function_merely_calls_does_not_count(tmp_path: Path) -> None:
    before = "def f(x): return x + 1\nf(1)"
    after = "import math\ndef helper(): pass\ndef f(x): return helper() or math.floor(x) + 1\nf(1)"
    assert digests(before, tmp_path / "a")["f"] == digests(after, tmp_path / "b")["f"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def f(x): return x\nf(object)\nf(iter([]))", "only a summary was recorded"),
        ("def f(x): return x\nf(object)\nf(iter({}))", "cannot be seen"),
        ("f = lambda x: x\nf(1)", "lambda"),
        ("def f(n):\n    yield n\nx = f(1)\nnext(x)", "did not end"),
        ("def f(): return 1\nf()\ndef f(): return 2\nf()", "several functions"),
        ("class f:\n    pass", "defines"),
        ("import sys\ndef f(): return sys.stdout.write\nf()", "cannot be seen"),
    ],
)
def test_what_is_not_known_in_full_has_no_digest(tmp_path: Path, source: str, why: str) -> None:
    found = digests(source, tmp_path)
    (said,) = [each for name, each in found.items() if name != "<module>"][:1]
    assert isinstance(said, str)
    assert why in said


def test_what_was_cut_off_has_no_digest(tmp_path: Path) -> None:
    narrow = RecordOptions(bound=Bound(depth=1, width=3), first_bound=Bound(depth=1, width=3))
    found = digests("def f(x): return 1\nf([1, 2, 3, 4])", tmp_path, narrow)["f"]
    assert isinstance(found, str)
    assert found.startswith("x: a list of which less was recorded")


def test_the_run_itself_is_not_known_again(tmp_path: Path) -> None:
    digests("def f(): pass\nf()", tmp_path)
    tree = open_trace(tmp_path / "program.whence")
    with pytest.raises(NoEquationDigest, match="the whole run"):
        EquationDigests(tree, tmp_path).of(0)


def test_a_call_with_very_many_records_has_no_digest(tmp_path, monkeypatch):
    monkeypatch.setattr("whence.langs.python.trace.call_recipes.MOST_EVENTS", 50)
    source = """
def few(n):
    yield from range(n)
def many(n):
    yield from range(n)
list(few(20)), list(many(60))
"""
    known = digests(source, tmp_path)
    assert isinstance(known["few"], tuple)
    assert known["many"] == "it has too many records to be read as a whole"
