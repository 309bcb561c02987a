"""Presumes that imports are right: the bodies of modules and classes, and what ran only in them.

Importing a package makes hundreds of calls below module bodies, and nobody can judge
`<module>() → None`. The statements of the program itself (`__main__`) are no import.
"""

from __future__ import annotations

import numpy as np

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_source import TraceSource
from whence.model.call import Function
from whence.ports import Bytes, Presumed, Tree
from whence.tree.column_tree import ColumnTree

_BODY = "<module>"


class ImportPresumption:
    """Presumes that imports and class definitions are right; implements `ports.Presumption`."""

    def presumed(self, tree: Tree) -> Bytes:
        """A `Presumed` for each call."""
        columns = tree.columns
        levels = np.zeros(len(columns), dtype=np.uint8)
        bodies = [number for number, function in enumerate(tree.functions) if _is_import(function)]
        bodies += _class_bodies(tree)
        end = 0
        for position in np.flatnonzero(np.isin(columns.function, bodies)):
            if position >= end:  # what it imports itself lies below it
                end = int(columns.end[position])
                levels[position:end] = Presumed.INSIDE
                levels[position] = Presumed.WHOLE
        return levels


def _is_import(function: Function) -> bool:
    # Code from a text (`exec`, a cell, an example in a docstring) is no import.
    return (
        function.qualname == _BODY
        and function.module != "__main__"
        and function.location is not None
        and not function.location.file.startswith("<")
    )


def _class_bodies(tree: Tree) -> list[int]:
    """The numbers of the functions that are bodies of classes."""
    if not isinstance(tree, ColumnTree):
        return []
    functions, first = np.unique(tree.columns.function, return_index=True)
    bodies = []
    for function, position in zip(functions.tolist(), first.tolist(), strict=True):
        source, detail = tree.sources[int(tree.source_of[position])], int(tree.details[position])
        flags = source.code(detail).flags if isinstance(source, TraceSource) and detail > 0 else 0
        if flags & f.CLASS_BODY:
            bodies.append(function)
    return bodies
