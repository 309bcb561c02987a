"""Runs a recorded program again, from its start, in a process of its own.

Through the same launcher as the first time, with the same interpreter, command, folder,
environment, standard input and hash seed; what it prints goes nowhere. What it does to files and
to the world it does once more: that is the user's to allow, so nothing here is done unasked.

Invariant: nothing is believed of a run that went another way than the recorded one
(`alignment`), and the recording itself is never changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whence.errors import WhenceError
from whence.langs.python.record.executed_lines import Wanted
from whence.langs.python.record.options import WHOLE_BOUND, Detail
from whence.langs.python.record.repeatable import HASH_SEED, OWN
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recordings import beside
from whence.langs.python.replay.alignment import contradiction, first_divergence
from whence.langs.python.replay.single_call import lines_of_call
from whence.langs.python.running import (
    kept_environment,
    launcher,
    program_words,
)
from whence.langs.python.trace.calls import TraceSource
from whence.langs.python.trace.opening import open_trace
from whence.langs.python.trace.pages import Header
from whence.model.call import Call
from whence.tree.memory import ColumnTree, all_ids

TIME_LIMIT = 600.0


class CannotRepeat(WhenceError):
    """The program cannot be run again, or went another way; the text says why."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """All that the recorded run depended on and that is known."""

    command: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] | None
    stdin: Path | None
    options: Mapping[str, Any]
    repeatable: Mapping[str, Any]

    @classmethod
    def of(cls, recording: Path, header: Header) -> Conditions:
        """What the recording and the files beside it say; `CannotRepeat` if that is not enough."""
        if header.python != platform.python_version():
            raise CannotRepeat(
                f"{recording}: was recorded with Python {header.python}, and this is "
                f"{platform.python_version()}; run whence with that one to run the program again"
            )
        if not header.words:
            raise CannotRepeat(f"{recording}: does not say what was run, so it cannot be run again")
        if header.cwd and not Path(header.cwd).is_dir():
            raise CannotRepeat(f"{recording}: was recorded in {header.cwd}, which is gone")
        stdin = beside(recording, "stdin")
        return cls(
            command=header.words,
            cwd=header.cwd or ".",
            environment=kept_environment(recording),
            stdin=stdin if stdin.exists() else None,
            options=header.options,
            repeatable=header.repeatable,
        )

    def variables(self) -> dict[str, str]:
        """The environment for another run."""
        variables = dict(os.environ if self.environment is None else self.environment)
        seed = self.repeatable.get("hash_seed")
        if seed:
            variables[HASH_SEED] = str(seed)
        return variables


class ProgramReruns:
    """The runs of one recording's program, made when something is asked and kept for the next."""

    def __init__(self, recording: Path, tree: ColumnTree, time_limit: float = TIME_LIMIT):
        self._recording = recording
        self._tree = tree
        self._time_limit = time_limit
        self._whole: dict[int, Call] = {}
        self._lines: dict[int, frozenset[int]] = {}

    @property
    def command(self) -> str:
        """What is run and where."""
        header = self._header()
        return f"python {shlex.join(header.command)}, in {header.cwd}"

    def whole(self, node: int) -> Call:
        """The call with all that its values hold."""
        if node not in self._whole:
            self._whole[node] = self._whole_call(node)
        return self._whole[node]

    def lines(self, node: int) -> frozenset[int]:
        """The lines that a call ran, itself and not what it called."""
        if node not in self._lines:
            self._lines[node] = self._lines_of(node)
        return self._lines[node]

    def lines_alone(self, node: int) -> frozenset[int]:
        """The same, learned by making this one call again where it can reach nothing outside."""
        if node not in self._lines:
            self._lines[node] = lines_of_call(self._tree, node)
        return self._lines[node]

    def _whole_call(self, node: int) -> Call:
        with self._again(node, ["--whole-calls", f"{node}:{node}"]) as tree:
            recorded = self._tree.call(self._tree.position(node))
            again = tree.call(tree.position(node))
            different = contradiction(recorded, again)
            if different:
                raise CannotRepeat(self._diverged(f"at call {node}, {different}"))
            return again

    def _lines_of(self, node: int) -> frozenset[int]:
        wanted = self._wanted(node)
        with tempfile.TemporaryDirectory(prefix="whence-") as folder:
            output = Path(folder) / "lines.json"
            options = ["--lines-of", wanted.text(), "--lines-to", str(output)]
            with self._again(node, options):
                pass
            try:
                return frozenset(json.loads(output.read_text(encoding="utf-8")))
            except FileNotFoundError:
                raise CannotRepeat(
                    "which lines ran is not known: the program did not end in the way it did "
                    "before, or traces itself"
                ) from None

    def _wanted(self, node: int) -> Wanted:
        tree = self._tree
        position = tree.position(node)
        number = int(tree.columns.function[position])
        function = tree.functions[number]
        source = tree.sources[int(tree.source_of[position])]
        if function.location is None or not isinstance(source, TraceSource):
            raise CannotRepeat("which lines ran is not known: where its code is was not recorded")
        code = source.code(int(tree.details[position]))
        if code.is_stepped:
            raise CannotRepeat("which lines ran is not known of generators and coroutines")
        count = int(np.count_nonzero(all_ids(tree)[tree.columns.function == number] <= node))
        return Wanted(code.file, code.first_line, code.qualname, count)

    @contextlib.contextmanager
    def _again(self, node: int, wishes: Sequence[str]) -> Iterator[ColumnTree]:
        """The tree of another run, in step with the recorded one up to the call."""
        conditions = Conditions.of(self._recording, self._header())
        with tempfile.TemporaryDirectory(prefix="whence-") as folder:
            output = Path(folder) / "again.whence"
            self._run(conditions, output, wishes)
            tree = open_trace(output)
            divergence = first_divergence(self._tree, tree, node)
            if divergence is not None:
                raise CannotRepeat(self._diverged(str(divergence)))
            yield tree

    def _run(self, conditions: Conditions, output: Path, wishes: Sequence[str]) -> None:
        command = [
            *launcher(),
            *record_options(conditions.options, output),
            "--repeatable", str(conditions.repeatable.get("hash_seed_by", OWN)),
            *wishes, *program_words(conditions.command),
        ]  # fmt: skip
        with contextlib.ExitStack() as opened:
            stdin: Any = subprocess.DEVNULL
            if conditions.stdin is not None:
                stdin = opened.enter_context(conditions.stdin.open("rb"))
            try:
                subprocess.run(
                    command, cwd=conditions.cwd, env=conditions.variables(), stdin=stdin,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                    timeout=self._time_limit,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                pass  # what it did up to then may be all that is needed
            except OSError as problem:
                raise CannotRepeat(f"the program cannot be started again: {problem}") from problem
        if not output.exists() or not output.stat().st_size:
            raise CannotRepeat("the program was started again, and did not come to run")

    def _diverged(self, how: str) -> str:
        likely = "" if self._knows_hashes() else ", or sets that are walked in another order"
        return (
            f"the program went another way when it was run again: {how}. It may depend on time, "
            f"chance, files that changed, threads{likely}. What is recorded still holds."
        )

    def _knows_hashes(self) -> bool:
        return bool(self._header().repeatable.get("identity"))

    def _header(self) -> Header:
        source = self._tree.sources[0]
        if not isinstance(source, TraceSource) or len(self._tree.sources) != 1:
            raise CannotRepeat("a program with recorded child processes is not run again yet")
        return source.file.header


def record_options(told: Mapping[str, Any], output: Path) -> list[str]:
    """The options of `whence record` that a header quotes."""
    words = ["--output", str(output), "--detail", Detail(told.get("detail", "full")).value]
    for option, name in (
        ("--max-calls", "max_calls"), ("--max-bytes", "max_bytes"), ("--depth", "depth"),
        ("--backend", "backend"),
    ):  # fmt: skip
        if told.get(name) is not None:
            words += [option, str(told[name])]
    if tuple(told.get("bound", ())) == astuple(WHOLE_BOUND):
        words.append("--whole-values")
    return [*words, *UserCodeRules.told(told).words]
