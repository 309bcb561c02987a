"""The kinds of live objects: what one holds, how to write that back, how to make one anew.

Two readers use these rows. *Freezing* compares objects with themselves, by identity, within one
process, and must be able to restore what changed. A *digest* compares objects between processes
that run different versions of the program, so it ignores addresses, positions in code and caches.
Where both may see the same, `describe` is absent and a digest uses `read`.

Invariants: a kind that cannot be restored or made has no function for it. What a digest cannot see
in full is described as incomplete. No method of the program runs, except `__hash__` and `__eq__` of
the keys of an OrderedDict, which only that class can list in order, and of what `write` puts into
sets and dicts.
"""

from __future__ import annotations

import _random
import collections
import enum
import gc
import io
import itertools
import operator
import re
import types
import weakref
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from whence.langs.python.objects.atoms import Json, decode_atom, encode_atom, exact_scalar
from whence.langs.python.objects.class_slots import is_changeable, layout
from whence.langs.python.objects.loop_positions import loop_positions
from whence.langs.python.objects.newer_types import FROZENDICTS
from whence.langs.python.objects.raw_class import full_name, own_names

ProgramObject: TypeAlias = Any
"""An object of the program, of any class. Used only through functions of builtin types."""
Parts = Sequence[ProgramObject]
Held = tuple[Json, Parts]
"""What an object holds: a label that is JSON, and objects."""


class Description(NamedTuple):
    """How a digest sees an object: a text, and the objects that it holds."""

    label: str
    parts: Parts = ()
    is_complete: bool = True
    """Whether this is all that there is."""
    is_shared: bool = True
    """Whether it matters which object it is."""
    is_unordered: bool = False


Describe = Callable[[ProgramObject], Description]


class Reader(enum.Flag):
    """The two readers of the table."""

    FREEZING = enum.auto()
    DIGEST = enum.auto()


NEITHER, BOTH = Reader(0), Reader.FREEZING | Reader.DIGEST


@dataclass(frozen=True, eq=False)
class ObjectKind:
    """One row of the table: how to handle objects of one kind."""

    name: str
    read: Callable[[ProgramObject], Held]
    write: Callable[[ProgramObject, Json, Parts], None] | None = None
    """Makes an object hold this and nothing else."""
    make_empty: Callable[[type, Json], ProgramObject] | None = None
    """Makes an object that `write` then fills."""
    make_full: Callable[[type, Json, Parts], ProgramObject] | None = None
    """Makes an immutable object with its parts."""
    describe: Describe | None = None
    """What a digest sees, where that is not what `read` gives."""
    can_change: bool = True
    """Whether what it holds can change."""
    is_keyed: bool = False
    """Whether it hashes what it holds."""
    is_shared: bool = True
    """Whether a digest tells two equal objects from one object."""
    is_unordered: bool = False
    has_state: bool = False
    """Whether it holds more than references to objects."""
    has_finalizer: bool = False
    """Whether the program may notice that an object is freed."""
    is_cache: bool = False
    """Whether it holds only what can be computed again."""
    is_opaque: bool = False
    """Whether freezing refuses a call that can reach one."""
    subclasses_for: Reader = NEITHER
    """Who may use this kind for what a class statement derives from it."""


def describe_by_reading(kind: ObjectKind, value: ProgramObject) -> Description:
    """What a digest sees of an object, unless its kind defines something else."""
    label, parts = kind.read(value)
    text = f"{kind.name} {full_name(type(value))} {label} {len(parts)}"
    return Description(text, parts, True, kind.is_shared, kind.is_unordered)


def describe_incomplete(value: ProgramObject) -> Description:
    """An object of C of which only the references are known."""
    return Description(full_name(type(value)), gc.get_referents(value), is_complete=False)


def _read_nothing(_: ProgramObject) -> Held:
    return None, ()


def _write_nothing(_: ProgramObject, __: Json, ___: Parts) -> None:
    pass


# --- containers ----------------------------------------------------------------------------------


def _read_dict(value: ProgramObject) -> Held:
    return None, list(itertools.chain.from_iterable(dict.items(value)))


