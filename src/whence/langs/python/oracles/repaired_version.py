"""The program with a few changes of a reference version, with which it is right.

It stands in for the reference: the program differs from it in nothing that does not matter. What
differs is known by its place, so that a function is not taken for the class body that defines it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whence.langs.python.oracles.program_versions import ReferenceVersion
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.tree.column_tree import ColumnTree


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """Where in the program something differs from the version that repairs it."""

    file: str
    lines: tuple[int, int]
    """Of the definition that differs."""
    body: str = ""
    """If it is no function: the class, or `<module>`, whose body it is in."""
    is_header: bool = False
    """Whether the decorators or parameters of a function differ."""

    def holds(self, code: CodeEntry, file: str, is_same: bool) -> bool:
        """Whether code can be at fault because of it."""
        if file != self.file:
            return False
        if self.body:
            return code.qualname == self.body or (not is_same and self._spans(code))
        is_whole = self.is_header and code.first_line == self.lines[0]
        return is_whole or (not is_same and self._spans(code))

    def _spans(self, code: CodeEntry) -> bool:
        return self.lines[0] <= code.first_line <= self.lines[1]


@dataclass(frozen=True)
class RepairedVersion:
    """The program with the fewest changes of a reference version with which it is right."""

    reference: ReferenceVersion
    runs: Sequence[ColumnTree]
    """Runs of it, recorded."""
    places: Sequence[ChangedPlace]
    """What differs that can be at fault."""
    names: Sequence[str]
    """The same, for a person to read."""
    experiments: int
    """So many runs it took to find it."""
