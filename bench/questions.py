"""How many questions each strategy asks on the corpus, and how much a person has to read.

    python bench/questions.py [--write docs/questions.md] [--strategy auto] [--bug knapsack]
    python bench/questions.py --mutants 3 [--write docs/questions.md] [--package toolz]

Every program of `tests/corpus` is recorded, and debugged by a simulated person who answers each
question as the repaired twin does (`tests/support/intention.py`), and knows that the run as a whole
is wrong. Printed for each strategy: in how many programs the function at fault was named, how many
questions that took, how many of these were about the call that was blamed or what it called (who
knew the fault would have to ask them, too), how many characters were shown, and the seconds that
whence took to choose them. All oracles are off, except in two rows, where the person is asked only
what they do not know. In the last row the person marks the first word of the output that is wrong,
and in each wrong call the first part that is. `--write` puts the tables between the markers of a
document.

With `--mutants N`, N bugs are made in each installed package that has a driver (`bench/drivers`),
by `tests/support/mutation.py`, and debugged by `auto` without and with marks: these programs make
hundreds of calls and more. Mutants are left out, and counted, of which it is not known what a
person would say.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import bug_corpus
import mutation

from whence.app.frontends import open_any, sources_of
from whence.app.session_driver import SessionDriver
from whence.langs.python.oracles.contracts import contract_oracle_for
from whence.langs.python.oracles.reference_oracle import reference_oracle_for
from whence.langs.python.oracles.type_hints import TypeHintOracle
from whence.langs.python.priors.import_presumption import ImportPresumption
from whence.model.diagnosis import Status
from whence.model.question import Question
from whence.model.verdict import Answer, Judgement, Verdict
from whence.ports import Oracle
from whence.report.source import Sources
from whence.search.registry import DEFAULT, STRATEGIES
from whence.session.events import Answered, Ask, Event, Found, StrategyChosen
from whence.session.state import State
from whence.tree.column_tree import ColumnTree
from whence.ui.terminal.plain import WIDTH_IN_PIPES
from whence.ui.terminal.question_text import question_lines

BEGIN = "<!-- begin: written by `whence bench questions --write docs/questions.md` -->"
BEGIN_MUTANTS = BEGIN.replace("questions --write", "questions --mutants N --write")
END = "<!-- end -->"
DECLARED = f"{DEFAULT} with hints and contracts"
REFERENCE = f"{DEFAULT} with a reference"
MARKS = f"{DEFAULT} with marks"


@dataclass
class Session:
    """How one session went."""

    blamed: str
    located: bool
    questions: int
    needed: int
    """Those about the call that was blamed, and about what it called."""
    characters: int
    seconds: float
    by_oracles: int = 0
    not_known: str = ""
    """Why the reference could not answer what the person was asked."""
    mistakes: list[str] = field(default_factory=list)
    """What oracles said that is not so."""


@dataclass
class Case:
    """A recorded program, and what is right about it."""

    bug: bug_corpus.Bug
    tree: ColumnTree
    person: bug_corpus.Person
    recording: Path
    sources: Sources

    @property
    def truth(self) -> dict[int, Verdict]:
        """What is said of each call by one who judges it by what it was given."""
        return self.person.verdicts


def debug(
    case: Case,
    strategy: str,
    oracles: Sequence[Oracle] = (),
    marks: bool = False,
    on_question: Callable[[SessionDriver, Ask], None] = lambda driver, outcome: None,
) -> Session:
    """A session with a person who knows the repaired program by heart.

    `marks`: who also marks the parts that are wrong.
    """
    tree, spent = case.tree, 0.0
    debugging = SessionDriver(
        State(tree, presumption=ImportPresumption()), oracles, sources=case.sources
    )
    symptom: list[Event] = [Answered((Answer(tree.id(0), Verdict.WRONG, by="symptom"),))]
    if marks:
        opened = open_any(case.recording)
        state = State(
            tree, opened.provenance, presumption=ImportPresumption(), chronology=opened.chronology
        )
        debugging = SessionDriver(state, reruns=opened.reruns, may_run=True, sources=case.sources)
        symptom = bug_corpus.symptom_events(case.bug, tree)
    started = time.perf_counter()
    outcome = debugging.start([StrategyChosen(strategy), *symptom])
    spent += time.perf_counter() - started
    asked: list[int] = []
    while isinstance(outcome, Ask):
        question = outcome.question
        on_question(debugging, outcome)
        asked.append(tree.position(question.node))
        lines = question_lines(question, debugging.counts.person + 1, WIDTH_IN_PIPES)
        debugging.count_shown("\n".join(line.text for line in lines))
        answer = Answer(question.node, case.truth[question.node])
        if marks:
            answer = case.person.answer(question.node)
        started = time.perf_counter()
        outcome = debugging.send(Answered((answer,)))
        spent += time.perf_counter() - started
    blamed, needed = "", 0
    if isinstance(outcome, Found) and outcome.diagnosis.status is Status.FOUND:
        assert outcome.diagnosis.node is not None
        position = tree.position(outcome.diagnosis.node)
        blamed = tree.functions[int(tree.columns.function[position])].short()
        needed = sum(position in (each, int(tree.columns.parent[each])) for each in asked)
    counts = debugging.counts
    return Session(
        blamed, case.bug.is_at_fault(blamed), counts.person, needed, counts.characters, spent,
        counts.oracles.total(),
    )  # fmt: skip


def recorded(bug: bug_corpus.Bug, folder: Path) -> Case:
    """The program's run, and what its twin makes of each call."""
    recording = folder / f"{bug.name}.whence"
    tree = bug_corpus.record(bug, "buggy", recording, whole=False)
    sources = sources_of(open_any(recording))
    return Case(bug, tree, bug_corpus.person(bug, tree), recording, sources)


