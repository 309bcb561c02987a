import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whence.errors import CannotExpand, TreeFormatError, WhenceError
from whence.model.call import Function, Location, OutcomeKind, Rule, find_mark
from whence.tree import tree_file
from whence.tree.codec import decode_call
from whence.tree.column_tree import Node, tree_of
from whence.tree.tree_file import FileSource, open_tree, origins_of, write_tree

Written = Callable[..., Path]

ROOT = Path(__file__).parents[3]
F = {"function": "f"}
SQRTEST = ROOT / "examples" / "sqrtest.jsonl"
PAPER = ROOT / "tests" / "conformance" / "data"


def stub(**more: Any) -> dict[str, Any]:
    return {"id": 2, "parent": 1, "function": "f", "subtree_weight": 9, **more}


# --- opening -------------------------------------------------------------------------------------


def test_a_tree_is_read_with_its_calls(written: Written) -> None:
    tree = open_tree(
        written(
            {"id": 10, "function": "main", "returned": 3},
            {"id": 20, "parent": 10, "function": "f", "args": {"x": [1, 2]}, "raised": "Oops"},
            {"id": 30, "parent": 10, "function": "g", "args": [4], "weight": 2.5},
        )
    )
    assert [tree.id(position) for position in range(3)] == [10, 20, 30]
    assert tree.columns.parent.tolist() == [-1, 0, 0]
    assert tree.columns.weight.tolist() == [4.5, 1, 2.5]
    assert tree.columns.outcome.tolist() == [OutcomeKind.RETURNED, OutcomeKind.RAISED, 0]
    assert tree.call(1).equation() == "f(x=[1, 2]) raised Oops"
    assert tree.position(30) == 2


def test_calls_may_be_written_when_they_end(written: Written) -> None:
    tree = open_tree(
        written(
            {"id": 3, "parent": 2, "function": "h"},
            {"id": 2, "parent": 1, "function": "f"},
            {"id": 4, "parent": 1, "function": "g"},
            {"id": 1, "parent": None, "function": "main"},
        )
    )
    assert [tree.call(position).function.name for position in range(4)] == ["main", "f", "h", "g"]
    assert tree.columns.end.tolist() == [4, 3, 3, 4]
    assert tree.columns.depth.tolist() == [0, 1, 2, 1]


def test_equal_questions_have_equal_digests(written: Written) -> None:
    tree = open_tree(
        written(
            {"id": 1, "function": "f", "args": {"x": 1, "y": 2}, "returned": 3},
            {"id": 2, "parent": 1, "function": "f", "returned": 3, "args": {"y": 2, "x": 1}},
            {"id": 3, "parent": 1, "function": "f", "args": {"x": 1, "y": 2}, "raised": 3},
            {"id": 4, "parent": 1, "function": "g", "args": {"x": 1, "y": 2}, "returned": 3},
        )
    )
    same, different = tree.columns.equation[:2], tree.columns.equation[1:]
    assert same[0] == same[1]
    assert len(set(different.tolist())) == 3


def test_ids_near_the_largest_are_read(written: Written) -> None:
    last = 2**63 - 1
    path = written({"id": last - 1, "function": "f"}, {"id": last, "parent": last - 1, **F})
    tree = open_tree(path)
    assert tree.id(1) == last
    assert tree.position(last) == 1


@pytest.mark.parametrize("node", [0, 2, 5, 2**62, 2**63, 2**200])
def test_an_id_that_is_not_there_is_not_found(written: Written, node: int) -> None:
    tree = open_tree(written({"id": 1, **F}, {"id": 3, "parent": 1, **F}))
    with pytest.raises(WhenceError, match=f"no call {node} in this tree"):
        tree.position(node)


@pytest.mark.parametrize("name", ["gone.jsonl", "", "a\0b", "x" * 300])
def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(TreeFormatError):
        open_tree(tmp_path / name)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TreeFormatError, match="not a regular file"):
        open_tree(tmp_path / "pipe")


