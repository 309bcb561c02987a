"""The origins of parts of Prolog terms, and what they depend on: the `Provenance` port.

The origin is found by steps back through clauses (`subterm_origin.py`). Each is a step in the
evaluation tree: up to the caller, or down into the goal that bound the part. A library predicate
cannot be blamed, so a part that it created counts as created by its caller.

The influence is the data-flow slice first and then the debug slice, as in the paper by Szilágyi,
Harmath & Gyimóthy. Neither is complete: data flow ignores conditions that could have had another
outcome, and the debug slice assumes programs without side effects. So both only order questions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from whence.errors import UsageError
from whence.langs.prolog.debug_slice import (
    data_flow,
    debug_slice,
    extent_of,
    failed_leaves,
    through,
)
from whence.langs.prolog.evaluation_tree import EvaluationTree
from whence.langs.prolog.kept_terms import Path, path_of
from whence.langs.prolog.subterm_origin import (
    CameIn,
    Inside,
    Made,
    Step,
    SubtermOrigin,
    in_term,
)
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Branch, Port, PortEvent, TracedCall
from whence.model.call import MarkedPart
from whence.model.origin import Influence, Origin
from whence.ports import Tree

MOST_STEPS = 100_000
"""A debug slice visits the branch of each failed call; beyond so many steps it is omitted."""


def slices_of(
    source: EvaluationTree, event: PortEvent, path: Path | None
) -> tuple[set[int], set[int] | None]:
    """The data-flow slice of a part (None: of nothing) of an event, and the debug slice, as marks.

    A debug slice that would take too long is None.
    """
    trace, extent = source.trace_of(event.call), extent_of(event)
    flow: set[int] = set()
    if path is not None:
        flow = through(data_flow(trace, event, path[0], source.variable(event, path)))
    if sum(leaf.position for leaf in failed_leaves(trace, extent)) > MOST_STEPS:
        return flow, None
    return flow, flow | debug_slice(trace, extent)


class _Unknown(Exception):
    """Why an origin is unknown; `below` is the call that has to be expanded to find it."""

    def __init__(self, why: str, below: int | None = None) -> None:
        super().__init__(why)
        self.below = below


@dataclass(frozen=True)
class PrologProvenance:
    """Origins and slices for the events of one tree."""

    source: EvaluationTree
    tree: Tree

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The event of the call that made a part of an argument."""
        event = self.source.event(node)
        path = self.path(event, part)
        if path is None:
            return Origin(None, unknown=f"{part.mark} is no part of an argument")
        walk = _Walk(self, node, event)
        try:
            maker = walk.run(path)
        except _Unknown as why:
            return Origin(None, unknown=str(why), below=why.below)
        between = [visited for visited in reversed(walk.visited) if visited not in (maker, node)]
        chain = () if maker == node else (maker, *dict.fromkeys(between))
        return Origin(
            maker,
            chain,
            passed_through=frozenset(walk.passed).intersection(chain[1:]),
            expression=walk.expression,
        )

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """The data-flow slice of an argument, and then the debug slice."""
        event = self.source.event(node)
        path = self.path(event, part)
        if path is None:
            return None
        narrow, wide = slices_of(self.source, event, path)
        wider = () if wide is None else (self._nodes(event, wide),)
        return Influence(self._nodes(event, narrow), complete=False, wider=wider)

    def with_tree(self, tree: Tree) -> PrologProvenance:
        """The provenance of the same trace for a tree with more nodes."""
        return replace(self, tree=tree)

    def path(self, event: PortEvent, part: MarkedPart) -> Path | None:
        """The marked part as a path in the arguments of its call."""
        if part.position < 0:
            return None
        start, value = self.source.argument(event, part.position)
        return (*start, *path_of(value, part.mark.steps))

    def _nodes(self, marked: PortEvent, calls: set[int]) -> frozenset[int]:
        """The nodes for events of these calls, or of calls below them in re-runs."""
        trace = self.source.trace_of(marked.call)
        ids = (self.tree.id(position) for position in range(len(self.tree.columns)))
        return frozenset(node for node in ids if self._mark(node, trace) in calls)

    def _mark(self, node: int, trace: TraceTree) -> int:
        """The mark of the call in a trace to which a node belongs; 0 if there is none."""
        call = self.source.event(node).call
        while self.source.trace_of(call) is not trace:
            outside = self.source.outside(call, any_below=True)
            if outside is None:
                return 0
            call = outside.call
        return call.mark


