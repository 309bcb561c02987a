"""Laws of the tree format: what is written is read back, and no bytes make the reader stumble."""

import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from whence.errors import CannotExpand, TreeFormatError
from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Location,
    Outcome,
    OutcomeKind,
    Rule,
)
from whence.model.value import Kind, Value
from whence.tree import tree_index
from whence.tree.codec import decode_call, decode_value, encode_call, encode_value
from whence.tree.column_tree import ColumnTree, Node, tree_of
from whence.tree.tree_file import open_tree, origins_of, write_tree

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "docs" / "tree-format.schema.json").read_text("utf-8"))
)
SQRTEST = (Path(__file__).parents[2] / "examples" / "sqrtest.jsonl").read_bytes()

# --- random calls --------------------------------------------------------------------------------

# No surrogates: they can be written but are read back spelt out.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.from_regex(r"[a-z_][a-z0-9_.]{0,6}", fullmatch=True)
identities = st.none() | st.integers(0, 2**70)
omissions = st.integers(0, 5)
places = st.builds(
    Location, texts, st.none() | st.integers(0, 9999), st.none() | st.integers(0, 200)
)


@st.composite
def compounds(draw: st.DrawFn, parts: st.SearchStrategy[Value]) -> Value:
    inner = draw(st.lists(parts, max_size=4))
    kind = draw(
        st.sampled_from([Kind.LIST, Kind.TUPLE, Kind.SET, Kind.DICT, Kind.OBJECT, Kind.TERM])
    )
    count = len(inner)
    if kind is Kind.DICT:
        keys = draw(st.lists(texts, min_size=count, max_size=count, unique=True))
        steps = [f"[{key}]" for key in keys]
    elif kind is Kind.OBJECT:
        keys = draw(st.lists(names, min_size=count, max_size=count, unique=True))
        steps = [f".{key}" for key in keys]
    else:
        first = draw(st.sampled_from([0, 0, 1]))
        steps = [f"[{number + first}]" for number in range(count)]
    text = draw(names) if kind in (Kind.OBJECT, Kind.TERM) else ""
    together = tuple(zip(steps, inner, strict=True))
    return Value(kind, text, together, draw(omissions), draw(identities))


values = st.recursive(
    st.builds(Value, st.just(Kind.ATOM), texts, identity=identities)
    | st.builds(Value, st.just(Kind.SHARED), identity=st.integers(0, 99)),
    compounds,
    max_leaves=12,
)
outcomes = st.one_of(
    st.builds(Outcome, st.just(OutcomeKind.RETURNED), st.none() | values),
    st.builds(
        Outcome, st.just(OutcomeKind.RETURNED), values, st.lists(values, max_size=2).map(tuple)
    ),
    st.builds(
        Outcome,
        st.just(OutcomeKind.RAISED),
        st.none() | values,
        st.lists(values, max_size=2).map(tuple),
        st.none() | places,
    ),
    st.builds(
        Outcome, st.just(OutcomeKind.YIELDED), st.none(), st.lists(values, max_size=2).map(tuple)
    ),
    st.builds(
        Outcome,
        st.just(OutcomeKind.NOT_TERMINATED),
        st.none() | texts.filter(bool).map(lambda text: Value(Kind.ATOM, text)),
    ),
)


def bindings(keys: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[Binding, ...]]:
    return st.lists(st.builds(Binding, keys, values), max_size=3, unique_by=lambda b: b.name).map(
        tuple
    )


def _function(name: str, place: Location | None, trusted: bool) -> Function:
    return Function(f"m.{name}", name, "m", place, trusted)


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[Function, Rule]]:
    """Functions with a rule or two, some of them plain."""
    found: list[tuple[Function, Rule]] = []
    for number in range(draw(st.integers(1, 4))):
        function = draw(
            st.sampled_from([Function(f"f{number}")])
            | st.builds(_function, st.just(f"f{number}"), st.none() | places, st.booleans())
        )
        found.append((function, Rule(function.name, function.name, function.location)))
        found.append((function, Rule(f"{function.name}.2", function.name, None, draw(texts))))
    return found


def calls(table: list[tuple[Function, Rule]]) -> st.SearchStrategy[Call]:
    return st.sampled_from(table).flatmap(
        lambda pair: st.builds(
            Call,
            st.just(pair[0]),
            st.just(pair[1]),
            outcomes,
            bindings(names)
            | st.lists(st.builds(Binding, st.just(""), values), max_size=3).map(tuple),
            bindings(names),
            st.lists(
                st.builds(Effect, texts, st.none() | values, st.none() | values), max_size=2
            ).map(tuple),
            texts,
            st.none() | places,
            texts,
        )
    )


@given(values)
def test_any_value_is_decoded_as_it_was_encoded(value: Value) -> None:
    assert decode_value(json.loads(json.dumps(encode_value(value)))) == value


@given(tables().flatmap(calls))
def test_any_call_is_decoded_as_it_was_encoded(call: Call) -> None:
    record = json.loads(json.dumps(encode_call(call)))
    assert decode_call(record, call.function, call.rule) == call


