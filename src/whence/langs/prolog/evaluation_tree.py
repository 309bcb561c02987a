"""The evaluation tree: answers, failures and exceptions as nodes, with the code that is blamed.

Citation: MacLarty, Somogyi & Brown, "Divide-and-query and subterm dependency tracking in the
Mercury declarative debugger" (2005), section 3; the rules for libraries and cuts are ours.
- An answer's children are the last answers of the calls on its branch, and all events in negations
  that succeeded and in conditions that failed.
- A failure's children are all answers and failures below it. A failure claims that there are no
  further answers.
- A stopped call's children are all events below it and the call that it was waiting for. The tree
  ends where a call repeats one of its callers.
- A library predicate is trusted, and the calls that it made count as its caller's. If it only
  passes control on, its branch counts; otherwise all events below it.
- A clause with a cut that it did not reach allowed a later clause to run: the events before that
  cut explain the later clause's answer.
- A cut or a conditional keeps the first answer. It was the first because of earlier failures, and
  because its calls have no answer before the kept one. The latter is an event of its own (FIRST):
  the kept answer may be right although an earlier one is missing.

An event may occur in the tree several times, below each event that it explains, so a tree may be
far larger than its trace. Beyond a number of nodes the rest is *implicit*: its weight is estimated
from the length of the trace in between, and corrected when it is expanded.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from whence.errors import CannotExpand
from whence.langs.prolog.blamed_code import BlamedCode
from whence.langs.prolog.kept_terms import KeptTerms, steps_of
from whence.langs.prolog.port_events import GOAL
from whence.langs.prolog.program_state import ProgramState, described
from whence.langs.prolog.skipped_calls import SkippedCalls
from whence.langs.prolog.swipl_process import (
    Engine,
    EngineProblem,
    Engines,
    plain,
    quoted,
)
from whence.langs.prolog.tables import Tables
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import (
    LogEntry,
    Port,
    PortEvent,
    TracedCall,
    completed,
    first_of,
    in_vain,
    judged_terms,
    stopped_in,
)
from whence.model.call import Binding, Call, Function, Outcome, OutcomeKind, Rule
from whence.model.value import Value, atom, parse_path
from whence.tree.build import Rows, link
from whence.tree.column_tree import ColumnTree, assemble_tree

MOST_NODES = 50_000
HANDLE = "handle"
"""The text of a term that exists in one process only: a stream, or the like."""
_ANSWERS_SHOWN = 10
_EVENTS_A_NODE = 3
_EXPANDED = 5_000
"""About how many nodes an expansion adds."""
_OUTCOMES = {
    Port.EXIT: OutcomeKind.RETURNED,
    Port.FAIL: OutcomeKind.FAILED,
    Port.FIRST: OutcomeKind.FAILED,
    Port.RAISE: OutcomeKind.RAISED,
    Port.STOPPED: OutcomeKind.NOT_TERMINATED,
}
_CALLS_EACH = {"maplist", "foldl"}
_KEEP_ONE = {"once", "ignore"}
_CALLS_ONE = {"call", "once", "catch", "apply", "setup_call_cleanup", "call_cleanup"}


def children_of(event: PortEvent) -> list[PortEvent]:
    """The events that explain an event: if all are right and it is wrong, its own code is at
    fault."""
    call = event.call
    if event.port is Port.FAIL:
        return in_vain(call.log)
    if event.port is Port.FIRST:
        return _before(event)
    if event.port is Port.STOPPED:
        waiting = stopped_in(call)
        goes_on = waiting is not None and waiting.repeats is None
        return in_vain(call.log) + (
            [PortEvent(Port.STOPPED, waiting)] if waiting and goes_on else []
        )
    is_answer = event.port is Port.EXIT
    on_branch = call.answers[event.number].children if is_answer else call.raised_after
    if call.predicate.is_user:
        return list(on_branch)
    log = call.log[: call.answers[event.number].logged] if is_answer else call.log
    events = list(on_branch) if _passes_control_on(call, log) else completed(log)
    return events + _firsts(events) if call.predicate.name in _KEEP_ONE else events


def _before(event: PortEvent) -> list[PortEvent]:
    """All events before an answer, and the FIRST events of its children."""
    answer = event.call.answers[event.number]
    return list(
        dict.fromkeys([*in_vain(event.call.log[: answer.logged]), *_firsts(answer.children)])
    )


def tells_all_before(event: PortEvent) -> bool:
    """Whether all events before an answer are below it in the tree."""
    visited = {event}
    waiting = [event]
    while waiting:
        event = waiting.pop()
        below = set(children_of(event))
        if event.port is Port.EXIT:
            before = event.call.log[: event.call.answers[event.number].logged]
            if not below.issuperset(in_vain(before)):
                return False
        waiting += below - visited
        visited |= below
    return True


def _firsts(events: Iterable[PortEvent]) -> list[PortEvent]:
    return [
        PortEvent(Port.FIRST, event.call, event.number)
        for event in events
        if event.port is Port.EXIT and first_of(event.call)
    ]


def _passes_control_on(call: TracedCall, log: Sequence[LogEntry]) -> bool:
    """Whether a library predicate's answer consists of the answers of the calls that it made.

    The argument of `call/1` may contain negations and conditions, which are out of sight; so if it
    made more than one call, all events count.
    """
    if call.predicate.name in _CALLS_EACH:
        return True
    events = [entry for entry in log if isinstance(entry, PortEvent)]
    is_one = len({event.call.mark for event in events}) == 1
    has_caught = call.raised is None and any(event.port is Port.RAISE for event in events)
    return call.predicate.name in _CALLS_ONE and is_one and not has_caught


def events_between(event: PortEvent) -> int:
    """About the length of the trace between a call and its event."""
    call = event.call
    if event.port in (Port.EXIT, Port.FIRST):
        return call.answers[event.number].time - call.called
    end = call.failed if event.port is Port.FAIL and call.failed else call.last_time
    return end - call.called


def _weight(event: PortEvent) -> int:
    """The estimated number of nodes at and below an implicit event."""
    if event.call.is_skipped:
        return 1 + event.call.effort
    return 1 + events_between(event) // _EVENTS_A_NODE


class EvaluationTree:
    """A `DetailSource` of the tree below one event. Terms are fetched from Prolog when shown."""

    def __init__(
        self,
        engines: Engines,
        trace: TraceTree,
        names: dict[str, str],
        goal: str,
        skipped: SkippedCalls | None = None,
        output: str = "",
    ) -> None:
        """`names` maps resolved file names to the names that are shown; `output` is all that was
        printed.

        With `skipped`, calls that were skipped can be expanded.
        """
        self._engines = engines
        self.trace = trace
        self._skipped = skipped
        self.terms = KeptTerms(engines)
        self._code = BlamedCode(engines, trace, names, goal)
        self._output = output
        self._states: dict[int, ProgramState] = {}
        self.tables = Tables(engines, trace.run, self.digests, children_of)
        self._nodes: list[PortEvent] = []
        self._ids: dict[tuple[int, int], int] = {}
        self._texts: dict[int, str] = {}
        self._errors: dict[int, str] = {}
        self._digests: dict[int, tuple[str, int]] = {}

    def tree(self, root: PortEvent, most: int = MOST_NODES) -> ColumnTree:
        """The tree below an event; beyond about `most` nodes the rest is implicit."""
        return self._built(root, self._id(-1, 0, root), most=most)

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The event as a question shows it."""
        event = self._nodes[detail]
        kind = _OUTCOMES[event.port]
        if event.port in (Port.FAIL, Port.FIRST) and function.location is not None:
            rule = replace(rule, source=self._code.all_clauses(event.call))
        value = None
        if event.port is Port.RAISE and event.call.raised is not None:
            value = atom(self.error(event.call.raised))
        return Call(
            function,
            rule,
            Outcome(kind, value),
            arguments=self.arguments(event),
            printed=self.state_of(event.call).change(event).printed,
            text=self.equation(event),
        )

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """More levels below an implicit event."""
        event = self._nodes[detail]
        if event.call.predicate.is_tabled and event.call.is_skipped:
            event = self._nodes[detail] = self.tables.reopen(event)
        elif not event.call.predicate.is_traced:
            raise CannotExpand(f"{event.call.predicate.indicator} runs CHR rules, not traced")
        elif event.call.is_skipped:
            if self._skipped is None:
                raise CannotExpand("the calls below this one were not recorded")
            event = self._nodes[detail] = self._skipped.reopen(event, self.digests)
        return self._built(event, detail + 1, levels=levels)

    def event(self, node: int) -> PortEvent:
        """The event of a node, by the node's id."""
        return self._nodes[node - 1]

    @property
    def all_traces(self) -> list[TraceTree]:
        """The trace of the run, and those of re-runs of skipped calls."""
        return [self.trace] if self._skipped is None else self._skipped.traces

    @property
    def unopened(self) -> list[TracedCall]:
        """The calls below --depth that were not looked into."""
        if self._skipped is None:
            return []
        skipped = (call for trace in self.all_traces for call in trace.calls if call.is_skipped)
        return [
            call
            for call in skipped
            if call.predicate.is_traced
            and not call.predicate.is_tabled
            and not self._skipped.was_opened(call)
        ]

    def depends(self, call: TracedCall) -> str:
        """What the outcome of a call depends on besides its arguments; "" if nothing is known."""
        [text] = self.items([call.term])
        request = f"depends({quoted(call.predicate.module)}, {quoted(text)})"
        try:
            lines = self.engine_of(call.term).do(request) if text != HANDLE else []
        except EngineProblem:
            return "something unknown"
        return plain(lines[0][1]) if lines else ""

    def trace_of(self, call: TracedCall) -> TraceTree:
        """The trace that holds a call: that of the run, or of a re-run of a skipped call."""
        of_table = self.tables.trace_of(call)
        if of_table is not None:
            return of_table
        return self.trace if self._skipped is None else self._skipped.trace_of(call)

    def outside(self, call: TracedCall, *, any_below: bool = False) -> PortEvent | None:
        """The event in another trace for which a call was run again (`SkippedCalls.outside`)."""
        if any_below and (opened := self.tables.opened_for(call)) is not None:
            return opened
        return None if self._skipped is None else self._skipped.outside(call, any_below=any_below)

    def ran_for(self, call: TracedCall) -> int:
        """The number of events from a call to the end of the run."""
        return self.trace_of(call).length - call.called

    def _children(self, event: PortEvent) -> list[PortEvent]:
        below = self.tables.children(event)
        return children_of(event) if below is None else below

    def state_of(self, call: TracedCall) -> ProgramState:
        """The state of the program in the trace that holds a call."""
        trace = self.trace_of(call)
        if id(trace) not in self._states:
            output = self._output if trace is self.trace else ""
            self._states[id(trace)] = ProgramState(trace, self.digests, output)
        return self._states[id(trace)]

    def child(self, node: int, event: PortEvent) -> int | None:
        """The id of a node's child that stands for an event."""
        for nth, child in enumerate(self._children(self.event(node))):
            if child == event:
                return self._ids.get((node, nth))
        return None

    # --- arguments -------------------------------------------------------------------------------

    def arguments(self, event: PortEvent) -> tuple[Binding, ...]:
        """The arguments at the event; of a goal that is not one call, its variables.

        A part that was unbound at the call may have been bound by it.
        """
        call = event.call
        if call.predicate.name == GOAL:
            return tuple(
                Binding(name, self.argument(event, nth)[1], came_of_call=True)
                for nth, name in enumerate(self.trace.run.names)
            )
        values = self.terms.arguments(_term(event))
        return tuple(
            Binding("", value, came_of_call=state != "g")
            for value, state in zip(values, call.states, strict=False)
        )

    def part_of_goal(self, event: PortEvent, text: str) -> str:
        """A part of the goal in terms of its arguments; `text` may name a variable instead."""
        name, _ = parse_path(text)
        path = self.trace.run.names.get(name, ((),))[0]
        if event.call.predicate.name == GOAL or not path:
            return text
        _, value = self.argument(event, path[0] - 1)
        return f"arg{path[0]}{''.join(steps_of(value, path[1:]))}{text.strip()[len(name) :]}"

    def argument(self, event: PortEvent, position: int) -> tuple[tuple[int, ...], Value]:
        """An argument (from 0): its path in the call's term, and its value."""
        if event.call.predicate.name != GOAL:
            return (position + 1,), self.terms.arguments(_term(event))[position]
        path = list(self.trace.run.names.values())[position][0]
        return (1, *path), self.terms.part(_term(event), path)

    def variable(self, event: PortEvent, path: tuple[int, ...]) -> int | None:
        """The variable of the goal's clause that a part belongs to, if the goal is not one call."""
        clause = event.call.tried[-1] if event.call.tried else None
        if event.call.predicate.name != GOAL or clause is None:
            return None
        places = self.terms.places(clause)
        alias = None if places is None else places.text_at((), path)
        return None if alias is None else alias[0]

    # --- texts -----------------------------------------------------------------------------------

    def equation(self, event: PortEvent) -> str:
        """The equation that is judged, in Prolog's notation, with what it read and changed."""
        change = described(self.state_of(event.call).change(event), self.texts)
        return f"{self.outcome(event)}; {change}" if change else self.outcome(event)

    def outcome(self, event: PortEvent) -> str:
        """The call and its outcome alone."""
        call = event.call
        if event.port is Port.EXIT:
            return self.texts([call.answers[event.number].term])[0]
        goal = self.texts([call.term])[0]
        if event.port is Port.RAISE:
            assert call.raised is not None
            return f"{goal} raised {self.error(call.raised)}"
        if event.port is Port.STOPPED:
            waiting = stopped_in(call)
            if waiting is None or waiting.repeats is None:
                return f"{goal} did not end"
            return f"{goal} did not end: it came to {self.texts([waiting.term])[0]} again"
        if event.port is Port.FIRST:
            answers = call.answers[: event.number + 1]
            *earlier, kept = self.texts([answer.term for answer in answers])
            but = f", but {'; '.join(dict.fromkeys(earlier[:_ANSWERS_SHOWN]))}" if earlier else ""
            return f"{goal} has no answer before {kept}{but}"
        if not call.answers:
            return f"{goal} has no answer"
        terms = [answer.term for answer in call.answers]
        shown = "; ".join(dict.fromkeys(self.texts(terms[:_ANSWERS_SHOWN])))
        more = f"; … {len(terms) - _ANSWERS_SHOWN} more" if len(terms) > _ANSWERS_SHOWN else ""
        return f"{goal} has no answer but {shown}{more}"

    def texts(self, terms: Sequence[int]) -> list[str]:
        """The texts of terms; cached."""
        missing = [term for term in terms if term not in self._texts]
        for _, number, text in self._engines.numbered("terms", missing):
            self._texts[int(number)] = plain(text)
        return [self._texts[term] for term in terms]

    def error(self, term: int) -> str:
        """The text of an error, without the place where it was raised."""
        if term not in self._errors:
            [[_, _, text]] = self._engines.of(term).do(f"error({term})")
            self._errors[term] = plain(text)
        return self._errors[term]

    def items(self, terms: Sequence[int]) -> list[str]:
        """Terms as texts that another process reads as the same terms, constraints included."""
        texts = {
            int(number): plain(text)
            for _, number, text in self._engines.numbered("items", sorted(set(terms)))
        }
        return [texts[term] for term in terms]

    def engine_of(self, term: int) -> Engine:
        """The process that holds a term."""
        return self._engines.of(term)

    def judged(self, event: PortEvent) -> list[str] | None:
        """The items of an event's `judged_terms`; None if one exists in this process only."""
        texts = self.items(judged_terms(event))
        return None if HANDLE in texts else texts

    # --- rows ------------------------------------------------------------------------------------

    def _id(self, parent: int, nth: int, event: PortEvent) -> int:
        """The id of an event as a node's nth child; the same for every request."""
        node = self._ids.setdefault((parent, nth), len(self._nodes) + 1)
        if node > len(self._nodes):
            self._nodes.append(event)
        return node

    def _built(
        self, root: PortEvent, node: int, *, levels: int | None = None, most: int | None = None
    ) -> ColumnTree:
        opened = self._opened(root, node, levels, most)
        rows, events = Rows(), list[PortEvent]()
        waiting = deque([(root, node, -1)])
        while waiting:
            event, node, parent = waiting.popleft()
            children = opened.get(node)
            events.append(event)
            is_state = self.state_of(event.call).is_state(event)
            function, rule = self._code.numbers(event, is_trusted=is_state)
            rows.ids.append(node)
            rows.parents.append(parent)
            rows.functions.append(function)
            rows.rules.append(rule)
            rows.outcomes.append(_OUTCOMES[event.port])
            rows.own.append(1 if children is not None else _weight(event))
            rows.implicit.append(children is None)
            rows.details.append(node - 1)
            waiting.extend(
                (child, self._id(node, nth, child), node)
                for nth, child in enumerate(children or ())
            )
        self._add_digests(rows, events)
        return assemble_tree(link(rows), self._code.functions, self._code.rules, self)

    def digests(self, terms: Sequence[int]) -> list[str]:
        """Digests that are equal for terms that are variants of each other."""
        self._fetch_digests(set(terms))
        return [self._digests[term][0] for term in terms]

    def _fetch_digests(self, terms: set[int]) -> None:
        for _, number, sha, length in self._engines.numbered(
            "digests", sorted(terms - self._digests.keys())
        ):
            self._digests[int(number)] = sha, int(length)

    def _opened(
        self, root: PortEvent, node: int, levels: int | None, most: int | None
    ) -> dict[int, list[PortEvent]]:
        """The children of the nodes that are shown in full, by the nodes' ids.

        All nodes if there are at most `most`. Otherwise the heaviest first, so that what stays
        implicit is light: a search by halves seldom needs it. With `levels`, at least so many.
        """
        opened: dict[int, list[PortEvent]] = {}
        rest: list[tuple[int, int, PortEvent]] = []
        room = most if most is not None else max(_EXPANDED, len(self._nodes) // 2)
        waiting = deque([(root, node, 0)])
        while waiting:
            event, at, depth = waiting.popleft()
            if self._is_closed(event, is_root=depth == 0 and levels is not None):
                continue
            if levels is not None and depth >= levels:
                rest.append((-_weight(event), at, event))
                continue
            children = self._children(event)
            room -= len(children)
            if room < 0 and most is not None and depth:
                opened, rest, room, waiting = {}, [(0, node, root)], most, deque()
                break
            opened[at] = children
            waiting.extend(
                (child, self._id(at, nth, child), depth + 1) for nth, child in enumerate(children)
            )
        heapq.heapify(rest)
        while rest:
            _, at, event = heapq.heappop(rest)
            if self._is_closed(event, is_root=False):
                continue
            children = self._children(event)
            if children and room <= 0 and event is not root:
                continue
            room -= len(children)
            opened[at] = children
            for nth, child in enumerate(children):
                heapq.heappush(rest, (-_weight(child), self._id(at, nth, child), child))
        return opened

    def _is_closed(self, event: PortEvent, *, is_root: bool) -> bool:
        """Whether the calls below an event are known only after it was run again."""
        return event.call.is_skipped and not is_root

    def _add_digests(self, rows: Rows, events: Sequence[PortEvent]) -> None:
        """Questions about variants of the same terms are equal, so their digests are equal."""
        self._fetch_digests({term for event in events for term in _terms(event)})
        for event in events:
            digests = [self._digests[term] for term in _terms(event)]
            key = [event.port.value, event.call.predicate.module, *(sha for sha, _ in digests)]
            if self.state_of(event.call).is_touched(event.call):
                key.append(f"{id(self.trace_of(event.call))} {event.call.mark} {event.number}")
            digest = hashlib.blake2b(" ".join(key).encode(), digest_size=8).digest()
            rows.equations.append(int.from_bytes(digest, "little", signed=True))
            rows.efforts.append(min(sum(length for _, length in digests), 2**31 - 1))


def _term(event: PortEvent) -> int:
    """The term at an event: the answer, or else the call."""
    return event.call.answers[event.number].term if event.port is Port.EXIT else event.call.term


def _terms(event: PortEvent) -> list[int]:
    """The terms that a question is about. Equal answers to different calls are one question."""
    terms = judged_terms(event)
    return terms[1:] if event.port is Port.EXIT else terms
