"""Reads many damaged versions of each kind of file that whence reads, in a process with limits.

A reader may refuse a file with a `WhenceError`, or read what is left of it. Anything else fails:
another exception, a crash, more than ten seconds, or more memory than 8 times the file and 64 MB.

    python damaged_files.py KIND FIRST_SEED COUNT FOLDER
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

SECONDS = 10
ROOM = 64 * 2**20
PER_BYTE = 8
BATCH = 500
"""How many files one process reads: what a reader keeps must not add up."""
_NUMBERS = [b"0", b"-1", b"4294967295", b"18446744073709551616", b"1e999", b"NaN", b"null", b"[]"]
_BYTES = [0x00, 0x01, 0x0A, 0x22, 0x2C, 0x5B, 0x5D, 0x7B, 0x7D, 0x7F, 0x80, 0xFF]


def check_damaged(kind: str, count: int, folder: Path, first: int = 0) -> None:
    """Read `count` damaged files of a kind, in processes with limits."""
    for seed in range(first, first + count, BATCH):
        here = folder / f"{kind}-{seed}"
        here.mkdir()
        command = [sys.executable, __file__, kind, str(seed), str(min(BATCH, count)), str(here)]
        environ = {**os.environ, "XDG_STATE_HOME": str(here), "XDG_CACHE_HOME": str(here / "cache")}
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, errors="replace", check=False
        )
        last = here / "seed"
        where = f"{kind}, seed {last.read_text() if last.exists() else 'none'}"
        assert done.returncode == 0, f"{where}: {done.returncode}\n{done.stderr[-3000:]}"
        assert done.stdout == f"{min(BATCH, count)} read\n", where
        shutil.rmtree(here)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The file with a few changes of the kinds that disks, editors and attackers make."""
    result = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 5, 20])):
        place = chance.randrange(len(result) + 1)
        match chance.randrange(9):
            case 0 if place < len(result):
                result[place] ^= 1 << chance.randrange(8)
            case 1 if place < len(result):
                result[place] = chance.choice(_BYTES)
            case 2:
                del result[place:]
            case 3:
                del result[place : place + chance.choice([1, 2, 8, 64, 512])]
            case 4:
                result[place:place] = bytes(chance.choice(_BYTES) for _ in range(8))
            case 5:
                other = chance.randrange(len(result) + 1)
                result[place:place] = result[other : other + chance.choice([4, 40, 400])]
            case 6:
                length = chance.choice([4, 64, 512])
                result[place : place + length] = bytes(min(length, len(result) - place))
            case 7:  # a length in binary
                number = chance.choice([2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, 2**20, 0])
                result[place : place + 8] = number.to_bytes(8, "little")
            case _:  # a number in text
                digits = [at for at in range(len(result)) if 0x30 <= result[at] <= 0x39]
                if digits:
                    at = chance.choice(digits)
                    result[at : at + 1] = chance.choice(_NUMBERS)
    return bytes(result)


Sample = tuple[Path, Callable[[Path], object]]
"""A file of a kind, and what reads it."""


def _program_tree() -> object:
    from whence.testing.trees import random_parents, tree_from_parents

    return tree_from_parents(random_parents(random.Random(3), 30))


def _read_calls(tree: object) -> None:
    """Read all that a tree says of its calls."""
    from whence.errors import WhenceError
    from whence.tree.column_tree import ColumnTree

    assert isinstance(tree, ColumnTree)
    for position in range(min(len(tree.columns), 200)):
        try:
            tree.call(position)
        except WhenceError:
            continue


def session_sample(folder: Path) -> Sample:
    from whence.app.session_driver import SessionDriver
    from whence.model.verdict import Answer, Verdict
    from whence.session import log_entries
    from whence.session.events import Answered, Ask, StrategyChosen, Undone
    from whence.session.state import State
    from whence.store.session_log import SessionLog

    tree = _program_tree()
    path = folder / "session.jsonl"

    def read(file: Path) -> None:
        log = SessionLog(file, tree, "tree", log_entries)  # type: ignore[arg-type]
        try:
            SessionDriver(State(tree), log=log).start()  # type: ignore[arg-type]
        finally:
            log.close()

    log = SessionLog(path, tree, "tree", log_entries)  # type: ignore[arg-type]
    driver = SessionDriver(State(tree), log=log)  # type: ignore[arg-type]
    outcome = driver.start()
    for number in range(5):
        if isinstance(outcome, Ask):
            verdict = Verdict.WRONG if number % 2 else Verdict.RIGHT
            outcome = driver.send(Answered((Answer(outcome.question.node, verdict),)))
    driver.send(Undone())
    driver.send(StrategyChosen("top-down"))
    log.close()
    return path, read


