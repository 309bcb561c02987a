"""With right answers, the statement that is found is the one that was changed.

Each program has one wrong line, which says what it should be. The answers are what that repaired
line makes of the states that the buggy call was in (`zoomed.Intended`).
"""

from __future__ import annotations

import io
import sys

import bug_corpus
import pytest
from bug_corpus import Bug
from zoom_corpus import CHANGED, TWINS, found_line, last_wrong
from zoom_programs import NTH, PROGRAMS, twins_of
from zoom_runs import Intended, follow


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_statement_that_was_changed_is_found_by_every_way_to_search(name: str) -> None:
    buggy, repaired, changed = twins_of(name)
    call = follow(buggy, "f", PROGRAMS[name][1], nth=NTH.get(name, 1))
    intended = Intended(call, repaired, "f")
    assert intended.is_wrong()
    asked = {}
    for strategy in ("auto", "top-down", "divide-and-query"):
        debugging, outcome = intended.diagnose(strategy)
        assert found_line(intended.tree, outcome) == changed
        asked[strategy] = debugging.counts.person
    assert asked["auto"] <= 12, asked


@pytest.mark.parametrize("bug", bug_corpus.spread(TWINS, 7))
def test_the_statement_in_which_twins_of_the_corpus_differ_is_found(
    bug: Bug, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["buggy.py", *bug.argv])
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    intended = last_wrong(bug)
    _, outcome = intended.diagnose("auto")
    assert found_line(intended.tree, outcome) == CHANGED[bug.name]
