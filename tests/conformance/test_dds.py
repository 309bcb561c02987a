"""The three sessions of Takahashi & Ono, held over the same programs in Python.

What whence asks besides the printed queries, because it blames nobody on a guess, comes after them:
in session B whether the caller itself was rightly given what it got, in session C whether the call
that goes round is wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from papers import load
from recorded import BACKENDS

from whence.app.frontends import open_any
from whence.langs.python.record.backend_choice import NATIVE
from whence.langs.python.record.options import WHOLE_BOUND, RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import Call, OutcomeKind
from whence.model.value import Kind, Value
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.search.instances import retained_instances
from whence.session.engine import step
from whence.session.events import Answered, Ask, Found, TrustGiven
from whence.session.state import Facts, State
from whence.tree.cycles import find_cycle
from whence.tree.readable_call import readable_call

pytestmark = pytest.mark.skipif(NATIVE not in BACKENDS, reason="only the recorder in C has limits")

DDS = load("dds_sessions")
SESSIONS = {session["name"][0]: session for session in DDS["sessions"]}
PRIMITIVES = ("null", "car", "cdr", "cons")
SAID = {"yes": Verdict.RIGHT, "no": Verdict.INADMISSIBLE}


class _TooMuch(BaseException):
    pass


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All three recorded, each with a limit on its calls."""
    folder = tmp_path_factory.mktemp("dds")
    return {name: recorded(folder / f"{name}.py", LIMITS[name], SESSIONS[name]) for name in LIMITS}


def recorded(program: Path, limit: int, session: dict[str, Any]) -> Path:
    from whence.langs.python.record import _recorder

    numbers = session["call"].partition("(")[2].rstrip(")").split()
    source = f"{session['python']}\nmergesort([{', '.join(numbers)}])\n"
    program.write_text(source)
    output = program.with_suffix(".whence")
    whole = RecordOptions(bound=WHOLE_BOUND, first_bound=WHOLE_BOUND)
    settings = Settings(str(output), whole, UserCodeRules(only=(str(program),)), NATIVE)
    under_way = Recording(settings, (program.name,))

    def stop(*_: object) -> None:
        under_way.finish(3, "it was stopped")
        raise _TooMuch

    how: tuple[int, object] = (0, 0)
    under_way.start()
    _recorder.limits(limit, 2**64 - 1, stop)
    try:
        exec(compile(source, str(program), "exec"), {"__name__": "program"})
    except _TooMuch:
        return output
    except Exception as error:
        how = 1, error
    under_way.finish(*how)
    return output


LIMITS = {"A": 10_000, "B": 10_000, "C": 900}
"""In Python the calls of primitives count too: of the 300 of the paper they are two in three."""


class Session:
    """A session in which the first call of mergesort is known to be wrong."""

    def __init__(self, path: Path) -> None:
        opened = open_any(path)
        tree = opened.tree
        self.state = State(tree, facts=Facts(strategy="dds"), graph=opened.call_graph)
        for name in PRIMITIVES:
            names = [each.name for each in tree.functions if each.short() == name]
            if names:
                self.send(TrustGiven(Trust(TrustScope.FUNCTION, names[0])))
        top = next(n for n in range(len(tree.columns)) if self.name(n) == "mergesort")
        self.frozen: list[int] = []
        """What was frozen, in that order."""
        self.say(top)

    def send(self, event: Any) -> None:
        self.state, self.outcome = step(self.state, event)

    def say(self, *positions: int, verdict: Verdict = Verdict.WRONG) -> None:
        tree = self.state.tree
        self.send(Answered(tuple(Answer(tree.id(each), verdict) for each in positions)))

    def name(self, position: int) -> str:
        tree = self.state.tree
        return tree.functions[int(tree.columns.function[position])].short()

    def call(self, position: int) -> Call:
        return readable_call(self.state.tree, position)[0]

    @property
    def asked(self) -> int:
        assert isinstance(self.outcome, Ask)
        return self.state.tree.position(self.outcome.question.node)

    @property
    def function(self) -> int:
        assert isinstance(self.outcome, Ask) and self.outcome.question.function is not None
        return self.outcome.question.function

    def table(self) -> list[dict[str, Any]]:
        """As the data has it: frozen calls count down from 99, in the order of freezing."""
        rows = retained_instances(self.state.space(), self.function).rows
        return [
            {
                "no": 99 - self.frozen.index(self.cell(row.position)) if row.frozen else row.number,
                "mark": "#" if row.frozen else "*" if row.again else "",
                "depth": row.depth,
                "instance": written(self.call(row.position)),
            }
            for row in rows
        ]

    def cell(self, position: int) -> int:
        return int(self.state.tree.columns.equation[position])