@dataclass
class Watched:
    """An oracle whose answers are held against what is known to be so."""

    oracle: Oracle
    case: Case
    mistakes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.oracle.name

    def judge(self, question: Question) -> Verdict | Judgement | None:
        """What the oracle says."""
        said = self.oracle.judge(question)
        verdict = said.verdict if isinstance(said, Judgement) else said
        known = self.case.truth[question.node]
        if verdict in (Verdict.RIGHT, Verdict.WRONG) and known not in (verdict, Verdict.UNKNOWN):
            text = f"{self.case.bug.name}: {self.name} says {verdict.value} of call {question.node}"
            self.mistakes.append(f"{text}, {question.call.equation()}")
        return said


def with_declared(case: Case) -> Session:
    """A session in which all that the code itself declares is asked first."""
    contracts = contract_oracle_for(case.tree)
    oracles: list[Oracle] = [] if contracts is None else [contracts]
    oracles.append(TypeHintOracle(case.tree))
    watched = [Watched(oracle, case) for oracle in oracles]
    session = debug(case, DEFAULT, watched)
    return replace(session, mistakes=[text for each in watched for text in each.mistakes])


def with_reference(case: Case, folder: Path) -> Session:
    """A session in which the repaired program is the reference version, and asked before."""
    output = folder / f"{case.bug.name}-whole.whence"
    tree = bug_corpus.record(case.bug, "buggy", output, whole=True)
    assert len(tree.columns) == len(case.tree.columns)
    oracle = reference_oracle_for(tree, str(case.bug.folder / "repaired.py"))
    try:
        watched = Watched(oracle, case)
        session = debug(replace(case, tree=tree), DEFAULT, [watched])
        reasons = "; ".join(why for why, _ in oracle.unjudged.most_common(2))
        not_known = reasons if session.questions else ""
        return replace(session, not_known=not_known, mistakes=watched.mistakes)
    finally:
        oracle.close()


@dataclass
class Row:
    """What a strategy took on all programs."""

    name: str
    sessions: list[Session]

    def cells(self) -> list[str]:
        count = len(self.sessions)
        questions = sum(each.questions for each in self.sessions)
        characters = sum(each.characters for each in self.sessions)
        return [
            self.name,
            f"{sum(each.located for each in self.sessions)} of {count}",
            f"{questions:,}",
            f"{sum(each.needed for each in self.sessions):,}",
            f"{questions / count:.1f}",
            f"{characters:,}",
            f"{sum(each.seconds for each in self.sessions):.2f}",
        ]


HEADER = ["strategy", "located", "questions", "needed", "a session", "characters", "seconds"]


