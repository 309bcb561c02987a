"""`whence record [OPTIONS] PROGRAM`: run a Python program and record its calls."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from whence.errors import UsageError
from whence.langs.python.debuggee.order import ClosingMessage, Order
from whence.langs.python.debuggee.run_as_python import Target, TargetKind
from whence.langs.python.launching.debuggee_process import become_debuggee
from whence.langs.python.launching.installed_program import found_on_path, installed_program
from whence.langs.python.record.backend_choice import NATIVE, PURE, VARIABLE, choose_backend
from whence.langs.python.record.children import Children
from whence.langs.python.record.journal.journal_choice import obstacle
from whence.langs.python.record.options import Detail, RecordOptions
from whence.langs.python.record.recording import (
    MAX_BYTES,
    OutputInUse,
    held_output,
    usual_settings,
)
from whence.langs.python.record.repeatable import pin_hash_seed
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recording_signature import key_folder
from whence.langs.python.recordings import remove_companions
from whence.secret_values import VARIABLE as SECRET_VARIABLE

_USAGE = "whence record [OPTIONS] (script.py | -m MODULE | -c CODE | --call FUNCTION) [ARGS]"


# argparse takes `--` for itself, wherever it stands. No word of a command line has a NUL in it.
_DASHES, _PROTECTED = "--", "\0--"
_MAY_HAVE_VALUE = ("--regression-test",)
# Says that an option has no value: what follows it is not its value, but the end of the options.
_NO_VALUE = "=\0"


def protected(words: Sequence[str]) -> list[str]:
    """The words of a command line, so that a `--` of the program is the program's."""
    protected_words: list[str] = []
    for word in words:
        if word == _DASHES and protected_words and protected_words[-1] in _MAY_HAVE_VALUE:
            protected_words[-1] += _NO_VALUE
        protected_words.append(_PROTECTED if word == _DASHES else word)
    return protected_words


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    command.set_defaults(run=run)


def add_program(group: argparse._ActionsContainer) -> None:
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


def add_options(trace: argparse._ActionsContainer, choice: argparse._ActionsContainer) -> None:
    """What is recorded, and how much; `order_of` reads it."""
    _configure_trace(trace)
    _configure_choice(choice)


def _configure_trace(group: argparse._ActionsContainer) -> None:
    defaults = RecordOptions()
    group.add_argument(
        "--detail", choices=[detail.value for detail in Detail], default=defaults.detail.value,
        help="ids: only which call made which; shallow: arguments and results, one level deep; "
        "full: also what a call read and changed (default: full)",
    )  # fmt: skip
    group.add_argument(
        "--whole-values", action="store_true",
        help="record values in full, up to very large bounds, instead of only their beginning: "
        "slower, with a larger trace",
    )  # fmt: skip
    group.add_argument(
        "--max-calls", type=_count, metavar="N",
        help="after this many calls, only count further ones",
    )  # fmt: skip
    group.add_argument(
        "--max-bytes", type=size, metavar="N", default=MAX_BYTES,
        help="once the trace has this many bytes (K, M and G are understood), only count "
        "further calls (default: 2G)",
    )  # fmt: skip
    group.add_argument(
        "--depth",
        type=_count,
        metavar="N",
        help="only count calls that are nested deeper than this",
    )
    group.add_argument(
        "--call-limit", type=_count, metavar="N",
        help="stop the program after this many calls; the calls that were running count as not "
        "ended",
    )  # fmt: skip
    group.add_argument(
        "--depth-limit",
        type=_count,
        metavar="N",
        help="stop the program when calls are nested deeper than this",
    )
    group.add_argument(
        "--journal", action="store_true",
        help="also store what the program learns from the outside world (time, randomness, "
        "files, processes, the network), so that it can run again in the same way without any "
        "effect (docs/running-again.md)",
    )  # fmt: skip
    children = group.add_mutually_exclusive_group()
    children.add_argument(
        "--children", dest="children", action="store_const", const=Children.ALL,
        help="also record the Pythons that shells and other programs start: those find the "
        "recording in the environment, which the program can see (by default only processes that "
        "the program forks and Pythons that it starts itself are recorded)",
    )  # fmt: skip
    children.add_argument(
        "--no-children", dest="children", action="store_const", const=Children.NONE,
        help="record no process that the program starts",
    )  # fmt: skip
    group.add_argument(
        "--secret", action="append", default=[], metavar="PATTERN",
        help="values under names that match are secrets, as those under password or api_key are: "
        f"only a digest is recorded (may be repeated; {SECRET_VARIABLE} in the environment holds "
        "more, separated by commas)",
    )  # fmt: skip
    group.add_argument(
        "--keep-secrets", action="store_true", help="record passwords, tokens and keys as they are"
    )
    group.add_argument(
        "--backend", choices=[NATIVE, PURE],
        help=f"how to record (default: the first that works, see `whence doctor`; {VARIABLE} in "
        "the environment means the same)",
    )  # fmt: skip


