"""Runs a program as `python` would, with one call of it and all that this calls shadowed.

In a process of its own: `python -m whence.langs.python.provenance.shadow_run REQUEST ANSWER
PROGRESS`: two files of JSON, and one that holds the number of calls shadowed so far.
When the call has ended, the process writes the answer and exits: the rest of the program is not
needed. Calls are numbered by their index in `calls`, which is ordered by their start, the wanted
one first.

Invariant: an answer holds what the tags say, and nothing is written but an answer and the progress.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from whence.langs.python.debuggee.order import TargetCall
from whence.langs.python.debuggee.run_as_python import Target, launch
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
from whence.langs.python.record.repeatable import OWN, Aside, directly, make_repeatable
from whence.langs.python.record.user_code import UserCode, UserCodeRules

if TYPE_CHECKING:
    from whence.langs.python.record.journal.journal_choice import Journal

RESULT = "result"
RAISED = "raised"
YIELDED = "yielded"
PRINTED = "printed"
WHOLE = "<module>"
"""The name of the wanted call if everything is to be shadowed from the start."""
_EXCEPTION = object()
_PROGRESS_INTERVAL = 200
_SHORT = 40


@dataclass(frozen=True, slots=True)
class Request:
    """Which call of which program, and which part of it."""

    words: tuple[str, ...]
    """What follows `python` on the command line."""
    wanted: TargetCall
    root: str
    """`result`, `raised`, or the name of a parameter or of a variable of the function's module;
    `yielded`, and the first step says which; `printed`: a line of the program's output, whose
    number is the first step."""
    steps: tuple[Step, ...]
    is_input: bool
    """Of a parameter: as it was given, not as it was left."""
    marked: TargetCall
    """The call that the part is of: the wanted one, or one below it, counted from there."""
    rules: UserCodeRules = UserCodeRules()
    seed_by: str = OWN
    """What chose the seed of hashes."""
    journal: str = ""
    """A file with what the program learns from the world, if one was kept."""

    def text(self) -> str:
        rules = self.rules
        return json.dumps({
            "words": self.words, "wanted": astuple(self.wanted), "marked": astuple(self.marked),
            "root": self.root, "steps": self.steps, "is_input": self.is_input,
            "rules": [rules.added, rules.only, rules.left_out],
            "seed_by": self.seed_by, "journal": self.journal,
        })  # fmt: skip

    @classmethod
    def from_text(cls, text: str) -> Request:
        fields = json.loads(text)
        return cls(
            words=tuple(fields["words"]),
            wanted=TargetCall(*fields["wanted"]),
            marked=TargetCall(*fields["marked"]),
            root=fields["root"],
            steps=tuple((kind, key) for kind, key in fields["steps"]),
            is_input=fields["is_input"],
            rules=UserCodeRules(*(tuple(patterns) for patterns in fields["rules"])),
            seed_by=fields["seed_by"],
            journal=fields["journal"],
        )


@contextlib.contextmanager
def _open_descriptor(path: str, flags: int) -> Iterator[int]:
    """Open a file only briefly, so that the program's files keep their descriptors."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Answering:
    """Waits for the marked call, and answers when the wanted one has ended."""

    def __init__(self, request: Request, output: str, progress: str):
        self._request = request
        self._output = output
        self._progress = progress
        self._count = 0
        self._calls_of_marked = 0
        self._marked: Activation | None = None
        self._given: dict[str, str] = {}
        self._printed, self._size, self._lines, self._column = "", 0, 0, 0
        self._has_letters = False
        self._writers: list[Operation] = []
        self._criterion: Criterion | None = None
        self._why = "the call was not reached"

    def entered(self, activation: Activation) -> None:
        self._count += 1
        if self._count % _PROGRESS_INTERVAL == 0:
            with _open_descriptor(self._progress, os.O_WRONLY | os.O_CREAT) as file:
                os.write(file, b"%d" % self._count)
        info, marked = activation.function, self._request.marked
        assert info is not None
        if (info.file, info.line, info.name) != (marked.file, marked.first_line, marked.name):
            return
        self._calls_of_marked += 1
        number = activation.made if info.is_stepped else self._calls_of_marked
        if number == marked.count:
            self._marked = activation
            names = (*info.positional, *info.keyword_only)
            self._given = _plain(dict(zip(names, activation.values, strict=False)))
            if self._request.is_input:
                self._mark(activation)

    def left(self, activation: Activation) -> None:
        request = self._request
        if activation is self._marked and not request.is_input and request.root != YIELDED:
            self._mark(activation)

    def yielded(self, activation: Activation) -> None:
        request = self._request
        if activation is not self._marked or request.root != YIELDED:
            return
        (_, number), *steps = request.steps
        if number == len(activation.yielded) - 1:
            self._follow(activation, *activation.yielded[-1], steps)

    def ended(self, activation: Activation) -> None:
        self.answer(activation)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)

    def watch_output(self, printed: str, aside: Aside) -> None:
        """Wait for the line of output that is marked, which goes to a file."""
        self._printed = printed
        RUN.on_outside = aside(self._wrote)

    def _wrote(self, operation: Operation) -> None:
        """Check whether an operation that has ended wrote to the marked line."""
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stdout.flush()
        size = os.stat(self._printed).st_size  # noqa: PTH116
        if size == self._size:
            return
        with _open_descriptor(self._printed, os.O_RDONLY) as file:
            text = os.pread(file, size - self._size, self._size).decode(errors="replace")
        first, column = self._lines, self._column
        self._size = size
        lines = text.split("\n")
        self._lines += len(lines) - 1
        self._column = len(lines[-1]) + (column if len(lines) == 1 else 0)
        self._look_at(operation, lines, first, column)
        if self._lines > self._request.steps[0][1]:
            RUN.on_outside = None

    def _look_at(self, operation: Operation, lines: list[str], first: int, column: int) -> None:
        """Whether lines that were written, the first from a column on, hold what is marked."""
        wanted = self._request.steps[0][1]
        row = wanted - first
        if not 0 <= row < len(lines) or not (lines[row] or row + 1 < len(lines)):
            return
        self._writers.append(operation)
        if self._has_letters:
            return
        self._criterion = written(self._writers)
        for _, (begin, _) in self._request.steps[1:]:
            letter = begin - (0 if row else column)
            if 0 <= letter < len(lines[row]):
                before = sum(len(line) + 1 for line in lines[:row])
                narrow = letters(operation, "\n".join(lines), before + letter)
                self._criterion = narrow or self._criterion
                self._has_letters = narrow is not None

    def _mark(self, activation: Activation) -> None:
        request = self._request
        assert activation.function is not None
        tag: MaybeTag
        names = [*activation.function.positional, *activation.function.keyword_only]
        if request.root in (RESULT, RAISED) and activation.result is None:
            self._mark_exception(activation, activation.failure)
            return
        if request.root in (RESULT, RAISED):
            value, tag = activation.value, activation.result
        elif request.root in names:
            index = names.index(request.root)
            value, tag = activation.values[index], activation.arguments[index]
        else:
            variables = RUN.modules.get(activation.function.module)
            if variables is None or request.root not in variables.attribute_values:
                self._why = f"{request.root} is no parameter, and was not set while it was followed"
                return
            value, tag = (
                variables.attribute_values[request.root],
                variables.attributes[request.root],
            )
        self._follow(activation, value, tag, request.steps)

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
            self._write({"unknown": self._why})
            return
        value = _plain({"": criterion.value}).get("")
        try:
            report = _report(criterion, top)
        except Exception as error:
            # The program ran well: whence itself failed, and the answer says so.
            what = "".join(traceback.format_exception_only(error)).strip()
            self._write({"unknown": f"whence failed when it described the run ({what})"})
            raise
        self._write({**report, "given": self._given, "value": value})

    def _write(self, answer: dict[str, object]) -> None:
        with open(self._output, "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(answer, file)

    def finished(self, _how: int, value: object) -> None:
        shadow = shadow_of(value) if self._request.root == RAISED else None
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


def _report(criterion: Criterion, top: Activation) -> dict[str, Any]:
    calls = RUN.activations[RUN.activations.index(top) :]
    indices = {call: index for index, call in enumerate(calls)}

    def numbers(activations: Sequence[Activation] | frozenset[Activation]) -> list[int]:
        return [indices[activation] for activation in activations if activation in indices]

    origins = find_origin(criterion)
    return {
        "marked": indices[criterion.activation],
        "is_complete": RUN.is_scanned and not RUN.has_absorbed and not RUN.lost,
        "calls": [*(_call(call, indices) for call in calls), *_never_begun(indices)],
        "origin": _origin(origins, indices),
        "chain": numbers(origins.chain),
        "catchable": sorted(numbers(calls_below_handlers(criterion.activation, calls))),
        "slices": {
            f"L{width}": sorted(numbers(influencing_calls(criterion, width))) for width in (1, 2, 3)
        },
    }


def _call(activation: Activation, indices: dict[Activation, int]) -> dict[str, Any]:
    info = activation.function
    if info is None:
        return {"name": WHOLE, "file": "", "line": 0, "parent": -1, "is_stepped": False,
                "made": 0}  # fmt: skip
    parent = indices.get(activation.parent, -1) if activation.parent is not None else -1
    return {
        "name": info.name, "file": info.file, "line": info.line, "parent": parent,
        "is_stepped": info.is_stepped, "made": activation.made,
    }  # fmt: skip


def _never_begun(indices: dict[Activation, int]) -> Iterator[dict[str, Any]]:
    """Generators and coroutines that were created and never ran: they are calls, too."""
    for parent, code, run in RUN.promised:
        if run.activation is None and parent in indices:
            yield {
                "name": code.co_qualname, "file": code.co_filename, "line": code.co_firstlineno,
                "parent": indices[parent], "is_stepped": True, "made": run.number,
            }  # fmt: skip


def _origin(origin: OriginResult, indices: dict[Activation, int]) -> dict[str, Any]:
    if origin.unknown:
        return {"unknown": origin.unknown}
    return {
        "makers": [_maker(maker, indices) for maker in origin.makers],
        "made_of": [_maker(maker, indices) for maker in origin.made_of],
    }


def _maker(maker: ValueMaker, indices: dict[Activation, int]) -> dict[str, Any]:
    site = maker.site
    made: dict[str, Any] = {"call": indices.get(maker.activation, -1)}
    if maker.parameter:
        path = [[kind, key if type(key) in {int, str} else repr(type(key))]
                for kind, key in maker.path]  # fmt: skip
        return {**made, "parameter": maker.parameter, "path": path}
    return {**made, "file": site.file, "line": site.line, "expression": site.text}


def main(request_file: str, output: str, progress: str) -> NoReturn:
    """Run what a request says, and write the answer."""
    with open(request_file, encoding="utf-8") as file:  # noqa: PTH123
        request = Request.from_text(file.read())
    answering = _Answering(request, os.path.abspath(output), progress)  # noqa: PTH100
    make_repeatable(request.seed_by)
    journal, aside = _journal(request.journal, str(Path(output).parent))
    user_code = UserCode(request.rules)
    wanted = request.wanted
    whole = wanted.name == WHOLE
    first_call = wanted.file, wanted.first_line, wanted.name
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
            if request.root == PRINTED:
                answering.watch_output(str(Path(progress).with_name(PRINTED)), aside)
            return
        SWITCH.wait_for(wanted.count)
        SWITCH.on_enter, SWITCH.on_leave = aside(answering.entered), aside(answering.left)
        SWITCH.on_out = aside(answering.yielded)
        SWITCH.on_end = aside(answering.ended)

    def compiled(source: bytes | str, file: str) -> Any:
        SWITCH.install()
        return modules.code(source, file)

    def finished(how: int, value: object) -> None:
        if journal is not None:
            journal.finish()
        answering.finished(how, value)
        if journal is not None:
            os._exit(0)  # nothing of what a shut down does may reach the world

    launch(Target.from_words(request.words), start, finished, compiled)


def _journal(path: str, folder: str) -> tuple[Journal | None, Aside]:
    """The journal's player, and the function that hides what whence does from it.

    The run time may call anything for the program (`map(os.stat, paths)`), so the player intercepts
    all its calls. For itself it needs only `id`, and gets one that is not intercepted.
    """
    if not path:
        return None, directly
    from whence.langs.python.record.journal import _interposition, playing

    for name, module in sys.modules.items():
        if name.startswith(__package__):
            module.__dict__["id"] = _interposition.address
    launcher = f"{Path(launch.__code__.co_filename).parent}{os.sep}"
    return playing.JournalPlayer(path, folder, lambda _: 0, launcher), playing.aside


if __name__ == "__main__":
    main(*sys.argv[1:4])
