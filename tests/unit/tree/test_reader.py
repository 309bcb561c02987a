import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from whence.errors import TreeFormatError
from whence.model.call import Function, Location, Rule
from whence.tree import reader
from whence.tree.tree_file import open_tree

Written = Callable[..., Path]

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[3] / "docs" / "tree-format.schema.json").read_text("utf-8"))
)
ROOT = {"id": 1, "function": "main"}


def refusal(path: Path) -> TreeFormatError:
    with pytest.raises(TreeFormatError) as caught:
        open_tree(path)
    assert str(caught.value).startswith(str(path))
    return caught.value


# --- the header ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ({"id": 1, "function": "main"}, "does not start with a header"),
        ({"whence": "trace", "version": 1}, "does not start with a header"),
        ({"whence": "tree"}, '"version" must be'),
        ({"whence": "tree", "version": "1"}, '"version" must be'),
        ({"whence": "tree", "version": True}, '"version" must be'),
        ({"whence": "tree", "version": 0}, '"version" must be'),
        ({"whence": "tree", "version": 1, "language": 3}, '"language" must be a text'),
        (b"\x7fELF\x02\x01\n", "not JSON"),
        (b"hello\n", "not JSON"),
        (b"[]\n", "not an object"),
    ],
)
def test_a_file_without_a_header_is_not_a_tree(written: Written, header: Any, problem: str) -> None:
    error = refusal(written(ROOT, header=header))
    assert error.line == 1
    assert "this is not a tree of whence" in str(error)
    assert problem in str(error)


def test_a_later_version_is_refused_with_what_to_do(written: Written) -> None:
    error = refusal(written(ROOT, header={"whence": "tree", "version": 2}))
    assert "version 2" in str(error)
    assert "install a newer whence" in str(error)


@pytest.mark.parametrize("content", [b"", b"\n \n\r\n", b"\xef\xbb\xbf"])
def test_a_file_with_nothing_in_it_is_empty(written: Written, content: bytes) -> None:
    assert "the file is empty" in str(refusal(written(header=content)))


def test_a_header_alone_is_no_tree(written: Written) -> None:
    error = refusal(written())
    assert "there is no call in it" in str(error)
    assert error.line is None


def test_a_second_header_is_refused(written: Written) -> None:
    error = refusal(written(ROOT, {"whence": "tree", "version": 1}))
    assert error.line == 3
    assert "second header" in str(error)


def test_a_byte_order_mark_blank_lines_and_carriage_returns_are_accepted(written: Written) -> None:
    path = written(
        b'{"id": 7, "function": "main"}\r\n',
        b"\r\n",
        b'\n{"id": 9, "parent": 7, "function": "f", "returned": 3}',
        header=b'\xef\xbb\xbf{"whence": "tree", "version": 1}\r\n',
    )
    tree = open_tree(path)
    assert [tree.id(0), tree.id(1)] == [7, 9]
    assert tree.call(1).equation() == "f() → 3"


# --- lines ---------------------------------------------------------------------------------------

