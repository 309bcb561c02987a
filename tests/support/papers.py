"""The papers' trees and sessions, read from the checked data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whence.model.call import Call, Function, Outcome, OutcomeKind, Rule
from whence.model.question import Question
from whence.model.verdict import Answer, Verdict
from whence.search.space import Switches
from whence.session.state import Facts, Options, State
from whence.testing.answerer import Transcript, run
from whence.tree.column_tree import ColumnTree, Node, tree_of

DATA = Path(__file__).parent.parent / "conformance" / "data"
PLAIN = Switches(duplicates=False, slicing=False)
"""The printed sequences use none of the optimizations."""


def load(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text())


def paper_tree(
    nodes: Sequence[Mapping[str, Any]], raised: Sequence[int] = (), distinct: bool = False
) -> ColumnTree:
    """A tree of calls that are known by their equations alone."""
    return tree_of(
        [
            Node(
                node["id"],
                node["parent"],
                Call(
                    Function(node["function"]),
                    Rule(node["rule"], node["function"]),
                    Outcome(OutcomeKind.RAISED if node["id"] in raised else OutcomeKind.RETURNED),
                    text=f"{node['equation']}" + (f" #{node['id']}" if distinct else ""),
                ),
                weight=node.get("weight", 1),
            )
            for node in nodes
        ]
    )


def judge_by(wrong: Sequence[int]) -> Any:
    """Answers by the papers' intended meaning."""

    def judge(question: Question) -> Answer:
        verdict = Verdict.WRONG if question.node in wrong else Verdict.RIGHT
        return Answer(question.node, verdict)

    return judge


def session(
    tree: ColumnTree,
    strategy: str,
    wrong: Sequence[int],
    switches: Switches = PLAIN,
    ask_top: bool | None = None,
) -> Transcript:
    """A session as the papers run it: the top is taken to be wrong without being asked."""
    options = Options(ask_top=ask_top, confirm_top=False)
    state = State(tree, options=options, facts=Facts(strategy=strategy, switches=switches))
    return run(state, judge_by(wrong))


def expected(sequence: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    return [(item["node"], item["answer"]) for item in sequence]


def asked(transcript: Transcript) -> list[tuple[int, str]]:
    return [(a.node, "NO" if a.verdict is Verdict.WRONG else "YES") for a in transcript.asked]