def written(call: Call) -> str:
    """A call as the paper prints it."""
    given = " ".join(lisp(each.value, quoted=True) for each in call.arguments)
    outcome = call.outcome
    came = "**UNDEFINED**"
    if outcome.kind is OutcomeKind.RETURNED and outcome.value is not None:
        several = outcome.value.kind is Kind.TUPLE
        values = [part for _, part in outcome.value.parts] if several else [outcome.value]
        came = "; ".join(lisp(each) for each in values)
    return f"({call.function.short().upper()} {given}) = {came}"


def lisp(value: Value, quoted: bool = False) -> str:
    if value.kind is Kind.LIST:
        inner = " ".join(lisp(part) for _, part in value.parts)
        return f"{chr(39) * quoted}({inner})" if inner else "nil" if quoted else "NIL"
    return f"'{json.loads(value.text.replace(chr(39), chr(34)))}" if quoted else value.text


@pytest.mark.parametrize("name", SESSIONS)
def test_the_queries_and_tables_are_the_papers(name: str, programs: dict[str, Path]) -> None:
    session = Session(programs[name])
    if name == "B":  # the primitive that failed is the first to be frozen
        columns = session.state.tree.columns
        raised = [n for n in range(len(columns)) if columns.outcome[n] == OutcomeKind.RAISED]
        session.frozen.append(session.cell(raised[-1]))
        assert session.name(raised[-1]) == "car"
    for printed in SESSIONS[name]["steps"]:
        assert session.state.tree.functions[session.function].short() == printed["filtered"]
        wanted = [
            {key: row[key] for key in ("no", "mark", "depth", "instance")}
            for row in printed["table"]
        ]
        assert session.table() == wanted
        query = printed["query"]
        if query is None:
            break
        assert written(session.call(session.asked)).startswith(query["instance"])
        answer(session, printed["answer"])
    finish(session)
    assert isinstance(session.outcome, Found)
    assert session.outcome.diagnosis.node is not None
    blamed = written(session.call(session.state.tree.position(session.outcome.diagnosis.node)))
    buggy = SESSIONS[name]["buggy"]["instance"].upper().replace("= UNDEFINED", "= **UNDEFINED**")
    assert blamed.upper().replace("'", "") == buggy.replace("'", "")


def answer(session: Session, said: str) -> None:
    words = said.split()
    if words[0] == "false":  # any of the calls that are shown can be judged
        rows = retained_instances(session.state.space(), session.function).rows
        numbers = {row.number: row.position for row in rows if not row.frozen}
        session.say(*(numbers[int(word)] for word in words[1:]))
        return
    position = session.asked
    session.frozen.append(session.cell(position))
    session.say(position, verdict=SAID[words[0]])


def finish(session: Session) -> None:
    """Answer what the paper does not ask any more: a call that raised is wrong, and so is a sort
    that did not end; others were broken off in the middle of their work."""
    for _ in range(5):
        if isinstance(session.outcome, Ask):
            raised = session.call(session.asked).outcome.kind is OutcomeKind.RAISED
            wrong = raised or session.name(session.asked) == "mergesort"
            session.say(session.asked, verdict=Verdict.WRONG if wrong else Verdict.RIGHT)


def test_a_function_that_gave_something_right_is_folded(programs: dict[str, Path]) -> None:
    session = Session(programs["A"])
    session.say(session.asked, verdict=Verdict.RIGHT)
    assert isinstance(session.outcome, Ask)
    assert "split gave something right and is folded" in session.outcome.question.why


def test_a_folded_function_is_unfolded_when_a_call_of_it_is_wrong(
    programs: dict[str, Path],
) -> None:
    session = Session(programs["A"])
    first = session.asked
    session.say(first, verdict=Verdict.RIGHT)
    other = next(n for n in range(first + 10, 100) if session.name(n) == "split")
    session.say(other)
    assert session.name(session.asked) == "split"


def test_of_a_recursive_function_the_call_that_ends_the_recursion_comes_first(
    programs: dict[str, Path],
) -> None:
    session = Session(programs["A"])
    session.say(session.asked, verdict=Verdict.RIGHT)
    session.say(session.asked)
    assert written(session.call(session.asked)) == "(XMERGE '(6 8) nil) = NIL"


def test_the_call_that_goes_round_is_found_by_its_inputs(programs: dict[str, Path]) -> None:
    tree = open_trace(programs["C"])
    cycle = find_cycle(tree)
    assert cycle is not None
    assert written(tree.call(tree.position(cycle.path[0]))).startswith("(MERGESORT '(1 2 4 6))")
