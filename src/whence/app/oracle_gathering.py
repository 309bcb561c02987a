"""Who is asked before a person: the oracles of a session in their order, and their options.

The order is fixed: what persons said, then what the code itself declares, then what others know of
it, then functions of the command line. A new oracle is one more line in `gather`, and its name one
in `NAMES`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from whence.app.progress import Waiting
from whence.errors import UsageError, WhenceError
from whence.langs.prolog.declarations import NAME as DECLARATIONS
from whence.langs.prolog.equations import Equations as PrologEquations
from whence.langs.prolog.equations import equations_of as prolog_equations
from whence.langs.prolog.plunit import TestOracle as PrologTests
from whence.langs.prolog.reference import ReferenceOracle as PrologReference
from whence.langs.python import recordings
from whence.langs.python.oracles.class_body_oracle import NAME as DEFINITIONS
from whence.langs.python.oracles.class_body_oracle import Definitions
from whence.langs.python.oracles.contracts import ContractOracle, contracts_of
from whence.langs.python.oracles.reference_oracle import ReferenceOracle, oracle_of
from whence.langs.python.oracles.type_hints import TypeHints
from whence.langs.python.priors.import_prior import ImportPrior
from whence.langs.python.priors.learned_store import FILE, LearnedPrior
from whence.langs.python.symptoms.run_symptom import first_answers
from whence.langs.python.trace.equation_digest import Equations, NotKnown, is_recorded
from whence.model.call import Call
from whence.model.symptom import SYMPTOM
from whence.model.value import Limits, folded
from whence.model.verdict import REMEMBERED, Answer, Scope, Trust, Verdict
from whence.oracle.python_function import load_oracle
from whence.oracle.remembered import Identify, RememberedAnswers, StableEquation, identify
from whence.ports import Oracle, Prior, Tree
from whence.search.auto import WEIGHED
from whence.session.events import Answered, Event, OracleTurned, TrustGiven
from whence.store.answer_file import NAME, AnswerFile
from whence.store.answer_writer import AnswerWriter

Note = Callable[[str], None]
TESTS = "tests"
NAMES = (REMEMBERED, "contracts", "type hints", DECLARATIONS, TESTS, "reference", DEFINITIONS)
"""The oracles that go by a name of their own, in their order."""
_TEXT = Limits(depth=4, parts=12, characters=200)
_NAMED = 5
"""So many functions are named."""


def gather(
    options: argparse.Namespace, tree: Tree, path: Path, brought: Sequence[Oracle] = ()
) -> list[Oracle]:
    """The oracles of a session about the tree in a file, in the order in which they are asked.

    `brought` are those that the tree's language has made itself.
    """
    found: list[Oracle] = []
    place = project_folder(path)
    if place is not None:
        found.append(RememberedAnswers(AnswerFile(place / NAME), identifier(tree, place)))
    if is_recorded(tree):
        contracts = contracts_of(tree)
        found += [] if contracts is None else [contracts]
        found.append(TypeHints(tree))
    found += brought
    if options.reference is not None and not any(each.name == "reference" for each in brought):
        found.append(oracle_of(tree, options.reference))
    found += [load_oracle(text) for text in options.oracle]
    if is_recorded(tree) and options.reference is None:
        found.append(Definitions(tree))
    return found


def turned_off(options: argparse.Namespace, oracles: Sequence[Oracle]) -> list[Event]:
    """The oracles that are not to be asked, as the session takes it."""
    known = list(dict.fromkeys([*NAMES, *(oracle.name for oracle in oracles), *options.oracle]))
    found: list[Event] = []
    for text in options.no_oracle:
        wanted = text if text in known else text.lower().replace("-", " ").replace("_", " ")
        if wanted not in known:
            raise UsageError(f"there is no oracle {text}; there is {', '.join(known)}")
        found.append(OracleTurned(wanted, on=False))
    return found


def prior(options: argparse.Namespace, tree: Tree, path: Path, note: Note) -> Prior | None:
    """What is known of where to look first, in a tree that is not too large to weigh it all."""
    learned = _learned(options, tree, path, note)
    if not is_recorded(tree) or len(tree.columns) > WEIGHED:
        return learned
    return ImportPrior(learned)


def _learned(options: argparse.Namespace, tree: Tree, path: Path, note: Note) -> Prior | None:
    """What the project's tests tell of where to look first, if anything was learned from them."""
    place = project_folder(path)
    wanted = not any(text.lower() == TESTS for text in options.no_oracle)
    if place is None or not wanted or not is_recorded(tree) or not (place / FILE).is_file():
        return None
    learned = LearnedPrior(place / FILE)
    try:
        learned.factors(tree)
    except WhenceError as problem:
        note(f"What tests tell is left out: {problem}.")
        return None
    if learned.changed:
        names = ", ".join(learned.changed[:_NAMED])
        more = (
            f" and {len(learned.changed) - _NAMED:,} more" if len(learned.changed) > _NAMED else ""
        )
        note(f"Changed since tests passed, and so the first to look at: {names}{more}.")
    return learned


