"""Makes one call in this process, which was forked off for it, and records it.

Invariant: nothing outlives the call but its trace. Whatever would reach beyond this process (a file
opened for writing, a program started, a connection) ends it first, and is told as the reason why
nothing is known.
"""

from __future__ import annotations

import contextlib
import os
import random
import stat
import sys
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from whence.langs.python.debuggee.executed_lines import LineWatch
from whence.langs.python.debuggee.order import TargetCall
from whence.langs.python.oracles.worker.declared_specs import reference_function
from whence.langs.python.oracles.worker.program_loader import find_code
from whence.langs.python.oracles.worker.program_names import CannotBuild, find_module, find_name
from whence.langs.python.oracles.worker.recipe_builder import RecipeBuilder
from whence.langs.python.oracles.worker.unrecorded_state import hidden_state
from whence.langs.python.record.options import WHOLE_BOUND, RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules

Say = Callable[[dict[str, Any]], None]
WHOLE = RecordOptions(bound=WHOLE_BOUND, first_bound=WHOLE_BOUND, global_bound=WHOLE_BOUND)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REACHING = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "os.kill", "os.killpg", "os.system", "os.exec",
    "os.posix_spawn", "os.fork", "os.forkpty", "os.setxattr", "os.removexattr",
    "shutil.", "subprocess.", "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg",
    "sqlite3.connect", "signal.pthread_kill", "ctypes.", "webbrowser.", "smtplib.", "ftplib.",
    "tempfile.", "pty.", "syslog.",
)  # fmt: skip
_HARMLESS = frozenset({"ctypes.dlsym", "ctypes.addressof", "ctypes.cdata"})


def perform(order: dict[str, Any], say: Say, rules: UserCodeRules) -> None:
    """Make the call; say "done" once its trace is written, or why it cannot be made."""
    declared = reference_function(order) if order.get("declared") else None
    code = declared.__code__ if declared else find_code(
        order["module"], order["qualname"], order["parameters"], order["free"], order["line"]
    )  # fmt: skip
    _disturb(order["seed"])
    builder = RecipeBuilder()
    unset = _set_variables(order["variables"], builder)
    arguments = {name: builder.build(spec) for name, spec in order["arguments"]}
    function = declared or _function(code, order, builder)
    positional, named = passed(code, arguments)
    recording = Recording(Settings(order["trace"], WHOLE, rules, keeps_tail=False), (code.co_name,))
    before = hidden_state(order["modules"])
    watch = LineWatch(TargetCall.of(code)) if order.get("lines") else None
    stay_inside(say)
    recording.start()
    if watch is not None:
        watch.start()
    try:
        _consume(function(*positional, **named), order["flags"], order["steps"])
    except BaseException:
        pass
    finally:
        lines = None if watch is None else watch.stop()
        recording.finish(0, 0)
    Inside.over = True
    if watch is not None and lines is None:
        say({"said": "cannot", "why": "it traces itself"})
        return
    done = {"unset": unset, "hidden": [before, hidden_state(order["modules"])], "lines": lines}
    say({"said": "done", **done})


def _function(code: CodeType, order: dict[str, Any], builder: RecipeBuilder) -> FunctionType:
    captured = {name: builder.build(spec) for name, spec in order["captured"]}
    if "__class__" in code.co_freevars and "__class__" not in captured:
        # What `super()` needs, in a version that did not call it.
        captured["__class__"] = find_name(order["module"], order["qualname"].rpartition(".")[0])
    cells = tuple(CellType(captured[name]) for name in code.co_freevars)
    namespace = vars(find_module(order["module"]))
    return FunctionType(code, namespace, code.co_name, None, cells or None)


def _disturb(seed: int) -> None:
    """What is by chance shall differ: where objects lie, and random numbers."""
    disturb_memory(seed)
    chance = random.Random(seed)
    random.seed(chance.random())
    numpy = sys.modules.get("numpy")
    with contextlib.suppress(Exception):
        if numpy is not None:
            numpy.random.seed(chance.randrange(2**32))


def disturb_memory(seed: int) -> None:
    """Objects shall lie elsewhere than in other processes."""
    chance = random.Random(seed)
    _pads.append([bytearray(chance.randrange(1, 600)) for _ in range(chance.randrange(200))])


_pads: list[list[bytearray]] = []


def _set_variables(
    variables: list[tuple[str, str, Any]], builder: RecipeBuilder
) -> list[list[str]]:
    """Give module variables the values that they had; those that could not be given one."""
    unset = []
    for module, name, spec in variables:
        held = sys.modules.get(module)
        try:
            if held is None or spec is None:
                raise CannotBuild(name)
            vars(held)[name] = builder.build(spec)
        except CannotBuild:
            unset.append([module, name])
    return unset


def passed(code: CodeType, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Each argument in the way in which the code takes it."""
    names = list(arguments)
    count, only = code.co_argcount, code.co_kwonlyargcount
    positional = [arguments[name] for name in names[:count]]
    named = {name: arguments[name] for name in names[count : count + only]}
    rest = names[count + only :]
    if code.co_flags & 4:
        positional += arguments[rest.pop(0)]
    if code.co_flags & 8:
        more = arguments[rest.pop(0)]
        if set(more) & set(named):
            raise CannotBuild("named arguments that are there twice")
        named |= more
    return positional, named


_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 4, 8, 16


def _consume(made: Any, flags: int, steps: int) -> None:
    """Take as many steps with a generator as were taken; run a coroutine to its end."""
    if flags & _GENERATOR:
        for _ in range(steps):
            next(made)
        del made  # as most programs leave a generator: unfinished
    elif flags & (_COROUTINE | _ASYNC_GENERATOR):
        import asyncio  # which takes as long as all else that a worker loads

        asyncio.run(made if flags & _COROUTINE else _consumed(made, steps))


async def _consumed(made: Any, steps: int) -> None:
    for _ in range(steps):
        await anext(made)
    await made.aclose()


class Inside:
    """Whether what is done here may reach beyond this process."""

    over = False
    say: Say
    """Whom to tell that it would."""


def stay_inside(say: Say, allowed: str = "") -> None:
    """End the process as soon as something would reach beyond it."""
    Inside.over = False

    harmless = (allowed,) if allowed else ()

    Inside.say = say

    def hook(event: str, details: tuple[Any, ...]) -> None:
        if Inside.over:
            return
        reason = ""
        if event == "open":
            path, _, flags = details
            if isinstance(flags, int) and flags & _WRITING and not _is_unseen(path):
                reason = "it opens a file for writing"
        elif event.startswith(_REACHING) and not event.startswith((*_HARMLESS, *harmless)):
            reason = f"it reaches outside of its process ({event})"
        if reason:
            Inside.over = True
            Inside.say({"said": "cannot", "why": reason})
            os._exit(0)

    sys.addaudithook(hook)


def _is_unseen(path: Any) -> bool:
    """Whether nobody else can see what is written there.

    So it is with `tempfile.TemporaryFile`: where a folder can be opened for writing, that makes a
    file without a name.
    """
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    if isinstance(path, int):
        return stat.S_ISREG(found.st_mode) and found.st_nlink == 0
    return stat.S_ISDIR(found.st_mode) or path == os.devnull
