"""Which variables matter to a step: those that it reads, and those that are alive after it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache, cached_property

from whence.langs.python.source.liveness import NONE, Liveness, Names
from whence.langs.python.source.scopes import (
    DEFINITIONS,
    all_names,
    names_read,
    names_written,
    nodes_outside_definitions,
    parameters,
)
from whence.langs.python.zoom.function_body import FunctionBody


class StepVariables:
    """What the steps of one function body read, and what is alive after them."""

    def __init__(self, body: FunctionBody):
        self._body = body
        self.bound, self.read = cache(self._bound), cache(self._read)

    @cached_property
    def named(self) -> Names:
        """All names in the body."""
        return names_read(self._body.owner.body) | names_written(self._body.owner.body)

    @cached_property
    def outer(self) -> Names:
        """Variables that are not the function's own: of its module, or of a function around it."""
        return NONE if self._body.is_module else self.named - self._own

    @cached_property
    def _own(self) -> Names:
        """Bound somewhere in the function, and not declared global or nonlocal."""
        declared: set[str] = set()
        for node in nodes_outside_definitions(self._body.owner.body):
            if isinstance(node, ast.Global | ast.Nonlocal):
                declared.update(node.names)
        return (names_written(self._body.owner.body) | self.parameters) - declared

    @cached_property
    def of_module(self) -> tuple[str, ...]:
        """Names that may be variables of the module."""
        return tuple(sorted(self.named if self._body.is_module else self.outer))

    @cached_property
    def parameters(self) -> Names:
        """The parameters of the function."""
        owner = self._body.owner
        return NONE if isinstance(owner, ast.Module) else frozenset(parameters(owner.args))

    @cached_property
    def lasting(self) -> Names:
        """Variables that other code may read at any time: those of outer scopes, and those that a
        nested function uses."""
        nodes = nodes_outside_definitions(self._body.owner.body)
        captured = all_names(node for node in nodes if isinstance(node, DEFINITIONS))
        whole = self.named if self._body.is_module else NONE
        return self.outer | (captured & self._own) | whole

    @cached_property
    def _alive(self) -> Liveness:
        numbers = {id(statement.node): statement.number for statement in self._body.statements}
        liveness = Liveness(numbers)
        liveness.block(self._body.owner.body, NONE)
        return liveness

    def alive_after(self, number: int) -> Names:
        """What is alive after a statement."""
        return self._alive.out.get(number, NONE) | self.lasting

    def alive_in_loop(self, number: int) -> Names:
        """What is alive after a round of a loop."""
        return self._alive.head.get(number, NONE) | self.lasting

    def _bound(self, number: int) -> Names:
        """What a statement binds, if it has no blocks."""
        return names_written([self._body.statements[number].node])

    def _read(self, first: int, last: int) -> Names:
        """What consecutive statements read of what existed before them."""
        return self.read_by(self._body.nodes(first, last))

    def read_by(self, nodes: Sequence[ast.AST]) -> Names:
        """What statements, or one expression, read of what existed before them."""
        statements = [node for node in nodes if isinstance(node, ast.stmt)]
        expressions = [node for node in nodes if not isinstance(node, ast.stmt)]
        names = Liveness({}).block(statements, NONE) | names_read(expressions)
        calls = any(isinstance(below, ast.Call) for node in nodes for below in ast.walk(node))
        return names | (self.lasting & self._own) if calls else names
