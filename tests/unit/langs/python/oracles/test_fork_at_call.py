"""Calls that are made again where the program stood: nothing has to be transferred."""

from __future__ import annotations

from pathlib import Path

import pytest
from reference_versions import blamed, judged, run_recorded

from whence.app.session_driver import SessionDriver
from whence.langs.python.oracles.fork_at_call import compare_states
from whence.langs.python.oracles.judging_ways import IN_PLACE
from whence.langs.python.oracles.recipe_comparison import Match
from whence.langs.python.oracles.reference_oracle import reference_oracle_for
from whence.langs.python.oracles.worker.forked_versions import BEFORE
from whence.langs.python.oracles.worker.version_call import ERRORS, VARIABLE
from whence.model.verdict import Answer, Verdict
from whence.session.events import Answered, Ask, Found
from whence.session.state import State

RIGHT, WRONG = Verdict.RIGHT, Verdict.WRONG

HEAD = """
import collections, contextlib, functools, io, itertools, os, random, re, tempfile, threading
kept = []
held, flipped = tempfile.TemporaryFile(), tempfile.TemporaryFile()
random.seed(7)
class Settings:
    limit = 0
numbers = itertools.count()
def adder(n):
    def add(x): return x + n
    return add
def apart(stream, function):
    with contextlib.redirect_stdout(stream): function(1)
def counted():
    yield from range(9)
def alike():
    for x in [0, 0, 0, 0]: yield x
def nested(n):
    inner = []
    for _ in range(n): inner = [inner]
    return inner
@functools.lru_cache
def slow(x): return x * 2
"""

CASES: dict[str, tuple[str, str, str, Verdict | None]] = {
    # name: as it should be, as it is, how it is called, the verdict on it
    "closure": ("return f(1)", "return f(2)", "closure(adder(3))", WRONG),
    "equal_closure": ("return f(1) + 0", "return 0 + f(1)", "equal_closure(adder(3))", RIGHT),
    "makes": ("return adder(f)", "return adder(f + 1)", "makes(1)", WRONG),
    "remakes": ("return adder(f)", "g = f\n return adder(g)", "remakes(1)", RIGHT),
    "iterator": ("next(f)", "next(f), next(f)", "iterator(map(abs, [1, 2, 3]))", WRONG),
    "zipped": ("next(f)", "next(f), None", "zipped(zip([1, 2], (3, 4)))", RIGHT),
    "generator": ("next(f)", "next(f), next(f)", "generator(counted())", WRONG),
    "stepped": ("next(f)", "n = next(f)", "stepped(counted())", RIGHT),
    # How far it is, only the iterator of its loop knows.
    "alike_steps": ("next(f)", "next(f), next(f)", "alike_steps(alike())", WRONG),
    "interrupted": (
        "for x in f(): raise TypeError(x)",
        "for y in f(): raise TypeError(y)",
        "interrupted(counted)",
        RIGHT,
    ),
    "match": ("return f[0]", "return f[1]", "match(re.match('(.).', 'ab'))", WRONG),
    "default": ("f[1]", "f[2]", "default(collections.defaultdict(list))", WRONG),
    "ordered": (
        "f.move_to_end(1)",
        "f.move_to_end(2)",
        "ordered(collections.OrderedDict({1: 1, 2: 2}))",
        WRONG,
    ),
    "partial": ("return f()", "return f() + 1", "partial(functools.partial(int, '3'))", WRONG),
    "stream": ("f.read(1)", "f.read(2)", "stream(io.StringIO('abc'))", WRONG),
    "opened": ("return f.read(5)", "return f.read(4)", "opened(open(__file__))", WRONG),
    # Nobody else can see it, so that it may be written to; each version finds it as it was.
    "temporary": (
        "held.write(b'x')\n return tempfile.TemporaryFile().write(b'.') + f",
        "held.write(b'x')\n return tempfile.TemporaryFile().write(b'.') - f",
        "temporary(1)",
        WRONG,
    ),
    "toggled": (
        "n = flipped.seek(0, 2)\n (flipped.truncate(0) if n else flipped.write(b'.'))"
        "\n flipped.flush()\n return n",
        "n = flipped.seek(0, 2)\n (flipped.truncate(0) if n else flipped.write(b'.'))"
        "\n flipped.flush(), f\n return n",
        "toggled(1)",
        RIGHT,
    ),
    "prints": ("print(f)", "print(-f)", "apart(tempfile.TemporaryFile('w+'), prints)", WRONG),
    "tells": ("print(f)", "print(-f)", "apart(io.TextIOWrapper(io.BytesIO()), tells)", WRONG),
    "same_text": ("print(f)", "print(f + 0)", "apart(io.StringIO(), same_text)", RIGHT),
    "of_class": ("Settings.limit = f", "Settings.limit = -f", "of_class(1)", WRONG),
    "variable": ("next(numbers)", "next(numbers), next(numbers)", "variable(1)", WRONG),
    "of_function": ("adder.seen = f", "adder.seen = -f", "of_function(1)", WRONG),
    "cache": ("slow(f)", "slow(f + 1)", "cache(1)", WRONG),
    "rest": (
        "for x in f: yield x",
        "for x in f: yield -x",
        "list(rest(filter(None, [0, 1])))",
        WRONG,
    ),
    "chance": ("return random.random()", "return -random.random()", "chance(1)", WRONG),
    "environment": ("os.environ['A'] = '1'", "os.environ['A'] = '2'", "environment(1)", WRONG),
    "draws": ("random.random()", "random.random(), random.random()", "draws(1)", WRONG),
    "raising": ("return f(1)", "return f()", "raising(adder(3))", WRONG),
    "deep": (
        "while f: f = f[0]\n return 1",
        "while f: f = f[0]\n return 2",
        "deep(nested(5000))",
        WRONG,
    ),
    # Where it differs only in which objects are one, nobody knows whether that matters.
    "same_list": ("return f", "return list(f)", "same_list([1])", None),
    # What it made goes on when it has returned.
    "leaves": (
        "kept.append(f())",
        "kept.append(f() or None)",
        "leaves(counted)",
        None,
    ),
    "starts": (
        "n = threading.Timer(.1, f); n.start()",
        "m = threading.Timer(.1, f); m.start()",
        "starts(int), [each.join() for each in threading.enumerate()[1:]]",
        None,
    ),
}


