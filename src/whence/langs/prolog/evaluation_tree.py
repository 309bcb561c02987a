"""The evaluation tree: answers, failures and exceptions as nodes, and who is blamed for each.

Citation: MacLarty, Somogyi & Brown, "Divide-and-query and subterm dependency tracking in the
Mercury declarative debugger" (2005), section 3; what is said of libraries and cuts is ours.
- An answer's children are the last answers of the calls on its branch, and all that happened in
  negations that succeeded and in conditions that failed (tried in vain).
- A failure's children are all answers and failures below it. Failure says that the answers so far
  are all there are.
- Of a call that was stopped everything below it counts, and what it was waiting for; the tree ends
  where the same call comes again, below which all would come again.
- A library predicate is trusted, and what it called back is what its caller's children really are.
  Of one that only passes control on, the branch counts; of any other, all that happened.
- An earlier clause with a cut that it did not reach left the way free for a later one: what it
  tried before the cut explains the later one's answer.
- A cut, and a conditional, keep the first answer. What failed before it explains why it was the
  first, and so does that no other answer of a call comes before the one that was kept. That is an
  event of its own: an answer may be right, and an earlier one be missing.

An event may stand in the tree more than once, below each event that it helped to explain, so trees
may be far larger than traces. Beyond a number of nodes the rest is *implicit*, weighs as much as
the trace was long in between, and is made when it is asked for; then the weights are right again.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from whence.errors import CannotExpand
from whence.langs.prolog.blamed_code import BlamedCode
from whence.langs.prolog.kept_terms import KeptTerms, steps_of
from whence.langs.prolog.port_events import GOAL
from whence.langs.prolog.skipped_calls import SkippedCalls
from whence.langs.prolog.swipl_process import Engine, Engines, plain
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
"""The text of a term that only the process knows which has it: a stream, or the like."""
_ANSWERS_SHOWN = 10
_EVENTS_A_NODE = 3
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
    """What explains an event: if all of it is right, a wrong event is its own code's fault."""
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
    found = list(on_branch) if _passes_control_on(call, log) else completed(log)
    return found + _firsts(found) if call.predicate.name in _KEEP_ONE else found


def _before(event: PortEvent) -> list[PortEvent]:
    """All that happened before an answer, and that what it was made of came first."""
    answer = event.call.answers[event.number]
    return list(
        dict.fromkeys([*in_vain(event.call.log[: answer.logged]), *_firsts(answer.children)])
    )


def tells_all_before(event: PortEvent) -> bool:
    """Whether nothing happened before an answer but what is below it in the tree."""
    seen = {event}
    waiting = [event]
    while waiting:
        each = waiting.pop()
        below = set(children_of(each))
        if each.port is Port.EXIT:
            before = each.call.log[: each.call.answers[each.number].logged]
            if not below.issuperset(in_vain(before)):
                return False
        waiting += below - seen
        seen |= below
    return True


def _firsts(events: Iterable[PortEvent]) -> list[PortEvent]:
    return [
        PortEvent(Port.FIRST, each.call, each.number)
        for each in events
        if each.port is Port.EXIT and first_of(each.call)
    ]


def _passes_control_on(call: TracedCall, log: Sequence[LogEntry]) -> bool:
    """Whether a library predicate's answer is no more than the answers of what it called.

    A goal that is given to `call/1` may hold negations and conditions, of which nothing is known;
    where it made more than one call, all that happened counts.
    """
    if call.predicate.name in _CALLS_EACH:
        return True
    events = [each for each in log if isinstance(each, PortEvent)]
    is_one = len({each.call.mark for each in events}) == 1
    has_caught = call.raised is None and any(each.port is Port.RAISE for each in events)
    return call.predicate.name in _CALLS_ONE and is_one and not has_caught


def events_between(event: PortEvent) -> int:
    """About how long the trace is between a call and the event."""
    call = event.call
    if event.port in (Port.EXIT, Port.FIRST):
        return call.answers[event.number].time - call.called
    return (
        call.failed if event.port is Port.FAIL and call.failed else call.last_time
    ) - call.called


