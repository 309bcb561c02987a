"""True values, tried, make the output right; what calls gave is never told to help.

A person says of wrong calls what they should have given, one after the other, and all of it is
tried together. What a call changes, raises or yields cannot be said by a value: programs that go
wrong by nothing else are left out. A value that makes the program call something that it did not
call before may bring wrong calls to light of which nobody has said anything yet.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import bug_corpus
from recorded import environment
from bug_corpus import Bug

from whence.errors import WhenceError
from whence.langs.python.record.journal.journal_choice import obstacle
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import Call, OutcomeKind
from whence.model.trial import Trial
from whence.model.value import FULL, Value, show
from whence.tree.column_tree import ColumnTree
from whence.tree.readable_call import function_at

pytestmark = pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")

IN_SHORT = ("typed_routes",)
NOT_ALL = {
    "equal_points": "then points are compared that were not, and that goes wrong too",
    "ledger_aliasing": "then the next month is made of another one, and goes wrong by itself",
    "room_schedule": "then other rooms are looked at, and that goes wrong too",
    "trie_complete": "the second word is then removed from another trie, which goes wrong too",
    "unit_conversion": "then the program goes on to a question that it did not come to before",
}
"""Where the output is not right in the end, and why. Its first wrong line is."""
NO_VALUES = frozenset(
    "async_pipeline binary_search_tree bit_flags build_order gather_order lru_cache missing_super "
    "mixin_order numpy_normalize numpy_regression numpy_view retry_decorator shape_inheritance "
    "shared_class_state state_machine swallowed_error thread_ledger transaction_context".split()
)
"""What is wrong there are changes, exceptions, what coroutines give, and objects that show no text
by which they could be made."""
MOST_SAID = 15
MOST_FUNCTIONS = 4


def recorded(bug: Bug, version: str, output: Path) -> ColumnTree:
    words = ["record", "--journal", "-o", str(output), f"{version}.py", *bug.argv]
    subprocess.run(
        [sys.executable, "-m", "whence", *words], cwd=bug.folder, env=environment(),
        input=bug.stdin, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return open_trace(output)


def inputs(call: Call) -> list[str]:
    return [f"{each.name} {show(each.value)}" for each in (*call.arguments, *call.reads)]


def typed(value: Value | None) -> str | None:
    """A value as one would type it, if one can."""
    text = "…" if value is None else show(value, FULL)
    return None if "…" in text or "<" in text else text


def wrong_calls(buggy: ColumnTree, repaired: ColumnTree) -> dict[int, Call]:
    """By position, the calls that went wrong with right inputs, and how they should have gone."""
    ours, theirs = (Counter[str](), Counter[str]())
    there, found = {}, {}
    for place in range(1, len(repaired.columns)):
        name = repaired.functions[int(repaired.columns.function[place])].short()
        there[name, theirs[name]] = repaired.call(place)
        theirs[name] += 1
    for place in range(1, len(buggy.columns)):
        name = buggy.functions[int(buggy.columns.function[place])].short()
        call, right = buggy.call(place), there.get((name, ours[name]))
        ours[name] += 1
        if right is None or inputs(call) != inputs(right):
            continue
        if (call.outcome, call.effects) != (right.outcome, right.effects):
            found[place] = right
    return found


def true_values(buggy: ColumnTree, repaired: ColumnTree) -> dict[int, str]:
    """The wrong calls whose results alone are wrong, and the true ones, as they are typed."""
    found = {}
    for place, right in wrong_calls(buggy, repaired).items():
        call, text = buggy.call(place), typed(right.outcome.value)
        same = (call.effects, call.printed) == (right.effects, right.printed)
        if right.outcome.kind is OutcomeKind.RETURNED and same and text is not None:
            found[buggy.id(place)] = text
    return found


def by_beginning(tree: ColumnTree, values: dict[int, str]) -> Iterator[dict[int, str]]:
    """The values from the first, then from the last call of each function on.

    A person may begin anywhere. What is said of an early call changes what later ones are given,
    and then nothing can be said of those.
    """
    nodes = list(values)
    names = [function_at(tree, tree.position(node)).short() for node in nodes]
    functions = list(dict.fromkeys(names))[:MOST_FUNCTIONS]
    first = [names.index(name) for name in functions]
    last = [len(names) - 1 - names[::-1].index(name) for name in functions]
    for start in dict.fromkeys((*first, *last)):
        yield {node: values[node] for node in nodes[start:]}


@dataclass
class Said:
    """What a person says, as long as it can be tried with what was said before."""

    tree: ColumnTree
    reruns: ProgramReruns
    values: dict[int, str] = field(default_factory=dict)
    trial: Trial | None = None

    def say(self, node: int, text: str) -> None:
        place, end = self.tree.position(node), self.tree.columns.end
        if any(place < end[self.tree.position(each)] for each in self.values):
            return  # below one of which all is said, or it begins while that one runs
        with suppress(WhenceError):
            self.trial = self.reruns.tried({**self.values, node: text})
            self.values[node] = text


def printed(trial: Trial, run: Call) -> tuple[str, ...]:
    """All that is printed when a value was tried."""
    lines = dict(enumerate(run.output, 1)) | {each.number: each.after for each in trial.lines}
    return tuple(text for _, text in sorted(lines.items()) if text != "(no such line)")


@pytest.mark.parametrize(
    "bug",
    [
        pytest.param(bug, id=bug.name, marks=() if bug.name in IN_SHORT else pytest.mark.soak)
        for bug in bug_corpus.corpus()
    ],
)
def test_true_values_make_the_output_right_and_what_was_given_does_not(bug: Bug, tmp_path: Path) -> None:
    if not bug.can_run:
        pytest.skip("needs more")
    buggy = recorded(bug, "buggy", tmp_path / "buggy.whence")
    repaired = recorded(bug, "repaired", tmp_path / "repaired.whence")
    run, true = buggy.call(0), repaired.call(0).output
    ends = []
    for values in by_beginning(buggy, true_values(buggy, repaired)):
        said = Said(buggy, ProgramReruns(tmp_path / "buggy.whence", buggy))
        for node, text in values.items():
            said.say(node, text)
            if said.trial is not None:
                ends.append((said.trial.ends, printed(said.trial, run)))
            if ("", true) in ends or len(said.values) == MOST_SAID:
                break
        if ("", true) in ends:
            break
    assert (not ends) is (bug.name in NO_VALUES)
    if not ends:
        pytest.skip("nothing that can be tried is wrong")
    place = next(n for n, line in enumerate(true) if line not in run.output[n : n + 1])
    assert any(seen[place : place + 1] == (true[place],) for _, seen in ends)
    assert (("", true) in ends) is (bug.name not in NOT_ALL)
    # What it gave, in another object, is as wrong as it was.
    node = next(iter(said.values))
    gave = buggy.call(buggy.position(node)).outcome
    gave_text = typed(gave.value) if gave.kind is OutcomeKind.RETURNED else None
    if gave_text is not None:
        same = said.reruns.tried({node: gave_text})
        assert same.helps is False
        assert same.lines == ()
