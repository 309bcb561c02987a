"""Debug slicing of logic programs: the calls that can have to do with a wrong or missing answer.

Citation: Szilágyi, Harmath & Gyimóthy, "The debug slicing of logic programs".
Three sets make the slice:
- PDPS, the potentially dependent part: the success branch and the calls that failed at once. The
  paper's lemma overlooks negation, so the branches on which negated goals succeeded are added; and
  so are those of the goals that predicates of the library called back (`findall/3`).
- S1: the calls through which data flowed into the arguments of calls that failed at once.
- S2: for every cut that was run, the branch that it made final.

Data flows along *positions*: arguments of heads and of body literals. An argument is annotated once
for each call, for the literal and the head alike: ground when called, it is inherited; unbound when
called and ground at every answer, it is synthesized; else it is dual, and data may flow both ways.
Inside a clause the edges come from the clause's text (shared variables), never from the names of
variables at run time, which the garbage collector changes.

Cost: a slice is walked backwards from one position, over the branch of one call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from whence.langs.prolog.events import Clause
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Left, Port, TracedCall, answer_at, path_to

HEAD = 0


class Flow(Enum):
    """Which way data goes through an argument of a call."""

    INHERITED = "inherited"
    SYNTHESIZED = "synthesized"
    DUAL = "dual"


class Side(Enum):
    """What a position is inside its clause: where data comes in, goes out, or both."""

    IN = "in"
    OUT = "out"
    DUAL = "dual"


_OF_HEAD = {Flow.INHERITED: Side.IN, Flow.SYNTHESIZED: Side.OUT, Flow.DUAL: Side.DUAL}
_OF_LITERAL = {Flow.INHERITED: Side.OUT, Flow.SYNTHESIZED: Side.IN, Flow.DUAL: Side.DUAL}
_WITHIN = {
    (Side.IN, Side.OUT), (Side.DUAL, Side.OUT), (Side.IN, Side.DUAL), (Side.DUAL, Side.DUAL)
}  # fmt: skip
_ACROSS = {(Side.OUT, Side.IN), (Side.DUAL, Side.DUAL)}


@dataclass(frozen=True, slots=True)
class Place:
    """An argument (from 1) of the head (literal 0) or a body literal of a call's clause."""

    mark: int
    literal: int
    argument: int


@dataclass(frozen=True, slots=True)
class _Position:
    side: Side
    variables: frozenset[int]
    is_pseudo: bool = False


def annotate(call: TracedCall, argument: int, before: int | None = None) -> Flow:
    """The annotation of an argument (from 0).

    With `before` only answers up to then count, and where there is none yet nothing is known: so a
    failed branch is annotated by itself.
    """
    if call.states[argument] == "g":
        return Flow.INHERITED
    answers = [each for each in call.answers if before is None or each.time < before]
    if before is not None and not answers:
        return Flow.DUAL
    is_filled = all(each.states[argument] == "g" for each in answers)
    return Flow.SYNTHESIZED if is_filled and call.states[argument] == "v" else Flow.DUAL


class Skeleton:
    """The clauses along the branch of one call, glued at its calls, and how data flows in them."""

    def __init__(
        self,
        tree: TraceTree,
        last: TracedCall,
        *,
        by_itself: bool = False,
        until: int | None = None,
    ) -> None:
        """`until`: what the last call of the branch was at that time."""
        self._positions: dict[Place, _Position] = {}
        self._of_mark: dict[int, list[Place]] = defaultdict(list)
        self._glued: dict[Place, Place] = {}
        path = path_to(last)
        before = last.called if by_itself else None
        clauses = {call.mark: after.via for call, after in pairwise(path)}
        answer = answer_at(last, until)
        clauses[last.mark] = answer.clause if answer else None
        for call in path:
            self._add(tree, call, clauses, before)

    def _add(
        self, tree: TraceTree, call: TracedCall, clauses: dict[int, int | None], before: int | None
    ) -> None:
        clause = tree.clause(clauses[call.mark])
        if clause is not None and len(clause.head) != len(call.states):
            clause = None
        literal, variables = _literal(tree, call, clauses)
        is_shown = len(variables) == len(call.states)
        if not is_shown:  # as `call(P, X)` is written: any variable may be in any argument
            variables = (frozenset[int]().union(*variables),) * len(call.states)
        for argument in range(len(call.states)):
            flow = annotate(call, argument, before) if is_shown else Flow.DUAL
            own = variables[argument]
            head = Place(call.mark, HEAD, argument + 1)
            shown = clause.head[argument] if clause else own
            self._put(head, _Position(_OF_HEAD[flow], shown, is_pseudo=clause is None))
            if literal and call.caller:
                place = Place(call.caller.mark, literal, argument + 1)
                self._put(place, _Position(_OF_LITERAL[flow], own))
                self._glued[head] = place
                self._glued[place] = head

    def _put(self, place: Place, position: _Position) -> None:
        self._positions[place] = position
        self._of_mark[place.mark].append(place)

    def slice(self, start: Place) -> set[Place]:
        """All positions that data can have come from."""
        seen, todo = {start}, [start]
        while todo:
            for before in self._before(todo.pop()):
                if before not in seen:
                    seen.add(before)
                    todo.append(before)
        return seen

    def mentioning(self, mark: int, variable: int) -> list[Place]:
        """The arguments of the goals of a call's clause in which a variable stands."""
        return [
            place
            for place in self._of_mark[mark]
            if place.literal != HEAD and variable in self._positions[place].variables
        ]

    def _before(self, place: Place) -> Iterator[Place]:
        here = self._positions[place]
        for other in self._of_mark[place.mark]:
            there = self._positions[other]
            if other == place:
                continue
            through = there.is_pseudo and here.is_pseudo and other.literal == place.literal == HEAD
            shared = not there.is_pseudo and bool(there.variables & here.variables)
            if (through or shared) and (there.side, here.side) in _WITHIN:
                yield other
        glued = self._glued.get(place)
        if glued is not None and (self._positions[glued].side, here.side) in _ACROSS:
            yield glued


