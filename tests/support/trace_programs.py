"""Random recordings: records as a recorder could write them, and the calls that they mean.

The calls are kept as they are made up, so that they are known without reading a trace.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.langs.python.trace.recorded_effects import UNKNOWN, effects_on
from whence.model.call import Binding, Effect, Outcome, OutcomeKind
from whence.model.value import Kind, Value, atom

FILE, MODULE, POINT, STACK, VALUE_ERROR, X, Y, LIMIT = range(8)
NAMES = ("/x/run.py", "run", "Point", "Stack", "ValueError", "x", "y", "LIMIT")
PARAMETERS = {"plain": ("a", "b"), "captures": ("a", "free"), "steps": ("a",), "waits": ()}
FLAGS = {"plain": 0, "captures": 0, "steps": f.GENERATOR, "waits": f.COROUTINE}
FREE = {"captures": 1}
CODES = tuple(PARAMETERS)
HEADER = {"root": "run.py", "options": {"detail": "full"}}


@dataclass
class Known:
    """What a call of a random recording is."""

    code: str
    parent: int
    bare: bool
    state: str
    inputs: list[Value]
    now: list[Value] = field(default_factory=list)
    runs: list[list[object]] = field(default_factory=list)
    """Changes: name, before, after."""
    last: dict[int, list[object]] = field(default_factory=dict)
    resumed: list[Binding] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    outcome: Outcome | None = None
    printed: str = ""
    skipped: int = 0
    steps: list[list[int]] = field(default_factory=list)
    """For each step how often LIMIT had been set when it began, and when it ended."""

    def effects(self) -> tuple[Effect, ...]:
        found: list[Effect] = []
        for name, before, after in self.runs:
            if before != after:
                found += effects_on(str(name), before, after)  # type: ignore[arg-type]
        return tuple(found)


class Recording:
    """Makes up records one by one; `calls[0]` is the run."""

    def __init__(self, numbers: random.Random) -> None:
        self.numbers = numbers
        self.out = bytearray()
        self.pages: list[bytes] = []
        self.flushed = [0]
        """How many calls there were at the end of each page."""
        self.roots = w.RootNumbering()
        self.calls = [Known("", -1, False, "running", [])]
        self.limits: list[Value] = []
        self._threads = 1
        self._tables()

    def _tables(self) -> None:
        names = [*NAMES, *CODES, "a", "b", "free"]
        for name in names:
            w.add_name(self.out, name)
        w.add_type(self.out, MODULE, POINT, f.USER_TYPE)
        w.add_type(self.out, MODULE, STACK, f.USER_TYPE)
        w.add_type(self.out, MODULE, VALUE_ERROR, f.EXCEPTION_TYPE)
        w.add_record(self.out, f.VARIABLE, MODULE, LIMIT)
        for line, code in enumerate(CODES, 1):
            inputs = [names.index(each) for each in PARAMETERS[code]]
            count = len(inputs) - FREE.get(code, 0)
            w.add_code(
                self.out,
                FLAGS[code],
                (FILE, MODULE, names.index(code), line),
                (inputs[:count], inputs[count:]),
                (0,) if code == "captures" else (),
                b"",
            )

    def flush(self) -> None:
        self.pages.append(w.page_bytes(self.out, self.numbers.choice([f.PLAIN, f.ZLIB])))
        self.out.clear()
        self.flushed.append(len(self.calls))

    def file(self) -> bytes:
        return w.header_bytes(HEADER) + b"".join(self.pages)

    # --- values ----------------------------------------------------------------------------------

    def value(self, depth: int = 2) -> tuple[bytes, Value]:
        """A random value, as bytes and as what they mean."""
        out = bytearray()
        choice = self.numbers.randrange(14 if depth else 8)
        if choice < 2:
            number = self.numbers.choice([0, 5, 127, 128, -1, -(2**63), 2**63, -(2**70), 3**50])
            w.add_whole(out, number)
            return bytes(out), atom(str(number))
        if choice == 2:
            text = self.numbers.choice(["", "it's", "a\nb", "ünï", "long " * 5, "\udc80"])
            w.add_string(out, text)
            return bytes(out), atom(repr(text))
        if choice == 3:
            real = self.numbers.choice([0.0, -1.5, 1e300, float("inf")])
            w.add_float(out, real)
            return bytes(out), atom(repr(real))
        if choice == 4:
            return bytes([f.NONE]), atom("None")
        if choice == 5:
            w.add_string(out, "abcdef", 3)
            return bytes(out), atom("'abc'…3 more")
        if choice == 6:
            w.add_blob(out, b"ab")
            return bytes(out), atom("b'ab'")
        if choice == 7:
            w.add_record(out, f.OPAQUE, 0)
            return bytes(out), atom("<run.Point>")
        return self._compound(choice, depth)

    def _compound(self, choice: int, depth: int) -> tuple[bytes, Value]:
        out = bytearray()
        inner = [self.value(depth - 1) for _ in range(self.numbers.randrange(4))]
        more = self.numbers.choice([0, 0, 7])
        count = len(inner)
        if choice == 11:
            w.add_record(out, f.DICT, count + more, count)
            for key, (encoded, _) in enumerate(inner):
                w.add_whole(out, key)
                out += encoded
            steps = [f"[{key}]" for key in range(count)]
            kind, text = Kind.DICT, ""
        elif choice == 12:
            inner, count = inner[:2], min(count, 2)
            w.add_record(out, f.OBJECT, 0, count + more, count)
            for name, (encoded, _) in zip((X, Y), inner, strict=False):
                w.add_v(out, name)
                out += encoded
            steps = [".x", ".y"][:count]
            kind, text = Kind.OBJECT, "Point"
        elif choice == 13:
            w.add_record(out, f.SUBCLASS, 1)
            w.add_record(out, f.LIST, count + more, count)
            out += b"".join(encoded for encoded, _ in inner) + b"\x00\x00"
            steps = [f"[{number}]" for number in range(count)]
            kind, text = Kind.OBJECT, "Stack"
        else:
            byte, kind = [(f.LIST, Kind.LIST), (f.TUPLE, Kind.TUPLE), (f.SET, Kind.SET)][choice - 8]
            w.add_record(out, byte, count + more, count)
            out += b"".join(encoded for encoded, _ in inner)
            steps = [f"[{number}]" for number in range(count)]
            text = ""
        parts = tuple(zip(steps, (value for _, value in inner), strict=True))
        return bytes(out), Value(kind, text, parts, more)

    def root(self) -> Value:
        encoded, value = self.value()
        self.roots.add(self.out, encoded)
        return value

    # --- records ---------------------------------------------------------------------------------

    def step(self) -> None:
        """One thing that happens in the program."""
        kinds = [self.call, self.call, self.leave, self.leave, self.resume, self.suspend]
        kinds += [self.skip, self.output, self.limit, self.thread, self.close]
        self.numbers.choice(kinds)()
        if self.numbers.random() < 0.1:
            self.flush()

    def _some(self, state: str, stepped: bool | None = None) -> int | None:
        found = [
            number
            for number, each in enumerate(self.calls)
            if number and each.state in state.split("|")
            if stepped is None or bool(FLAGS[each.code]) is stepped
        ]
        return self.numbers.choice(found[-6:]) if found else None

    def _distance(self, number: int) -> int:
        return len(self.calls) - number

    def call(self) -> None:
        parent = self._some("running") if self.numbers.random() < 0.9 else 0
        code = self.numbers.choice(CODES)
        bare = self.numbers.random() < 0.1
        record = f.BARE_CALL if bare else f.CALL
        w.add_record(self.out, record, self._distance(parent or 0), CODES.index(code), 0)
        inputs = [] if bare else [self.root() for _ in PARAMETERS[code]]
        state = "created" if FLAGS[code] else "running"
        known = Known(code, parent or 0, bare, state, inputs)
        known.now = list(inputs) or [atom("…")] * len(PARAMETERS[code])
        if state == "running":
            known.steps.append([len(self.limits)])
        self.calls.append(known)

    def _change(self, number: int) -> None:
        known = self.calls[number]
        for which, name in enumerate(PARAMETERS[known.code]):
            if self.numbers.random() < 0.6:
                continue
            if known.state == "running" and self.numbers.random() < 0.2:
                w.add_record(self.out, f.LOST, self._distance(number), which)
                after = UNKNOWN
            else:
                w.add_record(self.out, f.CHANGED, self._distance(number), which)
                after = self.root()
            if known.state != "running":
                known.resumed.append(Binding(f"{name}(resumed)", after))
                known.last.pop(which, None)
            elif which in known.last:
                known.last[which][2] = after
            else:
                known.last[which] = [name, known.now[which], after]
                known.runs.append(known.last[which])
            known.now[which] = after

    def leave(self) -> None:
        number = self._some("running")
        if number is None:
            return
        known = self.calls[number]
        self._change(number)
        known.steps[-1].append(len(self.limits))
        known.state = "ended"
        yielded = tuple(known.yielded)
        bare, raised = self.numbers.random() < 0.1, self.numbers.random() < 0.3
        record = {
            (False, False): f.RETURN,
            (True, False): f.BARE_RETURN,
            (False, True): f.RAISE,
            (True, True): f.BARE_RAISE,
        }[bare, raised]
        w.add_record(self.out, record, self._distance(number), *([0] if raised else []))
        kind = OutcomeKind.RAISED if raised else OutcomeKind.RETURNED
        unknown = atom("?") if yielded and not raised else None
        known.outcome = Outcome(kind, unknown if bare else self.root(), yielded)

    def resume(self) -> None:
        number = self._some("created|suspended")
        if number is None:
            return
        known = self.calls[number]
        if self.numbers.random() < 0.3:
            self._change(number)
        by = self._some("running") or 0
        record = self.numbers.choice([f.RESUME, f.RESUME, f.RESUME, f.THROW, f.SEND])
        w.add_record(self.out, record, self._distance(number), self._distance(by))
        if record != f.RESUME:
            sent = f"sent[{max(0, len(known.yielded) - 1)}]"
            name = "thrown" if record == f.THROW else sent
            known.resumed.append(Binding(name, self.root()))
        known.state = "running"
        known.steps.append([len(self.limits)])

    def suspend(self) -> None:
        number = self._some("running", stepped=True)
        if number is None:
            return
        known = self.calls[number]
        if self.numbers.random() < 0.5:
            self._change(number)
        known.state = "suspended"
        known.steps[-1].append(len(self.limits))
        w.add_record(self.out, f.YIELD, self._distance(number))
        value = self.root()
        if known.code == "steps":
            known.yielded.append(value)

    def close(self) -> None:
        number = self._some("created|suspended")
        if number is not None and self.numbers.random() < 0.3:
            w.add_record(self.out, f.CLOSED, self._distance(number))
            self.calls[number].state = "closed"

    def skip(self) -> None:
        number = self._some("running") or 0
        count = self.numbers.choice([0, 1, 500])
        w.add_record(self.out, f.SKIPPED, self._distance(number), count)
        self.calls[number].skipped += count

    def output(self) -> None:
        number = self._some("running|ended") or 0
        w.add_output(self.out, self._distance(number), 1, "out\n")
        self.calls[number].printed += "out\n"

    def limit(self) -> None:
        w.add_record(self.out, f.GLOBAL, 0)
        self.limits.append(self.root())

    def thread(self) -> None:
        thread = self.numbers.randrange(self._threads + 1)
        self._threads = max(self._threads, thread + 1)
        w.add_record(self.out, f.THREAD, thread)

    def end(self) -> None:
        w.add_record(self.out, f.END, f.ENDED)
        self.out.append(f.NONE)
        self.flush()

    # --- what it means ---------------------------------------------------------------------------

    def arguments(self, known: Known) -> tuple[Binding, ...]:
        count = len(PARAMETERS[known.code]) - FREE.get(known.code, 0)
        if known.bare:
            return (Binding("", atom("…")),) if count else ()
        return tuple(map(Binding, PARAMETERS[known.code][:count], known.inputs))

    def outcome(self, known: Known) -> Outcome:
        if known.outcome is not None:
            return known.outcome
        left = known.state in ("created", "suspended", "closed") and known.code == "steps"
        kind = OutcomeKind.YIELDED if left else OutcomeKind.NOT_TERMINATED
        return Outcome(kind, None, tuple(known.yielded))

    def limit_when(self, count: int) -> Value | None:
        return self.limits[count - 1] if count else None

    def reads(self, known: Known) -> list[Binding]:
        found = []
        if known.code == "captures":
            if not known.bare:
                found.append(Binding("free", known.inputs[1]))
            first = self.limit_when(known.steps[0][0])
            if first is not None:
                found.append(Binding("LIMIT", first))
        return found + known.resumed

    def effects(self, known: Known) -> tuple[Effect, ...]:
        found = known.effects()
        if known.code == "captures":
            begin, end = (*known.steps[0], len(self.limits))[:2]
            before, after = self.limit_when(begin), self.limit_when(end)
            if before != after:
                found += tuple(effects_on("LIMIT", before, after))
        return found


def recording(numbers: random.Random, steps: int) -> Recording:
    """A whole recording."""
    made = Recording(numbers)
    for _ in range(steps):
        made.step()
    made.end()
    return made