def write_dict(value: ProgramObject, _: Json, parts: Parts) -> None:
    """Entries that stay are not removed first: the program may be iterating over the dict."""
    keys, missing = list(dict.keys(value)), object()
    if len(parts) < 2 * len(keys) or not all(map(operator.is_, keys, parts[::2])):
        dict.clear(value)
    for key, part in zip(parts[::2], parts[1::2], strict=True):
        if dict.get(value, key, missing) is not part:
            dict.__setitem__(value, key, part)


def _write_ordered_dict(value: ProgramObject, _: Json, parts: Parts) -> None:
    collections.OrderedDict.clear(value)
    for key, part in zip(parts[::2], parts[1::2], strict=True):
        collections.OrderedDict.__setitem__(value, key, part)


_default_factory: types.MemberDescriptorType = own_names(collections.defaultdict)["default_factory"]
_max_length: types.GetSetDescriptorType = own_names(collections.deque)["maxlen"]


def _write_defaultdict(value: ProgramObject, _: Json, parts: Parts) -> None:
    _default_factory.__set__(value, parts[0])
    write_dict(value, None, parts[1:])


def _write_set(value: ProgramObject, _: Json, parts: Parts) -> None:
    set.clear(value)
    for part in parts:
        set.add(value, part)


def _make_deque(cls: type, max_length: Json) -> ProgramObject:
    made: ProgramObject = collections.deque.__new__(cls)
    collections.deque.__init__(made, (), max_length)
    return made


def _write_deque(value: ProgramObject, _: Json, parts: Parts) -> None:
    collections.deque.clear(value)
    collections.deque.extend(value, parts)


LIST = ObjectKind(
    "list", lambda value: (None, list(list.__iter__(value))),
    lambda value, _, parts: list.__setitem__(value, slice(None), parts),
    lambda cls, _: list.__new__(cls), subclasses_for=BOTH,
)  # fmt: skip
DICT = ObjectKind(
    "dict", _read_dict, write_dict, lambda cls, _: dict.__new__(cls), is_keyed=True,
    subclasses_for=BOTH,
)  # fmt: skip
ORDERED_DICT = ObjectKind(
    "OrderedDict",
    lambda value: (None, [*itertools.chain(*collections.OrderedDict.items(value))]),
    _write_ordered_dict, lambda cls, _: collections.OrderedDict.__new__(cls), is_keyed=True,
    subclasses_for=BOTH,
)  # fmt: skip
DEFAULTDICT = ObjectKind(
    "defaultdict", lambda value: (None, [_default_factory.__get__(value), *_read_dict(value)[1]]),
    _write_defaultdict, lambda cls, _: collections.defaultdict.__new__(cls), is_keyed=True,
    subclasses_for=BOTH,
)  # fmt: skip
SET = ObjectKind(
    "set", lambda value: (None, list(set.__iter__(value))), _write_set,
    lambda cls, _: set.__new__(cls), is_keyed=True, is_unordered=True, subclasses_for=BOTH,
)  # fmt: skip
DEQUE = ObjectKind(
    "deque", lambda value: (_max_length.__get__(value), list(collections.deque.__iter__(value))),
    _write_deque, _make_deque, subclasses_for=BOTH,
)  # fmt: skip
TUPLE = ObjectKind(
    "tuple", lambda value: (None, list(tuple.__iter__(value))),
    make_full=lambda cls, _, parts: tuple.__new__(cls, parts), can_change=False, is_shared=False,
    subclasses_for=BOTH,
)  # fmt: skip
FROZENSET = ObjectKind(
    "frozenset", lambda value: (None, list(frozenset.__iter__(value))),
    make_full=lambda cls, _, parts: frozenset.__new__(cls, parts), can_change=False, is_keyed=True,
    is_shared=False, is_unordered=True, subclasses_for=BOTH,
)  # fmt: skip
FROZENDICT = ObjectKind(
    "frozendict", lambda value: (None, [*itertools.chain(*FROZENDICTS[0].items(value))]),
    make_full=lambda cls, _, parts: FROZENDICTS[0].__new__(
        cls, dict(zip(parts[::2], parts[1::2], strict=True))
    ),
    can_change=False, is_keyed=True, is_shared=False, subclasses_for=BOTH,
)  # fmt: skip


