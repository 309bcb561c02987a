"""A session about one recorded test, in which a truthful person answers.

    python bench/bugsinpy_person.py RECORDING FIXED

Runs in the environment of a bug, for `bench/bugsinpy.py --mode person`. The person knows the fixed
tree by heart: each question that whence asks is answered as the fixed tree does the call, and
counted; what the fixed tree cannot make again, the person does not know, and it is counted as well.
Nothing is known beforehand of which code is unchanged. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from whence.app.frontends import open_any, sources_of
from whence.app.session_driver import SessionDriver
from whence.langs.python.oracles.reference_oracle import reference_oracle_for
from whence.model.verdict import Answer, Judgement, Verdict
from whence.session.events import Answered, Ask, Exhausted, Found
from whence.session.state import State
from whence.tree.column_tree import ColumnTree

_MOST = 100


def main(recording: str, fixed: str) -> None:
    """Hold the session, and print how it went."""
    opened = open_any(Path(recording))
    tree = opened.tree
    assert isinstance(tree, ColumnTree)
    person = reference_oracle_for(tree, fixed)
    asked = unknown = 0
    try:
        presumption = None if opened.priors is None else opened.priors.presumption()
        state = State(
            tree, opened.provenance, presumption=presumption, chronology=opened.chronology,
            graph=opened.call_graph,
        )  # fmt: skip
        session = SessionDriver(state, sources=sources_of(opened))
        failed = Answer(tree.id(0), Verdict.WRONG, by="symptom")
        outcome = session.start([Answered((failed,))])
        while isinstance(outcome, Ask) and asked < _MOST:
            asked += 1
            said = person.judge(outcome.question)
            verdict = said.verdict if isinstance(said, Judgement) else said
            unknown += verdict is None
            answer = Answer(outcome.question.node, verdict or Verdict.UNKNOWN)
            outcome = session.send(Answered((answer,)))
        blamed, candidates = "", 0
        if isinstance(outcome, Found | Exhausted):
            diagnosis = outcome.diagnosis
            candidates = len(diagnosis.candidates)
            if diagnosis.node is not None:
                number = int(tree.columns.function[tree.position(diagnosis.node)])
                place = tree.functions[number].location
                file = place.file if place else ""
                blamed = f"{file}::{tree.functions[number].qualname}"
        why = "; ".join(reason for reason, _ in person.unjudged.most_common(2))
        told = {"blamed": blamed, "asked": asked, "unknown": unknown, "candidates": candidates}
        print(json.dumps({**told, "why": why}))
    finally:
        person.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
