"""Debug slicing of logic programs: the calls that can influence a wrong or missing answer.

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
from typing import NamedTuple

from whence.langs.prolog.port_events import Clause
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Branch, Port, PortEvent, TracedCall, path_to

HEAD = 0


class Side(Enum):
    """Whether data enters a clause at a position, leaves it there, or both."""

    IN = "in"
    OUT = "out"
    DUAL = "dual"


_FACING = {Side.OUT: Side.IN, Side.IN: Side.OUT, Side.DUAL: Side.DUAL}


class ArgumentPosition(NamedTuple):
    """An argument (from 1) of the head (literal 0) or a body literal of a call's clause."""

    mark: int
    literal: int
    argument: int


@dataclass(frozen=True, slots=True)
class _PositionFlow:
    side: Side
    variables: frozenset[int]
    glued: ArgumentPosition | None
    """The same argument on the other side of the call."""
    is_pseudo: bool = False


def annotate(call: TracedCall, argument: int, before: int | None = None) -> Side:
    """The annotation of an argument (from 0), as the side of the head's position: inherited data
    enters the clause there, synthesized data leaves it.

    With `before`, only earlier answers count, and an argument without any is dual: so a failed
    branch is annotated by itself.
    """
    if call.states[argument] == "g":
        return Side.IN
    answers = [answer for answer in call.answers if before is None or answer.time < before]
    if before is not None and not answers:
        return Side.DUAL
    is_filled = all(answer.states[argument] == "g" for answer in answers)
    return Side.OUT if is_filled and call.states[argument] == "v" else Side.DUAL


_Arguments = tuple[frozenset[int], ...]
_Positions = dict[ArgumentPosition, _PositionFlow]


class Annotated:
    """The positions of heads and goals, which all skeletons of a tree share.

    `before` is None, or the time up to which answers count.
    """

    def __init__(self, tree: TraceTree, before: int | None = None) -> None:
        self.tree = tree
        self._before = before
        self._heads: dict[tuple[int, int | None, int | None], _Positions] = {}
        self._goals: dict[tuple[int, int | None], _Positions] = {}

    def of_head(self, call: TracedCall, clause: int | None, outer: int | None) -> _Positions:
        """The positions of the head of a call's clause; `outer` is the clause that it stands in."""
        key = call.mark, clause, outer
        if key not in self._heads:
            text = self.tree.clause(clause)
            if text is not None and len(text.head) != len(call.states):
                text = None
            literal, variables, sides = self._as_called(call, outer)
            self._heads[key] = {
                ArgumentPosition(call.mark, HEAD, nth): _PositionFlow(
                    side,
                    text.head[nth - 1] if text else variables[nth - 1],
                    ArgumentPosition(call.caller.mark, literal, nth)
                    if literal and call.caller
                    else None,
                    is_pseudo=text is None,
                )
                for nth, side in enumerate(sides, 1)
            }
        return self._heads[key]

    def of_goal(self, goal: TracedCall, outer: int | None) -> _Positions:
        """The positions of a goal in the clause that it stands in."""
        if (goal.mark, outer) not in self._goals:
            literal, variables, sides = self._as_called(goal, outer)
            self._goals[goal.mark, outer] = {
                ArgumentPosition(goal.caller.mark, literal, nth): _PositionFlow(
                    _FACING[side], variables[nth - 1], ArgumentPosition(goal.mark, HEAD, nth)
                )
                for nth, side in enumerate(sides, 1)
                if literal and goal.caller is not None
            }
        return self._goals[goal.mark, outer]

    def _as_called(
        self, call: TracedCall, outer: int | None
    ) -> tuple[int, _Arguments, tuple[Side, ...]]:
        """The number of a call's literal (from 1; 0: none), its variables and annotations."""
        literal, variables = _literal(self.tree.clause(outer), call)
        sides = tuple(annotate(call, nth, self._before) for nth in range(len(call.states)))
        if len(variables) == len(sides):
            return literal, variables, sides
        # In `call(P, X)`, any of the variables may be in any argument.
        merged = (frozenset[int]().union(*variables),) * len(sides)
        return literal, merged, (Side.DUAL,) * len(sides) if literal else sides


