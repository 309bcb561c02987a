"""The lines that capture.pl writes: events, and the tables that they refer to.

An event names its call by the stack frame, a number that is used again as soon as the frame is
gone; `trace_tree.py` knows which call is meant. Terms are numbers, under which Prolog keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Protocol

from whence.errors import WhenceError
from whence.langs.prolog.swipl_process import Engine, plain, quoted

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
    negations: tuple[Construct, ...]
    """Those of the constructs that are negations."""
    conditions: tuple[Construct, ...]
    """Those that keep the first answer of their condition."""

    def construct_at(self, otherwise: int) -> Construct | None:
        """The innermost construct that goes on at a program counter."""
        found = [each for each in self.constructs if each.otherwise == otherwise]
        return max(found, key=lambda each: each.start, default=None)


class Events(Protocol):
    """Who is told of the events of a run, one after the other. A call is known by its frame.

    They are told by calls, as a trace has millions of them and an object for each takes its time.
    """

    def call(
        self, frame: int, caller: int, pc: int, predicate: int, term: int, states: str
    ) -> None:
        """A call; `caller` is a frame, or 0 for the root."""

    def unify(self, frame: int, clause: int) -> None:
        """The head of a clause was unified with a call."""

    def exit(self, frame: int, more: bool, term: int, states: str) -> None:
        """An answer; `more` says that there may be further ones."""

    def fail(self, frame: int) -> None:
        """No (further) answer."""

    def redo(self, frame: int, pc: int) -> None:
        """Execution goes on in a frame: at a place of its clause, or (0) wherever it left off."""

    def exception(self, frame: int, term: int, refused: bool) -> None:
        """An exception leaves a call; `refused`: because one below it left a way to go on."""

    def cut(self, frame: int, pc: int, pruned: Sequence[tuple[int, int]]) -> None:
        """A cut was run; `pruned` are frames and the clauses that they will not try."""

    def effort(self, frame: int, inferences: int) -> None:
        """A call that is not looked into: how many inferences were made up to now."""


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
    unseen: list[str] = field(default_factory=list)
    """What ran but was not looked into, such as engines and threads."""


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
    engine: Engine, goal: str, *, solutions: int, limits: RunLimits = NO_LIMITS
) -> Iterator[list[str]]:
    """Run a goal for a number of answers: the lines that `read` understands."""
    return engine.stream(f"run({quoted(goal)}, {solutions}, {limits})")


def read(lines: Iterable[list[str]], run: Run, events: Events) -> int:
    """Tell of the events in lines, and how many they were; what else they say goes into `run`.

    The first letters are in the order of how often they come.
    """
    count = notes = 0
    for count, fields in enumerate(lines, 1):  # noqa: B007
        kind = fields[0]
        if kind == "c":
            _, frame, caller, pc, predicate, term, states = fields
            events.call(
                int(frame), int(caller), int(pc), int(predicate), int(term), _states(states)
            )
        elif kind == "x":
            _, frame, more, term, states = fields
            events.exit(int(frame), more == "1", int(term), _states(states))
        elif kind == "u":
            events.unify(int(fields[1]), int(fields[2]))
        elif kind == "f":
            events.fail(int(fields[1]))
        elif kind == "r":
            events.redo(int(fields[1]), int(fields[2]))
        elif kind == "t":
            pairs = [(of, clause) for of, clause in json.loads(fields[3])]
            events.cut(int(fields[1]), int(fields[2]), pairs)
        elif kind == "e":
            events.exception(int(fields[1]), int(fields[2]), fields[3] == "1")
        elif kind == "i":
            events.effort(int(fields[1]), int(fields[2]))
        else:
            notes += 1
            _take_note(fields, run)
    return count - notes


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
        case ["unseen", what]:
            run.unseen.append(plain(what))
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
    number, nth, line, head, goals, places, cuts, paths, file = fields
    constructs = tuple(
        Construct(start, otherwise, ConstructKind(kind), end)
        for start, otherwise, kind, end in json.loads(places)
    )
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
        constructs,
        tuple(json.loads(cuts)),
        {pc: tuple(path) for pc, path in json.loads(paths)},
        tuple(each for each in constructs if each.kind is ConstructKind.NOT),
        tuple(each for each in constructs if each.kind is ConstructKind.IF),
    )
