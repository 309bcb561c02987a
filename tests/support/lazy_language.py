"""A small lazy functional language whose runs leave an Augmented Redex Trail.

Enough of Haskell for the papers' programs: equations with patterns and guards, integers, lists,
tuples, constructors, `let`, partial applications and a few primitives, evaluated by need. It is
for tests: the graphs that it leaves follow the naming of `whence.redex_trail.art` by construction,
so what is said of graphs can be tried on any program.

As in the papers' graphs, guards are evaluated but not traced, and a variable keeps the node that
it was bound to. A variable of a `let` stands where it is used first. What makes no sense (no
equation fits, a sum of lists) gives the constructor `error`, so every program has a value. When
the fuel is used up the run stops where it is: what is left is the graph of a computation that was
not finished.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from whence.redex_trail.art import Application, Art, Atom, Expression, Indirection


@dataclass(frozen=True, slots=True)
class Let:
    """`let name = bound in body`; the name may not occur in what it is bound to."""

    name: str
    bound: Expr
    body: Expr


Expr = str | tuple["Expr", "Expr"] | Let
"""A variable or symbol, an application, or a `let`. Patterns are expressions too."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One equation or guarded alternative."""

    patterns: tuple[Expr, ...]
    guard: Expr | None
    body: Expr


Program = dict[str, list[Alternative]]


def call(function: Expr, *arguments: Expr) -> Expr:
    """A function applied to arguments."""
    for each in arguments:
        function = (function, each)
    return function


# --- reading -----------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(==|&&|[A-Za-z_][\w']*|\d+|\[\]|[-+*:=|,()\[\]])")
_PRECEDENCE = {"&&": 1, "==": 2, ":": 3, "+": 4, "-": 4, "*": 5}
_TO_THE_RIGHT = {"&&", ":"}
_ENDS = {"", ")", "]", ",", "=", "|", "in", *_PRECEDENCE}


def parse_program(lines: Sequence[str]) -> Program:
    """The equations of a program; a line that starts with `|` belongs to the one above."""
    program: Program = {}
    name, patterns = "", list[Expr]()
    for line in lines:
        reader = _Reader(line)
        if not line.startswith(" "):
            head, *patterns = reader.atoms()
            name = str(head)
        guard = None
        if reader.next_is("|"):
            guard = reader.expression()
        reader.next_is("=")
        body = reader.expression()
        program.setdefault(name, []).append(Alternative(tuple(patterns), guard, body))
    return program


def parse_expression(text: str) -> Expr:
    """An expression."""
    return _Reader(text).expression()


