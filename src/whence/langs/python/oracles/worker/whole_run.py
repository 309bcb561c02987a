"""Runs a whole program by one version and records it, as a `RunConfig` says."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib.machinery import PathFinder

from whence.langs.python.debuggee.interpreter_start import InterpreterStart
from whence.langs.python.debuggee.run_as_python import Target, TargetKind, compile_plainly, launch
from whence.langs.python.oracles.worker.one_function_swap import swap_one_on_load
from whence.langs.python.oracles.worker.rebuilt_call import WHOLE
from whence.langs.python.oracles.worker.worker_protocol import RunConfig, decode_as
from whence.langs.python.record import one_test
from whence.langs.python.record.one_test import AwaitedTest, OneTest
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules

_MOST_BYTES = 1 << 30


class _VersionFinder:
    """Finds modules in the folders of this version, whatever comes before them in `sys.path`.

    `python -m` puts the current folder first, and pytest that of its tests: there the program's own
    version may be.
    """

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        """Of a package only the package itself is looked for; it knows where its modules are."""
        return None if path is not None else PathFinder.find_spec(name, self._paths)


def main(interpreter: InterpreterStart, message: str) -> None:
    """Run it; the process ends as it does."""
    config = decode_as(RunConfig, message)
    os.chdir(config.cwd)
    if config.kind != TargetKind.SCRIPT.value:
        sys.meta_path.insert(0, _VersionFinder(config.paths))  # type: ignore[arg-type]
        # A test inside of a package is found with the package. pytest would object to that.
        os.environ["PY_IGNORE_IMPORTMISMATCH"] = "1"
    target = Target(TargetKind(config.kind), config.program, tuple(config.arguments))
    rules = UserCodeRules(*map(tuple, config.rules))
    chosen = WHOLE if config.whole_values else RecordOptions()
    options = replace(chosen, max_bytes=_MOST_BYTES)
    test = OneTest(config.test, config.with_teardown) if config.test else None
    recording = Recording(Settings(config.output, options, rules), target.words, test)

    compiled = swap_one_on_load(*config.exchanged) if config.exchanged else compile_plainly

    def finished(how: int, value: object) -> None:
        if recording.is_here:
            recording.finish(how, value)

    def start() -> None:
        if test is None:
            recording.start()
        else:
            one_test.awaited[:] = [AwaitedTest(test, recording.start, recording.stop)]

    launch(target, interpreter, start, finished, compiled)
