"""Runs a program as `python` would, with one call of it and all that this calls shadowed.

When the call has ended, the process writes the answer (`tag_report`) and exits: the rest of the
program is not needed.

Invariant: an answer holds what the tags say, and nothing is written but an answer and the progress.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, NoReturn

from whence.langs.python import provenance
from whence.langs.python.debuggee.interpreter_start import InterpreterStart
from whence.langs.python.debuggee.order import Order, PartStep, Playback, StepKind, TagTask
from whence.langs.python.debuggee.run_as_python import launch
from whence.langs.python.debuggee.tag_report import (
    OUTSIDE,
    WHOLE,
    PartMaker,
    PartOrigin,
    TagAnswer,
    TaggedCalls,
    TaggedFunction,
    TagReport,
)
from whence.langs.python.provenance.influence_slices import calls_below_handlers, influencing_calls
from whence.langs.python.provenance.marked_parts import (
    Criterion,
    NoSuchPart,
    Step,
    criterion,
    letters,
    written,
)
from whence.langs.python.provenance.rewriter.rewriting_importer import Modules, rewrite_imports
from whence.langs.python.provenance.runtime.run_state import RUN, Operation
from whence.langs.python.provenance.runtime.shadow_memory import shadow_of
from whence.langs.python.provenance.runtime.shadow_switch import SWITCH
from whence.langs.python.provenance.tags import Activation, MaybeTag
from whence.langs.python.provenance.value_origins import OriginResult, ValueMaker, find_origin
from whence.langs.python.record import one_test
from whence.langs.python.record.repeatable import Aside, directly, make_repeatable
from whence.langs.python.record.user_code import UserCode

if TYPE_CHECKING:
    from whence.langs.python.record.journal.journal_choice import Journal

RESULT = "result"
RAISED = "raised"
YIELDED = "yielded"
_EXCEPTION = object()
_PROGRESS_INTERVAL = 200
_SHORT = 40
_NEVER = 0
"""A number of calls that is never reached: the first call is number 1."""


@contextlib.contextmanager
def _open_descriptor(path: str, flags: int) -> Iterator[int]:
    """Open a file only briefly, so that the program's files keep their descriptors."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Answering:
    """Waits for the marked call, and answers when the shadowed one has ended."""

    def __init__(self, task: TagTask):
        self._task = task
        self._steps = tuple(map(_step, task.steps))
        self._count = 0
        self._calls_of_marked = 0
        self._marked: Activation | None = None
        self._arguments: dict[str, str] = {}
        self._size, self._lines, self._column = 0, 0, 0
        self._has_letters = False
        self._writers: list[Operation] = []
        self._criterion: Criterion | None = None
        self._why = "the call was not reached"

    def entered(self, activation: Activation) -> None:
        self._count += 1
        if self._count % _PROGRESS_INTERVAL == 0:
            with _open_descriptor(self._task.progress, os.O_WRONLY | os.O_CREAT) as file:
                os.write(file, b"%d" % self._count)
        info, marked = activation.function, self._task.marked
        assert info is not None
        if (info.file, info.line, info.name) != (marked.file, marked.first_line, marked.name):
            return
        self._calls_of_marked += 1
        number = activation.made if info.is_stepped else self._calls_of_marked
        if number == marked.count:
            self._marked = activation
            names = (*info.positional, *info.keyword_only)
            self._arguments = _plain(dict(zip(names, activation.values, strict=False)))
            if self._task.is_input:
                self._mark(activation)

    def left(self, activation: Activation) -> None:
        task = self._task
        if activation is self._marked and not task.is_input and task.root != YIELDED:
            self._mark(activation)

    def yielded(self, activation: Activation) -> None:
        task = self._task
        if activation is not self._marked or task.root != YIELDED:
            return
        (_, number), *steps = self._steps
        if number == len(activation.yielded) - 1:
            self._follow(activation, *activation.yielded[-1], steps)

    def ended(self, activation: Activation) -> None:
        self.answer(activation)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)

    def watch_output(self, aside: Aside) -> None:
        """Wait for the line of output that is marked, which goes to a file."""
        RUN.on_outside = aside(self._wrote)

    def _wrote(self, operation: Operation) -> None:
        """Check whether an operation that has ended wrote to the marked line."""
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stdout.flush()
        size = os.stat(self._task.printed).st_size
        if size == self._size:
            return
        with _open_descriptor(self._task.printed, os.O_RDONLY) as file:
            text = os.pread(file, size - self._size, self._size).decode(errors="replace")
        first, column = self._lines, self._column
        self._size = size
        lines = text.split("\n")
        self._lines += len(lines) - 1
        self._column = len(lines[-1]) + (column if len(lines) == 1 else 0)
        self._look_at(operation, lines, first, column)
        if self._lines > self._steps[0][1]:
            RUN.on_outside = None

    def _look_at(self, operation: Operation, lines: list[str], first: int, column: int) -> None:
        """Whether lines that were written, the first from a column on, hold what is marked."""
        wanted = self._steps[0][1]
        row = wanted - first
        if not 0 <= row < len(lines) or not (lines[row] or row + 1 < len(lines)):
            return
        self._writers.append(operation)
        if self._has_letters:
            return
        self._criterion = written(self._writers)
        for _, (begin, _) in self._steps[1:]:
            letter = begin - (0 if row else column)
            if 0 <= letter < len(lines[row]):
                before = sum(len(line) + 1 for line in lines[:row])
                narrow = letters(operation, "\n".join(lines), before + letter)
                self._criterion = narrow or self._criterion
                self._has_letters = narrow is not None

    def _mark(self, activation: Activation) -> None:
        task = self._task
        assert activation.function is not None
        tag: MaybeTag
        names = [*activation.function.positional, *activation.function.keyword_only]
        if task.root in (RESULT, RAISED) and activation.result is None:
            self._mark_exception(activation, activation.failure)
            return
        if task.root in (RESULT, RAISED):
            value, tag = activation.value, activation.result
        elif task.root in names:
            index = names.index(task.root)
            value, tag = activation.values[index], activation.arguments[index]
        else:
            variables = RUN.modules.get(activation.function.module)
            if variables is None or task.root not in variables.attribute_values:
                self._why = f"{task.root} is no parameter, and was not set while it was followed"
                return
            value, tag = (
                variables.attribute_values[task.root],
                variables.attributes[task.root],
            )
        self._follow(activation, value, tag, self._steps)

    def _follow(
        self, activation: Activation, value: object, tag: MaybeTag, steps: Sequence[Step]
    ) -> None:
        try:
            self._criterion = criterion(activation, value, tag, steps)
        except NoSuchPart as problem:
            self._why = str(problem)

    def _mark_exception(self, activation: Activation, tag: MaybeTag) -> None:
        if tag is None:
            self._why = "the call did not end"
        else:  # an exception's own parts are not followed
            self._criterion = Criterion(activation, _EXCEPTION, tag, (), ())

    def answer(self, top: Activation) -> None:
        criterion = self._criterion
        if criterion is None:
            self._write(TagAnswer(unknown=self._why))
            return
        try:
            report = _report(criterion, top, self._arguments)
        except Exception as error:
            # The program ran well: whence itself failed, and the answer says so.
            what = "".join(traceback.format_exception_only(error)).strip()
            self._write(TagAnswer(unknown=f"whence failed when it described the run ({what})"))
            raise
        self._write(TagAnswer(report))

    def _write(self, answer: TagAnswer) -> None:
        with open(self._task.answer, "w", encoding="utf-8") as file:
            file.write(answer.text())

    def finished(self, _how: int, value: object) -> None:
        shadow = shadow_of(value) if self._task.root == RAISED else None
        if shadow is not None and issubclass(type(value), BaseException) and self._marked is None:
            self._mark_exception(RUN.root, shadow.shape)
        self.answer(RUN.root)


