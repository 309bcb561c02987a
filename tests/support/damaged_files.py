"""Reads many damaged versions of each kind of file that whence reads, in a process with limits.

Disks and editors damage bytes, which checksums show. Whoever forges a file makes the checksums
right again, so that the readers behind them see the damage; every second file is of that kind.

A reader may refuse a file with a `WhenceError`, or read what is left of it. Anything else fails:
another exception, a crash, more than ten seconds, or more memory than 8 times the file and 64 MB.

    python damaged_files.py KIND FIRST_SEED COUNT FOLDER
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SECONDS = 10
"""Of the processor, so that a busy machine is no hang; a reader that waits gets ten times that."""
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
                digits = [match.start() for match in re.finditer(rb"[0-9]", result)]
                if digits:
                    at = chance.choice(digits)
                    result[at : at + 1] = chance.choice(_NUMBERS)
    return bytes(result)


Damage = Callable[[bytes, random.Random], bytes]
"""A version of a file that is damaged by chance."""


@dataclass(frozen=True)
class Sample:
    """A file of a kind, what reads it, and how it is forged."""

    path: Path
    read: Callable[[Path], object]
    forged: Damage = damaged


def forged_lines(fingerprint: str) -> Damage:
    """Damages one line of a file whose lines have checksums, and makes the checksum right."""

    def forged(data: bytes, chance: random.Random) -> bytes:
        lines = data.splitlines(keepends=True)
        at = chance.randrange(len(lines))
        body = damaged(lines[at].rpartition(b', "check"')[0], chance)
        start = zlib.crc32(fingerprint.encode()) if at else 0
        lines[at] = b'%s, "check": "%08x"}\n' % (body, zlib.crc32(body, start))
        return b"".join(lines)

    return forged


def trace_parts(data: bytes) -> Iterator[bytes]:
    """The header of a trace, then the decoded payload of each page."""
    from whence.langs.python.trace import trace_format as f
    from whence.langs.python.trace.native_or_python_scan import decode_page

    _, _, length, _ = f.HEADER.unpack_from(data)
    place = f.HEADER.size + length
    yield data[f.HEADER.size : place]
    while place < len(data):
        _, codec, stored, length, _ = f.PAGE.unpack_from(data, place)
        place += f.PAGE.size + stored
        yield decode_page(codec, data[place - stored : place], length)


def trace_of(header: bytes, *pages: bytes) -> bytes:
    """A trace with these parts, with right lengths and checksums."""
    from whence.langs.python.trace import trace_format as f

    pieces = [f.HEADER.pack(f.MAGIC, f.VERSION, len(header), zlib.crc32(header)), header]
    for page in pages:
        pieces.append(f.PAGE.pack(f.PAGE_MAGIC, f.PLAIN, len(page), len(page), zlib.crc32(page)))
        pieces.append(page)
    return b"".join(pieces)


def forged_trace(data: bytes, chance: random.Random) -> bytes:
    """Damages records of a trace, or its header, behind right checksums."""
    parts = list(trace_parts(data))
    at = 0 if chance.random() < 0.1 else chance.randrange(1, len(parts))
    parts[at] = damaged(parts[at], chance)
    return trace_of(*parts)


def forged_tail(data: bytes, chance: random.Random) -> bytes:
    """Damages records of a tail, and makes its length right."""
    from whence.langs.python.trace import trace_format as f

    length = struct.unpack_from("<Q", data, f.TAIL_LENGTH_AT)[0]
    records = damaged(data[f.TAIL.size : f.TAIL.size + length], chance)
    head = bytearray(data[: f.TAIL.size])
    struct.pack_into("<Q", head, f.TAIL_LENGTH_AT, len(records))
    return bytes(head) + records


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
    from whence.tree.fingerprint import fingerprint

    tree = _program_tree()
    path = folder / "session.jsonl"
    about = fingerprint(tree)  # type: ignore[arg-type]

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
    return Sample(path, read, forged_lines(about))


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
    return Sample(path, lambda file: AnswerFile(file).all(), forged_lines(""))


def tree_sample(folder: Path) -> Sample:
    from whence.tree.tree_file import open_tree, write_tree

    path = folder / "tree.jsonl"
    with path.open("w", encoding="utf-8") as file:
        write_tree(file, _program_tree(), None, None)  # type: ignore[arg-type]
    return Sample(path, lambda file: _read_calls(open_tree(file)))


def index_sample(folder: Path) -> Sample:
    """All files of a tree's index in one, each after its length; the tree itself is whole."""
    from whence.tree import tree_index
    from whence.tree.tree_file import open_tree

    tree = tree_sample(folder).path
    tree_index.MIN_BYTES = 0
    open_tree(tree)
    [index] = tree_index.folder().iterdir()
    files = sorted(file for file in index.iterdir() if file.is_file())
    path = folder / "index"
    whole = {file: file.read_bytes() for file in files}
    path.write_bytes(b"".join(whole.values()))

    def read(file: Path) -> None:
        data = file.read_bytes()
        index.mkdir(exist_ok=True)
        for part, right in whole.items():
            part.write_bytes(data[: len(right)])
            data = data[len(right) :]
        _read_calls(open_tree(tree))

    def forged(data: bytes, chance: random.Random) -> bytes:
        parts = list(whole.values())
        at = chance.randrange(len(parts))
        parts[at] = damaged(parts[at], chance)[: len(parts[at])].ljust(len(parts[at]), b"\0")
        return b"".join(parts)

    return Sample(path, read, forged)