# --- random trees --------------------------------------------------------------------------------

weights = st.sampled_from([0.0, 1.0, 1.0, 1.0, 2.0, 0.5, 1e15])


@st.composite
def trees(draw: st.DrawFn, simple: bool = False) -> list[Node]:
    """Calls in preorder, with ids in any order; some leaves are implicit unless simple."""
    count = draw(st.integers(1, 12))
    ids = draw(
        st.just(list(range(count)))
        | st.lists(st.integers(0, 2**63 - 1), min_size=count, max_size=count, unique=True)
    )
    table = draw(tables())
    few = draw(st.lists(calls(table), min_size=1, max_size=4))
    parents = _preorder_parents([draw(st.integers(0, 3)) for _ in range(count)])
    nodes = []
    for number, parent in enumerate(parents):
        leaf = number not in parents
        nodes.append(
            Node(
                ids[number],
                None if parent is None else ids[parent],
                few[draw(st.integers(0, len(few) - 1))],
                draw(weights),
                implicit=leaf and not simple and draw(st.booleans()),
            )
        )
    return nodes


def _preorder_parents(closings: list[int]) -> list[int | None]:
    """Parents of calls of which each is made after so many of the open ones have ended."""
    parents: list[int | None] = [None]
    open_calls = [0]
    for number, closing in enumerate(closings[1:], 1):
        del open_calls[max(1, len(open_calls) - closing) :]
        parents.append(open_calls[-1])
        open_calls.append(number)
    return parents


def text_of(tree: ColumnTree) -> list[str]:
    stream = io.StringIO()
    write_tree(stream, tree)
    return stream.getvalue().split("\n")[:-1]


@contextmanager
def directory() -> Iterator[Path]:
    """A directory for files and indexes; pytest's own is shared by all examples of a test."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = name
        try:
            yield Path(name)
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before


def assert_equal(one: ColumnTree, other: ColumnTree) -> None:
    """Equal but for the numbers of functions and rules."""
    assert len(one.columns) == len(other.columns)
    same = "parent", "end", "depth", "outcome", "own", "weight", "equation", "effort", "implicit"
    for name in same:
        np.testing.assert_array_equal(getattr(one.columns, name), getattr(other.columns, name))
    for position in range(len(one.columns)):
        assert one.id(position) == other.id(position)
        assert one.call(position) == other.call(position)
        assert one.position(one.id(position)) == position


@given(trees(), st.sampled_from(["preorder", "postorder", "any"]), st.data())
def test_a_tree_is_read_back_from_lines_in_any_order(
    nodes: list[Node], order: str, data: st.DataObject
) -> None:
    tree = tree_of(nodes)
    lines = text_of(tree)
    first = len(lines) - len(nodes)
    numbers = list(range(len(nodes)))
    if order == "postorder":
        numbers = _postorder(tree)
    elif order == "any":
        numbers = _with_siblings_in_order(tree, data.draw(st.permutations(numbers)))
    with directory() as here:
        path = here / "tree.jsonl"
        shuffled = lines[:first] + [lines[first + number] for number in numbers]
        path.write_text("".join(line + "\n" for line in shuffled), encoding="utf-8")
        assert_equal(open_tree(path), tree)


def _postorder(tree: ColumnTree) -> list[int]:
    end = tree.columns.end
    return sorted(range(len(end)), key=lambda position: (end[position], -position))


def _with_siblings_in_order(tree: ColumnTree, numbers: list[int]) -> list[int]:
    """The permutation with the calls of one caller put in order among their places."""
    siblings: dict[int, list[int]] = {}
    for position, parent in enumerate(tree.columns.parent.tolist()):
        siblings.setdefault(parent, []).append(position)
    left = {parent: iter(group) for parent, group in siblings.items()}
    return [next(left[int(tree.columns.parent[number])]) for number in numbers]


@given(trees())
def test_every_written_line_is_valid_by_the_schema(nodes: list[Node]) -> None:
    for line in text_of(tree_of(nodes)):
        SCHEMA.validate(json.loads(line))


def test_every_line_of_the_example_is_valid_by_the_schema() -> None:
    for line in SQRTEST.splitlines():
        SCHEMA.validate(json.loads(line))


@given(trees())
def test_a_tree_from_its_index_equals_the_tree_that_was_read(nodes: list[Node]) -> None:
    with directory() as here:
        path = here / "tree.jsonl"
        write_tree(path, tree_of(nodes))
        direct = open_tree(path)
        (source,) = direct.sources
        with path.open("rb") as file:
            stamp = tree_index.stamp_of(file)
        assert tree_index.load(path, stamp, source) is None
        assert tree_index.save(path, stamp, direct)
        kept = tree_index.load(path, stamp, source)
        assert kept is not None
        assert_equal(kept, direct)
        assert (kept.functions, kept.rules) == (direct.functions, direct.rules)


@given(trees(simple=True), st.data())
def test_a_tree_in_parts_is_expanded_to_the_whole_tree(
    nodes: list[Node], data: st.DataObject
) -> None:
    whole = tree_of(nodes)
    cuts = data.draw(st.sets(st.integers(1, max(1, len(nodes) - 1)), max_size=4))
    with directory() as here:
        _write_in_parts(here, whole, {cut for cut in cuts if cut < len(nodes)})
        tree = open_tree(here / "0.jsonl")
        while tree.columns.implicit.any():
            implicit = np.flatnonzero(tree.columns.implicit).tolist()
            tree = tree.expand(data.draw(st.sampled_from(implicit)), 1)
        assert_equal(tree, whole)


def _write_in_parts(here: Path, whole: ColumnTree, cuts: set[int]) -> None:
    """Each call that is cut off, and the root, in a file of its own with what is below it."""
    lines = text_of(whole)
    first = len(lines) - len(whole.columns)
    columns = whole.columns
    for root in {0, *cuts}:
        part = lines[:first]
        position = root
        while position < columns.end[root]:
            record = json.loads(lines[first + position])
            if position == root:
                record["parent"] = None
            elif position in cuts:
                record["implicit"] = {"file": f"{position}.jsonl"}
                record["subtree_weight"] = float(min(columns.weight[position], 1e15))
            part.append(json.dumps(record))
            cut = position in cuts and position != root
            position = int(columns.end[position]) if cut else position + 1
        (here / f"{root}.jsonl").write_text("\n".join(part) + "\n", encoding="utf-8")


# --- damage --------------------------------------------------------------------------------------

_SPLICES = [
    b"",
    b"\n",
    b"\0",
    b"\xff",
    b"{",
    b"}",
    b'"',
    b"null",
    b"-1",
    b"1e999",
    b"NaN",
    b"[" * 5000,
    b"9" * 5000,
    b"\xef\xbb\xbf",
    b"\\ud800",
    b'{"id": 1, "function": "f"}\n',
    b'"implicit": {"file": "tree.jsonl"}, "subtree_weight": 3, ',
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The example, cut off, with other bytes in some places, or with lines moved about."""
    content = SQRTEST
    for _ in range(draw(st.integers(1, 3))):
        how = draw(st.sampled_from(["cut", "splice", "swap", "byte"]))
        at = draw(st.integers(0, len(content)))
        if how == "cut":
            content = content[:at]
        elif how == "splice":
            until = at + draw(st.integers(0, 40))
            content = content[:at] + draw(st.sampled_from(_SPLICES)) + content[until:]
        elif how == "swap":
            lines = content.splitlines(keepends=True)
            content = b"".join(draw(st.permutations(lines)))
        else:
            content = content[:at] + draw(st.binary(min_size=1, max_size=2)) + content[at + 1 :]
    return content


