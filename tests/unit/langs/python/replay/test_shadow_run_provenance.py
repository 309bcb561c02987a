from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from debuggee_runs import record_repeatably

from whence.langs.python.record.journal.journal_choice import obstacle
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.replay.shadow_run_provenance import ShadowRunProvenance
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import Mark, MarkedPart, find_mark
from whence.model.origin import Influence, Origin
from whence.model.replay_settings import ReplaySettings
from whence.model.value import atom
from whence.tree.column_tree import ColumnTree
from whence.tree.shrinking import collapse

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

    def __init__(
        self, folder: Path, source: str = PROGRAM, *options: str, stdin: str = "",
        check: bool = True, words: Sequence[str] = ("program.py",),
    ):  # fmt: skip
        (folder / "program.py").write_text(textwrap.dedent(source))
        path = folder / "run.whence"
        record_repeatably(path, [*options, *words], folder, stdin=stdin, check=check)
        self.path = path
        self.tree: ColumnTree = open_trace(path)
        self.reruns = ProgramReruns(path, self.tree)
        self.provenance = self.reruns.provenance

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

    def influence(self, node: int, mark: str, *, is_input: bool = False) -> Influence | None:
        call = self.tree.call(self.tree.position(node))
        return self.provenance.influence(node, find_mark(call, mark, input_side=is_input))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("recorded"))


def test_a_marked_part_of_a_result_leads_to_the_recorded_call_that_made_it(run: Recorded) -> None:
    found = run.origin(run.nodes("main")[1], "result['all'][2]")
    assert found.node == run.nodes("scale")[4]
    assert found.expression == "n * by"
    assert found.location is not None
    assert found.location.line == 5
    assert set(found.chain) == {run.nodes("scale")[4], run.nodes("scaled")[1],
                                run.nodes("report")[1]}  # fmt: skip
    assert found.passed_through == {run.nodes("report")[1]}


def test_a_part_that_was_given_to_a_call_is_followed_up_to_its_callers(run: Recorded) -> None:
    found = run.origin(run.nodes("scale")[3], "n", is_input=True)
    assert found.node == run.nodes("read")[1]
    assert found.expression == "int(word)"
    influence = run.influence(run.nodes("scale")[3], "n", is_input=True)
    assert influence is not None
    assert run.nodes("read")[1] in influence.nodes
    assert run.nodes("main")[0] not in influence.nodes, "a small run is followed from its start"
    assert run.nodes("scale")[2] not in influence.nodes


def test_a_part_that_no_function_made_leads_to_the_statements_of_the_program(
    run: Recorded,
) -> None:
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


def test_calls_that_could_not_have_mattered_are_outside_the_slices(run: Recorded) -> None:
    found = run.influence(run.nodes("scaled")[1], "result[1]")
    assert found is not None
    for each in found.slices():
        assert run.nodes("scale")[3] in each
        assert run.nodes("scale")[2] not in each
    assert len(found.slices()) == 3
    assert found.complete, "no call is inside try: what it did not raise cannot matter"


def test_what_a_method_changed_is_followed_and_so_are_variables_of_the_module(
    tmp_path: Path,
) -> None:
    run = Recorded(tmp_path, """
        class Shelf:
            def __init__(self): self.items = []
            def put(self, item): self.items.append(mended(item))
        LAST = None
        def mended(item): return item + "!"
        def remember(item):
            global LAST
            LAST = mended(item)
        def main():
            shelf = Shelf()
            shelf.put("a")
            remember("b")
            return len(shelf.items)
        main()
    """)  # fmt: skip
    changed = run.origin(run.nodes("Shelf.put")[0], "self.items[0]")
    assert (changed.node, changed.expression) == (run.nodes("mended")[0], 'item + "!"')
    variable = run.origin(run.nodes("remember")[0], "LAST")
    assert (variable.node, variable.expression) == (run.nodes("mended")[1], 'item + "!"')
    older = run.origin(run.nodes("Shelf.put")[0], "item", is_input=True)
    assert (older.node, older.expression) == (run.nodes("main")[0], '"a"')


