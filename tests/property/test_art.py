"""Laws of Augmented Redex Trails, their slices and origins, on programs and graphs of any shape."""

import contextlib
import copy
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from art_definitions import (
    Pattern,
    ancestors,
    chop,
    collect,
    execution_tree_slice,
    pat_nodes,
    slice_of,
    weakly_influences,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from lazy_language import Alternative, Expr, Let, Machine, OutOfFuel, Program, call

from whence.errors import WhenceError
from whence.model.call import MarkedPart, find_mark, roots
from whence.model.value import Kind, Value, show
from whence.redex_trail.art import (
    Application,
    Art,
    Atom,
    Expression,
    Indirection,
    NotAnArt,
    Term,
)
from whence.redex_trail.art_file import decode_art, read_art
from whence.redex_trail.art_provenance import ArtProvenance
from whence.redex_trail.art_slice import influencing
from whence.redex_trail.art_tree import execution_tree
from whence.redex_trail.art_value import ArtValues, value_text
from whence.search.four_sets import four_sets

EXAMPLE = Path(__file__).parents[2] / "examples" / "sqrtest.art.json"
FUEL = 60


# --- random programs ---------------------------------------------------------------------------

PATTERNS: list[tuple[Expr, list[str]]] = [
    ("x", ["x"]),
    (call(":", "x", "y"), ["x", "y"]),
    (call("T2", "x", "y"), ["x", "y"]),
    ("[]", []),
    ("0", []),
]


@st.composite
def bodies(
    draw: st.DrawFn, names: list[str], functions: dict[str, int], lets: bool, depth: int = 3
) -> Expr:
    """An expression over variables and functions, typed or not."""
    kinds = ["name", "number", "nil"]
    if depth > 0:
        kinds += ["call", "call", "call", "apply", "data", "sum", "if"] + ["let"] * (2 * lets)
    kind = draw(st.sampled_from(kinds))

    def below(more: list[str] | None = None) -> Expr:
        return draw(bodies(names + (more or []), functions, lets, depth - 1))

    if kind == "call" and functions:
        name = draw(st.sampled_from(sorted(functions)))
        count = draw(st.integers(min_value=0, max_value=functions[name]) | st.just(functions[name]))
        return call(name, *(below() for _ in range(count)))
    if kind == "apply" and names:
        return call(draw(st.sampled_from(names)), below())
    if kind == "data":
        return call(draw(st.sampled_from([":", "T2"])), below(), below())
    if kind == "sum":
        return call(draw(st.sampled_from(["+", "-", "==", "&&"])), below(), below())
    if kind == "if":
        return call("if", below(), below(), below())
    if kind == "let":
        fresh = f"v{depth}"
        return Let(fresh, below(), below([fresh, fresh]))
    if kind == "name" and names:
        return draw(st.sampled_from(names))
    return "[]" if kind == "nil" else draw(st.sampled_from(["0", "1", "2"]))


@st.composite
def programs(draw: st.DrawFn, lets: bool = True) -> Program:
    """A program without recursion: each function calls only those after it."""
    program: Program = {}
    later: dict[str, int] = {}
    for number in reversed(range(draw(st.integers(min_value=1, max_value=4)))):
        arity = draw(st.integers(min_value=1, max_value=2))
        alternatives = []
        for _ in range(draw(st.integers(min_value=1, max_value=2))):
            patterns, names = [], []
            for place in range(arity):
                pattern, bound = draw(st.sampled_from(PATTERNS))
                patterns.append(_renamed(pattern, place))
                names += [f"{name}{place}" for name in bound]
            body = draw(bodies(names, later, lets))
            alternatives.append(Alternative(tuple(patterns), None, body))
        program[f"f{number}"] = alternatives
        later[f"f{number}"] = arity
    program["main"] = [Alternative((), None, draw(bodies([], later, lets)))]
    return program


def _renamed(pattern: Expr, place: int) -> Expr:
    if isinstance(pattern, tuple):
        return (_renamed(pattern[0], place), _renamed(pattern[1], place))
    return f"{pattern}{place}" if pattern in ("x", "y") else pattern


def finished(program: Program, replaced: dict[str, str] | None = None) -> Machine:
    machine = Machine(program, FUEL, replaced or {})
    machine.instance("main", "t", {})
    try:
        machine.force("t")
    except OutOfFuel:
        assume(False)
    return machine


@st.composite
def unfinished_runs(draw: st.DrawFn, lets: bool = True) -> Art:
    """The graph of a run that may have been stopped."""
    machine = Machine(draw(programs(lets=lets)), draw(st.integers(min_value=1, max_value=FUEL)))
    machine.instance("main", "t", {})
    with contextlib.suppress(OutOfFuel):
        machine.force("t")
    return machine.art()


# --- random graphs -----------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> Art:
    """A graph of any shape that the invariant allows, whatever it may mean."""
    nodes: dict[str, Expression] = {}
    waiting = ["t"]
    while waiting:
        node = waiting.pop()
        room = len(nodes) + len(waiting) < 30
        kind = draw(st.sampled_from(["atom", "app", "app", "ind"] if room else ["atom", "ind"]))
        others = sorted(nodes)
        if kind == "app":
            sides = [node + "l", node + "r"]
            for index in (0, 1):
                if others and draw(st.integers(min_value=0, max_value=3)) == 0:
                    sides[index] = draw(st.sampled_from(others))
                else:
                    waiting.append(sides[index])
            nodes[node] = Application(*sides)
        elif kind == "ind" and others:
            nodes[node] = Indirection(draw(st.sampled_from(others)))
        else:
            nodes[node] = Atom(draw(st.sampled_from(["f", "g", ":", "[]", "T2", "1", "+"])))
        if room and not isinstance(nodes[node], Indirection) and draw(st.booleans()):
            waiting.append(node + "t")
    try:
        return Art(nodes)
    except NotAnArt as error:
        assert error.problem == "its value contains itself"
        assume(False)
        raise


any_art = graphs() | unfinished_runs()


@st.composite
def criteria(draw: st.DrawFn, arts: st.SearchStrategy[Art] = any_art) -> tuple[Art, str, str]:
    art = draw(arts)
    n = draw(st.sampled_from(sorted(art.nodes)))
    return art, n[: draw(st.integers(min_value=1, max_value=len(n)))], n


# --- slices ------------------------------------------------------------------------------------


@given(criteria())
def test_the_repaired_figure_3_gives_the_chop_of_the_definition(case: tuple[Art, str, str]) -> None:
    art, m, n = case
    by_definition = chop(art, m, n)
    assert collect(art, m, n) == by_definition
    assert collect(art, m, n, as_printed=True) <= by_definition


@given(criteria())
def test_slices_are_prefix_closed(case: tuple[Art, str, str]) -> None:
    art, _, n = case
    found = slice_of(art, n)
    assert all(node == "t" or node[:-1] in found for node in found)


@given(criteria())
def test_a_slice_is_the_chop_from_the_start_node(case: tuple[Art, str, str]) -> None:
    art, _, n = case
    assert slice_of(art, n) == chop(art, "t", n)


@given(any_art, st.data())
def test_weak_influence_is_reflexive_and_transitive(art: Art, data: st.DataObject) -> None:
    one = st.sampled_from(sorted(art.nodes))
    first, second, third = data.draw(one), data.draw(one), data.draw(one)
    assert weakly_influences(first, first)
    if weakly_influences(first, second) and weakly_influences(second, third):
        assert weakly_influences(first, third)


@given(criteria())
def test_the_slice_of_an_execution_tree_is_within_the_chop_and_not_empty(
    case: tuple[Art, str, str],
) -> None:
    art, m, n = case
    m = "t" if m[-1] != "t" else m
    found = execution_tree_slice(art, m, n)
    base = m if m == "t" else m[:-1]
    assert base in found
    assert found - {base} <= {each for each in chop(art, m, n) if art.reduced(each)}


@given(criteria())
def test_what_whence_searches_contains_the_papers_slice(case: tuple[Art, str, str]) -> None:
    art, m, n = case
    m = "t" if m[-1] != "t" else m
    papers = {each for each in execution_tree_slice(art, m, n) if art.reduced(each)}
    assert influencing(art, m, [n], []) >= papers


@given(criteria(unfinished_runs(lets=False)))
def test_without_let_it_is_the_papers_slice(case: tuple[Art, str, str]) -> None:
    art, m, n = case
    m = "t" if m[-1] != "t" else m
    papers = {each for each in execution_tree_slice(art, m, n) if art.reduced(each)}
    assert influencing(art, m, [n], []) == papers


# --- marks -------------------------------------------------------------------------------------


@st.composite
def marks(draw: st.DrawFn, provenance: ArtProvenance) -> tuple[int, MarkedPart]:
    tree = provenance.art_tree.tree
    position = draw(st.integers(min_value=0, max_value=len(tree.columns) - 1))
    call = tree.call(position)
    root = draw(st.sampled_from(roots(call)))
    whole = find_mark(call, root, input_side=True)
    steps = [steps for steps, part in whole.value.paths(200) if part.text != "…"]
    path = root + "".join(draw(st.sampled_from(steps)))
    return tree.id(position), find_mark(call, path, input_side=True)


@given(programs())
def test_no_call_outside_the_influence_can_change_the_marked_part(program: Program) -> None:
    """The law behind `complete`: replace a call's result, and the marked part stays the same."""
    machine = finished(program)
    art = machine.art()
    try:
        provenance = ArtProvenance(execution_tree(art))
    except WhenceError:
        assume(False)
    redexes = [each for each in art.nodes if art.reduced(each)]
    for node, part in every_mark(provenance):
        redex = provenance.art_tree.art_node[node]
        found = provenance.find(node, part)
        assert not isinstance(found, str)
        whole, same = evaluated_part(machine, redex, part)
        if whole != art.val(place_of(machine, redex, part)):
            continue  # what was not evaluated in the run is not shown either
        assert same == art.val(found.node)
        inside = influencing(art, found.m, found.met, [found.node])
        for outside in redexes:
            if outside.startswith(found.m) and outside not in inside:
                changed = Machine(program, 10 * FUEL, {outside: "changed"})
                changed.instance("main", "t", {})
                assert evaluated_part(changed, redex, part)[1] == same, (node, part, outside)


def every_mark(provenance: ArtProvenance) -> Iterator[tuple[int, MarkedPart]]:
    tree = provenance.art_tree.tree
    for position in range(len(tree.columns)):
        call = tree.call(position)
        for root in roots(call):
            for steps, _ in find_mark(call, root, input_side=True).value.paths(8):
                path = root + "".join(steps)
                yield tree.id(position), find_mark(call, path, input_side=True)


def evaluated_part(machine: Machine, redex: str, part: MarkedPart) -> tuple[Term, Term | None]:
    """The marked root of a call and the marked part of it, evaluated fully."""
    for above in reversed(ancestors(redex)[:-1]):
        machine.reduce(above)
    place = root = place_of(machine, redex, part)
    machine.force(root)
    art = machine.art()
    values = ArtValues(art)
    for step in part.mark.steps:
        way = values.part(place, step)
        if way is None:
            return art.val(root), None
        place = way[1]
    return art.val(root), art.val(place)


def place_of(machine: Machine, redex: str, part: MarkedPart) -> str:
    """The node that the marked argument or result of a redex starts from."""
    expression = machine.nodes[redex]
    if not part.is_input:
        return redex
    assert isinstance(expression, Application)
    machine.head(expression.left)
    return machine.spine(redex)[1][part.position]


@given(unfinished_runs(), st.data())
def test_origins_chains_and_sets_are_of_the_tree_and_divide_it(
    art: Art, data: st.DataObject
) -> None:
    provenance = ArtProvenance(execution_tree(art))
    tree = provenance.art_tree.tree
    node, part = data.draw(marks(provenance))
    origin, influence = provenance.origin(node, part), provenance.influence(node, part)
    assert influence is not None and influence.complete
    assert (origin.node is None) == bool(origin.unknown)
    if origin.node is not None:
        assert origin.chain[:1] == (() if origin.node == node else (origin.node,))
        assert node not in origin.chain
        way = [*map(tree.position, origin.chain), tree.position(node)]
        for here, there in itertools.pairwise(way):
            parents = tree.columns.parent
            assert parents[here] == there or parents[there] == here
    assert origin.passed_through <= set(origin.chain)
    sets = four_sets(tree, origin, influence, node)
    ids = [sets.ids(tree, number) for number in (1, 2, 3, 4)]
    assert sum(map(len, ids)) == len(tree.columns)
    assert frozenset().union(*ids) == {tree.id(each) for each in range(len(tree.columns))}


@given(unfinished_runs(), st.data())
def test_a_marked_atom_is_at_the_node_that_its_pattern_finds(art: Art, data: st.DataObject) -> None:
    provenance = ArtProvenance(execution_tree(art))
    node, part = data.draw(marks(provenance))
    found = provenance.find(node, part)
    assert not isinstance(found, str)
    symbol = art.nodes[found.node]
    assume(isinstance(symbol, Atom) and part.value.kind is Kind.ATOM)
    assert isinstance(symbol, Atom)
    redex = provenance.art_tree.art_node[node]
    way = provenance.art_tree.values.argument(redex, part.position) if part.is_input else None
    place = redex if way is None else way[1]
    pattern = _pattern(art, place, found.node, symbol.symbol)
    assert found.node in pat_nodes(art, pattern, place)


def _pattern(art: Art, place: str, node: str, symbol: str) -> Pattern:
    """The pattern of a value that shows only the first occurrence of one node."""
    place = art.evaluated(place)
    if place == node:
        return symbol
    expression = art.nodes[place]
    if not isinstance(expression, Application):
        return None
    left = _pattern(art, expression.left, node, symbol)
    right = None if left is not None else _pattern(art, expression.right, node, symbol)
    return None if left is None and right is None else (left, right)


# --- trees and files ---------------------------------------------------------------------------


@given(any_art)
def test_every_graph_with_a_reduction_has_a_tree_that_can_be_asked_about(art: Art) -> None:
    for primitives in (False, True):
        try:
            tree = execution_tree(art, primitives=primitives).tree
        except WhenceError:
            assert not any(map(art.reduced, art.nodes)) or not primitives
            continue
        for position in range(len(tree.columns)):
            call = tree.call(position)
            assert call.equation()
            assert tree.position(tree.id(position)) == position


def encoded(art: Art) -> dict[str, Any]:
    items = []
    for node, expression in art.nodes.items():
        if isinstance(expression, Atom):
            item = {"node": node, "kind": "atom", "value": expression.symbol}
        elif isinstance(expression, Application):
            item = {"node": node, "kind": "app"}
            item |= {"left": expression.left, "right": expression.right}
        else:
            item = {"node": node, "kind": "ind", "to": expression.to}
        if node in art.rules:
            item["rule"] = art.rules[node]
        items.append(item)
    return {"schema": "art/1", "nodes": items}


@given(any_art)
def test_a_written_graph_is_read_back(art: Art) -> None:
    assert decode_art(json.loads(json.dumps(encoded(art)))) == art


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text("lrt._:[]", max_size=4)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


def explored(item: Any) -> None:
    """Read a graph and look at all of it: nothing but a `WhenceError` may come of it."""
    try:
        art = decode_art(item, "some.art.json")
        provenance = ArtProvenance(execution_tree(art))
    except WhenceError:
        return
    tree = provenance.art_tree.tree
    for position in range(len(tree.columns)):
        call = tree.call(position)
        for root in roots(call):
            part = find_mark(call, root, input_side=True)
            provenance.origin(tree.id(position), part)
            provenance.influence(tree.id(position), part)


@given(anything)
def test_json_that_is_no_graph_is_refused(item: Any) -> None:
    explored(item)
    explored({"schema": "art/1", "nodes": item})
    explored({"schema": "art/1", "nodes": [item]})


@given(any_art, st.data())
def test_a_damaged_graph_is_read_or_refused_and_never_crashes(
    art: Art, data: st.DataObject
) -> None:
    item = encoded(art)
    for _ in range(data.draw(st.integers(min_value=1, max_value=3))):
        nodes = item["nodes"]
        node = nodes[data.draw(st.integers(min_value=0, max_value=len(nodes) - 1))]
        key = data.draw(st.sampled_from(["node", "kind", "value", "left", "right", "to", "rule"]))
        names = st.sampled_from(sorted(art.nodes)) | st.text("lrt", max_size=6)
        action = data.draw(st.sampled_from(["set", "refer", "drop", "remove", "repeat"]))
        if action == "set":
            node[key] = data.draw(scalars | st.sampled_from(["app", "atom", "ind"]))
        elif action == "refer":
            node[key] = data.draw(names)
        elif action == "drop":
            node.pop(key, None)
        elif action == "remove" and len(nodes) > 1:
            nodes.remove(node)
        else:
            nodes.append(copy.deepcopy(node))
    explored(item)


@given(st.binary(max_size=60), st.integers(min_value=0, max_value=4_000))
def test_a_file_that_is_damaged_is_read_or_refused(
    tmp_path_factory: Any, junk: bytes, place: int
) -> None:
    path = tmp_path_factory.mktemp("art") / "damaged.art.json"
    whole = EXAMPLE.read_bytes()
    path.write_bytes(whole[:place] + junk + whole[place + len(junk) :])
    try:
        read_art(path)
    except WhenceError as error:
        assert str(path) in str(error)


values = st.recursive(
    st.sampled_from(["1", "-2", "x", "_"]).map(lambda text: Value(Kind.ATOM, text)),
    lambda inner: st.builds(
        lambda kind, parts: Value(
            kind,
            "Node" if kind is Kind.TERM else "",
            tuple((f"[{number}]", part) for number, part in enumerate(parts)),
        ),
        st.sampled_from([Kind.LIST, Kind.TUPLE, Kind.TERM]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


@given(values)
def test_every_value_can_be_written_in_the_programs_notation(value: Value) -> None:
    text = value_text(value)
    for steps, part in value.paths():
        assert value_text(part) in text, (steps, show(value))
