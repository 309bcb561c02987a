"""The plunit tests of a program: passing tests judge calls, a failing test gives the symptom.

The tests run once, in a process of their own, at the first question (`testing.pl`). A passing test
answers a question only if its own body made the same call and its text fixes the outcome. It says
nothing about the calls below, since two faults may cancel out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.side_process import SideProcess
from whence.langs.prolog.skipped_calls import Preparation
from whence.langs.prolog.swipl_process import Engine, EngineProblem, plain, quoted
from whence.model.question import Question
from whence.model.verdict import Judgement, Verdict
from whence.tree.column_tree import ColumnTree

NAME = "tests"
SECONDS = 60.0
_PASSED, _LEFT_OUT = "passed", "left_out"


@dataclass(frozen=True, slots=True)
class Test:
    """A test, or one instance of it, and how it ended.

    `ended` is `passed`, `left_out`, or the failure: an answer (the `number`-th) is `wrong`, one is
    `missing`, it `raised`, was `endless`, or gave its answers in another `order`.
    """

    __test__ = False

    unit: str
    name: str
    instance: int
    file: str
    line: int
    ended: str
    number: int
    part: str
    """The part of the answer that is wrong, if that is known."""
    missing: str
    """The answer that is missing, if that is known."""
    why: str

    def __str__(self) -> str:
        nth = f" (instance {self.instance})" if self.instance else ""
        return f"{self.unit}:{self.name}{nth}"

    @property
    def fails(self) -> bool:
        return self.ended not in (_PASSED, _LEFT_OUT)


class Tests:
    """The tests of a program: those in its own file, and those in other files."""

    __test__ = False

    def __init__(self, program: Path, files: Sequence[Path], seconds: float = SECONDS) -> None:
        for file in files:
            if not file.is_file():
                raise WhenceError(f"{file}: there is no such file with tests")
        self._program = program
        self._files = [*files]
        self.process = SideProcess(self._load, seconds)
        self._results: list[Test] | None = None
        self.problem = ""
        """Why they could not be run."""

    def results(self) -> list[Test]:
        """All tests and their outcomes; the first call runs them."""
        if self._results is None:
            self._results = []
            try:
                self._results = [_test(line) for line in self.process.asked("tests")]
            except EngineProblem as problem:
                self.problem = str(problem)
        return self._results

    def shows(self, request: str) -> str | None:
        """The passing test that shows an event to be right; None if there is none."""
        if not self.results():
            return None
        try:
            lines = self.process.asked(request)
        except EngineProblem as problem:
            self._results, self.problem = [], str(problem)
            return None
        return plain(lines[0][1]) if lines else None

    def failing(self, wanted: str) -> Test:
        """The first failing test that is `wanted`: `unit:name`, a unit, or a name."""
        matching = [
            test
            for test in self.results()
            if wanted in (f"{test.unit}:{test.name}", test.unit, test.name)
        ]
        if self.problem:
            raise WhenceError(f"the tests could not be run: {self.problem}")
        if not matching:
            names = ", ".join(dict.fromkeys(f"{test.unit}:{test.name}" for test in self.results()))
            raise UsageError(f"there is no test {wanted}; there is {names or 'none'}")
        failing = next((test for test in matching if test.fails), None)
        if failing is not None:
            return failing
        left_out = [test for test in matching if test.ended == _LEFT_OUT]
        if len(left_out) == len(matching):
            raise UsageError(f"test {left_out[0]} is left out: {left_out[0].why}")
        raise UsageError(f"{wanted} passes: there is nothing to find")

    def preparation(self, test: Test) -> Preparation:
        """The preparation of a process that runs a test's body as a goal."""
        load = partial(self._load_tests, request="load_tests_again")
        name = f"{quoted(test.unit)}, {quoted(test.name)}, {test.line}, {test.instance}"
        return Preparation(load, name)

    def close(self) -> None:
        """End their process."""
        self.process.close()

    def _load(self, engine: Engine) -> None:
        engine.load_again(self._program)
        self._load_tests(engine)

    def _load_tests(self, engine: Engine, request: str = "load_tests") -> None:
        files = ", ".join(quoted(str(file.resolve())) for file in self._files)
        engine.do(f"{request}({quoted(str(self._program.resolve()))}, [{files}])")


def find_tests(program: Path, named: Sequence[Path]) -> Tests | None:
    """The tests in the named files, else those beside or in the program; None if it has none."""
    files = [*named]
    beside = program.with_suffix(".plt")
    if not files and beside != program and beside.is_file():
        files.append(beside)
    try:
        has_own = ":- begin_tests(" in program.read_text(encoding="utf-8", errors="replace")
    except OSError:
        has_own = False
    return Tests(program, files) if files or has_own else None


class TestOracle:
    """Judges calls by passing tests."""

    __test__ = False
    name = NAME

    def __init__(self, tests: Tests, execution: GoalExecution) -> None:
        self._tests = tests
        self._execution = execution
        tests.process.note_goal(execution.goal)

    def judge(self, question: Question) -> Judgement | None:
        """Right if a test made the same call and its text fixes this outcome."""
        source = self._execution.source
        event = source.event(question.node)
        texts = source.judged(event)
        if texts is None:
            return None
        goal, *items = (quoted(text) for text in texts)
        module = quoted(event.call.predicate.module)
        who = self._tests.shows(
            f"tested({event.port.value}, {module}, {goal}, [{', '.join(items)}])"
        )
        return None if who is None else Judgement(Verdict.RIGHT, who)

    def notes(self) -> list[str]:
        """Why the tests could not be asked."""
        problem = self._tests.problem
        return [f"The tests could not be run: {problem}."] if problem else []

    def close(self) -> None:
        """End their process."""
        self._tests.close()


def tree_of_failure(
    execution: GoalExecution, test: Test, note: Callable[[str], None]
) -> tuple[ColumnTree, str | None]:
    """The tree of a test's failure, and the wrong part of the answer, if that is known."""
    if test.ended == "order":
        raise UsageError(
            f"test {test} fails by the order of its answers, or how often they come, which is not "
            f"judged: {test.why}"
        )
    note(f"Taken from the test: {test.why}.")
    try:
        match test.ended:
            case "wrong":
                return execution.wrong(test.number), test.part or None
            case "raised":
                return execution.raising(), None
            case "endless":
                return execution.endless(), None
        return execution.missed(test.missing, note), None
    except UsageError as problem:
        raise WhenceError(
            f"test {test} had another outcome when it was traced: {problem}"
        ) from problem


def _test(fields: Sequence[str]) -> Test:
    _, unit, name, instance, file, line, ended, number, part, missing, why = map(plain, fields)
    return Test(unit, name, int(instance), file, int(line), ended, int(number), part, missing, why)