def program(which: int) -> str:
    bodies = [f"def {name}(f):\n {case[which]}" for name, case in CASES.items()]
    calls = [f"try: {case[2]}\nexcept TypeError: pass" for case in CASES.values()]
    return "\n".join([HEAD, *bodies, *calls])


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Verdict | None, str]]:
    """All cases in one program, which is recorded once."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "good.py").write_text(program(0))
    (folder / "bad.py").write_text(program(1))
    tree = run_recorded(folder / "bad.py")
    oracle = reference_oracle_for(tree, str(folder / "good.py"))
    try:
        return {each.function: (each.verdict, each.why) for each in judged(tree, oracle)}
    finally:
        oracle.close()


@pytest.mark.parametrize("name", CASES)
def test_a_call_is_judged_on_what_it_really_had(
    name: str, verdicts: dict[str, tuple[Verdict | None, str]]
) -> None:
    verdict, why = verdicts[name]
    assert verdict is CASES[name][3], why
    assert verdict is None or why == IN_PLACE


def test_nothing_that_the_program_does_reaches_beyond_its_process(tmp_path: Path) -> None:
    good = """
def early(f): return f(1)
def late(f): return f(1)
early(lambda x: x)
open("log", "a").write("own")
late(lambda x: x)
"""
    (tmp_path / "good.py").write_text(good.replace('"own"', '"reference"'))
    (tmp_path / "bad.py").write_text(good.replace("f(1)", "f(2)"))
    tree = run_recorded(tmp_path / "bad.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good.py"))
    # Only functions may differ; what is written stands for what is done, and is no function's.
    (tmp_path / "good.py").write_text(good)
    found = {each.function: each for each in judged(tree, oracle)}
    oracle.close()
    assert found["early"].verdict is WRONG
    assert found["late"].verdict is None
    assert found["late"].why.startswith(BEFORE)
    # The recorded run, and those of the reference, which are run as a whole.
    assert (tmp_path / "log").read_text().count("own") == 3


def test_nothing_is_said_if_the_program_goes_another_way_the_second_time(tmp_path: Path) -> None:
    good = "def read(f):\n    return next(f)\nread(open('told'))\n"
    (tmp_path / "told").write_text("one")
    (tmp_path / "good.py").write_text(good)
    (tmp_path / "bad.py").write_text(good.replace("next(f)", "next(f) + '!'"))
    tree = run_recorded(tmp_path / "bad.py")
    (tmp_path / "told").write_text("two")
    oracle = reference_oracle_for(tree, str(tmp_path / "good.py"))
    found = {each.function: each for each in judged(tree, oracle)}
    oracle.close()
    assert found["read"].verdict is None
    assert "it differs from the recording" in found["read"].why


def test_a_function_that_runs_while_a_module_is_imported_is_found(tmp_path: Path) -> None:
    module = """
