"""The reference version as an oracle: what it can judge, and what it leaves to others."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from reference_versions import asked_of, blamed, judged, run_recorded

from whence.errors import WhenceError
from whence.langs.python.oracles.reference_oracle import ReferenceOracle, reference_oracle_for
from whence.model.verdict import Verdict
from whence.tree.readable_call import function_at

RIGHT, WRONG = Verdict.RIGHT, Verdict.WRONG

HEAD = """
import asyncio, enum, functools, random, time, decimal, collections
count = 0
class Colour(enum.Enum):
    RED = 1
class Point:
    __slots__ = ("x", "y")
    def __init__(self, x, y):
        print("no code of the program makes it again")
        self.x, self.y = x, y
Pair = collections.namedtuple("Pair", "a b")
def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper
"""

CASES: dict[str, tuple[str, str, str, Verdict | None]] = {
    # name: as it should be, as it is, how it is called, the verdict on it
    "plain": ("def plain(x): return x + 1", "def plain(x): return x + 2", "plain(1)", WRONG),
    "same": ("def same(x): return x + x", "def same(x): return 2 * x", "same(4)", RIGHT),
    "options": (
        "def options(a, /, b, *c, d=1, **e): return [a, b, c, d, e]",
        "def options(a, /, b, *c, d=1, **e): return [a, b, c, d, {}]",
        "options(1, 2, 3, d=4, f=5)",
        WRONG,
    ),
    "raises": (
        "def raises(x): raise KeyError(x)",
        "def raises(x): raise ValueError(x)",
        "raises(1)",
        WRONG,
    ),
    "effect": (
        "def effect(xs): xs.append(1)",
        "def effect(xs): xs.append(2)",
        "effect([])",
        WRONG,
    ),
    "printing": (
        "def printing(): print('yes')",
        "def printing(): print('no')",
        "printing()",
        WRONG,
    ),
    "variable": (
        "def variable():\n global count\n count += 1",
        "def variable():\n global count\n count += 2",
        "variable()",
        WRONG,
    ),
    "reads": (
        "def reads(): return count + 10",
        "def reads(): return 10 + count",
        "reads()",
        RIGHT,
    ),
    "made": (
        "def made(p): return p.x + p.y",
        "def made(p): return p.x - p.y",
        "made(Point(1, 2))",
        WRONG,
    ),
    "kinds": (
        "def kinds(*given): return len(given)",
        "def kinds(*given): return len(given) + 0",
        "kinds(Colour.RED, Pair(1, 2), decimal.Decimal('1.5'), {1: {2}}, b'x', ValueError(3))",
        RIGHT,
    ),
    "steps": (
        "def steps(n):\n for i in range(n): yield i",
        "def steps(n):\n for i in range(n): yield i * 2",
        "list(steps(3))",
        WRONG,
    ),
    "left": (
        "def left():\n i = 0\n while True:\n  yield i\n  i += 1",
        "def left():\n yield 0\n yield 1\n yield 7",
        "[next(g) for g in [left()] for _ in 'ab']",
        RIGHT,
    ),
    "waits": (
        "async def waits(x):\n await asyncio.sleep(0)\n return x",
        "async def waits(x):\n await asyncio.sleep(0)\n return x + 1",
        "asyncio.run(waits(1))",
        WRONG,
    ),
    "decorated": (
        "@wrapped\ndef decorated(x): return x",
        "@wrapped\ndef decorated(x): return -x",
        "decorated(1)",
        WRONG,
    ),
    "closed.<locals>.inner": (
        "def closed(n):\n def inner(x): return x + n\n return inner",
        "def closed(n):\n def inner(x): return x - n\n return inner",
        "closed(1)(2)",
        WRONG,
    ),
    "Thing.both": (
        "class Thing:\n @classmethod\n def both(cls, x): return cls.__name__ * x",
        "class Thing:\n @classmethod\n def both(cls, x): return cls.__name__ + x * 'g'",
        "Thing.both(2)",
        WRONG,
    ),
    # What nobody can know.
    "chance": (
        "def chance(): return random.random()",
        "def chance(): return random.random() + 1",
        "chance()",
        None,
    ),
    "clock": (
        "def clock(): return time.time_ns()",
        "def clock(): return time.time_ns() + 1",
        "clock()",
        None,
    ),
    "address": (
        "def address(): return f'{object()}'",
        "def address(): return str(object())",
        "address()",
        None,
    ),
    "hashed": (
        "def hashed(xs): return list(set(xs))",
        "def hashed(xs): return [*set(xs)]",
        "hashed([f'word {n}' for n in range(12)])",
        None,
    ),
    "writes": (
        "def writes(): open('written', 'a').write('x')",
        "def writes(): open('written', 'a').write('y')",
        "writes()",
        None,
    ),
}


def program(which: int) -> str:
    calls = [f"try: {case[2]}\nexcept Exception: pass" for case in CASES.values()]
    bodies = [str(case[which]) for case in CASES.values()]
    return "\n".join([HEAD, *bodies, "if __name__ == '__main__':", *indented(calls)])


def indented(texts: list[str]) -> list[str]:
    return ["    " + line for text in texts for line in text.splitlines()]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Verdict | None, str]]:
    """All cases in one program, which is recorded once."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "good").mkdir()
    (folder / "good" / "program.py").write_text(program(0))
    (folder / "program.py").write_text(program(1))
    tree = run_recorded(folder / "program.py")
    oracle = reference_oracle_for(tree, str(folder / "good"))
    try:
        found = {each.function: (each.verdict, each.why) for each in judged(tree, oracle)}
        assert (folder / "written").read_text().count("y") == 1
        return found
    finally:
        oracle.close()


