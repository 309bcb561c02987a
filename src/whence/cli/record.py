"""`whence record [OPTIONS] PROGRAM`: run a Python program and record its calls."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from whence.errors import UsageError
from whence.langs.python.debuggee.executed_lines import LineWatch, Wanted
from whence.langs.python.debuggee.launch import Kind, Target, as_it_is, launch
from whence.langs.python.record.children import leave
from whence.langs.python.record.choose import NATIVE, PURE, VARIABLE, chosen
from whence.langs.python.record.journal.choosing import Journal, journal_of, obstacle
from whence.langs.python.record.options import WHOLE_BOUND, Detail, RecordOptions
from whence.langs.python.record.recording import Recording, Settings, Written
from whence.langs.python.record.repeatable import aside, directly, pinned
from whence.langs.python.record.user_code import UserCode, UserCodeRules
from whence.langs.python.trace.trace_format import STOPPED

if TYPE_CHECKING:
    from whence.langs.python.debuggee.checkpoint_forks import Checkpoints
    from whence.langs.python.zoom.step_recorder import StepRecorder

_USAGE = "whence record [OPTIONS] (script.py | -m MODULE | -c CODE | --call FUNCTION) [ARGS]"


# argparse takes `--` for itself, wherever it stands. No word of a command line has a NUL in it.
_DASHES, _PROTECTED = "--", "\0--"

_MOST_BYTES = 2 * 2**30
"""A program that runs for hours must not fill the disk because nobody thought of it."""


_MOST_KEPT = 100_000
"""So many calls of the functions of a filter are kept, unless another number is given."""
_NO_LIMIT = 2**64 - 1
_STOPPED_STATUS = 75


def protected(words: Sequence[str]) -> list[str]:
    """The words of a command line, so that a `--` of the program is the program's."""
    return [_PROTECTED if word == _DASHES else word for word in words]


def configure(commands: Any) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "record",
        usage=_USAGE,
        help="run a Python program and record its calls",
        description="Runs a Python program as python does, and writes what it called, with "
        "arguments, results and changes, to a trace that `whence debug` opens (docs/recording.md). "
        "Options come before the program; what follows it is the program's. The exit code is the "
        "program's, or 2 if it was not run.",
    )
    program = command.add_argument_group("the program")
    add_program(program)
    program.add_argument(
        "--call", nargs=argparse.REMAINDER, metavar="MODULE:FUNCTION ARGS",
        help="a function to call, its arguments being Python literals; see `whence call`",
    )  # fmt: skip
    trace = command.add_argument_group("the trace")
    trace.add_argument(
        "-o", "--output", metavar="FILE",
        help="where the trace goes (default: the program's name with .whence, in the current "
        "folder); an older trace is overwritten, no other file is",
    )  # fmt: skip
    add_options(trace, command.add_argument_group("which code is recorded"))
    said = trace.add_mutually_exclusive_group()
    said.add_argument(
        "-v", "--verbose", action="store_true",
        help="say at the end on standard error where the trace is, even if that is no terminal",
    )  # fmt: skip
    said.add_argument(
        "-q", "--quiet", action="store_true", help="say that only if something went wrong"
    )
    # For whoever starts us: a signal at which we end at once, with all that was recorded.
    command.add_argument(
        "--stopped-by", action="append", default=[], help=argparse.SUPPRESS, metavar="SIGNAL:REASON"
    )
    _configure_rerun(command)
    command.set_defaults(run=run)


def add_program(group: Any) -> None:
    """What `python` can be told to run."""
    group.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="script.py ARGS", help="a script to run"
    )
    group.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE ARGS", help="a module to run"
    )
    group.add_argument(
        "-c", dest="code", nargs=argparse.REMAINDER, metavar="CODE ARGS", help="code to run"
    )


def add_options(trace: Any, choice: Any) -> None:
    """What is recorded, and how much; `option_words` says the same to another process."""
    _configure_trace(trace)
    _configure_choice(choice)


def option_words(options: argparse.Namespace) -> list[str]:
    """The options of `add_options` as they stand on a command line."""
    words = ["--detail", options.detail, "--max-bytes", str(options.max_bytes)]
    for name in ("max_calls", "depth", "backend", "call_limit", "depth_limit"):
        if getattr(options, name) is not None:
            words += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    for name in ("children", "whole_values", "journal"):
        if getattr(options, name):
            words.append(f"--{name.replace('_', '-')}")
    return [*words, *_rules(options).words]


