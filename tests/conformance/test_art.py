"""What Silva & Chitil 2006 and the appendix of Silva 2006 say of Augmented Redex Trails."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from art_definitions import (
    ancestors,
    chop,
    collect,
    criterion,
    execution_tree_slice,
    parse_pattern,
    pat_nodes,
)
from lazy_language import parse_expression, parse_program, run

from whence.model.call import find_mark
from whence.redex_trail.art import Application, Art, parent
from whence.redex_trail.art_file import decode_art, read_art
from whence.redex_trail.art_provenance import ArtProvenance
from whence.redex_trail.art_tree import ArtTree, execution_tree
from whence.redex_trail.art_value import ArtValues
from whence.search.four_sets import four_sets

DATA = Path(__file__).parent / "data"
GRAPHS = ["art_program.json", "art_sum2.json"]


def data(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def program() -> Art:
    return read_art(DATA / "art_program.json")


@pytest.fixture(scope="module")
def session(program: Art) -> ArtProvenance:
    return ArtProvenance(execution_tree(program))


def rows(tree: ArtTree) -> list[dict[str, Any]]:
    found = []
    for position, above in enumerate(tree.tree.columns.parent.tolist()):
        call, number = tree.tree.call(position), tree.tree.id(position)
        found.append(
            {
                "id": number,
                "parent": None if above < 0 else tree.tree.id(above),
                "art": tree.art_node[number],
                "function": call.function.name,
                "rule": call.rule.name,
                "equation": call.equation(),
                "primitive": call.function.trusted,
            }
        )
    return found


# --- the graph ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_has_the_parent_and_the_reduct_of_the_data(name: str) -> None:
    art = read_art(DATA / name)
    for node in data(name)["nodes"]:
        assert parent(node["node"]) == node["parent"]
        assert art.reduced(node["node"]) == ("reduct" in node)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_has_the_most_evaluated_form_of_the_data(name: str) -> None:
    values = ArtValues(read_art(DATA / name))
    for node in data(name)["nodes"]:
        assert values.text(node["node"]) == node["val"]


def test_the_program_has_the_printed_sizes(program: Art) -> None:
    expected = data("art_program.json")
    assert len(program.nodes) == expected["size"]
    assert sum(map(program.reduced, program.nodes)) == expected["reductions"]
    assert len(execution_tree(program).tree.columns) == expected["user_reductions"]


def test_running_the_papers_program_lazily_leaves_the_graph_of_the_data() -> None:
    for name in GRAPHS:
        expected = data(name)
        left = run(parse_program(expected["program"]), parse_expression(expected["start_term"]))
        read = read_art(DATA / name)
        assert left.nodes == read.nodes
        assert left.rules == read.rules


def test_ancestors_and_pat_nodes_of_sum2_are_those_of_the_paper() -> None:
    art, expected = read_art(DATA / "art_sum2.json"), data("art_sum2.json")["expected"]
    for node, above in expected["ancestors"].items():
        assert ancestors(node) == above
    for case in expected["patNodes"]:
        found = pat_nodes(art, parse_pattern(case["pattern"]), case["node"])
        assert found == set(case["result"])


def test_a_start_term_at_the_empty_name_loses_one_t_everywhere() -> None:
    item = data("art_sum2.json")
    moved = []
    for node in item["nodes"]:
        names = {key: node[key][1:] for key in ("node", "left", "right", "to") if key in node}
        kept = {key: node[key] for key in ("kind", "value", "rule") if key in node}
        moved.append({**names, **kept})
    art = decode_art({"schema": "art/1", "start_node": "", "nodes": moved})
    expected = item["start_at_empty_name"]["reduced_nodes"]
    assert sorted(filter(art.reduced, art.nodes)) == sorted(expected)
    there = rows(execution_tree(art, primitives=True))
    here = rows(execution_tree(read_art(DATA / "art_sum2.json"), primitives=True))
    assert [each["equation"] for each in there] == [each["equation"] for each in here]


# --- execution trees ---------------------------------------------------------------------------


def test_the_execution_tree_of_the_program_is_that_of_the_data(program: Art) -> None:
    expected = data("art_program.json")
    assert rows(execution_tree(program)) == expected["execution_tree"]
    with_primitives = execution_tree(program, primitives=True)
    assert rows(with_primitives) == expected["execution_tree_with_primitives"]


def test_the_execution_tree_of_sum2_is_that_of_the_data() -> None:
    tree = execution_tree(read_art(DATA / "art_sum2.json"), primitives=True)
    assert rows(tree) == data("art_sum2.json")["execution_tree"]


def test_each_rule_carries_its_source(program: Art) -> None:
    expected = {
        each["rule"].replace("listsum", "arrsum"): each["source"].replace("listsum", "arrsum")
        for each in data("tree_sqrtest.json")["rules"]
    }
    rules = execution_tree(program).tree.rules
    assert {rule.name: rule.source for rule in rules} == expected


# --- slices ------------------------------------------------------------------------------------


def test_the_slices_of_sum2_are_those_of_the_data() -> None:
    art = read_art(DATA / "art_sum2.json")
    for bounds, expected in data("art_sum2.json")["expected"]["slices"].items():
        m, n = re.findall(r"[lrt]+", bounds)
        assert chop(art, m, n) == set(expected["definition_5_3"])
        assert collect(art, m, n, as_printed=True) == set(expected["figure_3_as_printed"])
        assert collect(art, m, n) == set(expected["figure_3_repaired"])
        assert execution_tree_slice(art, m, n) == set(expected["execution_tree_version"])


@pytest.mark.parametrize("case", ["select_8_in_question_3", "select_2_in_question_20"])
def test_the_slices_of_the_program_are_those_of_the_data(program: Art, case: str) -> None:
    expected = data("art_slicing.json")[case]
    m, n = expected["criterion"]
    by_definition, printed = chop(program, m, n), collect(program, m, n, as_printed=True)
    repaired = collect(program, m, n)
    sizes = expected["chop_size"]
    assert ancestors(n) == expected["ancestors"]
    assert len(by_definition) == sizes["definition_5_3"]
    assert len(printed) == sizes["figure_3_as_printed"]
    assert len(repaired) == sizes["figure_3_repaired"]
    assert repaired - printed == set(expected["missing_in_printed_figure_3"])
    call_id = execution_tree(program).call_id
    asked = {call_id[each] for each in execution_tree_slice(program, m, n) if each in call_id}
    assert {call_id[each] for each in repaired if each in call_id} == set(
        expected["user_nodes_in_full_slice"]
    )
    assert asked == set(expected["user_nodes_in_execution_tree_slice"])
    assert set(call_id.values()) - asked == set(expected["removed_user_nodes"])


def test_the_repaired_figure_equals_the_definition_on_every_criterion_of_both_graphs() -> None:
    for name in GRAPHS:
        art = read_art(DATA / name)
        starts = ["t", *(node + "t" for node in art.nodes if art.reduced(node))]
        for m in starts:
            for n in (node for node in art.nodes if node.startswith(m)):
                assert collect(art, m, n) == chop(art, m, n)
                assert collect(art, m, n, as_printed=True) <= chop(art, m, n)


def test_the_printed_figure_loses_a_call_behind_a_tail_call() -> None:
    case = data("art_slicing.json")["tail_call_counterexample_to_printed_figure_3"]
    art = run(parse_program(case["program"]), text=case["program"])
    tree = execution_tree(art)
    keys = ("id", "parent", "equation", "art")
    assert [{key: row[key] for key in keys} for row in rows(tree)] == case["execution_tree"]
    call = tree.tree.call(tree.tree.position(case["mark"]["node"]))
    part = find_mark(call, "arg1", input_side=True)
    bounds = criterion(ArtProvenance(tree), case["mark"]["node"], part)
    assert bounds == tuple(case["criterion"])

    def kept(as_printed: bool) -> list[int]:
        found = execution_tree_slice(art, *bounds, as_printed=as_printed)
        return sorted(tree.call_id[each] for each in found if each in tree.call_id)

    assert kept(as_printed=True) == case["kept_as_printed"]
    assert kept(as_printed=False) == case["kept_repaired"]


# --- marks, origins and sets -------------------------------------------------------------------


def marked(provenance: ArtProvenance, node: int, path: str) -> Any:
    tree = provenance.art_tree.tree
    call = tree.call(tree.position(node))
    return find_mark(call, path, input_side=path.startswith("arg"))


@pytest.mark.parametrize(("node", "path"), [(3, "arg1[2]"), (20, "result[1]")])
def test_a_mark_of_the_printed_session_gives_its_criterion_and_its_slice(
    session: ArtProvenance, node: int, path: str
) -> None:
    steps = data("art_slicing.json")["session_fig4"]
    step = next(each for each in steps if each["node"] == node)
    part = marked(session, node, path)
    assert part.value.text == step["mark"]["subterm"]
    assert criterion(session, node, part) == tuple(step["mark"]["criterion"])
    influence = session.influence(node, part)
    assert influence is not None and influence.complete
    assert influence.nodes == set(step["kept_by_slice"])
    assert influence.nodes.isdisjoint(step["removed_from_suspicious_area"])


@pytest.mark.parametrize(("node", "path"), [(3, "arg1[2]"), (20, "result[1]")])
def test_the_pattern_of_a_mark_finds_the_same_node(
    session: ArtProvenance, program: Art, node: int, path: str
) -> None:
    steps = data("art_slicing.json")["session_fig4"]
    mark = next(each for each in steps if each["node"] == node)["mark"]
    redex = program.nodes[session.art_tree.art_node[node]]
    assert isinstance(redex, Application)
    root = redex.right if mark["side"] == "argument" else session.art_tree.art_node[node]
    assert pat_nodes(program, parse_pattern(mark["pattern"]), root) == {mark["criterion"][1]}


def test_the_chains_of_the_printed_subterm_session_come_out(session: ArtProvenance) -> None:
    strategies = data("strategies_sqrtest.json")["strategies"]
    printed = next(each for each in strategies if each["strategy"] == "subterm_dependency_tracking")
    marks = {each["node"]: each for each in printed["sequence"] if "mark" in each}
    for node, path in ((3, "arg1[2]"), (20, "result[1]")):
        origin = session.origin(node, marked(session, node, path))
        assert origin.node == marks[node]["origin"]
        assert list(origin.chain) == marks[node]["chain"]


def test_the_chains_of_example_8_come_out() -> None:
    examples = data("examples_classification.json")["examples"]
    case = next(each for each in examples if each["example"] == 8)
    art = run(parse_program(case["program"]), parse_expression(case["call"]))
    provenance = ArtProvenance(execution_tree(art))
    keys = ("id", "parent", "function", "rule", "equation")
    found = [{key: row[key] for key in keys} for row in rows(provenance.art_tree)]
    assert found == [{key: node[key] for key in keys} for node in case["tree"]]
    marks = [each for each in case["session"] if "mark" in each]
    assert len(marks) == 7
    for each in marks:
        path = "result" if each["side"] == "result" else f"arg{each['side']}"
        part = marked(provenance, each["node"], path)
        assert part.value.text == each["mark"]
        origin = provenance.origin(each["node"], part)
        assert (origin.node, list(origin.chain)) == (each["origin"], each["chain"])


def test_the_origin_of_1_in_3_minus_1_is_decr() -> None:
    expected = data("art_sum2.json")["expected"]["origin_of_1_in_3_minus_1"]
    provenance = ArtProvenance(execution_tree(read_art(DATA / "art_sum2.json"), primitives=True))
    tree = provenance.art_tree
    caller = parent(expected["marked_node"])
    assert caller is not None
    marked_call = tree.call_id[caller + "t"]
    part = marked(provenance, marked_call, "arg2")
    assert criterion(provenance, marked_call, part) == ("t", expected["marked_node"])
    origin = provenance.origin(marked_call, part)
    assert origin.node is not None
    assert tree.art_node[origin.node] == expected["parent"]
    assert tree.tree.call(tree.tree.position(origin.node)).equation() == expected["equation"]


def test_the_four_sets_of_example_6_come_out(session: ArtProvenance) -> None:
    expected = data("example6_sets.json")
    node, tree = expected["question"], session.art_tree.tree
    part = marked(session, node, "arg1[2]")
    assert criterion(session, node, part) == ("t", expected["art_node"])
    origin = session.origin(node, part)
    assert origin.node == expected["origin"]
    assert list(origin.chain) == expected["chain_from_origin"]
    sets = four_sets(tree, origin, session.influence(node, part), node)
    assert sets.certain
    assert sets.ids(tree, 1) == set(expected["set1_origin_subtree"])
    assert sets.ids(tree, 2) == set(expected["set2_passed_on"])
    assert sets.ids(tree, 3) == set(expected["set3_could_influence"])
    assert sets.ids(tree, 4) == set(expected["set4_cannot_influence"])


def test_the_sets_of_both_marks_give_the_weights_of_the_dynamic_weighting_log(
    session: ArtProvenance,
) -> None:
    log = data("example6_sets.json")["dynamic_weighting_log"]
    tree = session.art_tree.tree
    weights = {tree.id(position): 1 for position in range(len(tree.columns))}
    for node, path in ((3, "arg1[2]"), (20, "result[1]")):
        part = marked(session, node, path)
        sets = four_sets(tree, session.origin(node, part), session.influence(node, part), node)
        for number, gain in ((1, 3), (2, 2), (3, 1)):
            for each in sets.ids(tree, number):
                weights[each] += gain if weights[each] else 0
        weights.update(dict.fromkeys(sets.ids(tree, 4), 0))
        after = next(each for each in log if each["node"] == node)["weights_after"]
        assert weights == {int(key): value for key, value in after.items()}


def test_the_example_in_the_repository_is_the_graph_of_the_paper(program: Art) -> None:
    example = read_art(DATA.parents[2] / "examples" / "sqrtest.art.json")
    assert example == program
