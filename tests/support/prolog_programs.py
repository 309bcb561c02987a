"""Random Prolog programs that end, and slips in them.

A predicate calls only those before it. Kinds: tests `c(X)`, functions `n(X, Y)` from a number to a
number, relations `m(Y)` with several answers, and `s(X, T)`, which build a term of what the others
give. Functions have one answer, since the order of answers is not judged: where a condition or a
cut keeps the first of several, the one that was kept can be right and still the wrong one to keep.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

_COMPARISONS = ["<", ">", "=<", ">=", "=:=", "=\\="]


@dataclass
class Program:
    """Clauses by predicate, in order."""

    predicates: dict[str, list[str]]

    def text(self) -> str:
        return "".join(f"{clause}\n" for each in self.predicates.values() for clause in each)


@dataclass
class Slip:
    """A program with a slip in one predicate."""

    program: Program
    predicate: str
    """As name/arity."""


def random_program(numbers: random.Random) -> Program:
    """A program; its last predicate, `top(X, T)`, uses all kinds."""
    made: dict[str, list[str]] = {}
    for _ in range(numbers.randint(1, 2)):
        name = f"m{len(made)}"
        made[name] = [f"{name}({value})." for value in numbers.sample(range(9), 3)]
    for _ in range(numbers.randint(5, 9)):
        kind = numbers.choice("ccnnns")
        name = f"{kind}{len(made)}"
        made[name] = {"c": _test, "n": _function, "s": _term}[kind](numbers, name, list(made))
    made["top"] = _term(numbers, "top", list(made))
    return Program(made)


def _of(kind: str, known: list[str]) -> list[str]:
    return [each for each in known if each.startswith(kind)]


def _condition(numbers: random.Random, variable: str, known: list[str]) -> str:
    tests = _of("c", known)
    if tests and numbers.random() < 0.6:
        call = f"{numbers.choice(tests)}({variable})"
        return numbers.choice([call, call, f"\\+ {call}"])
    return f"{variable} {numbers.choice(_COMPARISONS)} {numbers.randint(0, 6)}"


def _number(numbers: random.Random, into: str, variable: str, known: list[str]) -> str:
    functions = _of("n", known)
    if functions and numbers.random() < 0.7:
        name = numbers.choice(functions)
        return numbers.choice([f"{name}({variable}, {into})", f"call({name}, {variable}, {into})"])
    operation = numbers.choice(["+", "-", "*"])
    return f"{into} is {variable} {operation} {numbers.randint(1, 3)}"


def _test(numbers: random.Random, name: str, known: list[str]) -> list[str]:
    goals = [_number(numbers, "Y", "X", known), _condition(numbers, "Y", known)]
    if numbers.random() < 0.5:
        goals = [_condition(numbers, "X", known)]
    return [f"{name}(X) :- {', '.join(goals)}."]


def _function(numbers: random.Random, name: str, known: list[str]) -> list[str]:
    first, second = _number(numbers, "Z", "X", known), _number(numbers, "Y", "Z", known)
    other = _number(numbers, "Y", "X", known)
    condition = _condition(numbers, "X", known)
    if numbers.random() < 0.5:
        return [f"{name}(X, Y) :- ( {condition} -> {first}, {second} ; {other} )."]
    return [f"{name}(X, Y) :- {condition}, !, {first}, {second}.", f"{name}(X, Y) :- {other}."]


def _term(numbers: random.Random, name: str, known: list[str]) -> list[str]:
    goals, parts = [], []
    for place in range(numbers.randint(2, 3)):
        part = f"P{place}"
        functions, terms, relations = _of("n", known), _of("s", known), _of("m", known)
        ways = [_number(numbers, part, "X", known)]
        ways.append(f"( {_condition(numbers, 'X', known)} -> {part} = yes ; {part} = no )")
        ways.append(f"findall(f(V), {numbers.choice(relations)}(V), {part})")
        if functions:
            ways.append(f"maplist({numbers.choice(functions)}, [X, 2], {part})")
        if terms:
            ways += [f"{numbers.choice(terms)}(X, {part})"] * 2
        goals.append(numbers.choice(ways))
        parts.append(part)
    if numbers.random() < 0.3:
        goals.append(f"\\+ {_number(numbers, '99', 'X', known)}")
    shape = numbers.choice(["g({})", "[{}]", "h(k, {})"]).format(", ".join(parts))
    if numbers.random() < 0.5:
        return [f"{name}(X, {shape}) :- {', '.join(goals)}."]
    return [f"{name}(X, T) :- T = {shape}, {', '.join(goals)}."]


def slip(program: Program, numbers: random.Random) -> Slip:
    """The program with a slip: a number, a comparison, a name or a functor is another one."""
    while True:
        name = numbers.choice(list(program.predicates))
        clauses = list(program.predicates[name])
        number = numbers.randrange(len(clauses))
        clauses[number] = _changed(clauses[number], numbers)
        if clauses != program.predicates[name]:
            arity = 1 if name[0] in "cm" else 2
            changed = Program({**program.predicates, name: clauses})
            return Slip(changed, f"{name}/{arity}")


def _changed(clause: str, numbers: random.Random) -> str:
    head, arrow, body = clause.partition(":-")
    if not arrow:
        return re.sub(r"\d+\)", f"{numbers.randint(10, 12)})", clause)
    found = list(re.finditer(r"(?<![\w])\d+(?![\w(])|=<|>=|=:=|=\\=|<|(?<!-)>|\byes\b", body))
    if not found:
        return clause
    here = numbers.choice(found)
    old = here[0]
    if old.isdigit():
        new = str(int(old) + numbers.randint(1, 3))
    else:
        new = "maybe" if old == "yes" else numbers.choice(_COMPARISONS)
    return f"{head}{arrow}{body[: here.start()]}{new}{body[here.end() :]}"