def tell(oracles: Sequence[Oracle], note: Note) -> None:
    """Let the oracles that have something to say besides answers say it there."""
    for oracle in oracles:
        if isinstance(oracle, RememberedAnswers):
            oracle.notify = note
            oracle.store.notify = note


def seen(oracles: Sequence[Oracle], tree: Tree, note: Note, waiting: Waiting) -> Sequence[Event]:
    """What the reference says of the run as a whole, as the first answers of a session."""
    for oracle in oracles:
        if isinstance(oracle, ReferenceOracle):
            if oracle.is_test:
                # What pytest prints is never the same twice; that the test failed is known.
                if oracle.passes():
                    note(f"The test passes with {oracle.reference.name}.")
                    failed = Answered((Answer(tree.id(0), Verdict.WRONG, by=SYMPTOM),))
                    trusts = [Trust(Scope.FUNCTION, name) for name in oracle.unchanged()]
                    return [failed, *map(TrustGiven, trusts)]
                problem = oracle.equations.problem or oracle.why_not
                note(f"What is wrong is not known from the reference: {problem}.")
                continue
            try:
                with waiting("running the reference version"):
                    symptom = oracle.symptom()
                return () if symptom is None else [Answered(first_answers(tree, symptom))]
            except WhenceError as problem:
                note(f"What is wrong is not known from the reference: {problem}.")
    return ()


@contextmanager
def ended(oracles: Sequence[Oracle], note: Note) -> Iterator[None]:
    """At the end say what the reference could not tell, and end what oracles have started."""
    kinds = ReferenceOracle | ContractOracle | PrologReference | PrologTests
    mine = [each for each in oracles if isinstance(each, kinds)]
    try:
        yield
        for oracle in mine:
            for text in oracle.notes():
                note(text)
    finally:
        for oracle in mine:
            oracle.close()


def answer_writer(
    options: argparse.Namespace, tree: Tree, path: Path, note: Note
) -> AnswerWriter | None:
    """Who writes down what persons say; a script's answers are kept only where that is wished."""
    at_terminal = options.answers is None and sys.stdin is not None and sys.stdin.isatty()
    if not (at_terminal if options.remember is None else options.remember):
        return None
    place = project_folder(path)
    if place is None:
        if not options.remember:
            return None
        place = recordings.folder()
    unseen = any(turned == OracleTurned(REMEMBERED, on=False) for turned in turned_off(options, ()))
    answers = AnswerFile(place / NAME)
    return AnswerWriter(answers, identifier(tree, place), note, settles=not unseen)


def project_folder(path: Path) -> Path | None:
    """The `.whence` that a file lies in or beside, else that of the working directory."""
    return recordings.nearest(path.parent) or recordings.nearest()


def remembered_in(path: Path | None, note: Note) -> AnswerFile:
    """The answers of a file, or of the project."""
    if path is None:
        place = recordings.nearest()
        if place is None:
            raise UsageError("there is no folder .whence here or above: nothing is remembered")
        path = place / NAME
    return AnswerFile(path, note)


def identifier(tree: Tree, place: Path) -> Identify:
    """How the calls of a tree are known in every run."""
    prolog = prolog_equations(tree, place.parent)
    if prolog is not None:
        return _of_prolog(prolog)
    if not is_recorded(tree):
        return identify
    equations = Equations(tree, place.parent)

    def recorded(node: int, call: Call) -> StableEquation | str:
        try:
            function, digest, inputs = equations.of(tree.position(node))
        except NotKnown as why:
            return str(why)
        except UsageError:
            return "it came to light after the recording"
        return StableEquation(function, call.equation(_TEXT), digest, inputs)

    return recorded


def _of_prolog(equations: PrologEquations) -> Identify:
    def identified(node: int, call: Call) -> StableEquation | str:
        found = equations.of(node)
        if isinstance(found, str):
            return found
        function, digest, inputs = found
        return StableEquation(function, folded(call.equation(), _TEXT.characters), digest, inputs)

    return identified
