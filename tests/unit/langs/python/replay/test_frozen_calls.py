"""Calls that are not made again: what they did is played, or it is said why that cannot be."""

from __future__ import annotations

import contextvars
import decimal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from whence.cli.main import main
from whence.langs.python.debuggee.order import Task
from whence.langs.python.freezing.process_state import first_change, process_state
from whence.langs.python.record.journal.journal_choice import obstacle
from whence.langs.python.replay import frozen_calls, partial_replay
from whence.langs.python.replay.frozen_calls import Effects, FrozenCalls, outermost
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.replay.rerun_process import Conditions, header_of, run_again
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.replay_settings import ReplaySettings
from whence.tree.column_tree import ColumnTree

pytestmark = pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")

PROGRAM = """
    import collections, contextvars, functools, gc, io, itertools, os, random, sys, time, weakref

    class Point:
        made = 0
        def __init__(self, x):
            self.x = x

    class Slotted:
        __slots__ = ("one", "two")

    class Ending:
        def __del__(self):
            pass

    class Keyed:
        def __init__(self, x): self.x = x
        def __hash__(self): return hash(self.x)
        def __eq__(self, other): return self.x == other.x

    ITEMS, TABLE, SET, POINTS = [3, 1, 2], {"a": 1}, {1, 2}, set()
    KEPT = {"ending": Ending(), "iterator": iter([1, 2]), "stream": io.StringIO()}
    MISSING, KINDS = "nothing was found", set()
    NUMBERS, CHANCE, VARIABLE = itertools.count(), random.Random(5), contextvars.ContextVar("v")

    def step(): return 1

    # --- can be frozen
    def pure(n): return step() + (pure(n - 1) if n else 0)
    def sorts(): ITEMS.sort(); return ITEMS
    def stores(): step(); TABLE["new"] = Point([ITEMS]); TABLE.pop("a")
    def sets(): global ITEMS; ITEMS = ITEMS + [4]
    def counts(): Point.made += 1; Point.later = "now"; return None
    def adds(): SET.update([10, 11]); POINTS.add(Point(1)); POINTS.add(Point(2)); return POINTS
    def slots(): made = Slotted(); made.two = made; return made
    def closes():
        count = 0
        def more():
            nonlocal count
            count += 1
            return count
        more()
        return more
    def draws(): return CHANCE.random()
    def writes(): KEPT["stream"].write("text"); return KEPT["stream"]
    def catches():
        try:
            raise ValueError
        except ValueError:
            return step()
    def walks(): return sum(number for number in range(3))
    def constant(): TABLE["constant"] = True; return True
    def knows(): step(); return MISSING
    def classes(): KINDS.update([Slotted, Point])

    # --- cannot
    def prints(): print("printed")
    def asks(): return time.time()
    def sees(): return id(ITEMS)
    def raises(): raise ValueError("raised")
    def goes_on(): return next(KEPT["iterator"])
    def numbers(): return next(NUMBERS)
    def yields():
        def inner():
            yield 1
        return inner()
    def remembers(): return cached(3)
    def ends(): del KEPT["ending"]
    def takes(): SET.discard(1)
    def keyed(): TABLE[Keyed(3)] = 1
    def defines():
        class New: pass
        return New
    def imports():
        import colorsys
        return colorsys
    def sets_variable(): VARIABLE.set(3)
    def changes_environment(): os.environ["WHENCE_FROZEN"] = "1"
    def limits(): sys.setrecursionlimit(sys.getrecursionlimit() + 7)

    @functools.cache
    def cached(n): return [n]

    def last(*given):
        return [ITEMS, len(TABLE), sorted(SET), [point.x for point in POINTS], Point.made, given]

    def run(function, *given):
        try:
            return function(*given)
        except ValueError as error:
            return str(error)

    made = [run(pure, 5)]
    for function in (
        sorts, stores, sets, counts, adds, slots, closes, draws, writes, catches, walks, constant,
        knows, classes,
        prints, asks, sees, raises, goes_on, numbers, yields, remembers, ends, takes, keyed,
        defines, imports, sets_variable, changes_environment, limits,
    ):
        made.append(run(function))
    made[7]()
    print(run(last, made[7](), CHANCE.random(), KEPT["stream"].getvalue(), made[3] is None,
              made[1] is ITEMS, made[2], list(SET), made[13] is MISSING,
              [kind.__name__ for kind in KINDS], hash(Ending)))
"""

