"""Recorded values as Python source: literals, constructor calls, variables for shared objects.

Invariant: the source creates exactly the recorded value. A value that cannot be written so raises
`CannotRebuild` with the reason; nothing is ever written in part.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from whence.langs.python.rebuilding.checked_source import (
    CannotRebuild,
    comment,
    identifier,
    is_identifier,
    literal_source,
)
from whence.langs.python.rebuilding.import_names import ImportNames
from whence.langs.python.rebuilding.source_layout import Group, Text, flat, fold
from whence.langs.python.rebuilding.summary_source import summary_source
from whence.langs.python.source.definitions import NOT_LITERAL, Construction, ModuleDefinitions
from whence.langs.python.trace.value_recipes import (
    BytearrayRecipe,
    ClassRecipe,
    EntriesRecipe,
    ExceptionRecipe,
    ExtendedRecipe,
    FunctionRecipe,
    InstanceRecipe,
    ItemsRecipe,
    LiteralRecipe,
    MemberRecipe,
    MethodRecipe,
    ModuleRecipe,
    QualifiedName,
    Recipe,
    SharedRecipe,
    State,
    SummaryRecipe,
    UnboundRecipe,
    UnknownRecipe,
    walk,
)

_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "set": ("{", "}")}
_PLAIN_MAPPINGS = {
    QualifiedName("collections", "OrderedDict"),
    QualifiedName("collections", "Counter"),
    QualifiedName("builtins", "frozendict"),
}
"""Mappings that are made from a dict."""
_SMALL_BITS = 8
"""Integers of so many bits exist once."""
_SNAKE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


Constructor: TypeAlias = Callable[[InstanceRecipe], "tuple[Text, State] | None"]
"""Writes a constructor call for an object, and says which attributes must be set after it."""


def plain(recipe: Recipe) -> object:
    """The value of a recipe that consists of literals; `NOT_LITERAL` for others."""
    match recipe:
        case LiteralRecipe(value):
            return value
        case ItemsRecipe("list" | "tuple" | "set" as kind, items):
            values = [plain(item) for item in items]
            if any(item_value is NOT_LITERAL for item_value in values):
                return NOT_LITERAL
            try:
                return {"list": list, "tuple": tuple, "set": set}[kind](values)
            except TypeError:
                return NOT_LITERAL
        case EntriesRecipe(entries):
            pairs = [(plain(key), plain(value)) for key, value in entries]
            if any(key is NOT_LITERAL or value is NOT_LITERAL for key, value in pairs):
                return NOT_LITERAL
            return dict(pairs)
        case _:
            return NOT_LITERAL


def same(one: object, other: object) -> bool:
    """Whether two plain values are the same, including their types."""
    return repr(one) == repr(other)


class ValueWriter:
    """Writes the values of one call, with statements where an expression is not enough.

    It has many methods because it has one for each kind of recipe; they share the variables.
    """

    def __init__(
        self,
        imports: ImportNames,
        module: Callable[[str], ModuleDefinitions | None],
        *,
        distinct: bool = False,
    ) -> None:
        """`module` gives the definitions of a module, if its text is available.

        `distinct`: equal literals become different objects, which the compiler would join.
        """
        self.imports = imports
        self.constructor: Constructor = lambda recipe: None
        """A recorded constructor call that made such an object."""
        self._distinct = distinct
        self._literals: set[tuple[type, str]] = set()
        self.statements: list[str] = []
        self._module = module
        self._named: dict[int, str] = {}
        self._known: dict[int, Recipe] = {}
        self._shared: set[int] = set()

    def register(self, recipes: Iterable[Recipe]) -> None:
        """Register all values that will be written, to find what they share."""
        for part in (part for recipe in recipes for part in walk(recipe)):
            if isinstance(part, SharedRecipe):
                self._shared.add(part.label)
            elif (label := getattr(part, "label", None)) is not None:
                self._known.setdefault(label, part)

    def variable(self, hint: str, recipe: Recipe) -> str:
        """A variable that holds the value."""
        target = self._target(recipe)
        label = getattr(target, "label", None)
        if label in self._named:
            return self._named[label]
        if self._contains_itself(target):
            return self._cyclic(target, hint)
        if isinstance(target, InstanceRecipe):
            return self._instance_variable(target, hint)
        return self._assign(hint, self._new(target), label)

    def expression(self, recipe: Recipe) -> Text:
        """The value as an expression; shared values get variables."""
        target = self._target(recipe)
        label = getattr(target, "label", None)
        if label is not None and label in self._named:
            return self._named[label]
        if label is not None and label in self._shared:
            return self.variable(variable_name(target), target)
        return self._new(target)

    def _target(self, recipe: Recipe) -> Recipe:
        if not isinstance(recipe, SharedRecipe):
            return recipe
        target = self._known.get(recipe.label)
        if target is None:
            raise CannotRebuild("something refers to an object that was not recorded")
        return target

    def _assign(self, hint: str, value: Text, label: int | None) -> str:
        name = self.imports.variable(hint)
        self.statements += fold(value, before=f"{name} = ")
        if label is not None:
            self._named[label] = name
        return name

    # --- what contains itself --------------------------------------------------------------------

    def _contains_itself(self, recipe: Recipe) -> bool:
        label = getattr(recipe, "label", None)
        if label is None or label not in self._shared:
            return False
        left, visited = [recipe], {label}
        while left:
            for part in walk(left.pop()):
                if isinstance(part, SharedRecipe):
                    if part.label == label:
                        return True
                    if part.label not in visited and part.label in self._known:
                        visited.add(part.label)
                        left.append(self._known[part.label])
        return False

    def _cyclic(self, recipe: Recipe, hint: str) -> str:
        """Create an empty object first, to which its own contents can refer."""
        match recipe:
            case InstanceRecipe(of, state, label):
                name = self._assign(hint, self._raw(of), label)
                self._set_state(name, of, state)
            case ItemsRecipe("list", items, label):
                name = self._assign(hint, "[]", label)
                whole = Group("[", tuple(("", self.expression(item)) for item in items), "]")
                self.statements += fold(whole, before=f"{name} += ")
            case EntriesRecipe(entries, label):
                name = self._assign(hint, "{}", label)
                self.statements += fold(self._entries(entries), before=f"{name} |= ")
            case _:
                raise CannotRebuild(f"{variable_name(recipe)} contains itself")
        return name

    # --- kinds of values -------------------------------------------------------------------------

    def _new(self, recipe: Recipe) -> Text:
        match recipe:
            case LiteralRecipe(value):
                return self._literal(value, literal_source(value))
            case ItemsRecipe():
                return self._items(recipe)
            case EntriesRecipe(entries):
                return self._entries(entries)
            case BytearrayRecipe(content):
                return f"bytearray({content!r})"
            case MemberRecipe(of, name):
                return f"{self.imports.name(of)}.{identifier(name)}"
            case ClassRecipe(class_name) | FunctionRecipe(class_name):
                return self.imports.name(class_name)
            case ModuleRecipe(name):
                return self.imports.module(name)
            case MethodRecipe(qualname, owner):
                return self._method(identifier(qualname.rpartition(".")[2]), self._target(owner))
            case SummaryRecipe():
                return summary_source(self.imports, recipe)
            case ExtendedRecipe():
                return self._extended(recipe)
            case ExceptionRecipe():
                return self._exception(recipe)
            case InstanceRecipe():
                return self._instance(recipe)
            case UnknownRecipe(reason):
                raise CannotRebuild(reason)
            case UnboundRecipe():
                raise CannotRebuild("a variable without a value")
            case SharedRecipe():
                return self._new(self._target(recipe))

    def _literal(self, value: object, source: str) -> str:
        if not self._distinct or (type(value), source) not in self._literals:
            self._literals.add((type(value), source))
            return source
        if isinstance(value, str) and len(value) > 1:
            return f'"".join({source})'
        if isinstance(value, bytes) and len(value) > 1:
            return f"bytes(bytearray({source}))"
        if isinstance(value, float) or (type(value) is int and value.bit_length() > _SMALL_BITS):
            return f'{type(value).__name__}("{value}")'
        return source

    def _items(self, recipe: ItemsRecipe) -> Text:
        parts = tuple(("", self.expression(item)) for item in recipe.items)
        if recipe.kind == "frozenset":
            return f"frozenset({flat(Group('{', parts, '}'))})" if parts else "frozenset()"
        if recipe.kind == "set" and not parts:
            return "set()"
        if recipe.kind == "tuple" and parts and self._distinct:
            return Group("tuple([", parts, "])")
        return Group(_BRACKETS[recipe.kind][0], parts, _BRACKETS[recipe.kind][1])

    def _entries(self, entries: tuple[tuple[Recipe, Recipe], ...]) -> Group:
        parts = [(flat(self.expression(k)) + ": ", self.expression(v)) for k, v in entries]
        return Group("{", tuple(parts), "}")

    def _method(self, method: str, owner: Recipe) -> Text:
        if isinstance(owner, ClassRecipe | ModuleRecipe):
            return f"{flat(self.expression(owner))}.{method}"
        return f"{self.variable(variable_name(owner), owner)}.{method}"

    def _extended(self, recipe: ExtendedRecipe) -> Text:
        name = self.imports.name(recipe.of)
        definitions = self._module(recipe.of.module)
        if recipe.of in _PLAIN_MAPPINGS and not recipe.state:
            return Group(f"{name}(", (("", self.expression(recipe.content)),), ")")
        fields = definitions.tuple_fields(recipe.of.qualname) if definitions else None
        content = self._target(recipe.content)
        items = content.items if isinstance(content, ItemsRecipe) else ()
        if fields is not None and isinstance(content, ItemsRecipe) and len(fields) == len(items):
            parts = zip(fields, items, strict=True)
            named = tuple((f"{field}=", self.expression(part)) for field, part in parts)
            return Group(f"{name}(", named, ")")
        if definitions is None or not definitions.extends_plainly(recipe.of.qualname):
            raise CannotRebuild(f"an object of {recipe.of}: how it is made is not known")
        expression = Group(f"{name}(", (("", self._new(content)),), ")")
        if not recipe.state:
            return expression
        variable = self._assign(variable_name(recipe), expression, recipe.label)
        self._set_state(variable, recipe.of, recipe.state)
        return variable

    def _exception(self, recipe: ExceptionRecipe) -> Text:
        name = self.imports.name(recipe.of)
        args = self._target(recipe.args)
        if not isinstance(args, ItemsRecipe):
            raise CannotRebuild(f"the exception {recipe.of}: its arguments are not known")
        parts = tuple(("", self.expression(item)) for item in args.items)
        definitions = self._module(recipe.of.module)
        is_builtin = recipe.of.module == "builtins"
        if is_builtin and not _is_builtin_exception(recipe.of.qualname):
            raise CannotRebuild(f"the exception {recipe.of}: there is no such exception")
        simple = is_builtin or (
            definitions is not None and definitions.extends_plainly(recipe.of.qualname)
        )
        expression = Group(f"{name}(", parts, ")")
        if not simple:
            expression = Group(f"{name}.__new__(", (("", name), *parts), ")")
        if not recipe.state:
            return expression
        variable = self._assign("error", expression, recipe.label)
        self._set_state(variable, recipe.of, recipe.state)
        return variable

    # --- instances -------------------------------------------------------------------------------

    def _instance(self, recipe: InstanceRecipe) -> Text:
        construction = self._construct(recipe)
        if construction is not None and not construction[1]:
            return construction[0]
        return self._instance_variable(recipe, variable_name(recipe))

    def _instance_variable(self, recipe: InstanceRecipe, hint: str) -> str:
        expression, state = self._construct(recipe) or (self._raw(recipe.of), recipe.state)
        name = self._assign(hint, expression, recipe.label)
        self._set_state(name, recipe.of, state)
        return name

    def _construct(self, recipe: InstanceRecipe) -> tuple[Text, State] | None:
        """A constructor call, and the attributes that must be set after it."""
        definitions = self._module(recipe.of.module)
        construction = definitions.construction(recipe.of.qualname) if definitions else None
        state = dict(recipe.state)
        if construction is None or not _fits(construction, state):
            return self.constructor(recipe)
        parts = []
        for parameter, attribute, default in construction.parameters:
            value = state.pop(attribute)
            if default is NOT_LITERAL or not same(plain(value), default):
                parts.append((f"{parameter}=", self.expression(value)))
        for attribute, constant in construction.constants.items():
            if same(plain(state[attribute]), constant):
                del state[attribute]
        if state and construction.frozen:
            return self.constructor(recipe)
        name = self.imports.name(recipe.of)
        return Group(f"{name}(", tuple(parts), ")"), tuple(state.items())

    def _raw(self, of: QualifiedName) -> str:
        if of.module in ("builtins", ""):
            raise CannotRebuild(f"an object of {of}: how it is made is not known")
        name = self.imports.name(of)
        # A comment on the line before says why this is no constructor call.
        why = comment(f"The constructor of {of.qualname} does more than to take its attributes.")
        if why not in self.statements:
            self.statements.append(why)
        return f"object.__new__({name})"

    def _set_state(self, variable: str, of: QualifiedName, state: State) -> None:
        definitions = self._module(of.module)
        plainly = definitions is not None and definitions.sets_plainly(of.qualname)
        for attribute, recipe in state:
            value = self.expression(recipe)
            if plainly and is_identifier(attribute):
                self.statements += fold(value, before=f"{variable}.{attribute} = ")
            else:
                before = f"object.__setattr__({variable}, {literal_source(attribute)}, "
                self.statements += fold(value, before=before, after=")")


def _fits(construction: Construction, state: dict[str, Recipe]) -> bool:
    attributes = {attribute for _, attribute, _ in construction.parameters}
    return attributes.union(construction.constants) <= set(state)


def _is_builtin_exception(name: str) -> bool:
    """Whether it is an exception: `eval` with arguments would run them."""
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def variable_name(recipe: Recipe) -> str:
    """A variable name for such a value."""
    of = getattr(recipe, "of", None)
    if isinstance(of, QualifiedName):
        last = of.qualname.rpartition(".")[2]
        return _SNAKE.sub("_", last).lower()
    names = {ItemsRecipe: "items", EntriesRecipe: "table"}
    return names.get(type(recipe), "value")