def answers_sample(folder: Path) -> Sample:
    from whence.model.equation import StableEquation
    from whence.model.verdict import Verdict
    from whence.oracle.remembered import StoredAnswer
    from whence.store.answer_file import AnswerFile

    path = folder / "answers.jsonl"
    AnswerFile(path).append(
        StoredAnswer(
            StableEquation("m.f", f"f({number}) → 2", f"d{number}", "i1"),
            Verdict.RIGHT, "Ada", "2026-01-01", "3", "result[0]",
        )
        for number in range(6)
    )  # fmt: skip
    return path, lambda file: AnswerFile(file).all()


def tree_sample(folder: Path) -> Sample:
    from whence.tree.tree_file import open_tree, write_tree

    path = folder / "tree.jsonl"
    with path.open("w", encoding="utf-8") as file:
        write_tree(file, _program_tree(), None, None)  # type: ignore[arg-type]
    return path, lambda file: _read_calls(open_tree(file))


def index_sample(folder: Path) -> Sample:
    """The largest file of a tree's index; the tree itself is whole."""
    from whence.tree import tree_index
    from whence.tree.tree_file import open_tree

    path, _ = tree_sample(folder)
    tree_index.MIN_BYTES = 0
    open_tree(path)
    [index] = tree_index.folder().iterdir()
    files = sorted(file for file in index.iterdir() if file.is_file())
    chance = random.Random(len(files))

    def read(file: Path) -> None:
        part = chance.choice(files)
        whole = part.read_bytes()
        try:
            part.write_bytes(damaged(whole, chance))
            _read_calls(open_tree(path))
        finally:
            index.mkdir(exist_ok=True)
            part.write_bytes(whole)

    return path, read


def art_sample(folder: Path) -> Sample:
    from whence.app.frontends import open_any

    path = folder / "run.art.json"
    shutil.copy(Path(__file__).parents[2] / "examples" / "sqrtest.art.json", path)
    return path, lambda file: _read_calls(open_any(file).tree)


def trace_sample(folder: Path) -> Sample:
    from whence.langs.python.trace.trace_reader import open_trace

    path = folder / "run.whence"
    source = (
        "class Box:\n  def __init__(self, v): self.v = v\n"
        "def f(n, *a, **k):\n  return [n, {'a': a, 'k': k}, Box(n)]\n"
        "def g(xs): xs.append(len(xs)); yield from xs\n"
        "for i in range(9): f(i, 'x' * i, k=2.5); list(g([i]))\n"
        "try: f()\nexcept TypeError: pass\nprint(f(1)[0])\n"
    )
    command = [sys.executable, "-m", "whence", "record", "-o", str(path), "-c", source]
    subprocess.run(command, check=True, capture_output=True)
    return path, lambda file: _read_calls(open_trace(file))


def journal_sample(folder: Path) -> Sample:
    """Entries in which each kind of value occurs, read by the parser in C."""
    from whence.errors import WhenceError
    from whence.langs.python.record.journal import _interposition
    from whence.langs.python.record.journal.journalled_functions import KINDS

    path = folder / "run.journal"
    values: list[object] = [
        None, True, 3, -(2**70), 2.5, "text ☃", b"bytes", (1, "a", (2,)), [1, [2]],
        folder.stat(), os.times(), False,
    ]  # fmt: skip
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    _interposition.open_file(descriptor, b'{"stopped":    0}\n')
    for number, value in enumerate(values):
        _interposition.write(number % len(KINDS), (), value)
        _interposition.write_error(number % len(KINDS), (), OSError(2, "No such file", "x"))
    whole = path.read_bytes()
    path.write_bytes(whole.rstrip(b"\0") + b"\0")

    def diverged(*_: object) -> None:
        raise WhenceError("diverged")

    _interposition.begin(2, KINDS, diverged, diverged, "/nowhere/", os.getpid())

    def read(file: Path) -> None:
        data = file.read_bytes()
        _interposition.load(data, data.find(b"\n") + 1)
        for _ in range(1000):
            kind = _interposition.peek()
            if kind is None:
                return
            with contextlib.suppress(OSError):  # an entry says what was raised
                _interposition.play(kind, ())

    return path, read


SAMPLES: dict[str, Callable[[Path], Sample]] = {
    "session": session_sample,
    "answers": answers_sample,
    "tree": tree_sample,
    "index": index_sample,
    "art": art_sample,
    "trace": trace_sample,
    "journal": journal_sample,
}


def main(kind: str, first: int, count: int, folder: Path) -> None:
    from whence.errors import WhenceError

    path, read = SAMPLES[kind](folder)
    data = path.read_bytes()
    try:
        read(path)  # imports what it needs
    except WhenceError as problem:
        sys.exit(f"the whole file is refused: {problem}")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + PER_BYTE * 2 * len(data) + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    seed_file = folder / "seed"
    for seed in range(first, first + count):
        seed_file.write_text(str(seed))
        path.write_bytes(damaged(data, random.Random(seed)) if kind != "index" else data)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            read(path)
        except WhenceError as problem:
            assert str(problem), "it is refused without a word"
            assert "takes more memory" not in str(problem), problem
        finally:
            faulthandler.cancel_dump_traceback_later()
    print(f"{count} read")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
