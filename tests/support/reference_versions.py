"""Records a version of a program, judges it by the reference version, and debugs it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whence.app.session_driver import SessionDriver
from whence.langs.python.oracles.contracts import ContractOracle
from whence.langs.python.oracles.reference_oracle import ReferenceOracle
from whence.langs.python.oracles.reference_runs import record_run
from whence.langs.python.oracles.worker_process import ProgramVersion
from whence.langs.python.recording_signature import key_folder, sign
from whence.model.question import Question
from whence.model.verdict import Verdict
from whence.session.events import Found
from whence.session.state import State
from whence.tree.column_tree import ColumnTree


def run_recorded(script: Path, *arguments: str, limit: float = 60) -> ColumnTree:
    """Record a script with whole values, in a process of its own."""
    version = ProgramVersion(
        name=script.name, kind="script", program=script.name, arguments=arguments,
        cwd=str(script.parent), folder=str(script.parent), paths=(), modules=(),
        recording=script.with_suffix(".whence"),
    )  # fmt: skip
    tree = record_run(version, version.recording, "0", limit)
    sign(version.recording, key_folder())
    return tree


@dataclass
class Judged:
    """A call and what the reference says of it."""

    position: int
    function: str
    equation: str
    verdict: Verdict | None
    why: str


def judged(tree: ColumnTree, oracle: ContractOracle | ReferenceOracle) -> list[Judged]:
    return [asked_of(tree, oracle, position) for position in range(len(tree.columns))]


def asked_of(tree: ColumnTree, oracle: ContractOracle | ReferenceOracle, position: int) -> Judged:
    call = tree.call(position)
    said = oracle.judge(Question(tree.id(position), call, "", "", 1, 1.0, 1))
    verdict = None if said is None else said.verdict
    return Judged(position, call.function.qualname, call.equation(), verdict, oracle.last)


def blamed(tree: ColumnTree, oracle: ReferenceOracle) -> str:
    """The function that a session without a person ends in; else in which question it ends.

    Where it is one of several, as in a recursion without end: "? one of", and their functions.
    """
    debugging = SessionDriver(State(tree, None), [oracle])
    outcome = debugging.start()
    if isinstance(outcome, Found):
        found = outcome.diagnosis
        nodes = found.candidates if found.node is None else (found.node,)
        functions = {tree.call(tree.position(node)).function.qualname for node in nodes}
        return ", ".join(sorted(functions)) if found.node is not None else f"? one of {functions}"
    return f"? {outcome}"
