"""Finds where a part of a term was bound, by single steps back through clauses.

Citation: MacLarty, Somogyi & Brown 2005, section 5, for terms that are bound by unification. A part
that was bound at the call came from the caller. Any other was bound inside the call: by the head of
its clause or by one of the goals of the body, or it entered through another argument.

Aliases are found in recorded terms: all occurrences of a variable in a term are the same part. They
are followed goal by goal, from the head on, until one is bound. A part that is bound out of sight
(by a constraint, or by a goal constructed at run time) has an unknown origin; its step is None.

Cost: one request to Prolog for each goal that mentions the part, at each step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whence.langs.prolog.kept_terms import ClauseVariables, KeptTerms, Path
from whence.langs.prolog.port_events import GOAL
from whence.langs.prolog.traced_call import Branch, Port, PortEvent, TracedCall

HEAD: Path = ()

Alias = tuple[int, Path]
"""A variable of a clause, and the path of a part in its value."""


@dataclass(frozen=True, slots=True)
class Made:
    """The text of the call's clause contains it, or a library predicate created it for the call."""

    call: TracedCall
    by: TracedCall | None = None


@dataclass(frozen=True, slots=True)
class CameIn:
    """The call received it as this part of its arguments."""

    call: TracedCall
    path: Path


@dataclass(frozen=True, slots=True)
class Inside:
    """It is this part of the arguments in this answer of a goal of the call's clause."""

    call: TracedCall
    event: PortEvent
    path: Path


Step = Made | CameIn | Inside


@dataclass(frozen=True, slots=True)
class WrittenGoal:
    """How a goal is written in a clause: as it was called, or as `call/N` of it."""

    given: int | None = None
    """For `call/N`: the number of arguments of its first argument."""

    @classmethod
    def of(cls, places: ClauseVariables, goal: TracedCall) -> WrittenGoal | None:
        """None if the text does not show the goal's arguments."""
        name, arity = places.goals.get(goal.path, ("", 0))
        if (name, arity) == (goal.predicate.name, goal.predicate.arity):
            return cls()
        given = goal.predicate.arity - (arity - 1)
        return cls(given) if name == "call" and arity > 1 and given >= 0 else None

    def in_goal(self, path: Path) -> Path | None:
        """A part of the text as a part of the goal's arguments; None if it is in none."""
        if self.given is None:
            return path
        if path[0] > 1:
            return (self.given + path[0] - 1, *path[1:])
        return path[1:] if len(path) > 1 and path[1] <= self.given else None

    def in_text(self, path: Path) -> Path:
        """A part of the goal's arguments as a part of the text."""
        if self.given is None:
            return path
        is_given = path[0] <= self.given
        return (1, *path) if is_given else (path[0] - self.given + 1, *path[1:])