REGISTRY = []
def register(function):
    REGISTRY.append(function.__name__)
    return function
class Table:
    @register
    def one(self): pass
"""
    (tmp_path / "good").mkdir()
    for folder, text in ((tmp_path / "good", module), (tmp_path, module.replace(".__name__", ""))):
        (folder / "shop.py").write_text(text)
        (folder / "main.py").write_text("import shop\nprint([*map(str, shop.REGISTRY)])\n")
    tree = run_recorded(tmp_path / "main.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good"))
    found = {(each.function, each.verdict) for each in judged(tree, oracle)}
    assert {("register", WRONG), ("Table", WRONG)} <= found
    assert blamed(tree, oracle) == "register"
    oracle.close()


def test_what_a_module_imports_is_the_references_own(tmp_path: Path) -> None:
    package = {
        "__init__.py": "from pkg.parts import COUNTS\n",
        "parts.py": "def count(n):\n    return list(range(n))\nCOUNTS = count(3)\n",
    }
    for place in (tmp_path / "good", tmp_path):
        (place / "pkg").mkdir(parents=True)
        for name, text in package.items():
            (place / "pkg" / name).write_text(text)
        (place / "main.py").write_text("import pkg\nprint(pkg.COUNTS)\n")
    parts = tmp_path / "pkg" / "parts.py"
    parts.write_text(package["parts.py"].replace("range(n)", "range(n + 1)"))
    tree = run_recorded(tmp_path / "main.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good"))
    found = [each.verdict for each in judged(tree, oracle) if each.function == "<module>"]
    assert found == [WRONG] * 3
    assert blamed(tree, oracle) == "count"
    oracle.close()


OWN_CODE = {
    # There is one more lambda there, and none like this: nobody knows which one it is.
    "use": (
        """
def pair():
    return (lambda: 0), (lambda: 2), lambda: 1
def use(f):
    return f()
print(use(pair()[1]))
""",
        "(lambda: 2), lambda: 1",
        "lambda: 3",
    ),
    # Who compiles its own source gets its own code.
    "loaded": (
        """
def step():
    return 1
def loaded():
    space = {"__name__": "again"}
    exec(compile(open(__file__).read(), __file__, "exec"), space)
    return space["step"]()
if __name__ == "__main__": print(loaded())
""",
        "return 1",
        "return 2",
    ),
}


@pytest.mark.parametrize("name", OWN_CODE)
def test_no_call_is_right_for_which_the_reference_would_run_own_code(
    name: str, tmp_path: Path
) -> None:
    good, there, here = OWN_CODE[name]
    (tmp_path / "good.py").write_text(good)
    (tmp_path / "bad.py").write_text(good.replace(there, here))
    tree = run_recorded(tmp_path / "bad.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good.py"))
    found = {each.function: each for each in judged(tree, oracle)}
    oracle.close()
    assert found[name].verdict is not RIGHT, found[name].why


def test_a_function_is_the_same_if_another_of_its_name_is_missing(tmp_path: Path) -> None:
    good = """
def apply(f, x):
    return f(x)
def steps(x):
    x = apply(lambda n: n + 1, x)
    x = apply(lambda n: n * 2, x)
    return x
print(steps(3))
"""
    (tmp_path / "good.py").write_text(good)
    (tmp_path / "bad.py").write_text(good.replace("    x = apply(lambda n: n + 1, x)\n", ""))
    tree = run_recorded(tmp_path / "bad.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good.py"))
    found = {each.function: each.verdict for each in judged(tree, oracle)}
    assert found["apply"] is found["steps.<locals>.<lambda>"] is RIGHT
    assert blamed(tree, oracle) == "steps"
    oracle.close()


def test_functions_are_told_apart_where_one_stands_in_the_line_of_another(tmp_path: Path) -> None:
    good = """
# One line more.
def makers():
    a = lambda: 1
    b = lambda: 2
    return a, b