def _rules(options: argparse.Namespace) -> UserCodeRules:
    kept = (name.strip() for each in options.filter for name in each.split(","))
    return UserCodeRules(
        tuple(options.user_code),
        tuple(options.only),
        tuple(options.leave_out),
        tuple(filter(None, kept)),
    )


def _configure_trace(group: Any) -> None:
    defaults = RecordOptions()
    group.add_argument(
        "--detail", choices=[detail.value for detail in Detail], default=defaults.detail.value,
        help="ids: only which call made which; shallow: arguments and results, one level deep; "
        "full: also what a call read and changed (default: full)",
    )  # fmt: skip
    group.add_argument(
        "--whole-values", action="store_true",
        help="record values as they are, up to very large bounds, and not only their beginning: "
        "slower, and the trace is larger",
    )  # fmt: skip
    group.add_argument(
        "--max-calls", type=_count, metavar="N",
        help="after so many calls, further ones are only counted",
    )  # fmt: skip
    group.add_argument(
        "--max-bytes", type=size, metavar="N", default=_MOST_BYTES,
        help="once the trace has so many bytes (K, M and G are understood), further calls are "
        "only counted (default: 2G)",
    )  # fmt: skip
    group.add_argument(
        "--depth", type=_count, metavar="N", help="calls nested deeper than this are only counted"
    )
    group.add_argument(
        "--call-limit", type=_count, metavar="N",
        help="stop the program after so many calls; those that it was in did not end",
    )  # fmt: skip
    group.add_argument(
        "--depth-limit", type=_count, metavar="N", help="stop it when calls are nested deeper"
    )
    group.add_argument(
        "--journal", action="store_true",
        help="also keep what the program learns from the world (time, chance, files, processes, "
        "the network), so that it can be run again as it was, changing nothing "
        "(docs/running-again.md)",
    )  # fmt: skip
    group.add_argument(
        "--children", action="store_true",
        help="record the Python processes that the program starts too, each into a file beside "
        "the trace",
    )  # fmt: skip
    group.add_argument(
        "--backend", choices=[NATIVE, PURE],
        help=f"how to record (default: the first that works, see `whence doctor`; {VARIABLE} in "
        "the environment means the same)",
    )  # fmt: skip


def _configure_choice(group: Any) -> None:
    group.add_argument(
        "--user-code", action="append", default=[], metavar="PACKAGE|PATH",
        help="record this although it is installed or part of Python (may be repeated)",
    )  # fmt: skip
    group.add_argument(
        "--only", action="append", default=[], metavar="PATTERN",
        help="record only files, modules or functions that match (may be repeated)",
    )  # fmt: skip
    group.add_argument(
        "--leave-out", action="append", default=[], metavar="PATTERN",
        help="do not record files, modules or functions that match (may be repeated)",
    )  # fmt: skip

    group.add_argument(
        "--filter", action="append", default=[], metavar="FUNCTION,…",
        help="keep only calls of these functions (patterns; by default the first 100,000, see "
        "--max-calls) and count all others",
    )  # fmt: skip


