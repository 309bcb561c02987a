"""How the functions of a module are called and its objects constructed, according to its text.

What the text does not say plainly counts as unknown and is never guessed.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from whence.langs.python.source.code_locations import first_line
from whence.langs.python.source.scopes import FunctionNode, names_bound_by

NOT_LITERAL = object()
_DATACLASS = ("dataclass", "dataclasses.dataclass")
_TRANSPARENT = {
    "staticmethod", "classmethod", "property", "abstractmethod", "abc.abstractmethod",
    "override", "typing.override", "final", "typing.final", "cached_property",
    "functools.cached_property",
}  # fmt: skip
"""Decorators after which the name still calls the function itself."""


_PLAIN_BASES = frozenset({"object", "ABC", "abc.ABC", "Exception", "ValueError"})


def literal(expression: ast.expr | str | None) -> object:
    """The value of a literal expression; `NOT_LITERAL` for any other."""
    if expression is None:
        return NOT_LITERAL
    try:
        return ast.literal_eval(expression)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return NOT_LITERAL


@lru_cache(maxsize=32)
def definitions_in(text: str) -> ModuleDefinitions | None:
    """The definitions in a module's text; None if it cannot be parsed."""
    try:
        return ModuleDefinitions(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Construction:
    """How a constructor creates an instance: it stores each parameter in an attribute.

    `parameters`: name, attribute and default (or `NOT_LITERAL`) of each parameter. `constants`: the
    attributes that the constructor sets to literals. `frozen`: attributes cannot be set afterwards.
    """

    parameters: tuple[tuple[str, str, object], ...]
    constants: Mapping[str, object] = field(default_factory=dict)
    frozen: bool = False


class ModuleDefinitions:
    """The definitions in one module's text."""

    def __init__(self, text: str) -> None:
        """`SyntaxError` or `ValueError` if the text is not Python."""
        self.text = text
        self.tree = ast.parse(text)
        self._functions: dict[str, list[FunctionNode]] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        self._collect(self.tree.body, "")
        self.variables = _variables(self.tree.body)
        self.rebound = {
            name for node in ast.walk(self.tree) if isinstance(node, ast.Global)
            for name in node.names
        }  # fmt: skip
        """Names that some function declares global."""
        self.mutated = set(_mutated(self.tree))
        """Names of objects that the module changes in place."""

    def _collect(self, body: list[ast.stmt], prefix: str) -> None:
        for node in _flat(body):
            if isinstance(node, FunctionNode):
                self._functions.setdefault(prefix + node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self._classes[prefix + node.name] = node
                self._collect(node.body, f"{prefix}{node.name}.")

    def function(self, qualname: str, line: int) -> FunctionNode | None:
        """The function with this name and first line."""
        definitions = self._functions.get(qualname, [])
        return next((match for match in definitions if first_line(match) == line), None)

    def named(self, qualname: str) -> list[FunctionNode]:
        """All functions with this name."""
        return list(self._functions.get(qualname, ()))

    def is_plain_class(self, qualname: str) -> bool:
        """Whether nothing but the text of a class defines it: no decorator, no base from elsewhere,
        no metaclass."""
        definition = self._classes.get(qualname)
        if definition is None or definition.decorator_list or definition.keywords:
            return False
        bases = [ast.unparse(base) for base in definition.bases]
        return all(base in _PLAIN_BASES or self.is_plain_class(base) for base in bases)

    def methods(self, of: str, name: str) -> list[FunctionNode] | None:
        """The functions that a name means in a class or its bases.

        None if that is not known, an empty list if it is a value of the class.
        """
        definition = self._classes.get(of)
        if definition is None:
            return None
        own = self._functions.get(f"{of}.{name}")
        if own:
            return list(own)
        if name in _variables(definition.body):
            return []
        for base in map(ast.unparse, definition.bases):
            above = self.methods(base, name)
            if above is not None:
                return above
        return None

    def is_class(self, qualname: str) -> bool:
        """Whether a class of this name is defined."""
        return qualname in self._classes

    @property
    def names(self) -> set[str]:
        """What can be imported from it by name."""
        top = {name for name in (*self._functions, *self._classes) if "." not in name}
        for node in _flat(self.tree.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                top.update(names_bound_by(node))
        return top | set(self.variables)

    @property
    def runs_when_imported(self) -> bool:
        """Whether importing the module does work, unguarded by `if __name__ == "__main__"`."""
        local = {name for name in self._functions if "." not in name}
        return any(_runs(node, local) for node in self.tree.body)

    # --- classes ---------------------------------------------------------------------------------

    def has_value_equality(self, qualname: str) -> bool:
        """Whether instances of a class with equal contents are known to be equal."""
        definition = self._classes.get(qualname)
        if definition is None:
            return False
        for statement in definition.body:
            if isinstance(statement, FunctionNode) and statement.name == "__eq__":
                return _compares(statement)
        decorator = _dataclass_decorator(definition)
        if decorator is not None:
            return _option(decorator, "eq", default=True) is True
        bases = [ast.unparse(base) for base in definition.bases]
        return bool(bases) and all(self.has_value_equality(base) for base in bases)

    def construction(self, qualname: str) -> Construction | None:
        """How instances of a class are constructed; None if only their raw state is known."""
        definition = self._classes.get(qualname)
        if definition is None or definition.keywords or _own(definition, "__new__", "__setattr__"):
            return None
        if _dataclass_decorator(definition) is not None:
            return self._dataclass(definition)
        bases = [ast.unparse(base) for base in definition.bases]
        if definition.decorator_list or any(base != "object" for base in bases):
            return None
        for node in definition.body:
            if isinstance(node, FunctionNode) and node.name == "__init__":
                return None if isinstance(node, ast.AsyncFunctionDef) else _by_init(node)
        return Construction(())

    def is_exception(self, qualname: str) -> bool:
        """Whether a class is known to be an exception."""
        definition = self._classes.get(qualname)
        if definition is None:
            builtin = getattr(builtins, qualname, None)
            return isinstance(builtin, type) and issubclass(builtin, BaseException)
        return any(
            self.is_exception(base)
            for base in map(ast.unparse, definition.bases)
            if base != qualname
        )

    def tuple_fields(self, qualname: str) -> list[str] | None:
        """The fields of a named tuple; None for other classes."""
        definition = self._classes.get(qualname)
        if definition is not None:
            bases = [ast.unparse(base).rpartition(".")[2] for base in definition.bases]
            if bases != ["NamedTuple"] or _own(definition, "__new__"):
                return None
            fields = [node for node in definition.body if isinstance(node, ast.AnnAssign)]
            return [field.target.id for field in fields if isinstance(field.target, ast.Name)]
        values = self.variables.get(qualname, [])
        call = values[0] if len(values) == 1 else None
        if not isinstance(call, ast.Call) or len(call.args) != 2:
            return None
        if ast.unparse(call.func).rpartition(".")[2] != "namedtuple":
            return None
        names = literal(call.args[1])
        if isinstance(names, str):
            return names.replace(",", " ").split()
        return list(names) if isinstance(names, list | tuple) else None

    def extends_plainly(self, qualname: str) -> bool:
        """Whether a subclass of a builtin is made as the builtin is."""
        definition = self._classes.get(qualname)
        if definition is None or definition.keywords or definition.decorator_list:
            return False
        if _own(definition, "__init__", "__new__"):
            return False
        return all(
            self.extends_plainly(name) or hasattr(builtins, name)
            for name in map(ast.unparse, definition.bases)
        )

    def sets_plainly(self, qualname: str) -> bool:
        """Whether an attribute can be set on an instance by assigning to it."""
        definition = self._classes.get(qualname)
        if definition is None or _own(definition, "__setattr__"):
            return False
        decorator = _dataclass_decorator(definition)
        if decorator is not None and _option(decorator, "frozen", default=False) is not False:
            return False
        return all(
            self.sets_plainly(name) or name in ("object", "Exception", "list", "dict", "str")
            for name in map(ast.unparse, definition.bases)
        )

    def _dataclass(self, definition: ast.ClassDef) -> Construction | None:
        decorator = _dataclass_decorator(definition)
        assert decorator is not None
        if _own(definition, "__init__", "__post_init__") or len(definition.decorator_list) > 1:
            return None
        if _option(decorator, "init", default=True) is not True:
            return None
        parameters: dict[str, tuple[str, str, object]] = {}
        frozen = _option(decorator, "frozen", default=False) is not False
        for base in definition.bases:
            above = self._classes.get(ast.unparse(base))
            if above is None or _dataclass_decorator(above) is None:
                return None
            inherited = self._dataclass(above)
            if inherited is None:
                return None
            frozen = frozen or inherited.frozen
            parameters |= {parameter[0]: parameter for parameter in inherited.parameters}
        for node in definition.body:
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            annotation = ast.unparse(node.annotation)
            if "ClassVar" in annotation:
                continue
            if "InitVar" in annotation or "KW_ONLY" in annotation:
                return None
            name = node.target.id
            default, in_init = _field_default(node.value)
            if in_init:
                parameters[name] = (name, name, default)
        return Construction(tuple(parameters.values()), frozen=frozen)


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements, including those in `if` and `try`."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _flat([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handlers = [statement for handler in node.handlers for statement in handler.body]
            yield from _flat([*node.body, *handlers, *node.orelse, *node.finalbody])


def _variables(body: list[ast.stmt]) -> dict[str, list[ast.expr | None]]:
    """The values that each variable of a module is bound to; None for an unknown one."""
    values: dict[str, list[ast.expr | None]] = {}
    for statement in body:
        if isinstance(statement, FunctionNode | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign):
            targets, value = [statement.target], statement.value
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                is_assigned = any(target is node for target in targets)
                values.setdefault(node.id, []).append(value if is_assigned else None)
    return values


_MUTATORS = {
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "pop",
    "popitem", "popleft", "remove", "reverse", "setdefault", "sort", "update",
}  # fmt: skip


def _mutated(tree: ast.Module) -> Iterator[str]:
    """The names of what is changed in place, by assigning a part, `append` and the like."""
    for node in ast.walk(tree):
        part: ast.expr | None = None
        if isinstance(node, ast.Subscript | ast.Attribute):
            if isinstance(node.ctx, ast.Store | ast.Del):
                part = node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            part = node.func.value if node.func.attr in _MUTATORS else None
        elif isinstance(node, ast.AugAssign):
            part = node.target
        while isinstance(part, ast.Subscript | ast.Attribute):
            part = part.value
        if isinstance(part, ast.Name):
            yield part.id


def _runs(node: ast.stmt, local: set[str]) -> bool:
    """Whether a statement does more than define."""
    if isinstance(node, FunctionNode | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Pass):
        return False
    if isinstance(node, ast.If):
        if any(isinstance(e, ast.Name) and e.id == "__name__" for e in ast.walk(node.test)):
            return any(_runs(statement, local) for statement in node.orelse)
        return _calls(node.test, local) or any(
            _runs(statement, local) for statement in (*node.body, *node.orelse)
        )
    if isinstance(node, ast.Try):
        return any(_runs(statement, local) for statement in _flat([node]) if statement is not node)
    if isinstance(node, ast.For | ast.While | ast.With | ast.Raise | ast.Assert):
        return True
    return _calls(node, local)


def _calls(node: ast.AST, local: set[str]) -> bool:
    """Whether a node calls a function of the module, or does input or output."""
    working = local | {"print", "input", "open", "exit"}
    called = [below.func for below in ast.walk(node) if isinstance(below, ast.Call)]
    return any(
        (isinstance(function, ast.Name) and function.id in working)
        or (isinstance(function, ast.Attribute) and function.attr in ("exit", "_exit"))
        for function in called
    )


def _compares(method: FunctionNode) -> bool:
    """Whether an `__eq__` plainly compares parts of two objects; others may do anything."""
    names = [argument.arg for argument in method.args.args]
    walked = list(ast.walk(method))
    read = [part.value for part in walked if isinstance(part, ast.Attribute)]
    named = {part.id for part in read if isinstance(part, ast.Name)}
    more = (ast.Raise, ast.While, ast.For, ast.Assign, ast.AugAssign, ast.Delete, ast.Global)
    if len(names) != 2 or not named >= set(names):
        return False
    return not any(isinstance(part, more) for part in walked)


def _own(node: ast.ClassDef, *names: str) -> bool:
    return any(
        isinstance(statement, FunctionNode) and statement.name in names for statement in node.body
    )


def _dataclass_decorator(node: ast.ClassDef) -> ast.expr | None:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(called) in _DATACLASS:
            return decorator
    return None


def _option(decorator: ast.expr, name: str, *, default: bool) -> object:
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if keyword.arg == name:
            return literal(keyword.value)
    return default


_FACTORIES: dict[str, object] = {"list": [], "dict": {}, "set": set(), "tuple": ()}


def _field_default(value: ast.expr | None) -> tuple[object, bool]:
    """The default of a dataclass field, and whether the field is a parameter."""
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "field":
        default: object = NOT_LITERAL
        in_init = True
        for keyword in value.keywords:
            if keyword.arg == "default":
                default = literal(keyword.value)
            elif keyword.arg == "default_factory":
                default = _FACTORIES.get(ast.unparse(keyword.value), NOT_LITERAL)
            elif keyword.arg == "init":
                in_init = literal(keyword.value) is True
        return default, in_init
    return literal(value), True


def _by_init(initializer: ast.FunctionDef) -> Construction | None:
    """The construction by an `__init__` that only stores parameters and literals in attributes."""
    arguments = initializer.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs or not arguments.args:
        return None
    if initializer.decorator_list:
        return None
    own, *names = [argument.arg for argument in arguments.args]
    defaults = dict(zip(reversed(names), map(literal, reversed(arguments.defaults)), strict=False))
    for keyword, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        names.append(keyword.arg)
        defaults[keyword.arg] = literal(default)
    attribute_of: dict[str, str] = {}
    constants: dict[str, object] = {}
    for index, node in enumerate(initializer.body):
        if index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            return None
        if not (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == own
        ):
            return None
        private = target.attr.startswith("__") and not target.attr.endswith("__")
        if private or target.attr in constants or target.attr in attribute_of.values():
            return None
        if isinstance(value, ast.Name) and value.id in names and value.id not in attribute_of:
            attribute_of[value.id] = target.attr
        elif literal(value) is not NOT_LITERAL:
            constants[target.attr] = literal(value)
        else:
            return None
    if set(attribute_of) != set(names):
        return None
    parameters = [(name, attribute_of[name], defaults.get(name, NOT_LITERAL)) for name in names]
    return Construction(tuple(parameters), constants)


def kind_of(node: FunctionNode) -> str:
    """Whether a function in a class is a method, class method, static method or property."""
    names = [ast.unparse(decorator) for decorator in node.decorator_list]
    for name in names:
        if name in ("staticmethod", "classmethod"):
            return name
        if name == "property" or name.endswith("cached_property"):
            return "property"
        if name.endswith((".setter", ".deleter")):
            return "setter"
    return "method"


def is_wrapped(node: FunctionNode) -> bool:
    """Whether a decorator may have replaced the function."""
    names = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any(name not in _TRANSPARENT for name in names)
