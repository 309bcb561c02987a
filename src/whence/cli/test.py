"""`whence test [OPTIONS] [PYTEST ARGUMENTS]`: run tests, and find the fault of one that fails.

The tests run in a process of their own, by pytest with the plugin of whence, which records each
failing test. The session here is about the first of them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from whence.app import diagnosing
from whence.app.first_answers import first_answers
from whence.app.frontends import open_any
from whence.app.progress import percent_reporter
from whence.cli import run as running
from whence.cli import session_options
from whence.errors import WhenceError

_POLL_SECONDS = 0.1
"""How long to wait for pytest when there is nothing to learn from."""
_USAGE = "whence test [OPTIONS] [--] [PYTEST ARGUMENTS]"
_DASHES = "--"
_MAY_FOLLOW = "?"
# Put before a word that is pytest's, so that argparse takes no option of pytest for one of ours.
_THEIRS = "\0"


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "test",
        usage=_USAGE,
        help="run tests with pytest, and find the fault of one that fails",
        description="Runs `python -m pytest` with the given arguments, runs and records each "
        "failing test again by itself, and debugs the first of them (docs/pytest.md). The long "
        "options listed here belong to whence, everything else to pytest; before a --, short "
        "options belong to whence, too. The exit code is pytest's if no failing test was "
        "recorded, else that of `whence debug`.",
    )
    command.add_argument("arguments", nargs="*", metavar="ARGUMENTS", help="arguments of pytest")
    _add_options(command)
    command.set_defaults(run=run)


def _add_options(command: argparse.ArgumentParser) -> None:
    tests = command.add_argument_group("the tests")
    tests.add_argument(
        "--user-code", action="append", default=[], metavar="PACKAGE|PATH",
        help="record this code although it is installed or part of Python (may be repeated)",
    )  # fmt: skip
    tests.add_argument(
        "--most", type=int, default=10, metavar="N",
        help="record at most this many failing tests (default: 10)",
    )  # fmt: skip
    tests.add_argument(
        "--learn", action="store_true",
        help="record every test, and store in .whence/learned.sqlite which functions the tests "
        "make suspect; no test is debugged",
    )  # fmt: skip
    running.add_record_only(tests)
    session_options.add_options(command)


def separated(words: Sequence[str]) -> list[str]:
    """The words of a command line with those marked that are pytest's."""
    own = list(words[1:])
    if _DASHES in own:
        place = own.index(_DASHES)
        ours = own[:place]
        if ours and _long_options().get(ours[-1]) == _MAY_FOLLOW:
            ours[-1] += "="  # the word after the -- is not its value
        return [words[0], *ours, *(_THEIRS + word for word in own[place + 1 :])]
    values = _long_options()
    # Apart, since argparse takes arguments only if they stand together.
    ours, theirs = [words[0]], []
    while own:
        word = own.pop(0)
        name, equals, _ = word.partition("=")
        if name not in values:
            theirs.append(_THEIRS + word)
            continue
        if equals or values[name] == 0:
            ours.append(word)
        elif values[name] != _MAY_FOLLOW:
            ours += [word, *own[:1]]
            del own[:1]
        elif own and not own[0].startswith("-") and not Path(own[0].partition("::")[0]).exists():
            ours.append(f"{word}={own.pop(0)}")  # a file to be made; one that exists is pytest's
        else:
            ours.append(f"{word}=")
    return [*ours, *theirs]


def _long_options() -> dict[str, int | str | None]:
    """The names of our long options, and how many values follow."""
    parser = argparse.ArgumentParser()
    _add_options(parser)
    return {
        name: action.nargs
        for action in parser._actions
        for name in action.option_strings
        if name.startswith("--")
    }


def run(options: argparse.Namespace) -> int:
    """Run the tests, then hold the session."""
    if importlib.util.find_spec("pytest") is None:
        raise WhenceError(
            f"pytest is not installed for {sys.executable}: install it there, or call whence "
            "from where it is"
        )
    arguments = [word.removeprefix(_THEIRS) for word in options.arguments]
    if options.learn:
        return _learn(options, arguments)
    with tempfile.TemporaryDirectory(prefix="whence-") as folder:
        listed = Path(folder) / "recordings"
        ours = ["--whence", f"--whence-list={listed}", f"--whence-most={options.most}"]
        status = _run_tests(options, [*arguments, *ours])
        recorded = _listed(listed)
    if options.record_only:
        running.list_recordings(options.record_list, recorded)
    if not recorded or options.record_only:
        return status
    test, path = recorded[0]
    if len(recorded) > 1:
        print(f"\nThe first test that failed: {test}", flush=True)
    opened = open_any(path)
    return diagnosing.diagnose(
        session_options.read(options), opened, path,
        lambda screen: first_answers(opened, None, screen, asks=False),
    )  # fmt: skip


def _learn(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Record every test, and learn from the recordings while other tests still run.

    Ctrl-C ends the tests, and a second one the learning; what was learned is kept.
    """
    from whence.langs.python.priors.learner import Learner

    with tempfile.TemporaryDirectory(prefix="whence-") as folder:
        learner = Learner(Path(folder))
        left = 0
        try:
            status = _run_tests(options, [*arguments, f"--whence-learn={folder}"], learner.step)
            tests, report = learner.waiting, percent_reporter("learning from the tests")
            for done in range(tests):
                if report is not None:
                    report(done, tests)
                learner.step()
            if tests and report is not None:
                report(tests, tests)
        except KeyboardInterrupt:
            status, left = 130, learner.waiting + 1
        finally:
            amount = learner.finish()
    print(
        f"Learned from {amount.passing:,} passing and {amount.failing:,} failing tests: "
        f"{amount.functions:,} functions, {amount.equations:,} equations, in {learner.path}"
    )
    if left:
        print(f"Stopped: nothing was learned from the last {left:,} tests.")
    return status


def _run_tests(
    options: argparse.Namespace,
    arguments: Sequence[str],
    meanwhile: Callable[[], bool] = lambda: False,
) -> int:
    """Run pytest to its end. `meanwhile` does a piece of other work, and says whether it did."""
    from whence.langs.python.launching.first_run import forward_signals

    command = [sys.executable, "-m", "pytest", *arguments]
    command += [f"--whence-user-code={name}" for name in options.user_code]
    # Piped input holds answers for the session, not input of the tests.
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    sys.stdout.flush()
    process = subprocess.Popen(command, stdin=None if at_terminal else subprocess.DEVNULL)
    try:
        with forward_signals(process):
            while process.poll() is None:
                if not meanwhile():
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(_POLL_SECONDS)
    finally:
        if process.poll() is None:  # we failed
            process.terminate()
            process.wait()
    return process.returncode


def _listed(path: Path) -> list[tuple[str, Path]]:
    """The tests that were recorded, and where."""
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(line["test"], Path(line["recording"])) for line in lines]
