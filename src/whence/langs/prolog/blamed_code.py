"""The code that events are blamed on: predicates as functions, clauses as rules.

An answer is blamed on its clause; a failure on the whole predicate, which lacks a clause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from whence.langs.prolog.port_events import GOAL, Predicate
from whence.langs.prolog.swipl_process import Engines, plain, quoted
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Port, PortEvent, TracedCall
from whence.model.call import Function, Location, Rule

_ADDED = "This clause was added while the program ran; what added it may be at fault."
_EMPTY = "No clause of it was loaded."
_MOST_LINES = 60


class BlamedCode:
    """The tables of functions and rules of one tree. They only grow."""

    def __init__(
        self, engines: Engines, trace: TraceTree, names: dict[str, str], goal: str
    ) -> None:
        """`names` maps resolved file names to the names that are shown."""
        self._engines = engines
        self._trace = trace
        self._names = names
        self._goal = goal
        self._functions: dict[Function, int] = {}
        self._rules: dict[Rule, int] = {}
        self._numbers: dict[tuple[Predicate, int | None, bool], tuple[int, int]] = {}
        self._clauses: dict[Predicate, str] = {}

    @property
    def functions(self) -> list[Function]:
        return list(self._functions)

    @property
    def rules(self) -> list[Rule]:
        return list(self._rules)

    def numbers(self, event: PortEvent, *, is_trusted: bool = False) -> tuple[int, int]:
        """The numbers of the function and the rule that an event is blamed on.

        `is_trusted`: the event only reads what the program added, so it is never blamed.
        """
        call = event.call
        clause = call.clause
        if event.port in (Port.EXIT, Port.FAIL, Port.FIRST):
            clause = call.answers[event.number].clause if event.port is Port.EXIT else None
        numbers = self._numbers.get((call.predicate, clause, is_trusted))
        if numbers is None:
            function = self._function(call.predicate)
            if is_trusted:
                function = replace(function, trusted=True)
            rule = self._rule(call.predicate, clause, function)
            numbers = (
                self._functions.setdefault(function, len(self._functions)),
                self._rules.setdefault(rule, len(self._rules)),
            )
            self._numbers[call.predicate, clause, is_trusted] = numbers
        return numbers

    def all_clauses(self, call: TracedCall) -> str:
        """The text of a predicate from its first clause to its last, up to a number of lines."""
        predicate = call.predicate
        if predicate not in self._clauses:
            name = f"{quoted(predicate.module)}, {quoted(predicate.name)}, {predicate.arity}"
            replies = self._engines.of(call.term).do(f"clause_lines({name})")
            lines = [int(line) for _, file, line in replies if plain(file) == predicate.file]
            last = max(lines, default=predicate.line)
            self._clauses[predicate] = _source_between(predicate.file, predicate.line, last)
        return self._clauses[predicate]

    def _function(self, predicate: Predicate) -> Function:
        if predicate.name == GOAL:
            return Function("user:goal/1", "goal", "user")
        return Function(
            f"{predicate.module}:{predicate.indicator}",
            predicate.indicator,
            predicate.module,
            self._location(predicate.file, predicate.line),
            trusted=not predicate.is_user,
        )

    def _rule(self, predicate: Predicate, number: int | None, function: Function) -> Rule:
        if predicate.name == GOAL:
            return Rule("the goal", function.name, source=self._goal)
        clause = self._trace.clause(number)
        if clause is None:
            is_empty = predicate.is_user and function.location is None
            source = _EMPTY if is_empty else ""
            return Rule(function.name, function.name, function.location, source)
        if not clause.line:
            return Rule(f"{function.name} clause #{clause.number}", function.name, source=_ADDED)
        return Rule(
            f"{function.name} clause {clause.nth}",
            function.name,
            self._location(clause.file, clause.line),
            _source_between(clause.file, clause.line, clause.line),
        )

    def _location(self, file: str, line: int) -> Location | None:
        return Location(self._names.get(file, file), line) if file and line else None


def _source_between(file: str, first: int, last: int) -> str:
    """The lines of a file from the start of one clause to the end of another."""
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    clauses = [*lines[first - 1 : last - 1], *_until_full_stop(lines[last - 1 :])]
    return "\n".join(clauses[:_MOST_LINES])


def _until_full_stop(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if line.split("%")[0].rstrip().endswith("."):
            return
