"""Requests about the terms and clauses that Prolog keeps: parts, variables, values.

A part is a *path* of argument numbers, as `arg/3` counts them, starting with the argument of the
goal. Users count the items of a list instead; this module turns `steps` of a `Value` into paths.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from typing import TypedDict

from whence.langs.prolog.swipl_process import Engines, plain
from whence.model.value import TEXT_PART, Kind, Steps, Value, atom

Path = tuple[int, ...]
TAIL = "[|]"
"""The step to the tail of a partial list."""
_HEAD, _REST = 1, 2


@dataclass(frozen=True, slots=True)
class Slot:
    """The state of a term at a path: bound, or a variable there or on the way."""

    is_bound: bool
    depth: int = 0
    """The number of steps along the path to the variable."""
    occurrences: tuple[Path, ...] = ()
    """The paths of the variable in the same term."""
    functor: str = ""
    arity: int = 0
    """The functor at the path, if it can be a goal."""

    def same(self, path: Path) -> list[Path]:
        """All paths in the term that will lead to the same part, once it is bound."""
        return [(*occurrence, *path[self.depth :]) for occurrence in self.occurrences]


@dataclass(frozen=True, slots=True)
class ClauseVariables:
    """Where the variables of a clause occur: in its head, the goal (), or in goals of its body."""

    occurrences: tuple[tuple[int, Path, Path], ...]
    """The variable, the goal, the path in the goal."""
    goals: dict[Path, tuple[str, int]]
    """The name and arity of each goal, by its path."""

    def text_at(self, goal: Path, path: Path) -> tuple[int, Path] | None:
        """The variable on the way to a part and the rest of the path; None if the clause's text
        has a term there."""
        for variable, in_goal, occurrence in self.occurrences:
            if in_goal == goal and path[: len(occurrence)] == occurrence:
                return variable, path[len(occurrence) :]
        return None

    def of(self, variable: int, goal: Path) -> list[Path]:
        """The paths of a variable in the head or a goal."""
        return [path for *key, path in self.occurrences if key == [variable, goal]]


class KeptTerms:
    """Asks Prolog and caches the replies."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._slots: dict[tuple[int, Path], Slot | None] = {}
        self._places: dict[int, ClauseVariables | None] = {}
        self._values: dict[tuple[int, Path | None], tuple[Value, ...]] = {}

    def slot(self, term: int, path: Path) -> Slot | None:
        """The state of a term at a path; None if there is no such path."""
        if (term, path) not in self._slots:
            request = f"slot({term}, {_shortened(path)})"
            [[_, state, depth, paths, name, arity]] = self._engines.of(term).do(request)
            occurrences = tuple(tuple(occurrence) for occurrence in json.loads(paths))
            slot = Slot(state == "bound", int(depth), occurrences, plain(name), int(arity))
            self._slots[term, path] = None if state == "gone" else slot
        return self._slots[term, path]

    def places(self, clause: int) -> ClauseVariables | None:
        """Where the variables of a clause occur; None if the clause was erased."""
        if clause not in self._places:
            [[_, occurrences, goals]] = self._engines.of(clause).do(f"places({clause})")
            is_gone = occurrences == "gone"
            self._places[clause] = None if is_gone else _variables(occurrences, plain(goals))
        return self._places[clause]

    def arguments(self, term: int) -> tuple[Value, ...]:
        """The arguments of a goal as values; large ones are cut."""
        return self._fetch(term, None)

    def part(self, term: int, path: Path) -> Value:
        """One part of a term as a value."""
        return self._fetch(term, path)[0]

    def _fetch(self, term: int, path: Path | None) -> tuple[Value, ...]:
        if (term, path) not in self._values:
            which = "all" if path is None else _shortened(path)
            [[_, text]] = self._engines.of(term).do(f"values({term}, {which})")
            self._values[term, path] = tuple(_value(item) for item in json.loads(plain(text)))
        return self._values[term, path]


def _shortened(path: Path) -> str:
    """A path as Prolog reads it, run-length encoded."""
    return f"[{','.join(f'{nth}-{len(list(same))}' for nth, same in groupby(path))}]"


def _variables(occurrences: str, goals: str) -> ClauseVariables:
    triples = json.loads(occurrences)
    return ClauseVariables(
        tuple((variable, tuple(goal), tuple(path)) for variable, goal, path in triples),
        {tuple(path): (name, arity) for path, name, arity in json.loads(goals)},
    )


class _Compound(TypedDict, total=False):
    """A compound term (functor, arguments) or a list (items, omitted, perhaps tail) in JSON."""

    functor: str
    arguments: list[_Compound | str]
    items: list[_Compound | str]
    omitted: int
    tail: _Compound | str


def _value(item: _Compound | str) -> Value:
    if isinstance(item, str):
        return atom(item)
    if "functor" in item:
        return Value(Kind.TERM, item["functor"], _numbered(item["arguments"]))
    parts = _numbered(item["items"])
    if "tail" in item and not item["omitted"]:
        parts += ((TAIL, _value(item["tail"])),)
    return Value(Kind.LIST, "", parts, item["omitted"])


def _numbered(items: list[_Compound | str]) -> tuple[tuple[str, Value], ...]:
    return tuple((f"[{n}]", _value(item)) for n, item in enumerate(items, 1))


def path_of(value: Value, steps: Steps) -> Path:
    """The path that steps from a value lead along: the third item of a list is its 2, 2, 1."""
    path: list[int] = []
    for step in steps:
        if TEXT_PART.fullmatch(step):
            break  # the characters of a text have the origin of the text
        if value.kind is not Kind.LIST:
            path.append(int(step[1:-1]))
        elif step == TAIL:
            path += [_REST] * (len(value.parts) - 1)
        else:
            path += [_REST] * (int(step[1:-1]) - 1) + [_HEAD]
        value = value.part((step,))
    return tuple(path)


def steps_of(value: Value, path: Path) -> Steps:
    """The steps from a value along a path, as far as the value has such parts."""
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
