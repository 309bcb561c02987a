"""Contracts as an oracle: conditions beside the code about a call's inputs and outcome.

Two kinds. An `assert` that failed is read from the source text, nothing is run. Conditions of
icontract and deal, and what `whence.spec` declares, are evaluated in a process with the program's
own version, on the recorded inputs and outcome.

A violated precondition makes a call inadmissible, any other violated condition makes it wrong. A
condition that holds says nothing, since it is only about a part; only `whence.spec` may say that a
call is right.

Invariant: rebuilt values are recorded and compared with the recording before a condition counts.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from whence.errors import UsageError, WhenceError
from whence.langs.python.oracles.failed_asserts import AssertReader
from whence.langs.python.oracles.program_versions import VersionPair, is_body
from whence.langs.python.oracles.recipe_comparison import (
    CallEquation,
    Match,
    compare_all,
    compare_equations,
)
from whence.langs.python.oracles.recipe_json import CannotEncode, encode_recipe
from whence.langs.python.oracles.reference_runs import MOST_BELOW, NotFullyRecorded, equation_at
from whence.langs.python.oracles.worker.worker_protocol import (
    CallDone,
    CallRequest,
    CheckDone,
    CheckRequest,
    NamedRecipes,
)
from whence.langs.python.oracles.worker_process import CALLING, Worker, WorkerFailed
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.call_recipes import CallRecipe, CallTooLong, RecipeSource, place_of
from whence.langs.python.trace.trace_reader import open_trace
from whence.langs.python.trace.value_recipes import Recipe
from whence.model.call import Call, OutcomeKind
from whence.model.question import Question
from whence.model.verdict import Judgement, Verdict
from whence.ports import Tree
from whence.regular_files import read_regular_file
from whence.tree.column_tree import ColumnTree

_DECLARING = re.compile(
    rb"^[ \t]*(?:import[ \t][^#\n]*|from[ \t]+)\b(?:icontract|deal|whence)\b", re.MULTILINE
)
"""An import of what contracts are declared with. Without one, no worker is started."""
_MOST_READ = 100
"""The most callees that are read for one question."""
_VERDICTS = {
    "inadmissible": Verdict.INADMISSIBLE,
    "wrong": Verdict.WRONG,
    "right": Verdict.RIGHT,
}
"""In order of precedence: an excluded input comes before what the call made of it."""


@dataclass
class ContractOracle:
    """Judges calls by the contracts beside the code."""

    tree: ColumnTree
    limit: float = CALLING
    name: str = "contracts"
    last: str = ""
    """What the last verdict is based on."""
    _worker: Worker | None = None
    _folder: Path | None = None
    _calls: int = 0
    _asserts: AssertReader = field(default_factory=AssertReader)

    def __post_init__(self) -> None:
        source, _ = place_of(self.tree, 0)
        self._versions = VersionPair(source)
        self._declares = any(map(declares, self._versions.files()))

    def judge(self, question: Question) -> Judgement | None:
        """The verdict of a violated condition, or of a spec."""
        self.last = ""
        verdict = self._judge(question)
        return None if verdict is None else Judgement(verdict, self.last)

    def _judge(self, question: Question) -> Verdict | None:
        try:
            position = self.tree.position(question.node)
            source, number = place_of(self.tree, position)
        except (UsageError, TypeError):
            return None
        if number < 1:
            return None
        verdict = self._judge_assert(position, question)
        if verdict is not None or not self._declares:
            return verdict
        try:
            call = RecipeSource(source).call_recipe(number)
        except CallTooLong:
            return None
        if is_body(call.code) or call.code.flags & f.STEPPED or "<" in call.code.qualname:
            return None
        with contextlib.suppress(CannotEncode, WorkerFailed, WhenceError):
            return self._evaluated(call) or self._declared(position)
        return None

    def close(self) -> None:
        """End the worker and remove the temporary folder."""
        if self._worker is not None:
            self._worker.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def notes(self) -> list[str]:
        """Nothing that a person has to know."""
        return []

    def _judge_assert(self, position: int, question: Question) -> Verdict | None:
        verdict, self.last = self._asserts.judge(
            question.call, lambda: self._raised_below(position), self._versions.absolute
        ) or (None, "")
        return verdict

    def _raised_below(self, position: int) -> list[Call] | None:
        """The calls that a call made and that raised; None if there are too many to read."""
        columns = self.tree.columns
        below = slice(position + 1, int(columns.end[position]))
        raised = columns.outcome[below] == OutcomeKind.RAISED
        matches = position + 1 + np.flatnonzero(raised & (columns.parent[below] == position))
        if len(matches) > _MOST_READ:
            return None
        return [self.tree.call(callee) for callee in matches.tolist()]

    # --- in the worker ---------------------------------------------------------------------------

    def _next_worker(self) -> tuple[Worker, str]:
        if self._worker is None:
            self._worker = Worker(self._versions.own())
            self._folder = Path(tempfile.mkdtemp(prefix="whence-"))
        self._calls += 1
        return self._worker, str(Path(self._folder or "") / f"call-{self._calls}.whence")

    def _evaluated(self, call: CallRecipe) -> Verdict | None:
        after = {name: call.changed.get(name, value) for name, value in call.arguments.items()}
        outcome = call.outcome
        returned = outcome.kind is OutcomeKind.RETURNED and outcome.value is not None
        raised = outcome.kind is OutcomeKind.RAISED and outcome.value is not None
        ended = [outcome.value] if outcome.value is not None and (returned or raised) else []
        worker, trace = self._next_worker()
        request = CheckRequest(
            trace=trace,
            module=call.code.module,
            qualname=call.code.qualname,
            arguments=_encode(call.arguments.items()),
            after=_encode(after.items()),
            result=encode_recipe(ended[0]) if returned else None,
            raised=encode_recipe(ended[0]) if raised else None,
        )
        verdicts = worker.ask(request, CheckDone, self.limit).verdicts
        if not verdicts:
            return None
        tree = open_trace(Path(trace))
        probe = RecipeSource(place_of(tree, 1)[0]).call_recipe(1)
        if not _same(probe, call.arguments.values(), [*after.values(), *ended]):
            return None
        for name, verdict in _VERDICTS.items():
            for candidate, reason in verdicts:
                if candidate == name:
                    self.last = reason
                    return verdict
        return None

    def _declared(self, position: int) -> Verdict | None:
        """The verdict by the function that is declared to do the same."""
        ours = equation_at_or_none(self.tree, position)
        if ours is None or ours.call.outcome.kind is OutcomeKind.NOT_TERMINATED:
            return None
        call = ours.call
        compared = set()
        for _ in range(2):
            worker, trace = self._next_worker()
            request = CallRequest(
                module=call.code.module,
                qualname=call.code.qualname,
                parameters=call.code.parameters,
                arguments=_encode(call.arguments.items()),
                trace=trace,
                seed=self._calls,
                is_spec=True,
            )
            worker.ask(request, CallDone, self.limit)
            theirs = equation_at_or_none(open_trace(Path(trace)), 1)
            if theirs is None:
                return None
            bare = CallEquation(call, {}, {}), CallEquation(theirs.call, {}, {})
            compared.add(compare_equations(*bare).match)
        self.last = "whence.spec"
        if compared == {Match.DIFFERENT}:
            return Verdict.WRONG
        has_effects = ours.printed or any(item.after for item in ours.variables.values())
        return Verdict.RIGHT if compared == {Match.SAME} and not has_effects else None


def equation_at_or_none(
    tree: ColumnTree, position: int, most: int = MOST_BELOW
) -> CallEquation | None:
    """A call with all calls below it, if all were recorded and are not too many to read."""
    if position >= len(tree.columns):
        return None
    try:
        return equation_at(tree, position, most)
    except NotFullyRecorded:
        return None


def _encode(recipes: Iterable[tuple[str, Recipe]]) -> NamedRecipes:
    return [(name, encode_recipe(recipe)) for name, recipe in recipes]


def _same(probe: CallRecipe, before: Iterable[Recipe], after: Iterable[Recipe]) -> bool:
    """Whether the rebuilt values, inputs first, then results, equal the recorded ones."""
    rebuilt = list(probe.arguments.values())
    arguments = list(before)
    first = compare_all(arguments, rebuilt[: len(arguments)])
    second = compare_all(list(after), rebuilt[len(arguments) :])
    return first.match is Match.SAME and second.match is Match.SAME


def declares(file: str) -> bool:
    """Whether a source file imports something that contracts are declared with."""
    try:
        source = read_regular_file(file)
    except OSError:
        return False
    return _DECLARING.search(source) is not None


def contract_oracle_for(tree: Tree) -> ContractOracle | None:
    """The oracle of a recording; None for other trees."""
    try:
        place_of(tree, 0)
    except TypeError:
        return None
    assert isinstance(tree, ColumnTree)
    return ContractOracle(tree)
