"""Rewrites expressions: each becomes one that gives a value and its tag.

Operands are evaluated in the order of the language, each once. What is called is called from the
very frame that called it before: `@.result(k := @.prepare(…), k.function(*k.arguments, …))`, so
that it sees the same callers, and no recursion gets deeper.
"""

from __future__ import annotations

import ast
import builtins
import copy
import sys
from collections.abc import Callable
from typing import Any

from whence.langs.python.provenance.rewriter.rewriter_state import Base
from whence.langs.python.provenance.rewriter.syntax_nodes import (
    FRAME,
    bind,
    call,
    changes,
    constant,
    fixed,
    helper,
    item,
    located,
    outcome,
    read,
    several,
    shadow,
    suspends,
    thunk,
)
from whence.langs.python.source.scopes import CLASS, LOCAL, own_nodes

_NEED_THE_FRAME = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}
_CALL = "_@K"
_NOTHING = constant(None)


class Expressions(Base):
    """Expressions, but for comprehensions and lambda."""

    def pair(self, node: ast.expr) -> ast.expr:
        """An expression that gives (value, tag)."""
        rewrite = getattr(self, f"pair_{type(node).__name__}", self.native)
        return located(rewrite(node), node)

    def truth(self, node: ast.expr) -> ast.expr:
        """The same where nothing but whether the value is true is asked for: what `and` and the
        like have found out of an operand is not asked again."""
        match node:
            case ast.Compare():
                made = self._compared(node, for_truth=True)
            case ast.BoolOp():
                made = self._one_of(node, for_truth=True)
            case ast.IfExp():
                made = self._conditional(node, self.truth)
            case ast.UnaryOp(op=ast.Not()):
                made = self._applied(node, self.truth(node.operand))
            case _:
                return self.pair(node)
        return located(made, node)

    def value(self, node: ast.expr) -> ast.expr:
        """An expression whose tag is of no use."""
        return located(item(self.pair(node), 0), node)

    def native(self, node: ast.expr) -> ast.expr:
        """An expression that is evaluated as it is: what it gives needs all it names."""
        names = {
            each.id
            for each in own_nodes(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
        }
        known = [read(shadow(each)) for each in sorted(names) if self.has_shadow(each)]
        return several(self.quiet(node), call("opaque", self.site(node), self.control, *known))

    def quiet(self, node: ast.expr) -> ast.expr:
        """The expression itself, with functions in it rewritten."""
        raise NotImplementedError

    # --- names and constants -------------------------------------------------------------------

    def pair_Constant(self, node: ast.Constant) -> ast.expr:  # noqa: N802
        return several(node, fixed(self.site(node), self.control))

    def pair_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        kind = self.resolve(node.id)
        if kind == LOCAL:
            cell = self.scope.cell(node.id)
            if not cell:
                return several(node, read(shadow(node.id)))
            return call("load_cell", self.site(node), self.control, constant(cell), node,
                        read(shadow(node.id)))  # fmt: skip
        is_fixed = (
            node.id in self.fixed_variables
            if node.id in self.variables
            else (hasattr(builtins, node.id))
        )
        if kind == CLASS or is_fixed:
            return several(node, _NOTHING)
        return call("load_global", self.site(node), self.control, self.module,
                    constant(node.id), node)  # fmt: skip

    def pair_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:  # noqa: N802
        name = node.target.id
        made = self.temporary()
        steps = [bind(made, self.pair(node.value)), bind(name, item(read(made), 0))]
        if self.scope.function.resolve(name) == LOCAL:
            steps.append(bind(shadow(name), item(read(made), 1)))
        else:
            steps.append(call("store_global", self.site(node), self.control, self.module,
                              constant(name), read(made)))  # fmt: skip
        return call("first", *steps)

    # --- operators -----------------------------------------------------------------------------

    def pair_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802
        return call(type(node.op).__name__, self.site(node), self.control, self.pair(node.left),
                    self.pair(node.right))  # fmt: skip

    def pair_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:  # noqa: N802
        return self._applied(node, self.pair(node.operand))

    def _applied(self, node: ast.UnaryOp, operand: ast.expr) -> ast.expr:
        return call("unary", constant(type(node.op).__name__), self.site(node), self.control,
                    operand)  # fmt: skip

    def pair_Compare(self, node: ast.Compare) -> ast.expr:  # noqa: N802
        return self._compared(node, for_truth=False)

    def _compared(self, node: ast.Compare, *, for_truth: bool) -> ast.expr:
        site = self.site(node)

        def step(left: ast.expr, number: int) -> ast.expr:
            operator = type(node.ops[number]).__name__
            right = self.pair(node.comparators[number])
            if number == len(node.ops) - 1:
                return call(operator, site, self.control, left, right)
            kept = self.temporary()
            here = call(operator, site, self.control, left, bind(kept, right))

            def rest() -> ast.expr:
                return step(read(kept), number + 1)

            return self._chosen(site, here, rest, both=False, for_truth=for_truth)

        if len(node.ops) > 1 and not self.may_bind:
            return self.native(node)
        return step(self.pair(node.left), 0)

    def pair_BoolOp(self, node: ast.BoolOp) -> ast.expr:  # noqa: N802
        return self._one_of(node, for_truth=False)

    def _one_of(self, node: ast.BoolOp, *, for_truth: bool) -> ast.expr:
        site = self.site(node)
        stops_when = isinstance(node.op, ast.Or)
        operand = self.truth if for_truth else self.pair
        if not self.may_bind and any(suspends(each) for each in node.values[1:]):
            return self.native(node)

        def step(values: list[ast.expr]) -> ast.expr:
            if len(values) == 1:
                return operand(values[0])
            first, rest = operand(values[0]), values[1:]
            return self._chosen(
                site, first, lambda: step(rest), stops_when, for_truth, decides=changes(rest)
            )

        return step(node.values)

    def _chosen(
        self, site: ast.expr, left: ast.expr, right: Callable[[], ast.expr], both: bool,
        for_truth: bool, *, decides: bool = False,
    ) -> ast.expr:  # fmt: skip
        """The left operand, or the right one if the left one's truth is not `both`."""
        if not self.may_bind:
            return call("shortcut", site, self.control, constant(both), left, thunk(right()),
                        constant(for_truth))  # fmt: skip
        kept, test = self.temporary(), self.temporary()
        name = "test_and_note" if decides else "test"
        condition = outcome(bind(test, call(name, site, self.control, bind(kept, left))))
        outer = self.control
        with self.under(test):
            other = right()
        found = several(constant(both), item(read(kept), 1)) if for_truth else read(kept)
        first, second = (found, other) if both else (other, found)
        picked = ast.IfExp(condition, first, second)
        return call("select", site, outer, picked, read(test))

    def pair_IfExp(self, node: ast.IfExp) -> ast.expr:  # noqa: N802
        return self._conditional(node, self.pair)

    def _conditional(self, node: ast.IfExp, branch: Callable[[ast.expr], ast.expr]) -> ast.expr:
        site = self.site(node)
        test = self.truth(node.test)
        if not self.may_bind:
            if suspends(node.body) or suspends(node.orelse):
                return self.native(node)
            return call("choose", site, self.control, test, thunk(branch(node.body)),
                        thunk(branch(node.orelse)))  # fmt: skip
        kept = self.temporary()
        name = "test_and_note" if changes([node.body, node.orelse]) else "test"
        condition = outcome(bind(kept, call(name, site, self.control, test)))
        outer = self.control
        with self.under(kept):
            picked = ast.IfExp(condition, branch(node.body), branch(node.orelse))
        return call("select", site, outer, picked, read(kept))

    # --- what is made of parts -----------------------------------------------------------------

    def pairs(self, node: ast.expr, elements: list[ast.expr]) -> ast.expr:
        """A tuple of pairs; what is starred gives any number of them."""
        made: list[ast.expr] = []
        asks = () if _asks_for_lengths(node, elements) else (constant(False),)
        for each in elements:
            if isinstance(each, ast.Starred):
                where = self.site(each), self.control
                made.append(call("spread", *where, self.pair(each.value), *asks))
            else:
                made.append(self.pair(each))
        if not any(isinstance(each, ast.Starred) for each in elements):
            return several(*made)
        return call("spread_out", self.site(node), self.control, several(*made))

    def pair_Tuple(self, node: ast.Tuple) -> ast.expr:  # noqa: N802
        return call("make_tuple", self.site(node), self.control, self.pairs(node, node.elts))

    def pair_List(self, node: ast.List) -> ast.expr:  # noqa: N802
        return call("make_list", self.site(node), self.control, self.pairs(node, node.elts))

    def pair_Set(self, node: ast.Set) -> ast.expr:  # noqa: N802
        return call("make_set", self.site(node), self.control, self.pairs(node, node.elts))

    def pair_Dict(self, node: ast.Dict) -> ast.expr:  # noqa: N802
        entries = [
            several(self.pair(key) if key is not None else _NOTHING, self.pair(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return call("display_dict", self.site(node), self.control, several(*entries))

    def pair_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:  # noqa: N802
        parts = [
            several(each, _NOTHING) if isinstance(each, ast.Constant) else self.pair(each)
            for each in node.values
        ]
        return call("joined", self.site(node), self.control, several(*parts))

    def pair_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:  # noqa: N802
        how = self.pair(node.format_spec) if node.format_spec is not None else _NOTHING
        return call("formatted", self.site(node), self.control, self.pair(node.value),
                    constant(node.conversion), how)  # fmt: skip

    def pair_TemplateStr(self, node: Any) -> ast.expr:  # noqa: N802
        """`t"…"`: made as it always is, of values that are kept with their tags on the way."""
        if not self.may_bind:
            return self.native(node)
        parts: list[ast.expr] = []
        values = [
            each if isinstance(each, ast.Constant) else self._interpolation(each, parts)
            for each in node.values
        ]
        made = type(node)(values)
        return call("template", self.site(node), self.control, made, several(*parts))

    def _interpolation(self, node: Any, parts: list[ast.expr]) -> ast.expr:
        given, how = self.temporary(), _NOTHING
        made = copy.copy(node)
        made.value = item(bind(given, self.pair(node.value)), 0)
        if node.format_spec is not None:
            form = self.temporary()
            made.format_spec = item(bind(form, self.pair(node.format_spec)), 0)
            how = read(form)
        parts.append(several(read(given), how))
        placed: ast.expr = located(made, node)
        return placed

    def pair_Attribute(self, node: ast.Attribute) -> ast.expr:  # noqa: N802
        if node.attr == "__closure__":
            return call("closure", self.site(node), self.control, self.pair(node.value))
        name = constant(self.scope.mangled(node.attr))
        return call("attribute", self.site(node), self.control, self.pair(node.value), name)

    def pair_Subscript(self, node: ast.Subscript) -> ast.expr:  # noqa: N802
        return call("subscript", self.site(node), self.control, self.pair(node.value),
                    self.pair(node.slice))  # fmt: skip

    def pair_Slice(self, node: ast.Slice) -> ast.expr:  # noqa: N802
        bounds = (node.lower, node.upper, node.step)
        parts = [self.pair(each) if each is not None else _NOTHING for each in bounds]
        return call("make_slice", self.site(node), self.control, *parts)

    # --- calls ---------------------------------------------------------------------------------

    def pair_Call(self, node: ast.Call) -> ast.expr:  # noqa: N802
        function = node.func
        if isinstance(function, ast.Name) and function.id in _NEED_THE_FRAME:  # noqa: SIM102
            if self.is_builtin(function.id):
                return self._in_frame(node, function.id)
        site = self.site(node)
        called = self.pair(function)
        arguments = self.pairs(node, node.args)
        if any(each.arg is None for each in node.keywords):
            entries = [several(constant(each.arg), self.pair(each.value)) for each in node.keywords]
            named = call("keywords", site, self.control, several(*entries))
        elif node.keywords:
            names: list[ast.expr | None] = [constant(each.arg) for each in node.keywords]
            named = ast.Dict(names, [self.pair(each.value) for each in node.keywords])
        else:
            named = helper("NO_KEYWORDS")
        parts = (site, self.control, called, arguments, named)
        if not self.may_bind:
            return call("call_here", *parts)
        prepared = bind(_CALL, call("prepare", *parts))
        if self.scope.function.kind == "module" and _CALL not in self.module_variables:
            self.module_variables.append(_CALL)
        real = ast.Call(
            ast.Attribute(read(_CALL), "function", ast.Load()),
            [ast.Starred(ast.Attribute(read(_CALL), "arguments", ast.Load()), ast.Load())],
            [ast.keyword(None, ast.Attribute(read(_CALL), "keywords", ast.Load()))]
            if node.keywords
            else [],
        )
        return call("result", prepared, real)

    def _in_frame(self, node: ast.Call, name: str) -> ast.expr:
        """A call of something that looks at the frame it is called from."""
        site = self.site(node)
        if name == "super":
            scope = self.scope.function
            owner = read(shadow(scope.first)) if scope.first else _NOTHING
            return several(node, owner)
        if name in {"locals", "vars", "dir"} and not node.args and not node.keywords:
            if self.scope.function.kind == "function":
                return several(call("own_names", node), call("opaque", site, self.control))
            return several(node, call("opaque", site, self.control))
        if name in {"vars", "dir"} or any(isinstance(each, ast.Starred) for each in node.args):
            return call("call_here", site, self.control, self.pair(node.func),
                        self.pairs(node, node.args), ast.Dict([], []))  # fmt: skip
        if node.keywords or not self.may_bind:
            return self.native(node)
        kept = [self.temporary() for _ in node.args]
        values: list[ast.expr] = [
            item(bind(name, self.pair(each)), 0) for name, each in zip(kept, node.args, strict=True)
        ]
        done = ast.Call(node.func, values, [])
        if name in {"eval", "exec"}:
            given = [read(each) for each in kept]
            return several(done, call("opaque_in_frame", site, self.control, *given))
        tags = [item(read(each), 1) for each in kept]
        return several(done, call("opaque", site, self.control, *tags))

    # --- what suspends -------------------------------------------------------------------------

    def pair_Yield(self, node: ast.Yield) -> ast.expr:  # noqa: N802
        site = self.site(node)
        nothing = several(_NOTHING, fixed(site, self.control))
        given = self.pair(node.value) if node.value is not None else nothing
        out = ast.Yield(call("out", read(FRAME), site, self.control, given))
        return call("resumed", read(FRAME), site, self.control, out)

    def pair_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:  # noqa: N802
        site, kept = self.site(node), self.temporary()
        source = bind(kept, self.pair(node.value))
        passed = ast.YieldFrom(call("delegate", read(FRAME), site, self.control, read(kept)))
        return call("delegated", read(FRAME), site, self.control, source, passed)

    def pair_Await(self, node: ast.Await) -> ast.expr:  # noqa: N802
        if not self.may_bind:
            return self.native(node)
        site, kept = self.site(node), self.temporary()
        waited = ast.Await(call("waiting", read(kept)))
        return call("awaited", site, self.control, bind(kept, self.pair(node.value)), waited)


def _asks_for_lengths(node: ast.expr, elements: list[ast.expr]) -> bool:
    """Whether what is starred is asked how long it is: not for a set, and from 3.14 on not where it
    gives all arguments of a call."""
    if isinstance(node, ast.Call) and len(elements) == 1:
        return sys.version_info < (3, 14)
    return not isinstance(node, ast.Set)