def counted(run: Recorded, tree: ColumnTree, runs: list[str]) -> ShadowRunProvenance:
    """Provenance of a recording that appends to `runs` whenever it follows a part."""

    @contextmanager
    def with_progress(doing: str) -> Iterator[Callable[[int, int], None]]:
        runs.append(doing)
        yield lambda done, of: None

    settings = ReplaySettings(with_progress=with_progress)
    return ProgramReruns(run.path, tree, settings).provenance


def test_a_run_is_made_once_for_a_part_and_not_if_it_was_given_up(run: Recorded) -> None:
    runs: list[str] = []
    provenance = counted(run, run.tree, runs)
    node = run.nodes("scaled")[0]
    part = find_mark(run.tree.call(run.tree.position(node)), "result[0]", input_side=False)
    assert provenance.needs_run(node, part)
    provenance.give_up(node, part, "that was stopped")
    assert provenance.origin(node, part).unknown == "that was stopped"
    assert provenance.influence(node, part) is None
    assert not runs
    provenance.follow(node, part)
    assert provenance.origin(node, part).expression == "n * by"
    assert provenance.influence(node, part) is not None
    assert runs == ["following result[0] back"]
    assert not provenance.needs_run(node, part)


def test_nothing_is_run_again_for_a_known_part_when_the_tree_has_grown(run: Recorded) -> None:
    runs: list[str] = []
    provenance = counted(run, run.tree, runs)
    node = run.nodes("scaled")[0]
    part = find_mark(run.tree.call(run.tree.position(node)), "result[0]", input_side=False)
    origin = provenance.origin(node, part)
    grown = provenance.with_tree(replace(run.tree))
    assert not grown.needs_run(node, part)
    assert grown.origin(node, part) == origin
    assert runs == ["following result[0] back"]


def test_a_part_that_too_few_calls_were_recorded_for_is_followed_when_the_tree_has_grown(
    run: Recorded,
) -> None:
    runs: list[str] = []
    node = run.nodes("scaled")[0]
    position = run.tree.position(node)
    part = find_mark(run.tree.call(position), "result[0]", input_side=False)
    cut = collapse(run.tree, np.arange(len(run.tree.columns)) == position)
    provenance = counted(run, cut, runs)
    assert "only counted" in provenance.origin(node, part).unknown
    assert not provenance.needs_run(node, part)
    assert provenance.with_tree(run.tree).origin(node, part).expression == "n * by"
    kept = provenance.with_tree(run.tree).with_tree(cut)
    assert kept.origin(node, part).expression == "n * by", "also when calls are dropped again"
    assert len(runs) == 2


def test_a_call_that_was_given_something_else_is_not_believed(tmp_path: Path) -> None:
    source = """
        import os
        from pathlib import Path
        def pick(number): return [number * 2]
        def main():
            seen = Path("seen.txt")
            pick(len(seen.read_text()) if seen.exists() else 0)
            seen.write_text("seen")
        main()
    """
    run = Recorded(tmp_path, source)
    found = run.origin(run.nodes("pick")[0], "result[0]")
    assert found.node is None
    assert "number of call" in found.unknown
    assert "was 0, now 4" in found.unknown