class SubtermOrigin:
    """Steps back along one branch."""

    def __init__(self, terms: KeptTerms, branch: Branch) -> None:
        self._terms = terms
        self.branch = branch
        self._library = _Library(terms, branch)

    def is_given(self, call: TracedCall, path: Path) -> bool | None:
        """Whether a part was bound at the call; None if there is no such path."""
        return _is_given(self._terms, call, path)

    def inside(self, call: TracedCall, path: Path) -> Step | None:
        """The origin of a part of an answer that was unbound at the call."""
        if not call.predicate.is_user:
            return self._library.inside(call, path)
        places = self._text(call)
        slot = self._terms.slot(call.term, in_term(call, path))
        if places is None or slot is None or slot.is_bound:
            return None
        aliases: set[Alias] = set()
        for same in self._same(call, slot.same(in_term(call, path))):
            alias = places.text_at(HEAD, same)
            if alias is None:
                return Made(call)
            aliases.add(alias)
        return self._bound(call, places, aliases, self.branch.goals(call))

    def before(self, goal: TracedCall, path: Path) -> Step | None:
        """The origin of a part that was bound when a goal was called: a step in its caller."""
        caller = goal.caller
        if caller is None:
            return None
        if not caller.predicate.is_user:
            return self._library.before(caller, goal, path)
        places = self._text(caller)
        written = None if places is None else WrittenGoal.of(places, goal)
        if places is None or written is None:
            return None
        alias = places.text_at(goal.path, written.in_text(path))
        if alias is None:
            return Made(caller)
        return self._bound(caller, places, {alias}, self.branch.goals(caller, goal))

    # --- in a clause -----------------------------------------------------------------------------

    def _text(self, call: TracedCall) -> ClauseVariables | None:
        clause = self.branch.clause(call)
        return None if clause is None else self._terms.places(clause)

    def _bound(
        self,
        call: TracedCall,
        places: ClauseVariables,
        aliases: set[Alias],
        goals: Sequence[TracedCall],
    ) -> Step | None:
        """What bound the part that the aliases name: the caller, the head, or one of the goals."""
        step = self._in_head(call, places, aliases)
        if step is not None:
            return step
        for goal in goals:
            event, written = self.branch.answer(goal), WrittenGoal.of(places, goal)
            if event is None or written is None:
                continue
            todo = list(aliases)
            while todo:
                variable, rest = todo.pop()
                for place in places.of(variable, goal.path):
                    path = written.in_goal((*place, *rest))
                    if path is None:
                        continue
                    before = self._terms.slot(goal.term, path)
                    after = self._terms.slot(goal.answers[event.number].term, path)
                    if before is None or after is None or before.is_bound:
                        return None
                    if after.is_bound:
                        return Inside(call, event, path)
                    for same in (*before.same(path), *after.same(path)):
                        alias = places.text_at(goal.path, written.in_text(same))
                        if alias is not None and alias not in aliases:
                            aliases.add(alias)
                            todo.append(alias)
        return None

    def _in_head(
        self, call: TracedCall, places: ClauseVariables, aliases: set[Alias]
    ) -> Made | CameIn | None:
        """The step if the part was bound before the body; adds the aliases that the head makes."""
        todo = list(aliases)
        while todo:
            variable, rest = todo.pop()
            for place in places.of(variable, HEAD):
                path = (*place, *rest)
                slot = self._terms.slot(call.term, in_term(call, path))
                if slot is None:
                    continue
                if slot.is_bound:
                    return CameIn(call, path)
                for same in self._same(call, slot.same(in_term(call, path))):
                    alias = places.text_at(HEAD, same)
                    if alias is None:
                        return Made(call)
                    if alias not in aliases:
                        aliases.add(alias)
                        todo.append(alias)
        return None

    def _same(self, call: TracedCall, paths: Iterable[Path]) -> list[Path]:
        """Paths in the term of a call as paths in the head of its clause."""
        is_goal = call.predicate.name == GOAL
        return [(1, *path) if is_goal else path for path in paths]


# --- the library ---------------------------------------------------------------------------------

_CALLS_ONE = {"call", "once", "ignore", "catch", "phrase"}
_UNIFIES = "="


