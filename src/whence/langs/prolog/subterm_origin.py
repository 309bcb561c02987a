"""Where a part of a term was bound: one step back through a clause, and then the next.

Citation: MacLarty, Somogyi & Brown 2005, section 5, for terms that are bound by unification. A part
that a call knew when it was made came from its caller; any other was bound inside it: by the head
of its clause, by one of the goals of the body, or it came in through another argument.

What is the same part under another name is found in recorded terms: places of one variable in the
same term are one. So aliases are followed goal by goal, from the head on, until one is bound.
Whatever binds out of sight (a constraint that wakes up, a goal put together at run time) leaves a
part bound by nobody; then the step is None, and its origin is not known.

Cost: one question to Prolog for each goal that mentions the part, at each step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from whence.langs.prolog.kept_terms import KeptTerms, Path, Places
from whence.langs.prolog.port_events import GOAL
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Port, PortEvent, TracedCall, answer_at, path_to

HEAD: Path = ()

Alias = tuple[int, Path]
"""A part of what a variable of a clause is bound to."""


@dataclass(frozen=True, slots=True)
class Made:
    """The text of the call's clause has it, or a predicate of the library gave it to the call."""

    call: TracedCall
    by: TracedCall | None = None


@dataclass(frozen=True, slots=True)
class CameIn:
    """The call was given it, as this part of its arguments."""

    call: TracedCall
    path: Path


@dataclass(frozen=True, slots=True)
class Inside:
    """This answer of a goal of the call's clause has it, as this part of its arguments."""

    call: TracedCall
    event: PortEvent
    path: Path


Step = Made | CameIn | Inside


class Branch:
    """The calls that led to an event, and for each the goals of its clause on the branch."""

    def __init__(self, tree: TraceTree, event: PortEvent) -> None:
        self._tree = tree
        answer = event.call.answers[event.number] if event.port is Port.EXIT else None
        last = answer.last if answer else event.call
        self.until = answer.time if answer else event.call.called
        path = path_to(last)
        self._clauses = {call.mark: after.via for call, after in pairwise(path)}
        ended = answer_at(last, self.until)
        if last is event.call and answer is not None:
            ended = answer
        self._clauses[last.mark] = ended.clause if ended else None
        self._goals: dict[int, list[TracedCall]] = defaultdict(list)
        for call in path:
            if call.caller is not None:
                self._goals[call.caller.mark].append(call)

    def holds(self, call: TracedCall) -> bool:
        """Whether a call is on the branch."""
        return call.mark in self._clauses

    def clause(self, call: TracedCall) -> int | None:
        """The clause that a call is in."""
        return self._clauses.get(call.mark)

    def goals(self, call: TracedCall, before: TracedCall | None = None) -> list[TracedCall]:
        """The goals of a call's clause, in order, or those before one of them."""
        found = self._goals.get(call.mark, [])
        return found if before is None else [each for each in found if each.mark < before.mark]

    def answer(self, call: TracedCall) -> PortEvent | None:
        """The answer that a goal on the branch had given."""
        answer = answer_at(call, self.until)
        return None if answer is None else PortEvent(Port.EXIT, call, call.answers.index(answer))


@dataclass(frozen=True, slots=True)
class WrittenGoal:
    """How a goal stands in the text of a clause: as it was called, or as `call/N` of it."""

    known: int | None = None
    """Of `call/N`: how many arguments its first one had."""

    @classmethod
    def of(cls, places: Places, goal: TracedCall) -> WrittenGoal | None:
        """None where the text does not show the goal's arguments."""
        name, arity = places.goals.get(goal.path, ("", 0))
        if (name, arity) == (goal.predicate.name, goal.predicate.arity):
            return cls()
        known = goal.predicate.arity - (arity - 1)
        return cls(known) if name == "call" and arity > 1 and known >= 0 else None

    def in_goal(self, path: Path) -> Path | None:
        """A part of the text as a part of the goal's arguments."""
        return path if self.known is None else in_goal(path, self.known)

    def in_text(self, path: Path) -> Path:
        """A part of the goal's arguments as a part of the text."""
        return path if self.known is None else in_text(path, self.known)


