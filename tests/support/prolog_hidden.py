"""Programs with a fault in a part that the tracer does not see, and a person who debugs them.

Each program calls a hidden part through a few innocent clauses. The part is tabled, made of CHR
rules, written in C, run by a thread, by an engine or below an inference limit. The person knows the
right program, sees only what a question tells, and says `y` to all that does not look wrong.
"""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from whence.app.session_driver import SessionDriver
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.hidden_parts import HiddenParts
from whence.langs.prolog.reference_program import ReferenceProgram, first_difference
from whence.langs.prolog.swipl_process import Engine
from whence.model.call import OutcomeKind
from whence.model.diagnosis import Diagnosis, Status
from whence.model.question import Question
from whence.model.verdict import Judgement, Verdict
from whence.ports import Oracle
from whence.session.state import Options, State

_TABLED = """
:- table hidden/2.
hidden(0, 1).
hidden(N, R) :- N > 0, M is N - 1, hidden(M, R0), part(R0, R).
part(A, B) :- B is A + {step}.
"""
_CYCLE = """
:- table hidden/2, other/2.
hidden(N, R) :- R0 is N mod 3, part(R0, R).
hidden(N, R) :- other(N, R0), R0 < 9, part(R0, R).
other(N, R) :- hidden(N, R).
part(A, B) :- B is A + {step}, B < 12.
"""
_CHR = """
:- use_module(library(chr)).
:- chr_constraint item(+int), total(+int).
total(A), item(B) <=> part(A, B, C), total(C).
part(A, B, C) :- C is A + B + {step} - 1.
hidden(N, R) :- total(0), item(N), item(2), find_chr_constraint(total(R)), !.
"""
_THREAD = """
hidden(N, R) :- first_solution(R, [part(N, R)], []).
part(A, B) :- B is A + {step}.
"""
_JOINED = """
hidden(N, R) :-
    thread_self(Me), thread_create(( part(N, A), thread_send_message(Me, done(A)) ), Id),
    thread_join(Id, _), thread_get_message(done(R)).
part(A, B) :- B is A + {step}.
"""
_ENGINE = """
hidden(N, R) :- engine_create(X, part(N, X), E), engine_next(E, R), engine_destroy(E).
part(A, B) :- B is A + {step}.
"""
_LIMIT = """
hidden(N, R) :- call_with_inference_limit(part(N, R), 100000, _).
part(A, B) :- B is A + {step}.
"""
_CONTINUATION = """
hidden(N, R) :- reset(asking(N, R), value(V), Cont), V = {step}, call(Cont).
asking(N, R) :- shift(value(V)), R is N + V.
"""
_FOREIGN = """
:- use_foreign_library('{library}').
hidden(N, R) :- put_value(N), get_value(R).
"""
_C = """
#include <SWI-Prolog.h>
static int kept;
static foreign_t put_value(term_t t) {{ return PL_get_integer(t, &kept); }}
static foreign_t get_value(term_t t) {{ return PL_unify_integer(t, kept + {step}); }}
install_t install(void) {{
    PL_register_foreign("put_value", 1, put_value, 0);
    PL_register_foreign("get_value", 1, get_value, 0);
}}
"""
_PARTS = {
    "tabled": (_TABLED, {"hidden/2", "part/2"}),
    "cycle": (_CYCLE, {"hidden/2", "other/2", "part/2"}),
    "chr": (_CHR, {"hidden/2", "item/1", "total/1", "part/3"}),
    "thread": (_THREAD, {"hidden/2", "part/2"}),
    "joined thread": (_JOINED, {"hidden/2", "part/2"}),
    "engine": (_ENGINE, {"hidden/2", "part/2"}),
    "inference limit": (_LIMIT, {"hidden/2", "part/2"}),
    "continuation": (_CONTINUATION, {"hidden/2", "asking/2"}),
    "foreign": (_FOREIGN, {"put_value/1", "get_value/1"}),
}
KINDS = tuple(_PARTS)


@dataclass(frozen=True)
class HiddenFault:
    """A right program, one with a fault in its hidden part, and who may be blamed for it."""

    right: Path
    wrong: Path
    goal: str
    guilty: set[str]


def generated(kind: str, seed: int, folder: Path) -> HiddenFault:
    """A program around a hidden part of a kind; the seed decides what is around it."""
    chance = random.Random(seed)
    part, guilty = _PARTS[kind]
    layers = chance.randint(1, 4)
    around = ["top(N, R) :- layer1(N, R)." if chance.random() < 0.5 else _TOP]
    for nth in range(1, layers + 1):
        inner = f"layer{nth + 1}" if nth < layers else "hidden"
        around.append(chance.choice(_LAYERS).format(name=f"layer{nth}", inner=inner))
    around.append("plus_one(A, B) :- B is A + 1.\nis_small(N) :- N < 1000.\n")
    number = chance.randint(2, 6)
    files = []
    for name, step in (("right", 1), ("wrong", 2)):
        library = _compiled(folder, name, step) if kind == "foreign" else ""
        file = folder / f"{name}.pl"
        file.write_text("\n".join(around) + part.format(step=step, library=library))
        files.append(file)
    return HiddenFault(files[0], files[1], f"top({number}, R)", guilty)


_TOP = "top(N, R) :- is_small(N), layer1(N, R0), plus_one(R0, R)."
_LAYERS = (
    "{name}(N, R) :- {inner}(N, R).",
    "{name}(N, R) :- is_small(N), {inner}(N, R).",
    "{name}(N, R) :- plus_one(N, M), {inner}(M, R0), plus_one(R0, R).",
    "{name}(N, R) :- findall(X, {inner}(N, X), Xs), last(Xs, R).",
    "{name}(N, R) :- ( is_small(N) -> {inner}(N, R) ; R = 0 ).",
)


def _compiled(folder: Path, name: str, step: int) -> str:
    source = folder / f"{name}.c"
    source.write_text(_C.format(step=step))
    library = folder / f"{name}.so"
    command = ["swipl-ld", "-shared", "-o", str(library), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return str(library)


@dataclass
class _Person:
    """Says that a call is wrong if its answer is not that of the right program, else right."""

    execution: GoalExecution
    program: ReferenceProgram
    name: str = "person"

    def judge(self, question: Question) -> Judgement:
        source = self.execution.source
        judgement = self.program.judge(source, source.event(question.node))
        if judgement.verdict is Verdict.UNKNOWN and question.call.outcome.kind in (
            OutcomeKind.RETURNED,
            OutcomeKind.FAILED,
        ):
            return Judgement(Verdict.RIGHT, "it looks right")
        return judgement


def debugged_by_person(fault: HiddenFault) -> tuple[Diagnosis, str]:
    """How a session about the first answer ends, and the predicate that is blamed, if one is."""
    program = ReferenceProgram(fault.right)
    try:
        with Engine() as engine:
            execution = GoalExecution(engine, fault.wrong, fault.goal)
            tree = first_difference(execution, program, lambda _: None)
            assert tree is not None, "the fault shows"
            state = State(
                tree,
                execution.provenance(tree),
                options=Options(ask_top=False, confirm_top=False),
            )
            oracles: list[Oracle] = [HiddenParts(execution.source), _Person(execution, program)]
            driver = SessionDriver(state, oracles)
            outcome = driver.start()
            diagnosis = driver.diagnosis(outcome)
            blamed = ""
            if diagnosis.status is Status.FOUND and diagnosis.node is not None:
                blamed = execution.source.event(diagnosis.node).call.predicate.indicator
            execution.close()
            return diagnosis, blamed
    finally:
        program.close()
