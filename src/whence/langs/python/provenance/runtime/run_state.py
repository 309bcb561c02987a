"""What a shadow run knows while it runs, and the operation that a thread is just doing.

Invariant: nothing here is seen by the program. Objects with shadows are kept alive until the run
is forgotten, so that an address stays what it is.
"""

from __future__ import annotations

import sys
import threading
import weakref
from array import array
from collections import Counter
from collections.abc import Callable
from types import CellType, CodeType, FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from whence.langs.python.provenance.runtime.type_inspection import has_special_method
from whence.langs.python.provenance.tags import (
    FRAME,
    Activation,
    Control,
    GeneratorRun,
    MaybeTag,
    Pair,
    Tag,
)

if TYPE_CHECKING:
    from whence.langs.python.provenance.runtime.shadow_memory import Shadow
    from whence.langs.python.provenance.runtime.text_pieces import Text

Known = TypeVar("Known")


class Operation:
    """Something out of sight that runs: what it was given, and what it was told by callbacks."""

    __slots__ = ("activation", "callbacks", "control", "expected", "operands", "site", "text")

    def __init__(self, site: int, control: Control, operands: tuple[Pair, ...]):
        self.site = site
        self.control = control
        self.operands = operands
        self.callbacks: list[Pair] = []
        self.activation: Activation = control.activation
        self.expected: dict[int, PendingCall] | None = None
        """Of making an instance: how its `__new__` and `__init__` are called, by their code."""
        self.text: Text | None = None
        """Of printing: what it writes."""


class PendingCall:
    """A call of a rewritten function that is about to begin.

    `function`, `arguments` and `keywords` are what the program's own frame calls, and with what;
    `defined` is the function itself, which may be called by way of a method.
    """

    __slots__ = (
        "activation", "arguments", "before", "code", "control", "defined", "function",
        "keyword_tags", "keywords", "run", "site", "starred", "tag", "tags", "values",
    )  # fmt: skip

    def __init__(
        self, defined: Any, tag: MaybeTag, site: int, control: Control, tags: list[MaybeTag],
        values: list[object], keyword_tags: dict[str, MaybeTag],
    ):  # fmt: skip
        self.function = self.defined = defined
        self.arguments = values
        self.keywords: dict[str, Any] = {}
        self.before: Operation | None = None
        self.code = defined.__code__
        self.tag = tag
        self.site = site
        self.control = control
        self.tags = tags
        self.values = values
        self.keyword_tags = keyword_tags
        self.starred: tuple[MaybeTag, ...] = ()
        """How many arguments there are depends on these: some came out of something starred."""
        self.activation: Activation | None = None
        self.run: GeneratorRun | None = None


class ThreadState(threading.local):
    """What a thread is about to do, or just did."""

    def __init__(self) -> None:
        self.pending: PendingCall | None = None
        self.operation: Operation | None = None
        self.defining: list[Any] = []


def frame_of(value: object) -> FrameType | None:
    """The frame of a generator or coroutine that has not ended."""
    for name in ("gi_frame", "cr_frame", "ag_frame"):
        if has_special_method(type(value), name):
            return getattr(value, name)  # type: ignore[no-any-return]
    return None


def entry_for_frame(frame: FrameType, entry: tuple[Any, Known] | None) -> Known | None:
    """What is known of a generator or coroutine by its frame: None if that is another's by now."""
    if entry is None:
        return None
    thing = entry[0]()
    return entry[1] if thing is not None and frame_of(thing) is frame else None