def test_a_tree_that_is_too_large_for_memory_is_reported(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(tree_file, "read_calls", exhausted)
    with pytest.raises(TreeFormatError, match="more memory than there is"):
        open_tree(written({"id": 1, **F}))


def test_the_header_is_kept(written: Written) -> None:
    header = {"whence": "tree", "version": 1, "language": "haskell", "program": "a.hs"}
    (source,) = open_tree(written({"id": 1, **F}, header=header)).sources
    assert isinstance(source, FileSource)
    assert (source.header.language, source.header.program) == ("haskell", "a.hs")


# --- reading calls later -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"returned": {"colour": "red"}}, "expected one of"),
        ({"args": 3}, '"args" must be a list'),
        ({"printed": 3}, '"printed" must be a text'),
        ({"returned": [[[]]] * 3, "at": "here"}, '"at" must be an object'),
    ],
)
def test_a_malformed_value_is_reported_when_it_is_looked_at(
    written: Written, more: dict[str, Any], problem: str
) -> None:
    tree = open_tree(written({"id": 1, **F}, {"id": 2, "parent": 1, **F, **more}))
    tree.call(0)
    with pytest.raises(TreeFormatError) as caught:
        tree.call(1)
    assert caught.value.line == 3
    assert problem in str(caught.value)


def test_a_value_that_is_nested_too_deeply_is_reported(written: Written) -> None:
    value: Any = 1
    for _ in range(300):
        value = [value]
    tree = open_tree(written({"id": 1, **F, "returned": value}))
    with pytest.raises(TreeFormatError, match="more than 200 levels"):
        tree.call(0)


@pytest.mark.parametrize("value", [[[]] * 1_500_000, [[{"text": "a"}] * 1000] * 1500])
def test_a_call_with_more_values_than_anyone_could_look_at_is_reported(
    written: Written, value: Any
) -> None:
    tree = open_tree(written({"id": 1, **F, "returned": value}))
    with pytest.raises(TreeFormatError, match="more than 1,000,000 values") as caught:
        tree.call(0)
    assert caught.value.line == 2


def test_a_long_text_is_one_value(written: Written) -> None:
    text = "[]," * 1_000_000
    assert open_tree(written({"id": 1, **F, "printed": text})).call(0).printed == text


def test_a_value_may_be_nested_as_deeply_as_the_manual_says(written: Written) -> None:
    value: Any = 1
    for _ in range(100):
        value = {"tuple": [value], "id": 1}
    for _ in range(100):
        value = {"object": "o", "fields": {"f": value}}
    assert open_tree(written({"id": 1, **F, "returned": value})).call(0).outcome.value


@pytest.mark.parametrize(
    "now",
    [
        b'{"id": 1, "function": "f", "returned": 4}\n',
        b'{"id": 2, "function": "f", "returned": 3}\n',
        b"x" * 40,
        b"",
    ],
)
def test_a_file_that_was_changed_is_noticed(written: Written, now: bytes) -> None:
    path = written({"id": 1, "function": "f", "returned": 3})
    tree = open_tree(path)
    about = path.stat()
    written(now)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    with pytest.raises(TreeFormatError, match="changed after it was opened"):
        tree.call(0)


def test_a_file_that_is_gone_is_noticed(written: Written) -> None:
    path = written({"id": 1, **F})
    tree = open_tree(path)
    path.unlink()
    with pytest.raises(TreeFormatError, match="cannot be read"):
        tree.call(0)


def test_lines_may_be_added_to_a_file_that_is_open(written: Written) -> None:
    path = written({"id": 1, "function": "f", "returned": 3})
    tree = open_tree(path)
    with path.open("ab") as file:
        file.write(b'{"id": 2, "parent": 1, "function": "g"}\n')
    assert tree.call(0).equation() == "f() → 3"