class _Reader:
    """Reads one line by precedence."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = [*_TOKEN.findall(text), ""]
        self.place = 0

    def next_is(self, token: str) -> bool:
        found = self.tokens[self.place] == token
        self.place += found
        return found

    def expression(self, least: int = 0) -> Expr:
        if self.next_is("let"):
            name = self.tokens[self.place]
            self.place += 1
            self.next_is("=")
            bound = self.expression()
            self.next_is("in")
            return Let(name, bound, self.expression())
        left = call(*self.atoms())
        while _PRECEDENCE.get(operator := self.tokens[self.place], -1) >= max(least, 0):
            self.place += 1
            strength = _PRECEDENCE[operator] + (operator not in _TO_THE_RIGHT)
            left = call(operator, left, self.expression(strength))
        return left

    def atoms(self) -> list[Expr]:
        found: list[Expr] = []
        while self.tokens[self.place] not in _ENDS:
            found.append(self.atom())
        return found

    def atom(self) -> Expr:
        token = self.tokens[self.place]
        self.place += 1
        if token not in ("(", "["):
            return token
        items = [self.expression()]
        while self.next_is(","):
            items.append(self.expression())
        self.place += 1
        if token == "(":
            return items[0] if len(items) == 1 else call(f"T{len(items)}", *items)
        whole: Expr = "[]"
        for item in reversed(items):
            whole = call(":", item, whole)
        return whole


# --- running -----------------------------------------------------------------------------------


class OutOfFuel(Exception):
    """The run was stopped."""


def run(
    program: Program, start: Expr = "main", *, fuel: int = 10_000, text: Sequence[str] = ()
) -> Art:
    """Evaluate a start term fully, or as far as the fuel goes, and give the graph of it."""
    machine = Machine(program, fuel)
    machine.instance(start, "t", {})
    with contextlib.suppress(OutOfFuel):
        machine.force("t")
    return machine.art(text, start if start == "main" else "")


Scope = dict[str, "str | _Waiting"]

ERROR = "error"
_UNTRACED = "?"


@dataclass(slots=True)
class _Waiting:
    """What a `let` variable is bound to, and its node once it is used."""

    bound: Expr
    scope: Scope
    node: str | None = None


@dataclass
class Machine:
    """A graph that is being reduced. `replaced` gives redexes a made-up symbol as their reduct."""

    program: Program
    fuel: int = 10_000
    replaced: Mapping[str, str] = field(default_factory=dict)
    nodes: dict[str, Expression] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    guards: int = 0

    def art(self, text: Sequence[str] = (), start_term: str = "") -> Art:
        """The graph as it is now."""
        nodes = {name: each for name, each in self.nodes.items() if name[0] != _UNTRACED}
        rules = {name: rule for name, rule in self.rules.items() if name in nodes}
        return Art(nodes, rules, program=tuple(text), start_term=start_term)

    def instance(self, expression: Expr, place: str, scope: Scope) -> str:
        """Build an expression at a place; the node that it is, elsewhere if it is a variable."""
        if isinstance(expression, Let):
            waiting = _Waiting(expression.bound, scope)
            return self.instance(expression.body, place, {**scope, expression.name: waiting})
        if isinstance(expression, tuple):
            left = self.instance(expression[0], place + "l", scope)
            right = self.instance(expression[1], place + "r", scope)
            self.nodes[place] = Application(left, right)
            return place
        bound = scope.get(expression)
        if isinstance(bound, _Waiting):
            if bound.node is None:
                bound.node = self.instance(bound.bound, place, bound.scope)
            bound = bound.node
        if bound is not None:
            return bound
        self.nodes[place] = Atom(expression)
        return place

    def evaluated(self, node: str) -> str:
        """Where the evaluation of a node has got to."""
        while True:
            expression = self.nodes[node]
            if node + "t" in self.nodes:
                node += "t"
            elif isinstance(expression, Indirection):
                node = expression.to
            else:
                return node

    def spine(self, node: str) -> tuple[str, list[str], list[str]]:
        """The symbol, the arguments, and the nodes with none, one, … of them applied."""
        applied, arguments = [node], list[str]()
        while isinstance(expression := self.nodes[node], Application):
            arguments.append(expression.right)
            node = self.evaluated(expression.left)
            applied.append(node)
        assert isinstance(expression, Atom)
        return expression.symbol, arguments[::-1], applied[::-1]

    def head(self, node: str) -> str:
        """Evaluate a node to its outermost constructor or partial application."""
        while True:
            node = self.evaluated(node)
            symbol, arguments, applied = self.spine(node)
            arity = self.arity(symbol)
            if arity is None or arity > len(arguments):
                return node
            self.reduce(applied[arity])

    def force(self, node: str) -> None:
        """Evaluate a node fully."""
        waiting = [node]
        while waiting:
            head = self.head(waiting.pop())
            waiting += reversed(self.spine(head)[1])

    def arity(self, symbol: str) -> int | None:
        """How many arguments a function takes; None if it is no function."""
        if symbol in self.program:
            return len(self.program[symbol][0].patterns)
        return _PRIMITIVES[symbol][0] if symbol in _PRIMITIVES else None

    def reduce(self, redex: str) -> None:
        """Reduce a redex once, unless it was reduced before."""
        if redex + "t" in self.nodes:
            return
        if self.fuel <= 0:
            raise OutOfFuel
        self.fuel -= 1
        expression = self.nodes[redex]
        if isinstance(expression, Application):
            self.head(expression.left)
        symbol, arguments, _ = self.spine(redex)
        if self.arity(symbol) != len(arguments):
            raise ValueError(f"{redex} is not a redex")
        if redex in self.replaced:
            self.nodes[redex + "t"] = Atom(self.replaced[redex])
            self.rules[redex] = symbol
        elif symbol in self.program:
            self._reduce_by_equation(symbol, redex, arguments)
        else:
            self.nodes[redex + "t"] = _PRIMITIVES[symbol][1](self, arguments)
            self.rules[redex] = f"primitive {symbol}"

    def _reduce_by_equation(self, symbol: str, redex: str, arguments: list[str]) -> None:
        for number, alternative in enumerate(self.program[symbol], 1):
            scope: Scope = {}
            patterns = zip(alternative.patterns, arguments, strict=True)
            if not all(self.matches(pattern, node, scope) for pattern, node in patterns):
                continue
            if alternative.guard is None or self.holds(alternative.guard, scope):
                made = self.instance(alternative.body, redex + "t", scope)
                if made != redex + "t":
                    self.nodes[redex + "t"] = Indirection(made)
                self.rules[redex] = f"{symbol}.{number}"
                return
        self.nodes[redex + "t"] = Atom(ERROR)
        self.rules[redex] = symbol

    def matches(self, pattern: Expr, node: str, scope: Scope) -> bool:
        """Whether a node has the form of a pattern; binds the pattern's variables."""
        if isinstance(pattern, str) and (pattern[0].islower() or pattern[0] == "_"):
            scope[pattern] = node
            return True
        arguments: list[Expr] = []
        while isinstance(pattern, tuple):
            pattern, argument = pattern
            arguments.insert(0, argument)
        symbol, given, _ = self.spine(self.head(node))
        return (
            symbol == pattern
            and len(given) == len(arguments)
            and all(self.matches(*each, scope) for each in zip(arguments, given, strict=True))
        )

    def holds(self, guard: Expr, scope: Scope) -> bool:
        """Whether a guard is true."""
        if guard == "otherwise":
            return True
        self.guards += 1
        place = f"{_UNTRACED}{self.guards}."
        return self.symbol(self.instance(guard, place, dict(scope))) == "True"

    def symbol(self, node: str) -> str:
        """The outermost symbol of a node's value."""
        return self.spine(self.head(node))[0]


