"""Turns events into calls: the calls behind each answer, and the attempts that failed.

The current *branch* is the left-to-right list of the calls that led to the current point of
execution. In it, a call follows its caller and all earlier calls. Backtracking removes its end.

Only this module infers what Prolog does not report:
- A call that left no choice point gets no fail port; it has failed when backtracking passes it.
  So has a running call, such as `catch/3` when its recovery goal fails.
- `\\+` commits without a port. It failed if its calls are removed from the branch although
  execution continues neither inside it nor after it.
- After a `\\+` that failed, execution may continue without a port at an alternative in the same
  clause. It did if the clause continues while calls of the `\\+` are on the branch.
- A library predicate that is re-entered inside gives a second answer without a redo port.

Citation: Mercury's contexts (MacLarty, Somogyi & Brown 2005); the trace tree of debug slicing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whence.langs.prolog.port_events import Clause, Construct, ConstructKind, Run, read
from whence.langs.prolog.traced_call import (
    Change,
    ChangeKind,
    Committed,
    Cut,
    HiddenPart,
    Jump,
    Marker,
    NewClause,
    Port,
    PortEvent,
    Solution,
    TracedCall,
    because,
    evaluation,
    first_of,
    in_vain,
    is_inside,
    keeping,
    path_to,
    place_of,
    reopen,
    up_to,
)

_WHOLE = (ConstructKind.OR, ConstructKind.NOT)


class TraceTree:
    """All calls of a run. `calls[0]` is the goal.

    It has a method for each kind of event and one for each inference: they share one branch, so
    they are one class, although a large one.
    """

    def __init__(self, lines: Iterable[list[str]], run: Run) -> None:
        """Parses lines with `port_events.read`, which puts tables and answers into `run`."""
        self.run = run
        self.calls: list[TracedCall] = []
        self.cuts: list[Cut] = []
        self.refuting: list[TracedCall] = []
        """The branches on which negated goals succeeded, so that the negations failed."""
        self.hidden_parts: list[HiddenPart] = []
        """What happened out of sight, in order."""
        self.changes: list[Change] = []
        """What the program changed besides bindings, in order."""
        self._printed = self._noted = 0
        self._branch: list[TracedCall | Marker] = []
        self._of_frame: dict[int, TracedCall] = {}
        self._new_cuts: list[Cut] = []
        self._has_raised = False
        self._time = 0
        read(lines, run, self)
        if run.exhausted and self.calls:
            self._cut_off(0, None, None)

    @property
    def length(self) -> int:
        """The number of events."""
        return self._time

    @property
    def root(self) -> TracedCall:
        return self.calls[0]

    def clause(self, number: int | None) -> Clause | None:
        return None if number is None else self.run.clauses.get(number)

    @property
    def success(self) -> list[TracedCall]:
        """The branch of the goal's last answer; empty if it has none."""
        return path_to(self.root.answers[-1].last) if self.root.answers else []

    def failed_leaves(self) -> list[TracedCall]:
        """The calls that failed without making a call."""
        return [
            call
            for call in self.calls
            if not call.has_children and call.failed is not None and not call.answers
        ]

    # --- events ----------------------------------------------------------------------------------

    def call(
        self, frame: int, caller: int, pc: int, predicate: int, term: int, states: str
    ) -> None:
        """See `port_events.EventListener`; so for the methods below."""
        self._time += 1
        if self._has_raised:
            self._forget_raised()
        by = self._of_frame.get(caller) if caller else None
        if by is None and self.calls:
            by = self.root
        if self._printed != self._noted:
            self._note_printed(by)
        path: tuple[int, ...] = ()
        if by is not None:
            if not by.is_open:
                self._reenter(by)
            clause = self.clause(by.clause)
            if clause is not None:
                if clause.negations:
                    self._settle(by, clause, pc)
                path = clause.paths.get(pc, ())
        branch = self._branch
        parent = self._last_call()
        call = TracedCall(
            len(self.calls) + 1,
            self.run.predicates[predicate],
            term,
            states,
            by,
            pc,
            path,
            parent,
            None if parent is None else parent.clause,
            len(branch),
            self._time,
        )
        if parent is not None:
            parent.has_children = True
        if by is not None:
            by.body.append(call)
        self.calls.append(call)
        branch.append(call)
        self._of_frame[frame] = call
        if self._new_cuts:
            for cut in self._new_cuts:
                if cut.last is parent:
                    cut.selected_after = call
            self._new_cuts = []

    def unify(self, frame: int, clause: int) -> None:
        call = self._continue_in(frame)
        if call is None:
            return
        self._cut_off(call.position + 1, call, None)
        if call.clause is not None:
            before = self.clause(call.clause)
            if before is not None and before.cuts:
                tried = up_to(call.log[call.attempt_start :], max(before.cuts))
                call.guards += tuple(in_vain(tried))
            call.log.append(NewClause())
            call.attempt_start = len(call.log)
            call.cut_at = -1
        call.clause = clause
        call.tried += (clause,)

    def exit(self, frame: int, more: bool, term: int, states: str) -> None:
        call = self._continue_in(frame)
        if call is None:
            return
        if not call.is_open:
            self._reenter(call)
        clause = self.clause(call.clause)
        if clause is not None and clause.negations:
            self._settle(call, clause, None)
        children = call.guards
        if call.body:
            children = (*children, *because(call, call.body))
        if clause is not None and (call.cut_at >= 0 or clause.conditions):
            children = (*children, *keeping(call, clause))
        answers = call.answers
        last = self._last_call() or call
        answers.append(
            Solution(term, states, more, call.clause, children, self._time, len(call.log), last)
        )
        call.answered = PortEvent(Port.EXIT, call, len(answers) - 1)
        call.is_open = False
        call.end_on_branch = len(self._branch)
        if call.caller is not None:
            call.caller.log.append(call.answered)
            outer = self.clause(call.caller.clause)
            if outer is not None and any(part.holds(call.pc) for part in outer.conditions):
                call.caller.log += first_of(call)  # a condition takes only one answer

    def fail(self, frame: int) -> None:
        call = self._continue_in(frame)
        if call is None:
            return
        self._cut_off(call.position + 1, call, None)
        reopen(call)
        call.is_open = False
        call.failed = self._time
        if call.caller is not None:
            call.caller.log.append(PortEvent(Port.FAIL, call))

    def redo(self, frame: int, pc: int) -> None:
        call = self._continue_in(frame)
        if call is None:
            return
        clause = self.clause(call.clause)
        construct = clause.construct_at(pc) if clause and pc > 0 else None
        if construct is None or clause is None:
            self._cut_off(call.position + 1, call, None)
            reopen(call)
            return
        self._jump(call, clause, construct)

    def _jump(self, call: TracedCall, clause: Clause, construct: Construct) -> None:
        """Execution continues after the part of a construct that failed."""
        start = construct.start
        first = next((item for item in call.body if place_of(item) > start), None)
        length = len(self._branch) if first is None else self._index(first)
        self._cut_off(length, call, start)
        reopen(call)
        guarded = construct.kind is not ConstructKind.OR
        cuts = [pc for pc in clause.cuts if start < pc < construct.otherwise]
        tried: list[PortEvent] = []
        if guarded or cuts:
            reach = construct.condition_end if guarded else max(cuts)
            tried = in_vain(evaluation(call.log, construct, reach))
        marker = Marker(call, construct, tuple(tried))
        call.body.append(marker)
        self._branch.append(marker)
        call.log.append(Jump(construct))

    def exception(self, frame: int, term: int, refused: bool) -> None:
        self._time += 1
        call = self._of_frame.get(frame)
        if self._printed != self._noted:
            self._note_printed(call)
        if call is None:
            return
        if refused and not call.is_open and call.last_time == self._time - 1:
            self._take_back(call)
        call.last_time = self._time
        self._has_raised = True
        if call.raised is not None:
            return
        call.raised = term
        # All earlier attempts count: one that failed should perhaps have succeeded or raised.
        call.raised_after = tuple(
            dict.fromkeys((*because(call, call.body), *call.guards, *in_vain(call.log)))
        )
        if call.caller is not None:
            call.caller.log.append(PortEvent(Port.RAISE, call))
        self._cut_off(call.position + 1, call, None, unwinding=True)
        reopen(call)

    def _take_back(self, call: TracedCall) -> None:
        """Withdraw the last answer: the call is declared det but left a choice point."""
        call.answers.pop()
        call.answered = PortEvent(Port.EXIT, call, len(call.answers) - 1) if call.answers else None
        log = call.caller.log if call.caller is not None else []
        while log and isinstance(last := log[-1], PortEvent) and last.call is call:
            log.pop()
            if last.port is Port.EXIT:
                break

    def cut(self, frame: int, pc: int, pruned: Sequence[tuple[int, int]]) -> None:
        call = self._continue_in(frame)
        if call is None:
            return
        clause = self.clause(call.clause)
        if clause is not None:
            self._settle(call, clause, pc)
        call.cut_at = pc
        if call.predicate.is_user:
            for item in call.body:
                if isinstance(item, TracedCall) and item.failed is None:
                    call.log += first_of(item)
        last = self._last_call()
        if last is None:
            return
        cut = Cut(call, last, tuple((self._of_frame.get(of), clause) for of, clause in pruned))
        self.cuts.append(cut)
        self._new_cuts.append(cut)

    def effort(self, frame: int, inferences: int) -> None:
        self._time += 1
        call = self._of_frame.get(frame)
        if call is not None:
            call.note_effort(inferences)

    def change(self, frame: int, kind: str, module: str, name: str, term: int) -> None:
        call = self._of_frame.get(frame) or (self.root if self.calls else None)
        if call is not None:
            changed = Change(call, ChangeKind(kind), module, name, term, self._time)
            self.changes.append(changed)

    def printed(self, count: int) -> None:
        self._printed = count

    def _note_printed(self, call: TracedCall | None) -> None:
        """What was printed before an event was printed in the call that it is about."""
        start, self._noted = self._noted, self._printed
        owner = call or (self.root if self.calls else None)
        if owner is not None:
            self.changes.append(
                Change(owner, ChangeKind.PRINTED, "", "", self._printed, self._time, start)
            )

    def hidden(self, frame: int, what: str) -> None:
        call = self._of_frame.get(frame) or (self.root if self.calls else None)
        if call is not None:
            self.hidden_parts.append(HiddenPart(call, what, self._time))

    def _continue_in(self, frame: int) -> TracedCall | None:
        """The call of a frame in which execution continues.

        None if there was no call event of the frame; tabling causes that.
        """
        self._time += 1
        call = self._of_frame.get(frame)
        if self._printed != self._noted:
            self._note_printed(call)
        if call is not None:
            if self._has_raised:
                self._forget_raised()
            call.last_time = self._time
        return call

    def _settle(self, call: TracedCall, clause: Clause, pc: int | None) -> None:
        """Infer the jumps without a port, before a clause continues at `pc` (None: at its end)."""
        while True:
            failed = [
                negation
                for negation in clause.negations
                if not (pc is not None and negation.holds(pc))
                and any(is_inside(item, negation) for item in call.body)
            ]
            if not failed:
                return
            innermost = max(failed, key=lambda negation: negation.start)
            left = [
                other for other in clause.constructs if _is_left(call, clause, other, innermost)
            ]
            if not left:
                return
            self._jump(call, clause, max(left, key=lambda construct: construct.start))

    # --- the branch ------------------------------------------------------------------------------

    def _last_call(self) -> TracedCall | None:
        for item in reversed(self._branch):
            if isinstance(item, TracedCall):
                return item
        return None

    def _index(self, item: TracedCall | Marker) -> int:
        if isinstance(item, TracedCall):
            return item.position
        return next(i for i in range(len(self._branch) - 1, -1, -1) if self._branch[i] is item)

    def _reenter(self, call: TracedCall) -> None:
        """A call that had exited has another event: something inside it was redone out of sight."""
        self._cut_off(max(call.end_on_branch, call.position + 1), call, None)
        reopen(call)

    def _forget_raised(self) -> None:
        """Remove the calls that an exception left from the branch, after it was caught."""
        self._has_raised = False
        while self._branch:
            last = self._branch[-1]
            if not isinstance(last, TracedCall) or last.raised is None:
                return
            self._branch.pop()
            if last.caller is not None:
                last.caller.body.pop()

    def _cut_off(
        self, length: int, at: TracedCall | None, start: int | None, *, unwinding: bool = False
    ) -> None:
        """Backtrack to a length of the branch; execution continues in `at`, in the construct at
        `start` if that is not None."""
        if len(self._branch) <= length:
            return
        gone = self._branch[length:]
        del self._branch[length:]
        for item in reversed(gone):
            if item.caller is not None:
                assert item.caller.body[-1] is item, "a body is a part of the branch"
                item.caller.body.pop()
        committed = set() if unwinding else self._commitments(gone, at, start)
        for call in reversed(gone):
            if not isinstance(call, TracedCall) or unwinding:
                continue
            has_ended = call.failed is not None or call.raised is not None
            is_done = bool(call.answers) and not call.answers[-1].more
            if not has_ended and (call.is_open or (is_done and id(call) not in committed)):
                call.failed = self._time
                if call.caller is not None:
                    call.caller.log.append(PortEvent(Port.FAIL, call))
            call.is_open = False

    def _commitments(
        self, gone: Sequence[TracedCall | Marker], at: TracedCall | None, start: int | None
    ) -> set[int]:
        """The ids of calls in negations that failed; nothing is known of their further answers."""
        committed: set[int] = set()
        groups: dict[tuple[int, int], tuple[TracedCall, Construct, list[TracedCall | Marker]]] = {}
        for item in gone:
            owner = item.caller
            if owner is None:
                continue
            if id(owner) in committed:
                committed.add(id(item))
                continue
            clause = self.clause(owner.clause)
            for construct in clause.constructs if clause else ():
                if construct.kind is not ConstructKind.NOT or not is_inside(item, construct):
                    continue
                goes_on = (
                    owner is at
                    and start is not None
                    and construct.start <= start < construct.otherwise
                ) or any(is_inside(other, construct) for other in owner.body)
                if not goes_on:
                    committed.add(id(item))
                    key = (id(owner), construct.start)
                    groups.setdefault(key, (owner, construct, []))[2].append(item)
                    break
        self.refuting += [
            call
            for call in gone
            if id(call) in committed and isinstance(call, TracedCall) and call.failed is None
        ]
        for owner, construct, items in groups.values():
            owner.log.append(Committed(construct, tuple(because(owner, items))))
        return committed


def _is_left(call: TracedCall, clause: Clause, construct: Construct, failed: Construct) -> bool:
    """Whether a construct still has an alternative to try after a negation failed."""
    start, otherwise = construct.start, construct.otherwise
    if start >= failed.start or start < call.cut_at:
        return False
    end = otherwise if construct.kind in _WHOLE else construct.condition_end
    if failed.start < end:
        return True
    is_taken = any(isinstance(item, Marker) and item.construct == construct for item in call.body)
    is_pruned = any(
        condition.start < start < condition.condition_end <= failed.start
        for condition in clause.conditions
    )
    was_entered = any(is_inside(item, construct) for item in call.body)
    is_or = construct.kind is ConstructKind.OR
    return is_or and was_entered and not is_taken and not is_pruned