# --- data without parts --------------------------------------------------------------------------


def _write_array(value: ProgramObject, label: Json, _: Parts) -> None:
    array.__setitem__(value, slice(None), array(label[0], bytes.fromhex(label[1])))


_type_code: types.GetSetDescriptorType = own_names(array)["typecode"]


def _read_array(value: ProgramObject) -> Held:
    return [_type_code.__get__(value), array.tobytes(value).hex()], ()


def _make_random(cls: type, _: Json) -> ProgramObject:
    """Seeded, so that it asks the system for nothing."""
    new: Callable[..., ProgramObject] = _random.Random.__new__
    return new(cls, 1)


def memory_stream(cls: type[io.StringIO] | type[io.BytesIO]) -> ObjectKind:
    """The kind of StringIO or BytesIO."""
    methods: Any = cls  # whose state functions have no types

    def read(value: ProgramObject) -> Held:
        if value.closed:
            return "closed", ()
        content, *rest, attributes = methods.__getstate__(value)
        return [content.hex() if type(content) is bytes else content, *rest], [attributes]

    def write(value: ProgramObject, label: Json, parts: Parts) -> None:
        content, *rest = label
        content = bytes.fromhex(content) if cls is io.BytesIO else content
        methods.__setstate__(value, (content, *rest, parts[0]))

    return ObjectKind(
        cls.__name__, read, write, lambda made, _: methods.__new__(made), has_state=True
    )


def scalar(base: type) -> ObjectKind:
    """The kind of a scalar type, which subclasses extend by attributes."""
    new: Callable[..., ProgramObject] = base.__new__

    def read(value: ProgramObject) -> Held:
        return encode_atom(exact_scalar(value, base)), ()

    return ObjectKind(
        base.__name__, read, _write_nothing, lambda cls, label: new(cls, decode_atom(label)),
        is_shared=False, subclasses_for=BOTH,
    )  # fmt: skip


BYTEARRAY = ObjectKind(
    "bytearray", lambda value: (bytearray.hex(value), ()),
    lambda value, text, _: bytearray.__setitem__(value, slice(None), bytes.fromhex(text)),
    lambda cls, _: bytearray.__new__(cls), has_state=True, subclasses_for=BOTH,
)  # fmt: skip
ARRAY = ObjectKind(
    "array", _read_array, _write_array, lambda cls, label: array.__new__(cls, label[0]),
    has_state=True, subclasses_for=BOTH,
)  # fmt: skip
RANDOM = ObjectKind(
    "random", lambda value: (list(_random.Random.getstate(value)), ()),
    lambda value, state, _: _random.Random.setstate(value, tuple(state)), _make_random,
    has_state=True, subclasses_for=BOTH,
)  # fmt: skip
OBJECT = ObjectKind(
    "object", _read_nothing, _write_nothing, lambda cls, _: object.__new__(cls), subclasses_for=BOTH
)
ATOM = ObjectKind("atom", lambda value: (encode_atom(value), ()), can_change=False, is_shared=False)


# --- code ----------------------------------------------------------------------------------------


def _read_cell(value: types.CellType) -> Held:
    try:
        return "", [value.cell_contents]
    except ValueError:
        return "empty", ()


def _write_cell(value: types.CellType, label: Json, parts: Parts) -> None:
    if label == "empty":
        del value.cell_contents
    else:
        value.cell_contents = parts[0]


def _read_function(value: types.FunctionType) -> Held:
    """Its references: asking for an attribute that is not there yet would create it."""
    builtins = getattr(value, "__builtins__")  # noqa: B009 (typeshed does not know it)
    return None, [part for part in gc.get_referents(value) if part is not builtins]


def read_whole_function(value: types.FunctionType) -> Held:
    """All that `make_full` needs to make the same function."""
    label = [value.__name__, value.__qualname__]
    return label, [
        value.__code__, value.__globals__, value.__closure__, value.__defaults__,
        value.__kwdefaults__, value.__dict__, value.__module__, value.__doc__,
        value.__annotations__,
    ]  # fmt: skip


