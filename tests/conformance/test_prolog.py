"""Debug slicing of logic programs and Mercury's evaluation tree, as SWI-Prolog runs the programs.

`data/PROLOG.md` says which rules the figures follow and where the papers contradict themselves.
"""

import re
from typing import Any

import papers
import pytest
from prolog import Traced, need_swipl, traced

from whence.langs.prolog.debug_slice import (
    debug_slice,
    into_failures,
    made_final,
    potentially_dependent,
)
from whence.langs.prolog.evaluation_tree import children_of
from whence.langs.prolog.slice_sizes import Size, slice_sizes
from whence.langs.prolog.traced_call import Port, PortEvent, TracedCall

need_swipl()

EXAMPLES: dict[str, Any] = papers.load("prolog_debug_slicing")
MERCURY: dict[str, Any] = papers.load("mercury_edt")


@pytest.fixture(scope="module")
def runs() -> dict[str, Traced]:
    """Each example up to its first answer, as in the paper."""
    return {
        name: traced(papers.DATA / "prolog" / f"{name}.pl", example["goal"], solutions=1)
        for name, example in EXAMPLES.items()
    }


def named(text: str) -> str:
    """A term with its variables named in order."""
    names: dict[str, str] = {}
    return re.sub(
        r"\b_(?:G?\d+|[A-Z]\d*)\b",
        lambda found: names.setdefault(found[0], "_" + chr(ord("A") + len(names))),
        text,
    )


def status(run: Traced, call: TracedCall) -> str:
    if call in run.trace.success:
        return "success-branch"
    return "failed-leaf" if call in run.trace.failed_leaves() else "failed-branch-inner"


def row(run: Traced, call: TracedCall) -> dict[str, Any]:
    """A call of the trace tree in the words of the data."""
    clauses = run.run.clauses
    return {
        "mark": call.mark,
        "parent": call.parent.mark if call.parent else None,
        "via_line": clauses[call.via].line if call.via is not None else None,
        "goal": named(run.texts[call.term]),
        "caller": call.caller.mark if call.caller else None,
        "lit": list(call.path),
        "clauses": [clauses[number].line for number in call.tried],
        "exits": [named(run.texts[answer.term]) for answer in call.answers],
        "failed": call.failed is not None,
        "status": status(run, call),
    }


def evaluation(run: Traced, event: PortEvent) -> dict[str, Any]:
    return {
        "event": event.port.value,
        "atom": named(run.text(event)),
        "tt": event.call.mark,
        "children": [evaluation(run, child) for child in children_of(event)],
    }


def renamed(node: dict[str, Any]) -> dict[str, Any]:
    children = [renamed(child) for child in node["children"]]
    return {**node, "atom": named(node["atom"]), "children": children}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_trace_tree_has_the_papers_nodes_and_marks(name: str, runs: dict[str, Traced]) -> None:
    run = runs[name]
    assert [row(run, call) for call in run.trace.calls] == EXAMPLES[name]["nodes"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_branches_are_those_of_the_paper(name: str, runs: dict[str, Traced]) -> None:
    trace, example = runs[name].trace, EXAMPLES[name]
    assert [call.mark for call in trace.success] == example["success"]
    assert [call.mark for call in trace.failed_leaves()] == example["failed_leaves"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_slices_are_those_of_the_paper(name: str, runs: dict[str, Traced]) -> None:
    trace, example = runs[name].trace, EXAMPLES[name]
    assert sorted(potentially_dependent(trace, repaired=False)) == example["pdps"]
    assert sorted(into_failures(trace)) == example["phiH"]
    assert sorted(made_final(trace)) == example["s2"]
    assert sorted(debug_slice(trace, repaired=False)) == example["debug_slice"]
    by_itself = debug_slice(trace, by_itself=True, repaired=False)
    assert sorted(by_itself) == example["debug_slice_branch_annot"]


def test_the_sizes_of_example_2_are_the_first_row_of_the_papers_table(
    runs: dict[str, Traced],
) -> None:
    sizes = slice_sizes(runs["ex2"].trace, by_itself=True)
    assert sizes.complete_tree == Size(14, 14)
    assert sizes.success_branch == Size(6, 6)
    assert sizes.failed_branches == Size(8, 8)
    assert sizes.debug_slice == Size(13, 13)
    assert sizes.data_flow_slice == Size(3, 3), "a(3), c(3) and the b(3) that c called"
    assert slice_sizes(runs["ex2"].trace).debug_slice == Size(12, 12), "as in its Example 7"


@pytest.mark.parametrize("name", EXAMPLES)
def test_cuts_are_those_of_the_paper(name: str, runs: dict[str, Traced]) -> None:
    """The data numbers clauses in the order in which they were met, as the capture does."""
    found = [
        {
            "mark": cut.call.mark,
            "W": [call.mark for call in cut.branch()],
            "pruned": [[call.mark if call else None, str(clause)] for call, clause in cut.pruned],
            "selected_after": cut.selected_after.mark if cut.selected_after else None,
        }
        for cut in runs[name].trace.cuts
    ]
    assert found == EXAMPLES[name]["cuts"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_evaluation_tree_is_that_of_the_data(name: str, runs: dict[str, Traced]) -> None:
    run = runs[name]
    last = PortEvent(Port.EXIT, run.trace.root, len(run.trace.root.answers) - 1)
    assert evaluation(run, last) == renamed(EXAMPLES[name]["edt"])


def test_a_negation_that_fails_keeps_what_made_it_fail(runs: dict[str, Traced]) -> None:
    """The repair of the paper's Lemma 1: `map_search` succeeded, so its negation failed."""
    added = potentially_dependent(runs["pairs"].trace) - set(EXAMPLES["pairs"]["pdps"])
    assert added == {4, 10, 11, 13, 14, 15}


# --- Mercury, section 3 --------------------------------------------------------------------------


def in_prolog(equation: str) -> str:
    """An atom of the paper as our program writes it: the paper abbreviates two arguments."""
    table = "[1-one, 2-two]"
    struct = f"struct([[0-zero], {table}])"
    text = equation.replace("Struct", struct).replace("Table", table).replace(" - ", "-")
    text = text.replace('"', "").replace("_-_", "_A-_B")
    return re.sub(r"\b_\b", "_A", text)


def test_the_children_are_those_of_mercurys_figure(runs: dict[str, Traced]) -> None:
    run = runs["pairs"]
    root, *children = MERCURY["nodes"]
    found = [(child.port.value, run.text(child)) for child in children_of(run.answer())]
    assert run.text(run.answer()) == in_prolog(root["equation"])
    assert found == [(node["port"], in_prolog(node["equation"])) for node in children]
    assert len(found) == MERCURY["children_of_root"]


def test_what_was_backtracked_over_is_in_no_figure(runs: dict[str, Traced]) -> None:
    run = runs["pairs"]
    found = {(child.port.value, run.text(child)) for child in children_of(run.answer())}
    for event in MERCURY["excluded_events"]:
        assert (event["port"], in_prolog(event["atom"])) not in found
