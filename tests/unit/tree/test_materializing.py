"""Mercury's example of approximate weights, in a tree that is expanded (MacLarty et al. 4.2.3)."""

from __future__ import annotations

import json
from pathlib import Path

from mercury_weights import own_events, solution_weights

from whence.tree.tree_file import open_tree

DATA = Path(__file__).parents[2] / "conformance" / "data" / "mercury_weights.json"


def node(number: int, parent: int | None, **more: object) -> str:
    record = {"id": number, "parent": parent, "function": "p", "args": [number], **more}
    return json.dumps(record) + "\n"


def test_expanding_a_call_repairs_the_weights_of_all_its_callers(tmp_path: Path) -> None:
    data = json.loads(DATA.read_text())
    events = [event["event"] for event in data["events"]]
    segments = list(zip(events[::2], events[1::2], strict=True))
    parent, children = data["parent"], solution_weights(segments)
    own = own_events((parent["call"], parent["fail"]), segments)
    header = '{"whence": "tree", "version": 1}\n'
    (tmp_path / "part.jsonl").write_text(
        header
        + node(3, None, weight=own)
        + "".join(
            node(4 + index, 3, implicit=True, subtree_weight=weight)
            for index, weight in enumerate(children)
        )
    )
    (tmp_path / "tree.jsonl").write_text(
        header
        + node(1, None)
        + node(2, 1)
        + node(3, 2, implicit={"file": "part.jsonl"}, subtree_weight=parent["weight"])
    )
    tree = open_tree(tmp_path / "tree.jsonl")
    assert tree.columns.weight.tolist() == [46, 45, parent["weight"]]
    grown = tree.expand(tree.position(3), 1)
    place = grown.position(3)
    assert grown.columns.weight[place] == parent["repaired_weight"]
    added = parent["double_counted_events"]["total"]
    assert grown.columns.weight[:2].tolist() == [46 + added, 45 + added]
    below = [int(grown.columns.weight[p]) for p in range(place + 1, len(grown.columns))]
    assert below == [item["weight"] for item in data["nodes"]]
