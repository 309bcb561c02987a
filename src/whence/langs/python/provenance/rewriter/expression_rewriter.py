"""Rewrites expressions: each becomes one that gives a value and its tag.

Operands are evaluated once each, in the order of the language. A call is still made from the
program's own frame: `@.finish_call(k := @.prepare_call(…), k.function(*k.arguments, …))`. So the
callee sees the same callers, and no recursion gets deeper.
"""

from __future__ import annotations

import ast
import builtins
import copy
import sys
from collections.abc import Callable
from typing import Any

from whence.langs.python.provenance.rewriter.rewriter_state import RewriterState
from whence.langs.python.provenance.rewriter.syntax_nodes import (
    FRAME,
    at_location_of,
    constant,
    load_name,
    may_change_state,
    named_expression,
    runtime_call,
    runtime_name,
    shadow_name,
    suspends,
    test_outcome_of,
    thunk,
    tuple_item,
    tuple_node,
)
from whence.langs.python.source.scopes import CLASS, LOCAL, own_nodes

_NEED_THE_FRAME = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}
_CALL = "_@K"
_NOTHING = constant(None)


class ExpressionRewriter(RewriterState):
    """Rewrites all expressions except comprehensions and lambdas.

    One method for each kind of syntax node, with their helpers: it has many methods because the
    language has many nodes, and no state of its own.
    """

    def pair(self, node: ast.expr) -> ast.expr:
        """An expression that gives (value, tag)."""
        rewrite = getattr(self, f"pair_{type(node).__name__}", self.native)
        return at_location_of(rewrite(node), node)

    def truth(self, node: ast.expr) -> ast.expr:
        """The same where only the truth of the value matters: if `and` and `or` have tested an
        operand, it is not tested again.
        """
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
        return at_location_of(made, node)

    def value(self, node: ast.expr) -> ast.expr:
        """An expression whose tag is not needed."""
        return at_location_of(tuple_item(self.pair(node), 0), node)

    def native(self, node: ast.expr) -> ast.expr:
        """An expression that is evaluated unchanged: it needs everything that it names."""
        names = {
            inner.id
            for inner in own_nodes(node)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
        }
        shadows = [load_name(shadow_name(name)) for name in sorted(names) if self.has_shadow(name)]
        return tuple_node(
            self.quiet(node), self.tagged_call("opaque_tag", self.site(node), *shadows)
        )

    def quiet(self, node: ast.expr) -> ast.expr:
        """The unchanged expression, with functions in it rewritten."""
        raise NotImplementedError

    # --- names and constants -------------------------------------------------------------------

    def pair_Constant(self, node: ast.Constant) -> ast.expr:  # noqa: N802
        return tuple_node(node, self.tagged_call("constant", self.site(node)))

    def pair_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        kind = self.resolve(node.id)
        if kind == LOCAL:
            cell = self.scope.cell(node.id)
            if not cell:
                return tuple_node(node, load_name(shadow_name(node.id)))
            return self.tagged_call(
                "load_cell", self.site(node), constant(cell), node, load_name(shadow_name(node.id))
            )
        if node.id in self.variables:
            is_fixed = node.id in self.fixed_variables
        else:
            is_fixed = hasattr(builtins, node.id)
        if kind == CLASS or is_fixed:
            return tuple_node(node, _NOTHING)
        return self.tagged_call(
            "load_global", self.site(node), self.module, constant(node.id), node
        )

    def pair_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:  # noqa: N802
        name = node.target.id
        made = self.temporary()
        steps = [
            named_expression(made, self.pair(node.value)),
            named_expression(name, tuple_item(load_name(made), 0)),
        ]
        if self.scope.function.resolve(name) == LOCAL:
            steps.append(named_expression(shadow_name(name), tuple_item(load_name(made), 1)))
        else:
            steps.append(
                self.tagged_call(
                    "store_global", self.site(node), self.module, constant(name), load_name(made)
                )
            )
        return runtime_call("first_of", *steps)

    # --- operators -----------------------------------------------------------------------------

    def pair_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802
        return self.tagged_call(
            type(node.op).__name__, self.site(node), self.pair(node.left), self.pair(node.right)
        )

    def pair_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:  # noqa: N802
        return self._applied(node, self.pair(node.operand))

    def _applied(self, node: ast.UnaryOp, operand: ast.expr) -> ast.expr:
        return runtime_call(
            "unary", constant(type(node.op).__name__), self.site(node), self.control, operand
        )

    def pair_Compare(self, node: ast.Compare) -> ast.expr:  # noqa: N802
        return self._compared(node, for_truth=False)

    def _compared(self, node: ast.Compare, *, for_truth: bool) -> ast.expr:
        site = self.site(node)

        def step(left: ast.expr, number: int) -> ast.expr:
            operator = type(node.ops[number]).__name__
            right = self.pair(node.comparators[number])
            if number == len(node.ops) - 1:
                return self.tagged_call(operator, site, left, right)
            kept = self.temporary()
            here = self.tagged_call(operator, site, left, named_expression(kept, right))

            def rest() -> ast.expr:
                return step(load_name(kept), number + 1)

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
        if not self.may_bind and any(suspends(value) for value in node.values[1:]):
            return self.native(node)

        def step(values: list[ast.expr]) -> ast.expr:
            if len(values) == 1:
                return operand(values[0])
            first, rest = operand(values[0]), values[1:]
            return self._chosen(
                site,
                first,
                lambda: step(rest),
                stops_when,
                for_truth,
                decides=may_change_state(rest),
            )

        return step(node.values)

    def _chosen(
        self, site: ast.expr, left: ast.expr, right: Callable[[], ast.expr], both: bool,
        for_truth: bool, *, decides: bool = False
    ) -> ast.expr:  # fmt: skip
        """The left operand, or the right one if the left one's truth is not `both`."""
        if not self.may_bind:
            return self.tagged_call(
                "short_circuit", site, constant(both), left, thunk(right()), constant(for_truth)
            )
        kept, test = self.temporary(), self.temporary()
        name = "test_and_note" if decides else "test"
        condition = test_outcome_of(
            named_expression(test, self.tagged_call(name, site, named_expression(kept, left)))
        )
        outer = self.control
        with self.under(test):
            other = right()
        stopped = (
            tuple_node(constant(both), tuple_item(load_name(kept), 1))
            if for_truth
            else load_name(kept)
        )
        first, second = (stopped, other) if both else (other, stopped)
        picked = ast.IfExp(condition, first, second)
        return runtime_call("select", site, outer, picked, load_name(test))

    def pair_IfExp(self, node: ast.IfExp) -> ast.expr:  # noqa: N802
        return self._conditional(node, self.pair)

    def _conditional(self, node: ast.IfExp, branch: Callable[[ast.expr], ast.expr]) -> ast.expr:
        site = self.site(node)
        test = self.truth(node.test)
        if not self.may_bind:
            if suspends(node.body) or suspends(node.orelse):
                return self.native(node)
            return self.tagged_call(
                "choose_branch", site, test, thunk(branch(node.body)), thunk(branch(node.orelse))
            )
        kept = self.temporary()
        name = "test_and_note" if may_change_state([node.body, node.orelse]) else "test"
        condition = test_outcome_of(named_expression(kept, self.tagged_call(name, site, test)))
        outer = self.control
        with self.under(kept):
            picked = ast.IfExp(condition, branch(node.body), branch(node.orelse))
        return runtime_call("select", site, outer, picked, load_name(kept))

    # --- what is made of parts -----------------------------------------------------------------

    def pairs(self, node: ast.expr, elements: list[ast.expr]) -> ast.expr:
        """A tuple of pairs; a starred element gives any number of them."""
        made: list[ast.expr] = []
        asks = () if _asks_for_lengths(node, elements) else (constant(False),)
        for element in elements:
            if isinstance(element, ast.Starred):
                site = self.site(element)
                made.append(
                    self.tagged_call("spread_starred", site, self.pair(element.value), *asks)
                )
            else:
                made.append(self.pair(element))
        if not any(isinstance(element, ast.Starred) for element in elements):
            return tuple_node(*made)
        return self.tagged_call("spread_elements", self.site(node), tuple_node(*made))

    def pair_Tuple(self, node: ast.Tuple | ast.List | ast.Set) -> ast.expr:  # noqa: N802
        maker = f"make_{type(node).__name__.lower()}"
        return self.tagged_call(maker, self.site(node), self.pairs(node, node.elts))

    pair_List = pair_Set = pair_Tuple  # noqa: N815

    def pair_Dict(self, node: ast.Dict) -> ast.expr:  # noqa: N802
        entries = [
            tuple_node(self.pair(key) if key is not None else _NOTHING, self.pair(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return self.tagged_call("display_dict", self.site(node), tuple_node(*entries))

    def pair_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:  # noqa: N802
        parts = [
            tuple_node(value, _NOTHING) if isinstance(value, ast.Constant) else self.pair(value)
            for value in node.values
        ]
        return self.tagged_call("join_pieces", self.site(node), tuple_node(*parts))

    def pair_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:  # noqa: N802
        how = self.pair(node.format_spec) if node.format_spec is not None else _NOTHING
        return self.tagged_call("format_value", self.site(node), self.pair(node.value),
                    constant(node.conversion), how)  # fmt: skip

    def pair_TemplateStr(self, node: Any) -> ast.expr:  # noqa: N802
        """`t"…"`: made as it always is, of values that are kept with their tags on the way."""
        if not self.may_bind:
            return self.native(node)
        parts: list[ast.expr] = []
        values = [
            value if isinstance(value, ast.Constant) else self._interpolation(value, parts)
            for value in node.values
        ]
        made = type(node)(values)
        return self.tagged_call("template", self.site(node), made, tuple_node(*parts))

    def _interpolation(self, node: Any, parts: list[ast.expr]) -> ast.expr:
        value, how = self.temporary(), _NOTHING
        made = copy.copy(node)
        made.value = tuple_item(named_expression(value, self.pair(node.value)), 0)
        if node.format_spec is not None:
            form = self.temporary()
            made.format_spec = tuple_item(named_expression(form, self.pair(node.format_spec)), 0)
            how = load_name(form)
        parts.append(tuple_node(load_name(value), how))
        placed: ast.expr = at_location_of(made, node)
        return placed

    def pair_Attribute(self, node: ast.Attribute) -> ast.expr:  # noqa: N802
        if node.attr == "__closure__":
            return self.tagged_call("closure", self.site(node), self.pair(node.value))
        name = constant(self.scope.mangled(node.attr))
        return self.tagged_call("attribute", self.site(node), self.pair(node.value), name)

    def pair_Subscript(self, node: ast.Subscript) -> ast.expr:  # noqa: N802
        return self.tagged_call("subscript", self.site(node), self.pair(node.value),
                    self.pair(node.slice))  # fmt: skip

    def pair_Slice(self, node: ast.Slice) -> ast.expr:  # noqa: N802
        bounds = (node.lower, node.upper, node.step)
        parts = [self.pair(bound) if bound is not None else _NOTHING for bound in bounds]
        return self.tagged_call("make_slice", self.site(node), *parts)

    # --- calls ---------------------------------------------------------------------------------

    def pair_Call(self, node: ast.Call) -> ast.expr:  # noqa: N802
        function = node.func
        if isinstance(function, ast.Name) and function.id in _NEED_THE_FRAME:  # noqa: SIM102
            if self.is_builtin(function.id):
                return self._in_frame(node, function.id)
        site = self.site(node)
        called = self.pair(function)
        arguments = self.pairs(node, node.args)
        if any(keyword.arg is None for keyword in node.keywords):
            entries = [
                tuple_node(constant(keyword.arg), self.pair(keyword.value))
                for keyword in node.keywords
            ]
            named = self.tagged_call("collect_keywords", site, tuple_node(*entries))
        elif node.keywords:
            names: list[ast.expr | None] = [constant(keyword.arg) for keyword in node.keywords]
            named = ast.Dict(names, [self.pair(keyword.value) for keyword in node.keywords])
        else:
            named = runtime_name("NO_KEYWORDS")
        parts = (site, called, arguments, named)
        if not self.may_bind:
            return self.tagged_call("call_with_tags", *parts)
        prepared = named_expression(_CALL, self.tagged_call("prepare_call", *parts))
        if self.scope.function.kind == "module" and _CALL not in self.module_variables:
            self.module_variables.append(_CALL)
        real = ast.Call(
            ast.Attribute(load_name(_CALL), "function", ast.Load()),
            [ast.Starred(ast.Attribute(load_name(_CALL), "arguments", ast.Load()), ast.Load())],
            [ast.keyword(None, ast.Attribute(load_name(_CALL), "keywords", ast.Load()))]
            if node.keywords
            else [],
        )
        return runtime_call("finish_call", prepared, real)

    def _in_frame(self, node: ast.Call, name: str) -> ast.expr:
        """A call of something that inspects the calling frame."""
        site = self.site(node)
        if name == "super":
            scope = self.scope.function
            owner = load_name(shadow_name(scope.first)) if scope.first else _NOTHING
            return tuple_node(node, owner)
        if name in {"locals", "vars", "dir"} and not node.args and not node.keywords:
            if self.scope.function.kind == "function":
                return self.tagged_call("frame_names", site, node)
            return tuple_node(node, self.tagged_call("opaque_frame_tag", site))
        if name in {"vars", "dir"} or any(isinstance(arg, ast.Starred) for arg in node.args):
            return self.tagged_call(
                "call_with_tags",
                site,
                self.pair(node.func),
                self.pairs(node, node.args),
                ast.Dict([], []),
            )
        if node.keywords or not self.may_bind:
            return self.native(node)
        kept = [self.temporary() for _ in node.args]
        values: list[ast.expr] = [
            tuple_item(named_expression(name, self.pair(arg)), 0)
            for name, arg in zip(kept, node.args, strict=True)
        ]
        done = ast.Call(node.func, values, [])
        if name in {"eval", "exec", "globals"}:
            operands = [load_name(variable) for variable in kept]
            return tuple_node(done, self.tagged_call("opaque_frame_tag", site, *operands))
        tags = [tuple_item(load_name(variable), 1) for variable in kept]
        return tuple_node(done, self.tagged_call("opaque_tag", site, *tags))

    # --- what suspends -------------------------------------------------------------------------

    def pair_Yield(self, node: ast.Yield) -> ast.expr:  # noqa: N802
        site = self.site(node)
        yielded = self.pair(node.value) if node.value is not None else self.none_pair(site)
        out = ast.Yield(runtime_call("yield_value", load_name(FRAME), site, self.control, yielded))
        return runtime_call("resume_with", load_name(FRAME), site, self.control, out)

    def pair_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:  # noqa: N802
        site, kept = self.site(node), self.temporary()
        source = named_expression(kept, self.pair(node.value))
        passed = ast.YieldFrom(
            runtime_call("delegate", load_name(FRAME), site, self.control, load_name(kept))
        )
        return runtime_call("end_delegation", load_name(FRAME), site, self.control, source, passed)

    def pair_Await(self, node: ast.Await) -> ast.expr:  # noqa: N802
        if not self.may_bind:
            return self.native(node)
        site, kept = self.site(node), self.temporary()
        waited = ast.Await(tuple_item(load_name(kept), 0))
        return self.tagged_call(
            "await_result", site, named_expression(kept, self.pair(node.value)), waited
        )


def _asks_for_lengths(node: ast.expr, elements: list[ast.expr]) -> bool:
    """Whether the interpreter asks starred iterables for their length: not for a set, and from
    3.14 on not if the iterable gives all arguments of a call.
    """
    if isinstance(node, ast.Call) and len(elements) == 1:
        return sys.version_info < (3, 14)
    return not isinstance(node, ast.Set)
