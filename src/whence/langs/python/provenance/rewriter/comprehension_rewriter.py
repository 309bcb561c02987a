"""Rewrites comprehensions and generator expressions.

`[e for x in xs if c]` stays one: it loops over pairs and collects pairs, each with the control it
was made under, and `@.list_of` makes the list of them. What a condition drops is noted too, for
the places of the rest depend on it. A generator expression stays a generator of plain values; the
tag of each is handed over beside it (`@.out_of`).
"""

from __future__ import annotations

import ast

from whence.langs.python.provenance.rewriter.expression_rewriter import Expressions
from whence.langs.python.provenance.rewriter.syntax_nodes import (
    CONTROL,
    bind,
    call,
    constant,
    located,
    outcome,
    read,
    several,
    shadow,
    suspends,
    targets,
    thunk,
    write,
)
from whence.langs.python.source.scopes import comprehension_scope, walk

_MAKERS = {ast.ListComp: "list_of", ast.SetComp: "set_of", ast.DictComp: "dict_of"}
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Comprehensions(Expressions):
    """Comprehensions, in all their forms."""

    def pair_ListComp(self, node: ast.ListComp) -> ast.expr:  # noqa: N802
        return self._comprehension(node)

    def pair_SetComp(self, node: ast.SetComp) -> ast.expr:  # noqa: N802
        return self._comprehension(node)

    def pair_DictComp(self, node: ast.DictComp) -> ast.expr:  # noqa: N802
        return self._comprehension(node)

    def pair_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:  # noqa: N802
        return self._comprehension(node)

    def _comprehension(self, node: _Comprehension) -> ast.expr:
        if any(not _is_simple(each.target) for each in node.generators):
            return self.native(node)
        if not self.may_bind and suspends(node):
            return self.native(node)
        site, outer = self.site(node), self.control
        maker = _MAKERS.get(type(node), "generator_of")
        dropped, source = self.temporary(), self.temporary()
        first = self.pair(node.generators[0].iter)
        made = self._made(node, site, dropped, source)
        if self.may_bind:
            return call(maker, site, outer, bind(dropped, ast.List([], ast.Load())),
                        bind(source, first), made)  # fmt: skip
        lazily = thunk(made, dropped, source)
        return call("comprehended", constant(maker), site, outer, first, lazily)

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
                    pairs = self._each(generator, site, outer, read(source), dropped)
                self._loop(clauses, generator, site, pairs)
                for condition in generator.ifs:
                    self._condition(clauses, site, condition)
            if isinstance(node, ast.GeneratorExp):
                element = call("out_of", site, self.control, self.pair(node.elt))
                return ast.GeneratorExp(element, clauses)
            if isinstance(node, ast.DictComp):
                made = several(self.pair(node.key), self.pair(node.value))
            else:
                made = self.pair(node.elt)
            return ast.ListComp(several(made, self.control), clauses)

    def _each(
        self, generator: ast.comprehension, site: ast.expr, control: ast.expr, over: ast.expr,
        dropped: str,
    ) -> ast.expr:  # fmt: skip
        name = "each_awaited" if generator.is_async else "each"
        return call(name, site, control, over, read(dropped))

    def _loop(
        self, clauses: list[ast.comprehension], generator: ast.comprehension, site: ast.expr,
        pairs: ast.expr,
    ) -> None:  # fmt: skip
        target, is_async = generator.target, generator.is_async
        if isinstance(target, ast.Name):
            here = targets(target, write(shadow(target.id)))
            clauses.append(_clause(targets(here, write(CONTROL)), pairs, is_async))
            return
        whole = self.temporary()
        clauses.append(_clause(targets(write(whole), write(CONTROL)), pairs, is_async))
        parts = call("unpack_all", site, read(CONTROL), read(whole), spread_of(target))
        clauses.append(_clause(_pattern(target), ast.List([parts], ast.Load())))

    def _condition(
        self, clauses: list[ast.comprehension], site: ast.expr, condition: ast.expr
    ) -> None:
        if not self.may_bind:
            tested = call("kept", site, self.control, self.truth(condition))
            clauses.append(_clause(write(CONTROL), tested))
            return
        test = self.temporary()
        tested = bind(test, call("keep", site, self.control, self.truth(condition)))
        clauses[-1].ifs.append(located(outcome(tested), condition))
        self.control_name = test

    def _pin(self, clauses: list[ast.comprehension]) -> None:
        """From here on the test is the comprehension's own variable: others may run between."""
        if self.control_name != CONTROL:
            clauses.append(_clause(write(CONTROL), ast.List([self.control], ast.Load())))
            self.control_name = CONTROL


def _clause(target: ast.expr, over: ast.expr, is_async: int = 0) -> ast.comprehension:
    return ast.comprehension(target, over, [], is_async)


def _is_simple(target: ast.expr) -> bool:
    return not any(isinstance(each, (ast.Attribute, ast.Subscript)) for each in walk(target))


def spread_of(target: ast.expr) -> ast.expr:
    """How a target unpacks: how many parts, which is starred, and the same of each part."""
    parts = target.elts  # type: ignore[attr-defined]
    starred = [number for number, each in enumerate(parts) if isinstance(each, ast.Starred)]
    inner = [each.value if isinstance(each, ast.Starred) else each for each in parts]
    below = [
        spread_of(each) if isinstance(each, (ast.Tuple, ast.List)) else constant(None)
        for each in inner
    ]
    return several(constant(len(parts)), constant(starred[0] if starred else -1), several(*below))


def _pattern(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Starred):
        return _pattern(target.value)
    if isinstance(target, ast.Name):
        return targets(target, write(shadow(target.id)))
    return targets(*(_pattern(each) for each in target.elts))  # type: ignore[attr-defined]