def table(rows: list[list[str]], header: list[str]) -> str:
    """A table in Markdown whose columns are aligned as text too."""
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]

    def line(cells: list[str]) -> str:
        first, *rest = (
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "| " + " | ".join([first, *rest]) + " |"

    rule = (
        "|" + "|".join("-" * (w + 1) + ("-" if not n else ":") for n, w in enumerate(widths)) + "|"
    )
    return "\n".join([line(header), rule, *map(line, rows)])


def by_program(cases: list[Case], rows: list[Row], names: Sequence[str]) -> str:
    """The questions for each program, under some strategies."""
    chosen = [row for row in rows if row.name in names]
    cells = [
        [case.bug.name.replace("_", " "), case.bug.kind, f"{len(case.tree.columns) - 1}"]
        + [str(row.sessions[at].questions) for row in chosen]
        for at, case in enumerate(cases)
    ]
    return table(cells, ["program", "kind of bug", "calls", *(row.name for row in chosen)])


def reasons(cases: list[Case], rows: list[Row]) -> str:
    """What kept the reference from answering, program by program."""
    sessions = next((row.sessions for row in rows if row.name == REFERENCE), [])
    return "\n".join(
        f"- {case.bug.name.replace('_', ' ')}: {session.not_known}."
        for case, session in zip(cases, sessions, strict=False)
        if session.not_known
    )


def put(path: Path, text: str, begin: str = BEGIN) -> None:
    """Replace what stands between the markers."""
    whole = path.read_text()
    before, _, rest = whole.partition(begin)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{begin}\n{text}\n{END}{after}")


# --- bugs made by a machine ----------------------------------------------------------------------


@dataclass
class Compared:
    """A mutant, debugged without marks and with them."""

    bug: bug_corpus.Bug
    calls: int
    plain: Session
    marked: Session


def mutant_cases(package: str, count: int, say: Callable[[str], None]) -> Iterator[Case | None]:
    """So many mutants of a package, each gone when the next is taken; None for one left out."""
    found = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for bug in mutation.bugs(mutation.Subject(package, folder / "subject")):
            try:
                case = recorded(bug, folder)
            except (bug_corpus.Refused, ValueError) as why:
                say(f"left out: {bug.about}: {str(why).splitlines()[-1]:.60}")
                yield None
                continue
            found += 1
            yield case
            if found == count:
                return


def on_mutants(package: str, count: int, say: Callable[[str], None]) -> tuple[list[Compared], int]:
    """So many mutants of a package debugged, and how many were left out."""
    found: list[Compared] = []
    left_out = 0
    for case in mutant_cases(package, count, say):
        if case is None:
            left_out += 1
            continue
        plain, marked = debug(case, DEFAULT), debug(case, DEFAULT, marks=True)
        found.append(Compared(case.bug, len(case.tree.columns), plain, marked))
        say(f"{plain.questions:4} {marked.questions:4} with marks: {case.bug.about}")
    return found, left_out


MUTANT_HEADER = [
    "package", "bugs", "calls", "located", "questions", "characters", "with marks: located",
    "questions", "characters",
]  # fmt: skip


def _compared(name: str, rows: Sequence[Compared]) -> list[str]:
    cells = [name, f"{len(rows)}", f"{sum(each.calls for each in rows):,}"]
    for sessions in ([each.plain for each in rows], [each.marked for each in rows]):
        cells += [
            f"{sum(each.located for each in sessions)}",
            f"{sum(each.questions for each in sessions):,}",
            f"{sum(each.characters for each in sessions):,}",
        ]
    return cells


def mutants_main(given: argparse.Namespace, say: Callable[[str], None]) -> int:
    """The table of mutants."""
    packages = given.package or mutation.packages()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda name: on_mutants(name, given.mutants, say), packages))
    rows = [_compared(name, compared) for name, (compared, _) in zip(packages, found, strict=True)]
    every = [each for compared, _ in found for each in compared]
    rows.append(_compared("all", every))
    text = table(rows, MUTANT_HEADER)
    text += f"\n\n{sum(left_out for _, left_out in found)} others were left out."
    if given.write:
        put(given.write, text, BEGIN_MUTANTS)
    say(text)
    for each in every:
        for how, session in (("", each.plain), (" with marks", each.marked)):
            if not session.located:
                say(f"{each.bug.about}{how}: blamed {session.blamed or 'nobody'}")
    return 0 if all(each.plain.located and each.marked.located for each in every) else 1


def main(words: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    options = argparse.ArgumentParser(prog="whence bench questions")
    options.add_argument("--write", type=Path, metavar="FILE", help="put the tables into FILE")
    options.add_argument("--strategy", action="append", choices=sorted(STRATEGIES))
    options.add_argument("--bug", action="append", metavar="NAME", help="only this program")
    options.add_argument("--mutants", type=int, metavar="N", help="bugs made in each package")
    options.add_argument("--package", action="append", metavar="NAME", help="only this package")
    given = options.parse_args(words)
    if given.mutants:
        return mutants_main(given, say)
    bugs = [
        bug for bug in bug_corpus.corpus() if bug.can_run and bug.name in (given.bug or [bug.name])
    ]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        cases = list(pool.map(lambda bug: recorded(bug, Path(folder)), bugs))
        rows = [
            Row(name, [debug(case, name) for case in cases])
            for name in given.strategy or STRATEGIES
        ]
        rows.sort(key=lambda row: sum(each.questions for each in row.sessions))
        if DEFAULT in (given.strategy or STRATEGIES):
            rows.append(Row(DECLARED, list(map(with_declared, cases))))
            known = pool.map(lambda case: with_reference(case, Path(folder)), cases)
            rows.append(Row(REFERENCE, list(known)))
            marks = pool.map(lambda case: debug(case, DEFAULT, marks=True), cases)
            rows.append(Row(MARKS, list(marks)))
    for row in rows:
        for case, session in zip(cases, row.sessions, strict=True):
            for text in session.mistakes:
                say(f"not so: {text}")
            if not session.located:
                say(f"{row.name}: {case.bug.name}: blamed {session.blamed or 'nobody'}")
    summary = table([row.cells() for row in rows], HEADER)
    calls = sum(len(case.tree.columns) - 1 for case in cases)
    text = f"{len(cases)} programs, {calls:,} calls.\n\n{summary}\n\n"
    text += by_program(
        cases, rows, (DEFAULT, "optimal-divide-and-query", "top-down", REFERENCE, MARKS)
    )
    kept = reasons(cases, rows)
    if kept:
        text += (
            f"\n\nWhere a person was asked although there was a reference, this kept it:\n\n{kept}"
        )
    if given.write:
        put(given.write, text)
    say(text)
    sessions = [each for row in rows for each in row.sessions]
    return 0 if all(each.located and not each.mistakes for each in sessions) else 1


if __name__ == "__main__":
    sys.exit(main())