Primitive = Callable[[Machine, list[str]], Expression]


def _arithmetic(operation: Callable[[int, int], int]) -> Primitive:
    def apply(machine: Machine, arguments: list[str]) -> Expression:
        try:
            first, second = (int(machine.symbol(each)) for each in arguments)
            return Atom(str(operation(first, second)))
        except (ValueError, ZeroDivisionError):
            return Atom(ERROR)

    return apply


def _equal(machine: Machine, arguments: list[str]) -> Expression:
    first, second = (machine.symbol(each) for each in arguments)
    return Atom(str(first == second))


def _and(machine: Machine, arguments: list[str]) -> Expression:
    return Indirection(arguments[1]) if machine.symbol(arguments[0]) == "True" else Atom("False")


def _if(machine: Machine, arguments: list[str]) -> Expression:
    return Indirection(arguments[1 if machine.symbol(arguments[0]) == "True" else 2])


_PRIMITIVES: dict[str, tuple[int, Primitive]] = {
    "+": (2, _arithmetic(lambda first, second: first + second)),
    "-": (2, _arithmetic(lambda first, second: first - second)),
    "*": (2, _arithmetic(lambda first, second: first * second)),
    "div": (2, _arithmetic(lambda first, second: first // second)),
    "==": (2, _equal),
    "&&": (2, _and),
    "if": (3, _if),
}