def _configure_rerun(command: argparse.ArgumentParser) -> None:
    """What whence itself asks for when it starts a program, or runs one again."""
    for option in (
        "--repeatable", "--lines-of", "--lines-to", "--zoom-of", "--zoom-to", "--play", "--sandbox",
        "--debugger", "--trial", "--freezing", "--checkpoints",
    ):  # fmt: skip
        command.add_argument(option, help=argparse.SUPPRESS)
    for option in ("--whole-calls", "--window"):
        command.add_argument(option, type=_range, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> NoReturn:
    """Run the program; the process ends as it does."""
    target = target_of(options, _USAGE)
    target.check()
    if options.journal:
        _check_journal(options)
    if options.call_limit is not None or options.depth_limit is not None:
        _check_limits(options)
    usual = RecordOptions()
    rules = _rules(options)
    most = _MOST_KEPT if rules.kept and options.max_calls is None else options.max_calls
    settings = Settings(
        output=options.output or _default_output(target),
        options=replace(
            usual,
            detail=Detail(options.detail),
            max_calls=most,
            max_bytes=options.max_bytes,
            depth=options.depth,
            bound=WHOLE_BOUND if options.whole_values else usual.bound,
            first_bound=WHOLE_BOUND if options.whole_values else usual.first_bound,
            whole_calls=options.whole_calls,
            window=options.window,
            global_bound=WHOLE_BOUND if options.whole_values else usual.global_bound,
        ),
        rules=rules,
        backend=options.backend,
        children=options.children,
        repeatable=options.repeatable,
    )
    leave()
    under_way: list[Callable[[str], object]] = []
    for order in options.stopped_by:
        _end_at_signal(order, under_way)
    recording = Recording(settings, target.words)
    under_way.append(lambda reason: recording.is_here and recording.cut_off(reason))
    verbose, quiet = options.verbose, options.quiet

    watch = _line_watch(options)
    journal = journal_of(options, settings.output, recording)
    zoom = _zoom(options, recording, journal) if options.zoom_of else None

    def start() -> None:
        recording.start()
        if options.window:
            await_window(options)
        elif watch is not None:
            watch.start()
        if options.freezing:
            aside(_start_freezing)(options.freezing, rules)
        if journal is not None:
            journal.start()
            # Before the recording ends: what that takes is no question of the program's.
            under_way.insert(0, lambda _: journal.finish())
        if options.call_limit is not None or options.depth_limit is not None:
            _set_limits(options, finished)
        if checkpoints is not None:
            checkpoints.wait()

    def await_window(wishes: argparse.Namespace) -> None:
        from whence.langs.python.debuggee.on_target_call import await_call

        await_call(wishes, lambda: finished(STOPPED, "it was wanted up to here"), watch)

    def asked_for(wishes: argparse.Namespace) -> None:
        nonlocal watch
        watch = _line_watch(wishes)
        await_window(wishes)

    checkpoints = None
    if options.checkpoints:
        checkpoints = _checkpoints(options, recording, journal, asked_for)

    def finished(how: int, value: object) -> None:
        if zoom is not None and recording.is_here:
            zoom.program_ended()
        if journal is not None:
            journal.finish()
        if watch is not None and recording.is_here:
            watch.finish()
        if recording.is_here:  # and not a child that was forked off
            written = recording.finish(how, value)
            if not recording.is_of_child:
                _tell(written, verbose, quiet)
            if options.play:
                os._exit(0)  # nothing of what a shut down does may reach the world

    launch(target, start, finished, zoom.compiled if zoom is not None else as_it_is)


def _start_freezing(order: str, rules: UserCodeRules) -> None:
    """Some calls are looked at, or not made. What that loads is not there for the program, which
    will load it itself."""
    known = set(sys.modules)
    from whence.langs.python.freezing import effect_hooks

    effect_hooks.start(order, UserCode(rules))
    for name in set(sys.modules) - known:
        if name.partition(".")[0] != "whence":
            del sys.modules[name]


def _line_watch(options: argparse.Namespace) -> LineWatch | None:
    if not options.lines_to:
        return None
    return LineWatch(Wanted.from_text(options.lines_of), options.lines_to)


def _checkpoints(
    options: argparse.Namespace,
    recording: Recording,
    journal: Journal | None,
    asked_for: Callable[[argparse.Namespace], None],
) -> Checkpoints:
    """The program begins when it is known what for; that is said with the options of a re-run."""
    from whence.langs.python.debuggee.checkpoint_forks import Checkpoints
    from whence.langs.python.record.journal.playing import JournalPlayer
    from whence.langs.python.record.native_backend import NativeBackend

    backend = recording.backend
    assert isinstance(backend, NativeBackend)
    assert isinstance(journal, JournalPlayer)
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _configure_rerun(parser)

    def begin(words: Sequence[str], folder: str) -> None:
        wishes = parser.parse_args(words)
        wishes.sandbox = folder
        backend.go_on(wishes.window, wishes.whole_calls)
        asked_for(wishes)

    return Checkpoints(options.checkpoints, recording, journal, begin)


def _zoom(
    options: argparse.Namespace, recording: Recording, journal: Journal | None
) -> StepRecorder:
    """One call tells what its statements do; then the program has told enough."""
    from whence.langs.python.zoom.step_recorder import ZoomRequest, start

    wish, backend, unnoticed = ZoomRequest.from_text(options.zoom_of), recording.backend, directly
    if journal is not None:
        from whence.langs.python.record.journal import playing

        unnoticed = playing.aside

    def finish() -> None:
        if journal is not None:
            journal.finish()
        recording.finish(STOPPED, "it was gone into far enough")

    return start(wish, options.zoom_to, backend.here, lambda: backend.calls, finish, unnoticed)


def _check_limits(options: argparse.Namespace) -> None:
    if chosen(options.backend).name != NATIVE:
        raise UsageError("--call-limit and --depth-limit need the recorder in C")
    if options.depth_limit is not None and options.filter:
        raise UsageError("how deep calls are nested is not known with --filter: take --call-limit")


def _check_journal(options: argparse.Namespace) -> None:
    """A journal needs a run that can be run again from its very start."""
    if options.children:
        raise UsageError("--journal is of one process: leave out --children")
    missing = obstacle(options.backend)
    if missing:
        raise UsageError(f"--journal: {missing}")
    if options.repeatable is None:
        # The seed of hashes is chosen before the interpreter starts: so it starts once more, in
        # the way in which it will be started the next time.
        from whence.langs.python.running import launcher

        environment, seed_by = pinned(os.environ)
        words = sys.orig_argv[sys.orig_argv.index("record") + 1 :]
        os.execve(sys.executable, [*launcher(), "--repeatable", seed_by, *words], environment)


def _end_at_signal(order: str, under_way: Sequence[Callable[[str], object]]) -> None:
    """End at once when a signal comes, as a run that did not end: nobody else can interfere."""
    import signal

    number, _, reason = order.partition(":")
    signal.signal(int(number), lambda *_: _stop(under_way, reason, 128 + int(number)))


def _set_limits(options: argparse.Namespace, finished: Callable[[int, object], object]) -> None:
    """End as a run that did not end once there are too many calls, or too deep ones."""
    from whence.langs.python.record import _recorder

    most = {"calls": options.call_limit, "depth": options.depth_limit}
    said = {
        "calls": "it was stopped after {:,} calls",
        "depth": "it was stopped where calls were nested {:,} deep",
    }
    calls, depth = (_NO_LIMIT if limit is None else limit for limit in most.values())

    def stop(what: str) -> NoReturn:
        finished(STOPPED, said[what].format(most[what]))
        _leave(_STOPPED_STATUS)

    _recorder.limits(calls, depth, stop)


def _stop(under_way: Sequence[Callable[[str], object]], reason: str, status: int) -> NoReturn:
    for end in under_way:
        end(reason)
    _leave(status)


def _leave(status: int) -> NoReturn:
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):
            if type(stream) is io.TextIOWrapper:
                stream.flush()
    os._exit(status)


