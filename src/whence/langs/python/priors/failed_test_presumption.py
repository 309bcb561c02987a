"""Presumes that a failing test is right: nobody can say whether it is right to raise.

Its callees are searched first, and the fixtures. The test itself, and its helpers in the same file
that the exception passed through, are asked about when nothing else is left.
"""

from __future__ import annotations

import numpy as np

from whence.langs.python.priors.import_presumption import ImportPresumption
from whence.langs.python.trace.trace_provenance import program_of
from whence.model.call import OutcomeKind
from whence.ports import Bytes, Presumed, Tree

_LEFT = (OutcomeKind.RAISED, OutcomeKind.NOT_TERMINATED)


class FailedTestPresumption:
    """Presumes that a test that failed is right; implements `ports.Presumption`."""

    def presumed(self, tree: Tree) -> Bytes:
        """A `Presumed` for each call."""
        levels = np.zeros(len(tree.columns), dtype=np.uint8)
        program = program_of(tree)
        if program is None or not program.file.header.test:
            return levels
        columns, position, file = tree.columns, 0, None
        while True:
            inside = slice(position + 1, int(columns.end[position]))
            is_left = np.isin(columns.outcome[inside], _LEFT)
            left = np.flatnonzero((columns.parent[inside] == position) & is_left)
            if not len(left):
                return levels
            position += 1 + int(left[-1])
            where = tree.functions[int(columns.function[position])].location
            if where is None or file not in (None, where.file):
                return levels
            file = where.file
            levels[position] = Presumed.WHOLE


class RunPresumption:
    """Imports, class bodies and the test that failed; implements `ports.Presumption`."""

    def presumed(self, tree: Tree) -> Bytes:
        """A `Presumed` for each call."""
        imports, tests = ImportPresumption().presumed(tree), FailedTestPresumption().presumed(tree)
        levels: Bytes = np.maximum(imports, tests)
        return levels
