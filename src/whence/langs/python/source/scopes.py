"""Which variable a name means: Python's rules of scope, read from the syntax tree.

Two views of "the names that this code binds" exist. `names_bound_in_scope` follows the compiler: a
comprehension is a scope of its own. `names_written` is the view of a reader of one statement:
the variables of a comprehension count as its own. Both agree on what a single node binds.

Runs in the program's process, while modules are imported: this module imports nothing but `ast`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
"""Nodes that have their own code object."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

LOCAL, GLOBAL, CLASS = "local", "global", "class"


class Scope:
    """The names that one module, class, function or comprehension binds."""

    def __init__(self, kind: str, outer: Scope | None, name: str = ""):
        self.kind = kind
        self.outer = outer
        self.name = name
        self.bound: set[str] = set()
        self.declared_global: set[str] = set()
        self.declared_nonlocal: set[str] = set()
        self.shared: set[str] = set()
        """Of a function: its variables that a function inside may set."""
        self.label = ""
        self.first = ""
        """Of a function: its first parameter, which `super()` needs."""

    def resolve(self, name: str) -> str:
        """LOCAL (of this or an enclosing function), GLOBAL or CLASS."""
        scope: Scope | None = self
        while scope is not None:
            if scope.kind == "module" or name in scope.declared_global:
                return GLOBAL
            if name in scope.bound and (scope.kind != "class" or scope is self):
                return CLASS if scope.kind == "class" else LOCAL
            scope = scope.outer
        return GLOBAL

    def cell(self, name: str) -> str:
        """A name for the variable, if more than one function may set it; else nothing."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound and scope.kind != "class":
                return f"{scope.label}.{name}" if name in scope.shared else ""
            scope = scope.outer
        return ""

    @property
    def function(self) -> Scope:
        """The nearest scope that is no comprehension: where `:=` binds."""
        scope = self
        while scope.kind == "comprehension" and scope.outer is not None:
            scope = scope.outer
        return scope

    def mangled(self, name: str) -> str:
        """A private name as the compiler spells it in the class around."""
        if not name.startswith("__") or name.endswith("__") or "." in name:
            return name
        scope: Scope | None = self
        while scope is not None and scope.kind != "class":
            scope = scope.outer
        owner = scope.name.lstrip("_") if scope is not None else ""
        return f"_{owner}{name}" if owner else name


def module_scope() -> Scope:
    """The scope of a module's own statements."""
    return Scope("module", None)


def class_scope(node: ast.ClassDef, outer: Scope) -> Scope:
    """The scope of a class body."""
    scope = Scope("class", outer, node.name)
    _bind(scope, node.body)
    return scope


def function_scope(node: FunctionNode | ast.Lambda, outer: Scope) -> Scope:
    """The scope of a function's parameters and body."""
    scope = Scope("function", outer, getattr(node, "name", "<lambda>"))
    scope.bound.update(parameters(node.args))
    first = (*node.args.posonlyargs, *node.args.args)
    scope.first = first[0].arg if first else ""
    _bind(scope, node.body if isinstance(node.body, list) else [node.body])
    inner = {name for n in walk(node) if isinstance(n, ast.Nonlocal) for name in n.names}
    scope.shared = scope.bound & inner
    scope.label = f"{scope.name}:{node.lineno}"
    return scope


def comprehension_scope(node: ast.expr, outer: Scope) -> Scope:
    """The scope of what a comprehension's `for`s bind."""
    scope = Scope("comprehension", outer)
    for generator in node.generators:  # type: ignore[attr-defined]
        scope.bound.update(stored(generator.target))
    return scope


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """All nodes below. Not `ast.walk`, which imports: this runs while modules are imported."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending += ast.iter_child_nodes(node)


def parameters(arguments: ast.arguments) -> list[str]:
    """The names of a function's parameters in the order of a call's values."""
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    collecting = [arguments.vararg, arguments.kwarg]
    return [argument.arg for argument in (*named, *collecting) if argument is not None]


def stored(target: ast.AST) -> set[str]:
    """The names that an assignment target binds."""
    names = (node for node in walk(target) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _bind(scope: Scope, body: Iterable[ast.AST]) -> None:
    for statement in body:
        for node in own_nodes(statement):
            if isinstance(node, ast.Global):
                scope.declared_global.update(node.names)
            elif isinstance(node, ast.Nonlocal):
                scope.declared_nonlocal.update(node.names)
            else:
                scope.bound.update(names_bound_by(node))
    scope.bound -= scope.declared_global | scope.declared_nonlocal


def names_bound_in_scope(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in their own scope."""
    return {name for root in body for node in own_nodes(root) for name in names_bound_by(node)}


def names_bound_by(node: ast.AST) -> list[str]:
    """The names that this one node binds or deletes, without those of the nodes below it."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
        case ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case _ if type(node).__name__ == "TypeAlias":
            return [node.name.id]  # type: ignore[attr-defined]
        case _:
            return []


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, without what belongs to an inner scope.

    Of an inner scope, what the outer one evaluates is there: decorators, defaults, bases, and the
    first iterable of a comprehension; and any `:=` of a comprehension, which binds outside.
    """
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, FUNCTIONS):
            pending += getattr(node, "decorator_list", [])
            pending += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif isinstance(node, ast.ClassDef):
            pending += [*node.decorator_list, *node.bases, *node.keywords]
        elif isinstance(node, COMPREHENSIONS):
            pending.append(node.generators[0].iter)
            yield from _walrus_targets(node)
        else:
            pending += ast.iter_child_nodes(node)


def _walrus_targets(comprehension: ast.AST) -> Iterator[ast.AST]:
    pending = list(ast.iter_child_nodes(comprehension))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.NamedExpr):
            yield node.target
        if not isinstance(node, FUNCTIONS):
            pending += ast.iter_child_nodes(node)


def all_names(body: Iterable[ast.AST]) -> set[str]:
    """Every name that is read or bound below, inner scopes included."""
    return {node.id for root in body for node in walk(root) if isinstance(node, ast.Name)}


def names_read(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that are read below, inner scopes included; `x += 1` and `del x` read `x`."""
    names: set[str] = set()
    for root in nodes:
        for node in walk(root):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load | ast.Del):
                names.add(node.id)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    return frozenset(names)


def names_written(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that are bound below, by comprehensions too, but not inside other definitions."""
    outside = nodes_outside_definitions(nodes)
    return frozenset(name for node in outside for name in names_bound_by(node))


def nodes_outside_definitions(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes below; of the functions and classes among them, not what is inside."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, DEFINITIONS):
            pending += ast.iter_child_nodes(node)
