"""Rewrites comprehensions and generator expressions.

`[e for x in xs if c]` stays a comprehension: it loops over pairs and collects pairs, each with its
control, and `@.list_comprehension` makes the list. Elements that a condition drops are noted,
because the positions of the others depend on them. A generator expression still yields plain
values; `@.yield_from_expression` notes the tag of each.

From 3.15 on an element may be unpacked. `[*e for x in xs]` collects all pairs of a round at once,
and the function that makes the list puts them one after the other; `{**e for x in xs}` likewise.
`(*e for x in xs)` gets one more loop, over `e`.
"""

from __future__ import annotations

import ast

from whence.langs.python.provenance.rewriter.expression_rewriter import ExpressionRewriter
from whence.langs.python.provenance.rewriter.syntax_nodes import (
    CONTROL,
    at_location_of,
    constant,
    load_name,
    named_expression,
    runtime_call,
    runtime_name,
    shadow_name,
    store_name,
    suspends,
    target_tuple,
    test_outcome_of,
    thunk,
    tuple_node,
)
from whence.langs.python.source.scopes import comprehension_scope, walk

_MAKERS = {
    ast.ListComp: "list_comprehension",
    ast.SetComp: "set_comprehension",
    ast.DictComp: "dict_comprehension",
}
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class ComprehensionRewriter(ExpressionRewriter):
    """Comprehensions, in all their forms."""

    def _comprehension(self, node: _Comprehension) -> ast.expr:
        if any(not _is_simple(generator.target) for generator in node.generators):
            return self.native(node)
        if not self.may_bind and suspends(node):
            return self.native(node)
        site, outer = self.site(node), self.control
        maker = _MAKERS.get(type(node), "generator_expression")
        dropped, source = self.temporary(), self.temporary()
        first = self.pair(node.generators[0].iter)
        made = self._made(node, site, dropped, source)
        if self.may_bind:
            return runtime_call(
                maker,
                site,
                outer,
                named_expression(dropped, ast.List([], ast.Load())),
                named_expression(source, first),
                made,
            )
        lazily = thunk(made, dropped, source)
        return runtime_call("comprehension_here", runtime_name(maker), site, outer, first, lazily)

    pair_ListComp = pair_SetComp = pair_DictComp = pair_GeneratorExp = _comprehension  # noqa: N815

    def _made(self, node: _Comprehension, site: ast.expr, dropped: str, source: str) -> ast.expr:
        """The comprehension over pairs."""
        outer = self.control
        may_bind = self.may_bind
        clauses: list[ast.comprehension] = []
        with self.inside(comprehension_scope(node, self.scope)), self.under(CONTROL):
            self.may_bind = may_bind
            for number, generator in enumerate(node.generators):
                if number:
                    with self.unbinding():
                        over = self.pair(generator.iter)
                    self._pin(clauses)
                    pairs = self._each(generator, site, self.control, over, dropped)
                else:
                    pairs = self._each(generator, site, outer, load_name(source), dropped)
                self._loop(clauses, generator, site, pairs)
                for condition in generator.ifs:
                    self._condition(clauses, site, condition)
            if isinstance(node, ast.GeneratorExp):
                yielded = self._yielded(clauses, site, node.elt, dropped)
                element = self.tagged_call("yield_from_expression", site, yielded)
                return ast.GeneratorExp(element, clauses)
            return ast.ListComp(tuple_node(self._collected(node), self.control), clauses)

    def _collected(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> ast.expr:
        """The pair, or the pairs of an element that is unpacked; of a dict, key and value."""
        if isinstance(node, ast.DictComp):
            if node.value is None:
                return runtime_call(
                    "spread_mapping", self.site(node.key), self.control, self.pair(node.key)
                )
            return tuple_node(self.pair(node.key), self.pair(node.value))
        if isinstance(node.elt, ast.Starred):
            asks_length = constant(isinstance(node, ast.ListComp))
            return runtime_call(
                "spread_starred", self.site(node.elt), self.control, self.pair(node.elt.value),
                asks_length,
            )  # fmt: skip
        return self.pair(node.elt)

    def _yielded(
        self, clauses: list[ast.comprehension], site: ast.expr, element: ast.expr, dropped: str
    ) -> ast.expr:
        """The pair that a generator expression yields; an unpacked element is one more loop."""
        if not isinstance(element, ast.Starred):
            return self.pair(element)
        if self.may_bind:
            # As a condition, which always holds: `e` may use `:=`, which no iterable may.
            source = self.temporary()
            clauses[-1].ifs.append(named_expression(source, self.pair(element.value)))
            over: ast.expr = load_name(source)
        else:
            over = self.pair(element.value)
        value = self.temporary()
        loop = ast.comprehension(store_name(value), element.value, [], 0)
        self._loop(clauses, loop, site, self._each(loop, site, self.control, over, dropped))
        return tuple_node(load_name(value), load_name(shadow_name(value)))

    def _each(
        self, generator: ast.comprehension, site: ast.expr, control: ast.expr, over: ast.expr,
        dropped: str
    ) -> ast.expr:  # fmt: skip
        name = "AsyncRounds" if generator.is_async else "iterate"
        return runtime_call(name, site, control, over, load_name(dropped))

    def _loop(
        self, clauses: list[ast.comprehension], generator: ast.comprehension, site: ast.expr,
        pairs: ast.expr
    ) -> None:  # fmt: skip
        target, is_async = generator.target, generator.is_async
        if isinstance(target, ast.Name):
            here = target_tuple(target, store_name(shadow_name(target.id)))
            clauses.append(_clause(target_tuple(here, store_name(CONTROL)), pairs, is_async))
            return
        whole = self.temporary()
        clauses.append(
            _clause(target_tuple(store_name(whole), store_name(CONTROL)), pairs, is_async)
        )
        parts = runtime_call(
            "unpack_all", site, load_name(CONTROL), load_name(whole), spread_of(target)
        )
        clauses.append(_clause(_pattern(target), ast.List([parts], ast.Load())))

    def _condition(
        self, clauses: list[ast.comprehension], site: ast.expr, condition: ast.expr
    ) -> None:
        if not self.may_bind:
            tested = self.tagged_call("condition_rounds", site, self.truth(condition))
            clauses.append(_clause(store_name(CONTROL), tested))
            return
        test = self.temporary()
        tested = named_expression(
            test, self.tagged_call("test_condition", site, self.truth(condition))
        )
        clauses[-1].ifs.append(at_location_of(test_outcome_of(tested), condition))
        self.control_name = test

    def _pin(self, clauses: list[ast.comprehension]) -> None:
        """Bind the control to a variable of the comprehension: other code may run in between."""
        if self.control_name != CONTROL:
            clauses.append(_clause(store_name(CONTROL), ast.List([self.control], ast.Load())))
            self.control_name = CONTROL


def _clause(target: ast.expr, over: ast.expr, is_async: int = 0) -> ast.comprehension:
    return ast.comprehension(target, over, [], is_async)


def _is_simple(target: ast.expr) -> bool:
    return not any(isinstance(node, (ast.Attribute, ast.Subscript)) for node in walk(target))


def spread_of(target: ast.expr) -> ast.expr:
    """How a target unpacks: the number of parts, the starred one, and the same for each part."""
    parts = target.elts  # type: ignore[attr-defined]
    starred = [number for number, part in enumerate(parts) if isinstance(part, ast.Starred)]
    inner = [part.value if isinstance(part, ast.Starred) else part for part in parts]
    below = [
        spread_of(part) if isinstance(part, (ast.Tuple, ast.List)) else constant(None)
        for part in inner
    ]
    return tuple_node(
        constant(len(parts)), constant(starred[0] if starred else -1), tuple_node(*below)
    )


def _pattern(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Starred):
        return _pattern(target.value)
    if isinstance(target, ast.Name):
        return target_tuple(target, store_name(shadow_name(target.id)))
    return target_tuple(*(_pattern(elt) for elt in target.elts))  # type: ignore[attr-defined]