def _plain(values: dict[str, object]) -> dict[str, str]:
    """The values that their text identifies: they confirm that a call is the recorded one."""
    return {
        name: repr(value)
        for name, value in values.items()
        if type(value) in {int, float, bool, type(None)}
        or (type(value) is str and len(value) <= _SHORT)
    }


# --- the report ----------------------------------------------------------------------------------


def _report(criterion: Criterion, top: Activation, arguments: dict[str, str]) -> TagReport:
    calls = RUN.activations[RUN.activations.index(top) :]
    indices = {call: index for index, call in enumerate(calls)}

    def numbers(activations: Sequence[Activation] | frozenset[Activation]) -> list[int]:
        return [indices[activation] for activation in activations if activation in indices]

    origins = find_origin(criterion)
    slices = (sorted(numbers(influencing_calls(criterion, width))) for width in (1, 2, 3))
    return TagReport(
        marked=indices[criterion.activation],
        is_complete=RUN.is_scanned and not RUN.has_absorbed and not RUN.lost,
        calls=_tagged_calls(calls, indices),
        origin=_origin(origins, indices),
        chain=tuple(numbers(origins.chain)),
        catchable=tuple(sorted(numbers(calls_below_handlers(criterion.activation, calls)))),
        slices=tuple(map(tuple, slices)),
        arguments=tuple(arguments.items()),
        value=_plain({"": criterion.value}).get(""),
    )