class _Library:
    """Steps in library predicates, whose clauses are out of sight: known by name only."""

    def __init__(self, terms: KeptTerms, branch: Branch) -> None:
        self._terms = terms
        self._branch = branch

    def inside(self, call: TracedCall, path: Path) -> Step | None:
        """The origin of a part of an answer that was unbound at the call."""
        name = call.predicate.name
        if name == _UNIFIES:
            return self._unified(call, path)
        is_spine = name == "maplist" and path[0] > 1 and _item(path[1:])[0] is None
        if not call.log or is_spine:
            return Made(call.caller, call) if call.caller is not None else None
        if name == "findall" and path[0] == len(call.states) == _FINDALL:
            return self._collected(call, path)
        binding = self._goal_inside(call, path)
        if binding is None:
            return None
        goal, there = binding
        event = self._branch.answer(goal)
        was_bound = _is_given(self._terms, goal, there)
        return None if event is None or was_bound is not False else Inside(call, event, there)

    def before(self, caller: TracedCall, goal: TracedCall, path: Path) -> Step | None:
        """The origin of a part that was bound when the predicate called a goal."""
        name, goals = caller.predicate.name, self._branch.goals(caller)
        given = self._given_arguments(caller, goal)
        if given is None:
            return None
        there: Path | None = None
        if name in _CALLS_ONE or path[0] <= given:
            there = WrittenGoal(given).in_text(path)
        elif name == "maplist" or (name == "foldl" and path[0] == given + 1):
            there = (path[0] - given + 1, *[2] * goals.index(goal), 1, *path[1:])
        elif name == "foldl" and path[0] == given + 2 and len(caller.states) == _FOLDL:
            if goal is not goals[0]:
                event = self._branch.answer(goals[goals.index(goal) - 1])
                return Inside(caller, event, (given + 3, *path[1:])) if event else None
            there = (3, *path[1:])
        if there is None or not _is_given(self._terms, caller, there):
            return None
        return CameIn(caller, there)

    def _goal_inside(self, call: TracedCall, path: Path) -> tuple[TracedCall, Path] | None:
        """The goal in which a part was bound, and its path there."""
        name, goals = call.predicate.name, self._branch.goals(call)
        given = self._given_arguments(call, goals[0]) if goals else None
        if given is None:
            return None
        if name in _CALLS_ONE and len(goals) == 1:
            there = WrittenGoal(given).in_goal(path)
            return None if there is None else (goals[0], there)
        if name == "maplist" and path[0] > 1:
            item, rest = _item(path[1:])
            if item is not None and item < len(goals):
                return goals[item], (given + path[0] - 1, *rest)
        if name == "foldl" and path[0] == len(call.states) == _FOLDL:
            return goals[-1], (given + 3, *path[1:])
        return None

    def _given_arguments(self, call: TracedCall, goal: TracedCall) -> int | None:
        """The number of arguments that the closure already had; None if it is another goal."""
        slot = self._terms.slot(call.term, (1,))
        name = call.predicate.name
        added = {"phrase": 2, "once": 0, "ignore": 0, "catch": 0}.get(name, len(call.states) - 1)
        is_it = slot is not None and slot.is_bound and slot.functor == goal.predicate.name
        given = goal.predicate.arity - added
        return given if is_it and slot is not None and slot.arity == given else None

    def _collected(self, call: TracedCall, path: Path) -> Step | None:
        """For `findall/3`: the answer behind an item, if its goal is one call."""
        item, rest = _item(path[1:])
        if item is None:
            return Made(call.caller, call) if call.caller is not None else None
        template = self._terms.slot(call.term, (1, *rest))
        goal = self._terms.slot(call.term, (2,))
        calls = {entry.call.mark: entry.call for entry in call.log if isinstance(entry, PortEvent)}
        if template is None or goal is None or len(calls) != 1:
            return None
        if template.is_bound:
            return CameIn(call, (1, *rest))
        [callee] = calls.values()
        paths = [same[1:] for same in template.same((1, *rest)) if same[0] == 2]
        is_it = (goal.functor, goal.arity) == (callee.predicate.name, callee.predicate.arity)
        if not is_it or not paths or item >= len(callee.answers):
            return None
        return Inside(call, PortEvent(Port.EXIT, callee, item), paths[0])

    def _unified(self, call: TracedCall, path: Path) -> CameIn | None:
        """For `A = B`: the part came from the other side or another occurrence of the variable."""
        visited, todo = {path}, [path]
        while todo:
            here = todo.pop()
            for side in (here, (3 - here[0], *here[1:])):
                slot = self._terms.slot(call.term, side)
                if slot is None:
                    continue
                if slot.is_bound:
                    return CameIn(call, side)
                for same in (side, *slot.same(side)):
                    if same not in visited:
                        visited.add(same)
                        todo.append(same)
        return None


_FINDALL = 3
_FOLDL = 4


def _is_given(terms: KeptTerms, call: TracedCall, path: Path) -> bool | None:
    slot = terms.slot(call.term, in_term(call, path))
    return None if slot is None else slot.is_bound


def in_term(call: TracedCall, path: Path) -> Path:
    """A path in a call's arguments as one in its recorded term (a goal has no wrapper there)."""
    return path[1:] if call.predicate.name == GOAL else path


def _item(path: Path) -> tuple[int | None, Path]:
    """The item of a list (from 0) that a path leads into, and the rest; None: no item."""
    for number, nth in enumerate(path):
        if nth == 1:
            return number, path[number + 1 :]
    return None, ()