def _make_function(_: type, label: Json, parts: Parts) -> types.FunctionType:
    code, variables, closure, defaults, keyword_defaults, attributes, *rest = parts
    made = types.FunctionType(code, variables, label[0], defaults, closure)
    made.__qualname__ = label[1]
    made.__kwdefaults__ = keyword_defaults
    made.__dict__ = attributes
    made.__module__, made.__doc__, made.__annotations__ = rest
    return made


def _read_class(value: type) -> Held:
    if not is_changeable(value):
        return None, ()
    names = own_names(value)
    return list(names), list(names.values())


def _write_class(value: type, names: Json, parts: Parts) -> None:
    current = own_names(value)
    for name in [name for name in current if name not in names]:
        type.__delattr__(value, name)
    for name, part in zip(names, parts, strict=True):
        if current.get(name, current) is not part:
            type.__setattr__(value, name, part)


def variables_of_module(module: types.ModuleType) -> dict[str, ProgramObject]:
    """The namespace of a module."""
    variables: dict[str, ProgramObject] = types.ModuleType.__getattribute__(module, "__dict__")
    return variables


def _describe_module(value: types.ModuleType) -> Description:
    """By name: the program's own modules are compared variable by variable."""
    variables = variables_of_module(value)
    name = dict.get(variables, "__name__")
    parts = () if type(value) is types.ModuleType else [variables]
    return Description(f"module {name if type(name) is str else ''}", parts)


CELL = ObjectKind("cell", _read_cell, _write_cell, lambda cls, _: types.CellType())
FUNCTION = ObjectKind("function", _read_function, make_full=_make_function)
METHOD = ObjectKind(
    "method", lambda value: (None, [value.__func__, value.__self__]),
    make_full=lambda _, __, parts: types.MethodType(*parts), can_change=False, is_shared=False,
)  # fmt: skip
CLASS = ObjectKind("class", _read_class, _write_class)
MODULE = ObjectKind(
    "module", lambda value: (None, [variables_of_module(value)]), describe=_describe_module
)
CODE = ObjectKind(
    "code", lambda value: (None, value.co_consts), can_change=False,
    describe=lambda value: Description(f"code {value.co_qualname}"),
)  # fmt: skip


# --- values and holders of C: made anew or not at all, never written -----------------------------


def _read_references(value: ProgramObject) -> Held:
    return None, gc.get_referents(value)


def _read_constructor_arguments(value: ProgramObject) -> Held:
    c_class: Any = layout(type(value))[0]
    return None, c_class.__reduce__(value)[1]


def _describe_reduced(value: ProgramObject) -> Description:
    """By what pickling tells."""
    c_class: Any = layout(type(value))[0]
    made, *rest = c_class.__reduce__(value)
    return Description(f"{full_name(c_class)} {getattr(made, '__qualname__', '')}", rest)


def _describe_descriptor(value: ProgramObject) -> Description:
    owner = getattr(value, "__objclass__", None) or type(value)
    return Description(f"{type(value).__name__} {full_name(owner)}.{value.__name__}")


def _describe_builtin(value: ProgramObject) -> Description:
    owner = value.__self__
    label = f"builtin {value.__module__}.{value.__qualname__}"
    parts = () if issubclass(type(owner), types.ModuleType) else [owner]
    return Description(label, parts, is_shared=False)


def _describe_match(value: re.Match[Any]) -> Description:
    label = f"match {value.regs} {value.pos} {value.endpos} {value.lastindex}"
    return Description(label, [value.re, value.string], is_shared=False)


VALUE = ObjectKind(
    "value", _read_constructor_arguments, make_full=lambda cls, _, parts: cls(*parts),
    can_change=False, subclasses_for=Reader.DIGEST,
)  # fmt: skip


def holder(describe: Describe | None = None) -> ObjectKind:
    """The kind of what holds the same references all its life."""
    return ObjectKind(
        "holder", _read_references, describe=describe, can_change=False,
        subclasses_for=Reader.FREEZING,
    )  # fmt: skip


