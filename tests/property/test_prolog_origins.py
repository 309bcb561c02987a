"""An origin is the clause that has the part in its text.

In these programs no two atoms are the same, so each atom tells by itself which clause it stands in.
Whatever the program does with it (lists joined and reversed, terms put together and taken apart,
variables bound later, goals called by `call/N`, `maplist`, `foldl`, `findall`), its origin must be
an answer of that clause.
"""

import random
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.swipl_process import Engine
from whence.langs.prolog.traced_call import Port
from whence.model.call import MarkedPart, find_mark
from whence.model.value import Kind

need_swipl()

LISTS = """\
app([], L, L).
app([X|Xs], L, [X|Zs]) :- app(Xs, L, Zs).
rev([], []).
rev([X|Xs], R) :- rev(Xs, R0), app(R0, [X], R).
pick(X, [_,X|_]).
last([X], X) :- !.
last([_|Xs], X) :- last(Xs, X).
put(X, S0, [X|S0]).
"""


def random_program(numbers: random.Random) -> str:
    """Predicates `s(X, T)` that build terms; each calls those before it."""
    fresh = (f"a{number}" for number in count(1))
    lines = LISTS.splitlines()
    for number in range(2):
        lines += [f"m{number}({next(fresh)})." for _ in range(3)]
    for number in range(7):
        goals = [_goal(numbers, f"P{place}", number, fresh) for place in range(3)]
        shape = numbers.choice(
            ["f(P0, P1, P2)", "[P0, P1|P2]", "g([P2, P0], {})", "P1", "h({}, P2)"]
        ).format(next(fresh))
        if numbers.random() < 0.5:
            lines.append(f"s{number}(X, {shape}) :- {', '.join(goals)}.")
        else:
            goals.insert(numbers.randint(0, 3), f"T = {shape}")
            lines.append(f"s{number}(X, T) :- {', '.join(goals)}.")
    return "".join(f"{line}\n" for line in lines)


def _goal(numbers: random.Random, part: str, known: int, fresh: Iterator[str]) -> str:
    one, two = next(fresh), next(fresh)
    ways = [
        f"{part} = k({one}, X)",
        f"app([{one}], [{two}], {part})",
        f"rev([{one}, {two}, X], {part})",
        f"{part} = [{one}|Q{part}], app([X], [{two}], Q{part})",
        f"pick({part}, [X, {one}, {two}])",
        f"once(last([X, {one}], {part}))",
        f"( X > 3 -> {part} = {one} ; {part} = {two} )",
        f"findall(v(V, {one}), m{numbers.randint(0, 1)}(V), {part})",
        f"foldl(put, [{one}, X], [{two}], {part})",
        f"call(app, [{one}], [X], {part})",
        f"call(app([{one}]), [{two}], {part})",
        f"n({one}, {part}) = n(Q{part}, Q{part})",
        f"catch(last([{one}], {part}), _, fail)",
    ]
    if known:
        inner = f"s{numbers.randrange(known)}"
        ways += [f"{inner}(X, {part})"] * 3
        ways += [f"maplist({inner}, [X, 5], {part})", f"call({inner}, 4, {part})"]
        ways += [f"{inner}(X, Q{part}), {part} = w(Q{part}, {one})"] * 2
    return numbers.choice(ways)


def atoms_of(execution: GoalExecution) -> list[tuple[int, MarkedPart]]:
    """All parts of all answers in the tree that are atoms of the program, with their nodes."""
    tree, found = execution.wrong(1), []
    for position in range(len(tree.columns)):
        node = tree.id(position)
        if execution.source.event(node).port is not Port.EXIT:
            continue
        call = tree.call(position)
        for nth, binding in enumerate(call.arguments, 1):
            for steps, value in binding.value.paths():
                if value.kind is Kind.ATOM and re.fullmatch(r"a\d+", value.text):
                    text = f"arg{nth}{''.join(steps)}"
                    found.append((node, find_mark(call, text, input_side=True)))
    return found


@pytest.mark.parametrize("seed", range(10))
def test_the_origin_of_an_atom_is_the_clause_that_has_it(seed: int, tmp_path: Path) -> None:
    numbers = random.Random(seed)
    program = random_program(numbers)
    file = tmp_path / "program.pl"
    file.write_text(program)
    lines = program.splitlines()
    with Engine() as engine:
        execution = GoalExecution(engine, file, f"s6({numbers.randint(1, 5)}, T)", solutions=1)
        parts = atoms_of(execution)
        chosen = numbers.sample(parts, min(len(parts), 60))
        tree = execution.wrong(1)
        provenance = execution.provenance(tree)
        for node, part in chosen:
            found = provenance.origin(node, part)
            assert found.node is not None, (part.mark, part.value.text, found.unknown)
            maker = tree.call(tree.position(found.node))
            assert maker.rule.location is not None and maker.rule.location.line is not None
            text = lines[maker.rule.location.line - 1]
            assert re.search(rf"\b{part.value.text}\b", text), (part.value.text, maker.text)
            influence = provenance.influence(node, part)
            assert influence is not None and found.node in influence.nodes
    assert len(chosen) > 5
