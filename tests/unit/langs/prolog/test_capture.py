"""The traced program gives exactly the answers, output and errors of the plain one."""

import io
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.langs.prolog.engine import Engine, plain, quoted
from whence.langs.prolog.events import NO_LIMITS, Run, read

need_swipl()

PROGRAM = Path(__file__).parent / "programs" / "torture.pl"
GOALS = """
cut_in_or(X). cut_after_then(X). cut_in_negation. cut_in_call(X). cut_as_data(X). cut_first(X, Y).
once_inside(X, Y). soft(X). soft_else(X). nested(X). if_only(X). ignored(X). between_ands(X).
all(L). bags(A, L). sets(L). exists(L). every. not_every. counted(N). summed(S). cut_in_findall(X).
mapped(L). folded(S). lambda(L). closed(R). filtered(L). univ(R). apart(X). imported(X).
caught(R). found(R). outer(R). unknown(R). raising(X). after_an_answer(X). cleaned(R). rethrown(R).
parsed(V). called_in_grammar(N). counting(N). logical_update(L). made_rules(X). globals(L). walk(X).
labelled(L). left_open(X). frozen(R). still_frozen(X). different(R). send(Vs).
tabled(L). single_sided(N). no_rule(R). delimited(L).
strings(X). big_number(X). cyclic(X). big_term(N). odd_atoms(X). operators(X). splits(L).
clauses(L). down(5000). sum_to(3000, S). printing(X). to_string(S). reading(X).
first(X), second(Y). \\+ first(7). first(X), ( X > 1 -> true ; fail ) ; X = 3. member(X, [1,2]).
nowhere(X). X = f(X).
"""
EACH = [each.strip().replace("\n", " ") for each in GOALS.split(".\n")]
EACH = [goal for line in EACH for goal in line.split(". ") if goal]
SOLUTIONS = 12


@dataclass
class Outcome:
    answers: list[str]
    exhausted: bool
    raised: str | None
    printed: bytes
    events: int


def outcomes(request: str) -> dict[str, Outcome]:
    """All goals in one process, each with what it printed."""
    found = {}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as typed:
        typed.write(b"typed(in).\n")
        typed.seek(0)
        with Engine(stdin=typed.fileno(), stdout=output.fileno()) as engine:
            engine.load(PROGRAM)
            for goal in EACH:
                start = os.fstat(output.fileno()).st_size
                run = Run()
                lines = engine.stream(request.format(quoted(goal), SOLUTIONS))
                events = sum(1 for _ in read(lines, run))
                raised = None
                if run.raised is not None:
                    raised = plain(engine.numbered("terms", [run.raised])[0][2])
                output.seek(start, io.SEEK_SET)
                printed = output.read()
                found[goal] = Outcome(run.answers, run.exhausted, raised, printed, events)
    return found


@pytest.fixture(scope="module")
def both() -> tuple[dict[str, Outcome], dict[str, Outcome]]:
    return outcomes("plain({}, {})"), outcomes(f"run({{}}, {{}}, {NO_LIMITS})")


def test_there_are_at_least_48_goals() -> None:
    assert len(set(EACH)) >= 48


@pytest.mark.parametrize("goal", EACH)
def test_tracing_changes_nothing(
    goal: str, both: tuple[dict[str, Outcome], dict[str, Outcome]]
) -> None:
    untraced, under_trace = both[0][goal], both[1][goal]
    assert untraced.events == 0
    assert under_trace.events > 0
    under_trace.events = 0
    assert under_trace == untraced


def test_the_goals_do_what_their_names_say(
    both: tuple[dict[str, Outcome], dict[str, Outcome]],
) -> None:
    """So that two equal failures do not pass for two equal answers."""
    traced = both[1]
    assert traced["printing(X)"].printed == b"at 1\nat 2\n"
    assert traced["reading(X)"].answers == ["X = typed(in)"]
    assert traced["raising(X)"].raised == "my_error"
    assert traced["sum_to(3000, S)"].answers == ["S = 4501500"]
    assert traced["send(Vs)"].answers == ["Vs = [9, 5, 6, 7, 1, 0, 8, 2]"]
    assert traced["left_open(X)"].answers == ["X in 1\\/3"]
    answered = [goal for goal in EACH if traced[goal].answers]
    assert len(answered) >= 48
