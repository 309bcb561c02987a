"""Rewrites statements: assignments of every form, and control flow.

Each test becomes the control of what it decides. After a statement the control is what it was
before, unless a branch may leave (return, break, continue, raise): then everything that follows
depends on the test. Where branches join, every variable that one of them assigns depends on the
test, even if the branch that ran did not assign it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from whence.langs.python.provenance.rewriter.definition_rewriter import DefinitionRewriter
from whence.langs.python.provenance.rewriter.syntax_nodes import (
    CONTROL,
    FRAME,
    assign,
    at_location_of,
    constant,
    load_name,
    may_change_state,
    may_leave,
    named_expression,
    runtime_call,
    shadow_name,
    store_name,
    target_tuple,
    test_outcome_of,
    tuple_item,
)
from whence.langs.python.source.scopes import CLASS, GLOBAL, LOCAL, names_bound_in_scope, stored


class StatementRewriter(DefinitionRewriter):
    """Rewrites all statements; the last of the classes that together rewrite a module.

    State, expressions, comprehensions, definitions and statements are one recursive descent over
    one grammar: every level calls the levels below and above. They are one object in five files,
    because five objects would each have to know all the others.
    """

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, rewritten one by one."""
        out: list[ast.stmt] = []
        for statement in statements:
            rewrite = getattr(self, f"on_{type(statement).__name__}", self.as_it_is)
            out += [at_location_of(made, statement) for made in rewrite(statement)]
        return out or [ast.Pass()]

    def as_it_is(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement that computes no values."""
        names = sorted(name for name in names_bound_in_scope([node]) if self.has_shadow(name))
        return [node, *(assign(shadow_name(name), constant(None)) for name in names)]

    # --- assignments ---------------------------------------------------------------------------

    def on_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:  # noqa: N802
        out = self.as_it_is(node)
        for alias in node.names if node.module != "__future__" else ():
            name = alias.asname or alias.name
            if name != "*" and self.scope.kind == "module":
                names = constant(alias.name), constant(name)
                out.append(
                    self.tagged_statement("import_variable", self.site(node), self.module, *names)
                )
            elif name != "*":
                imported = self.tagged_call(
                    "imported_variable_tag", self.site(node), constant(alias.name), load_name(name)
                )
                out += self.keep_tag(name, node, imported)
        return out

    def store(self, target: ast.expr, pair: ast.expr, node: ast.AST) -> list[ast.stmt]:
        """Statements that assign a pair."""
        if isinstance(target, ast.Starred):
            return self.store(target.value, pair, node)
        if isinstance(target, ast.Name):
            return self._store_name(target, pair, node)
        site = self.site(node)
        if isinstance(target, ast.Attribute):
            name = constant(self.scope.mangled(target.attr))
            return [
                self.tagged_statement("set_attribute", site, pair, self.pair(target.value), name)
            ]
        if isinstance(target, ast.Subscript):
            return [
                self.tagged_statement(
                    "set_item", site, pair, self.pair(target.value), self.pair(target.slice)
                )
            ]
        parts: list[ast.expr] = target.elts  # type: ignore[attr-defined]
        starred = [number for number, part in enumerate(parts) if isinstance(part, ast.Starred)]
        kept = [self.temporary() for _ in parts]
        unpacked = self.tagged_call(
            "unpack", site, pair, constant(len(parts)), constant(starred[0] if starred else -1)
        )
        names = target_tuple(*map(store_name, kept))
        out: list[ast.stmt] = [ast.Assign([names], unpacked) if parts else ast.Expr(unpacked)]
        for variable, part in zip(kept, parts, strict=True):
            out += self.store(part, load_name(variable), node)
        return out

    def _store_name(self, target: ast.Name, pair: ast.expr, node: ast.AST) -> list[ast.stmt]:
        if self.resolve(target.id) == LOCAL:
            if self.scope.cell(target.id):
                pair = self.tagged_call("store_cell", self.site(node), pair)
            return [ast.Assign([target_tuple(target, store_name(shadow_name(target.id)))], pair)]
        stored = self.tagged_call(
            "store_global", self.site(node), self.module, constant(target.id), pair
        )
        return [ast.Assign([target], stored)]

    def on_Assign(self, node: ast.Assign) -> list[ast.stmt]:  # noqa: N802
        value = self.pair(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            return self.store(node.targets[0], value, node)
        kept = self.temporary()
        out = [assign(kept, value)]
        for target in node.targets:
            out += self.store(target, load_name(kept), node)
        return out

    def on_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:  # noqa: N802
        if node.value is None:
            return [node]
        out = self.store(node.target, self.pair(node.value), node)
        if node.simple:
            out.append(ast.AnnAssign(node.target, node.annotation, None, 1))
        elif self.scope.kind != "function":
            # Only the annotation: the target is evaluated already.
            nothing = ast.Name(FRAME, ast.Store())
            out.append(ast.AnnAssign(nothing, node.annotation, None, 0))
        return out

    def on_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:  # noqa: N802
        target, site = node.target, self.site(node)
        operator = constant(type(node.op).__name__)
        if isinstance(target, ast.Name):
            before = self.pair(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            made = runtime_call(
                "augment", operator, site, self.control, before, self.pair(node.value)
            )
            return self.store(target, made, node)
        owner = self.temporary()
        out = [assign(owner, self.pair(target.value))]
        if isinstance(target, ast.Attribute):
            where = [constant(self.scope.mangled(target.attr))]
            load, save = "attribute", "set_attribute"
        else:
            key = self.temporary()
            out.append(assign(key, self.pair(target.slice)))
            where = [load_name(key)]
            load, save = "subscript", "set_item"
        before = self.tagged_call(load, site, load_name(owner), *where)
        made = runtime_call("augment", operator, site, self.control, before, self.pair(node.value))
        out.append(self.tagged_statement(save, site, made, load_name(owner), *where))
        return out

    def on_Delete(self, node: ast.Delete) -> list[ast.stmt]:  # noqa: N802
        out: list[ast.stmt] = []
        for target in _flat(node.targets):
            site = self.site(node)
            if isinstance(target, ast.Subscript):
                out.append(
                    self.tagged_statement(
                        "delete_item", site, self.pair(target.value), self.pair(target.slice)
                    )
                )
            elif isinstance(target, ast.Attribute):
                name = constant(self.scope.mangled(target.attr))
                out.append(
                    self.tagged_statement("delete_attribute", site, self.pair(target.value), name)
                )
            else:
                out.append(ast.Delete([target]))
                out += self._gone(target.id, site)  # type: ignore[attr-defined]
        return out

    def _gone(self, name: str, site: ast.expr) -> list[ast.stmt]:
        """Statements that note where a variable was deleted."""
        if self.has_shadow(name):
            return [assign(shadow_name(name), self.tagged_call("constant", site))]
        if self.resolve(name) != GLOBAL:
            return []
        return [self.tagged_statement("delete_global", site, self.module, constant(name))]

    def on_Expr(self, node: ast.Expr) -> list[ast.stmt]:  # noqa: N802
        if isinstance(node.value, ast.Constant):
            return [node]
        return [ast.Expr(self.pair(node.value))]

    # --- leaving -------------------------------------------------------------------------------

    def on_Return(self, node: ast.Return) -> list[ast.stmt]:  # noqa: N802
        site = self.site(node)
        result = self.pair(node.value) if node.value is not None else self.none_pair(site)
        return self.returned(site, result, bare=node.value is None)

    def on_Raise(self, node: ast.Raise) -> list[ast.stmt]:  # noqa: N802
        if node.exc is None:
            return [node]
        raised = self.tagged_call("raise_value", self.site(node), self.pair(node.exc))
        cause = self.value(node.cause) if node.cause is not None else None
        return [ast.Raise(raised, cause)]

    def on_Assert(self, node: ast.Assert) -> list[ast.stmt]:  # noqa: N802
        test = self.tagged_call("test_and_note", self.site(node), self.truth(node.test))
        decided: list[ast.stmt] = [assign(CONTROL, test)]
        message = self.value(node.msg) if node.msg is not None else None
        held = test_outcome_of(self.control)
        checked = ast.Assert(held, message)
        return [ast.If(load_name("__debug__"), [*decided, checked], [])]

    # --- branches ------------------------------------------------------------------------------

    def joined_variables(
        self, names: Iterable[str], site: ast.expr, test: ast.expr
    ) -> list[ast.stmt]:
        """Where branches join: their variables depend on the test."""
        out: list[ast.stmt] = []
        for name in sorted(names):
            kind = self.resolve(name)
            if kind == LOCAL:
                phi = self.tagged_call("join_branches", site, load_name(shadow_name(name)), test)
                out.append(assign(shadow_name(name), phi))
            elif kind == GLOBAL and name not in self.fixed_variables:
                out.append(
                    self.tagged_statement("join_global", site, self.module, constant(name), test)
                )
        return out

    def on_If(self, node: ast.If) -> list[ast.stmt]:  # noqa: N802
        site = self.site(node.test)
        before = self.temporary()
        both = [*node.body, *node.orelse]
        decides = may_change_state(both) or may_leave(both)
        test = self.tagged_call("test_and_note" if decides else "test", site, self.truth(node.test))
        out: list[ast.stmt] = [assign(before, self.control), assign(CONTROL, test)]
        branches = ast.If(test_outcome_of(self.control), self.body(node.body),
                          self.body(node.orelse) if node.orelse else [])  # fmt: skip
        if may_leave(both):
            return [*out, branches]
        kept = self.temporary()
        out += [assign(kept, self.control), branches, assign(CONTROL, load_name(before))]
        names = names_bound_in_scope(both)
        return out + self.joined_variables(names, site, load_name(kept))

    def on_While(self, node: ast.While) -> list[ast.stmt]:  # noqa: N802
        site = self.site(node.test)
        before, ended = self.temporary(), self.temporary()
        outer = self.control if may_leave(node.body) else load_name(before)
        name = "test_and_note" if may_change_state(node.body) else "test"
        test = assign(CONTROL, runtime_call(name, site, outer, self.truth(node.test)))
        end: list[ast.stmt] = [assign(ended, constant(True)), ast.Break()]
        stop = ast.If(ast.UnaryOp(ast.Not(), test_outcome_of(self.control)), end, [])
        loop = ast.While(constant(True), [test, stop, *self.body(node.body)], [])
        out = [assign(before, self.control), assign(ended, constant(False)), loop]
        if node.orelse:
            out.append(ast.If(load_name(ended), self.body(node.orelse), []))
        return out + self._after_loop(node, site, before, self.control)

    def on_For(self, node: ast.For | ast.AsyncFor) -> list[ast.stmt]:  # noqa: N802
        site = self.site(node.iter)
        before, over, element, end = (self.temporary() for _ in range(4))
        nested = may_leave(node.body)
        loop_name = "AsyncRounds" if isinstance(node, ast.AsyncFor) else "iterate"
        pairs = runtime_call(loop_name, site, load_name(before), load_name(over), constant(None))
        head: list[ast.stmt] = []
        step = load_name(CONTROL)
        if nested:
            inner = self.temporary()
            head.append(
                assign(CONTROL, runtime_call("nest_control", load_name(inner), load_name(CONTROL)))
            )
            loop_target = target_tuple(store_name(element), store_name(inner))
        else:
            loop_target = target_tuple(store_name(element), store_name(CONTROL))
        head += self.store(node.target, load_name(element), node)
        loop = type(node)(
            target=loop_target, iter=pairs, body=[*head, *self.body(node.body)],
            orelse=self.body(node.orelse) if node.orelse else [], type_comment=None,
        )  # fmt: skip
        out: list[ast.stmt] = [
            assign(before, self.control),
            assign(over, self.pair(node.iter)),
            loop,
            assign(
                end,
                runtime_call(
                    "loop_end", site, step, load_name(over), constant(may_change_state(node.body))
                ),
            ),
        ]
        return out + self._after_loop(node, site, before, load_name(end), stored(node.target))

    on_AsyncFor = on_For  # noqa: N815

    def _after_loop(
        self, node: ast.For | ast.AsyncFor | ast.While, site: ast.expr, before: str,
        test: ast.expr, more: Iterable[str] = ()
    ) -> list[ast.stmt]:  # fmt: skip
        if may_leave([node]):
            return [assign(CONTROL, test)] if not isinstance(node, ast.While) else []
        kept = self.temporary()
        names = names_bound_in_scope([*node.body, *node.orelse]) | set(more)
        out: list[ast.stmt] = [assign(kept, test), assign(CONTROL, load_name(before))]
        return out + self.joined_variables(names, site, load_name(kept))

    # --- try, with, match ----------------------------------------------------------------------

    def on_Try(self, node: ast.Try) -> list[ast.stmt]:  # noqa: N802
        site = self.site(node)
        before, caught, started = (self.temporary() for _ in range(3))
        out: list[ast.stmt] = [
            assign(before, self.control), assign(caught, constant(None)),
            assign(started, runtime_call("current_time")),
        ]  # fmt: skip
        handlers = [self._handler(handler, before, caught) for handler in node.handlers]
        final = self.body(node.finalbody) if node.finalbody else []
        if final:
            final.insert(0, ast.Expr(runtime_call("back_in_call", load_name(FRAME))))
        with self.guarding():
            body = self.body(node.body)
        out.append(type(node)(
            body, handlers, self.body(node.orelse) if node.orelse else [], final
        ))  # fmt: skip
        branches = [node.body, node.orelse, *(handler.body for handler in node.handlers)]
        if not any(may_leave(branch) for branch in branches):
            out.append(assign(CONTROL, load_name(before)))
        if node.handlers:
            names = names_bound_in_scope([*node.body, *node.orelse, *node.handlers])
            tried = runtime_call(
                "after_try", site, load_name(before), load_name(caught), load_name(started)
            )
            out.append(assign(caught, tried))
            out += self.joined_variables(names, site, load_name(caught))
        return out

    on_TryStar = on_Try  # noqa: N815

    def _handler(self, node: ast.ExceptHandler, before: str, caught: str) -> ast.ExceptHandler:
        site = self.site(node)
        start: list[ast.stmt] = [
            assign(
                CONTROL, runtime_call("enter_handler", load_name(FRAME), site, load_name(before))
            ),
            assign(caught, load_name(CONTROL)),
        ]
        if node.name is not None:
            start += self.keep_tag(
                node.name, node, runtime_call("exception_tag", site, load_name(CONTROL))
            )
        kind = self.quiet(node.type) if node.type is not None else None
        made = ast.ExceptHandler(kind, node.name, [*start, *self.body(node.body)])
        return at_location_of(made, node)

    def on_With(self, node: ast.With | ast.AsyncWith) -> list[ast.stmt]:  # noqa: N802
        first, *rest = node.items
        site, kept = self.site(first.context_expr), self.temporary()
        name = "AsyncContextManager" if isinstance(node, ast.AsyncWith) else "ContextManager"
        manager = runtime_call(
            name, load_name(FRAME), site, self.control, self.pair(first.context_expr)
        )
        start: list[ast.stmt] = []
        if first.optional_vars is not None:
            start = self.store(first.optional_vars, load_name(kept), node)
        with self.guarding():
            inner = at_location_of(type(node)(rest, node.body), node)
            body = self.body([inner] if rest else node.body)
        return [type(node)([ast.withitem(manager, store_name(kept))], [*start, *body])]

    on_AsyncWith = on_With  # noqa: N815

    def on_Match(self, node: ast.Match) -> list[ast.stmt]:  # noqa: N802
        site = self.site(node.subject)
        subject, before, kept = (self.temporary() for _ in range(3))
        out: list[ast.stmt] = [
            assign(subject, self.pair(node.subject)),
            assign(before, self.control),
            assign(CONTROL, self.tagged_call("match_subject", site, load_name(subject))),
        ]
        cases = [self._case(case, site, subject) for case in node.cases]
        out += [
            ast.Match(tuple_item(load_name(subject), 0), cases),
            ast.Expr(runtime_call("end_match")),
        ]
        bodies = [case.body for case in node.cases]
        if any(may_leave(body) for body in bodies):
            return out
        names = names_bound_in_scope(node.cases)
        out += [assign(kept, self.control), assign(CONTROL, load_name(before))]
        return out + self.joined_variables(names, site, load_name(kept))

    def _case(self, case: ast.match_case, site: ast.expr, subject: str) -> ast.match_case:
        names = sorted(names_bound_in_scope([case.pattern]))
        tags: list[ast.expr] = []
        start: list[ast.stmt] = []
        for name in names:
            tag = self.tagged_call("capture_tag", site, load_name(name), load_name(subject))
            if self.resolve(name) == LOCAL:
                tags.append(named_expression(shadow_name(name), tag))
                start.append(assign(shadow_name(name), tag))
            elif self.resolve(name) != CLASS:
                start += self.keep_tag(name, case.pattern, tag)
        matched = ast.Expr(runtime_call("end_match"))
        if case.guard is None:
            return ast.match_case(case.pattern, None, [*start, matched, *self.body(case.body)])
        test = self.tagged_call("test_and_note", self.site(case.guard), self.truth(case.guard))
        guard = test_outcome_of(runtime_call("last_of", *tags, named_expression(CONTROL, test)))
        start = [] if all(self.has_shadow(name) for name in names) else start
        return ast.match_case(case.pattern, guard, [*start, matched, *self.body(case.body)])

    # --- definitions ---------------------------------------------------------------------------

    def on_FunctionDef(  # noqa: N802
        self, node: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> list[ast.stmt]:
        made = self.function(node, quiet=False)
        if node.name in self.fixed_variables and self.scope.kind == "module":
            return [made]
        tag = self.tagged_call("function_tag", self.site(node))
        return [made, *self.keep_tag(node.name, node, tag)]

    on_AsyncFunctionDef = on_FunctionDef  # noqa: N815

    def on_ClassDef(self, node: ast.ClassDef) -> list[ast.stmt]:  # noqa: N802
        return self.class_in_sight(node)

    def on_Global(self, node: ast.Global | ast.Nonlocal) -> list[ast.stmt]:  # noqa: N802
        return [node]

    on_Nonlocal = on_Global  # noqa: N815


def _flat(targets: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """The targets, those inside tuples and lists one by one."""
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            yield from _flat(target.elts)
        else:
            yield target
