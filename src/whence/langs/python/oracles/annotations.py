"""Reads annotations in source text as the types that they allow.

Names are resolved in the scope of the function: builtins that nothing rebinds, `typing` and
`collections.abc` however they are imported, classes, aliases and `NewType`s of the program's own
modules. Type variables, protocols, generic classes of the program and computed annotations are
`Unclear`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from whence.langs.python.oracles.allowed_types import (
    ABSTRACT,
    BUILTINS,
    CONTAINERS,
    Allowed,
    Anything,
    Builtin,
    Container,
    FixedTuple,
    LiteralOf,
    Nothing,
    Unclear,
    UnionOf,
    UserClass,
)
from whence.langs.python.source.bindings import Imported, ModuleBindings, ProgramBindings, bound_in
from whence.langs.python.source.code_locations import first_line as first_line_of
from whence.langs.python.source.definitions import NOT_LITERAL, literal
from whence.langs.python.source.scopes import FunctionNode
from whence.langs.python.source.scopes import parameters as parameter_names
from whence.langs.python.trace.value_recipes import QualifiedName

_UNCLEAR = Unclear()
_DEEPEST = 20
_TYPING = {"typing", "typing_extensions"}
_ABC = {"collections.abc", *_TYPING}
_OLD_NAMES = {
    "List": "list", "Dict": "dict", "Set": "set", "FrozenSet": "frozenset", "Tuple": "tuple",
    "Type": "type", "AbstractSet": "Set", "Text": "str",
}  # fmt: skip
_TWO = frozenset(("dict", "Mapping", "MutableMapping"))
_TRANSPARENT = frozenset(("Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly"))


@dataclass(frozen=True, slots=True)
class AnnotationScope:
    """The scope in which an annotation is resolved."""

    module: ModuleBindings
    hidden: frozenset[str] = frozenset()
    """Names that a scope between the module and the function binds."""


class AnnotationReader:
    """Reads annotations of one program."""

    def __init__(self, modules: ProgramBindings) -> None:
        self.modules = modules

    def allowed(
        self, expression: ast.expr | None, scope: AnnotationScope, depth: int = 0
    ) -> Allowed:
        """What an annotation allows."""
        if expression is None or depth > _DEEPEST:
            return _UNCLEAR
        match expression:
            case ast.Constant(None):
                return Builtin("None")
            case ast.Constant(str(text)):
                return self.allowed(parse_annotation(text), scope, depth + 1)
            case ast.BinOp(left, ast.BitOr(), right):
                sides = (self.allowed(side, scope, depth + 1) for side in (left, right))
                return UnionOf(tuple(sides))
            case ast.Name() | ast.Attribute():
                return self._named(expression, scope, depth)
            case ast.Subscript(value, inner):
                items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return self._subscript(value, items, scope, depth)
            case _:
                return _UNCLEAR

    # --- names -----------------------------------------------------------------------------------

    def meaning(
        self, expression: ast.expr, scope: AnnotationScope
    ) -> Imported | tuple[ModuleBindings, object]:
        """What a name means: a name of a module without source, or a binding in source."""
        nothing = scope.module, None
        if isinstance(expression, ast.Attribute):
            path = ast.unparse(expression.value)
            if path.partition(".")[0] in scope.hidden:
                return nothing
            module = self._imported_module(path, scope.module)
            if module is None:
                return nothing
            source = self.modules.module(module)
            if source is None:
                return Imported(module, expression.attr)
            if not source.binding(expression.attr)[0]:
                return nothing  # it may be a submodule
            return self._resolve(source, expression.attr)
        if not isinstance(expression, ast.Name) or scope.hidden & {expression.id, "*"}:
            return nothing
        return self._resolve(scope.module, expression.id)

    def _resolve(
        self, module: ModuleBindings, name: str
    ) -> Imported | tuple[ModuleBindings, object]:
        bound_in_module, binding = self.modules.meaning(module, name)
        if isinstance(binding, Imported) and binding.name:
            return binding
        owner = module if bound_in_module == module.name else self.modules.module(bound_in_module)
        if owner is None or isinstance(binding, Imported):
            return module, None
        return owner, binding

    def _imported_module(self, path: str, module: ModuleBindings) -> str | None:
        """The module that `typing`, `t` or `collections.abc` means."""
        first, _, rest = path.partition(".")
        is_known, binding = module.binding(first)
        if not is_known or not isinstance(binding, Imported):
            return None
        # It has a name after `from collections import abc`.
        return ".".join(filter(None, (binding.module, binding.name, rest)))

    def _named(self, expression: ast.expr, scope: AnnotationScope, depth: int) -> Allowed:
        match self.meaning(expression, scope):
            case Imported(module, name):
                return _library_type(module, name)
            case (ModuleBindings() as module, ast.ClassDef(name)):
                return UserClass(QualifiedName(module.name, name))
            case (ModuleBindings() as module, ast.expr() as alias):
                return self._alias(alias, AnnotationScope(module), depth)
            case _:
                return _UNCLEAR

    def _alias(self, alias: ast.expr, scope: AnnotationScope, depth: int) -> Allowed:
        """What the value of a module variable allows: a type, or a `NewType` of one."""
        if isinstance(alias, ast.Call):
            named = self.meaning(alias.func, scope)
            if isinstance(named, Imported) and named.module in _TYPING and named.name == "NewType":
                base = alias.args[1] if len(alias.args) == 2 else None
                return self.allowed(base, scope, depth + 1)
            return _UNCLEAR
        if isinstance(alias, ast.Constant):
            return _UNCLEAR  # a string or None that need not be a type
        return self.allowed(alias, scope, depth + 1)

    # --- with parts ------------------------------------------------------------------------------

    def _subscript(
        self, value: ast.expr, inner: Sequence[ast.expr], scope: AnnotationScope, depth: int
    ) -> Allowed:
        named = self.meaning(value, scope)
        if not isinstance(named, Imported):
            return _UNCLEAR
        module, name = named.module, named.name
        if module in _TYPING:
            if name == "Optional" and len(inner) == 1:
                return UnionOf((self.allowed(inner[0], scope, depth + 1), Builtin("None")))
            if name == "Union":
                return UnionOf(tuple(self.allowed(part, scope, depth + 1) for part in inner))
            if name == "Literal":
                return _literals(inner)
            if name in _TRANSPARENT and inner:
                return self.allowed(inner[0], scope, depth + 1)
        plain = _library_type(module, name)
        if not isinstance(plain, Builtin):
            return _UNCLEAR
        if plain.name == "tuple":
            return self._tuple(inner, scope, depth)
        if plain.name == "Callable":
            return plain
        count = 2 if plain.name in _TWO else 1
        if plain.name not in CONTAINERS | ABSTRACT or len(inner) != count:
            return _UNCLEAR
        return Container(plain.name, tuple(self.allowed(part, scope, depth + 1) for part in inner))

    def _tuple(self, inner: Sequence[ast.expr], scope: AnnotationScope, depth: int) -> Allowed:
        if len(inner) == 2 and isinstance(inner[1], ast.Constant) and inner[1].value is ...:
            return Container("tuple", (self.allowed(inner[0], scope, depth + 1),))
        if any(isinstance(part, ast.Starred) for part in inner):
            return _UNCLEAR
        for part in inner:
            named = self.meaning(part.value if isinstance(part, ast.Subscript) else part, scope)
            if isinstance(named, Imported) and named.name == "Unpack":
                return _UNCLEAR
        return FixedTuple(tuple(self.allowed(part, scope, depth + 1) for part in inner))


def parse_annotation(text: str) -> ast.expr | None:
    """The expression in an annotation that is a string."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _library_type(module: str, name: str) -> Allowed:
    """What a name of the standard library allows."""
    if module == "builtins":
        if name == "object":
            return Anything()
        return Builtin(name) if name in BUILTINS else _UNCLEAR
    if module in _TYPING:
        if name == "Any":
            return Anything()
        if name in ("Never", "NoReturn"):
            return Nothing()
        if name == "LiteralString":
            return Builtin("str")
        name = _OLD_NAMES.get(name, name)
        if name in BUILTINS:
            return Builtin(name)
    if module in _ABC and name in ABSTRACT:
        return Builtin(name)
    return _UNCLEAR