def test_a_line_of_the_output_is_followed_to_what_made_its_text(tmp_path: Path) -> None:
    run = Recorded(tmp_path, """
        import sys
        def line(name, amount): return f"{name}: {amount}"
        def amount(text): return int(text) * 2
        def log(text): return len(text)
        def main():
            print("begins")
            log("x")
            print(line("a", amount("1")))
            sys.stdout.write("b")
            print(":", amount("2"))
            print("ends")
        main()
    """)  # fmt: skip
    marks = [MarkedPart(Mark("printed", (f"[{n}]",)), atom("''"), is_input=False) for n in range(3)]
    made = run.provenance.origin(0, marks[1])
    assert (made.node, made.expression) == (run.nodes("line")[0], 'f"{name}: {amount}"')
    influence = run.provenance.influence(0, marks[1])
    assert influence is not None
    assert run.nodes("amount")[0] in influence.nodes
    assert not {run.nodes("amount")[1], run.nodes("log")[0]} & influence.nodes
    pieces = run.provenance.origin(0, marks[2])
    assert (pieces.node, pieces.expression) == (run.nodes("main")[0], 'print(":", amount("2"))')
    assert not run.provenance.needs_run(run.nodes("main")[0], marks[0]), "the recording knows it"
    for line, place, node in ((1, 3, run.nodes("amount")[0]), (2, 3, run.nodes("amount")[1])):
        steps = (f"[{line}]", f"[{place}:{place + 1}]")
        made = run.provenance.origin(0, MarkedPart(Mark("printed", steps), atom("''"), False))
        assert (made.node, made.expression) == (node, "int(text) * 2"), steps


def test_a_program_that_goes_another_way_is_not_believed(tmp_path: Path) -> None:
    run = Recorded(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM.replace("    log(numbers)\n", "    pass\n"))
    found = run.origin(run.nodes("main")[1], "result['all'][2]")
    assert found.node is None
    assert "the re-run diverged" in found.unknown
    assert "called log once, now not at all" in found.unknown
    assert run.influence(run.nodes("main")[1], "result['all'][2]") is None


WORLDLY = """
import os, random, subprocess, sys, time
class Plain:
    pass
def drawn(by):
    return int(random.random() * 1000) + by
def walked(things):
    return [things.index(each) for each in set(things)]
def noted(path):
    with open(path, "a") as file:
        file.write("once more")
    with open(path) as file:
        return file.read()
def told():
    shown = os.environ.get("PYTHONHASHSEED")
    return subprocess.run(["date", "+%N"], capture_output=True, text=True).stdout, shown
def main():
    things = [Plain() for _ in range(20)]
    times = list(map(os.stat, ["."])) + [time.time_ns()]
    made = [drawn(1), walked(things), noted("out.txt"), told(), sorted(things, key=id), times]
    print("made", made[0], flush=True)
    made += [line for line in sys.stdin]
    made.append(drawn(2))
    return made
main()
"""


@pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")
def test_with_a_journal_a_part_is_followed_as_it_was_and_nothing_is_done_again(
    tmp_path: Path,
) -> None:
    run = Recorded(tmp_path, WORLDLY, "--journal", stdin="one\ntwo\n")
    written = tmp_path / "out.txt"
    assert written.read_text() == "once more"
    written.unlink()
    [main], [first, last] = run.nodes("main"), run.nodes("drawn")
    # It is not believed unless all of the journal up to there was played.
    assert run.origin(main, "result[8]").node == last
    assert run.origin(main, "result[2]").node == run.nodes("noted")[0]
    printed = MarkedPart(Mark("printed", ("[0]",)), atom("''"), is_input=False)
    assert first in run.provenance.followed(0, printed).slices[0]
    assert not written.exists()


@pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")
def test_a_run_with_tags_that_leaves_its_journal_is_not_believed(tmp_path: Path) -> None:
    source = "import time\ndef f(n):\n    time.sleep(0)\n    return n + 1\nf(1)\n"
    run = Recorded(tmp_path, source, "--journal")
    (tmp_path / "program.py").write_text(source.replace("time.sleep(0)", "time.time()"))
    unknown = run.origin(run.nodes("f")[0], "result").unknown
    assert "it asked for time.time(), recorded was time.sleep" in unknown


DOUBTFUL = """
import warnings
seen = []
def noted(*given, **named): seen.append(given[0])
warnings.showwarning = noted
warnings.simplefilter("always")
import other
def main(): return [len(seen), other.f("x")]
main()
"""
"""The compiler warns of `other`, and calls the program for that."""


@pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")
def test_of_doubtful_code_a_program_is_warned_once_however_it_is_run_again(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("def f(x):\n    return '\\d' + x\n")
    run = Recorded(tmp_path, DOUBTFUL, "--journal")
    assert len(run.nodes("noted")) == 1
    [main], [f] = run.nodes("main"), run.nodes("f")
    assert run.origin(main, "result[1]").node == f
    assert len(run.reruns.zoom(f)[0].columns)


def test_code_that_the_program_makes_of_a_text_is_looked_through(tmp_path: Path) -> None:
    run = Recorded(tmp_path, """
        TEXT = '''
        def root(names, shout):
            for each in names:
                yield shout(each)
        '''
        def shout(name): return name.upper()
        def log(text): return len(text)
        def made():
            space = {"__name__": "__main__"}
            exec(compile(TEXT, "<template>", "exec"), space)
            return space["root"]
        def main(*names):
            log("x")
            return " ".join(made()(names, shout))
        main("a", "b")
    """)  # fmt: skip
    (main,) = run.nodes("main")
    (root,) = run.nodes("root")
    influence = run.influence(main, "result")
    assert influence is not None
    assert {*run.nodes("shout"), *run.nodes("made"), root} <= influence.nodes
    assert run.nodes("log")[0] not in influence.nodes


STEPPED = """
def numbers(text):
    for word in text.split():
        yield int(word)
def doubled(source):
    for n in source:
        yield {"n": n * 2}
def main():
    first, second = doubled(numbers("1 2")), doubled(numbers("3 4"))
    return [*second, *first]
main()
"""


@pytest.fixture(scope="module")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("stepped"), STEPPED)


@pytest.mark.parametrize("which", [0, 1])
def test_what_a_generator_yielded_is_followed_whichever_began_first(
    stepped: Recorded, which: int
) -> None:
    made = stepped.nodes("doubled")[which]
    found = stepped.origin(made, "yielded[1]['n']")
    assert (found.node, found.expression) == (made, "n * 2")
    influence = stepped.influence(made, "yielded[1]['n']")
    assert influence is not None
    assert stepped.nodes("numbers")[which] in influence.nodes
    assert stepped.nodes("numbers")[1 - which] not in influence.nodes
    assert not influence.complete


RAISING = """
def limit(n):
    return n + 1 if n < 3 else 4
def check(n):
    if n > limit(n): raise ValueError(n)
    return n
def checked(numbers):
    return [check(n) for n in numbers]
def main():
    checked([1, 2])
    checked([3, 7])
main()
"""


@pytest.mark.parametrize("marked", ["check", "checked", ""])
def test_an_exception_is_followed_to_the_tests_that_led_to_it(tmp_path: Path, marked: str) -> None:
    source = RAISING if not marked else RAISING.replace("\nmain()", "\ntry: main()\nexcept: 0")
    raising = tmp_path / "raising"
    raising.mkdir()
    recorded = Recorded(raising, source, check=bool(marked))
    node = recorded.nodes(marked)[-1] if marked else 0
    found = recorded.origin(node, "raised")
    assert (found.node, found.expression) == (recorded.nodes("check")[3], "raise ValueError(n)")
    influence = recorded.influence(node, "raised")
    assert influence is not None
    assert recorded.nodes("limit")[3] in influence.nodes
    assert recorded.nodes("limit")[0] not in influence.nodes
    assert not influence.complete, "another exception, raised before, would have come instead"


GUARDED = """
def check(n): return None
def other(n): return None
def parsed(n):
    found = n
    try: check(n)
    except ValueError: found = 0
    other(n)
    return [found]
parsed(1)
"""


def test_a_call_that_should_have_raised_is_in_the_widest_slice_where_that_is_caught(
    tmp_path: Path,
) -> None:
    recorded = Recorded(tmp_path, GUARDED)
    influence = recorded.influence(recorded.nodes("parsed")[0], "result[0]")
    assert influence is not None
    assert recorded.nodes("check")[0] in influence.slices()[-1]
    assert recorded.nodes("other")[0] not in influence.slices()[-1]
    assert influence.complete


