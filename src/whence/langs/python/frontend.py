"""The front end of Python: opens a recording and offers all that can be done with it.

Each class here fits one port of `whence.ports` to what the packages beside it implement. Nothing
outside of `langs` needs to know what the trees, provenances and re-runs of Python are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.langs.python.experiments.reference_repair import adopt_repair, find_repair
from whence.langs.python.experiments.repair_search import NoRepair
from whence.langs.python.oracles.class_body_oracle import ClassBodyOracle
from whence.langs.python.oracles.contracts import contract_oracle_for
from whence.langs.python.oracles.reference_oracle import (
    DifferingCalls,
    ReferenceOracle,
    reference_oracle_for,
)
from whence.langs.python.oracles.type_hints import TypeHintOracle
from whence.langs.python.priors.failed_test_presumption import RunPresumption
from whence.langs.python.priors.learned_prior import LearnedPrior
from whence.langs.python.priors.learned_store import FILE
from whence.langs.python.rebuilding.recorded_test import PythonTestWriter
from whence.langs.python.record.recording import EARLIER_THREADS
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recording_trust import PythonRecordingTrust
from whence.langs.python.recordings import read_symptom, write_symptom
from whence.langs.python.replay.fallback_provenance import FallbackProvenance
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.source.call_graph import PythonCallGraph
from whence.langs.python.source.classes_out_of_sight import RecordedType
from whence.langs.python.source.python_syntax import PythonSyntax
from whence.langs.python.symptoms import assertion_symptom
from whence.langs.python.symptoms.assertion_symptom import OperandProvenance
from whence.langs.python.symptoms.run_symptom import (
    first_answers,
    is_test,
    summarize_run,
    who_printed,
)
from whence.langs.python.symptoms.symptom_time import symptom_time
from whence.langs.python.trace.chronology import TraceChronology
from whence.langs.python.trace.equation_digest import EquationDigests, NoEquationDigest
from whence.langs.python.trace.trace_format import USER_TYPE
from whence.langs.python.trace.trace_pages import is_trace
from whence.langs.python.trace.trace_provenance import TraceProvenance
from whence.langs.python.trace.trace_reader import (
    RecordingSummary,
    open_trace,
    recorded_types,
    recording_summary,
)
from whence.model.call import Call, MarkedPart
from whence.model.diagnosis import Diagnosis, Status
from whence.model.equation import StableEquation
from whence.model.origin import Origin
from whence.model.recording import RecordingFacts, RunSummary
from whence.model.replay_settings import Progress
from whence.model.symptom import SYMPTOM, Symptom, SymptomKind, SymptomTime
from whence.model.value import Limits
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.ports import FirstJudgement, Identify, Note, Opened, Oracle, OracleSet, Prior, Waiting
from whence.tree.column_tree import ColumnTree
from whence.tree.source_files import SourceFiles

_TEXT = Limits(depth=4, parts=12, characters=200)
_MOST_NAMED = 5


class PythonFrontend:
    """Opens recordings of Python programs."""

    name = "python"

    def recognizes(self, start: bytes) -> bool:
        """Whether a file that starts like this is a trace."""
        return is_trace(start)

    def open(self, path: Path, progress: Progress | None = None) -> Opened:
        """Open a recording."""
        return opened_recording(path, open_trace(path, progress=progress))


def opened_recording(path: Path, tree: ColumnTree) -> Opened:
    """All that can be done with the tree of a recording."""
    recording = recording_summary(tree)
    assert recording is not None, "the tree of a trace knows its recording"
    recorded = OperandProvenance(TraceProvenance(tree), tree, path)
    # A part of a running program has no command, so nothing can run it again.
    reruns = ProgramReruns(path, tree) if recording.header.words else None
    provenance = recorded if reruns is None else FallbackProvenance(recorded, reruns.provenance)
    files = source_files(recording)
    return Opened(
        tree=tree,
        provenance=provenance,
        reruns=reruns,
        replay=reruns,
        trust=PythonRecordingTrust(path, recording.header),
        history=PythonHistory(provenance) if isinstance(provenance, FallbackProvenance) else None,
        oracles=PythonOracles(tree),
        priors=PythonPriors(tree),
        symptoms=PythonSymptoms(tree, path),
        call_graph=PythonCallGraph(files.read_unchanged),
        chronology=TraceChronology(),
        folder=files.folder,
        began=files.began,
        syntax=_syntax(recording, tree),
        tests=PythonTestWriter(files, path, tuple(recording.header.command)),
        recording=facts_of(recording),
        identify=lambda project: identify_in(tree, project),
    )


def _syntax(recording: RecordingSummary, tree: ColumnTree) -> PythonSyntax:
    rules = UserCodeRules.from_header(recording.header.options)
    unrecorded = any("not recorded" in note for note in recording.notes)
    earlier = any(EARLIER_THREADS in note for note in recording.notes)
    threads = recording.header.options.get("threads", 1)
    others = recording.threads > 1 or recording.processes > 1 or unrecorded or threads != 1
    return PythonSyntax(
        leaves_out=bool(rules.only or rules.left_out),
        has_others=others,
        has_unrecorded=unrecorded or threads != 1,
        has_earlier_threads=earlier,
        types=lambda: [
            RecordedType(entry.module, entry.qualname, bool(entry.flags & USER_TYPE))
            for entry in recorded_types(tree)
        ],
    )


def source_files(recording: RecordingSummary) -> SourceFiles:
    """The source files of a recorded program."""
    header = recording.header
    folder = Path(header.cwd) if header.cwd else None
    return SourceFiles(folder, header.clock / 1e9 if header.clock else None)


def facts_of(recording: RecordingSummary) -> RecordingFacts:
    """What a recording says of itself."""
    header = recording.header
    detail = header.options.get("detail")
    return RecordingFacts(
        language=PythonFrontend.name,
        name=header.root,
        command=header.command,
        folder=header.cwd,
        interpreter=header.python,
        backend=header.backend,
        detail=detail if isinstance(detail, str) else "",
        started=header.started,
        size=recording.size,
        unread=recording.unread,
        why_unread=recording.why_unread,
        ended=recording.ended,
        why_stopped=recording.why_stopped,
        threads=recording.threads,
        processes=recording.processes,
        members=recording.members,
        killed=recording.killed,
        notes=recording.notes,
    )


def identify_in(tree: ColumnTree, project: Path) -> Identify:
    """How the calls of a recording are known in every run."""
    equations = EquationDigests(tree, project)

    def identify(node: int, call: Call) -> StableEquation | str:
        try:
            function, digest, inputs = equations.of(tree.position(node))
        except NoEquationDigest as why:
            return str(why)
        except UsageError:
            return "it was not in the recording, but found by a re-run"
        return StableEquation(function, call.equation(_TEXT), digest, inputs)

    return identify


@dataclass(frozen=True)
class PythonHistory:
    """Origins and slices by a shadow run, else from the recording."""

    provenance: FallbackProvenance

    def history(self, node: int, part: MarkedPart) -> tuple[Origin, Sequence[frozenset[int]]]:
        """The origin of a part and its slices, each wider than the one before."""
        shadow_runs = self.provenance.shadow_runs
        if shadow_runs.can_be_followed(node, part):
            followed = shadow_runs.history(node, part)
            return followed.origin, followed.slices
        influence = self.provenance.influence(node, part)
        slices = () if influence is None else influence.slices()
        return self.provenance.recorded.origin(node, part), slices


@dataclass(frozen=True)
class PythonOracles:
    """Contracts and type hints first, then a reference version; without one, class bodies last."""

    tree: ColumnTree

    def gather(self, reference: str | None) -> OracleSet:
        """The oracles of a recording."""
        contracts = contract_oracle_for(self.tree)
        first: list[Oracle] = [] if contracts is None else [contracts]
        first.append(TypeHintOracle(self.tree))
        if reference is None:
            return OracleSet(first, [ClassBodyOracle(self.tree)])
        oracle = reference_oracle_for(self.tree, reference)
        all_oracles = [DifferingCalls(oracle), *first, oracle]
        return OracleSet(all_oracles, run_judge=ReferenceRunJudge(self.tree, oracle))


@dataclass(frozen=True)
class ReferenceRunJudge:
    """Compares the run with that of the reference version."""

    tree: ColumnTree
    oracle: ReferenceOracle

    def judge_run(self, note: Note, waiting: Waiting) -> FirstJudgement | Diagnosis:
        """The first answers that the reference gives, and the functions that did not change."""
        if self.oracle.is_test:
            # What pytest prints is never the same twice; that the test failed is known.
            return self._judge_test(note, waiting)
        try:
            with waiting("running the reference version"):
                symptom = self.oracle.symptom()
        except WhenceError as problem:
            note(f"What is wrong is not known from the reference: {problem}.")
            return (), ()
        if symptom is None:
            return (), ()
        is_known = not self.oracle.is_undecided or self._experiment(note, waiting)
        self.oracle.is_run_wrong = is_known and self.oracle.saw_all_processes
        if result := self._without_calls():
            return result
        return first_answers(self.tree, symptom), self._trusted()

    def _judge_test(self, note: Note, waiting: Waiting) -> FirstJudgement | Diagnosis:
        oracle = self.oracle
        with waiting("running the reference version"):
            passes = oracle.passes()
        problem = oracle.reference_runs.problem or oracle.why_not
        is_repaired = (not passes or oracle.is_undecided) and self._experiment(note, waiting)
        if passes:
            note(f"The test passes with {oracle.reference.name}.")
        elif is_repaired:
            # Its own files count there, also that of the test; here only its changes do.
            note(f"Run with all files of {oracle.reference.name}, {problem}.")
        else:
            note(f"What is wrong is not known from the reference: {problem}.")
            return (), ()
        failed = Answer(self.tree.id(0), Verdict.WRONG, by=SYMPTOM)
        trusts = [Trust(TrustScope.FUNCTION, name) for name in oracle.unchanged()]
        return self._without_calls() or ((failed,), trusts)

    def _without_calls(self) -> Diagnosis | None:
        """The result if what has to change was run by no recorded call."""
        repair = self.oracle.repair
        if repair is None or self.oracle.has_suspects or not self.oracle.saw_all_processes:
            return None
        names = tuple(repair.names)
        reason = f"what has to be as in the reference is {', '.join(names)}"
        return Diagnosis(Status.UNDETERMINED, reason=reason, definitions=names)

    def _experiment(self, note: Note, waiting: Waiting) -> bool:
        """Find the changes of the reference that matter; returns whether that was possible."""
        try:
            with waiting("running the program with some of the changes"):
                repair = find_repair(self.oracle, self.oracle.test_files)
        except NoRepair as problem:
            note(f"Which changes matter is not known: {problem}.")
            return False
        note(adopt_repair(self.oracle, repair))
        return True

    def _trusted(self) -> list[Trust]:
        """What cannot be at fault in a program, if something that was recorded can be."""
        if not self.oracle.has_suspects:
            return []
        return [Trust(TrustScope.FUNCTION, name) for name in self.oracle.unchanged()]


@dataclass(frozen=True)
class PythonPriors:
    """What the project's tests have taught, and what is presumed right."""

    tree: ColumnTree

    def presumption(self) -> RunPresumption:
        """Imports and a failing test are presumed right."""
        return RunPresumption()

    def prior(self, folder: Path, note: Note) -> Prior | None:
        """What tests have taught about a recording's functions."""
        file = folder / FILE
        if not file.is_file():
            return None
        learned = LearnedPrior(file)
        try:
            learned.factors(self.tree)
        except WhenceError as problem:
            note(f"What tests tell is left out: {problem}.")
            return None
        if learned.changed:
            names = ", ".join(learned.changed[:_MOST_NAMED])
            rest = len(learned.changed) - _MOST_NAMED
            more = f" and {rest:,} more" if rest > 0 else ""
            note(f"Changed since tests passed, and so the first to look at: {names}{more}.")
        return learned


