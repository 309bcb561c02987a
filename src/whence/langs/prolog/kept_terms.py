"""What can be asked about the terms and clauses that Prolog keeps: parts, variables, values.

A part is a *path* of argument numbers, as `arg/3` counts them, the goal's own argument first. A
person counts the items of a list instead; `steps` of a `Value` are turned into paths here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from whence.langs.prolog.swipl_process import Engines, plain
from whence.model.value import TEXT_PART, Kind, Steps, Value, atom

Path = tuple[int, ...]
TAIL = "[|]"
"""The step to what a partial list ends with."""
_HEAD, _REST = 1, 2


@dataclass(frozen=True, slots=True)
class Slot:
    """What a term has at a path: something, or a variable there or on the way."""

    is_bound: bool
    depth: int = 0
    """How far along the path the variable stands."""
    places: tuple[Path, ...] = ()
    """Where in the same term the variable stands."""
    functor: str = ""
    arity: int = 0
    """What is there, if it can be a goal."""

    def same(self, path: Path) -> list[Path]:
        """All paths in the term that lead to what the path leads to, once that is bound."""
        return [(*place, *path[self.depth :]) for place in self.places]


@dataclass(frozen=True, slots=True)
class Places:
    """Where a clause's variables stand; () is its head, else the path of a goal of its body."""

    known: tuple[tuple[int, Path, Path], ...]
    goals: dict[Path, tuple[str, int]]
    """The predicate that each goal names, by the goal's path."""

    def text_at(self, goal: Path, path: Path) -> tuple[int, Path] | None:
        """The variable that stands on the way to a part, and the rest of the way; None if the
        clause's text itself has something there."""
        for variable, where, place in self.known:
            if where == goal and path[: len(place)] == place:
                return variable, path[len(place) :]
        return None

    def of(self, variable: int, goal: Path) -> list[Path]:
        """Where a variable stands in the head or a goal."""
        return [place for each, where, place in self.known if (each, where) == (variable, goal)]


class KeptTerms:
    """Asks Prolog, and remembers what it said."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._slots: dict[tuple[int, Path], Slot | None] = {}
        self._places: dict[int, Places | None] = {}
        self._values: dict[tuple[int, Path | None], tuple[Value, ...]] = {}

    def slot(self, term: int, path: Path) -> Slot | None:
        """What a term has at a path; None if the path leads nowhere."""
        if (term, path) not in self._slots:
            request = f"slot({term}, {_shortened(path)})"
            [[_, how, depth, places, name, arity]] = self._engines.of(term).do(request)
            found = tuple(tuple(each) for each in json.loads(places))
            slot = Slot(how == "bound", int(depth), found, plain(name), int(arity))
            self._slots[term, path] = None if how == "gone" else slot
        return self._slots[term, path]

    def places(self, clause: int) -> Places | None:
        """Where the variables of a clause stand; None if it is there no more."""
        if clause not in self._places:
            [[_, told, goals]] = self._engines.of(clause).do(f"places({clause})")
            is_gone = told == "gone"
            self._places[clause] = None if is_gone else _places(told, plain(goals))
        return self._places[clause]

    def arguments(self, term: int) -> tuple[Value, ...]:
        """The arguments of a goal as values; large ones are cut."""
        return self._told(term, None)

    def part(self, term: int, path: Path) -> Value:
        """One part of a term as a value."""
        return self._told(term, path)[0]

    def _told(self, term: int, path: Path | None) -> tuple[Value, ...]:
        if (term, path) not in self._values:
            which = "all" if path is None else _shortened(path)
            [[_, told]] = self._engines.of(term).do(f"values({term}, {which})")
            self._values[term, path] = tuple(_value(each) for each in json.loads(plain(told)))
        return self._values[term, path]


def _shortened(path: Path) -> str:
    """A path as Prolog reads it: which argument, how often in a row."""
    return f"[{','.join(f'{nth}-{len(list(same))}' for nth, same in groupby(path))}]"


def _places(told: str, goals: str) -> Places:
    return Places(
        tuple((variable, tuple(goal), tuple(path)) for variable, goal, path in json.loads(told)),
        {tuple(path): (name, arity) for path, name, arity in json.loads(goals)},
    )


def _value(told: Any) -> Value:
    if isinstance(told, str):
        return atom(told)
    if "functor" in told:
        parts = tuple((f"[{n}]", _value(each)) for n, each in enumerate(told["arguments"], 1))
        return Value(Kind.TERM, told["functor"], parts)
    parts = tuple((f"[{n}]", _value(each)) for n, each in enumerate(told["items"], 1))
    if "tail" in told and not told["omitted"]:
        parts += ((TAIL, _value(told["tail"])),)
    return Value(Kind.LIST, "", parts, told["omitted"])


def path_of(value: Value, steps: Steps) -> Path:
    """The path that steps from a value lead along: the third item of a list is its 2, 2, 1."""
    path: list[int] = []
    for step in steps:
        if TEXT_PART.fullmatch(step):
            break  # letters of a text came with the text
        if value.kind is not Kind.LIST:
            path.append(int(step[1:-1]))
        elif step == TAIL:
            path += [_REST] * (len(value.parts) - 1)
        else:
            path += [_REST] * (int(step[1:-1]) - 1) + [_HEAD]
        value = value.part((step,))
    return tuple(path)


def steps_of(value: Value, path: Path) -> Steps:
    """The steps from a value along a path, as far as they lead to parts of it."""
    steps: list[str] = []
    while path:
        if value.kind is Kind.LIST:
            item = next((n for n, nth in enumerate(path) if nth == _HEAD), None)
            step, path = ("", ()) if item is None else (f"[{item + 1}]", path[item + 1 :])
        else:
            step, path = f"[{path[0]}]", path[1:]
        if step not in dict(value.parts):
            break
        steps.append(step)
        value = value.part((step,))
    return tuple(steps)