def test_a_tree_is_readable_after_a_change_of_directory(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written({"id": 1, "function": "f", "returned": 3})
    monkeypatch.chdir(path.parent)
    tree = open_tree(path.name)
    monkeypatch.chdir("/")
    assert tree.call(0).equation() == "f() → 3"


def test_calls_that_were_just_read_are_not_read_again(written: Written) -> None:
    path = written({"id": 0, **F}, *({"id": n, "parent": 0, **F} for n in range(1, 200)))
    tree = open_tree(path)
    for position in range(200):
        tree.call(position)
    path.unlink()
    assert tree.call(199).function.name == "f"
    with pytest.raises(TreeFormatError):
        tree.call(0)


# --- expanding -----------------------------------------------------------------------------------


def test_an_implicit_call_is_expanded_from_its_file(written: Written) -> None:
    path = written(
        {"id": 1, "function": "main"},
        stub(implicit={"file": "parts/2.jsonl"}, args=[5]),
        {"id": 9, "parent": 1, "function": "h"},
    )
    written(
        {"id": 2, "function": "f", "args": [5], "weight": 2},
        {"id": 7, "parent": 2, "function": "g", "weight": 4},
        name="parts/2.jsonl",
    )
    tree = open_tree(path)
    assert tree.columns.implicit.tolist() == [0, 1, 0]
    assert tree.columns.weight.tolist() == [11, 9, 1]
    expanded = tree.expand(1, 1)
    assert [expanded.id(position) for position in range(4)] == [1, 2, 7, 9]
    assert expanded.columns.weight.tolist() == [8, 6, 4, 1]
    assert expanded.columns.implicit.tolist() == [0, 0, 0, 0]
    assert [expanded.call(n).left() for n in range(4)] == ["main()", "f(5)", "g()", "h()"]
    assert len(tree.columns) == 3, "the first tree is as it was"


def test_a_part_may_have_parts_beside_itself(written: Written) -> None:
    path = written({"id": 1, **F}, stub(implicit={"file": "parts/2.jsonl"}))
    below = {"id": 3, "parent": 2, **F, "implicit": {"file": "3.jsonl"}, "subtree_weight": 4}
    written({"id": 2, **F}, below, name="parts/2.jsonl")
    written({"id": 3, **F}, {"id": 4, "parent": 3, **F}, name="parts/3.jsonl")
    tree = open_tree(path).expand(1, 1).expand(2, 1)
    assert [tree.id(position) for position in range(4)] == [1, 2, 3, 4]
    assert tree.columns.weight.tolist() == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        (None, "cannot be read"),
        ([b"garbage\n"], "not JSON"),
        ([{"id": 3, **F}], "starts at call 3"),
        ([{"id": 2, "function": "g"}], "does not start with call 2"),
        ([{"id": 2, **F, "returned": 7}], "does not start with call 2"),
        ([{"id": 2, **F, "rule": "f.1"}], "does not start with call 2"),
        ([{"id": 2, **F}, {"id": 1, "parent": 2, **F}], "ids that stand elsewhere"),
        ([stub(parent=None, implicit={"file": "2.jsonl"})], "does not hold the calls below"),
        (
            [{"id": 2, **F}, {"id": 3, "parent": 2, "function": "g", "rule": "main"}],
            "rule main belongs to function main in this tree",
        ),
    ],
)
def test_a_part_that_does_not_fit_cannot_be_expanded(
    written: Written, part: list[Any] | None, problem: str
) -> None:
    path = written({"id": 1, "function": "main"}, stub(implicit={"file": "2.jsonl"}))
    if part is not None:
        written(*part, name="2.jsonl")
    tree = open_tree(path)
    with pytest.raises(CannotExpand, match=problem):
        tree.expand(1, 1)
    assert tree.call(1).left() == "f()"


def test_calls_that_were_not_written_down_cannot_be_expanded(written: Written) -> None:
    tree = open_tree(written({"id": 1, **F}, stub(implicit=True)))
    with pytest.raises(CannotExpand, match="names no file that holds them"):
        tree.expand(1, 1)
    with pytest.raises(CannotExpand, match="already expanded"):
        tree.expand(0, 1)


def test_a_link_that_leads_out_of_the_directory_is_not_followed(
    written: Written, tmp_path: Path
) -> None:
    written({"id": 2, **F}, name="elsewhere/2.jsonl")
    path = written({"id": 1, **F}, stub(implicit={"file": "2.jsonl"}), name="here/tree.jsonl")
    (tmp_path / "here" / "2.jsonl").symlink_to("../elsewhere/2.jsonl")
    with pytest.raises(CannotExpand, match="leads out of"):
        open_tree(path).expand(1, 1)


def test_a_link_inside_the_directory_is_followed(written: Written, tmp_path: Path) -> None:
    written({"id": 2, **F}, name="parts/2.jsonl")
    path = written({"id": 1, **F}, stub(implicit={"file": "2.jsonl"}))
    (tmp_path / "2.jsonl").symlink_to("parts/2.jsonl")
    assert not open_tree(path).expand(1, 1).columns.implicit.any()


def test_a_link_to_itself_is_reported(written: Written, tmp_path: Path) -> None:
    path = written({"id": 1, **F}, stub(implicit={"file": "2.jsonl"}))
    (tmp_path / "2.jsonl").symlink_to("2.jsonl")
    with pytest.raises(CannotExpand):
        open_tree(path).expand(1, 1)


