"""The oracle of class bodies: one that only defines methods computes nothing, so it is right.

It is asked after all others, because another oracle may know that a method is missing. It is not
asked if there is a reference version, which may have such a method.
"""

from __future__ import annotations

from pathlib import Path

from whence.errors import UsageError
from whence.langs.python.oracles.type_hints import unchanged_files
from whence.langs.python.source.class_bodies import class_at, only_defines
from whence.langs.python.source.source_parsing import read_source
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.call_recipes import place_of
from whence.langs.python.trace.trace_source import TraceSource
from whence.model.call import OutcomeKind
from whence.model.question import Question
from whence.model.verdict import Judgement, Verdict
from whence.ports import Tree

NAME = "definitions"


class ClassBodyOracle:
    """Judges class bodies of a recording by their source, if that is as it was."""

    def __init__(self, tree: Tree) -> None:
        self.name = NAME
        self._tree = tree
        self._files: dict[int, dict[str, Path]] = {}

    def judge(self, question: Question) -> Judgement | None:
        """Right, of a class body in which nothing can be wrong."""
        if question.call.outcome.kind is not OutcomeKind.RETURNED:
            return None
        try:
            source, number = place_of(self._tree, self._tree.position(question.node))
        except (UsageError, TypeError):
            return None
        code = source.code(number) if number > 0 else None
        if code is None or not code.flags & f.CLASS_BODY:
            return None
        path = None if code.is_text else self._unchanged(source).get(code.module)
        text = "" if path is None else read_source(path)
        if text is None:
            return None
        node = class_at(text, code.first_line)
        if node is None or node.name != code.qualname.rpartition(".")[2] or not only_defines(node):
            return None
        return Judgement(Verdict.RIGHT, "it only defines methods")

    def _unchanged(self, source: TraceSource) -> dict[str, Path]:
        if id(source) not in self._files:
            self._files[id(source)] = unchanged_files(source)
        return self._files[id(source)]
