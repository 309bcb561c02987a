"""The lines that capture.pl writes, read into events and the tables that they refer to.

An event names its call by the stack frame, a number that is used again as soon as the frame is
gone; `trace_tree.py` knows which call is meant. Terms are numbers, under which Prolog keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache

from whence.errors import WhenceError
from whence.langs.prolog.engine import Engine, plain, quoted

GOAL = "whence goal"
"""The predicate that a goal is the body of which is not one call of a user's predicate."""


class ConstructKind(IntEnum):
    """A control construct that the compiler puts in line."""

    OR = 0
    NOT = 1
    IF = 2
    SOFT_IF = 3


@dataclass(frozen=True, slots=True)
class Construct:
    """Where it starts, where it goes on when its (first) goal failed, where its condition ends.

    Places are program counters. A call's is the one after it, so a call is in the condition when
    `start < pc <= condition_end`.
    """

    start: int
    otherwise: int
    kind: ConstructKind
    condition_end: int

    def holds(self, pc: int) -> bool:
        """Whether a call stands in what failed when execution went on at `otherwise`."""
        return self.start < pc <= self.condition_end


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate that was called."""

    module: str
    name: str
    arity: int
    is_user: bool
    is_tabled: bool
    file: str
    line: int

    @property
    def indicator(self) -> str:
        return f"{self.name}/{self.arity}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A goal of a clause's body: its path in the clause, and the variables in each argument."""

    path: tuple[int, ...]
    variables: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: its place, and what of its text the slices need."""

    number: int
    nth: int
    file: str
    line: int
    head: tuple[frozenset[int], ...]
    literals: tuple[Literal, ...]
    constructs: tuple[Construct, ...]
    cuts: tuple[int, ...]
    paths: dict[int, tuple[int, ...]]
    """The path of the literal that a call's program counter stands for."""

    def construct_at(self, otherwise: int) -> Construct | None:
        """The innermost construct that goes on at a program counter."""
        found = [each for each in self.constructs if each.otherwise == otherwise]
        return max(found, key=lambda each: each.start, default=None)


@dataclass(slots=True)
class CallEvent:
    """A call; `caller` is a frame, or 0 for the root."""

    frame: int
    caller: int
    pc: int
    predicate: int
    term: int
    states: str


@dataclass(slots=True)
class UnifyEvent:
    """The head of a clause was unified with a call."""

    frame: int
    clause: int


@dataclass(slots=True)
class ExitEvent:
    """An answer; `more` says that there may be further ones."""

    frame: int
    more: bool
    term: int
    states: str


@dataclass(slots=True)
class FailEvent:
    """No (further) answer."""

    frame: int


@dataclass(slots=True)
class RedoEvent:
    """Execution goes on in a frame: at a place of its clause, or (0) wherever it left off."""

    frame: int
    pc: int


@dataclass(slots=True)
class RaiseEvent:
    """An exception leaves a call."""

    frame: int
    term: int


@dataclass(slots=True)
class CutEvent:
    """A cut was run; `pruned` are frames and the clauses that they will not try."""

    frame: int
    pc: int
    pruned: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class EffortEvent:
    """A call that is not looked into: how many inferences were made up to now."""

    frame: int
    inferences: int


Event = (
    CallEvent | UnifyEvent | ExitEvent | FailEvent | RedoEvent | RaiseEvent | CutEvent | EffortEvent
)


@dataclass
class Run:
    """What became of a goal, besides the events: its answers and how it ended."""

    predicates: dict[int, Predicate] = field(default_factory=dict)
    clauses: dict[int, Clause] = field(default_factory=dict)
    answers: list[str] = field(default_factory=list)
    names: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """At which paths in the goal its named variables stand."""
    raised: int | None = None
    exhausted: bool = False
    """Whether the last answer was the last there is."""
    stopped: str = ""
    """Which limit stopped it: `events`, `depth` or `seconds`."""


