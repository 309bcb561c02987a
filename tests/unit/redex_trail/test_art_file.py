import json
from pathlib import Path
from typing import Any

import pytest

from whence.errors import TreeFormatError
from whence.redex_trail.art import Application, Atom, Indirection
from whence.redex_trail.art_file import decode_art, read_art

NODES: list[dict[str, Any]] = [
    {"node": "t", "kind": "app", "left": "tl", "right": "tr", "rule": "f.1"},
    {"node": "tl", "kind": "atom", "value": "f"},
    {"node": "tr", "kind": "atom", "value": 3},
    {"node": "tt", "kind": "ind", "to": "tr"},
]


def art_file(nodes: Any = NODES, **more: Any) -> dict[str, Any]:
    return {"schema": "art/1", "nodes": nodes, **more}


def with_node(**node: Any) -> dict[str, Any]:
    return art_file([each for each in NODES if each["node"] != node.get("node")] + [node])


def test_a_file_gives_the_graph_that_it_describes(tmp_path: Path) -> None:
    path = tmp_path / "f.art.json"
    path.write_text(json.dumps(art_file(program=["f x = x"], start_term="f 3")), encoding="utf-8")
    art = read_art(path)
    assert art.nodes["t"] == Application("tl", "tr")
    assert art.nodes["tr"] == Atom("3")
    assert art.nodes["tt"] == Indirection("tr")
    assert (art.start, art.start_term, art.program) == ("t", "f 3", ("f x = x",))
    assert art.rules == {"t": "f.1"}


def test_what_follows_from_a_name_may_be_given_and_is_checked() -> None:
    right = {"node": "tt", "kind": "ind", "to": "tr", "parent": "t", "val": "anything"}
    assert decode_art(with_node(**right)) == decode_art(art_file())
    top = {**NODES[0], "reduct": "tt", "parent": ""}
    assert decode_art(with_node(**top)).rules == {"t": "f.1"}


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (None, "not an Augmented Redex Trail"),
        ([], "not an Augmented Redex Trail"),
        ({"schema": "art/2", "nodes": NODES}, '"schema" must be "art/1"'),
        (art_file(None), '"nodes" must be a list'),
        (art_file([]), "at least one node"),
        (art_file([3]), "entry 1 of nodes has no name"),
        (art_file([{"kind": "atom"}]), "entry 1 of nodes has no name"),
        (art_file([*NODES, NODES[2]]), "'tr' stands twice"),
        (with_node(node="tr", kind="thunk"), "'tr' has no kind that is known"),
        (with_node(node="tr", kind="atom"), "'tr' has no \"value\""),
        (with_node(node="tr", kind="atom", value=[1]), "'tr' has no \"value\""),
        (with_node(node="tr", kind="app", left="tl"), "\"right\" of node 'tr' must be a text"),
        (with_node(node="tr", kind="ind", to=5), "\"to\" of node 'tr' must be a text"),
        (with_node(node="tr", kind="ind", to="ttt"), "refers to node 'ttt'"),
        (with_node(node="tt", kind="ind", to="t"), "its value contains itself"),
        (with_node(node="tt", kind="atom", value=1, parent="tl"), "by its name it is 't'"),
        (with_node(node="tr", kind="atom", value=1, reduct="trt"), "names 'trt' as its reduct"),
        (with_node(node="tr", kind="atom", value=1, rule=2), "\"rule\" of node 'tr' must be"),
        (art_file(start_node=7), '"start_node" must be a text'),
        (art_file(start_node="l"), "start node is not among the nodes"),
        (art_file(program=3), '"program" must be a list of lines'),
        (art_file(program=[3]), 'a line of "program" must be a text'),
    ],
)
def test_a_malformed_file_is_refused_with_its_name_and_problem(item: Any, problem: str) -> None:
    with pytest.raises(TreeFormatError) as raised:
        decode_art(item, "some.art.json")
    assert str(raised.value).startswith("some.art.json: ")
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'{\n "schema": art\n}', 2),
        (b"\xff\xfe", None),
        (b"[" * 100_000, None),
        (b'{"schema": ' + b"1" * 5_000 + b"}", None),
        (b"", 1),
    ],
)
def test_a_file_that_is_not_json_is_refused(tmp_path: Path, text: bytes, line: int | None) -> None:
    path = tmp_path / "bad.art.json"
    path.write_bytes(text)
    with pytest.raises(TreeFormatError) as raised:
        read_art(path)
    assert raised.value.line == line


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeFormatError, match="cannot be read"):
        read_art(tmp_path / "none.art.json")


def test_a_very_long_name_does_not_fill_the_message() -> None:
    with pytest.raises(TreeFormatError) as raised:
        decode_art(art_file([{"node": "l" * 100_000, "kind": "thunk"}]))
    assert len(str(raised.value)) < 500