# --- origins -------------------------------------------------------------------------------------


def test_origins_are_read_for_a_call(written: Written) -> None:
    origin = {"part": "result[1]", "node": 17, "through": [16, 4], "x-sure": True}
    tree = open_tree(written({"id": 1, **F, "origins": [origin]}, {"id": 2, "parent": 1, **F}))
    assert origins_of(tree, 0) == [origin]
    assert origins_of(tree, 1) == []


@pytest.mark.parametrize(
    "origins",
    [
        3,
        [3],
        [{}],
        [{"part": "result", "node": "17"}],
        [{"part": "result", "node": -17}],
        [{"part": "result", "through": 3}],
        [{"part": "result", "influenced_by": [1, True]}],
        [{"part": "result", "file": 3}],
        [{"part": "result", "file": "a", "line": "3"}],
        [{"part": "result", "expression": 3}],
    ],
)
def test_malformed_origins_are_reported(written: Written, origins: Any) -> None:
    tree = open_tree(written({"id": 1, **F, "origins": origins}))
    with pytest.raises(TreeFormatError) as caught:
        origins_of(tree, 0)
    assert caught.value.line == 2


# --- writing -------------------------------------------------------------------------------------


def test_a_written_tree_is_read_back_equal(tmp_path: Path) -> None:
    tree = open_tree(SQRTEST)
    write_tree(tmp_path / "copy.jsonl", tree)
    copy = open_tree(tmp_path / "copy.jsonl")
    assert copy.columns.parent.tolist() == tree.columns.parent.tolist()
    for position in range(27):
        assert copy.call(position) == tree.call(position)
        assert copy.id(position) == tree.id(position)
        assert origins_of(copy, position) == origins_of(tree, position)
    assert (tmp_path / "copy.jsonl").read_text().splitlines()[0] == SQRTEST.read_text().split("\n")[
        0
    ]


def test_a_tree_may_be_written_over_the_file_that_it_is_in(written: Written) -> None:
    path = written({"id": 1, "function": "f", "returned": "é"}, {"id": 2, "parent": 1, **F})
    write_tree(path, open_tree(path))
    assert open_tree(path).call(0).equation() == "f() → é"


def test_a_tree_is_written_to_a_stream(written: Written) -> None:
    tree = open_tree(
        written({"id": 1, **F}, stub(implicit={"file": "2.jsonl"}), {"id": 3, "parent": 1, **F})
    )
    stream = io.StringIO()
    write_tree(
        stream, tree, lambda position: [{"part": "result", "node": 3}] if position == 0 else []
    )
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"whence": "tree", "version": 1},
        {"id": 1, "parent": None, **F, "origins": [{"part": "result", "node": 3}]},
        {"id": 2, "parent": 1, **F, "implicit": True, "subtree_weight": 9},
        {"id": 3, "parent": 1, **F},
    ]


def test_what_an_encoding_lacks_is_written_as_an_escape(written: Written) -> None:
    tree = open_tree(written({"id": 1, "function": "f", "returned": "→"}))
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1")
    write_tree(stream, tree)
    stream.flush()
    assert rb'"\u2192"' in raw.getvalue()


def test_a_tree_that_cannot_be_written_leaves_nothing_behind(
    written: Written, tmp_path: Path
) -> None:
    path = written({"id": 1, **F}, {"id": 2, "parent": 1, **F, "args": 3})
    with pytest.raises(TreeFormatError):
        write_tree(tmp_path / "copy.jsonl", open_tree(path))
    with pytest.raises(WhenceError, match="cannot be written"):
        write_tree(tmp_path / "none" / "copy.jsonl", open_tree(SQRTEST))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["tree.jsonl"]


def test_only_what_says_more_than_a_name_is_defined() -> None:
    place = Location("a.py", 3)
    functions = [Function("f"), Function("g", location=place), Function("h", location=place)]
    rules = [Rule("f", "f"), Rule("g", "g", place), Rule("h", "h")]
    calls = [
        decode_call({}, function, rule) for function, rule in zip(functions, rules, strict=True)
    ]
    tree = tree_of([Node(n, 0 if n else None, call) for n, call in enumerate(calls)])
    stream = io.StringIO()
    write_tree(stream, tree)
    defined = [json.loads(line) for line in stream.getvalue().splitlines() if "define" in line]
    assert defined == [
        {"define": "function", "name": "g", "file": "a.py", "line": 3},
        {"define": "function", "name": "h", "file": "a.py", "line": 3},
        {"define": "rule", "name": "h", "function": "h"},
    ]


