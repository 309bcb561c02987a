"""Exported profiles nest as the calls do, and hold every call once."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest

from whence.testing.trees import random_parents, tree_from_parents
from whence.tree.column_tree import ColumnTree
from whence.tree.profile_export import write_perfetto, write_speedscope


def exported(tree: ColumnTree, write: Any) -> Any:
    out = io.StringIO()
    write(out, tree, "a run")
    return json.loads(out.getvalue())


@pytest.mark.parametrize("seed", range(5))
def test_speedscope_opens_and_closes_calls_as_they_nest(seed):
    count = 5000 if seed == 0 else 60
    parents = random_parents(random.Random(seed), count)
    tree = tree_from_parents(parents)
    profile = exported(tree, write_speedscope)
    events = profile["profiles"][0]["events"]
    opened: list[int] = []
    seen, last = [], 0
    for event in events:
        assert event["at"] >= last
        last = event["at"]
        if event["type"] == "O":
            seen.append((len(opened), event["frame"]))
            opened.append(event["frame"])
        else:
            assert opened.pop() == event["frame"]
    assert opened == []
    columns = tree.columns
    assert seen == list(zip(columns.depth.tolist(), columns.function.tolist(), strict=True))
    assert profile["profiles"][0]["endValue"] == last == len(columns)
    assert len(profile["shared"]["frames"]) == len(tree.functions)


def test_perfetto_has_each_call_as_long_as_its_subtree():
    tree = tree_from_parents([-1, 0, 1, 1, 0])
    calls = [event for event in exported(tree, write_perfetto)["traceEvents"] if event["ph"] == "X"]
    assert [(call["ts"], call["dur"], call["args"]["call"]) for call in calls] == [
        (0, 5, 0), (1, 3, 1), (2, 1, 2), (3, 1, 3), (4, 1, 4),
    ]  # fmt: skip


def test_a_call_that_was_only_counted_is_as_wide_as_what_it_stands_for():
    tree = tree_from_parents([-1, 0, 0], weights=[1.0, 1000.0, 1.5])
    calls = exported(tree, write_perfetto)["traceEvents"][1:]
    assert [call["dur"] for call in calls] == [1002.5, 1000, 1.5]
