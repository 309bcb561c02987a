"""A prior from what was learned from the project's tests.

None of what was learned is a verdict: a passing test need not check all that it calls, a function
that ran only in failing tests may be right, and so may one that was changed since. So it orders the
questions and answers none (`ports.Prior`).

Functions are weighed by Ochiai's coefficient (Abreu et al. 2007): ef / sqrt(F · (ef + ep)), with F
failing tests, ef of which ran the function as did ep passing ones; the test that is being debugged
counts as failing. A function whose code changed since tests passed gets 1, the most.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from math import sqrt
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from whence.errors import WhenceError
from whence.langs.python.priors.learned_store import LearnedStore, Spectrum
from whence.langs.python.source.code_digest import digests_of
from whence.langs.python.trace.equation_digest import EquationDigests, NoEquationDigest
from whence.langs.python.trace.trace_format import mix
from whence.langs.python.trace.trace_scan import UNIQUE
from whence.model.call import Function
from whence.ports import Floats, Tree
from whence.tree.column_tree import ColumnTree

_MOST_READ = 5_000
"""The most equations of a recording that are looked up."""
_PASSED = 0.2
"""The factor of a call whose equation occurred in a passing test."""
_UNCHANGED = 0.1
"""The factor of unchanged code if this test passed before and other code changed."""
_TEST_CODE = 0.25
"""The factor of the test's own code."""
Digests = dict[int, str]
"""From the equation within one recording to its digest, the same in every run."""


def digests(tree: ColumnTree, project: Path, most: int, functions: Collection[int]) -> Digests:
    """The digests of the first equations of some functions, where they are fully recorded."""
    equation_digests, columns = EquationDigests(tree, project), tree.columns
    chosen = np.isin(columns.function, list(functions))
    # A call of which something was cut off has an equation of its own.
    whole = columns.equation.view(np.uint64) != _equation_of_its_own(tree)
    positions = np.flatnonzero(chosen & whole)
    _, first = np.unique(columns.equation[positions], return_index=True)
    digest_of: Digests = {}
    for position in positions[np.sort(first)[:most]].tolist():
        with contextlib.suppress(NoEquationDigest, WhenceError):
            digest_of[int(columns.equation[position])] = equation_digests.of(position)[1]
    return digest_of


def _equation_of_its_own(tree: ColumnTree) -> npt.NDArray[np.uint64]:
    """By position, the equation that a scan gives a call that equals no other."""
    ids = np.arange(len(tree.columns)) + tree.first_id if tree.ids is None else tree.ids
    numbers: Any = ids.astype(np.uint64)  # arithmetic of 64-bit arrays wraps around
    return cast("npt.NDArray[np.uint64]", mix(UNIQUE, numbers))


class CodeDigests:
    """The digests of functions' code in the current files. Each file is read once."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, str]] = {}

    def of(self, function: Function) -> str | None:
        """The digest of one function, if known."""
        if function.location is None:
            return None
        file = function.location.file
        if file not in self._files:
            self._files[file] = digests_of(file)
        return self._files[file].get(function.qualname)


def name_of(function: Function) -> str:
    """A function's name, the same in every run."""
    return f"{function.module}.{function.qualname}"


class LearnedPrior:
    """What was learned, as factors of the calls of a tree. Implements `whence.ports.Prior`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cached: tuple[Tree, Floats] | None = None
        self.changed: tuple[str, ...] = ()
        """After `factors`: the functions whose code changed since tests passed."""

    def factors(self, tree: Tree) -> Floats:
        """Each call's factor, by its function and by its equation."""
        if self._cached is None or self._cached[0] is not tree:
            self._cached = tree, self._factors(tree)
        return self._cached[1]

    def _factors(self, tree: Tree) -> Floats:
        test = tree.functions[0].name
        with contextlib.closing(LearnedStore(self._path, read_only=True)) as learned:
            spectra = learned.spectra(test)
            of_function = _ochiai(tree, spectra, learned.failing(test), test)
            changed = _changed(tree, learned.codes(), test)
            self.changed = tuple(tree.functions[number].qualname for number in changed)
            if changed and learned.has_passed(test):
                of_function *= _UNCHANGED
            of_function[changed] = 1.0
            factors: Floats = of_function[tree.columns.function]
            if isinstance(tree, ColumnTree):
                self._lower_passing_equations(tree, learned, spectra, factors)
        return factors

    def _lower_passing_equations(
        self, tree: ColumnTree, learned: LearnedStore, spectra: dict[str, Spectrum], factors: Floats
    ) -> None:
        """Calls whose equations occurred in passing tests are less likely."""
        passing = {name for name, spectrum in spectra.items() if spectrum.passing}
        numbers = [
            number
            for number, function in enumerate(tree.functions)
            if function.location is not None and name_of(function) in passing
        ]
        digest_of = digests(tree, self._path.parent.parent, _MOST_READ, numbers)
        passed_digests = learned.seen(digest_of.values())
        equations = [equation for equation, digest in digest_of.items() if digest in passed_digests]
        factors[np.isin(tree.columns.equation, equations)] *= _PASSED


def changed_functions(tree: Tree, path: Path) -> list[Function]:
    """The functions whose code changed since tests passed, by what was learned from them."""
    test = tree.functions[0].name
    with contextlib.closing(LearnedStore(path, read_only=True)) as learned:
        return [tree.functions[number] for number in _changed(tree, learned.codes(), test)]


def _changed(tree: Tree, codes: Mapping[str, str], test: str) -> list[int]:
    """The numbers of the functions whose code changed since tests passed.

    Those of the test are left out: its author says that it is right.
    """
    now = CodeDigests()
    changed = []
    for number, function in enumerate(tree.functions):
        then, code = codes.get(name_of(function)), now.of(function)
        is_same_function = then and code and code.split()[0] == then.split()[0]
        if is_same_function and code != then and not _is_of(test, function):
            changed.append(number)
    return changed


def _is_of(test: str, function: Function) -> bool:
    """Whether a function is in the file of a test."""
    file = test.partition("::")[0] if "::" in test else ""
    return bool(file and function.location and Path(function.location.file).match(file))


def _ochiai(tree: Tree, spectra: dict[str, Spectrum], failing: int, test: str) -> Floats:
    """The coefficient of each function; 1 for entries that are no function of the program."""
    factors = np.ones(len(tree.functions))
    for number, function in enumerate(tree.functions):
        if function.location is None:
            continue
        ran = spectra.get(name_of(function), Spectrum(0, 0))
        failed = ran.failing + 1  # and the test that is looked at
        factors[number] = failed / sqrt((failing + 1) * (failed + ran.passing))
        if _is_of(test, function):
            factors[number] *= _TEST_CODE
    return factors
