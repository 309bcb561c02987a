"""Where one wrong value is all that is wrong, the true one, tried, makes the output right.

Which programs these are was found by trying; many others make several wrong calls. What a call
gave is never told to help.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import twins
from recorded import environment
from twins import Bug

from whence.langs.python.record.journal.choosing import obstacle
from whence.langs.python.replay.rerun import ProgramReruns
from whence.langs.python.trace.calls import TraceSource
from whence.langs.python.trace.opening import open_trace
from whence.model.call import Call, OutcomeKind
from whence.model.trial import Trial
from whence.model.value import show
from whence.tree.memory import ColumnTree

pytestmark = pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")

IN_SHORT = ("cache_key",)
ONE_VALUE = frozenset(
    "asserted_shares cache_key coroutine_total default_basket expression_parser grouping_iterator "
    "heap_tasks huffman_codes ini_sections interval_merge property_temperature role_permissions "
    "running_average table_format tank_level thread_counts tokenizer typed_readings typed_stock "
    "wrap_text".split()
)
"""The programs in which the first such value is all that is wrong."""


def recorded(bug: Bug, twin: str, output: Path) -> ColumnTree:
    words = ["record", "--journal", "-o", str(output), f"{twin}.py", *bug.argv]
    subprocess.run(
        [sys.executable, "-m", "whence", *words], cwd=bug.folder, env=environment(),
        input=bug.stdin, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return open_trace(output)


def inputs(call: Call) -> list[str]:
    return [f"{each.name} {show(each.value)}" for each in (*call.arguments, *call.reads)]


def is_literal(text: str) -> bool:
    if "…" in text or text == "None":
        return False
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return False
    return True


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


def first_wrong_result(buggy: ColumnTree, repaired: ColumnTree) -> tuple[int, str] | None:
    """The first such call whose result alone is wrong, and its true value, if it can be typed."""
    source = buggy.sources[0]
    assert isinstance(source, TraceSource)
    for place, right in wrong_calls(buggy, repaired).items():
        stepped = source.code(int(buggy.details[place])).is_stepped
        returned = right.outcome.kind is OutcomeKind.RETURNED and right.outcome.value is not None
        if stepped or not returned or buggy.call(place).effects != right.effects:
            continue
        if is_literal(text := show(right.outcome.value)):
            return buggy.id(place), text
    return None


def printed(trial: Trial, run: Call) -> tuple[str, ...]:
    """All that is printed when a value was tried."""
    lines = dict(enumerate(run.output, 1)) | {each.number: each.after for each in trial.lines}
    return tuple(text for _, text in sorted(lines.items()) if text != "(no such line)")


@pytest.mark.parametrize(
    "bug",
    [
        pytest.param(bug, id=bug.name, marks=() if bug.name in IN_SHORT else pytest.mark.soak)
        for bug in twins.corpus()
    ],
)
def test_the_true_value_makes_the_output_right_and_what_was_given_does_not(bug: Bug, tmp_path: Path) -> None:
    if not bug.can_run:
        pytest.skip("needs more")
    buggy = recorded(bug, "buggy", tmp_path / "buggy.whence")
    repaired = recorded(bug, "repaired", tmp_path / "repaired.whence")
    found = first_wrong_result(buggy, repaired)
    if found is None:
        assert bug.name not in ONE_VALUE
        pytest.skip("no value that can be typed is wrong")
    node, text = found
    reruns = ProgramReruns(tmp_path / "buggy.whence", buggy)
    run, true = buggy.call(0), repaired.call(0).output
    trial = reruns.tried({node: text})
    if bug.name in ONE_VALUE:
        assert trial.helps is not False
        assert not trial.ends
        assert printed(trial, run) == true
    # What it gave, in another object, is as wrong as it was.
    outcome = buggy.call(buggy.position(node)).outcome
    if outcome.kind is OutcomeKind.RETURNED and outcome.value and is_literal(show(outcome.value)):
        same = reruns.tried({node: show(outcome.value)})
        assert same.helps is False
        assert same.lines == ()
