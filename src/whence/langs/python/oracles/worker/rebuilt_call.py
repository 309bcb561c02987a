"""Makes one call on rebuilt inputs in this process, which was forked for it, and records it.

Invariant: nothing outlives the call but its trace (`process_sandbox.py`).
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from types import CellType, CodeType, FunctionType

from whence.langs.python.debuggee.executed_lines import LineWatch
from whence.langs.python.debuggee.order import TargetCall
from whence.langs.python.objects.object_kinds import ProgramObject
from whence.langs.python.oracles.worker.declared_specs import reference_function
from whence.langs.python.oracles.worker.process_sandbox import Sandbox
from whence.langs.python.oracles.worker.program_loader import find_code
from whence.langs.python.oracles.worker.program_names import CannotBuild, find_module, find_name
from whence.langs.python.oracles.worker.recipe_builder import RecipeBuilder
from whence.langs.python.oracles.worker.unrecorded_state import hidden_state
from whence.langs.python.oracles.worker.worker_protocol import (
    CallDone,
    CallRequest,
    CannotAnswer,
    RecipeJson,
    Respond,
)
from whence.langs.python.record.options import WHOLE_BOUND, RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace import trace_format as f

WHOLE = RecordOptions(bound=WHOLE_BOUND, first_bound=WHOLE_BOUND, global_bound=WHOLE_BOUND)


def make_call(request: CallRequest, respond: Respond, rules: UserCodeRules) -> None:
    """Make the call; answer `CallDone` once its trace is written, or why it cannot be made."""
    declared = reference_function(request.module, request.qualname) if request.is_spec else None
    code = declared.__code__ if declared else find_code(
        request.module, request.qualname, request.parameters, request.free_variables, request.line
    )  # fmt: skip
    _disturb_chance(request.seed)
    builder = RecipeBuilder()
    _set_variables(request.variables, builder)
    arguments = {name: builder.build(recipe) for name, recipe in request.arguments}
    function = declared or _make_function(code, request, builder)
    positional, named = split_arguments(code, arguments)
    settings = Settings(request.trace, WHOLE, rules, keeps_tail=False)
    recording = Recording(settings, (code.co_name,))
    before = hidden_state(request.modules)
    watch = LineWatch(TargetCall.of(code)) if request.wants_lines else None
    Sandbox.enter(respond)
    recording.start()
    if watch is not None:
        watch.start()
    try:
        _consume(function(*positional, **named), request.flags, request.steps)
    except BaseException:
        pass
    finally:
        lines = None if watch is None else watch.stop()
        recording.finish(0, 0)
    Sandbox.leave()
    if watch is not None and lines is None:
        respond(CannotAnswer("it traces itself"))
        return
    respond(CallDone(before, hidden_state(request.modules), lines))


@contextlib.contextmanager
def recorded(settings: Settings, name: str) -> Iterator[None]:
    """Record what runs inside, as a command of this name."""
    recording = Recording(settings, (name,))
    recording.start()
    try:
        yield
    finally:
        recording.finish(0, 0)


def _make_function(code: CodeType, request: CallRequest, builder: RecipeBuilder) -> FunctionType:
    captured = {name: builder.build(recipe) for name, recipe in request.captured}
    if "__class__" in code.co_freevars and "__class__" not in captured:
        # `super()` needs it; the recorded version may not have called that.
        captured["__class__"] = find_name(request.module, request.qualname.rpartition(".")[0])
    cells = tuple(CellType(captured[name]) for name in code.co_freevars)
    namespace = vars(find_module(request.module))
    return FunctionType(code, namespace, code.co_name, None, cells or None)


def _disturb_chance(seed: int) -> None:
    """Make what depends on chance differ: addresses of objects, and random numbers."""
    disturb_memory(seed)
    chance = random.Random(seed)
    random.seed(chance.random())
    numpy = sys.modules.get("numpy")
    with contextlib.suppress(Exception):
        if numpy is not None:
            numpy.random.seed(chance.randrange(2**32))


def disturb_memory(seed: int) -> None:
    """Make objects lie at other addresses than in other processes."""
    chance = random.Random(seed)
    _padding.append([bytearray(chance.randrange(1, 600)) for _ in range(chance.randrange(200))])


_padding: list[list[bytearray]] = []


def _set_variables(
    variables: Sequence[tuple[str, str, RecipeJson]], builder: RecipeBuilder
) -> None:
    """Give module variables their recorded values, where these can be rebuilt."""
    for module_name, name, recipe in variables:
        module = sys.modules.get(module_name)
        if module is not None and recipe is not None:
            with contextlib.suppress(CannotBuild):
                vars(module)[name] = builder.build(recipe)


def split_arguments(
    code: CodeType, arguments: Mapping[str, ProgramObject]
) -> tuple[list[ProgramObject], dict[str, ProgramObject]]:
    """Arguments by position and by name, as the code takes them."""
    names = list(arguments)
    count, keyword_only = code.co_argcount, code.co_kwonlyargcount
    positional = [arguments[name] for name in names[:count]]
    named = {name: arguments[name] for name in names[count : count + keyword_only]}
    rest = names[count + keyword_only :]
    if code.co_flags & 4:
        positional += arguments[rest.pop(0)]
    if code.co_flags & 8:
        more = arguments[rest.pop(0)]
        if set(more) & set(named):
            raise CannotBuild("a named argument that is passed twice")
        named |= more
    return positional, named


def _consume(made: ProgramObject, flags: int, steps: int) -> None:
    """Resume a generator as often as in the recording; run a coroutine to its end."""
    if flags & f.GENERATOR:
        for _ in range(steps):
            next(made)
        del made  # as most programs leave a generator: unfinished
    elif flags & (f.COROUTINE | f.ASYNC_GENERATOR):
        import asyncio  # which takes as long to load as all else in a worker

        asyncio.run(made if flags & f.COROUTINE else _consume_async(made, steps))


async def _consume_async(made: AsyncGenerator[ProgramObject, None], steps: int) -> None:
    for _ in range(steps):
        await anext(made)
    await made.aclose()
