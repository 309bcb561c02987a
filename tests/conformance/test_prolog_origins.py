"""Where subterms come from: Mercury's examples, as SWI-Prolog runs them.

`data/mercury_origin.json` has the paper's steps. A query is about a variable of a clause; here it
is put to an argument in which the variable stands, of the head or of a goal of the body.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import papers
import pytest
from prolog import need_swipl

from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.subterm_origin import (
    CameIn,
    Inside,
    Made,
    Step,
    SubtermOrigin,
)
from whence.langs.prolog.swipl_process import Engine
from whence.langs.prolog.traced_call import Branch, Port, PortEvent, TracedCall

need_swipl()

DATA: dict[str, Any] = papers.load("mercury_origin")
TREE = "tree(5, five, tree(2, two, nil, nil), tree(8, eight, nil, nil))"


@contextmanager
def ran(name: str, goal: str) -> Iterator[GoalExecution]:
    with Engine() as engine:
        yield GoalExecution(engine, papers.DATA / "prolog" / f"{name}.pl", goal, solutions=1)


def tracking(execution: GoalExecution) -> SubtermOrigin:
    trace = execution.trace
    return SubtermOrigin(execution.source.terms, Branch(PortEvent(Port.EXIT, trace.root)))


def goal_named(execution: GoalExecution, name: str, nth: int = 0) -> TracedCall:
    """The nth goal of a name in the body of the root's clause."""
    root = execution.trace.root
    found = [c for c in execution.trace.calls if c.caller is root and c.predicate.name == name]
    return found[nth]


def told(step: Step | None) -> dict[str, Any]:
    """A step in the words of the data."""
    if isinstance(step, Inside):
        name, (argument, *path) = step.event.call.predicate.name, step.path
        return {"kind": "call", "goal": name, "argument": argument, "path": path}
    if isinstance(step, CameIn):
        argument, *path = step.path
        return {"kind": "head", "argument": argument, "path": path}
    assert isinstance(step, Made)
    return {"kind": "unify"}


def expected(result: dict[str, Any]) -> dict[str, Any]:
    if result["kind"] == "unify":
        return {"kind": "unify"}
    if result["kind"] == "call":
        return {**result, "goal": result["goal"].partition("(")[0]}
    return result


def resolved(steps: SubtermOrigin, step: Step | None) -> Step | None:
    """On through unifications, which in Mercury are no calls but goal forms of their own."""
    while step is not None:
        if isinstance(step, Inside) and step.event.call.predicate.name == "=":
            step = steps.inside(step.event.call, step.path)
        elif isinstance(step, CameIn) and step.call.predicate.name == "=":
            step = steps.before(step.call, step.path)
        else:
            return step
    return None


# Where each variable that the data asks about stands: a goal's name, which of them, the argument.
STANDS = {
    "An": ("*", 0, 1),
    "Ad": ("lcm", 0, 1),
    "Bn": ("*", 1, 1),
    "Ap": ("+", 0, 1),
    "CA": ("*", 0, 2),
}


@pytest.mark.parametrize("query", DATA["rational_add"]["queries"], ids=json.dumps)
def test_the_steps_in_rational_add_are_those_of_the_paper(query: dict[str, Any]) -> None:
    with ran("rational_add", "rational_add(r(1, 6), r(3, 4), R)") as execution:
        assert execution.answers == ["R = r(11, 12)"]
        steps, variable, path = tracking(execution), query["var"], tuple(query["path"])
        if variable.startswith("HV"):
            step = steps.inside(execution.trace.root, (int(variable[2:]), *path))
        else:
            name, nth, argument = STANDS[variable]
            step = steps.before(goal_named(execution, name, nth), (argument, *path))
        assert told(resolved(steps, step)) == expected(query["result"])


@pytest.mark.parametrize(("contour", "key"), [("=", 5), ("<", 8), ("else", 2)])
def test_the_steps_in_search_are_those_of_the_paper(contour: str, key: int) -> None:
    query = DATA["search"]["queries"][contour]
    with ran("search", f"search({TREE}, {key}, V)") as execution:
        steps = tracking(execution)
        step = resolved(steps, steps.inside(execution.trace.root, (3, *query["path"])))
        assert told(step) == expected(query["result"])


def test_in_search_the_subtree_that_is_gone_into_is_the_papers() -> None:
    """`search(Right, …)` and `search(Left, …)`: which part of the tree the goal was given."""
    for key, part in ((8, 4), (2, 3)):
        with ran("search", f"search({TREE}, {key}, V)") as execution:
            steps = tracking(execution)
            inner = goal_named(execution, "search")
            step = resolved(steps, steps.before(inner, (1,)))
            assert step == CameIn(execution.trace.root, (1, part))


def test_the_key_of_map_search_comes_out_of_list_member() -> None:
    """The paper's inadmissible call: the goals before it, going inside the negations."""
    program = papers.DATA / "prolog" / "pairs.pl"
    goal = "all_pairs_are_in_table(struct([[0-zero],[1-one,2-two]]),[1-one,2-two])"
    with Engine() as engine:
        execution = GoalExecution(engine, program, goal, solutions=1)
        inner = goal_named(execution, "map_search")
        branch = Branch(PortEvent(Port.FAIL, inner))
        steps = SubtermOrigin(execution.source.terms, branch)
        arguments = {"Table": 1, "Key": 2, "Value": 3}
        for query in DATA["inadmissible_map_search"]["queries"]:
            step = steps.before(inner, (arguments[query["var"]],))
            found = told(step)
            assert found == expected(query["result"])


def test_the_chain_of_average_is_the_papers() -> None:
    numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    with ran("average", f"average({numbers}, 0.0, 0, A)") as execution:
        tree = execution.wrong(1)
        part = execution.part(tree, "4")
        found = execution.provenance(tree).origin(tree.id(0), part)
        texts = [tree.call(tree.position(node)).text for node in reversed(found.chain)]
        nodes = DATA["average"]["nodes"]
        assert texts == [node["equation"] for node in nodes[1:]]
        assert found.node is not None
        maker = tree.call(tree.position(found.node)).text
        assert maker == DATA["average"]["bug"]
        assert not found.passed_through


def test_the_papers_path_leads_to_its_subterm(tmp_path: Path) -> None:
    example = DATA["subterm_path_example"]
    file = tmp_path / "one.pl"
    file.write_text(f"one({example['term']}).\n")
    with Engine() as engine:
        execution = GoalExecution(engine, file, "one(X)")
        tree = execution.wrong(1)
        steps = "".join(f"[{step}]" for step in example["path"])
        part = execution.part(tree, f"X{steps}")
        assert part.value.text + f"({part.value.parts[0][1].text})" == example["subterm"]