def _literal(clause: Clause | None, call: TracedCall) -> tuple[int, _Arguments]:
    for number, literal in enumerate(clause.literals if clause else (), 1):
        if literal.path == call.path:
            return number, literal.variables
    return 0, ()


class Skeleton:
    """The clauses along the branch of one event, glued at its calls, and how data flows in them.

    The positions of a clause are computed when data is followed into it.
    """

    def __init__(self, annotated: Annotated, event: PortEvent) -> None:
        self._annotated = annotated
        self._branch = Branch(event)
        self._made: dict[int, _Positions] = {}
        self._hidden: dict[int, list[TracedCall]] = defaultdict(list)
        """The goals of a clause that are not in its text: they were constructed at run time."""

    def _positions(self, mark: int) -> _Positions:
        """The positions of the clause of a call: of its head, and of its goals on the branch."""
        made = self._made.get(mark)
        if made is None:
            call = self._branch.calls[mark]
            clause, outer = self._branch.clause(call), self._branch.clause(call.caller)
            made = dict(self._annotated.of_head(call, clause, outer))
            goals = self._branch.goals(call)
            paths = [goal.path for goal in goals]
            is_repeated = len(set(paths)) < len(paths)
            for goal in goals:
                positions = self._annotated.of_goal(goal, clause)
                made.update(positions)
                is_shown = positions and not (is_repeated and paths.count(goal.path) > 1)
                if goal.states and not is_shown and call.predicate.is_user:
                    self._hidden[mark].append(goal)
            self._made[mark] = made
        return made

    def slice(self, *starts: ArgumentPosition) -> set[ArgumentPosition]:
        """All positions that data can have come from."""
        visited, todo = set(starts), list(starts)
        while todo:
            for before in self._before(todo.pop()):
                if before not in visited:
                    visited.add(before)
                    todo.append(before)
        return visited

    def mentioning(self, mark: int, variable: int) -> list[ArgumentPosition]:
        """The arguments of the goals of a call's clause in which a variable occurs."""
        return [
            place
            for place, position in self._positions(mark).items()
            if place.literal != HEAD and variable in position.variables
        ]

    def _before(self, place: ArgumentPosition) -> Iterator[ArgumentPosition]:
        here = self._positions(place.mark)[place]
        if here.side is not Side.IN:
            yield from self._within(place, here)
        if here.glued is not None:
            there = self._positions(here.glued.mark)[here.glued]
            if there.side is _FACING[here.side]:
                yield here.glued
        elif place.literal == HEAD and here.side is not Side.OUT:
            yield from self._into_hidden(self._branch.calls[place.mark])

    def _within(self, place: ArgumentPosition, here: _PositionFlow) -> Iterator[ArgumentPosition]:
        """The positions of the same clause that data can come from: by a shared variable, or, if
        the clause is out of sight, from any argument."""
        is_pseudo_head = here.is_pseudo and place.literal == HEAD
        for other, there in self._positions(place.mark).items():
            if there.side is Side.OUT or other == place:
                continue
            if there.is_pseudo:
                if is_pseudo_head and other.literal == HEAD:
                    yield other
            elif not there.variables.isdisjoint(here.variables):
                yield other
        for goal in self._hidden.get(place.mark, ()):
            yield from self._outputs_of(goal)

    def _into_hidden(self, call: TracedCall) -> Iterator[ArgumentPosition]:
        """The positions that data of a goal without text can come from: all of its caller's."""
        if call.caller is not None:
            for other, there in self._positions(call.caller.mark).items():
                if there.side is not Side.OUT:
                    yield other
            for goal in self._branch.goals(call.caller, before=call):
                yield from self._outputs_of(goal)

    def _outputs_of(self, goal: TracedCall) -> Iterator[ArgumentPosition]:
        """The head positions through which data can leave a call."""
        for other, there in self._positions(goal.mark).items():
            if other.literal == HEAD and there.side is not Side.IN:
                yield other


# --- the slices ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Extent:
    """The part of a trace that can influence an event: its branch and a time span."""

    branch: tuple[TracedCall, ...]
    start: int = 0
    end: int | None = None

    def holds(self, first: int, last: int) -> bool:
        """Whether a time span is within this one."""
        return self.start <= first and (self.end is None or last <= self.end)


