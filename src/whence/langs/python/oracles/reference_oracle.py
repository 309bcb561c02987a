"""The reference version as an oracle: the same call, made there, has the same outcome or not.

It tries several ways, each of which gives no verdict where it cannot be sure. If it is known that
all that differs matters (one function, or what experiments found, `RepairedVersion`), the two runs
side by side come first (`side_by_side.py`). Otherwise, in this order:

1. *Unchanged code.* If the versions differ only inside functions, and no function that ran in a
   call differs, the reference does the same: right.
2. *Fork at the call.* A worker runs the program up to the call and makes it with both versions'
   code in forked processes (`fork_at_call.py`).
3. *Rebuilt call.* Workers rebuild the recorded inputs and make the call, one with the program's own
   version, one with the reference. The transfer is believed only if the own version repeats the
   recorded outcome. The call is made several times, since chance must not count as wrong.
4. *Reference runs.* The reference runs the whole program; a call of the same function with the same
   inputs has the outcome that is expected here (`reference_runs.py`). An equal outcome proves
   nothing if the call writes a file or reaches outside of its process: no recording shows that.

Invariant: a call is called wrong only if a function that differs between the versions ran in it.
Any other call with another outcome had an input that was not recorded.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whence.errors import UsageError, WhenceError
from whence.langs.python.oracles.checkouts import find_reference
from whence.langs.python.oracles.fork_at_call import ForkAtCall
from whence.langs.python.oracles.judging_ways import (
    BESIDE,
    BLAMELESS,
    ENDS_THERE,
    EQUAL_CALL,
    IN_PLACE,
    MADE_AGAIN,
    ONLY_DIFFERENCE,
    UNCHANGED,
    WHOLE_RUN,
    summary_of,
    way_of,
)
from whence.langs.python.oracles.program_versions import (
    ReferenceVersion,
    VersionPair,
    is_body,
    is_equal_file,
)
from whence.langs.python.oracles.rebuilt_calls import NeverKnown, NotKnownHere, RebuiltCalls
from whence.langs.python.oracles.recipe_comparison import CallEquation, Comparison, Match
from whence.langs.python.oracles.reference_runs import (
    MOST_BELOW,
    NotFullyRecorded,
    ReferenceRuns,
    compare_runs,
    equation_at,
)
from whence.langs.python.oracles.repaired_runs import RepairedRuns
from whence.langs.python.oracles.repaired_version import RepairedVersion
from whence.langs.python.oracles.side_by_side import SideBySide
from whence.langs.python.oracles.worker.process_sandbox import reaches_outside
from whence.langs.python.oracles.worker_process import CALLING
from whence.langs.python.record.recording import PROCESSES
from whence.langs.python.recording_signature import count_as_own, require_own
from whence.langs.python.recordings import beside
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.call_recipes import CallRecipe, CallTooLong, RecipeSource, place_of
from whence.langs.python.trace.joined_processes import main_process, own_details
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.model.call import OutcomeKind
from whence.model.question import Question
from whence.model.symptom import Symptom, SymptomKind
from whence.model.verdict import Judgement, Verdict
from whence.ports import Tree
from whence.tree.column_tree import ColumnTree

FEW = 100
"""The most calls below a call that are judged in order to judge it."""
_MOST_CALLEES = 1000
"""The most callees of a call that are judged in order to judge it."""
_IMPORT_ERRORS = ("ImportError", "ModuleNotFoundError")
_RUNS = 2
"""So many runs of the reference are compared, with different hash seeds."""
RUNNING = 120.0
"""Seconds that a whole run of the reference may take."""


@dataclass(frozen=True)
class DifferingCalls:
    """Asks a reference about the calls of which one has to be at fault, before any other oracle."""

    reference: ReferenceOracle
    name: str = "reference"

    def judge(self, question: Question) -> Judgement | None:
        """The verdict on such a call; None for all others."""
        return self.reference.judge_differing(question)


@dataclass
class ReferenceOracle:
    """Asks another version of the program.

    It is one thing despite its size: it orders the ways to judge a call, and each verdict may need
    those on its callees.
    """

    tree: ColumnTree
    reference: ReferenceVersion
    limit: float = CALLING
    running: float = RUNNING
    name: str = "reference"
    unjudged: Counter[str] = field(default_factory=Counter)
    """Why calls could not be judged, and how many."""
    judged: Counter[str] = field(default_factory=Counter)
    """In which ways calls were judged, and how many."""
    last: str = ""
    """How the last call was judged, or why it was not."""
    is_run_wrong: bool = False
    """Whether the recorded run is known to be wrong where that of the reference is right."""
    why_not: str = ""
    """Why a test is not known to pass there."""

    def __post_init__(self) -> None:
        source, _ = place_of(self.tree, 0)
        self._source = source
        self._has_unrecorded_processes = PROCESSES in source.notes()  # started by any call
        self._folder = Path(tempfile.mkdtemp(prefix="whence-"))
        count_as_own(self._folder)
        self.repair: RepairedVersion | None = None
        self._original = self.reference
        self._judges_by(self.reference)

    def _judges_by(self, reference: ReferenceVersion, runs: Sequence[ColumnTree] = ()) -> None:
        """Judge calls by a version from now on; `runs`: what is recorded of it already."""
        self.reference = reference
        stdin = beside(self._source.file.path, "stdin")
        self.versions = VersionPair(self._source, reference, str(stdin))
        self._rebuilt_calls = RebuiltCalls(self.versions, self._folder, self.limit)
        self.reference_runs = ReferenceRuns(
            self.versions.other(), self._folder, self.running, self._is_replaced
        )
        if len(runs) >= _RUNS:
            self.reference_runs.endings = list(runs)
        self._fork_at_call = ForkAtCall(
            self.tree, self.versions, self._folder, self.limit, self.running
        )
        self._repaired_runs = RepairedRuns(
            self.tree,
            self.versions,
            self.reference_runs,
            self._folder,
            self.running,
            self._ends_well if self.is_test else None,
        )
        self._judged: dict[int, tuple[Verdict, str] | NotKnownHere] = {}

    def adopt(self, repair: RepairedVersion) -> None:
        """Judge by the program with a few changes of the reference instead of by the reference.

        The program differs from it in nothing but what is needed for it to do what it should.
        """
        original, workers = self.reference, (self._fork_at_call, self._rebuilt_calls)
        self._judges_by(replace(repair.reference, name=original.name), repair.runs)
        for worker in workers:
            worker.close()
        self._original, self.repair = original, repair
        self._judged.clear()
        for name in ("_several_differ", "_only_changed", "_side_by_side"):
            self.__dict__.pop(name, None)

    def _is_replaced(self, file: str) -> bool:
        """Whether a whole run by the reference must not have run a file.

        A test is the program's own, which is run against the reference; equal files are as good.
        """
        if file.startswith("<"):
            return False  # text that the program compiled; it came from a file that counts
        own = self.versions.absolute(file)
        if not self.reference.replaces(own, self.versions.main):
            return False
        if self.is_test and own in self._test_files():
            return False
        return not self._is_equal_file(own)

    def _is_equal_file(self, own: str) -> bool:
        other = self.reference.file(own, self.versions.main)
        return other is not None and is_equal_file(own, other)

    def _test_files(self) -> set[str]:
        columns = self.tree.columns
        numbers = set(columns.function[columns.parent == 0].tolist())
        places = [self.tree.functions[number].location for number in numbers]
        return {self.versions.absolute(place.file) for place in places if place is not None}

    def judge(self, question: Question) -> Judgement | None:
        """The verdict, or None where the reference cannot tell."""
        try:
            position = self.tree.position(question.node)
        except UsageError:
            return None
        try:
            verdict, self.last = self._verdict(position)
            if verdict is Verdict.RIGHT and position in self._only_changed:
                self._require_wrong_one(position)
        except NotKnownHere as problem:
            self.last = str(problem)
            self.unjudged[self.last] += 1
            return None
        self.judged[way_of(self.last)] += 1
        return Judgement(verdict, self.last)

    def judge_differing(self, question: Question) -> Judgement | None:
        """The verdict on a call of which it is known that it, or one like it, is at fault.

        Whoever else is asked does not know that: such as an assertion in its code, which is not in
        the reference's. If the verdict is not known, nobody is asked.
        """
        try:
            if self.tree.position(question.node) not in self._only_changed:
                return None
        except UsageError:
            return None
        return self.judge(question) or Judgement(Verdict.UNKNOWN, self.last)

    def _require_wrong_one(self, right: int) -> None:
        """A call is not right only because nothing was seen to differ: one of them is wrong.

        What a library keeps to itself, such as what a mock was called with, is not compared.
        """
        for position in self._only_changed[:_MOST_CALLEES]:
            if position != right:
                try:
                    if self._verdict(position)[0] is Verdict.WRONG:
                        return
                except NotKnownHere:
                    continue
        raise NotKnownHere("one of the calls that differ is wrong, but none is seen to be")

    def acquits(self, node: int) -> str | None:
        """Code that is the same in both versions is not at fault, if only functions differ."""
        if self._is_unchanged(self.tree.position(node)):
            return "its code is the same in the reference version"
        return None

    def doubts(self, node: int) -> str | None:
        """Why a call that is left may not be at fault, if several functions differ.

        Its code is the same in both versions, or the program does no better with the reference's
        code for it.
        """
        position = self.tree.position(node)
        source, number = place_of(self.tree, position)
        if self.repair is not None:
            return None  # runs with less than these changes were tried
        if number <= 0 or not self._several_differ or not self._is_last_suspect(position):
            return None
        if not self._repaired_runs.has_symptom:
            return None
        code = source.tables.code(RecipeSource(source).code_of(number))
        if self.versions.same(code) is True:
            return "its code is the same in the reference version, which differs elsewhere"
        return self._repaired_runs.obstacle(code) or None

    def limits(self, nodes: Sequence[int]) -> str | None:
        """Of the calls whose code differs, one is at fault: with the other code the run is right.

        Which of them it is may not be known: what was recorded of them need not differ.
        """
        positions = {self.tree.position(node) for node in nodes}
        if not positions or not positions <= set(self._only_changed):
            return None
        return "no other code that ran differs from the reference, with which it is right"

    def _is_last_suspect(self, position: int) -> bool:
        """Whether no other function that differs is left in the smallest call that is wrong."""
        columns = self.tree.columns
        wrong = position
        while wrong > 0 and not self._is_judged(wrong, Verdict.WRONG):
            wrong = int(columns.parent[wrong])
        end = int(columns.end[wrong])
        is_open = np.ones(end - wrong, dtype=bool)
        for judged in self._judged:
            if wrong <= judged < end and self._is_judged(judged, Verdict.RIGHT):
                is_open[judged - wrong : int(columns.end[judged]) - wrong] = False
        functions = np.unique(columns.function[wrong:end][is_open]).tolist()
        suspects = {number for number in functions if not self._is_same(number)}
        return suspects <= {int(columns.function[position])}

    def _is_same(self, function: int) -> bool:
        """Whether all code of a function is as it is in the reference."""
        return not any(map(self._differs, self._codes[function]))

    def _differs(self, code: CodeEntry) -> bool:
        """Whether code is not known to be as it is in the reference, and so may be at fault."""
        is_same = self.versions.same(code) is True
        if self.repair is None:
            return not is_same
        file = self.versions.absolute(code.file)
        return any(place.holds(code, file, is_same) for place in self.repair.places)

    def _is_judged(self, position: int, verdict: Verdict) -> bool:
        judged = self._judged.get(position)
        return isinstance(judged, tuple) and judged[0] is verdict

    def _is_unchanged(self, position: int) -> bool:
        """Whether the code of a call is as it is in a version that is right, so not at fault.

        Never if more differs than functions: then the same code may do something else there.
        """
        source, number = place_of(self.tree, position)
        if number < 0 or not (self.versions.only_functions_differ or self.repair):
            return False
        if number == 0:
            return True  # the run itself has no code
        return not self._differs(source.tables.code(RecipeSource(source).code_of(number)))

    def symptom(self) -> Symptom | None:
        """What is wrong about the run as a whole: where the reference's differs; None if nowhere.

        `WhenceError` if that cannot be known.
        """
        try:
            verdict, _ = self._judge_run()
        except NotKnownHere as problem:
            raise WhenceError(str(problem)) from None
        if verdict is not Verdict.WRONG:
            return None
        return symptom_of(self.tree, self.reference_runs.endings[0])

    @property
    def is_test(self) -> bool:
        """Whether one test was recorded, and not a program."""
        return "::" in self.tree.functions[int(self.tree.columns.function[0])].name

    @property
    def is_undecided(self) -> bool:
        """Whether more may differ than what is at fault, so that experiments are worth it."""
        return self._several_differ or not self.versions.only_functions_differ

    @property
    def folder(self) -> Path:
        """A folder for temporary files, which is removed at the end."""
        return self._folder

    @property
    def test_files(self) -> list[str]:
        """The file of the test that was recorded, if one was."""
        words = self._source.file.header.command if self.is_test else ()
        files = (word.partition("::")[0] for word in words if "::" in word)
        return [file for file in map(self.versions.absolute, files) if os.path.isfile(file)]

    def passes(self) -> bool:
        """Whether what failed in the recording, a test, ends well in the reference.

        If not, `why_not` tells why. A test inside of a package is the reference's there.
        """
        if self.repair is not None:
            return True
        runs = self.reference_runs.endings
        self.why_not = "the test does not pass there, either"
        return all(map(self._ends_well, runs)) and bool(runs)

    def _ends_well(self, tree: ColumnTree) -> bool:
        """Whether the test that failed ends well in another run; if not, `why_not` tells why."""
        self.why_not = "the test does not pass there, either"
        columns = self.tree.columns
        raised = np.flatnonzero((columns.parent == 0) & (columns.outcome == OutcomeKind.RAISED))
        if not len(raised):
            self.why_not = "a test whose subtest fails ends well all the same"
            return False
        # The last one is what failed: what pytest tries before may raise too.
        failed = self.tree.functions[int(columns.function[raised[-1]])]
        names = [(function.module, function.qualname) for function in tree.functions]
        is_test = [name == (failed.module, failed.qualname) for name in names]
        calls = np.array(is_test)[tree.columns.function]
        if not calls.any():
            self.why_not = "the test does not run there"
            return False
        if not self._is_own_test(tree, calls):
            self.why_not = "the test is another one there"
            return False
        return not (tree.columns.outcome[calls] != OutcomeKind.RETURNED).any()

    def _is_own_test(self, tree: ColumnTree, calls: npt.NDArray[np.bool_]) -> bool:
        """Whether these calls of a run by the reference are of the tests that were recorded."""
        own = self._test_files()
        functions = [tree.functions[number] for number in tree.columns.function[calls].tolist()]
        files = {str(item.location.file) for item in functions if item.location is not None}
        return files <= own or all(map(self._is_equal_file, own))

    def _is_only_difference(self, position: int) -> bool:
        """Whether what ends well there differs in this call only, so that this is wrong."""
        return self._only_changed == [position]

    @cached_property
    def _only_changed(self) -> list[int]:
        """The calls of which one has to be wrong: all others have unchanged code, and there it ends
        well. None if that is not known."""
        is_known = self.is_test or self.is_run_wrong
        if not is_known or (self.repair is None and self.is_undecided):
            return []
        trusted = set(self.unchanged())
        changed = [
            number
            for number, function in enumerate(self.tree.functions)
            if function.name not in trusted
        ]
        calls: list[int] = np.flatnonzero(np.isin(self.tree.columns.function, changed)).tolist()
        return calls if trusted and (not self.is_test or self.passes()) else []

    @property
    def saw_all_processes(self) -> bool:
        """Whether no process was started that is not recorded."""
        return not self._has_unrecorded_processes

    @property
    def has_suspects(self) -> bool:
        """Whether the recorded run called anything that differs."""
        return bool(self._only_changed)

    def unchanged(self) -> list[str]:
        """The functions none of whose calls can be at fault."""
        if not self.versions.only_functions_differ and self.repair is None:
            return []
        columns = self.tree.columns
        functions, first = np.unique(columns.function, return_index=True)
        unrecorded = set(columns.function[own_details(self.tree)[1] < 0].tolist())
        in_order = functions[np.argsort(first)].tolist()
        return [
            self.tree.functions[number].name
            for number in in_order
            if self._is_same(number) and number not in unrecorded
        ]

    def close(self) -> None:
        """End the workers and remove temporary folders."""
        self._fork_at_call.close()
        self._rebuilt_calls.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        for reference in (self.reference, self._original):
            if reference.temporary:
                shutil.rmtree(reference.folder, ignore_errors=True)

    def notes(self) -> list[str]:
        """Notes for the user about calls that the reference could not judge."""
        summary = summary_of(
            self.judged, self.unjudged, 0 if self.repair is None else self.repair.experiments
        )
        notes = [f"reference: {summary}"] if summary else []
        for worker in self._rebuilt_calls.workers:
            if worker.problems and self.unjudged:
                name, problems = worker.version.name, "; ".join(worker.problems[:3])
                notes.append(f"reference: of {name} not all could be loaded: {problems}")
        return notes

    # --- the ways ------------------------------------------------------------------------------

    def _judge(self, position: int) -> tuple[Verdict, str]:
        source, number = place_of(self.tree, position)
        if number < 0:
            raise NotKnownHere("it was not recorded")
        if number == 0:
            return self._judge_run()
        codes = self._codes_below(position)
        sameness = [self.versions.same(code) for code in codes]
        recipes = RecipeSource(source)
        code = recipes.tables.code(recipes.code_of(number))
        whole = self._is_whole(position)
        if all(sameness) and whole and self.versions.only_functions_differ:
            return Verdict.RIGHT, UNCHANGED
        if self._is_only_difference(position):
            return Verdict.WRONG, f"{ONLY_DIFFERENCE}{self._what_happens_there(position)}"
        if self._side_by_side is not None and self._differs(code):
            beside = self._side_by_side.compare(position)
            if beside.match is Match.DIFFERENT:
                return Verdict.WRONG, f"{BESIDE}{self._what_happens_there(position)}"
            if beside.match is Match.SAME and self._side_by_side.has_difference:
                return Verdict.RIGHT, BESIDE
        if code.module == "__main__" and code.qualname == "<module>":
            return self._judge_run()
        try:
            call = recipes.call_recipe(number)
        except CallTooLong as problem:
            raise NotKnownHere(str(problem)) from None
        if call.outcome.kind is OutcomeKind.NOT_TERMINATED:
            if False in sameness and self.reference_runs.ends(self._begun(position, source, call)):
                return Verdict.WRONG, ENDS_THERE
            raise NotKnownHere("it did not end")
        cut_off = self.tree.columns.outcome[position] == OutcomeKind.NOT_TERMINATED
        if cut_off and self.versions.same(code) is not False:
            # By the recursion limit: what it would have called is not there to be blamed.
            raise NotKnownHere("it did not end")
        try:
            compared, how = self._compare(position, source, number, call)
        except NotKnownHere as problem:
            if not isinstance(problem, NeverKnown) and whole and self._is_blameless(position):
                return Verdict.RIGHT, BLAMELESS
            raise
        if compared.match is Match.SAME:
            return Verdict.RIGHT, how
        if False not in sameness:
            raise NotKnownHere(
                "its outcome differs there, though no code that ran in it is known to differ"
            )
        if how != IN_PLACE and self.versions.same(code) and self._callees_are_right(position):
            raise NeverKnown(
                "its outcome differs there, though its code is the same and all that it called is "
                "right"
            )
        return Verdict.WRONG, how

    @cached_property
    def _side_by_side(self) -> SideBySide | None:
        """The recorded run beside runs of the reference, if all that differs matters."""
        if self.repair is None and (self.is_undecided or not self._only_changed):
            return None
        runs = self.reference_runs.endings
        if len(runs) < _RUNS:
            return None
        return SideBySide(self.tree, runs, lambda number: not self._is_same(number))

    def _what_happens_there(self, position: int) -> str:
        """What the reference's code does in the place of a call, as far as it is known."""
        there = "" if self._side_by_side is None else self._side_by_side.there(position)
        return f"; there: {there}" if there else ""

    def _compare(
        self, position: int, source: TraceSource, number: int, call: CallRecipe
    ) -> tuple[Comparison, str]:
        """How the call compares, by the first method that can tell; `NotKnownHere` if none can."""
        methods: list[Callable[[], tuple[Comparison, str]]] = [
            lambda: (
                self._fork_at_call.compare(position, call, self._several_differ),
                IN_PLACE,
            ),
            lambda: self._compare_transferred(position, source, number),
        ]
        unknown: list[str] = []
        for method in reversed(methods) if self._fork_at_call.is_slow else methods:
            compared, how = method()
            # What it does outside may differ although the recordings of both runs are the same.
            is_hidden = how == EQUAL_CALL and any(map(reaches_outside, unknown))
            if compared.match is not Match.UNKNOWN and not (
                is_hidden and compared.match is Match.SAME
            ):
                return compared, how
            unknown.append(compared.why)
        raise NotKnownHere("; ".join(unknown))

    def _compare_transferred(
        self, position: int, source: TraceSource, number: int
    ) -> tuple[Comparison, str]:
        """How the call compares on rebuilt inputs, or in whole runs of the reference."""
        try:
            ours = equation_at(self.tree, position)
        except NotFullyRecorded as problem:
            return Comparison(Match.UNKNOWN, str(problem)), ""
        if is_body(ours.call.code):
            return Comparison(Match.UNKNOWN, "it is the body of a module or class"), ""
        compared = self._rebuilt_calls.compare(source, number, ours, self._several_differ)
        must_confirm = compared.match is Match.DIFFERENT and self._several_differ
        if compared.match is not Match.UNKNOWN and not must_confirm:
            return compared, MADE_AGAIN
        by_equation = self.reference_runs.compare(ours, must_confirm)
        if by_equation.match is Match.UNKNOWN:
            return Comparison(Match.UNKNOWN, f"{compared.why}; {by_equation.why}"), ""
        matches = compared.match, by_equation.match
        if self._several_differ and Match.DIFFERENT in matches and matches[0] is not matches[1]:
            why = f"{compared.why}; whether its outcome should be another one is not certain"
            return Comparison(Match.UNKNOWN, why), ""
        if by_equation.match is Match.SAME and reaches_outside(compared.why):
            return Comparison(Match.UNKNOWN, compared.why), ""
        return by_equation, EQUAL_CALL

    def _begun(self, position: int, source: TraceSource, call: CallRecipe) -> CallEquation:
        """A call that did not end, with the variables that it and what it called first name."""
        last = min(int(self.tree.columns.end[position]), position + MOST_BELOW)
        numbers = self.tree.details[position:last]
        if int(numbers.min()) < 1 or place_of(self.tree, last - 1)[0] is not source:
            raise NotKnownHere("it did not end, and some of what it called was not recorded")
        return CallEquation(call, RecipeSource(source).variables_during(numbers), {})

    @cached_property
    def _several_differ(self) -> bool:
        """Whether more than one function that ran differs, or data files differ as well.

        If it is only one, a call that differs leads to it. If there are several, the difference may
        show in a function that is right but was given something wrong.
        """
        changed = {
            (code.file, code.qualname, code.first_line)
            for codes in self._codes.values()
            for code in codes
            if self.versions.same(code) is not True and not code.is_text
        }
        if self.repair is not None:
            return False  # what makes no difference is not among them
        return len(changed) > (1 if self.versions.same_data else 0)

    def _verdict(self, position: int) -> tuple[Verdict, str]:
        """The verdict on a call and how it was reached; each call is judged once."""
        if position not in self._judged:
            try:
                self._judged[position] = self._judge(position)
            except NotKnownHere as problem:
                self._judged[position] = problem
        judged = self._judged[position]
        if isinstance(judged, NotKnownHere):
            raise judged
        return judged

    def _is_blameless(self, position: int) -> bool:
        """Whether a call is right because neither its code nor a callee can be wrong."""
        few = int(self.tree.columns.end[position]) - position <= FEW
        return few and self._is_unchanged(position) and self._callees_are_right(position)

    def _callees_are_right(self, position: int) -> bool:
        """Whether all callees of a call are known to be right; `NotKnownHere` if they are many."""
        columns = self.tree.columns
        at, judged = position + 1, 0
        while at < int(columns.end[position]):
            judged += 1
            if judged > _MOST_CALLEES:
                raise NotKnownHere("it called too much to judge all of that")
            try:
                if self._verdict(at)[0] is not Verdict.RIGHT:
                    return False
            except NotKnownHere:
                return False
            at = int(columns.end[at])
        return True

    def _judge_run(self) -> tuple[Verdict, str]:
        """The run as a whole: how it ended, and what it printed."""
        runs = self.reference_runs.endings
        if not runs:
            raise NotKnownHere(self.reference_runs.problem)
        between = compare_runs(runs[0], runs[1])
        if between.match is not Match.SAME:
            raise NotKnownHere(f"runs of the reference are not alike ({between.why})")
        missing = _import_error(runs[0])
        if missing and _import_error(self.tree) != missing:
            raise NotKnownHere(f"the reference cannot be imported here: {missing}")
        if self.tree.columns.outcome[0] == OutcomeKind.NOT_TERMINATED:
            return Verdict.WRONG, WHOLE_RUN
        compared = compare_runs(self.tree, runs[0])
        if compared.match is Match.UNKNOWN:
            raise NotKnownHere(compared.why)
        same = compared.match is Match.SAME
        return (Verdict.RIGHT if same else Verdict.WRONG), WHOLE_RUN

    def _codes_below(self, position: int) -> list[CodeEntry]:
        """The code that ran in a call."""
        columns = self.tree.columns
        functions = np.unique(columns.function[position : int(columns.end[position])])
        codes = {id(code): code for number in functions for code in self._codes[int(number)]}
        return list(codes.values())

    @cached_property
    def _codes(self) -> dict[int, list[CodeEntry]]:
        """The code of each function; of one name there may be several."""
        codes: dict[int, list[CodeEntry]] = defaultdict(list)
        for position in _calls_of_each_code(self.tree):
            source, number = place_of(self.tree, position)
            function = int(self.tree.columns.function[position])
            codes[function].append(source.tables.code(RecipeSource(source).code_of(number)))
        return codes

    def _is_whole(self, position: int) -> bool:
        end = int(self.tree.columns.end[position])
        if self._has_unrecorded_processes or self.tree.columns.implicit[position:end].any():
            return False
        return bool((self.tree.details[position:end] > 0).all())


