"""Runs the program with one function of the reference, to see whether that repairs it.

If many functions differ between the versions, a call may differ for no fault of its function: the
reference may keep its data in another form, or a callee may have changed something that was not
observed. So a function is blamed only if the program does better with the reference's code for it.

Invariant: a function is said not to repair the program only if both runs are known and it was
really exchanged. That does not acquit it: the repair may need several functions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.oracles.program_versions import VersionPair
from whence.langs.python.oracles.recipe_comparison import Match
from whence.langs.python.oracles.reference_runs import ReferenceRuns, compare_runs, record_run
from whence.langs.python.oracles.worker.one_function_swap import with_function_of
from whence.langs.python.trace.call_recipes import RecipeSource, place_of
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.model.call import OutcomeKind
from whence.regular_files import read_regular_file
from whence.tree.column_tree import ColumnTree

MOST_FUNCTIONS = 12
"""So many functions are tried. Each takes a whole run."""
NOT_TRIED = "that it is at fault could not be tried"


class RepairedRuns:
    """Tries functions of the reference in the program, each in a run of its own."""

    def __init__(
        self,
        tree: ColumnTree,
        versions: VersionPair,
        reference_runs: ReferenceRuns,
        folder: Path,
        limit: float,
        passes: Callable[[ColumnTree], bool] | None,
    ) -> None:
        """`passes` says of a run whether a test ends well in it, if a test was recorded."""
        self._tree = tree
        self._versions = versions
        self._reference_runs = reference_runs
        self._folder = folder
        self._limit = limit
        self._passes = passes
        self._tried: dict[tuple[str, str], str] = {}

    def obstacle(self, code: CodeEntry) -> str:
        """Why a function is not known to be at fault; empty if it repairs the program."""
        own = self._versions.absolute(code.file)
        key = own, code.qualname
        if key not in self._tried:
            if len(self._tried) >= MOST_FUNCTIONS:
                return NOT_TRIED
            self._tried[key] = self._try(own, code)
        return self._tried[key]

    def _try(self, own: str, code: CodeEntry) -> str:
        other = self._versions.reference.file(own, self._versions.main)
        if other is None or code.is_text or not _can_be_exchanged(own, other, code.qualname):
            return NOT_TRIED
        output = self._folder / f"repaired-{len(self._tried)}.whence"
        exchanged = own, other, code.qualname
        try:
            repaired = record_run(self._versions.own(), output, "1", self._limit, False, exchanged)
        except WhenceError:
            return NOT_TRIED
        if self._is_better(repaired):
            return ""
        return "the program does no better with the reference's code for it"

    def _is_better(self, repaired: ColumnTree) -> bool:
        if self._passes is not None:
            return self._passes(repaired)
        [reference, *_] = self._reference_runs.endings
        if compare_runs(repaired, reference).match is Match.SAME:
            return True
        before, after = (_alike(tree, reference) for tree in (self._tree, repaired))
        return after > before

    @property
    def has_symptom(self) -> bool:
        """Whether the program's run is known to differ from that of the reference."""
        if self._passes is not None:
            raised = self._tree.columns.outcome == OutcomeKind.RAISED
            return bool(raised.any())
        runs = self._reference_runs.endings
        if len(runs) < 2 or compare_runs(runs[0], runs[1]).match is not Match.SAME:
            return False
        return compare_runs(self._tree, runs[0]).match is Match.DIFFERENT


def _can_be_exchanged(own: str, other: str, qualname: str) -> bool:
    """Whether the code of a function of one file fits into the other."""
    try:
        ours, theirs = (
            compile(read_regular_file(file), own, "exec", dont_inherit=True)
            for file in (own, other)
        )
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    return with_function_of(ours, theirs, qualname) is not None


def _alike(one: ColumnTree, other: ColumnTree) -> int:
    """How many characters of output are the same in two runs, from the beginning."""
    texts = []
    for tree in (one, other):
        source = RecipeSource(place_of(tree, 0)[0])
        texts.append(source.printed_by(tree.details[tree.details >= 0]).get(1, ""))
    shorter = min(map(len, texts))
    pairs = enumerate(zip(*texts, strict=False))
    return next((at for at, (left, right) in pairs if left != right), shorter)
