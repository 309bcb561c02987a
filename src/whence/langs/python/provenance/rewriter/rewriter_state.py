"""What all parts of the rewriter share: the current scope and control, own variables, and sites."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from whence.langs.python.provenance.rewriter.syntax_nodes import (
    CONTROL,
    constant,
    load_name,
    runtime_call,
    tuple_node,
)
from whence.langs.python.provenance.tags import SITES, Site
from whence.langs.python.source.quiet_compile import parse_quietly
from whence.langs.python.source.scopes import (
    GLOBAL,
    LOCAL,
    Scope,
    module_scope,
    names_bound_in_scope,
    stored,
    walk,
)

Wanted = tuple[int, str] | None


class RewriterState:
    """The state of rewriting one module."""

    def __init__(
        self, source: str, file: str, module: int, *, dual: bool, wanted: Wanted,
        tree: ast.Module | None = None,
    ):  # fmt: skip
        self.file = file
        self.module = constant(module)
        self.module_number = module
        self.dual = dual
        """Whether functions also keep their own body, for when nothing is shadowed."""
        self.wanted = wanted
        """Of the function with whose call the shadowing begins: its first line and name."""
        self.tree = tree or parse_quietly(source, file)
        self.lines: Sequence[str] = source.splitlines()
        self.scope: Scope = module_scope()
        self.qualname = ""
        self.control_name = CONTROL
        self.may_bind = True
        """Whether `:=` may be written here: not in the iterables of comprehensions."""
        self.is_guarded = False
        """Whether the current code is inside `try` or `with`."""
        self.made = 0
        self.module_variables: list[str] = []
        self.variables, self.fixed_variables = _module_names(self.tree)
        self.puts_annotations_off = sys.version_info >= (3, 14) or _has_texts_only(self.tree)
        """Whether annotations are evaluated when they are read, or never."""

    @property
    def control(self) -> ast.expr:
        """The variable of the innermost test."""
        return load_name(self.control_name)

    def site(self, node: ast.AST) -> ast.expr:
        """The number of a place in the program, as a constant."""
        start, end = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
        column, end_column = node.col_offset, node.end_col_offset or 0  # type: ignore[attr-defined]
        SITES.append(Site(
            self.file, start, column, end, end_column, self.qualname, self.lines, self.is_guarded
        ))  # fmt: skip
        return constant(len(SITES) - 1)

    def tagged_call(self, name: str, site: ast.expr, *arguments: ast.expr) -> ast.expr:
        """A call of a runtime function that takes a place and the current control first."""
        return runtime_call(name, site, self.control, *arguments)

    def tagged_statement(self, name: str, site: ast.expr, *arguments: ast.expr) -> ast.stmt:
        """The same call as a statement."""
        return ast.Expr(self.tagged_call(name, site, *arguments))

    def none_pair(self, site: ast.expr) -> ast.expr:
        """The constant None with its tag."""
        return tuple_node(constant(None), self.tagged_call("constant", site))

    def temporary(self) -> str:
        """The name of a new variable of the rewriter."""
        self.made += 1
        name = f"_@{self.made}"
        if self.scope.function.kind == "module":
            self.module_variables.append(name)
        return name

    def resolve(self, name: str) -> str:
        """LOCAL, GLOBAL or CLASS."""
        return self.scope.resolve(name)

    def has_shadow(self, name: str) -> bool:
        """Whether a variable beside it holds a variable's tag."""
        return self.resolve(name) == LOCAL

    def is_builtin(self, name: str) -> bool:
        """Whether the module itself never binds the name."""
        return self.resolve(name) == GLOBAL and name not in self.variables

    @contextmanager
    def inside(self, scope: Scope, name: str = "") -> Iterator[None]:
        """Rewrite code in an inner scope."""
        before = (self.scope, self.qualname, self.control_name, self.may_bind, self.is_guarded)
        self.scope, self.may_bind = scope, True
        if name:
            self.qualname = self.qualname_of(name, before[0])
            self.control_name = CONTROL
            self.is_guarded = False
        yield
        self.scope, self.qualname, self.control_name, self.may_bind, self.is_guarded = before

    def qualname_of(self, name: str, scope: Scope) -> str:
        if not self.qualname:
            return name
        local = ".<locals>" if scope.function.kind == "function" else ""
        return f"{self.qualname}{local}.{name}"

    @contextmanager
    def under(self, control_name: str) -> Iterator[None]:
        """Rewrite code that depends on another test."""
        before, self.control_name = self.control_name, control_name
        yield
        self.control_name = before

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Rewrite code inside `try` or `with`."""
        before, self.is_guarded = self.is_guarded, True
        yield
        self.is_guarded = before

    @contextmanager
    def unbinding(self) -> Iterator[None]:
        """Rewrite code where `:=` is not allowed."""
        before, self.may_bind = self.may_bind, False
        yield
        self.may_bind = before


def _has_texts_only(tree: ast.Module) -> bool:
    """Whether all annotations of a module are strings."""
    return any(
        isinstance(statement, ast.ImportFrom)
        and statement.module == "__future__"
        and any(name.name == "annotations" for name in statement.names)
        for statement in tree.body
    )


def _module_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The variables of a module, and those that a definition binds once and for all."""
    names = names_bound_in_scope(tree.body)
    counts: Counter[str] = Counter()
    for node in walk(tree):
        if isinstance(node, ast.Global):
            names.update(node.names)
            counts.update(dict.fromkeys(node.names, 2))
    for statement in tree.body:
        once = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        once |= isinstance(statement, ast.Import)
        for name in names_bound_in_scope([statement]):
            counts[name] += 1 if once else 2
    for node in walk(tree):
        if isinstance(node, ast.NamedExpr):
            counts.update(dict.fromkeys(stored(node.target), 2))
    return names, {name for name, count in counts.items() if count == 1}