@dataclass(frozen=True)
class RunLimits:
    """When a run is stopped, and from which depth on it is not looked at; 0 is never."""

    events: int = 0
    depth: int = 0
    seconds: float = 0
    skip_below: int = 0
    opened: tuple[int, ...] = ()
    """The numbers of the calls that are looked into although they are as deep as that."""

    def __str__(self) -> str:
        return (
            f"limits({self.events}, {self.depth}, {self.seconds:g}, {self.skip_below}, "
            f"{list(self.opened)})"
        )


NO_LIMITS = RunLimits()


def run_goal(
    engine: Engine, goal: str, run: Run, *, solutions: int, limits: RunLimits = NO_LIMITS
) -> Iterator[Event]:
    """Run a goal for a number of answers; the tables and answers are put into `run`."""
    return read(engine.stream(f"run({quoted(goal)}, {solutions}, {limits})"), run)


def read(lines: Iterable[list[str]], run: Run) -> Iterator[Event]:
    """Events from lines; what is not an event goes into the run's tables.

    The first letters are in the order of how often they come; a trace has millions of lines.
    """
    for fields in lines:
        kind = fields[0]
        if kind == "c":
            _, frame, caller, pc, predicate, term, states = fields
            yield CallEvent(
                int(frame), int(caller), int(pc), int(predicate), int(term), _states(states)
            )
        elif kind == "x":
            _, frame, more, term, states = fields
            yield ExitEvent(int(frame), more == "1", int(term), _states(states))
        elif kind == "u":
            yield UnifyEvent(int(fields[1]), int(fields[2]))
        elif kind == "f":
            yield FailEvent(int(fields[1]))
        elif kind == "r":
            yield RedoEvent(int(fields[1]), int(fields[2]))
        elif kind == "t":
            pairs = tuple((of, clause) for of, clause in json.loads(fields[3]))
            yield CutEvent(int(fields[1]), int(fields[2]), pairs)
        elif kind == "e":
            yield RaiseEvent(int(fields[1]), int(fields[2]))
        elif kind == "i":
            yield EffortEvent(int(fields[1]), int(fields[2]))
        else:
            _take_note(fields, run)


@cache
def _states(number: str) -> str:
    """A letter for each argument: `v`ariable, `g`round or `p`artly known."""
    bits = f"{int(number):b}"[1:]
    return "".join("vgp"[int(bits[at : at + 2], 2)] for at in range(0, len(bits), 2))


def _take_note(fields: list[str], run: Run) -> None:
    """What is told besides events."""
    match fields:
        case ["predicate", *rest]:
            run.predicates[int(rest[0])] = _predicate(rest)
        case ["clause", *rest]:
            run.clauses[int(rest[0])] = _clause(rest)
        case ["name", name, places]:
            run.names[plain(name)] = tuple(tuple(each) for each in json.loads(places))
        case ["answer", text]:
            run.answers.append(plain(text))
        case ["raised", term]:
            run.raised = int(term)
        case ["end", how]:
            run.exhausted = how == "exhausted"
        case ["stopped", why]:
            run.stopped = why
        case ["hook", text]:
            raise WhenceError(f"the capture of the run failed: {plain(text)}")
        case _:
            raise WhenceError(f"the capture of the run wrote what nobody can read: {fields}")


def _predicate(fields: list[str]) -> Predicate:
    _, kind, arity, line, module, name, file = fields
    return Predicate(
        plain(module),
        plain(name),
        int(arity),
        kind != "library",
        kind == "tabled",
        plain(file),
        int(line),
    )


def _clause(fields: list[str]) -> Clause:
    number, nth, line, head, goals, constructs, cuts, paths, file = fields
    return Clause(
        int(number),
        int(nth),
        plain(file),
        int(line),
        tuple(frozenset(each) for each in json.loads(head)),
        tuple(
            Literal(tuple(path), tuple(frozenset(each) for each in arguments))
            for path, arguments in json.loads(goals)
        ),
        tuple(
            Construct(start, otherwise, ConstructKind(kind), end)
            for start, otherwise, kind, end in json.loads(constructs)
        ),
        tuple(json.loads(cuts)),
        {pc: tuple(path) for pc, path in json.loads(paths)},
    )