BAD_LINES: list[tuple[Any, str]] = [
    ({"id": "1", "function": "f"}, '"id" must be a whole number'),
    ({"id": -1, "function": "f"}, '"id" must be a whole number'),
    ({"id": True, "function": "f"}, '"id" must be a whole number'),
    ({"id": 1.5, "function": "f"}, '"id" must be a whole number'),
    ({"id": None, "function": "f"}, '"id" must be a whole number'),
    ({"id": 2**63, "function": "f"}, '"id" must be a whole number'),
    ({"id": 5, "parent": "1", "function": "f"}, '"parent" must be the id of a call'),
    ({"id": 5, "parent": -1, "function": "f"}, '"parent" must be the id of a call'),
    ({"id": 5, "parent": [1], "function": "f"}, '"parent" must be the id of a call'),
    ({"id": 5, "parent": 1}, '"function" must be a name'),
    ({"id": 5, "parent": 1, "function": ""}, '"function" must be a name'),
    ({"id": 5, "parent": 1, "function": ["f"]}, '"function" must be a name'),
    ({"id": 5, "parent": 1, "function": 3}, '"function" must be a name'),
    ({"id": 5, "parent": 1, "function": "f", "rule": {"a": 1}}, '"rule" must be a name'),
    ({"id": 5, "parent": 1, "function": "f", "rule": ""}, '"rule" must be a name'),
    ({"id": 5, "parent": 1, "function": "f", "weight": -1}, '"weight" must be a number'),
    ({"id": 5, "parent": 1, "function": "f", "weight": 2e15}, '"weight" must be a number'),
    ({"id": 5, "parent": 1, "function": "f", "weight": 10**400}, '"weight" must be a number'),
    ({"id": 5, "parent": 1, "function": "f", "weight": "9"}, '"weight" must be a number'),
    ({"id": 5, "parent": 1, "function": "f", "weight": True}, '"weight" must be a number'),
    ({"id": 5, "parent": 1, "function": "f", "weight": None}, '"weight" must be a number'),
    ({"id": 5, "parent": 1, "function": "f", "implicit": True}, '"subtree_weight" must be'),
    (
        {"id": 5, "parent": 1, "function": "f", "implicit": True, "subtree_weight": -3},
        '"subtree_weight" must be',
    ),
    (
        {"id": 5, "parent": 1, "function": "f", "implicit": "yes", "subtree_weight": 3},
        '"implicit" must be',
    ),
    (
        {"id": 5, "parent": 1, "function": "f", "implicit": {}, "subtree_weight": 3},
        '"implicit" must be',
    ),
    *(
        (
            {"id": 5, "parent": 1, "function": "f", "implicit": {"file": x}, "subtree_weight": 3},
            "which may lie elsewhere",
        )
        for x in ("/etc/passwd", "../a.jsonl", "a/../../b.jsonl", "", "a\0b", "..")
    ),
    ({"define": "class", "name": "f"}, '"define" must be'),
    ({"define": "function"}, '"name" must be'),
    ({"define": "function", "name": ""}, '"name" must be'),
    ({"define": "function", "name": "f", "trusted": "yes"}, '"trusted" must be'),
    ({"define": "function", "name": "f", "file": 3}, '"file"'),
    ({"define": "function", "name": "f", "file": "f.hs", "line": -3}, '"line" must be'),
    ({"define": "rule", "name": "f.1"}, '"function" must be'),
    ({"define": "rule", "name": "f.1", "function": ""}, '"function" must be'),
    ({"define": "rule", "name": "f.1", "function": "f", "source": 1}, '"source" must be'),
    ({"function": "f"}, "neither a call"),
    ({}, "neither a call"),
    ([], "not an object"),
]


@pytest.mark.parametrize(("line", "problem"), BAD_LINES)
def test_a_line_that_breaks_the_format_is_refused_with_its_number(
    written: Written, line: Any, problem: str
) -> None:
    error = refusal(written(ROOT, line, {"id": 6, "parent": 1, "function": "f"}))
    assert error.line == 3
    assert problem in str(error)


@pytest.mark.parametrize(("line", "problem"), BAD_LINES)
def test_the_schema_refuses_what_the_reader_refuses(line: Any, problem: str) -> None:
    assert not SCHEMA.is_valid(line)


def test_a_number_that_is_too_large_for_a_float_is_refused(written: Written) -> None:
    error = refusal(written(b'{"id": 1, "function": "f", "returned": [1e999]}\n'))
    assert error.line == 2
    assert "a number is too large (write it as a text)" in str(error)