@dataclass(frozen=True)
class PythonSymptoms:
    """The symptoms of a recorded run; the one that a person named is stored beside it."""

    tree: ColumnTree
    recording: Path

    @property
    def is_test(self) -> bool:
        """Whether the run was one test."""
        return is_test(self.tree)

    def summary(self) -> RunSummary:
        """What can be seen of the run."""
        return summarize_run(self.tree)

    def stored(self) -> Symptom | None:
        """The symptom that is stored beside the recording."""
        return read_symptom(self.recording)

    def store(self, symptom: Symptom) -> None:
        """Store a symptom beside the recording."""
        write_symptom(self.recording, symptom)

    def first_answers(self, symptom: Symptom) -> tuple[Sequence[Answer], Sequence[str]]:
        """The answers that follow from a symptom, and notes for the person."""
        if symptom.kind is SymptomKind.ASSERTION:
            return assertion_symptom.first_answers(self.tree, symptom)
        answers, note = first_answers(self.tree, symptom), who_printed(self.tree, symptom)
        return answers, [note] if note else ()

    def time(self, symptom: Symptom) -> SymptomTime | None:
        """When it had happened."""
        return symptom_time(self.tree, symptom)

    def assertion(self, symptom: Symptom) -> tuple[str, Sequence[str]]:
        """The source of a failed assertion, and the values of its operands."""
        return assertion_symptom.shown(self.tree, symptom)