def art_sample(folder: Path) -> Sample:
    from whence.app.frontends import open_any

    path = folder / "run.art.json"
    shutil.copy(Path(__file__).parents[2] / "examples" / "sqrtest.art.json", path)
    return Sample(path, lambda file: _read_calls(open_any(file).tree))


PROGRAM = """
class Box:
  def __init__(self, v): self.v = v
def f(n, *a, **k):
  return [n, {'a': a, 'k': k}, Box(n)]
def g(xs): xs.append(len(xs)); yield from xs
def main():
  for i in range(9): f(i, 'x' * i, k=2.5); list(g([i]))
  try: f()
  except TypeError: pass
  print(f(1)[0])
main()
"""


def record(path: Path, program: str = PROGRAM) -> None:
    """Record a program."""
    command = [sys.executable, "-m", "whence", "record", "-o", str(path), "-c", program]
    subprocess.run(command, check=False, capture_output=True)
    assert path.exists()


def trace_sample(folder: Path) -> Sample:
    from whence.langs.python.trace.trace_reader import open_trace

    path = folder / "run.whence"
    record(path)
    return Sample(path, lambda file: _read_calls(open_trace(file)), forged_trace)


def tail_sample(folder: Path) -> Sample:
    """What a killed program leaves beside its trace, which is whole."""
    from whence.langs.python.trace.trace_reader import open_trace

    trace = folder / "run.whence"
    record(trace, f"{PROGRAM}\nimport os; os.kill(os.getpid(), 9)")
    path = folder / "run.whence.tail"
    path.write_bytes(path.read_bytes().rstrip(b"\0") + b"\0")  # the rest is room for more
    return Sample(path, lambda file: _read_calls(open_trace(trace)), forged_tail)


def child_sample(folder: Path) -> Sample:
    """The trace of a forked process, below that of the program, which is whole."""
    from whence.langs.python.trace.trace_reader import open_trace

    trace = folder / "run.whence"
    record(trace, f"import os\nif os.fork(): os.wait()\n{PROGRAM}")
    [path] = (folder / "run.whence.d").glob("*.whence")
    return Sample(path, lambda file: _read_calls(open_trace(trace)), forged_trace)


def command_sample(folder: Path) -> Sample:
    """A trace, given to the commands that a user would try on it."""
    from whence.cli.main import main as whence

    path, answers = folder / "run.whence", folder / "answers.txt"
    record(path)
    answers.write_text("no\nyes\nno\nno\nyes\ndon't know\nno\nno\n")
    test, report = folder / "test_it.py", folder / "report.html"
    debug = ["debug", "--no-session", "--answers", str(answers)]
    commands = [
        ["show", str(path)],
        ["show", "--call", "2", str(path)],
        ["convert", str(path), "-o", str(folder / "tree.jsonl")],
        [*debug, "--regression-test", str(test), str(path)],
        [*debug, "--format", "html", "-o", str(report), str(path)],
        [*debug, "--format", "json", str(path)],
        ["why", str(path), "1", "result"],
    ]

    def read(file: Path) -> None:
        command = random.Random(file.read_bytes()).choice(commands)
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = whence(command)
        assert code in (0, 1, 2), errors.getvalue()

    return Sample(path, read, forged_trace)


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

    return Sample(path, read)


SAMPLES: dict[str, Callable[[Path], Sample]] = {
    "session": session_sample,
    "answers": answers_sample,
    "tree": tree_sample,
    "index": index_sample,
    "art": art_sample,
    "trace": trace_sample,
    "tail": tail_sample,
    "child": child_sample,
    "commands": command_sample,
    "journal": journal_sample,
}


def main(kind: str, first: int, count: int, folder: Path) -> None:
    from whence.errors import WhenceError

    sample = SAMPLES[kind](folder)
    path, data = sample.path, sample.path.read_bytes()
    try:
        sample.read(path)  # imports what it needs
    except WhenceError as problem:
        sys.exit(f"the whole file is refused: {problem}")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + PER_BYTE * 2 * len(data) + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    faulthandler.register(signal.SIGPROF, chain=True)
    seed_file = folder / "seed"
    for seed in range(first, first + count):
        seed_file.write_text(str(seed))
        damage = sample.forged if seed % 2 else damaged
        path.write_bytes(damage(data, random.Random(seed)))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        faulthandler.dump_traceback_later(SECONDS * 10, exit=True)
        try:
            sample.read(path)
        except WhenceError as problem:
            assert str(problem), "it is refused without a word"
            assert "takes more memory" not in str(problem), problem
        finally:
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_PROF, 0)
    print(f"{count} read")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