# --- the manual ----------------------------------------------------------------------------------


def test_the_tree_in_the_manual_is_one(tmp_path: Path) -> None:
    manual = (ROOT / "docs" / "tree-format.md").read_text("utf-8")
    path = tmp_path / "manual.jsonl"
    path.write_text(manual.split("```")[1].strip(), encoding="utf-8")
    tree = open_tree(path)
    assert [tree.call(position).equation() for position in range(3)] == [
        "main() → [6, 2]",
        "sum1(x=3) → 6",
        "sum2(x=3) → 2",
    ]
    assert tree.call(2).where() == Location("sums.hs", 3)


def test_the_origin_in_the_manual_is_one(written: Written) -> None:
    manual = (ROOT / "docs" / "tree-format.md").read_text("utf-8")
    (line,) = [each.strip("`") for each in manual.splitlines() if each.startswith('`"origins"')]
    record = json.loads("{" + line + "}")
    assert origins_of(open_tree(written({"id": 1, **F, **record})), 0) == record["origins"]


# --- the example ---------------------------------------------------------------------------------


def test_the_example_is_the_tree_of_the_paper() -> None:
    paper = json.loads((PAPER / "tree_sqrtest.json").read_text("utf-8"))
    tree = open_tree(SQRTEST)
    for position, node in enumerate(paper["nodes"]):
        call = tree.call(position)
        parent = int(tree.columns.parent[position])
        assert tree.id(position) == node["id"]
        assert (None if parent < 0 else tree.id(parent)) == node["parent"]
        assert (call.function.name, call.rule.name) == (node["function"], node["rule"])
        assert tree.columns.weight[position] == paper["subtree_weight"][str(node["id"])]
        assert _as_haskell(call.equation()) == _as_haskell(node["equation"])


def _as_haskell(equation: str) -> str:
    """An equation without what the two notations do differently."""
    for name in ("x=", "y=", "→", "=", "(", ")", ",", " "):
        equation = equation.replace(name, "")
    return equation


def test_the_example_has_the_duplicates_of_the_paper() -> None:
    paper = json.loads((PAPER / "tree_sqrtest.json").read_text("utf-8"))
    tree = open_tree(SQRTEST)
    digests = tree.columns.equation.tolist()
    groups: dict[int, list[int]] = {}
    for position, digest in enumerate(digests):
        groups.setdefault(digest, []).append(tree.id(position))
    assert [each for each in groups.values() if len(each) > 1] == paper["duplicate_equations"]


def test_the_example_names_lines_of_its_program() -> None:
    paper = json.loads((PAPER / "tree_sqrtest.json").read_text("utf-8"))
    program = (ROOT / "examples" / "sqrtest.hs").read_text("utf-8").splitlines()
    assert program == paper["program"]
    sources = {each["rule"]: each["source"] for each in paper["rules"]}
    for rule in open_tree(SQRTEST).rules:
        assert rule.location is not None
        assert rule.location.file == "examples/sqrtest.hs"
        line = program[(rule.location.line or 0) - 1]
        assert rule.source == sources[rule.name]
        assert rule.source.endswith(line.strip())


def test_the_example_has_the_origins_of_the_paper() -> None:
    slices = json.loads((PAPER / "art_slicing.json").read_text("utf-8"))
    tree = open_tree(SQRTEST)
    (first,) = origins_of(tree, tree.position(3))
    (second,) = origins_of(tree, tree.position(20))
    assert (first["node"], first["through"]) == (17, [16, 4, 2])
    assert (second["node"], second["through"]) == (23, [])
    key = "user_nodes_in_execution_tree_slice"
    assert first["influenced_by"] == slices["select_8_in_question_3"][key]
    assert second["influenced_by"] == slices["select_2_in_question_20"][key]
    program = (ROOT / "examples" / "sqrtest.hs").read_text("utf-8").splitlines()
    for node, origin, value in ((3, first, "8"), (20, second, "2")):
        part = find_mark(tree.call(tree.position(node)), origin["part"], input_side=node == 3)
        assert part.value.text == value
        assert origin["expression"] in program[origin["line"] - 1]
