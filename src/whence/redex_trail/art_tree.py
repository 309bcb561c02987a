"""The execution tree of an Augmented Redex Trail.

[S] section 3, [C] Definition 2: the reduced nodes become the calls, `parent` says who called whom,
and the equation of a redex is its most evaluated sides against its most evaluated reduct. ([C]
prints `n2 = n1 o`; it must read `n2 = n1 t o`.) Names in the order t < l < r are in preorder: the
calls of a right-hand side stand outermost first, then from left to right, each before its own.

Reductions by a rule called `primitive …` are left out unless they are asked for; what they called
(a higher-order primitive calls its argument) then hangs from the nearest call above. Kept, they
belong to trusted functions. A start term of several redexes is itself a call, without which there
would be more trees than one.

Owned here: which reductions are calls and how they are put in words. Values come from `art_value`.
Cost: O(nodes), and for each call the text of its values, which is bounded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whence.errors import CannotExpand, WhenceError
from whence.model.call import Binding, Call, Function, Outcome, OutcomeKind, Rule
from whence.redex_trail.art import Art, Term, parent
from whence.redex_trail.art_value import ArtValues, application_text, value_text
from whence.tree.build import Rows, link
from whence.tree.codec import encode_call, equation_digest
from whence.tree.column_tree import ColumnTree, assemble_tree

PRIMITIVE = "primitive"
START_TERM = "start term"

_FIRST = 1
_NO_CALLER = -1
_PREORDER = str.maketrans("tlr", "012")
_DEFINED = re.compile(r"[^\s=|]+")


@dataclass(frozen=True)
class ArtTree:
    """An execution tree and the graph that it was taken from.

    `art_node` gives the redex of each call's id, `call_id` the call of each redex. The call that
    stands for a start term of several redexes has the start node in the first, nothing in the
    second, and `stands_for_start`.
    """

    tree: ColumnTree
    art: Art
    values: ArtValues
    art_node: Mapping[int, str]
    call_id: Mapping[str, int]
    stands_for_start: bool = False

    def nearest_call(self, node: str | None) -> int | None:
        """The call of a redex, or if it is none, of the nearest redex above that is one."""
        while node is not None:
            if node in self.call_id:
                return self.call_id[node]
            node = parent(node)
        return 1 if self.stands_for_start else None


def is_primitive(art: Art, node: str) -> bool:
    """Whether a redex was reduced by a primitive, not by a rule of the program."""
    return art.rules.get(node, "").split(" ", 1)[0] == PRIMITIVE


def execution_tree(art: Art, *, primitives: bool = False) -> ArtTree:
    """The execution tree of a graph. Ids are preorder numbers from 1."""
    redexes = [
        node
        for node in art.nodes
        if art.reduced(node) and (primitives or not is_primitive(art, node))
    ]
    if not redexes:
        raise WhenceError("nothing was reduced in this graph, so there is no call to ask about")
    redexes.sort(key=lambda node: node.translate(_PREORDER))
    callers = _callers(redexes)
    stands_for_start = [node for node, above in callers.items() if above is None] != [art.start]
    call_id = {node: number for number, node in enumerate(redexes, 2 if stands_for_start else 1)}
    art_node = {number: node for node, number in call_id.items()}
    source = _ArtSource(ArtValues(art), art_node, stands_for_start)
    table = _Table(source)
    if stands_for_start:
        art_node[_FIRST] = art.start
        table.add(_FIRST, _NO_CALLER)
    top = _FIRST if stands_for_start else _NO_CALLER
    for node, above in callers.items():
        table.add(call_id[node], top if above is None else call_id[above])
    return ArtTree(table.tree(), art, source.values, art_node, call_id, stands_for_start)


def _callers(redexes: Sequence[str]) -> dict[str, str | None]:
    """The nearest redex above each one."""
    callers: dict[str, str | None] = dict.fromkeys(redexes)
    for node in redexes:
        above = parent(node)
        while above is not None and above not in callers:
            above = parent(above)
        callers[node] = above
    return callers


# --- calls -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ArtSource:
    """Builds the calls of a graph when they are looked at; a detail is a call's id."""

    values: ArtValues
    art_node: Mapping[int, str]
    stands_for_start: bool

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call in full."""
        return self.call_and_terms(detail, function, rule)[0]

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """A graph is complete."""
        raise CannotExpand("the graph has no calls below this one")

    def call_and_terms(
        self, detail: int, function: Function, rule: Rule
    ) -> tuple[Call, tuple[Term, ...]]:
        """The call, and if its values had to be cut, the terms that they were cut from."""
        values, node = self.values, self.art_node[detail]
        nodes = [*self.arguments(detail), self.reduct(detail)]
        shown = [values.value(node) for node in nodes]
        *arguments, result = [value for value, _ in shown]
        if self.is_start(detail):
            left = values.art.start_term or START_TERM
        else:
            left = application_text(values.redex(node)[0], arguments)
        call = Call(
            function=function,
            rule=rule,
            outcome=Outcome(OutcomeKind.RETURNED, result),
            arguments=tuple(Binding("", value) for value in arguments),
            text=values.shortened(f"{left} = {value_text(result)}"),
        )
        cut = any(was_cut for _, was_cut in shown)
        return call, tuple(values.art.val(node) for node in nodes) if cut else ()

    def is_start(self, detail: int) -> bool:
        """Whether the call is the start term of several redexes."""
        return self.stands_for_start and detail == _FIRST

    def arguments(self, detail: int) -> list[str]:
        """The nodes of a call's arguments."""
        return [] if self.is_start(detail) else self.values.redex(self.art_node[detail])[1]

    def reduct(self, detail: int) -> str:
        """The node that a call's result starts from."""
        node = self.art_node[detail]
        return node if self.is_start(detail) else node + "t"


