"""What tabled calls did: their clauses are run again with the completed tables, and traced.

While a table is filled, Prolog suspends goals and resumes them, which no tracer shows as a tree.
Once it is complete, the clauses of the call can be run like any others: the tabled calls in their
bodies take their answers from tables. This gives every derivation of every answer, and all that was
tried.

Calls whose tables depend on each other are a *component*. In it an answer may be derived from
itself; so each answer is shown with a derivation from answers that were derived before it. That a
component lacks answers is one claim: it is blamed on its predicate, and on none of them if it has
several. So is an answer whose arguments are aggregated, because it depends on all others.

Invariant: a table is opened only if its clauses, run again, give the answers that the call had, and
depend on nothing but their arguments. Otherwise `CannotExpand` says why.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from whence.errors import CannotExpand
from whence.langs.prolog.port_events import Predicate, Run, RunLimits, Tabling
from whence.langs.prolog.swipl_process import EngineProblem, Engines, plain, quoted
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Port, PortEvent, TracedCall, in_vain, root_of

MOST_TABLES = 5_000
MOST_EVENTS = 2_000_000
_LIMITS = RunLimits(events=MOST_EVENTS, seconds=60)
Key = tuple[Predicate, str]
"""A variant of a call: its predicate and the digest of its term."""
Children = Callable[[PortEvent], list[PortEvent]]


@dataclass(eq=False)
class Table:
    """The clauses of one tabled call, run with the completed tables."""

    key: Key
    trace: TraceTree
    called: dict[int, Key]
    """The variants of the tabled calls in the trace, by their marks."""
    answers: dict[str, list[int]]
    """The answers of the root with the same term, by its digest."""
    component: Component | None = None
    chosen: dict[str, int] = field(default_factory=dict)
    """The answer of the root with a derivation from earlier answers, by its digest."""

    @property
    def root(self) -> TracedCall:
        return self.trace.root


@dataclass(eq=False)
class Component:
    """Tables that depend on each other, or one that depends on no table of its own component."""

    tables: list[Table]
    problem: str = ""
    """Why its answers cannot be explained; "" if they can."""
    below: list[PortEvent] | None = None
    """What its tables are made of: all events below them, outside of the component."""
    predicates: list[Predicate] = field(default_factory=list)
    """Those whose clauses are between its tables."""

    @property
    def is_aggregated(self) -> bool:
        aggregated = (Tabling.MODED, Tabling.LATTICE)
        return any(table.key[0].tabling in aggregated for table in self.tables)


class Tables:
    """Opens the events of tabled calls."""

    def __init__(
        self,
        engines: Engines,
        run: Run,
        digests: Callable[[Sequence[int]], list[str]],
        children: Children,
    ) -> None:
        self._engines = engines
        self._run = run
        self._digests = digests
        self._children = children
        self._tables: dict[Key, Table] = {}
        self._traces: dict[int, TraceTree] = {}
        self._opened: dict[PortEvent, PortEvent] = {}
        """The events of tabled calls that were opened, and what they are shown as."""
        self._from: dict[int, PortEvent] = {}
        """By the root of a table's trace: an event for which it was opened."""

    def reopen(self, event: PortEvent) -> PortEvent:
        """The event of a tabled call with what is below it; `CannotExpand` says why not."""
        if event not in self._opened:
            self._opened[event] = self._found(event)
        return self._opened[event]

    def children(self, event: PortEvent) -> list[PortEvent] | None:
        """What is below an event of a tabled call that was opened; None for other events."""
        opened = self._opened.get(event)
        if opened is None:
            return None
        if opened is not event:
            return self._children(opened)
        return self._below(self._component(event))

    def doubt(self, event: PortEvent) -> str | None:
        """Why the predicate of an opened call may not be the one at fault."""
        if self._opened.get(event) is not event:
            return None
        component = self._component(event)
        self._below(component)
        names = sorted({predicate.indicator for predicate in component.predicates})
        if len(names) > 1:
            return f"the tables of {_joined(names)} depend on each other, so it may be any of them"
        if any(table.key[0].tabling is Tabling.LATTICE for table in component.tables):
            return f"the predicate that aggregates the answers of {names[0]} was not traced"
        return None

    def trace_of(self, call: TracedCall) -> TraceTree | None:
        """The trace that holds a call, if it is that of a table."""
        return self._traces.get(id(root_of(call)))

    def opened_for(self, call: TracedCall) -> PortEvent | None:
        """An event for which the table was opened that a call is below."""
        return self._from.get(id(root_of(call)))

    def _found(self, event: PortEvent) -> PortEvent:
        call = event.call
        if event.port is Port.STOPPED:
            raise CannotExpand("its table was not complete when the run was stopped")
        if event.port is Port.RAISE:
            raise CannotExpand("an error left it while its table was filled")
        [digest] = self._digests([call.term])
        table = self._explored((call.predicate, digest), call)
        component = table.component
        assert component is not None, "an explored table has a component"
        if component.problem:
            raise CannotExpand(component.problem)
        terms = self._digests([answer.term for answer in call.answers])
        if not component.is_aggregated:
            self._check_answers(table, terms, is_all=event.port is Port.FAIL)
        if event.port is not Port.EXIT or component.is_aggregated:
            self._from.setdefault(id(table.root), event)
            return event
        answer = PortEvent(Port.EXIT, table.root, table.chosen[terms[event.number]])
        self._from[id(table.root)] = event
        return answer

    def _check_answers(self, table: Table, terms: Iterable[str], *, is_all: bool) -> None:
        before, now = set(terms), set(table.answers)
        if not before <= now or (is_all and before != now):
            name = table.key[0].indicator
            raise CannotExpand(f"when the clauses of {name} were run again, its answers differed")

    def _component(self, event: PortEvent) -> Component:
        [digest] = self._digests([event.call.term])
        component = self._tables[event.call.predicate, digest].component
        assert component is not None, "an opened table was explored"
        return component

    # --- running ---------------------------------------------------------------------------------

    def _explored(self, key: Key, call: TracedCall) -> Table:
        """The table of a call, with its component; runs what it depends on. After Tarjan 1972."""
        if key in self._tables and self._tables[key].component is not None:
            return self._tables[key]
        order: dict[Key, int] = {}
        low: dict[Key, int] = {}
        open_tables: list[Key] = []
        path = [(key, self._entered(key, call, order, low, open_tables))]
        while path:
            key_here, waiting = path[-1]
            if waiting:
                callee_key, callee = waiting.pop()
                known = self._tables.get(callee_key)
                if known is not None and known.component is not None:
                    continue
                if callee_key not in order:
                    inner = self._entered(callee_key, callee, order, low, open_tables)
                    path.append((callee_key, inner))
                else:
                    low[key_here] = min(low[key_here], order[callee_key])
                continue
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[key_here])
            if low[key_here] == order[key_here]:
                start = open_tables.index(key_here)
                self._close([self._tables[each] for each in open_tables[start:]])
                del open_tables[start:]
        return self._tables[key]

    def _entered(
        self,
        key: Key,
        call: TracedCall,
        order: dict[Key, int],
        low: dict[Key, int],
        open_tables: list[Key],
    ) -> list[tuple[Key, TracedCall]]:
        """Run a table's clauses; the tabled calls that they make."""
        if key not in self._tables:
            self._tables[key] = self._ran(key, call)
        order[key] = low[key] = len(order)
        open_tables.append(key)
        table = self._tables[key]
        calls = {table.called[c.mark]: c for c in table.trace.calls[1:] if c.mark in table.called}
        return list(calls.items())

    def _ran(self, key: Key, call: TracedCall) -> Table:
        name = call.predicate.indicator
        if len(self._tables) >= MOST_TABLES:
            raise CannotExpand(f"{name} depends on more than {MOST_TABLES:,} tables")
        item = self._item(call)
        try:
            engine = self._engines.of(call.term)
            why = engine.do(f"depends({item})")
            if why:
                raise CannotExpand(f"{name} cannot be run again: {plain(why[0][1])}")
            run = Run(predicates=self._run.predicates, clauses=self._run.clauses)
            trace = TraceTree(engine.stream(f"run_table({item}, {_LIMITS})"), run)
        except EngineProblem as problem:
            raise CannotExpand(f"{name} could not be run again: {problem}") from problem
        if run.unseen:
            raise CannotExpand(f"{name} has {' and '.join(run.unseen)}")
        if not run.exhausted or not trace.calls:
            raise CannotExpand(f"when the clauses of {name} were run again, they did not end")
        self._traces[id(trace.root)] = trace
        tabled = [callee for callee in trace.calls[1:] if callee.predicate.is_tabled]
        digests = self._digests([callee.term for callee in tabled])
        called = {
            callee.mark: (callee.predicate, digest)
            for callee, digest in zip(tabled, digests, strict=True)
        }
        answers: dict[str, list[int]] = defaultdict(list)
        terms = [answer.term for answer in trace.root.answers]
        for number, digest in enumerate(self._digests(terms)):
            answers[digest].append(number)
        return Table(key, trace, called, answers)

    def _item(self, call: TracedCall) -> str:
        [[_, _, text]] = self._engines.numbered("items", [call.term])
        if text == "handle":
            raise CannotExpand("one of its arguments is a stream or the like")
        return f"{quoted(call.predicate.module)}, {quoted(plain(text))}"

    # --- components ------------------------------------------------------------------------------

    def _close(self, tables: list[Table]) -> None:
        component = Component(tables)
        for table in tables:
            table.component = component
        if not component.is_aggregated:
            component.problem = self._derived(component)

    def _inside(self, table: Table, event: PortEvent) -> Table | None:
        """The table of the component that an event in one of its traces is about."""
        key = table.called.get(event.call.mark)
        if key is None or root_of(event.call) is not table.root:
            return None
        other = self._tables[key]
        return other if other.component is table.component else None

    def _derived(self, component: Component) -> str:
        """Choose for each answer a derivation from answers that were derived before it.

        Returns why there is none. An answer waits for those that its derivation uses.
        """
        waiting: dict[tuple[Table, int], set[tuple[Table, str]]] = {}
        users: dict[tuple[Table, str], list[tuple[Table, int, str]]] = defaultdict(list)
        ready: list[tuple[Table, int, str]] = []
        for table in component.tables:
            for digest, numbers in table.answers.items():
                for number in numbers:
                    used, is_negated = self._uses(table, PortEvent(Port.EXIT, table.root, number))
                    if is_negated:
                        return f"{table.key[0].indicator} depends on its own failure"
                    waiting[table, number] = used
                    for answer in used:
                        users[answer].append((table, number, digest))
                    if not used:
                        ready.append((table, number, digest))
        while ready:
            table, number, digest = ready.pop(0)
            if digest in table.chosen:
                continue
            table.chosen[digest] = number
            for user, nth, of_user in users[table, digest]:
                waiting[user, nth].discard((table, digest))
                if not waiting[user, nth]:
                    ready.append((user, nth, of_user))
        if any(len(table.chosen) < len(table.answers) for table in component.tables):
            return "an answer in a table could not be derived again from earlier ones"
        return ""

    def _uses(self, table: Table, event: PortEvent) -> tuple[set[tuple[Table, str]], bool]:
        """The answers of the component that a derivation uses; whether it also uses a failure."""
        used: set[tuple[Table, str]] = set()
        for below in self._reached(table, event):
            other = self._inside(table, below)
            if other is None:
                continue
            if below.port is not Port.EXIT:
                return used, True
            [digest] = self._digests([below.call.answers[below.number].term])
            used.add((other, digest))
        return used, False

    def _reached(self, table: Table, event: PortEvent) -> list[PortEvent]:
        """All events below an event in a table's trace, tabled ones not looked through."""
        reached: dict[PortEvent, None] = {}
        waiting = [event]
        while waiting:
            for child in self._children(waiting.pop()):
                if child not in reached:
                    reached[child] = None
                    if child.call.mark not in table.called:
                        waiting.append(child)
        return list(reached)

    def _below(self, component: Component) -> list[PortEvent]:
        if component.below is None:
            found: dict[PortEvent, None] = {}
            members = dict.fromkeys(table.key[0] for table in component.tables)
            for table in component.tables:
                self._look_through(table, component, found, members)
            component.below = list(found)
            component.predicates = list(members)
        return component.below

    def _look_through(
        self,
        table: Table,
        component: Component,
        found: dict[PortEvent, None],
        members: dict[Predicate, None],
    ) -> None:
        """Add the events below a table. Those that need what the component lacks are a part of it,
        so they are looked through."""
        visited: set[PortEvent] = set()
        waiting = in_vain(table.root.log)[::-1]
        while waiting:
            event = waiting.pop()
            if event in visited:
                continue
            visited.add(event)
            if self._inside(table, event) is not None:
                if event.port is Port.EXIT and not component.is_aggregated:
                    found[event] = None
            elif self._needs(table, component, event):
                if event.call.predicate.is_user:
                    members[event.call.predicate] = None
                waiting += self._children(event)[::-1]
            else:
                found[event] = None

    def _needs(self, table: Table, component: Component, event: PortEvent) -> bool:
        """Whether an event depends on what is not in the component's tables."""
        if event.call.mark in table.called:
            return False
        return any(
            self._inside(table, below) is not None
            and (component.is_aggregated or below.port is not Port.EXIT)
            for below in self._reached(table, event)
        )


def _joined(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
