"""Kills sessions and recorded programs at random moments, and checks that nothing is lost.

What counts is what was acknowledged: an answer after which the session went on, a call after which
the program went on. Each process says so through a pipe, so that it is known what must be there.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from recorded import as_node, environment

from whence.app.session_driver import SessionDriver
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.equation import StableEquation
from whence.model.verdict import PERSON, Answer, Verdict
from whence.session import log_entries
from whence.session.events import Answered, Ask
from whence.session.state import State
from whence.store.answer_file import AnswerFile
from whence.store.answer_writer import AnswerWriter
from whence.store.session_log import SessionLog
from whence.testing.trees import random_parents, tree_from_parents
from whence.tree.column_tree import ColumnTree

LONGEST = 0.03
"""The most seconds that a session runs after some answers before it is killed."""


def a_tree(seed: int) -> ColumnTree:
    return tree_from_parents(random_parents(random.Random(seed), 400))


def identify(node: int, _: object) -> StableEquation:
    return StableEquation("m.f", f"f({node})", f"d{node}", f"i{node}")


def kill_session(folder: Path, seed: int) -> int:
    """Kill one session and resume it; returns how many answers had been acknowledged."""
    path, answers = folder / f"session-{seed}.jsonl", folder / f"answers-{seed}.jsonl"
    acknowledged: list[int] = []
    chance = random.Random(seed)
    tree = a_tree(seed)
    for _ in range(3):  # the same session is killed again and again
        source, sink = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(source)
            _answer_questions(tree, path, answers, sink)
        os.close(sink)
        with os.fdopen(source, "rb", buffering=0) as pipe:
            wanted, text = chance.randrange(4), b""
            while text.count(b"\n") < wanted and (piece := pipe.read(64)):
                text += piece
            time.sleep(chance.random() * LONGEST)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            text += pipe.read() or b""
        acknowledged += map(int, text[: text.rfind(b"\n") + 1].split())
        log = SessionLog(path, tree, "tree", log_entries)
        log.close()
        assert not log.gaps
        kept = [
            answer.node
            for entry in log.entries
            if isinstance(entry, Answered)
            for answer in entry.answers
        ]
        assert set(acknowledged) <= set(kept), f"seed {seed}: an answer is lost"
        stored = {answer.equation.digest for answer in AnswerFile(answers, _no_damage).all()}
        assert {f"d{node}" for node in acknowledged} <= stored, f"seed {seed}: not remembered"
    return len(acknowledged)


def _no_damage(text: str) -> None:
    # A process that is killed while it writes a line leaves the line incomplete.
    assert "is skipped: it is no JSON" in text, text


def _answer_questions(tree: ColumnTree, path: Path, answers: Path, sink: int) -> None:
    """In a child process: answer all questions, and acknowledge each answer."""
    try:
        log = SessionLog(path, tree, "tree", log_entries)
        writer = AnswerWriter(AnswerFile(answers), identify, lambda text: None, by="Ada")
        driver = SessionDriver(State(tree), log=log, answer_sink=writer)
        outcome = driver.start()
        while isinstance(outcome, Ask):
            node = outcome.question.node
            verdict = Verdict.WRONG if node == tree.id(0) else Verdict.RIGHT
            outcome = driver.send(Answered((Answer(node, verdict, by=PERSON),)))
            os.write(sink, b"%d\n" % node)
        time.sleep(1)
    finally:
        os._exit(0)


PROGRAM = """
import os, sys, threading

def f(who, n):
    return n + 1

def work(who):
    n = 0
    while True:
        f(who, n)
        os.write(1, b"%d %d\\n" % (who, n))
        n += 1

def main():
    if os.fork() == 0:
        work(1)
    threading.Thread(target=work, args=(2,), daemon=True).start()
    work(0)

main()
"""


def kill_recording(folder: Path, backend: str, seed: int) -> int:
    """Kill a recorded program with a thread and a child; returns how many calls it had made."""
    chance = random.Random(seed)
    folder = folder / f"{backend}-{seed}"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "whence", "record", "--backend", backend, "--children"]
    process = subprocess.Popen(
        [*command, "-o", "t.whence", "program.py"], cwd=folder, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(chance.random() * 0.1)
    os.killpg(process.pid, signal.SIGKILL)
    text = first + process.stdout.read()
    process.communicate()
    last: dict[int, int] = {}
    for line in text[: text.rfind(b"\n") + 1].splitlines():
        who, number = map(int, line.split())
        last[who] = number
    root = as_node(open_trace(folder / "t.whence"))
    calls = root.all("f") or root.all("__main__.f")
    for who, number in last.items():
        mine = [call for call in calls if call.arguments["who"] == str(who)]
        returned = [call for call in mine if call.outcome.startswith("→")]
        assert len(returned) > number, f"{backend}, seed {seed}: calls of {who} are lost"
    return len(text.splitlines())