def _configure_choice(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--user-code", action="append", default=[], metavar="PACKAGE|PATH",
        help="record this code although it is installed or part of Python (may be repeated)",
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
        help="record only calls of these functions (patterns; by default the first 100,000, "
        "see --max-calls) and count all others",
    )  # fmt: skip


def run(options: argparse.Namespace) -> NoReturn:
    """Run the program; the process ends as it does."""
    target = target_of(options, _USAGE)
    target.check()
    check(options)
    order = order_of(options, target, options.output or f"{short_name(target)}.whence")
    may_rename = options.output is None
    order = replace(order, settings=replace(order.settings, may_rename=may_rename))
    message = ClosingMessage.AT_TERMINAL
    if options.verbose or options.quiet:
        message = ClosingMessage.ALWAYS if options.verbose else ClosingMessage.ON_PROBLEM
    order = replace(order, closing_message=message)
    try:
        with held_output(order.settings.output):
            remove_companions(Path(order.settings.output))
    except OutputInUse:
        if not may_rename:
            raise
    # The interpreter starts once more, as it will for a re-run: it reads the hash seed then, and
    # has loaded nothing that the program does not need.
    environment: Mapping[str, str] = os.environ
    if options.journal:
        environment, seed_by = pin_hash_seed(os.environ)
        order = replace(order, settings=replace(order.settings, repeatable=seed_by))
    become_debuggee(order, environment)


def order_of(options: argparse.Namespace, target: Target, output: str) -> Order:
    """The order that the options of `add_options` ask for."""
    kept = (name.strip() for names in options.filter for name in names.split(","))
    rules = UserCodeRules(
        tuple(options.user_code),
        tuple(options.only),
        tuple(options.leave_out),
        tuple(filter(None, kept)),
    )
    program = installed_program(target)
    if program is not None:
        rules = program.added_to(rules)
    settings = usual_settings(
        output,
        Detail(options.detail),
        options.max_calls,
        options.max_bytes,
        options.depth,
        rules=rules,
        backend=options.backend,
        whole_values=options.whole_values,
        keep_secrets=options.keep_secrets,
        secret_names=tuple(options.secret),
    )
    return Order(
        target,
        replace(settings, children=_children(options), key_folder=key_folder()),
        journal=options.journal,
        call_limit=options.call_limit,
        depth_limit=options.depth_limit,
    )


def _children(options: argparse.Namespace) -> Children:
    chosen: Children | None = options.children
    if chosen is not None:
        return chosen
    return Children.NONE if options.journal else Children.PYTHONS


def check(options: argparse.Namespace) -> None:
    """Refuse options that cannot be had here, or not together."""
    if options.journal and options.children is Children.ALL:
        raise UsageError("--journal is of one process: leave out --children")
    missing = obstacle(options.backend) if options.journal else None
    if missing:
        raise UsageError(f"--journal: {missing}")
    has_limit = options.call_limit is not None or options.depth_limit is not None
    if has_limit and choose_backend(options.backend).name != NATIVE:
        raise UsageError("--call-limit and --depth-limit need the recorder in C")
    if options.depth_limit is not None and options.filter:
        raise UsageError("how deep calls are nested is not known with --filter: take --call-limit")


def target_of(options: argparse.Namespace, usage: str) -> Target:
    """The program that is to be run."""
    for kind, typed in (
        (TargetKind.MODULE, options.module),
        (TargetKind.CODE, options.code),
        (TargetKind.CALL, getattr(options, "call", None)),
    ):
        if typed is not None:
            words = unprotected(typed)
            if not words:
                raise UsageError(f"{kind.value} is followed by nothing: {usage}")
            return Target(kind, words[0], tuple(words[1:]))
    words = unprotected(options.program)
    if words[:1] == [_DASHES]:  # between our options and the program
        del words[0]
    if not words:
        raise UsageError(f"which program? {usage}")
    target = Target(TargetKind.SCRIPT, words[0], tuple(words[1:]))
    installed = found_on_path(target)
    if installed is not None and not getattr(options, "quiet", False):
        print(f"whence: {words[0]} is {installed.name}", file=sys.stderr)
    return installed or target


def unprotected(words: Sequence[str]) -> list[str]:
    """The words of the program as they were typed."""
    return [_DASHES if word == _PROTECTED else word.removesuffix(_NO_VALUE) for word in words]


def short_name(target: Target) -> str:
    """What a recording of a program is called."""
    if target.kind is TargetKind.CODE:
        return "run"
    if target.kind is TargetKind.CALL:
        return target.name.rpartition(":")[2]
    if target.kind is TargetKind.MODULE:
        return target.name.rpartition(".")[2]
    name = os.path.basename(os.path.abspath(target.name))
    return os.path.splitext(name)[0] or name


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def size(text: str) -> int:
    """A number of bytes."""
    units = {"K": 10, "M": 20, "G": 30}
    shift = units.get(text[-1:].upper(), 0)
    return _count(text[:-1] if shift else text) << shift
