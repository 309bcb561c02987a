"""Which variables are alive at each statement of a body: liveness as compilers have it, over text.

A variable is alive where something that may run next reads it before binding it anew. Exceptions
are considered at every statement of a `try` or `with`, so the result may be too large, never too
small.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from whence.langs.python.source.scopes import names_read, names_written

Names = frozenset[str]
NONE: Names = frozenset()


@dataclass(frozen=True, slots=True)
class _Jumps:
    """What is alive where `break` and `continue` lead."""

    out: Names = NONE
    next: Names = NONE


class Liveness:
    """Computes what is alive at numbered statements, going through them backwards."""

    def __init__(self, numbers: dict[int, int]):
        self._numbers = numbers
        self.out: dict[int, Names] = {}
        """What is alive after each statement."""
        self.head: dict[int, Names] = {}
        """What is alive before each round of a loop, its items bound."""
        self._caught = NONE
        """What is alive where an exception may lead."""

    def block(self, nodes: Sequence[ast.stmt], out: Names, jumps: _Jumps | None = None) -> Names:
        """What is alive before some statements, given what is alive after them."""
        live, jumps = out, jumps or _Jumps()
        for node in reversed(nodes):
            live |= self._caught
            number = self._numbers.get(id(node))
            if number is not None:
                self.out[number] = self.out.get(number, NONE) | live
            live = self._statement(node, live, jumps)
        return live

    def _statement(self, node: ast.stmt, out: Names, jumps: _Jumps) -> Names:
        match node:
            case ast.Return() | ast.Raise():
                return names_read([node]) | self._caught
            case ast.Break():
                return jumps.out
            case ast.Continue():
                return jumps.next
            case ast.If():
                branches = self.block(node.body, out, jumps) | self.block(node.orelse, out, jumps)
                return names_read([node.test]) | branches
            case ast.While() | ast.For() | ast.AsyncFor():
                return self._loop(node, out, jumps)
            case ast.Try() | ast.TryStar():
                return self._try(node, out, jumps)
            case ast.With() | ast.AsyncWith():
                body = self._where_caught(out, node.body, out, jumps)
                return names_read(node.items) | (body - names_written(node.items)) | self._caught
            case ast.Match():
                cases = [self._case(case, out, jumps) for case in node.cases]
                return NONE.union(out, *cases) | names_read([node.subject])
        return (out - certainly_bound(node)) | names_read([node])

    def _case(self, node: ast.match_case, out: Names, jumps: _Jumps) -> Names:
        """What is alive before a case, whose pattern binds names."""
        guard = NONE if node.guard is None else names_read([node.guard])
        inside = self.block(node.body, out, jumps) | guard
        return (inside - names_written([node.pattern])) | names_read([node.pattern])

    def _loop(self, node: ast.While | ast.For | ast.AsyncFor, out: Names, jumps: _Jumps) -> Names:
        after = self.block(node.orelse, out, jumps)
        if isinstance(node, ast.While):
            test, targets, items = names_read([node.test]), NONE, NONE
        else:
            test, targets, items = NONE, names_written([node.target]), names_read([node.iter])
        head = test | after
        while True:
            body = self.block(node.body, head, _Jumps(out, head)) - targets
            if body <= head:
                break
            head |= body
        number = self._numbers.get(id(node))
        if number is not None:
            self.head[number] = self.head.get(number, NONE) | head
        return head | items

    def _try(self, node: ast.Try | ast.TryStar, out: Names, jumps: _Jumps) -> Names:
        last = self.block(node.finalbody, out, jumps)
        # A jump goes through `finally`, too.
        final = self.block(node.finalbody, NONE, jumps)
        through = _Jumps(jumps.out | final, jumps.next | final)
        handled = NONE
        for handler in node.handlers:
            body = self._where_caught(final, handler.body, last, through)
            caught = NONE if handler.type is None else names_read([handler.type])
            handled |= (body - {handler.name}) | caught
        other = self.block(node.orelse, last, through)
        return self._where_caught(handled | final | last, node.body, other, through)

    def _where_caught(
        self, caught: Names, body: Sequence[ast.stmt], out: Names, jumps: _Jumps
    ) -> Names:
        before = self._caught
        self._caught |= caught
        live = self.block(body, out, jumps) | self._caught
        self._caught = before
        return live


def certainly_bound(node: ast.stmt) -> Names:
    """The names that a statement certainly binds."""
    match node:
        case ast.Assign() | ast.Delete():
            return names_written(node.targets)
        case ast.AnnAssign(value=None):
            return NONE
        case ast.AnnAssign() | ast.AugAssign():
            return names_written([node.target])
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return frozenset({node.name})
        case ast.Import() | ast.ImportFrom():
            return names_written([node])
    return NONE