def test_a_line_that_is_too_long_is_refused(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MAX_LINE", 2**20)
    error = refusal(written(ROOT, b'{"id": 2, "printed": "' + b"x" * 2**20 + b'"}\n'))
    assert error.line == 3
    assert "the line is longer than 1 MB" in str(error)


@pytest.mark.parametrize("cut", [b'{"id": 5, "par', b'{"id": 5, "function": "caf\xc3', b"{"])
def test_a_truncated_file_says_how_much_of_it_is_whole(written: Written, cut: bytes) -> None:
    error = refusal(written(ROOT, {"id": 4, "parent": 1, "function": "f"}, cut))
    assert error.line == 4
    assert "seems to be truncated" in str(error)
    assert "after 2 whole calls" in str(error)


def test_a_bad_last_line_that_is_whole_is_not_called_truncated(written: Written) -> None:
    assert "truncated" not in str(refusal(written(ROOT, b'{"id": "5"}')))


def test_functions_and_rules_may_not_take_all_memory(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MAX_TABLES", 3 * 2**20)
    nodes = ({"id": n, "parent": 1, "function": f"f{n}"} for n in range(2, 10_000))
    assert "functions and rules take more than 3 MB" in str(refusal(written(ROOT, *nodes)))


# --- the tree ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "line", "problem"),
    [
        ([(1, None), (2, 1), (2, 1)], 4, "call 2 stands here for the second time"),
        ([(1, None), (2, 3)], 3, "call 2 names call 3 as its parent; there is none"),
        ([(1, None), (2, None)], 3, "call 2 has no parent, and neither has call 1"),
        ([(1, 2), (2, 1)], 2, "every call has a parent"),
        ([(1, None), (2, 2)], 3, "this call is its own ancestor"),
        ([(1, None), (2, 4), (3, 1), (4, 2)], 3, "this call is its own ancestor"),
    ],
)
def test_lines_that_are_no_tree_are_refused(
    written: Written, nodes: list[tuple[int, int | None]], line: int, problem: str
) -> None:
    lines = ({"id": node, "parent": parent, "function": "f"} for node, parent in nodes)
    error = refusal(written(*lines))
    assert error.line == line
    assert problem in str(error)


def test_a_call_below_an_implicit_one_is_refused(written: Written) -> None:
    stub = {"id": 2, "parent": 1, "function": "f", "implicit": True, "subtree_weight": 5}
    error = refusal(written(ROOT, {"id": 3, "parent": 2, "function": "g"}, stub))
    assert error.line == 3
    assert "call 3 stands below call 2, which is implicit" in str(error)


# --- definitions ---------------------------------------------------------------------------------


def test_a_call_has_the_function_and_rule_that_were_defined(written: Written) -> None:
    tree = open_tree(
        written(
            {
                "define": "function",
                "name": "m.f",
                "qualname": "f",
                "module": "m",
                "file": "m.hs",
                "line": 3,
                "trusted": True,
            },
            {"define": "rule", "name": "m.f.1", "function": "m.f", "source": "f x = 1"},
            {"id": 1, "function": "m.f", "rule": "m.f.1"},
        )
    )
    call = tree.call(0)
    assert call.function == Function("m.f", "f", "m", Location("m.hs", 3), trusted=True)
    assert call.rule == Rule("m.f.1", "m.f", None, "f x = 1")


def test_what_is_never_defined_has_only_its_name(written: Written) -> None:
    tree = open_tree(written({"id": 1, "function": "f", "rule": "f.2"}))
    assert tree.call(0).function == Function("f")
    assert tree.call(0).rule == Rule("f.2", "f")


def test_a_call_without_a_rule_has_that_of_its_function(written: Written) -> None:
    define = {"define": "function", "name": "f", "file": "m.hs", "line": 3}
    tree = open_tree(written(define, {"id": 1, "function": "f", "rule": None}))
    assert tree.call(0).rule == Rule("f", "f", Location("m.hs", 3))


def test_a_rule_may_be_defined_under_the_name_of_its_function(written: Written) -> None:
    define = {"define": "rule", "name": "f", "function": "f", "source": "f = 1"}
    tree = open_tree(written(define, {"id": 1, "function": "f"}))
    assert tree.call(0).rule == Rule("f", "f", None, "f = 1")


def test_a_rule_of_two_functions_is_refused(written: Written) -> None:
    nodes = [{"id": 1, "function": "f", "rule": "1"}, {"id": 2, "function": "g", "rule": "1"}]
    error = refusal(written(*nodes))
    assert error.line == 3
    assert "rule 1 belongs to function f, and here to function g" in str(error)
    assert "such as g.1" in str(error)


def test_a_definition_may_stand_twice_but_not_differ(written: Written) -> None:
    define = {"define": "function", "name": "f", "module": "a"}
    open_tree(written(define, define, {"id": 1, "function": "f"}))
    error = refusal(written(define, define | {"module": "b"}, {"id": 1, "function": "f"}))
    assert "defined before, and differently" in str(error)


def test_keys_that_the_format_does_not_name_are_ignored(written: Written) -> None:
    tree = open_tree(
        written(
            {"define": "function", "name": "f", "x-colour": "red"},
            {"id": 1, "function": "f", "args": [{"text": "3", "x-a": 1}], "x-b": [], "seconds": 3},
            header={"whence": "tree", "version": 1, "tracer": "mine"},
        )
    )
    assert tree.call(0).equation() == "f(3) → ?"


def test_progress_is_told_up_to_the_end(written: Written) -> None:
    nodes = ({"id": n, "parent": 0, "function": "f"} for n in range(1, 40_000))
    path = written({"id": 0, "function": "f"}, *nodes)
    seen: list[tuple[int, int]] = []
    open_tree(path, lambda done, size: seen.append((done, size)))
    size = path.stat().st_size
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == (size, size)