HOLDER = holder()
UNSEEN_HOLDER = holder(describe_incomplete)
"""Part of its state is not in its references, which a digest must know."""
KEPT_VALUE = holder(_describe_reduced)
BUILTIN = holder(_describe_builtin)
DESCRIPTOR = holder(_describe_descriptor)
METHOD_WRAPPER = holder(
    lambda value: Description(f"wrapper {value.__qualname__}", [value.__self__], is_shared=False)
)
MATCH = holder(_describe_match)
WEAK_REFERENCE = holder(
    lambda value: Description("weakref", [weakref.ref.__call__(value)], is_shared=False)
)
MEMORYVIEW = holder(lambda value: Description("memoryview", [value.tobytes()]))
TRACEBACK = holder(lambda value: Description("traceback"))
STRUCT = holder(lambda value: Description(f"struct {value.format}"))
ABSTRACT_CLASS_CACHE = holder(lambda value: Description("abc"))
"""Which classes an abstract class accepted: what isinstance remembers."""


# --- state that advances: iterators, files, locks -------------------------------------------------


def _read_iterator(value: ProgramObject) -> Held:
    return operator.length_hint(value, -1), gc.get_referents(value)


def _read_generator(value: types.GeneratorType[Any, Any, Any]) -> Held:
    frame = value.gi_frame
    at = -1 if frame is None else frame.f_lasti
    return [at, *loop_positions(value)], gc.get_referents(value)


def _read_file(value: ProgramObject) -> Held:
    try:
        return ["closed" if value.closed else value.tell()], ()
    except (OSError, ValueError):
        return ["?"], ()


def _describe_file(value: ProgramObject) -> Description:
    if value.closed:
        return Description("closed file")
    try:
        return Description(f"file {value.name!r} {value.mode} {value.tell()}")
    except Exception:
        return Description("file", is_complete=False)


def _labelled(label: Callable[[ProgramObject], Json]) -> Callable[[ProgramObject], Held]:
    return lambda value: (label(value), gc.get_referents(value))


_NUMBERS = (int, float, complex, type)


def _describe_count(value: ProgramObject) -> Description:
    # `repr` of a count calls `repr` of its numbers, which the program may define.
    are_numbers = all(type(part) in _NUMBERS for part in gc.get_referents(value))
    return Description(f"count {value!r}") if are_numbers else describe_incomplete(value)


_exception_args = own_names(BaseException)["args"].__get__
_exception_cause = own_names(BaseException)["__cause__"].__get__

ITERATOR = ObjectKind("iterator", _read_iterator, describe=_describe_reduced, has_state=True)
ENUMERATE = ObjectKind(
    "enumerate", _labelled(lambda value: value.__reduce__()[1][1]), describe=_describe_reduced,
    has_state=True,
)  # fmt: skip
COUNT = ObjectKind("count", _labelled(repr), describe=_describe_count, has_state=True)
GENERATOR = ObjectKind("generator", _read_generator, has_state=True, has_finalizer=True)
LOCK = ObjectKind("lock", _labelled(lambda value: value.locked()), has_state=True)
RECURSIVE_LOCK = ObjectKind(
    "lock", _labelled(repr), describe=lambda value: Description("lock"), has_state=True
)
FILE = ObjectKind("file", _read_file, describe=_describe_file, has_state=True, has_finalizer=True)
WRITTEN_FILE = ObjectKind(
    "file", _read_file, describe=describe_incomplete, has_state=True, has_finalizer=True
)
"""What is in its buffer is not known."""
FUNCTION_CACHE = ObjectKind(
    "cache", _labelled(lambda value: list(value.cache_info())), is_cache=True
)
EXCEPTION = ObjectKind(
    "exception", _read_references,
    describe=lambda value: Description("raised", [_exception_args(value), _exception_cause(value)]),
    subclasses_for=Reader.DIGEST,
)  # fmt: skip
UNKNOWN = ObjectKind(
    "unknown", _read_references, describe=describe_incomplete, has_finalizer=True, is_opaque=True
)
PICKLED_ITERATOR = ObjectKind(
    "iterator", _read_references, describe=_describe_reduced, has_finalizer=True, is_opaque=True
)
"""An iterator of itertools: only pickling tells how far it is, and nothing can move it back."""