class _Table:
    """Writes the rows of a tree, with its tables of functions and rules."""

    def __init__(self, source: _ArtSource) -> None:
        self.source = source
        self.art = source.values.art
        self.rows = Rows()
        self.functions: dict[Function, int] = {}
        self.rules: dict[Rule, int] = {}
        self.sources = rule_sources(self.art.program)
        self.by_the_program = {
            source.values.redex(node)[0]
            for node in self.art.nodes
            if self.art.reduced(node) and not is_primitive(self.art, node)
        }

    def add(self, number: int, caller: int) -> None:
        """Add a call with its id and its caller's."""
        function, rule = self._function_and_rule(number)
        call, terms = self.source.call_and_terms(number, function, rule)
        digest, effort = equation_digest(encode_call(call))
        if terms:  # equal as far as they are shown is not equal
            whole = b"".join(term.fingerprint for term in terms)
            key = digest.to_bytes(8, "little", signed=True)
            mixed = hashlib.blake2b(whole, digest_size=8, key=key).digest()
            digest = int.from_bytes(mixed, "little", signed=True)
        rows = self.rows
        rows.ids.append(number)
        rows.parents.append(caller)
        rows.functions.append(self.functions.setdefault(function, len(self.functions)))
        rows.rules.append(self.rules.setdefault(rule, len(self.rules)))
        rows.outcomes.append(OutcomeKind.RETURNED)
        rows.own.append(1.0)
        rows.equations.append(digest)
        rows.efforts.append(effort)
        rows.implicit.append(0)
        rows.details.append(number)

    def _function_and_rule(self, number: int) -> tuple[Function, Rule]:
        if self.source.is_start(number):
            return Function(START_TERM), Rule(START_TERM, START_TERM, source=self.art.start_term)
        node = self.source.art_node[number]
        symbol = self.source.values.redex(node)[0]
        name = self.art.rules.get(node, symbol)
        function = Function(symbol, trusted=symbol not in self.by_the_program)
        return function, Rule(name, symbol, source=self.sources.get(name, ""))

    def tree(self) -> ColumnTree:
        """The tree of the rows."""
        return assemble_tree(link(self.rows), list(self.functions), list(self.rules), self.source)


# --- rules -------------------------------------------------------------------------------------


def rule_sources(program: Sequence[str]) -> dict[str, str]:
    """The text of each rule: `f.k` is the k-th equation or guarded alternative of `f`, `f` all.

    An equation starts at the left margin with the function's name; a further line that starts
    with `|` is an alternative of the same equation, any other belongs to the one above.
    """
    alternatives: dict[str, list[str]] = {}
    name, head = "", ""
    for line in program:
        text = line.strip()
        if not text:
            continue
        if not line[0].isspace():
            definition = _DEFINED.match(line)
            name = definition.group() if definition else ""
            head = line.partition("|")[0].rstrip()
            if name:
                alternatives.setdefault(name, []).append(line.rstrip())
        elif text.startswith("|") and name:
            alternatives[name].append(f"{head} {text}")
        elif name:
            alternatives[name][-1] += "\n" + line.rstrip()
    sources: dict[str, str] = {}
    for function, texts in alternatives.items():
        sources[function] = "\n".join(texts)
        for number, text in enumerate(texts, 1):
            sources[f"{function}.{number}"] = text
    return sources