def target_of(options: argparse.Namespace, usage: str) -> Target:
    """The program that is to be run."""
    for kind, given in (
        (Kind.MODULE, options.module),
        (Kind.CODE, options.code),
        (Kind.CALL, getattr(options, "call", None)),
    ):
        if given is not None:
            words = _unprotected(given)
            if not words:
                raise UsageError(f"{kind.value} is followed by nothing: {usage}")
            return Target(kind, words[0], tuple(words[1:]))
    words = _unprotected(options.program)
    if words[:1] == [_DASHES]:  # between our options and the program
        del words[0]
    if not words:
        raise UsageError(f"which program? {usage}")
    return Target(Kind.SCRIPT, words[0], tuple(words[1:]))


def _unprotected(words: Sequence[str]) -> list[str]:
    return [_DASHES if word == _PROTECTED else word for word in words]


def _default_output(target: Target) -> str:
    return short_name(target) + ".whence"


def short_name(target: Target) -> str:
    """What a recording of a program is called."""
    if target.kind is Kind.CODE:
        return "run"
    if target.kind is Kind.CALL:
        return target.name.rpartition(":")[2]
    if target.kind is Kind.MODULE:
        return target.name.rpartition(".")[2]
    name = os.path.basename(os.path.abspath(target.name))
    return os.path.splitext(name)[0] or name


def _tell(written: Written, verbose: bool, quiet: bool) -> None:
    """After the program's last word, and only where a person sees it."""
    stream = sys.stderr
    try:
        if written.problem is not None:
            stream.write(f"whence: {written.output} is not whole: {written.problem}\n")
        elif verbose or (stream.isatty() and not quiet):
            stream.write(
                f"whence: {written.output}: {written.calls:,} calls, {written.size:,} bytes\n"
            )
        stream.flush()
    except (AttributeError, OSError, ValueError):
        pass  # the program closed or replaced it


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    return _count(first), _count(last)


def size(text: str) -> int:
    """A number of bytes."""
    units = {"K": 10, "M": 20, "G": 30}
    shift = units.get(text[-1:].upper(), 0)
    return _count(text[:-1] if shift else text) << shift
