"""Runs a program in this process as `python` itself would run it.

Owns everything between "recording is ready" and "the interpreter shuts down": arguments, the
import path, a fresh `__main__`, and the report of an uncaught exception. Knows nothing of
recording: its caller passes functions to call before the program starts and after it has ended.

Invariant: what the program prints, and the status it exits with, are those of `python`.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import CodeType, CoroutineType, GeneratorType, ModuleType, TracebackType
from typing import Any, NoReturn

from whence.errors import UsageError, WhenceError
from whence.langs.python.debuggee import late_interrupts, lazy_imports
from whence.langs.python.debuggee.interpreter_start import InterpreterStart, program_places
from whence.langs.python.record import printed_text
from whence.langs.python.trace.trace_format import BY_EXCEPTION, BY_EXIT, ENDED

Finished = Callable[[int, object], None]
"""Receives how the program ended, and with which exit status or exception. A forked child that ends
like the program calls the function that it inherited."""

Compiled = Callable[[bytes | str, str], CodeType]
"""Compiles the text of a module, given its file name."""

# Signal handlers are the whole process's, so there is one.
_late = late_interrupts.LateInterrupts()
# The `__main__` that was there before: its namespace is still that of whence's own start.
_displaced: list[ModuleType | None] = []


class TargetKind(Enum):
    """The three kinds of program that `python` runs, and a single function."""

    SCRIPT = "script"
    MODULE = "-m"
    CODE = "-c"
    CALL = "--call"
    """The name is `package.module:function`, the arguments are Python literals."""


@dataclass(frozen=True, slots=True)
class Target:
    """A program and its arguments."""

    kind: TargetKind
    name: str
    arguments: tuple[str, ...] = ()

    @classmethod
    def from_words(cls, words: Sequence[str]) -> Target:
        """The program that the words after `python` on the command line name."""
        for kind in (TargetKind.MODULE, TargetKind.CODE, TargetKind.CALL):
            if words[0] == kind.value:
                return cls(kind, words[1], tuple(words[2:]))
        return cls(TargetKind.SCRIPT, words[0], tuple(words[1:]))

    @property
    def words(self) -> tuple[str, ...]:
        """The words after `python` on the command line."""
        option = () if self.kind is TargetKind.SCRIPT else (self.kind.value,)
        return (*option, self.name, *self.arguments)

    def check(self) -> None:
        """Raises a `WhenceError` if there is nothing to run."""
        if self.kind is TargetKind.SCRIPT:
            _check_script(self.name)
        elif self.kind is TargetKind.MODULE:
            _check_module(self.name)
        elif self.kind is TargetKind.CALL:
            _check_module(_module_and_path(self.name)[0])
            literals(self.arguments)


def compile_plainly(source: bytes | str, file: str) -> CodeType:
    """Compile as `python` does."""
    return compile(source, file, "exec", dont_inherit=True)


def launch(
    target: Target,
    interpreter: InterpreterStart,
    start: Callable[[], None],
    finished: Finished,
    compiled: Compiled = compile_plainly,
) -> NoReturn:
    """Run the program and leave the process as it does: by `SystemExit` or `KeyboardInterrupt`.

    `start` is called right before the program's first line. `finished` is called after its last
    one, when the interpreter has joined its threads and run its `atexit` functions.
    """
    outcome = _Outcome(finished)
    # The first function to be registered is the last to run.
    atexit.register(outcome.report)
    run = _prepare(target, interpreter, compiled)
    places = program_places(interpreter.path)
    start()  # what it imports is whence's: the program's path is not in use yet
    lazy_imports.put_back()
    interpreter.give_way(places)
    sys.path = interpreter.path
    try:
        run()
    except SystemExit as exit_:
        outcome.exited(exit_.code)
        raise SystemExit(exit_.code) from None
    except KeyboardInterrupt as interrupt:
        outcome.raised(interrupt)
        _report_uncaught(interrupt)
    except BaseException as exception:
        outcome.raised(exception)
        _report_uncaught(exception)
        raise SystemExit(1) from None
    else:
        raise SystemExit(0)
    _die_of_interrupt()


class _Outcome:
    """How the program ended, kept until the interpreter shuts down."""

    def __init__(self, finished: Finished):
        self._finished = finished
        self._how = ENDED
        self._value: object = 0

    def exited(self, status: object) -> None:
        self._how = BY_EXIT
        if issubclass(type(status), int):  # such as pytest's, which are members of an enum
            status = int.__int__(status)  # type: ignore[arg-type]
        # Any other object would be kept alive here, so only its class is kept.
        is_plain = status is None or type(status) in (int, str)
        self._value = status if is_plain else type(status)

    def raised(self, exception: BaseException) -> None:
        # `sys.last_value` keeps it alive as long.
        self._how, self._value = BY_EXCEPTION, exception

    def report(self) -> None:
        _late.is_closing = True
        value, self._value = self._value, None
        self._finished(self._how, value)


# --- whether there is something to run -----------------------------------------------------------


def _check_script(script: str) -> None:
    try:
        with open(script, "rb"):
            return
    except IsADirectoryError:
        if not os.path.exists(os.path.join(script, "__main__.py")):
            raise WhenceError(
                f"{script}: is a folder without a __main__.py, so there is nothing to run in it"
            ) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise WhenceError(
            f"{script}: the program to record cannot be read ({reason}); options of the program "
            "come after its name, those of whence before it"
        ) from None


def _check_module(name: str) -> None:
    # Only the outermost package: looking for a submodule would import the package, unrecorded.
    package = name.partition(".")[0]
    places = [os.getcwd(), *sys.path]
    exists = package.isidentifier() and (
        package in sys.builtin_module_names
        or importlib.machinery.FrozenImporter.find_spec(package) is not None
        or importlib.machinery.PathFinder.find_spec(package, places) is not None
    )
    if not exists and package not in sys.modules:
        raise WhenceError(
            f"no module named {package}: it is neither in the current folder nor installed for "
            f"{sys.executable}"
        )


# --- preparing, as the interpreter does ----------------------------------------------------------


def _prepare(
    target: Target, interpreter: InterpreterStart, compiled: Compiled
) -> Callable[[], None]:
    """Make `sys` and `__main__` as they are when `python` starts this; returns what runs it."""
    sys.orig_argv[:] = [*interpreter.argv, *target.words]
    main = fresh_main()

    def set_path(folder: str, always: bool = False) -> None:
        first = target.name if target.kind is TargetKind.SCRIPT else target.kind.value
        sys.argv[:] = [first, *target.arguments]
        if always or not sys.flags.safe_path:
            interpreter.path.insert(0, folder)

    if target.kind is TargetKind.CODE:
        set_path("")
        main.__dict__["__loader__"] = importlib.machinery.BuiltinImporter
        return lambda: _run_text(target.name, main.__dict__, compiled)
    if target.kind is TargetKind.CALL:
        set_path(os.getcwd())
        sys.argv[0] = target.name
        return lambda: _at_bottom(_call, target)
    if target.kind is TargetKind.MODULE:
        set_path(os.getcwd())
        return lambda: _run_module(target.name, is_option=True)
    path = os.path.abspath(target.name)
    if pkgutil.get_importer(path) is not None:  # a folder or an archive with a __main__.py in it
        set_path(path, always=True)
        return lambda: _run_module("__main__", is_option=False)
    set_path(os.path.dirname(os.path.realpath(path)))
    return lambda: _run_file(path, main.__dict__, compiled)


def fresh_main() -> ModuleType:
    """Put a new `__main__` in place of the one that whence was started as."""
    old = sys.modules.get("__main__")
    _displaced.append(old)
    main = ModuleType("__main__")
    if old is None or "__annotations__" in old.__dict__:  # up to 3.13
        main.__dict__.update(__annotations__={})
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main


# --- running -------------------------------------------------------------------------------------


def _run_text(source: str, namespace: dict[str, Any], compiled: Compiled) -> None:
    if sys.version_info >= (3, 13):  # whose tracebacks show the lines of `-c`
        import linecache

        lines = [f"{line}\n" for line in source.splitlines()]
        linecache.cache["<string>"] = (len(source), None, lines, "<string>")
    _execute(compiled(source, "<string>"), namespace)


def _run_module(name: str, is_option: bool) -> None:
    if is_option:
        sys.argv[0] = "-m"
    _at_bottom(runpy._run_module_as_main, name, is_option)  # type: ignore[attr-defined]


def _run_file(path: str, namespace: dict[str, Any], compiled: Compiled) -> None:
    with io.open_code(path) as file:
        source = file.read()
    loader: importlib.machinery.SourceFileLoader | importlib.machinery.SourcelessFileLoader
    if source.startswith(importlib.util.MAGIC_NUMBER):
        loader = importlib.machinery.SourcelessFileLoader("__main__", path)
        code = loader.get_code("__main__")
        assert code is not None
    else:
        loader = importlib.machinery.SourceFileLoader("__main__", path)
        code = compiled(source, path)
    namespace.update({"__loader__": loader, "__file__": path})
    if sys.version_info < (3, 15):
        namespace["__cached__"] = None
    _execute(code, namespace)


def _execute(code: CodeType, namespace: dict[str, Any]) -> None:
    _at_bottom(exec, code, namespace)


def _at_bottom(function: Callable[..., object], *arguments: object) -> None:
    """Call a function as the interpreter itself would: whence's own frames do not show.

    They are invisible to code that walks the stack, and do not reduce how deep a recursion may go.
    Without the recorder in C both are visible. From the end of the call on, interrupts are late.
    """
    try:
        recorder: Any = importlib.import_module("whence.langs.python.record._recorder")
    except ImportError:
        late_interrupts.run(_late, function, *arguments)
        return
    recorder.at_bottom(_late, function, *arguments)


def _call(target: Target) -> None:
    """Call one function. A coroutine is run, a generator is run to its end."""
    module, path = _module_and_path(target.name)
    importlib.import_module(module)
    function: Any = sys.modules[module]
    for name in path.split("."):
        function = getattr(function, name)
    positional, named = literals(target.arguments)
    result = function(*positional, **named)
    if type(result) is CoroutineType:
        import asyncio

        asyncio.run(result)
    elif type(result) is GeneratorType:
        for _ in result:
            pass


def _module_and_path(name: str) -> tuple[str, str]:
    module, _, path = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        raise UsageError(f"{name}: a function is named as package.module:function")
    return module, path


def literals(words: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments in words: each is a Python literal, or `name=literal`."""
    from ast import literal_eval

    positional: list[Any] = []
    named: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        try:
            if equals and name.isidentifier() and not text.startswith("="):
                named[name] = literal_eval(text)
            elif named:
                raise UsageError(f"{word}: an argument by position stands before those by name")
            else:
                positional.append(literal_eval(word))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise UsageError(
                f"{word}: arguments are Python literals, as in 3, [1, 2], count=3 or, "
                "for a text, '\"text\"'"
            ) from None
    return positional, named