class _Walk:
    """Follows a marked part back to its origin, and notes the nodes on the way."""

    def __init__(self, provenance: PrologProvenance, node: int, event: PortEvent) -> None:
        self._source = provenance.source
        self._tree = provenance.tree
        self._event = event
        self._look_from(event)
        self._node = node
        self.visited = [node]
        self.passed: list[int] = []
        self.expression = ""

    def run(self, path: Path) -> int:
        """The node that made the part."""
        call = self._event.call
        self._check_bound(path)
        is_given = bool(self._steps.is_given(call, path))
        visited: set[tuple[int, Path, bool]] = set()
        while (id(call), path, is_given) not in visited:
            visited.add((id(call), path, is_given))
            match self._step(call, path, is_given):
                case Made(maker, by):
                    return self._made(maker, by)
                case CameIn(through, path_there):
                    if through is call and not is_given:
                        self.passed.append(self._node)
                    self._up_to(through)
                    call, path, is_given = through, path_there, True
                case Inside(owner, event, path_there):
                    self._up_to(owner)
                    call, path, is_given = self._down_to(event), path_there, False
                case None:
                    raise _Unknown(self._lost(call, is_given))
        raise _Unknown("the search for its origin leads in a circle")

    def _step(self, call: TracedCall, path: Path, is_given: bool) -> Step | None:
        outside = self._source.outside(call)
        if not is_given:
            if call.is_skipped:
                why = f"it was made below call {self._node}, which was not looked into yet"
                raise _Unknown(why, self._node)
            step = self._steps.inside(call, path)
            if outside is not None and isinstance(step, Made) and step.call is call.caller:
                # The re-run of a library predicate has no caller; take that of the first run.
                return None if outside.call.caller is None else Made(outside.call.caller, step.by)
            return step
        if outside is None:
            return self._steps.before(call, path)
        self._look_from(outside)
        return self._steps.before(outside.call, path)

    def _look_from(self, event: PortEvent) -> None:
        """Continue on the branch of an event, which may be in another trace."""
        self._trace = self._source.trace_of(event.call)
        self._steps = SubtermOrigin(self._source.terms, Branch(event))

    def _check_bound(self, path: Path) -> None:
        call, port = self._event.call, self._event.port
        term = call.answers[self._event.number].term if port is Port.EXIT else call.term
        slot = self._source.terms.slot(term, in_term(call, path))
        if slot is None or not slot.is_bound:
            raise _Unknown("it is a variable, which nothing has bound")

    def _made(self, maker: TracedCall, by: TracedCall | None) -> int:
        if by is not None:
            event = self._steps.branch.answer(by)
            self.expression = self._source.equation(event) if event is not None else ""
        self._up_to(maker)
        if not maker.predicate.is_user:
            raise _Unknown(f"it was made inside of {maker.predicate.indicator}, out of sight")
        return self._node

    def _lost(self, call: TracedCall, is_given: bool) -> str:
        if is_given and call.caller is None:
            return "it stands in the goal, and no call made it"
        where = call.caller if is_given and call.caller is not None else call
        return f"what bound it in {where.predicate.indicator} is out of sight"

    # --- in the tree -----------------------------------------------------------------------------

    def _up_to(self, call: TracedCall) -> None:
        """Go up to the event of a call, which is the current one or a caller of it."""
        while self._source.event(self._node).call is not call:
            parent = int(self._tree.columns.parent[self._tree.position(self._node)])
            if parent < 0:
                raise _Unknown("the tree does not reach to where it was made")
            self._visit(self._tree.id(parent))

    def _down_to(self, event: PortEvent) -> TracedCall:
        """Go down to an event; returns its call, or that of its re-run."""
        below = self._source.child(self._node, event)
        if below is None or not self._is_known(below):
            why = f"it was made below call {self._node}, which was not looked into yet"
            is_implicit = self._tree.columns.implicit[self._tree.position(self._node)]
            raise _Unknown(why, self._node if is_implicit else None)
        event, branch = self._source.event(below), self._steps.branch
        is_in_trace = self._source.trace_of(event.call) is self._trace
        if (
            not is_in_trace
            or branch.answer(event.call) != event
            or event.call.mark not in branch.calls
        ):
            self._look_from(event)
        self._visit(below)
        return event.call

    def _visit(self, node: int) -> None:
        self._node = node
        if self._source.event(node).call.predicate.is_user:
            self.visited.append(node)

    def _is_known(self, node: int) -> bool:
        try:
            self._tree.position(node)
        except UsageError:
            return False
        return True