def in_goal(path: Path, known: int) -> Path | None:
    """A part of the arguments of `call/N` as one of what it calls, whose first ones are known."""
    if path[0] > 1:
        return (known + path[0] - 1, *path[1:])
    return path[1:] if len(path) > 1 and path[1] <= known else None


def in_text(path: Path, known: int) -> Path:
    """A part of the arguments of what `call/N` calls as one of its own."""
    return (1, *path) if path[0] <= known else (path[0] - known + 1, *path[1:])


class SubtermOrigin:
    """Steps back along one branch."""

    def __init__(self, terms: KeptTerms, branch: Branch) -> None:
        self._terms = terms
        self.branch = branch
        self._library = _Library(terms, branch)

    def is_given(self, call: TracedCall, path: Path) -> bool | None:
        """Whether a call was given a part; None where the path leads nowhere."""
        return _is_given(self._terms, call, path)

    def inside(self, call: TracedCall, path: Path) -> Step | None:
        """Where a part of an answer came from that the call was not given."""
        if not call.predicate.is_user:
            return self._library.inside(call, path)
        places = self._text(call)
        slot = self._terms.slot(call.term, in_term(call, path))
        if places is None or slot is None or slot.is_bound:
            return None
        aliases: set[Alias] = set()
        for same in self._same(call, slot.same(in_term(call, path))):
            found = places.text_at(HEAD, same)
            if found is None:
                return Made(call)
            aliases.add(found)
        return self._bound(call, places, aliases, self.branch.goals(call))

    def before(self, goal: TracedCall, path: Path) -> Step | None:
        """Where a part came from that a goal was given: a step in its caller."""
        caller = goal.caller
        if caller is None:
            return None
        if not caller.predicate.is_user:
            return self._library.before(caller, goal, path)
        places = self._text(caller)
        written = None if places is None else WrittenGoal.of(places, goal)
        if places is None or written is None:
            return None
        found = places.text_at(goal.path, written.in_text(path))
        if found is None:
            return Made(caller)
        return self._bound(caller, places, {found}, self.branch.goals(caller, goal))

    # --- in a clause -----------------------------------------------------------------------------

    def _text(self, call: TracedCall) -> Places | None:
        clause = self.branch.clause(call)
        return None if clause is None else self._terms.places(clause)

    def _bound(
        self, call: TracedCall, places: Places, aliases: set[Alias], goals: Sequence[TracedCall]
    ) -> Step | None:
        """Who bound what the aliases stand for: the caller, the head, or one of the goals."""
        found = self._in_head(call, places, aliases)
        if found is not None:
            return found
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
        self, call: TracedCall, places: Places, aliases: set[Alias]
    ) -> Made | CameIn | None:
        """Whether it was bound before the body; the aliases that the head makes are added."""
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
    """Steps in predicates whose clauses are out of sight: what their names say, and no more."""

    def __init__(self, terms: KeptTerms, branch: Branch) -> None:
        self._terms = terms
        self._branch = branch

    def inside(self, call: TracedCall, path: Path) -> Step | None:
        """Where a part of an answer came from that the call was not given."""
        name = call.predicate.name
        if name == _UNIFIES:
            return self._unified(call, path)
        is_spine = name == "maplist" and path[0] > 1 and _item(path[1:])[0] is None
        if not call.log or is_spine:
            return Made(call.caller, call) if call.caller is not None else None
        if name == "findall" and path[0] == len(call.states) == _FINDALL:
            return self._collected(call, path)
        found = self._goal_inside(call, path)
        if found is None:
            return None
        goal, there = found
        event = self._branch.answer(goal)
        known_before = _is_given(self._terms, goal, there)
        return None if event is None or known_before is not False else Inside(call, event, there)

    def before(self, caller: TracedCall, goal: TracedCall, path: Path) -> Step | None:
        """What the predicate gave to a goal that it called."""
        name, goals = caller.predicate.name, self._branch.goals(caller)
        known = self._known(caller, goal)
        if known is None:
            return None
        there: Path | None = None
        if name in _CALLS_ONE or path[0] <= known:
            there = in_text(path, known)
        elif name == "maplist" or (name == "foldl" and path[0] == known + 1):
            there = (path[0] - known + 1, *[2] * goals.index(goal), 1, *path[1:])
        elif name == "foldl" and path[0] == known + 2 and len(caller.states) == _FOLDL:
            if goal is not goals[0]:
                event = self._branch.answer(goals[goals.index(goal) - 1])
                return Inside(caller, event, (known + 3, *path[1:])) if event else None
            there = (3, *path[1:])
        if there is None or not _is_given(self._terms, caller, there):
            return None
        return CameIn(caller, there)

    def _goal_inside(self, call: TracedCall, path: Path) -> tuple[TracedCall, Path] | None:
        """The goal that the predicate called to make a part, and which part of it that is."""
        name, goals = call.predicate.name, self._branch.goals(call)
        known = self._known(call, goals[0]) if goals else None
        if known is None:
            return None
        if name in _CALLS_ONE and len(goals) == 1:
            there = in_goal(path, known)
            return None if there is None else (goals[0], there)
        if name == "maplist" and path[0] > 1:
            item, rest = _item(path[1:])
            if item is not None and item < len(goals):
                return goals[item], (known + path[0] - 1, *rest)
        if name == "foldl" and path[0] == len(call.states) == _FOLDL:
            return goals[-1], (known + 3, *path[1:])
        return None

    def _known(self, call: TracedCall, goal: TracedCall) -> int | None:
        """How many of a goal's arguments its caller was given with it; None if it is another."""
        slot = self._terms.slot(call.term, (1,))
        name = call.predicate.name
        added = {"phrase": 2, "once": 0, "ignore": 0, "catch": 0}.get(name, len(call.states) - 1)
        is_it = slot is not None and slot.is_bound and slot.functor == goal.predicate.name
        known = goal.predicate.arity - added
        return known if is_it and slot is not None and slot.arity == known else None

    def _collected(self, call: TracedCall, path: Path) -> Step | None:
        """Of `findall/3`: the answer that the item is made of, where its goal is one call."""
        item, rest = _item(path[1:])
        if item is None:
            return Made(call.caller, call) if call.caller is not None else None
        template = self._terms.slot(call.term, (1, *rest))
        goal = self._terms.slot(call.term, (2,))
        called = {each.call.mark: each.call for each in call.log if isinstance(each, PortEvent)}
        if template is None or goal is None or len(called) != 1:
            return None
        if template.is_bound:
            return CameIn(call, (1, *rest))
        one = next(iter(called.values()))
        places = [each[1:] for each in template.same((1, *rest)) if each[0] == 2]
        is_it = (goal.functor, goal.arity) == (one.predicate.name, one.predicate.arity)
        if not is_it or not places or item >= len(one.answers):
            return None
        return Inside(call, PortEvent(Port.EXIT, one, item), places[0])

    def _unified(self, call: TracedCall, path: Path) -> CameIn | None:
        """Of `A = B`: the other side, or another place of the same variable, had it."""
        seen, todo = {path}, [path]
        while todo:
            here = todo.pop()
            for each in (here, (3 - here[0], *here[1:])):
                slot = self._terms.slot(call.term, each)
                if slot is None:
                    continue
                if slot.is_bound:
                    return CameIn(call, each)
                for same in (each, *slot.same(each)):
                    if same not in seen:
                        seen.add(same)
                        todo.append(same)
        return None


_FINDALL = 3
_FOLDL = 4


def _is_given(terms: KeptTerms, call: TracedCall, path: Path) -> bool | None:
    slot = terms.slot(call.term, in_term(call, path))
    return None if slot is None else slot.is_bound


def in_term(call: TracedCall, path: Path) -> Path:
    """A path in the arguments of a call as one in its recorded term: a goal is kept bare."""
    return path[1:] if call.predicate.name == GOAL else path


def _item(path: Path) -> tuple[int | None, Path]:
    """Which item of a list (from 0) a path leads into, and the rest of it; None: the list."""
    for number, nth in enumerate(path):
        if nth == 1:
            return number, path[number + 1 :]
    return None, ()