def _calls_of_each_code(tree: ColumnTree) -> list[int]:
    """The first call of each function in each process: there a function has one code."""
    members, details = own_details(tree)
    calls = np.flatnonzero(details > 0)
    processes = int(members.max()) + 1
    codes = tree.columns.function[calls].astype(np.int64) * processes + members[calls]
    first = np.full(len(tree.functions) * processes, -1, dtype=np.int64)
    first[codes[::-1]] = calls[::-1]  # of several the last one stays, which is the first call
    positions: list[int] = np.sort(first[first >= 0]).tolist()
    return positions


def _import_error(tree: ColumnTree) -> str:
    """The exception that ended a run, if something could not be imported; else nothing."""
    outcome = main_process(tree).call(0).outcome
    text = "" if outcome.value is None else outcome.value.text
    is_missing = outcome.kind is OutcomeKind.RAISED and text.startswith(_IMPORT_ERRORS)
    return text if is_missing else ""


def symptom_of(recorded: ColumnTree, reference: ColumnTree) -> Symptom | None:
    """Where two whole runs differ, as far as a person could see it."""
    sides = [RecipeSource(place_of(tree, 0)[0]) for tree in (recorded, reference)]
    ours, theirs = (side.run_ending() for side in sides)
    if ours is None:
        return Symptom(SymptomKind.NOT_ENDED)
    if ours != theirs and ours[0] == f.BY_EXCEPTION:
        return Symptom(SymptomKind.EXCEPTION)
    printed = [
        side.printed_by(tree.details[tree.details >= 0]).get(1, "").splitlines()
        for side, tree in zip(sides, (recorded, reference), strict=True)
    ]
    for number, line in enumerate(printed[0]):
        if number >= len(printed[1]) or line != printed[1][number]:
            return Symptom(SymptomKind.OUTPUT, line=number + 1)
    if printed[0] != printed[1]:
        return Symptom(SymptomKind.OUTPUT)
    return Symptom(SymptomKind.RESULT) if ours != theirs else None


def reference_oracle_for(
    tree: Tree, text: str, limit: float = CALLING, running: float = RUNNING
) -> ReferenceOracle:
    """The oracle that `--reference` names for a recording."""
    try:
        source, _ = place_of(tree, 0)
    except TypeError:
        raise WhenceError("only a recording of a Python program has a reference version") from None
    assert isinstance(tree, ColumnTree)
    # Git, too, runs what the configuration of a folder names.
    require_own(source.file.path)
    program = VersionPair(source)
    reference = find_reference(text, program.files(), program.main, source.file.header.cwd)
    return ReferenceOracle(tree, reference, limit, running)