def _literal(
    tree: TraceTree, call: TracedCall, clauses: dict[int, int | None]
) -> tuple[int, tuple[frozenset[int], ...]]:
    """Which literal of its caller's clause a call is (from 1, or 0), and its variables."""
    caller = call.caller
    clause: Clause | None = tree.clause(clauses.get(caller.mark)) if caller else None
    for number, each in enumerate(clause.literals if clause else (), 1):
        if each.path == call.path:
            return number, each.variables
    return 0, ()


# --- the slices ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Extent:
    """The part of a trace that an event can have to do with: its branch, and from when to when."""

    branch: tuple[TracedCall, ...]
    start: int = 0
    end: int | None = None

    def holds(self, first: int, last: int) -> bool:
        """Whether something lasted no longer than this."""
        return self.start <= first and (self.end is None or last <= self.end)


def extent_of(left: Left) -> Extent:
    """What an answer, a failure or an exception can have to do with."""
    call = left.call
    if left.port is Port.EXIT:
        answer = call.answers[left.number]
        return Extent(tuple(path_to(answer.last)), call.called, answer.time)
    end = call.failed if left.port is Port.FAIL and call.failed else call.left
    return Extent((call,), call.called, end)


def _whole(tree: TraceTree) -> Extent:
    return Extent(tuple(tree.success))


def failed_leaves(tree: TraceTree, extent: Extent) -> list[TracedCall]:
    """The calls that failed at once, within an extent."""
    return [
        each for each in tree.failed_leaves() if extent.holds(each.called, each.failed or each.left)
    ]


def data_flow(
    tree: TraceTree, left: Left, argument: int, variable: int | None = None
) -> set[Place]:
    """The data-flow slice of an argument (from 1) of an event: all positions that it depends on.

    With a `variable` of the event's clause, only what depends on that: a goal that is not one call
    has all its variables in one argument.
    """
    call = left.call
    answer = call.answers[left.number] if left.port is Port.EXIT else None
    skeleton = Skeleton(
        tree, answer.last if answer else call, until=answer.time if answer else call.called
    )
    found = {Place(call.mark, HEAD, argument)}
    starts = found if variable is None else skeleton.mentioning(call.mark, variable)
    found = found.union(*(skeleton.slice(start) for start in starts))
    return found | _behind_library(tree.calls[mark - 1] for mark in marks(found))


def _behind_library(calls: Iterable[TracedCall]) -> set[Place]:
    """What predicates of the library called back, out of sight: all of it counts."""
    found: set[Place] = set()
    for call in calls:
        for left in call.log if not call.predicate.is_user else ():
            if isinstance(left, Left) and left.port is Port.EXIT:
                found |= {
                    Place(each.mark, HEAD, argument)
                    for each in path_to(left.call.answers[left.number].last, call)
                    for argument in range(1, len(each.states) + 1)
                }
    return found


def potentially_dependent(
    tree: TraceTree, extent: Extent | None = None, *, repaired: bool = True
) -> set[int]:
    """PDPS as marks; `repaired` adds what made negations fail, and what `findall/3` and the like
    called back, which is on no branch either."""
    extent = extent or _whole(tree)
    found = {each.mark for each in (*extent.branch, *failed_leaves(tree, extent))}
    if not repaired:
        return found
    refuting = [each for each in tree.refuting if extent.holds(each.called, each.called)]
    called_back = _behind_library((*extent.branch, *refuting))
    return found | {each.mark for each in refuting} | marks(called_back)


def into_failures(
    tree: TraceTree, extent: Extent | None = None, *, by_itself: bool = False
) -> set[int]:
    """S1 as marks: the calls through which data flowed into calls that failed at once."""
    found: set[int] = set()
    for leaf in failed_leaves(tree, extent or _whole(tree)):
        skeleton = Skeleton(tree, leaf, by_itself=by_itself)
        for argument in range(len(leaf.states)):
            found |= marks(skeleton.slice(Place(leaf.mark, HEAD, argument + 1)))
    return found


def made_final(tree: TraceTree, extent: Extent | None = None) -> set[int]:
    """S2 as marks: the branches of the cuts that were run."""
    extent = extent or _whole(tree)
    cuts = [each for each in tree.cuts if extent.holds(each.call.called, each.last.called)]
    return {each.mark for cut in cuts for each in cut.branch()}


def debug_slice(
    tree: TraceTree,
    extent: Extent | None = None,
    *,
    by_itself: bool = False,
    repaired: bool = True,
) -> set[int]:
    """The debug slice as marks."""
    return (
        potentially_dependent(tree, extent, repaired=repaired)
        | into_failures(tree, extent, by_itself=by_itself)
        | made_final(tree, extent)
    )


def marks(places: Iterable[Place]) -> set[int]:
    """The calls whose heads the places are arguments of."""
    return {place.mark for place in places if place.literal == HEAD}
