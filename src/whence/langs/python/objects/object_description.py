"""What a digest sees of an object of this process, of any class.

For processes that were forked to compare what two versions of a call leave behind. The table of
kinds says most of it. What depends on the two versions is decided here: functions, generators and
classes have other code in each.

Invariant: an object that is not described in full is described as incomplete.
"""

from __future__ import annotations

import gc
import inspect
import sys
import types
import warnings
from collections.abc import Iterable
from typing import Any, Protocol

from whence.langs.python.objects.class_slots import layout
from whence.langs.python.objects.kind_table import kind_of_c_class, kind_of_exact
from whence.langs.python.objects.loop_positions import loop_positions
from whence.langs.python.objects.object_content import dict_getter, read_slots
from whence.langs.python.objects.object_kinds import (
    CLASS,
    EXCEPTION,
    FUNCTION,
    GENERATOR,
    Description,
    ObjectKind,
    ProgramObject,
    Reader,
    describe_by_reading,
    describe_incomplete,
)
from whence.langs.python.objects.raw_class import find_in_class, full_name, own_names, qualname_of

_CODE = (types.FunctionType, types.ModuleType, type, staticmethod, classmethod, property)


class CodeMatch(Protocol):
    """Which code of one version is which code of the other."""

    def place(self, code: types.CodeType) -> str:
        """Tells code from other code of its name, equally in both versions."""

    def captured(self, function: types.FunctionType) -> list[types.CellType]:
        """The cells that a function has in both versions."""


class _Members:
    """The members of a set subclass, apart from its attributes, which have an order."""

    def __init__(self, members: Iterable[ProgramObject]) -> None:
        self.members = list(members)


class ObjectDescriber:
    """Describes objects. `modules` are those of the program."""

    def __init__(self, modules: Iterable[str], code_match: CodeMatch) -> None:
        self._modules = frozenset(modules)
        self._code_match = code_match
        # `__reduce__` of itertools iterators is deprecated, and warns.
        warnings.simplefilter("ignore")

    def describe(self, value: ProgramObject) -> Description:
        """What a digest sees of an object."""
        cls = type(value)
        kind = kind_of_exact(cls)
        if kind is FUNCTION:
            return self._function(value)
        if kind is GENERATOR:
            return self._generator(value)
        if kind is not None:
            return _describe(kind, value)
        if issubclass(cls, type):
            return self._class(value)
        if cls is _Members:
            return Description("members", value.members, is_shared=False, is_unordered=True)
        base = layout(cls)[0]
        kind = EXCEPTION if issubclass(base, BaseException) else kind_of_c_class(base)
        if kind is not None and base is cls and kind is not EXCEPTION:
            return _describe(kind, value)
        if kind is not None and Reader.DIGEST in kind.subclasses_for:
            return _describe_instance(kind, value)
        return _describe_c_object(value)

    def _class(self, value: type) -> Description:
        """By name; a class of the program also by its data."""
        names = own_names(value)
        module = names.get("__module__", "")
        label = f"{CLASS.name} {module if type(module) is str else ''}.{qualname_of(value)}"
        if type(module) is not str or module not in self._modules:
            return Description(label)
        data = {
            name: part
            for name, part in names.items()
            if not (name.startswith("_") and name.endswith("_"))
            and find_in_class(type(part), "__get__") is None
            and not issubclass(type(part), _CODE)
        }
        return Description(f"{label} {sorted(data)}", [data[name] for name in sorted(data)])

    def _function(self, value: types.FunctionType) -> Description:
        code = value.__code__
        place = self._code_match.place(code) if "<" in code.co_qualname else ""
        label = f"function {value.__module__}.{value.__qualname__} {code.co_qualname} {place}"
        held = [value.__defaults__, value.__kwdefaults__, value.__dict__]
        return Description(label, [*filter(None, held), *self._code_match.captured(value)])

    def _generator(self, value: types.GeneratorType[Any, Any, Any]) -> Description:
        code, frame = value.gi_code, value.gi_frame
        label = f"generator {code.co_qualname} {self._code_match.place(code)}"
        if code.co_name == "<genexpr>":
            # It is not recorded as a call: its work belongs to the function that made it.
            label += f" {code.co_code.hex()} {code.co_consts} {code.co_names}"
        if frame is None:
            return Description(f"{label} ended")
        is_new = inspect.getgeneratorstate(value) == inspect.GEN_CREATED
        # The position of a new generator says nothing about another version of its code.
        at = f" at {frame.f_lasti}" if frame.f_lasti >= 0 and not is_new else ""
        label = f"{label}{at} {sorted(frame.f_locals)} running={value.gi_running}"
        label += "".join(f" loop {position}" for position in loop_positions(value))
        return Description(label, _references_of_generator(value))


def _references_of_generator(value: types.GeneratorType[Any, Any, Any]) -> list[ProgramObject]:
    """The variables of a generator, and the iterators of its loops."""
    references = gc.get_referents(value)
    codes = [at for at, part in enumerate(references) if part is value.gi_code]
    # 3.11 lists the code twice: that of the generator and that of its frame.
    return references[codes[1 if sys.version_info < (3, 12) else 0] + 1 :]


def _describe(kind: ObjectKind, value: ProgramObject) -> Description:
    if kind.describe is not None:
        return kind.describe(value)
    return describe_by_reading(kind, value)


def _describe_instance(kind: ObjectKind, value: ProgramObject) -> Description:
    """An object of a class that a class statement made: its content, then its attributes."""
    cls = type(value)
    inner = _describe(kind, value)
    getter, is_plain = dict_getter(cls)
    if not is_plain:
        return describe_incomplete(value)
    held = {} if getter is None else getter.__get__(value)
    attributes = {str(name): part for name, part in dict.items(held)} if type(held) is dict else {}
    slots = layout(cls)[1]
    numbers, values = read_slots(value, slots)
    attributes |= {slots[at][0]: part for at, part in zip(numbers, values, strict=True)}
    names = sorted(attributes)
    label = f"{full_name(cls)} {inner.label} {names}"
    own = [_Members(inner.parts)] if inner.is_unordered else inner.parts
    return Description(label, [*own, *(attributes[name] for name in names)], inner.is_complete)


def _describe_c_object(value: ProgramObject) -> Description:
    """An object of C that is in no table: its references, which may not be all."""
    cls = type(value)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and full_name(cls).partition(".")[0] == "numpy":
        if cls is numpy.ndarray:
            label = f"ndarray {value.dtype} {value.shape}"
            if value.dtype.hasobject:
                return Description(label, [value.tolist()])
            return Description(f"{label} {value.tobytes().hex()}")
        if isinstance(value, numpy.generic):
            return Description(f"{cls.__qualname__} {value.tobytes().hex()}", is_shared=False)
    if full_name(cls) == "functools._lru_list_elem":
        return Description("remembered")  # its cache lists it
    return describe_incomplete(value)