def _tagged_calls(calls: Sequence[Activation], indices: dict[Activation, int]) -> TaggedCalls:
    functions: dict[TaggedFunction, int] = {}
    numbers: dict[int, int] = {}
    function, parent, made = [], [], []
    for call in calls:
        info = call.function
        number = numbers.get(id(info))
        if number is None:
            described = (
                TaggedFunction(WHOLE, "", 0, is_stepped=False)
                if info is None
                else TaggedFunction(info.name, info.file, info.line, info.is_stepped)
            )
            number = numbers[id(info)] = functions.setdefault(described, len(functions))
        function.append(number)
        caller = call.parent if info is not None else None
        parent.append(OUTSIDE if caller is None else indices.get(caller, OUTSIDE))
        made.append(call.made if info is not None else 0)
    # Generators and coroutines that were created and never ran: they are calls, too.
    for caller, code, run in RUN.promised:
        if run.activation is None and caller in indices:
            described = TaggedFunction(
                code.co_qualname, code.co_filename, code.co_firstlineno, is_stepped=True
            )
            function.append(functions.setdefault(described, len(functions)))
            parent.append(indices[caller])
            made.append(run.number)
    return TaggedCalls(tuple(functions), tuple(function), tuple(parent), tuple(made))


def _origin(origin: OriginResult, indices: dict[Activation, int]) -> PartOrigin:
    if origin.unknown:
        return PartOrigin(unknown=origin.unknown)
    return PartOrigin(
        makers=tuple(_maker(maker, indices) for maker in origin.makers),
        made_of=tuple(_maker(maker, indices) for maker in origin.made_of),
    )


def _maker(maker: ValueMaker, indices: dict[Activation, int]) -> PartMaker:
    site = maker.site
    call = indices.get(maker.activation, OUTSIDE)
    if not maker.parameter:
        return PartMaker(call, site.file, site.line, site.text)
    path = tuple(
        PartStep(StepKind(kind), key if type(key) in {int, str} else repr(type(key)))
        for kind, key in maker.path
    )
    return PartMaker(call, parameter=maker.parameter, path=path)


def _step(step: PartStep) -> Step:
    """A step as `marked_parts` takes it."""
    return step.kind.value, step.letters if step.kind is StepKind.TEXT else step.key


# --- the run -------------------------------------------------------------------------------------


def run_with_tags(order: Order, task: TagTask, interpreter: InterpreterStart) -> NoReturn:
    """Run the program, and write the answer."""
    answering = _Answering(task)
    if order.settings.repeatable is not None:
        make_repeatable(order.settings.repeatable)
    journal, aside = _journal(order.playback)
    user_code = UserCode(order.settings.rules)
    shadowed = task.shadowed
    whole = shadowed.name == WHOLE
    first_call = shadowed.file, shadowed.first_line, shadowed.name
    modules = Modules(dual=not whole, wanted=first_call, aside=aside)

    def start() -> None:
        rewrite_imports(aside(user_code.owns_module), modules)
        prepare()
        if journal is not None:
            journal.start()

    def prepare() -> None:
        if whole:
            SWITCH.start()
            RUN.on_enter, RUN.on_leave = aside(answering.entered), aside(answering.left)
            RUN.on_out = aside(answering.yielded)
            if task.printed:
                answering.watch_output(aside)
            return
        if order.test is None:
            SWITCH.wait_for(shadowed.count)
        else:  # calls are counted from the test on
            SWITCH.wait_for(_NEVER)
            one_test.awaited[:] = [
                one_test.AwaitedTest(
                    order.test, lambda: SWITCH.wait_for(shadowed.count), lambda: None
                )
            ]
        SWITCH.on_enter, SWITCH.on_leave = aside(answering.entered), aside(answering.left)
        SWITCH.on_out = aside(answering.yielded)
        SWITCH.on_end = aside(answering.ended)

    def compiled(source: bytes | str, file: str) -> CodeType:
        SWITCH.install()
        return modules.code(source, file)

    def finished(how: int, value: object) -> None:
        if journal is not None:
            journal.finish()
        answering.finished(how, value)
        if journal is not None:
            os._exit(0)  # nothing of what a shut down does may reach the world

    launch(order.target, interpreter, start, finished, compiled)


def _journal(playback: Playback | None) -> tuple[Journal | None, Aside]:
    """The journal's player, and the function that hides what whence does from it.

    The run time may call anything for the program (`map(os.stat, paths)`), so the player intercepts
    all its calls. For itself it needs only `id`, and gets one that is not intercepted.
    """
    if playback is None:
        return None, directly
    from whence.langs.python.record.journal import _interposition, playing

    for name, module in sys.modules.items():
        if name.startswith(provenance.__name__):
            module.__dict__["id"] = _interposition.address
    launcher = os.path.join(os.path.dirname(launch.__code__.co_filename), "")
    player = playing.JournalPlayer(playback.journal, playback.folder, lambda _: 0, launcher)
    return player, playing.aside