TESTS = """
def half(n): return n // 2
def total(numbers): return sum(numbers)
class Odd:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return self.n == other.n
    def __repr__(self): return f"Odd({half(self.n)})"
def test_totals():
    numbers = [half(4), half(7)]
    assert total(numbers) == 5
    assert Odd(numbers[1]) == Odd(3)
    assert Odd(numbers[0]) == Odd(3)
"""


def test_what_a_test_gave_to_a_call_is_followed_although_pytest_rewrites_the_test(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    recorded = Recorded(tmp_path, words=words, check=False)
    found = recorded.origin(recorded.nodes("total")[0], "numbers[1]", is_input=True)
    assert (found.node, found.expression) == (recorded.nodes("half")[1], "n // 2")
    # What pytest called to explain the failure was called again, so that the runs can be compared.
    marked = recorded.origin(recorded.nodes("Odd.__eq__")[1], "self.n", is_input=True)
    assert marked.node == recorded.nodes("half")[0]
    assert recorded.nodes("Odd.__repr__")


LATER = """
import threading
def parse(text): return int(text)
def total(numbers): return sum(numbers)
def work(out): out.append(total([1, 2]))
def main(out):
    thread = threading.Thread(target=work, args=(out,))
    thread.start()
    thread.join()
    return [total(map(parse, ["4", "5"])), *out]
main([])
"""


def test_calls_that_others_make_later_or_elsewhere_are_known_again(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, LATER)
    found = recorded.origin(recorded.nodes("main")[0], "result[0]")
    assert (found.node, found.expression) == (recorded.nodes("total")[1], "sum(numbers)")
    influence = recorded.influence(recorded.nodes("main")[0], "result[0]")
    assert influence is not None
    assert set(recorded.nodes("parse")) <= influence.nodes


def test_what_a_generator_expression_calls_is_known_again_wherever_it_is_consumed(
    tmp_path: Path,
) -> None:
    source = """
    def double(x): return 2 * x
    def is_small(x): return x < 3
    def doubled(xs): return (double(x) for x in filter(is_small, xs))
    def total(xs): return sum(xs)
    def main(): return [total(doubled([1, 2, 3])), total(double(x) for x in [4])]
    main()
    """
    run = Recorded(tmp_path, source)
    [main] = run.nodes("main")
    origin = run.origin(main, "result[0]")
    assert origin.unknown == ""
    assert origin.node == run.nodes("total")[0]
    influence = run.influence(main, "result[0]")
    assert influence is not None
    assert set(run.nodes("double")[:2]) | set(run.nodes("is_small")) <= set(influence.nodes)
    assert run.nodes("double")[2] not in influence.nodes


def test_generators_and_coroutines_that_never_begin_are_known_again(tmp_path: Path) -> None:
    source = """
    def by(xs, factor):
        for x in xs: yield x * factor
    async def waiting(): return 1
    def pair(xs): return by(xs, 1), by(xs, 2)
    def main():
        waiting().close()
        return list(pair([4])[1])
    main()
    """
    run = Recorded(tmp_path, source)
    [main] = run.nodes("main")
    assert run.origin(main, "result[0]").node == run.nodes("by")[1]
    influence = run.influence(main, "result[0]")
    assert influence is not None
    assert run.nodes("by")[0] not in influence.nodes


@pytest.mark.parametrize("line", [
    "from shop import RATE", "from shop import RATE as tax\nRATE = tax", "from shop import *",
    "import shop\nRATE = shop.RATE",
])  # fmt: skip
def test_what_a_module_worked_out_is_followed_into_who_imports_it(
    tmp_path: Path, line: str
) -> None:
    (tmp_path / "shop.py").write_text("def tax(n): return n * 7\nRATE = tax(1)\n")
    run = Recorded(tmp_path, f"{line}\ndef price(x): return x + RATE\nprint(price(3))\n")
    printed = MarkedPart(Mark("printed", ("[0]",)), atom("''"), is_input=False)
    influence = run.provenance.influence(0, printed)
    assert influence is not None
    assert run.nodes("tax")[0] in influence.nodes