FROZEN = (
    "pure", "sorts", "stores", "sets", "counts", "adds", "slots", "closes", "draws", "writes",
    "catches", "walks", "constant", "knows", "classes",
)  # fmt: skip
REFUSED = {
    "prints": "it writes text",
    "asks": "it asks the outside world for something",
    "sees": "it asks the outside world for something",
    "raises": "it raises something",
    "goes_on": "it changes an object of list_iterator, which cannot be put back",
    "numbers": "it changes an object of itertools.count, which cannot be put back",
    "yields": "it leaves a new object of generator, which cannot be made",
    "remembers": "it changes an object of functools._lru_cache_wrapper, which cannot be put back",
    "ends": "an object is freed in it, which the program may notice",
    "takes": "it takes something out of a set",
    "keyed": "it hashes an object of __main__.Keyed by code of the program",
    "defines": "it leaves a new object of type, which cannot be made",
    "imports": "it asks the outside world for something",
    "sets_variable": "it changes a context variable",
    "changes_environment": "it changes the environment of processes",
    "limits": "it changes the recursion limit",
}


def recorded(folder: Path, source: str) -> Path:
    script = folder / "program.py"
    script.write_text(textwrap.dedent(source))
    words = ["record", "--journal", "-o", str(folder / "run.whence"), str(script)]
    subprocess.run(
        [sys.executable, "-m", "whence", *words], cwd=folder, check=True, timeout=60,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return folder / "run.whence"


def calls_of(tree: ColumnTree, *names: str) -> dict[int, int]:
    """By which of all calls each is, how many calls it made."""
    functions = [each.short() for each in tree.functions]
    ordinals = tree.sources[0].ordinals()  # type: ignore[attr-defined]
    columns = tree.columns
    return {
        int(ordinals[tree.id(position)]): int(columns.weight[position]) - 1
        for position in range(1, len(columns))
        if functions[int(columns.function[position])] in names
    }


def named(tree: ColumnTree, ordinal: int) -> str:
    ordinals = tree.sources[0].ordinals()  # type: ignore[attr-defined]
    position = tree.position(int(np.searchsorted(ordinals, ordinal)))
    return tree.functions[int(tree.columns.function[position])].short()


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> FrozenCalls:
    """All calls of the program that are to be frozen, or not."""
    path = recorded(tmp_path_factory.mktemp("run"), PROGRAM)
    tree = open_trace(path)
    found = FrozenCalls(path, tree)
    found.freeze(outermost(calls_of(tree, *FROZEN, *REFUSED)))
    return found


def test_what_can_be_played_is_frozen(looked_at: FrozenCalls) -> None:
    not_frozen = {named(looked_at.tree, each): why for each, why in looked_at.refused.items()}
    assert not {name: why for name, why in not_frozen.items() if name in FROZEN}
    assert {named(looked_at.tree, each) for each in looked_at.frozen} == set(FROZEN)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_played_is_refused_with_the_reason(
    looked_at: FrozenCalls, name: str
) -> None:
    (why,) = (why for each, why in looked_at.refused.items() if named(looked_at.tree, each) == name)
    assert why == REFUSED[name]


def again(frozen: FrozenCalls, order_file: str, folder: Path) -> ColumnTree:
    conditions = Conditions.of(frozen.recording, header_of(frozen.tree))
    return open_trace(run_again(conditions, folder, Task(freezing=order_file), 60.0)[0])


def test_frozen_calls_are_not_made_and_all_else_is_as_it_was(
    looked_at: FrozenCalls, tmp_path: Path
) -> None:
    tree = again(looked_at, looked_at.order_file(tmp_path, 10**9), tmp_path)
    assert len(calls_of(tree, "pure")) == 1
    assert tree.call(0).output == looked_at.tree.call(0).output
    assert tree.columns.weight[0] == looked_at.tree.columns.weight[0]
    (last,) = calls_of(looked_at.tree, "last")
    assert list(calls_of(tree, "last")) == [last]


def test_only_calls_that_end_before_the_wanted_one_are_frozen(
    looked_at: FrozenCalls, tmp_path: Path
) -> None:
    (at,) = calls_of(looked_at.tree, "sorts")
    looked_at.order_file(tmp_path, at)
    lines = (tmp_path / "frozen.txt").read_text().splitlines()
    assert [int(line.split("\t")[0]) for line in lines] == [min(looked_at.frozen)]


def test_effects_that_are_not_those_of_the_call_are_noticed(
    looked_at: FrozenCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    (at,) = calls_of(looked_at.tree, "draws")
    honest = FrozenCalls._record_effects

    def mistaken(self: FrozenCalls, wanted: dict[int, int]) -> dict[int, Effects]:
        found = honest(self, wanted)
        line = found[at].line.replace('"result":["f",', '"result":["f","0x1p-1"],"was":["f",')
        return {at: replace(found[at], line=line)}

    monkeypatch.setattr(FrozenCalls, "_record_effects", mistaken)
    other = FrozenCalls(looked_at.recording, looked_at.tree)
    other.freeze({at: 0})
    assert not other.frozen
    assert "of the run is another one" in other.refused[at]


SLOW = """
    def leaf(n): return n + 1

    def work(table, n):
        for number in range(n):
            table[number] = leaf(number)
        return table

    def middle(table):
        return sum(table.values())

    def main():
        table = work({}, 40)
        return middle(table), middle(table)

    print(main())
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("slow"), SLOW)


def test_what_was_judged_right_is_frozen_once_a_program_is_run_again_and_again(
    slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = open_trace(slow)
    (work, *_), (first, second) = calls_of(tree, "work"), calls_of(tree, "middle")
    reruns = ProgramReruns(slow, tree, ReplaySettings(judged_right=lambda: [work]))
    partial = reruns.partial
    monkeypatch.setattr(partial_replay, "_LONG", 0.0)
    monkeypatch.setattr(frozen_calls, "WORTH", 10)
    seen = [partial.record(node, 10).tree.call(1) for node in (first, second)]
    assert not partial.freezing.frozen
    seen.append(partial.record(second, 10).tree.call(1))
    assert list(partial.freezing.frozen) == [work]
    assert reruns.frozen(work) == "frozen: it is not made again, nor the 40 calls below it"
    assert reruns.frozen(first) == ""
    assert seen[1] == seen[2]
    assert seen[2].outcome == tree.call(tree.position(second)).outcome
    trial = reruns.tried({first: "5"})
    assert trial == ProgramReruns(slow, open_trace(slow)).tried({first: "5"})


def test_what_is_frozen_and_what_it_spares_is_said(
    slow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["freeze", "work", str(slow)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "frozen, with the 40 calls below it" in said
    assert "1 of 1 calls can be frozen." in said
    assert "Then 41 of 45 calls are not made" in said
    assert main(["freeze", "nobody", str(slow)]) == 2


def test_a_call_that_lies_in_another_one_is_not_looked_at() -> None:
    assert outermost({5: 10, 6: 2, 15: 3, 16: 0, 19: 1}) == {5: 10, 16: 0, 19: 1}


def test_looking_at_the_surroundings_changes_nothing_in_them() -> None:
    anew = contextvars.Context()  # in which nobody has asked for a context of decimals
    assert "decimal" in sys.modules
    assert anew.run(lambda: first_change(process_state(), process_state())) == ""
    assert len(anew) == 0
    then = anew.run(process_state)
    anew.run(decimal.getcontext)
    assert first_change(then, anew.run(process_state)) == "it changes a context variable"
    now = anew.run(process_state)
    anew.run(lambda: setattr(decimal.getcontext(), "prec", 5))
    assert first_change(now, anew.run(process_state)) == "it changes the context of decimals"