@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_call_is_judged_or_left(
    name: str, verdicts: dict[str, tuple[Verdict | None, str]]
) -> None:
    assert verdicts[name][0] is CASES[name][3], verdicts[name]


def pair(folder: Path, good: str, bad: str, **seconds: float) -> ReferenceOracle:
    """Two versions of a script, the bad one recorded."""
    (folder / "good.py").write_text(good)
    (folder / "bad.py").write_text(bad)
    tree = run_recorded(folder / "bad.py")
    return reference_oracle_for(tree, str(folder / "good.py"), **seconds)


def test_a_call_that_does_not_end_in_the_reference_is_left(tmp_path: Path) -> None:
    # By itself, since it takes all the time that it is given, whichever way it is tried.
    good, bad = "def endless(x):\n while x: pass\n", "def endless(x): return x\n"
    call = "endless(1)\n"
    oracle = pair(tmp_path, good + call, bad + call, limit=1, running=1)
    left = asked_of(oracle.tree, oracle, 1)
    oracle.close()
    assert left.verdict is None and "did not end within 1 seconds" in left.why


def test_a_call_that_cannot_be_made_again_is_judged_by_a_run_of_the_reference(
    tmp_path: Path,
) -> None:
    # A defaultdict hides what it makes of a missing key, so that it cannot be made again; but what
    # was worked out from it is given to the next function.
    good = """
def inner(x, out=[]):
    open("log", "a").close()
    return x * 2
print(inner(4))
"""
    oracle = pair(tmp_path, good, good.replace("x * 2", "x * 3"))
    found = {each.function: each for each in judged(oracle.tree, oracle)}
    oracle.close()
    assert found["inner"].verdict is WRONG
    assert found["inner"].why == "an equal call of the reference's run"


HIDDEN = """
class Settings:
    limit = 0
def setup():
    Settings.limit = 5
def read(x):
    return min(x, Settings.limit)
def main():
    setup()
    print(read(9))
"""


@pytest.mark.parametrize("start", ["main()", "if __name__ == '__main__':\n    main()"])
def test_state_that_nobody_sees_is_not_the_fault_of_who_reads_it(
    start: str, tmp_path: Path
) -> None:
    good = f"{HIDDEN}\n{start}\n"
    oracle = pair(tmp_path, good, good.replace("limit = 5", "limit = 6"))
    found = {each.function: each for each in judged(oracle.tree, oracle)}
    oracle.close()
    assert found["read"].verdict is not WRONG
    assert found["setup"].verdict is WRONG
    assert found["main"].verdict is WRONG


