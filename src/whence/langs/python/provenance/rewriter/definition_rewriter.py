"""Rewrites functions, lambdas and classes.

A function keeps its signature. Its new body is: if nothing is shadowed, the original body;
otherwise take the tags of the arguments (`@.enter_function`), run the rewritten body, and pass on
the tag of the result (`@.leave_function`). Functions inside the rewritten body have only that body:
calling one when nothing is shadowed is slow but right, and the code stays linear in size.

Statements of class bodies run unchanged; their values belong to the class as a whole.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from whence.langs.python.provenance import tags
from whence.langs.python.provenance.rewriter.comprehension_rewriter import ComprehensionRewriter
from whence.langs.python.provenance.rewriter.syntax_nodes import (
    CONTROL,
    FRAME,
    assign,
    at_location_of,
    constant,
    copy_node,
    is_stepped,
    load_name,
    may_set,
    runtime_call,
    runtime_name,
    shadow_name,
    store_name,
    suspends,
    target_tuple,
    thunk,
    tuple_node,
)
from whence.langs.python.source.code_locations import first_line
from whence.langs.python.source.leading_statements import without_declarations
from whence.langs.python.source.scopes import (
    CLASS,
    COMPREHENSIONS,
    DEFINITIONS,
    GLOBAL,
    LOCAL,
    Scope,
    all_names,
    class_scope,
    function_scope,
    names_bound_in_scope,
    own_nodes,
    parameters,
    walk,
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class DefinitionRewriter(ComprehensionRewriter):
    """Functions and classes."""

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, rewritten."""
        raise NotImplementedError

    def quiet_statements(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements that run unchanged, except for functions in them."""
        return [_Quiet(self).visit(statement) for statement in statements]

    def quiet(self, node: ast.expr) -> ast.expr:
        """An unchanged expression, except for functions in it."""
        return _Quiet(self).visit(node)  # type: ignore[no-any-return]

    # --- functions -----------------------------------------------------------------------------

    def function(self, node: _Function, *, quiet: bool) -> ast.stmt:
        """A rewritten function; `quiet` if the code around it runs unchanged."""
        number = self._describe(node, node.name, node.body)
        define = runtime_call("define_function", constant(number))
        arguments = self._arguments(node.args, quiet=quiet)
        scope = function_scope(node, self.scope)
        dual = self.dual and (quiet or self.scope.kind == "module")
        with self.inside(scope, node.name):
            body = self._function_body(node, scope, number, dual)
        decorators = [self.quiet(decorator) for decorator in node.decorator_list]
        made = copy.copy(node)
        made.args, made.body = arguments, body
        made.decorator_list = [*decorators, define]
        return made

    def _function_body(
        self, node: _Function, scope: Scope, number: int, dual: bool
    ) -> list[ast.stmt]:
        names = parameters(node.args)
        start = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        rest = node.body[len(start) :]
        out: list[ast.stmt] = [*start, *_declarations(scope)]
        # The shadows of parameters are given by `enter`; all others are unknown at first.
        others = sorted(scope.bound - set(names))
        if dual:
            out += _unknown(sorted(scope.bound & _captured(node.body)))
            ordinary = [*self.quiet_statements(rest), ast.Return(None)]
            out.append(ast.If(self._idle(number), without_declarations(ordinary)[0], []))
        out += _unknown(others)
        entered_names = (FRAME, CONTROL, *map(shadow_name, names))
        values = tuple_node(*(load_name(name) for name in names))
        site = self.header(node)
        entered = runtime_call("enter_function", constant(number), values)
        out.append(ast.Assign([target_tuple(*map(store_name, entered_names))], entered))
        inner = without_declarations(self.body(rest))[0]
        bare = isinstance(node, ast.AsyncFunctionDef) and is_stepped(node)
        end = self.returned(site, self.none_pair(site), bare=bare)
        left: list[ast.stmt] = [ast.Expr(runtime_call("leave_function", load_name(FRAME)))]
        out.append(ast.Try([*inner, *end], [failing()], [], left))
        return [
            at_location_of(statement, node) if not hasattr(statement, "lineno") else statement
            for statement in out
        ]

    def header(self, node: _Function | ast.ClassDef) -> ast.expr:
        """The first line of a class or function, which stands for its end without `return`."""
        line = node.lineno
        end = len(self.lines[line - 1].encode()) if line <= len(self.lines) else 0
        tags.SITES.append(tags.Site(
            self.file, line, node.col_offset, line, end, self.qualname, self.lines
        ))  # fmt: skip
        return constant(len(tags.SITES) - 1)

    def _idle(self, number: int) -> ast.expr:
        """Whether nothing is shadowed; also checked at the call where shadowing begins."""
        info = tags.FUNCTIONS[number]
        if self.wanted != (info.line, info.name):
            return runtime_name("off")
        return ast.BoolOp(ast.And(), [runtime_name("off"), runtime_call("passes")])

    def returned(self, site: ast.expr, result: ast.expr, *, bare: bool) -> list[ast.stmt]:
        """The statements that return a pair's value.

        `bare`: by `return` alone. An asynchronous generator may contain no other `return`.
        """
        noted = runtime_call("return_value", load_name(FRAME), self.control, site, result)
        return [ast.Expr(noted), ast.Return(None)] if bare else [ast.Return(noted)]

    def _arguments(self, arguments: ast.arguments, *, quiet: bool) -> ast.arguments:
        """The signature: defaults pass their tags to `@.define_function`."""

        def with_noted_tag(default: ast.expr) -> ast.expr:
            if quiet:
                value = self.quiet(default)
                return runtime_call("note_default", tuple_node(value, constant(None)))
            return runtime_call("note_default", self.pair(default))

        return ast.arguments(
            posonlyargs=arguments.posonlyargs,
            args=arguments.args,
            vararg=arguments.vararg,
            kwonlyargs=arguments.kwonlyargs,
            kwarg=arguments.kwarg,
            defaults=[with_noted_tag(default) for default in arguments.defaults],
            kw_defaults=[
                with_noted_tag(default) if default else None for default in arguments.kw_defaults
            ],
        )

    def _describe(self, node: ast.AST, name: str, body: list[ast.stmt] | list[ast.expr]) -> int:
        arguments: ast.arguments = node.args  # type: ignore[attr-defined]
        scope = function_scope(node, self.scope)  # type: ignore[arg-type]
        attributes, items, anything = may_set(body)
        named = all_names(body)
        global_names = {name for name in named & self.variables if scope.resolve(name) == GLOBAL}
        bound_globals = names_bound_in_scope(body) & scope.declared_global
        stepped = is_stepped(node) or isinstance(node, ast.AsyncFunctionDef)
        info = tags.FunctionInfo(
            name=self.qualname_of(name, self.scope),
            file=self.file,
            line=first_line(node),
            positional=tuple(
                parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)
            ),
            keyword_only=tuple(parameter.arg for parameter in arguments.kwonlyargs),
            has_rest=arguments.vararg is not None,
            has_named_rest=arguments.kwarg is not None,
            is_stepped=stepped,
            attributes=attributes,
            sets_items=items,
            sets_anything=anything,
            global_names=frozenset(global_names - self.fixed_variables),
            fixed_names=frozenset(global_names & self.fixed_variables),
            sets_globals=frozenset(bound_globals),
            sets_cells=frozenset(
                ("cell", scope.cell(name))
                for name in names_bound_in_scope(body) & scope.declared_nonlocal
            ),
            free_names=frozenset(
                name for name in named - scope.bound if scope.resolve(name) == LOCAL
            ),
            module=self.module_number,
        )
        tags.FUNCTIONS.append(info)
        return len(tags.FUNCTIONS) - 1

    # --- lambda --------------------------------------------------------------------------------

    def pair_Lambda(self, node: ast.Lambda) -> ast.expr:  # noqa: N802
        if suspends(node.body):
            return self.native(node)
        tag = self.tagged_call("function_tag", self.site(node))
        return tuple_node(self.lambda_(node, quiet=False), tag)

    def lambda_(self, node: ast.Lambda, *, quiet: bool) -> ast.expr:
        """A lambda expression that gives the function."""
        if suspends(node.body):
            return node
        site = self.site(node)
        number = self._describe(node, "<lambda>", [node.body])
        arguments = self._arguments(node.args, quiet=quiet)
        dual = self.dual and (quiet or self.scope.kind == "module")
        names = parameters(node.args)
        may_bind = self.may_bind
        with self.inside(function_scope(node, self.scope), "<lambda>"):
            self.may_bind = may_bind  # the iterable of a comprehension may hold no `:=` at all
            body = thunk(self.pair(node.body), CONTROL, *(shadow_name(name) for name in names))
            ordinary = self.quiet(node.body)
        values = tuple_node(*(load_name(name) for name in names))
        made = runtime_call("run_lambda", constant(number), site, values, body)
        if dual:
            made = ast.IfExp(self._idle(number), ordinary, made)
        define = runtime_call("define_function", constant(number))
        function = ast.Lambda(arguments, made)
        return at_location_of(ast.Call(define, [function], []), node)

    # --- classes -------------------------------------------------------------------------------

    def class_(self, node: ast.ClassDef) -> ast.stmt:
        """A class whose statements run unchanged, except for its functions."""
        made = copy.copy(node)
        made.bases = [self.quiet(base) for base in node.bases]
        made.keywords = [
            ast.keyword(keyword.arg, self.quiet(keyword.value)) for keyword in node.keywords
        ]
        made.decorator_list = [self.quiet(decorator) for decorator in node.decorator_list]
        with self.inside(class_scope(node, self.scope), node.name):
            made.body = self.quiet_statements(node.body)
        return at_location_of(made, node)

    def class_in_sight(self, node: ast.ClassDef) -> list[ast.stmt]:
        """A class with its tag."""
        kept = self.temporary()
        opened = assign(kept, self.tagged_call("begin_class", self.header(node)))
        made = runtime_call("end_class", load_name(kept), load_name(node.name))
        return [opened, self.class_(node), *self.keep_tag(node.name, node, made)]

    def keep_tag(self, name: str, node: ast.AST, tag: ast.expr) -> list[ast.stmt]:
        """Statements that store the tag of a variable that was just bound."""
        kind = self.resolve(name)
        if kind == LOCAL:
            return [assign(shadow_name(name), tag)]
        if kind == CLASS or name in self.fixed_variables:
            return [ast.Expr(tag)]
        pair = tuple_node(load_name(name), tag)
        return [
            self.tagged_statement(
                "store_global", self.site(node), self.module, constant(name), pair
            )
        ]


def failing() -> ast.ExceptHandler:
    """Notes an exception with which a function or module ends."""
    return ast.ExceptHandler(
        runtime_name("BaseException"),
        "_@e",
        [
            ast.Expr(
                runtime_call("raise_from", load_name(FRAME), load_name(CONTROL), load_name("_@e"))
            ),
            ast.Raise(),
        ],
    )


class _Quiet:
    """Copies code unchanged, except for the functions in it."""

    def __init__(self, rewriter: DefinitionRewriter):
        self._rewriter = rewriter

    def visit(self, node: ast.AST) -> Any:
        """The copy of a node; a function, class or lambda expression is rewritten."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._rewriter.function(node, quiet=True)
            case ast.ClassDef():
                return self._rewriter.class_(node)
            case ast.Lambda():
                return self._rewriter.lambda_(node, quiet=True)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return copy_node(node)
            case ast.AnnAssign() if self._rewriter.puts_annotations_off:
                # The reader of an annotation may want its source text.
                text = node.annotation
                return copy_node(node, lambda part: part if part is text else self.visit(part))
            case _:
                return copy_node(node, self.visit)


def _declarations(scope: Scope) -> list[ast.stmt]:
    """`global` and `nonlocal`, which hold for both bodies."""
    made: list[ast.stmt] = []
    if scope.declared_global:
        made.append(ast.Global(sorted(scope.declared_global)))
    names = sorted(scope.declared_nonlocal - {"__class__"})
    if scope.declared_nonlocal:
        made.append(ast.Nonlocal([*sorted(scope.declared_nonlocal), *map(shadow_name, names)]))
    return made


def _unknown(names: list[str]) -> list[ast.stmt]:
    if not names:
        return []
    return [ast.Assign([store_name(shadow_name(name)) for name in names], constant(None))]


def _captured(body: list[ast.stmt]) -> set[str]:
    """The names that inner functions, classes and comprehensions mention."""
    inner = [
        node
        for statement in body
        for node in own_nodes(statement)
        if isinstance(node, (*DEFINITIONS, *COMPREHENSIONS))
    ]
    names = all_names(inner)
    for node in inner:
        for part in walk(node):
            if isinstance(part, ast.Nonlocal):
                names.update(part.names)
    return names
