"""Which variables matter to a piece of a function: those that it reads, and those that live on.

Liveness as compilers have it, over the text: a variable is alive where something that may come next
reads it before binding it anew. Where an exception may lead is taken into account at every
statement of a `try` or `with`, so the result is rather too much than too little.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from whence.langs.python.zoom.function_body import FunctionBody

Names = frozenset[str]
NONE: Names = frozenset()
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class StepVariables:
    """Of one body, what its pieces read and what lives on after them."""

    def __init__(self, body: FunctionBody):
        self._body = body
        self._exposed: dict[tuple[int, int], Names] = {}
        self._bound: dict[int, Names] = {}

    @cached_property
    def named(self) -> Names:
        """All names of the text."""
        return reads(self._body.owner.body) | writes(self._body.owner.body)

    @cached_property
    def outer(self) -> Names:
        """Variables that are not the function's own: of its module, or of a function around it."""
        return NONE if self._body.is_module else self.named - self._own

    @cached_property
    def _own(self) -> Names:
        """Bound somewhere in the function, and not declared to be somebody else's."""
        declared: set[str] = set()
        for node in _within(self._body.owner.body):
            if isinstance(node, ast.Global | ast.Nonlocal):
                declared.update(node.names)
        return (writes(self._body.owner.body) | self.parameters) - declared

    @cached_property
    def of_module(self) -> tuple[str, ...]:
        """Names that may be variables of the module."""
        return tuple(sorted(self.named if self._body.is_module else self.outer))

    @cached_property
    def parameters(self) -> Names:
        """What the function is given."""
        owner = self._body.owner
        if isinstance(owner, ast.Module):
            return NONE
        given = owner.args
        several = [each for each in (given.vararg, given.kwarg) if each is not None]
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *several]
        return frozenset(each.arg for each in every)

    @cached_property
    def lasting(self) -> Names:
        """Variables that somebody else may read at any time: those of others, and those that a
        function in this one sees."""
        seen: set[str] = set()
        for node in _within(self._body.owner.body):
            if isinstance(node, _FUNCTIONS):
                seen |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        whole = self.named if self._body.is_module else NONE
        return self.outer | (frozenset(seen) & self._own) | whole

    @cached_property
    def _alive(self) -> _Liveness:
        numbers = {id(each.node): each.number for each in self._body.statements}
        found = _Liveness(numbers)
        found.block(self._body.owner.body, NONE)
        return found

    def alive_after(self, number: int) -> Names:
        """What lives on after a statement."""
        return self._alive.out.get(number, NONE) | self.lasting

    def alive_in_loop(self, number: int) -> Names:
        """What lives on when a round of a loop is over."""
        return self._alive.head.get(number, NONE) | self.lasting

    def bound(self, number: int) -> Names:
        """What a statement binds, if it has no blocks."""
        if number not in self._bound:
            self._bound[number] = writes([self._body.statements[number].node])
        return self._bound[number]

    def read(self, first: int, last: int) -> Names:
        """What statements that follow each other read that was there before them."""
        if (first, last) not in self._exposed:
            statements = self._body.statements
            parent = statements[first].parent
            nodes = [each.node for each in statements[first : last + 1] if each.parent == parent]
            self._exposed[first, last] = self.read_by(nodes)
        return self._exposed[first, last]

    def read_by(self, nodes: Sequence[ast.AST]) -> Names:
        """What statements, or one expression, read that was there before them."""
        statements = [each for each in nodes if isinstance(each, ast.stmt)]
        found = _Liveness({}).block(statements, NONE) | reads(
            each for each in nodes if not isinstance(each, ast.stmt)
        )
        calls = any(isinstance(each, ast.Call) for node in nodes for each in ast.walk(node))
        return found | (self.lasting & self._own) if calls else found


@dataclass(frozen=True, slots=True)
class _Jumps:
    """What is alive where `break` and `continue` lead."""

    out: Names = NONE
    next: Names = NONE


class _Liveness:
    """Goes through statements backwards."""

    def __init__(self, numbers: dict[int, int]):
        self._numbers = numbers
        self.out: dict[int, Names] = {}
        """What is alive after each statement."""
        self.head: dict[int, Names] = {}
        """What is alive before each round of a loop, its items bound."""
        self._caught = NONE
        """What is alive where an exception may lead."""

    def block(self, nodes: Sequence[ast.stmt], out: Names, jumps: _Jumps | None = None) -> Names:
        """What is alive before some statements, given what is after them."""
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
                return reads([node]) | self._caught
            case ast.Break():
                return jumps.out
            case ast.Continue():
                return jumps.next
            case ast.If():
                branches = self.block(node.body, out, jumps) | self.block(node.orelse, out, jumps)
                return reads([node.test]) | branches
            case ast.While() | ast.For() | ast.AsyncFor():
                return self._loop(node, out, jumps)
            case ast.Try() | ast.TryStar():
                return self._try(node, out, jumps)
            case ast.With() | ast.AsyncWith():
                body = self._where_caught(out, node.body, out, jumps)
                return reads(node.items) | (body - writes(node.items)) | self._caught
            case ast.Match():
                cases = [self._case(each, out, jumps) for each in node.cases]
                return NONE.union(out, *cases) | reads([node.subject])
        return (out - bound_by(node)) | reads([node])

    def _case(self, node: ast.match_case, out: Names, jumps: _Jumps) -> Names:
        """What is alive before a case: what its pattern names is bound there."""
        guard = NONE if node.guard is None else reads([node.guard])
        inside = self.block(node.body, out, jumps) | guard
        return (inside - writes([node.pattern])) | reads([node.pattern])

    def _loop(self, node: ast.While | ast.For | ast.AsyncFor, out: Names, jumps: _Jumps) -> Names:
        after = self.block(node.orelse, out, jumps)
        if isinstance(node, ast.While):
            test, targets, items = reads([node.test]), NONE, NONE
        else:
            test, targets, items = NONE, writes([node.target]), reads([node.iter])
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
            wanted = NONE if handler.type is None else reads([handler.type])
            handled |= (body - {handler.name}) | wanted
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


def bound_by(node: ast.stmt) -> Names:
    """What a statement binds for certain."""
    match node:
        case ast.Assign():
            return writes(node.targets)
        case ast.AnnAssign():
            return NONE if node.value is None else writes([node.target])
        case ast.AugAssign():
            return writes([node.target])
        case ast.Delete():
            return writes(node.targets)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return frozenset({node.name})
        case ast.Import() | ast.ImportFrom():
            return writes([node])
    return NONE


def _within(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """All nodes of a body, functions in it but not what is inside of them."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _FUNCTIONS):
            pending += ast.iter_child_nodes(node)


def reads(nodes: Iterable[ast.AST]) -> Names:
    """The names that are read, also by functions in it."""
    found: set[str] = set()
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load | ast.Del):
                found.add(each.id)
            elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                found.add(each.target.id)
    return frozenset(found)


def writes(nodes: Iterable[ast.AST]) -> Names:
    """The names that are bound."""
    found: set[str] = set()
    for each in _within(nodes):
        match each:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(each.name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.Import() | ast.ImportFrom():
                found |= {(alias.asname or alias.name).partition(".")[0] for alias in each.names}
    return frozenset(found)