print([each() for each in makers()])
"""
    bad = good.replace("# One line more.\n", "").replace("return a, b", "c = a\n    return c, b")
    (tmp_path / "good.py").write_text(good)
    (tmp_path / "bad.py").write_text(bad)
    tree = run_recorded(tmp_path / "bad.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good.py"))
    found = {each.function: (each.verdict, each.why) for each in judged(tree, oracle)}
    oracle.close()
    assert found["makers"] == (RIGHT, IN_PLACE)


def test_a_generator_that_runs_after_the_call_that_made_it_is_judged_by_itself(
    tmp_path: Path,
) -> None:
    good = """
def squares(n):
    for x in range(n):
        yield x * x
def make(n):
    return squares(n)
def total(numbers):
    return sum(numbers) + 0
print(total(make(4)))
"""
    (tmp_path / "good.py").write_text(good)
    (tmp_path / "bad.py").write_text(good.replace("x * x", "x ** 2").replace("+ 0", "+ 1"))
    tree = run_recorded(tmp_path / "bad.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good.py"))
    found = {each.function: (each.verdict, each.why) for each in judged(tree, oracle)}
    assert found["squares"] == (RIGHT, IN_PLACE)
    # What it gave back cannot be compared; but all that ran in it is right.
    assert found["make"] == (RIGHT, "its code is the same, and all that it called is right")
    assert found["total"] == (WRONG, IN_PLACE)
    assert blamed(tree, oracle) == "total"
    oracle.close()


def test_who_makes_a_function_is_not_blamed_for_what_that_captures_and_why(tmp_path: Path) -> None:
    # Without its last line `made` captures less, so that the code of `maker` differs as well.
    good = """
def maker(x, y):
    def made(z):
        z += y
        return x + z
    return made
print(maker(1, 2)(3))
"""
    (tmp_path / "good.py").write_text(good)
    (tmp_path / "bad.py").write_text(good.replace("return x + z", "return None"))
    tree = run_recorded(tmp_path / "bad.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good.py"))
    found = {each.function: each.verdict for each in judged(tree, oracle)}
    debugging = SessionDriver(State(tree), [oracle])
    outcome = debugging.start()
    while isinstance(outcome, Ask):
        outcome = debugging.send(Answered((Answer(outcome.question.node, Verdict.UNKNOWN),)))
    oracle.close()
    assert found["maker"] is RIGHT
    # What it would have captured is not there, so that it cannot be made; but it is all that is
    # left.
    assert found["maker.<locals>.made"] is None
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.node is not None
    assert tree.call(tree.position(outcome.diagnosis.node)).function.qualname.endswith("made")


def test_a_run_that_prints_the_same_is_right(tmp_path: Path) -> None:
    good = "def f(x):\n    return x + 1\nprint(bool(f(1)))\n"
    (tmp_path / "good.py").write_text(good)
    (tmp_path / "bad.py").write_text(good.replace("x + 1", "x + 2"))
    tree = run_recorded(tmp_path / "bad.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good.py"))
    found = {each.function: each.verdict for each in judged(tree, oracle)}
    oracle.close()
    assert found == {"": RIGHT, "<module>": RIGHT, "f": WRONG}


def test_only_what_is_stable_and_known_on_both_sides_counts_as_different() -> None:
    def compared(name: str, own: list[list[str]], reference: list[list[str]]) -> Match:
        sides = [[{name: state} for state in each] for each in (own, reference)]
        return compare_states(*sides).match

    one, two, other = ["1", "a", ""], ["2", "b", ""], ["3", "c", ""]
    assert compared("its result", [one], [one]) is Match.SAME
    assert compared("its result", [one, one], [two, two]) is Match.DIFFERENT
    assert compared("its result", [one, other], [two, two]) is Match.UNKNOWN
    assert compared("its result", [one, one], [two, other]) is Match.UNKNOWN
    # Equal but for addresses, or for which objects are one.
    assert compared("its result", [one, one], [["2", "a", ""]] * 2) is Match.UNKNOWN
    # A part that nobody can look into: as an input it may have changed; as a variable it came with
    # the version.
    unseen = ["1", "a", "a lock"]
    assert compared("its result", [unseen], [unseen]) is Match.UNKNOWN
    assert compared(f"{VARIABLE}m.x", [unseen], [unseen]) is Match.SAME
    assert compared(ERRORS, [one, one], [two, two]) is Match.UNKNOWN
    # It returned here, and raised there.
    assert compare_states([{"its result": one}] * 2, [{"what it raised": one}] * 2).match is (
        Match.DIFFERENT
    )
