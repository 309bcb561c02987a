"""A slow, obviously right tracer: it rewrites a program so that each function reports its calls.

It uses no hooks of the interpreter. Every function gets its body in a `try`, and calls
`_enter` with its arguments, `_yielding` with what it yields and `_leave` with its outcome;
texts are taken by `repr` at that moment. Who called whom is a list that is pushed and popped.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Told:
    """A call as it told of itself."""

    name: str
    arguments: dict[str, str]
    outcome: str = "did not end"
    yielded: list[str] = field(default_factory=list)
    changed: dict[str, tuple[str, str]] = field(default_factory=dict)
    calls: list[Told] = field(default_factory=list)

    def text(self, indent: str = "") -> str:
        arguments = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        yielded = f" yielded {', '.join(self.yielded)}" if self.yielded else ""
        changed = "".join(f" !{name}:{b}->{a}" for name, (b, a) in sorted(self.changed.items()))
        line = f"{indent}{self.name}({arguments}){yielded} {self.outcome}{changed}"
        return "\n".join([line, *(call.text(indent + "  ") for call in self.calls)])


class Tracer:
    """Keeps the tree while the rewritten program runs."""

    def __init__(self) -> None:
        self.root = Told("<module>", {})
        self._stack = [self.root]
        self._values: dict[int, dict[str, Any]] = {}
        self._before: dict[int, dict[str, str]] = {}

    def namespace(self) -> dict[str, Any]:
        return {
            "_created": self.created, "_enter": self.enter, "_leave": self.leave,
            "_raised": self.raised, "_yielding": self.yielding, "_resumed": self.resumed,
        }  # fmt: skip

    def created(self, name: str, arguments: dict[str, Any]) -> Told:
        call = Told(name, {key: repr(value) for key, value in arguments.items()})
        self._values[id(call)] = arguments
        self._stack[-1].calls.append(call)
        return call

    def enter(self, call: Told) -> Told:
        self._begin_step(call)
        return call

    def resumed(self, call: Told, value: Any) -> Any:
        self._begin_step(call)
        return value

    def yielding(self, call: Told, value: Any) -> Any:
        call.yielded.append(repr(value))
        self._end_step(call)
        return value

    def leave(self, call: Told, value: Any) -> Any:
        self._end(call, f"returned {value!r}")
        return value

    def raised(self, call: Told, exception: BaseException) -> None:
        if isinstance(exception, GeneratorExit):
            return  # closed where it was suspended: it does not run
        self._end(call, f"raised {exception!r}")

    def _end(self, call: Told, outcome: str) -> None:
        call.outcome = outcome
        self._end_step(call)

    def _begin_step(self, call: Told) -> None:
        values = self._values[id(call)]
        self._before[id(call)] = {name: repr(value) for name, value in values.items()}
        self._stack.append(call)

    def _end_step(self, call: Told) -> None:
        """Only what changed while it ran is its own doing."""
        for name, value in self._values[id(call)].items():
            before, after = self._before[id(call)][name], repr(value)
            if before != after:
                call.changed[name] = (before, after)
        assert self._stack.pop() is call


class _Rewriter(ast.NodeTransformer):
    """Puts the telling into every function. A generator is two: one that creates, one that runs."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        names = [argument.arg for argument in node.args.args]
        is_generator = any(isinstance(n, ast.Yield) for n in _own_nodes(node))
        body = [_InBody(is_generator).visit(statement) for statement in node.body]
        create = f"_call = _created({node.name!r}, dict({', '.join(f'{n}={n}' for n in names)}))"
        guarded = ast.parse(
            "_enter(_call)\ntry:\n    pass\nexcept BaseException as _e:\n"
            "    _raised(_call, _e)\n    raise"
        ).body
        attempt = guarded[1]
        assert isinstance(attempt, ast.Try)
        attempt.body = [*body, *ast.parse("return _leave(_call, None)", mode="exec").body]
        if is_generator:
            inner = ast.parse("def _run(): pass").body[0]
            assert isinstance(inner, ast.FunctionDef)
            inner.body = guarded
            node.body = [*ast.parse(create).body, inner, *ast.parse("return _run()").body]
        else:
            node.body = [*ast.parse(create).body, *guarded]
        return node


class _InBody(ast.NodeTransformer):
    def __init__(self, is_generator: bool) -> None:
        self._is_generator = is_generator

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return _Rewriter().visit_FunctionDef(node)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        value = node.value or ast.Constant(None)
        node.value = ast.Call(ast.Name("_leave", ast.Load()), [_CALL, value], [])
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.Call:
        self.generic_visit(node)
        value = node.value or ast.Constant(None)
        told = ast.Call(ast.Name("_yielding", ast.Load()), [_CALL, value], [])
        return ast.Call(ast.Name("_resumed", ast.Load()), [_CALL, ast.Yield(told)], [])


_CALL = ast.Name("_call", ast.Load())


def _own_nodes(function: ast.FunctionDef) -> list[ast.AST]:
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def trace(source: str) -> Told:
    """The tree of a program's calls."""
    tree = ast.parse(source)
    tree.body = [_Rewriter().visit(statement) for statement in tree.body]
    tracer = Tracer()
    exec(compile(ast.fix_missing_locations(tree), "<rewritten>", "exec"), tracer.namespace())
    return tracer.root