def test_a_changed_constant_is_not_the_fault_of_who_reads_it(tmp_path: Path) -> None:
    good = "LIMIT = 5\ndef read(x):\n    return min(x, LIMIT)\nprint(read(9))\n"
    oracle = pair(tmp_path, good, good.replace("LIMIT = 5", "LIMIT = 6"))
    found = {each.function: each.verdict for each in judged(oracle.tree, oracle)}
    oracle.close()
    assert found == {"": WRONG, "<module>": WRONG, "read": RIGHT}


def test_a_module_is_taken_from_the_folder_that_stands_in(tmp_path: Path) -> None:
    for folder, body in (("new", "x - 1"), ("old", "x + 1")):
        package = tmp_path / folder / "pkg"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "part.py").write_text(f"def step(x):\n    return {body}\n")
        (tmp_path / folder / "run.py").write_text("from pkg.part import step\nprint(step(1))\n")
    tree = run_recorded(tmp_path / "new" / "run.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "old"))
    assert blamed(tree, oracle) == "step"
    oracle.close()


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip


@needs_git
def test_a_revision_of_git_is_a_reference_and_is_cleared_away(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    script = tmp_path / "sub" / "run.py"
    script.parent.mkdir()
    script.write_text("def f(x):\n    return x + 1\nprint(f(1))\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "good")
    script.write_text("def f(x):\n    return x - 1\nprint(f(1))\n")
    git(tmp_path, "commit", "-qam", "bad")
    tree = run_recorded(script)
    oracle = reference_oracle_for(tree, "git:HEAD~1")
    assert blamed(tree, oracle) == "f"
    checkout = Path(oracle.reference.folder)
    assert checkout.is_dir()
    oracle.close()
    assert not checkout.exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nowhere", "there is no such reference"),
        pytest.param("git:HEAD", "git rev-parse", marks=needs_git),
        (".", "none of the program's files"),
    ],
)
def test_a_reference_that_there_is_not_is_said(
    text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "run.py"
    script.write_text("print(1)\n")
    tree = run_recorded(script)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(WhenceError, match=problem):
        reference_oracle_for(tree, text)


def test_nothing_is_left_behind_when_a_session_ends(tmp_path: Path) -> None:
    oracle = pair(tmp_path, "def f(): return 1\nf()\n", "def f(): return 2\nf()\n")
    judged(oracle.tree, oracle)
    processes = [worker._process for worker in oracle._rebuilt_calls.workers]
    folder = oracle._folder
    oracle.close()
    assert not folder.exists()
    assert all(process is None or process.poll() is not None for process in processes)


def test_a_call_that_the_recursion_limit_cut_off_does_not_take_the_blame(tmp_path: Path) -> None:
    text = (
        "import sys\n"
        "def halves(items):\n"
        "    middle = len(items) {} 2\n"
        "    return items[:middle], items[middle:]\n"
        "def total(items):\n"
        "    if len(items) == 1: return items[0]\n"
        "    left, right = halves(items)\n"
        "    return total(left) + total(right)\n"
        "sys.setrecursionlimit(50)\n"
        "print(total([1, 2, 3]))\n"
    )
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "program.py").write_text(text.format("//"))
    (tmp_path / "program.py").write_text(text.format("*"))
    tree = run_recorded(tmp_path / "program.py")
    oracle = reference_oracle_for(tree, str(tmp_path / "good"))
    calls = {
        name: [each for each in range(len(tree.columns)) if function_at(tree, each).short() == name]
        for name in ("total", "halves")
    }
    assert len(calls["total"]) > 10
    some = [calls["total"][0], calls["total"][len(calls["total"]) // 2], calls["total"][-1]]
    asked = [asked_of(tree, oracle, each).verdict for each in (*some, calls["halves"][0])]
    oracle.close()
    assert WRONG not in asked[:3]
    assert asked[3] is WRONG
