"""Writes a value as docs/trace-format.md says, without running any code of the program.

It reads everything through functions of builtin types that are bound at import: an instance's
`__dict__` through the descriptor that `type` made, slots through theirs, the content of a `list`
subclass through `list`. It never calls what a class of the program defines (`__getattribute__`,
`__class__`, a property named `__dict__`, a metaclass's `__hash__`).

The C backend implements the same; a test requires the same bytes from both.

Invariant: no reference to a value outlives `Snapshots.write`.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Container, Mapping
from itertools import islice
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from whence.langs.python.objects.atoms import CONTENT_TYPES, PLAIN_IDS, exact_scalar
from whence.langs.python.objects.newer_types import FROZENDICTS
from whence.langs.python.objects.raw_class import (
    HEAP_TYPE,
    IS_CLASS,
    IS_DICT,
    IS_EXCEPTION,
    IS_STRING,
    MANAGED_DICT,
    base_of,
    class_order,
    dict_offset_of,
    flags_of,
    is_builtin_function,
    item_size_of,
    module_of,
    name_of,
    own_names,
    qualname_of,
    size_of,
    weakref_offset_of,
)
from whence.langs.python.record.options import LARGE_ROOT, SHORT_TEXT, Bound
from whence.langs.python.record.summaries import Summary, can_change
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.secret_values import Secrets

_args_of = BaseException.__dict__["args"].__get__
_function_module = FunctionType.__dict__["__module__"].__get__
_function_qualname = FunctionType.__dict__["__qualname__"].__get__
_builtin_module = BuiltinFunctionType.__dict__["__module__"].__get__
_builtin_name = BuiltinFunctionType.__dict__["__name__"].__get__
_builtin_self = BuiltinFunctionType.__dict__["__self__"].__get__
_method_function = MethodType.__dict__["__func__"].__get__
_method_self = MethodType.__dict__["__self__"].__get__
_module_dict = own_names(ModuleType)["__dict__"].__get__

_WORD = 8
_OF_TEMPLATES = "string.templatelib"
"""The module of `t"…"` (3.14), whose two classes in C have only visible attributes."""

_Parts = Callable[[Any, int], list[Any]]

# For each builtin container: its kind byte, and functions for its length and its first parts.
_SEQUENCES: dict[int, tuple[int, Callable[[Any], int], _Parts]] = {
    id(list): (f.LIST, list.__len__, lambda v, m: list.__getitem__(v, slice(0, m))),
    id(tuple): (f.TUPLE, tuple.__len__, lambda v, m: list(tuple.__getitem__(v, slice(0, m)))),
    id(set): (f.SET, set.__len__, lambda v, m: list(islice(set.__iter__(v), m))),
    id(frozenset): (
        f.FROZENSET,
        frozenset.__len__,
        lambda v, m: list(islice(frozenset.__iter__(v), m)),
    ),
}
_TRANSPARENT_TYPES = frozenset(map(id, (object, *CONTENT_TYPES)))
_CONTENT = frozenset(map(id, CONTENT_TYPES))


def has_identity(value: object) -> bool:
    """Whether it is written as a container: the bytes 0x10 … 0x19, 0x0B and 0x1C."""
    kind = type(value)
    if id(kind) in PLAIN_IDS or kind is FunctionType or flags_of(kind) & IS_CLASS:
        return False
    if is_builtin_function(kind):
        return _is_bound(value)
    return not _is_module(kind)


def is_class(value: object) -> bool:
    """Whether it is a class, of any metaclass; `isinstance` could call a `__class__` property."""
    return bool(flags_of(type(value)) & IS_CLASS)


def type_name(kind: type) -> tuple[str, str]:
    """Module and qualified name, as `type` itself knows them."""
    try:
        module = module_of(kind)
    except AttributeError:
        module = None
    return (module if type(module) is str else "builtins", str.__str__(qualname_of(kind)))


class Tables:
    """The tables of names and types. The record of a new entry is appended to `out`."""

    def __init__(self, out: bytearray, user_modules: Container[str]):
        self._out = out
        self._user_modules = user_modules
        self._names: dict[str, int] = {}
        self._types: dict[tuple[str, str, int], int] = {}
        self._committed = 0, 0

    def commit(self) -> None:
        """All entries so far are in the trace."""
        self._committed = len(self._names), len(self._types)

    def drop_uncommitted(self) -> None:
        """Forget the entries since the last `commit`."""
        names, types = self._committed
        while len(self._names) > names:
            self._names.popitem()
        while len(self._types) > types:
            self._types.popitem()

    def is_user_type(self, kind: type) -> bool:
        """Whether a type is of a module of user code."""
        return type_name(kind)[0] in self._user_modules

    def name(self, text: str) -> int:
        """The number of a name."""
        number = self._names.get(text)
        if number is None:
            number = self._names[text] = len(self._names)
            w.add_name(self._out, text)
        return number

    def type(self, kind: type) -> int:
        """The number of a type. Types of one name share it: no reference to a type is kept."""
        flags = flags_of(kind)
        module, qualname = type_name(kind)
        type_flags = f.USER_TYPE if module in self._user_modules else 0
        type_flags |= f.EXCEPTION_TYPE if flags & IS_EXCEPTION else 0
        type_flags |= 0 if flags & HEAP_TYPE else f.C_TYPE
        key = (module, qualname, type_flags)
        number = self._types.get(key)
        if number is None:
            names = self.name(module), self.name(qualname)
            number = self._types[key] = len(self._types)
            w.add_type(self._out, *names, type_flags)
        return number


class Snapshots:
    """Writes root values, one at a time."""

    def __init__(
        self, tables: Tables, summaries: Mapping[type, Summary], secrets: Secrets | None = None
    ):
        self._tables = tables
        self._secrets = secrets or Secrets()
        self._least = 0
        """How long a text must be to be a secret, under the name that it has; 0: it is none."""
        self._summaries = summaries
        self._out = bytearray()
        self._bound = Bound()
        self._started: dict[int, int] = {}
        self._containers = 0
        self._inputs: Mapping[int, int] = {}
        self._foreign_is_opaque = False
        self.mutable = False

    def write(
        self,
        value: object,
        bound: Bound,
        inputs: Mapping[int, int] | None = None,
        foreign_is_opaque: bool = False,
        least: int = 0,
    ) -> bytes:
        """The encoding of a value. `inputs`: by `id`, the objects that are inputs of the call.

        `foreign_is_opaque`: write only the type of objects that can change and are neither builtin
        nor of user code. `least`: how long a text must be to be a secret (0: no name says so).
        Afterwards `mutable` says whether the value can change.
        """
        self.mutable = False
        self._foreign_is_opaque = foreign_is_opaque
        self._out = bytearray()
        self._bound = bound
        self._least = least
        self._started = {}
        self._containers = 0
        self._inputs = inputs or {}
        self._snapshot(value, bound.depth, bound.budget)
        return bytes(self._out)

    # --- one value ---

    def _snapshot(self, value: Any, depth: int, budget: int) -> int:
        kind = type(value)
        number = id(kind)
        if number in PLAIN_IDS:
            self._atom(value, kind)
            return 1
        if kind is FunctionType:
            self._named(f.FUNCTION, _function_module(value), _function_qualname(value))
            return 1
        flags = flags_of(kind)
        if flags & IS_CLASS:
            w.add_record(self._out, f.CLASS, self._tables.type(value))
            return 1
        if _is_module(kind):
            self._module(value)
            return 1
        if is_builtin_function(kind) and not _is_bound(value):
            self._named(f.FUNCTION, _builtin_module(value), _builtin_name(value))
            return 1
        return self._container(value, kind, depth, budget)

    def _atom(self, value: Any, kind: type) -> None:
        out, text = self._out, self._text_limit()
        if self._is_secret(value, kind):
            w.add_secret(out, *self._secrets.digest(value))
        elif value is None:
            out.append(f.NONE)
        elif kind is bool:
            out.append(f.TRUE if value else f.FALSE)
        elif kind is int:
            w.add_whole(out, value, text)
        elif kind is float:
            w.add_float(out, value)
        elif kind is complex:
            w.add_complex(out, value)
        elif kind is str:
            w.add_string(out, value, text)
        else:
            w.add_blob(out, value, text)

    def _is_secret(self, value: Any, kind: type) -> bool:
        least = self._least
        if kind is str or kind is bytes:
            return 0 < least <= len(value) or self._secrets.begins_with_key(value)
        return least > 0 and kind is int and self._secrets.is_secret_number(value, least)

    def _text_limit(self) -> int:
        """How much of a text is written: less once the root value is large."""
        text = self._bound.text
        return min(text, SHORT_TEXT) if len(self._out) > LARGE_ROOT else text

    def _named(self, byte: int, module: Any, name: Any) -> None:
        tables = self._tables
        w.add_record(
            self._out, byte, tables.name(_exact_text(module)), tables.name(_exact_text(name))
        )

    def _module(self, value: Any) -> None:
        namespace = _module_dict(value)
        name = _exact_text(dict.get(namespace, "__name__") if type(namespace) is dict else "")
        w.add_record(self._out, f.MODULE, self._tables.name(name))

    def _container(self, value: Any, kind: type, depth: int, budget: int) -> int:
        input_number = self._inputs.get(id(value))
        if input_number is not None:
            w.add_record(self._out, f.INPUT, input_number)
            return 1
        earlier = self._started.get(id(value))
        if earlier is not None:
            w.add_record(self._out, f.SAME, self._containers - earlier)
            return 1
        self._started[id(value)] = self._containers
        if id(kind) in _CONTENT and kind not in FROZENDICTS:
            return self._content(value, kind, depth, budget)
        if kind is MethodType:
            function = _method_function(value)
            return self._method(_callable_name(function), _method_self(value), depth, budget)
        if is_builtin_function(kind):
            bound_to = _builtin_self(value)
            owner = bound_to if flags_of(type(bound_to)) & IS_CLASS else type(bound_to)
            name = f"{name_of(owner)}.{_builtin_name(value)}"
            return self._method(name, bound_to, depth, budget)
        summary = self._summaries.get(kind)
        fixed = summary is not None and not can_change(summary)
        if self._foreign_is_opaque and not fixed and not self._tables.is_user_type(kind):
            self._opaque(kind)
            return 1
        if summary is not None:
            self._summary(value, kind, summary)
            return 1
        if flags_of(kind) & IS_EXCEPTION:
            return self._exception(value, kind, depth, budget)
        content = next((base for base in class_order(kind) if id(base) in _CONTENT), None)
        if content is not None:
            return self._subclass(value, kind, content, depth, budget)
        return self._object(value, kind, depth, budget)

    def _summary(self, value: Any, kind: type, summary: Summary) -> None:
        self.mutable |= can_change(summary)
        try:
            sized = getattr(summary, "sized", False) is True
            text, complete = summary(value, self._bound.text) if sized else summary(value)
        except Exception:
            self._opaque(kind)
            return
        self._containers += 1
        w.add_summary(self._out, self._tables.type(kind), complete, text)

    def _opaque(self, kind: type) -> None:
        self._containers += 1
        w.add_record(self._out, f.OPAQUE, self._tables.type(kind))

    # --- content of builtin types ---

    def _content(self, value: Any, kind: type, depth: int, budget: int) -> int:
        """A builtin value, or an instance of a subclass as the builtin that it extends."""
        if kind is dict or kind in FROZENDICTS:
            return self._dict(value, kind, depth, budget)
        if id(kind) in _SEQUENCES:
            byte, length, parts = _SEQUENCES[id(kind)]
            self._containers += 1
            self.mutable |= kind is list or kind is set
            count = length(value)
            stored = parts(value, min(count, self._bound.width, budget - 1)) if depth else []
            w.add_record(self._out, byte, max(count, len(stored)), len(stored))
            return budget - self._parts(stored, depth, budget - 1)
        if kind is bytearray:
            self._containers += 1
            self.mutable = True
            is_secret = 0 < self._least <= bytearray.__len__(value)
            head = bytearray.__getitem__(value, slice(0, 0 if is_secret else self._text_limit()))
            out = self._out
            w.add_record(out, f.BYTEARRAY, max(bytearray.__len__(value), len(head)), len(head))
            out += head
            return 1
        self._atom(exact_scalar(value, kind), kind)
        return 1

    def _dict(self, value: Any, base: type, depth: int, budget: int) -> int:
        self._containers += 1
        self.mutable |= base is dict
        count = base.__len__(value)  # type: ignore[attr-defined]
        most = min(count, self._bound.width, (budget - 1) // 2) if depth else 0
        items = _first_items(value, base, most)
        w.add_record(self._out, f.DICT, max(count, len(items)), len(items))
        least, left = self._least, budget - 1
        for index, (key, part) in enumerate(items):
            parts = 2 * (len(items) - index)
            self._least = 0
            left = max(left - self._part(key, depth, left // parts), 0)
            self._least = (self._secrets.least(key) if type(key) is str else 0) or least
            left = max(left - self._part(part, depth, left // (parts - 1)), 0)
        self._least = least
        return budget - left

    def _parts(self, parts: list[Any], depth: int, left: int) -> int:
        """Write each part with its share of the budget that is left; returns what is left then."""
        for index, part in enumerate(parts):
            used = self._part(part, depth, left // (len(parts) - index))
            left = max(left - used, 0)
        return left

    def _part(self, part: Any, depth: int, share: int) -> int:
        if share < 1:
            self._out.append(f.LEFT_OUT)
            return 0
        return self._snapshot(part, depth - 1, share)

    def _method(self, name: str, bound_to: Any, depth: int, budget: int) -> int:
        self._containers += 1
        w.add_record(self._out, f.METHOD, self._tables.name(name))
        return 1 + self._part(bound_to, depth, budget - 1 if depth else 0)

    # --- objects ---

    def _object(self, value: Any, kind: type, depth: int, budget: int) -> int:
        hidden = _hidden_base(kind)
        has_attributes = _may_have_attributes(kind)
        if not _has_readable_dict(value, kind) or (hidden is not None and not has_attributes):
            self._opaque(kind)
            return 1
        self._containers += 1
        self.mutable |= has_attributes
        if hidden is None:
            w.add_record(self._out, f.OBJECT, self._tables.type(kind))
            return budget - self._attributes(value, kind, depth, budget - 1)
        # Its own type before that of the base: table entries are written in the order of use.
        w.add_record(self._out, f.SUBCLASS, self._tables.type(kind))
        self._opaque(hidden)
        return self._with_attributes(value, kind, depth, budget, 1)

    def _subclass(self, value: Any, kind: type, base: type, depth: int, budget: int) -> int:
        self._containers += 1
        self.mutable |= _may_have_attributes(kind)
        w.add_record(self._out, f.SUBCLASS, self._tables.type(kind))
        used = self._content(value, base, depth, max(budget - 1, 1))
        return self._with_attributes(value, kind, depth, budget, used)

    def _exception(self, value: Any, kind: type, depth: int, budget: int) -> int:
        self._containers += 1
        self.mutable = True
        w.add_record(self._out, f.EXCEPTION, self._tables.type(kind))
        least, self._least = self._least, 0
        used = self._content(_args_of(value), tuple, depth, max(budget - 1, 1))
        self._least = least
        return self._with_attributes(value, kind, depth, budget, used, with_slots=False)

    def _with_attributes(
        self, value: Any, kind: type, depth: int, budget: int, used: int, with_slots: bool = True
    ) -> int:
        """Write the attributes after a content that used `used` values; returns the new total."""
        left = max(budget - 1 - used, 0)
        return 1 + used + left - self._attributes(value, kind, depth, left, with_slots)

    def _attributes(
        self, value: Any, kind: type, depth: int, left: int, with_slots: bool = True
    ) -> int:
        """Write the attributes as parts; returns how much of the budget is left."""
        out = self._out
        most = min(self._bound.attributes, left) if depth else 0
        count, stored = _attributes(value, kind, most, with_slots)
        w.add_v(out, count + (_is_more_than_content(kind) or _order_is_hidden(value, kind)))
        w.add_v(out, len(stored))
        least = self._least
        for index, (name, part) in enumerate(stored):
            w.add_v(out, self._tables.name(name))
            self._least = self._secrets.least(name)
            used = self._part(part, depth, left // (len(stored) - index))
            left = max(left - used, 0)
        self._least = least
        return left


# --- raw state -----------------------------------------------------------------------------------


def _attributes(
    value: Any, kind: type, most: int, with_slots: bool
) -> tuple[int, list[tuple[str, Any]]]:
    """How many attributes an instance has, in its `__dict__` and slots, and the first of them."""
    stored: list[tuple[str, Any]] = []
    count = 0
    state = raw_dict(value, kind) if dict_offset_of(kind) else None
    if state is not None:
        stored = [(_exact_text(name), part) for name, part in list(islice(dict.items(state), most))]
        count = max(dict.__len__(state), len(stored))
    for base in class_order(kind) if with_slots else ():
        for slot in own_slots(base):
            try:
                part = slot.__get__(value)
            except AttributeError:
                continue  # it has no value yet
            if part is None and base is defaultdict:
                continue  # None and no factory cannot be distinguished
            count += 1
            if len(stored) < most:
                stored.append((slot.__name__, part))
    return count, stored


def _has_readable_dict(value: Any, kind: type) -> bool:
    """Whether the `__dict__`, if there is one, can be read; a class can hide the descriptor."""
    return not dict_offset_of(kind) or raw_dict(value, kind) is not None


def raw_dict(value: Any, kind: type) -> dict[str, Any] | None:
    """The `__dict__` of an instance, through the descriptor that its class got from `type`."""
    for base in class_order(kind):
        getter = own_names(base).get("__dict__")
        if type(getter) is GetSetDescriptorType or type(getter) is MemberDescriptorType:
            try:
                state = getter.__get__(value)
            except (AttributeError, TypeError):
                continue
            # An instance can be given a dict of a subclass; `dict` itself still reads it.
            return state if flags_of(type(state)) & IS_DICT else None
    return None


def own_slots(kind: type) -> list[MemberDescriptorType]:
    """The slots that a class of Python code adds, in the order of their place in memory."""
    namespace = own_names(kind)
    if kind is defaultdict:
        return [namespace["default_factory"]]
    if not flags_of(kind) & HEAP_TYPE:
        if module_of(kind) != _OF_TEMPLATES:
            return []
        return [slot for slot in namespace.values() if type(slot) is MemberDescriptorType]
    if "__slots__" not in namespace:
        return []
    members = {
        member.__name__: member
        for member in list(namespace.values())
        if type(member) is MemberDescriptorType and member.__objclass__ is kind
    }
    return [members[name] for name in sorted(members)]


def _may_have_attributes(kind: type) -> bool:
    return bool(dict_offset_of(kind)) or any(own_slots(base) for base in class_order(kind))


def _hidden_base(kind: type | None) -> type | None:
    """The nearest base with state that cannot be read, if there is one."""
    while kind is not None and id(kind) not in _TRANSPARENT_TYPES and kind is not OrderedDict:
        base = base_of(kind)
        if base is None or item_size_of(kind) != item_size_of(base):
            return kind
        words = len(own_slots(kind))
        words += _adds_dict(kind, base) + _adds_weakrefs(kind, base)
        if size_of(kind) != size_of(base) + words * _WORD:
            return kind
        kind = base
    return None


def _is_more_than_content(kind: type) -> bool:
    """Whether a class extends a builtin by state that cannot be read."""
    if flags_of(kind) & IS_EXCEPTION or not any(id(base) in _CONTENT for base in class_order(kind)):
        return False
    return _hidden_base(kind) is not None


def _is_ordered(kind: type) -> bool:
    return any(base is OrderedDict for base in class_order(kind))


def _order_is_hidden(value: Any, kind: type) -> bool:
    """Whether it is an OrderedDict whose iteration would run a `__hash__` of the program."""
    return _is_ordered(kind) and not all(
        id(kind) in PLAIN_IDS for kind in map(type, list(dict.keys(value)))
    )


def _first_items(value: Any, base: Any, most: int) -> list[tuple[Any, Any]]:
    """The first items of a dict in their order, read in one step so that no thread interferes."""
    kind = type(value)
    if kind is not dict and _is_ordered(kind) and not _order_is_hidden(value, kind):
        with contextlib.suppress(KeyError, RuntimeError):  # it was changed through `dict`
            return list(islice(OrderedDict.items(value), most))
    return list(islice(base.items(value), most))


def _adds_dict(kind: type, base: type) -> bool:
    """Whether a class adds a dict pointer to the memory of its instances."""
    offset = dict_offset_of(kind)
    return offset not in (0, dict_offset_of(base)) and not flags_of(kind) & MANAGED_DICT


def _adds_weakrefs(kind: type, base: type) -> bool:
    return weakref_offset_of(kind) > 0 and weakref_offset_of(kind) != weakref_offset_of(base)


def _exact_text(value: Any) -> str:
    if type(value) is str:
        return value
    return str.__str__(value) if flags_of(type(value)) & IS_STRING else ""


def _is_module(kind: type) -> bool:
    return kind is ModuleType or any(base is ModuleType for base in class_order(kind))


def _is_bound(builtin: Any) -> bool:
    owner = _builtin_self(builtin)
    return owner is not None and not _is_module(type(owner))


def _callable_name(function: Any) -> str:
    """The qualified name of a method's function; empty if that is no function of Python code."""
    is_function = type(function) is FunctionType
    return _exact_text(_function_qualname(function)) if is_function else ""