# --- uncaught exceptions -------------------------------------------------------------------------


def _report_uncaught(exception: BaseException) -> None:
    """Report an uncaught exception as the interpreter does, with the program's hook."""
    traceback = _without_whence(exception.__traceback__)
    exception.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(exception), exception, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = exception
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        _write_error("sys.excepthook is missing\n")
        sys.__excepthook__(type(exception), exception, traceback)
        return
    try:
        hook(type(exception), exception, traceback)
    except SystemExit:
        raise
    except BaseException as second:
        second.__context__ = None
        _write_error("Error in sys.excepthook:\n")
        shown = _without_whence(second.__traceback__)
        sys.__excepthook__(type(second), second.with_traceback(shown), shown)
        _write_error("\nOriginal exception was:\n")
        sys.__excepthook__(type(exception), exception, traceback)


def _without_whence(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    entry = traceback
    while entry is not None and entry.tb_next is not None:
        if entry.tb_next.tb_frame.f_code.co_filename == printed_text.FILE_NAME:
            # A write failed, and the recorder in Python wraps the stream.
            entry.tb_next = entry.tb_next.tb_next
        entry = entry.tb_next
    return traceback


def _write_error(text: str) -> None:
    with contextlib.suppress(Exception):
        sys.stderr.write(text)
        sys.stderr.flush()


def _die_of_interrupt() -> NoReturn:
    """Let the interpreter end as it does after an interrupt: by the signal, once it is shut down.

    It does so when the exception reaches the top. The exception is already reported, so the hook
    is silenced.
    """
    program_hook = sys.excepthook

    def silent(*_: object) -> None:
        sys.excepthook = program_hook

    sys.excepthook = silent
    raise KeyboardInterrupt