@given(damaged() | st.binary(max_size=200))
@example(b'{"whence": "tree", "version": 1}\n{"id": 1, "function": "f", "rule": ["f"]}\n')
@example(b'{"whence": "tree", "version": 1, "\\ud800": "\\udc00"}\n')
def test_any_bytes_are_a_tree_or_a_format_error(content: bytes) -> None:
    _read(content)


def _read(content: bytes) -> None:
    """Read a file and all that is in it; only what the format's manual announces may be raised."""
    with directory() as here:
        path = here / "tree.jsonl"
        path.write_bytes(content)
        try:
            tree = open_tree(path)
        except TreeFormatError as error:
            assert str(error).startswith(str(path))
            return
        for position in range(len(tree.columns)):
            _look_at(tree, position)


def _look_at(tree: ColumnTree, position: int) -> None:
    with suppress(TreeFormatError):
        tree.call(position).equation()
    with suppress(TreeFormatError):
        origins_of(tree, position)
    with suppress(CannotExpand):
        tree.expand(position, 1)


_INNER_KEYS = [
    *("list", "tuple", "dict", "object", "fields", "term", "args", "text", "same", "more", "id"),
    *("steps", "error", "at", "file", "line", "target", "part", "node", "through"),
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_INNER_KEYS), inner, max_size=3)
    ),
    max_leaves=8,
)
_KEYS = [
    *("define", "name", "qualname", "module", "file", "line", "trusted", "source"),
    *("id", "parent", "function", "rule", "args", "reads", "returned", "raised", "yielded"),
    *("not_terminated", "effects", "printed", "at", "equation", "weight", "implicit"),
    *("subtree_weight", "origins", "whence", "version"),
]


@given(st.lists(st.dictionaries(st.sampled_from(_KEYS), json_values, max_size=6), max_size=4))
def test_any_values_under_any_keys_are_a_tree_or_a_format_error(lines: list[Any]) -> None:
    header = {"whence": "tree", "version": 1}
    root = {"id": 1, "function": "f"}
    nodes = [
        {"id": number, "parent": 1, "function": "f", **line}
        for number, line in enumerate(lines, 2)
        if "define" not in line
    ]
    definitions = [line for line in lines if "define" in line]
    text = "".join(json.dumps(each) + "\n" for each in [header, *definitions, root, *nodes])
    _read(text.encode())