class ShadowRun:
    """All that a run has left: the tags of what objects hold, and the calls."""

    __slots__ = (
        "_named", "activations", "behind", "callback_history", "cells", "dropping", "expressions",
        "frames", "has_absorbed", "held_addresses", "holder_addresses", "is_scanned",
        "iteration_ends", "kept_alive", "lost", "made", "makers", "modules", "namespaces", "number",
        "on_enter", "on_leave", "on_out", "on_outside", "opaque_types", "passed_out_of_sight",
        "promised", "root", "runs", "shadows", "slots", "sources", "starting", "stdout",
        "stray_results", "suspended", "threads", "time",
    )  # fmt: skip

    def __init__(self) -> None:
        self.namespaces: dict[int, int] = {}
        """The numbers of rewritten modules, by the address of their dictionary. That they are
        rewritten is known before a run begins, and stays so."""
        self._named: dict[int, dict[str, Any]] = {}
        self.activations: list[Activation] = []
        self.dropping: list[list[MaybeTag]] = []
        self.suspended: list[Activation] = []
        """Calls of runs before that have not ended: what they still do is forgotten later."""
        self.reset()

    def note_namespace(self, namespace: dict[str, object], module: int) -> None:
        """Note that the variables of a rewritten module are in this dictionary."""
        self.namespaces[id(namespace)] = module
        self._named[id(namespace)] = namespace  # for the sake of its address

    def reset(self) -> None:
        """Forget everything but which modules are rewritten."""
        activations = [*self.activations, *self.suspended]
        self.suspended = [
            activation
            for activation in activations
            if activation.end < 0 and activation.function is not None
        ]
        for activation in activations:
            activation.forget()
        for tests in self.dropping:
            tests.clear()
        self.time = 0
        self.number = 0
        self.lost = 0
        """How often an object held something else than its shadow said."""
        self.shadows: dict[int, Shadow] = {}
        self.holder_addresses, self.held_addresses = array("Q"), array("Q")
        """The addresses of objects that came to hold another, and of what each came to hold."""
        self.frames: dict[int, Activation] = {}
        self.expressions: dict[int, tuple[Any, Activation]] = {}
        """Generator expressions, by their frame, with the calls in which they stand."""
        self.starting: dict[int, tuple[Any, PendingCall]] = {}
        """Generators and coroutines that have not begun, by their frame."""
        self.makers: dict[int, tuple[Any, Activation]] = {}
        """Generators that a property or an `__iter__` made, by their frame, with who asked it."""
        self.made: Counter[int] = Counter()
        """How many generators and coroutines were made, by the address of their code."""
        self.promised: list[tuple[Activation, CodeType, GeneratorRun]] = []
        """The same, each with who made it: some never begin."""
        self.runs: dict[int, tuple[Any, GeneratorRun]] = {}
        """Generators and coroutines, by their address."""
        self.sources: dict[int, tuple[Any, Any]] = {}
        """Iterators and views, with what they are of."""
        self.callback_history: dict[int, tuple[Any, MaybeTag]] = {}
        """Iterators, with what the program's own code told them so far."""
        self.iteration_ends: dict[int, tuple[Any, MaybeTag]] = {}
        """What was gone through to an end that the program itself decided, with that decision."""
        self.threads: dict[int, tuple[Any, Activation]] = {}
        """Threads, by their address, with the calls that started them."""
        self.modules: dict[int, Shadow] = {}
        """The variables of rewritten modules, by their number."""
        self.stdout = sys.stdout
        """Where `print` writes to unless the program says something else."""
        self.dropping = []
        """The tests of comprehensions that left something out: each is among the tests itself."""
        self.has_absorbed = False
        """Whether something was left with an object whose insides cannot be seen."""
        self.opaque_types: dict[int, tuple[type, bool, bool]] = {}
        """Types, with whether what their instances hold may be out of sight, and whether they are
        the program's own."""
        self.slots: dict[int, tuple[tuple[type, ...], Any]] = {}
        """The order of the bases of a type, by its address, with the slots that they have."""
        self.behind: dict[int, tuple[Any, dict[int, Any]]] = {}
        """Objects that hide what they hold, with others of that kind which they were given."""
        self.kept_alive: dict[int, Any] = {}
        """Objects without a shadow that were read: kept too, for the sake of their address."""
        self.cells: dict[int, tuple[CellType, CellType | None]] = {}
        """Closure cells that the program had in its hands, with those of their tags."""
        self.is_scanned = True
        """Whether all that the shadowed call was given could be looked at."""
        self.passed_out_of_sight: MaybeTag = None
        """What code out of sight was given so far: it may hand it to others later."""
        self.stray_results: MaybeTag = None
        """What calls returned that came out of nowhere, in other threads: whoever has it."""
        self.on_enter: Callable[[Activation], None] | None = None
        self.on_leave: Callable[[Activation], None] | None = None
        self.on_out: Callable[[Activation], None] | None = None
        """Called when a generator has yielded."""
        self.on_outside: Callable[[Operation], None] | None = None
        """Called when something out of sight has ended, which may have written output."""
        self.root = Activation(0, None, None)
        self.root.control = Tag((FRAME, 0, None, None, self.root))
        self.activations = [self.root]

    def note_start(self, called: Any, activation: Activation) -> None:
        """If a thread is about to be started: what runs in it hangs below who started it."""
        thread = getattr(called, "__self__", None)
        if issubclass(type(thread), threading.Thread) and called.__name__ == "start":
            self.threads[id(thread)] = (thread, activation)

    def started_by(self) -> Activation:
        """The call that started this thread; the run itself, if none did."""
        thread = threading._active.get(threading.get_ident()) if self.threads else None  # type: ignore[attr-defined]
        return self.threads.get(id(thread), (None, self.root))[1]

    def note_maker(self, generator: Any, activation: Activation) -> None:
        """Remember who asked for a generator that something out of sight has made for it."""
        if self.run_of(generator) is None and generator.gi_frame is not None:
            self.makers[id(generator.gi_frame)] = (weakref.ref(generator), activation)

    def maker_of(self, frame: Any) -> Activation | None:
        """Who asked for the generator that just begins."""
        return entry_for_frame(frame, self.makers.pop(id(frame), None))

    def note_expression(self, generator: object, activation: Activation) -> None:
        """Remember the call in which a generator expression stands: what it calls, that calls."""
        address, expressions = id(frame_of(generator)), self.expressions
        gone = weakref.ref(generator, lambda _: expressions.pop(address, None))
        expressions[address] = (gone, activation)

    def expression_of(self, frame: Any) -> Activation | None:
        """The call in which the generator expression that runs in a frame stands."""
        return entry_for_frame(frame, self.expressions.get(id(frame)))

    def note_dropped(self, tests: list[MaybeTag], test: MaybeTag) -> None:
        """Note a test of a comprehension that left something out, or ended it."""
        if not tests:
            self.dropping.append(tests)
        tests.append(test)

    def note_run(self, thing: object, run: GeneratorRun) -> None:
        """Remember whose a generator or coroutine is, for as long as it lives."""
        address = id(thing)
        runs = self.runs
        runs[address] = (weakref.ref(thing, lambda _: runs.pop(address, None)), run)

    def run_of(self, thing: object) -> GeneratorRun | None:
        """The run of a generator or coroutine."""
        entry = self.runs.get(id(thing))
        return entry[1] if entry is not None and entry[0]() is thing else None


RUN = ShadowRun()
THREAD = ThreadState()