def _weight(event: PortEvent) -> int:
    """About how many events lie below one that is not looked into yet."""
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
        reruns: SkippedCalls | None = None,
    ) -> None:
        """`names` says how files are written whose resolved names are known.

        With `reruns` calls that were skipped can be looked into.
        """
        self._engines = engines
        self.trace = trace
        self._reruns = reruns
        self.terms = KeptTerms(engines)
        self._code = BlamedCode(engines, trace, names, goal)
        self._nodes: list[PortEvent] = []
        self._ids: dict[tuple[int, int], int] = {}
        self._texts: dict[int, str] = {}
        self._errors: dict[int, str] = {}
        self._digests: dict[int, tuple[str, int]] = {}

    def tree(self, root: PortEvent, most: int = MOST_NODES) -> ColumnTree:
        """The tree below an event, as far as it has at most about so many nodes."""
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
            text=self.equation(event),
        )

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """More levels below an implicit event."""
        event = self._nodes[detail]
        if event.call.is_skipped:
            if self._reruns is None:
                raise CannotExpand("the calls below this one were not recorded")
            event = self._nodes[detail] = self._reruns.reopened(event, self.digests)
        return self._built(event, detail + 1, levels=levels)

    def event(self, node: int) -> PortEvent:
        """The event that a node of the tree, known by its id, stands for."""
        return self._nodes[node - 1]

    def trace_of(self, call: TracedCall) -> TraceTree:
        """The trace that a call is in: that of the run, or of looking into a skipped call."""
        return self.trace if self._reruns is None else self._reruns.trace_of(call)

    def outside(self, call: TracedCall, *, any_below: bool = False) -> PortEvent | None:
        """The event in another trace that a call was run again for (`Reruns.outside`)."""
        return None if self._reruns is None else self._reruns.outside(call, any_below=any_below)

    def ran_for(self, call: TracedCall) -> int:
        """How many events were told after a call was made, to the end of the run."""
        return self.trace_of(call).length - call.called

    def child(self, node: int, event: PortEvent) -> int | None:
        """The id of the node that stands for an event below another node."""
        for nth, each in enumerate(children_of(self.event(node))):
            if each == event:
                return self._ids.get((node, nth))
        return None

    # --- arguments -------------------------------------------------------------------------------

    def arguments(self, event: PortEvent) -> tuple[Binding, ...]:
        """The arguments as the event left them; of a goal that is not one call, its variables.

        What an argument lacked when it was called may have come of the call.
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
        """A part of the goal by its arguments, where it was named by a variable of it."""
        name, _ = parse_path(text)
        place = self.trace.run.names.get(name, ((),))[0]
        if event.call.predicate.name == GOAL or not place:
            return text
        _, value = self.argument(event, place[0] - 1)
        return f"arg{place[0]}{''.join(steps_of(value, place[1:]))}{text.strip()[len(name) :]}"

    def argument(self, event: PortEvent, position: int) -> tuple[tuple[int, ...], Value]:
        """An argument (from 0): its path in the call's, and its value."""
        if event.call.predicate.name != GOAL:
            return (position + 1,), self.terms.arguments(_term(event))[position]
        path = list(self.trace.run.names.values())[position][0]
        return (1, *path), self.terms.part(_term(event), path)

    def variable(self, event: PortEvent, path: tuple[int, ...]) -> int | None:
        """Which variable of the goal's clause a part is of, where the goal is not one call."""
        clause = event.call.tried[-1] if event.call.tried else None
        if event.call.predicate.name != GOAL or clause is None:
            return None
        places = self.terms.places(clause)
        found = None if places is None else places.text_at((), path)
        return None if found is None else found[0]

    # --- texts -----------------------------------------------------------------------------------

    def equation(self, event: PortEvent) -> str:
        """What is judged, in Prolog's notation."""
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
            *earlier, kept = self.texts([each.term for each in call.answers[: event.number + 1]])
            but = f", but {'; '.join(dict.fromkeys(earlier[:_ANSWERS_SHOWN]))}" if earlier else ""
            return f"{goal} has no answer before {kept}{but}"
        if not call.answers:
            return f"{goal} has no answer"
        terms = [each.term for each in call.answers]
        shown = "; ".join(dict.fromkeys(self.texts(terms[:_ANSWERS_SHOWN])))
        more = f"; … {len(terms) - _ANSWERS_SHOWN} more" if len(terms) > _ANSWERS_SHOWN else ""
        return f"{goal} has no answer but {shown}{more}"

    def texts(self, terms: Sequence[int]) -> list[str]:
        """The texts of terms, from Prolog where they are not known yet."""
        missing = [each for each in terms if each not in self._texts]
        for _, number, text in self._engines.numbered("terms", missing):
            self._texts[int(number)] = plain(text)
        return [self._texts[each] for each in terms]

    def error(self, term: int) -> str:
        """The text of an error, without where it was raised."""
        if term not in self._errors:
            [[_, _, text]] = self._engines.of(term).do(f"error({term})")
            self._errors[term] = plain(text)
        return self._errors[term]

    def items(self, terms: Sequence[int]) -> list[str]:
        """Terms as texts that another process reads as the same terms, constraints included."""
        found = {
            int(number): plain(text)
            for _, number, text in self._engines.numbered("items", sorted(set(terms)))
        }
        return [found[each] for each in terms]

    def engine_of(self, term: int) -> Engine:
        """The process that has a term."""
        return self._engines.of(term)

    def judged(self, event: PortEvent) -> list[str] | None:
        """The items of the call and of what is judged of it; None where another process could not
        have them."""
        texts = self.items(judged_terms(event))
        return None if HANDLE in texts else texts

    # --- rows ------------------------------------------------------------------------------------

    def _id(self, parent: int, nth: int, event: PortEvent) -> int:
        """The id of an event at a place of the tree, the same whenever it is asked for."""
        found = self._ids.setdefault((parent, nth), len(self._nodes) + 1)
        if found > len(self._nodes):
            self._nodes.append(event)
        return found

    def _built(
        self, root: PortEvent, node: int, *, levels: int | None = None, most: int | None = None
    ) -> ColumnTree:
        rows, events = Rows(), list[PortEvent]()
        waiting = deque([(root, node, -1, 0)])
        while waiting:
            event, node, parent, depth = waiting.popleft()
            children = children_of(event)
            is_full = most is not None and len(events) + len(waiting) + len(children) > most
            is_deep = levels is not None and depth >= levels
            is_implicit = bool(children) and depth > 0 and (is_full or is_deep)
            is_implicit = is_implicit or event.call.is_skipped
            events.append(event)
            self._row(rows, event, node, parent, is_implicit)
            if not is_implicit:
                waiting.extend(
                    (child, self._id(node, nth, child), node, depth + 1)
                    for nth, child in enumerate(children)
                )
        self._judged(rows, events)
        return assemble_tree(link(rows), self._code.functions, self._code.rules, self)

    def _row(self, rows: Rows, event: PortEvent, node: int, parent: int, implicit: bool) -> None:
        function, rule = self._code.numbers(event)
        rows.ids.append(node)
        rows.parents.append(parent)
        rows.functions.append(function)
        rows.rules.append(rule)
        rows.outcomes.append(_OUTCOMES[event.port])
        rows.own.append(_weight(event) if implicit else 1)
        rows.implicit.append(implicit)
        rows.details.append(node - 1)

    def digests(self, terms: Sequence[int]) -> list[str]:
        """What is equal for terms that are variants of each other."""
        self._fetch_digests(set(terms))
        return [self._digests[each][0] for each in terms]

    def _fetch_digests(self, terms: set[int]) -> None:
        for _, number, sha, length in self._engines.numbered(
            "digests", sorted(terms - self._digests.keys())
        ):
            self._digests[int(number)] = sha, int(length)

    def _judged(self, rows: Rows, events: Sequence[PortEvent]) -> None:
        """Equal questions have equal digests: they are about variants of the same terms."""
        self._fetch_digests({term for event in events for term in _terms(event)})
        for event in events:
            known = [self._digests[term] for term in _terms(event)]
            words = [event.port.value, event.call.predicate.module, *(each[0] for each in known)]
            digest = hashlib.blake2b(" ".join(words).encode(), digest_size=8).digest()
            rows.equations.append(int.from_bytes(digest, "little", signed=True))
            rows.efforts.append(min(sum(each[1] for each in known), 2**31 - 1))


def _term(event: PortEvent) -> int:
    """The term that an event leaves: an answer, or the call that it was."""
    return event.call.answers[event.number].term if event.port is Port.EXIT else event.call.term


def _terms(event: PortEvent) -> list[int]:
    """What a question is about; an answer is one by itself, whoever asked for it."""
    terms = judged_terms(event)
    return terms[1:] if event.port is Port.EXIT else terms