def _literals(inner: Sequence[ast.expr]) -> Allowed:
    values = tuple(map(literal, inner))
    # A member of an enum, or Literal inside of Literal, is unclear.
    return _UNCLEAR if NOT_LITERAL in values else LiteralOf(values)


# --- functions -----------------------------------------------------------------------------------


def find_function(
    module: ModuleBindings, qualname: str, first_line: int
) -> tuple[FunctionNode, AnnotationScope] | None:
    """The definition of a function by its name and first line, and the scope of its annotations."""
    matches: list[tuple[FunctionNode, AnnotationScope]] = []

    def search(body: list[ast.stmt], hidden: frozenset[str], path: str) -> None:
        for node in _definitions(body):
            here = f"{path}{node.name}"
            inside = hidden | {item.name for item in getattr(node, "type_params", [])}
            if isinstance(node, ast.ClassDef):
                search(node.body, inside | bound_in(node.body), f"{here}.")
                continue
            if here == qualname and first_line_of(node) == first_line:
                matches.append((node, AnnotationScope(module, inside)))
            variables = bound_in(node.body).union(parameter_names(node.args))
            search(node.body, inside | variables, f"{here}.<locals>.")

    search(module.tree.body, frozenset(), "")
    return matches[0] if len(matches) == 1 else None


def _definitions(body: list[ast.stmt]) -> list[FunctionNode | ast.ClassDef]:
    definitions: list[FunctionNode | ast.ClassDef] = []
    pending: list[ast.AST] = list(reversed(body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            definitions.append(node)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            pending += reversed(list(ast.iter_child_nodes(node)))
    return definitions


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function; `default` is an expression, if it has one."""

    name: str
    annotation: ast.expr | None
    default: ast.expr | None = None
    is_variadic: bool = False
    """`*args` or `**kwargs`: the annotation is about each item or value."""


def parameters(function: FunctionNode) -> list[Parameter]:
    """The parameters of a function, in the order in which a code object names them."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    defaults: list[ast.expr | None] = [*([None] * missing), *arguments.defaults]
    named = zip(
        (*positional, *arguments.kwonlyargs), (*defaults, *arguments.kw_defaults), strict=True
    )
    variadic = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return [
        *(Parameter(argument.arg, argument.annotation, default) for argument, default in named),
        *(Parameter(item.arg, item.annotation, is_variadic=True) for item in variadic),
    ]
