"""The state of a shadow run, and the operation that each thread is executing.

Invariant: the program sees nothing of it. Objects with shadows are kept alive until the run is
reset, so that no address is reused.
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
    """A running operation out of sight: its operands, and what callbacks returned to it."""

    __slots__ = ("activation", "callbacks", "control", "expected", "operands", "site", "text")

    def __init__(self, site: int, control: Control, operands: tuple[Pair, ...]):
        self.site = site
        self.control = control
        self.operands = operands
        self.callbacks: list[Pair] = []
        self.activation: Activation = control.activation
        self.expected: dict[int, PendingCall] | None = None
        """When a class is called: the calls of its `__new__` and `__init__`, by their code."""
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
        """The tags of starred arguments: the number of arguments depends on them."""
        self.activation: Activation | None = None
        self.run: GeneratorRun | None = None


class ThreadState(threading.local):
    """The call or operation that a thread is about to make, or just made."""

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


def entry_for_frame(
    frame: FrameType, entry: tuple[weakref.ref[object], Known] | None
) -> Known | None:
    """The entry of a generator or coroutine, by its frame; None if the frame is reused."""
    if entry is None:
        return None
    thing = entry[0]()
    return entry[1] if thing is not None and frame_of(thing) is frame else None


class ShadowRun:
    """The data of a shadow run: the shadows of objects, and the calls."""

    __slots__ = (
        "_named", "activations", "behind", "callback_history", "cells", "dropping", "expressions",
        "frames", "has_absorbed", "has_dict_access", "held_addresses", "holder_addresses",
        "is_scanned", "iteration_ends", "kept_alive", "kept_index", "kept_operations", "lost",
        "made", "makers", "modules", "namespaces", "number", "on_enter", "on_leave", "on_out",
        "on_outside", "opaque_types", "passed_out_of_sight", "promised", "remade", "root", "runs",
        "shadows", "slots", "sources", "starting", "stdout", "stray_results", "suspended",
        "threads", "time", "world", "world_reads",
    )  # fmt: skip

    def __init__(self) -> None:
        self.namespaces: dict[int, int] = {}
        """The numbers of rewritten modules, by the address of their dictionary. They outlive a
        run."""
        self._named: dict[int, dict[str, Any]] = {}
        self.activations: list[Activation] = []
        self.dropping: list[list[MaybeTag]] = []
        self.suspended: list[Activation] = []
        """Calls of earlier runs that have not ended: the next reset drops what they still add."""
        self.reset()

    def note_namespace(self, namespace: dict[str, object], module: int) -> None:
        """Note that the variables of a rewritten module are in this dictionary."""
        self.namespaces[id(namespace)] = module
        self._named[id(namespace)] = namespace  # keeps its address valid

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
        """How often an object did not hold what its shadow said."""
        self.shadows: dict[int, Shadow] = {}
        self.holder_addresses, self.held_addresses = array("Q"), array("Q")
        """Which object held which at some time: the addresses of both, index by index."""
        self.frames: dict[int, Activation] = {}
        self.expressions: dict[int, tuple[weakref.ref[object], Activation]] = {}
        """Generator expressions, by their frame, with the calls that contain them."""
        self.starting: dict[int, tuple[weakref.ref[object], PendingCall]] = {}
        """Generators and coroutines that have not begun, by their frame."""
        self.makers: dict[int, tuple[weakref.ref[object], Activation]] = {}
        """Generators that a property or an `__iter__` made, by their frame, with their caller."""
        self.made: Counter[int] = Counter()
        """How many generators and coroutines were made, by the address of their code."""
        self.promised: list[tuple[Activation, CodeType, GeneratorRun]] = []
        """The same, each with the call that made it: some never begin."""
        self.runs: dict[int, tuple[weakref.ref[object], GeneratorRun]] = {}
        """Generators and coroutines, by their address."""
        self.sources: dict[int, tuple[Any, Any]] = {}
        """Iterators and views, with their sources."""
        self.callback_history: dict[int, tuple[object, MaybeTag]] = {}
        """Iterators, with the tag of what callbacks returned to them so far."""
        self.iteration_ends: dict[int, tuple[object, MaybeTag]] = {}
        """Iterables whose end the program's code decided, with the tag of that decision."""
        self.threads: dict[int, tuple[threading.Thread | None, Activation]] = {}
        """Threads, by their address, with the calls that started them."""
        self.modules: dict[int, Shadow] = {}
        """The variables of rewritten modules, by their number."""
        self.stdout = sys.stdout
        """Where `print` writes by default."""
        self.dropping = []
        """The lists of tests that dropped elements of comprehensions; `reset` clears them."""
        self.has_absorbed = False
        """Whether an opaque object absorbed something."""
        self.has_dict_access = False
        """Whether the program accessed the dictionary of an instance: it may set attributes."""
        self.opaque_types: dict[int, tuple[type, bool, bool, str | None]] = {}
        """Types, with whether their instances are opaque, whether the program defines them, and the
        region of the world that their methods may read and write."""
        self.world: list[tuple[str, Tag]] = []
        """What may have changed the world, in order: the region, and the tag of the operation."""
        self.world_reads: dict[str, Tag] = {}
        """By region, the tag of having read it since the last write."""
        self.kept_operations: list[Any] = []
        """Operations whose operands code out of sight may have kept, and pairs that it received."""
        self.kept_index: Any = None
        """The same by value (`kept_values`)."""
        self.remade: list[tuple[int, MaybeTag]] = []
        """When the code or class of an object was replaced, and the tag of the new one."""
        self.slots: dict[int, tuple[tuple[type, ...], Any]] = {}
        """The bases of a type, by its address, with their slots."""
        self.behind: dict[int, tuple[object, dict[int, object]]] = {}
        """Opaque objects, with the other opaque objects that they received."""
        self.kept_alive: dict[int, object] = {}
        """Objects without a shadow that were read: keeps their addresses valid."""
        self.cells: dict[int, tuple[CellType, CellType | None]] = {}
        """Closure cells that the program accessed, with the cells of their tags."""
        self.is_scanned = True
        """Whether the scan of what the shadowed call received was complete."""
        self.passed_out_of_sight: MaybeTag = None
        """The tag of everything that code out of sight received so far, and may pass on."""
        self.stray_results: MaybeTag = None
        """The tag of what calls without a known caller returned: anything may have received it."""
        self.on_enter: Callable[[Activation], None] | None = None
        self.on_leave: Callable[[Activation], None] | None = None
        self.on_out: Callable[[Activation], None] | None = None
        """Called when a generator has yielded."""
        self.on_outside: Callable[[Operation], None] | None = None
        """Called when an operation out of sight has ended: it may have written output."""
        self.root = Activation(0, None, None)
        self.root.control = Tag((FRAME, 0, None, None, self.root))
        self.activations = [self.root]

    def note_start(self, called: Any, activation: Activation) -> None:
        """Note the call that starts a thread, if this is such a call: it is the thread's parent."""
        thread = getattr(called, "__self__", None)
        if issubclass(type(thread), threading.Thread) and called.__name__ == "start":
            self.threads[id(thread)] = (thread, activation)

    def started_by(self) -> Activation:
        """The call that started this thread; the root of the run if none did."""
        thread = threading._active.get(threading.get_ident()) if self.threads else None  # type: ignore[attr-defined]
        return self.threads.get(id(thread), (None, self.root))[1]

    def note_maker(self, generator: Any, activation: Activation) -> None:
        """Remember the call that requested a generator which code out of sight made."""
        if self.run_of(generator) is None and generator.gi_frame is not None:
            self.makers[id(generator.gi_frame)] = (weakref.ref(generator), activation)

    def maker_of(self, frame: Any) -> Activation | None:
        """The call that requested the generator that begins in a frame."""
        return entry_for_frame(frame, self.makers.pop(id(frame), None))

    def note_expression(self, generator: object, activation: Activation) -> None:
        """Remember the call that contains a generator expression: it is the caller of its calls."""
        address, expressions = id(frame_of(generator)), self.expressions
        gone = weakref.ref(generator, lambda _: expressions.pop(address, None))
        expressions[address] = (gone, activation)

    def expression_of(self, frame: Any) -> Activation | None:
        """The call that contains the generator expression of a frame."""
        return entry_for_frame(frame, self.expressions.get(id(frame)))

    def note_dropped(self, tests: list[MaybeTag], test: MaybeTag) -> None:
        """Note a test that dropped an element of a comprehension, or ended it."""
        if not tests:
            self.dropping.append(tests)
        tests.append(test)

    def note_run(self, thing: object, run: GeneratorRun) -> None:
        """Remember the run of a generator or coroutine for as long as it lives."""
        address = id(thing)
        runs = self.runs
        runs[address] = (weakref.ref(thing, lambda _: runs.pop(address, None)), run)

    def run_of(self, thing: object) -> GeneratorRun | None:
        """The run of a generator or coroutine."""
        entry = self.runs.get(id(thing))
        return entry[1] if entry is not None and entry[0]() is thing else None


RUN = ShadowRun()
THREAD = ThreadState()