def extent_of(event: PortEvent) -> Extent:
    """The extent of an answer, a failure or an exception."""
    call = event.call
    if event.port is Port.EXIT:
        answer = call.answers[event.number]
        return Extent(tuple(path_to(answer.last)), call.called, answer.time)
    end = call.failed if event.port is Port.FAIL and call.failed else call.last_time
    return Extent((call,), call.called, end)


def _whole(tree: TraceTree) -> Extent:
    return Extent(tuple(tree.success))


def failed_leaves(tree: TraceTree, extent: Extent) -> list[TracedCall]:
    """The calls that failed at once, within an extent."""
    return [
        leaf
        for leaf in tree.failed_leaves()
        if extent.holds(leaf.called, leaf.failed or leaf.last_time)
    ]


def data_flow(
    tree: TraceTree, event: PortEvent, argument: int, variable: int | None = None
) -> set[ArgumentPosition]:
    """The data-flow slice of an argument (from 1) of an event: all positions that it depends on.

    With a `variable` of the event's clause, only what depends on that: a goal that is not one call
    has all its variables in one argument.
    """
    call = event.call
    skeleton = Skeleton(Annotated(tree), event)
    position = ArgumentPosition(call.mark, HEAD, argument)
    starts = [position] if variable is None else skeleton.mentioning(call.mark, variable)
    positions = {position} | skeleton.slice(*starts)
    return positions | _behind_library(tree.calls[mark - 1] for mark in marks(positions))


def _behind_library(calls: Iterable[TracedCall]) -> set[ArgumentPosition]:
    """The positions of all calls that library predicates made, since their code is out of sight."""
    positions: set[ArgumentPosition] = set()
    for call in calls:
        for event in call.log if not call.predicate.is_user else ():
            if isinstance(event, PortEvent) and event.port is Port.EXIT:
                positions |= {
                    ArgumentPosition(callee.mark, HEAD, argument)
                    for callee in path_to(event.call.answers[event.number].last, call)
                    for argument in range(1, len(callee.states) + 1)
                }
    return positions


def potentially_dependent(
    tree: TraceTree, extent: Extent | None = None, *, repaired: bool = True
) -> set[int]:
    """PDPS as marks; `repaired` adds the calls that made negations fail, and those that `findall/3`
    and the like made, since neither are on a branch."""
    extent = extent or _whole(tree)
    dependent = {call.mark for call in (*extent.branch, *failed_leaves(tree, extent))}
    if not repaired:
        return dependent
    refuting = [call for call in tree.refuting if extent.holds(call.called, call.called)]
    called_back = _behind_library((*extent.branch, *refuting))
    return dependent | {call.mark for call in refuting} | marks(called_back)


def into_failures(
    tree: TraceTree, extent: Extent | None = None, *, by_itself: bool = False
) -> set[int]:
    """S1 as marks: the calls through which data flowed into calls that failed at once."""
    shared = Annotated(tree)
    calls: set[int] = set()
    for leaf in failed_leaves(tree, extent or _whole(tree)):
        annotated = Annotated(tree, leaf.called) if by_itself else shared
        starts = [ArgumentPosition(leaf.mark, HEAD, nth) for nth in range(1, len(leaf.states) + 1)]
        calls |= marks(Skeleton(annotated, PortEvent(Port.FAIL, leaf)).slice(*starts))
    return calls


def made_final(tree: TraceTree, extent: Extent | None = None) -> set[int]:
    """S2 as marks: the branches of all cuts that ran."""
    extent = extent or _whole(tree)
    cuts = [cut for cut in tree.cuts if extent.holds(cut.call.called, cut.last.called)]
    return {call.mark for cut in cuts for call in cut.branch()}


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


def marks(places: Iterable[ArgumentPosition]) -> set[int]:
    """The calls whose heads the places are arguments of."""
    return {place.mark for place in places if place.literal == HEAD}


def through(places: Iterable[ArgumentPosition]) -> set[int]:
    """The calls whose clauses the places are in, even if only in goals of their bodies: a clause
    may pass a term of its own text to a goal."""
    return {place.mark for place in places}
