"""Bugs of the corpus, debugged with a reference in which many more functions differ."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bug_corpus import Bug, record
from harmless_rewrites import rewritten

from whence.app.session_driver import SessionDriver
from whence.langs.python.oracles.reference_oracle import reference_oracle_for
from whence.model.diagnosis import Status
from whence.model.verdict import Answer, Verdict
from whence.session.events import Answered, Ask, Exhausted, Found
from whence.session.state import State


@dataclass(frozen=True)
class Blame:
    """What comes of a session in which nobody answers but the reference."""

    functions: frozenset[str]
    """Those that are blamed; none if whence does not know."""
    judged: int
    asked: int
    """How many questions the reference judged, and how many it left."""


def write_rewritten(bug: Bug, folder: Path, seed: int, interfaces: bool) -> Path:
    """A repaired program with harmless rewrites, which prints what the repaired program prints."""
    script = folder / "rewritten.py"
    for share in (1.0, 0.5, 0.2, 0.0):
        text, _ = rewritten(bug.source("repaired"), seed, share, interfaces)
        script.write_text(text)
        if _printed(bug, script) == _printed(bug, bug.folder / "repaired.py"):
            return script
    raise AssertionError("the text that ast.unparse writes does something else")


def _printed(bug: Bug, script: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-B", str(script), *bug.argv], cwd=bug.folder, input=bug.stdin,
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    return done.returncode, done.stdout


def blame(bug: Bug, reference: Path, folder: Path) -> Blame:
    """Record a buggy program and let the reference alone find its bug."""
    tree = record(bug, "buggy", folder / "buggy.whence", whole=True)
    oracle = reference_oracle_for(tree, str(reference))
    asked = 0
    try:
        session = SessionDriver(State(tree), [oracle])
        wrong = Answer(tree.id(0), Verdict.WRONG, by="symptom")
        outcome = session.start([Answered((wrong,))])
        while isinstance(outcome, Ask):
            asked += 1
            unknown = Answer(outcome.question.node, Verdict.UNKNOWN)
            outcome = session.send(Answered((unknown,)))
    finally:
        oracle.close()
    assert isinstance(outcome, Found | Exhausted), outcome
    found = outcome.diagnosis
    nodes = {found.node, *found.group} if found.status is Status.FOUND else set()
    functions = frozenset(
        tree.call(tree.position(node)).function.qualname for node in nodes if node is not None
    )
    return Blame(functions, session.counts.oracles.total(), asked)
