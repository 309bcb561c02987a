"""The tags of variables of modules, and of variables that several functions share."""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, FunctionType, ModuleType

from whence.langs.python.objects.newer_types import is_lazy_import
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_memory import Shadow, deep_tags
from whence.langs.python.provenance.runtime.tagged_operations import tags_in_frame
from whence.langs.python.provenance.tags import LOAD, OP, PHI, STORE, Control, MaybeTag, Pair, Tag

_NONE = object()


def opaque_frame_tag(site: int, control: Control, *operands: Pair) -> MaybeTag:
    """The tag of an expression that was evaluated unchanged and could read the whole frame."""
    needs = (*deep_tags(operands), *tags_in_frame(sys._getframe(1)))
    tag = Tag((OP, site, control, *needs, RUN.stray_results))
    RUN.passed_out_of_sight = Tag((OP, site, control, tag, RUN.passed_out_of_sight))
    return tag


@with_native
def load_global(site: int, control: Control, module: int, name: str, value: object) -> Pair:
    """A variable of a module."""
    shadow = RUN.modules.get(module)
    if shadow is None or name not in shadow.attributes:
        # perhaps `from module import *`
        return value, imported_variable_tag(site, control, name, value)
    if shadow.attribute_values[name] is not value:  # set by code out of sight, or a builtin
        return value, Tag(
            (OP, site, control, shadow.attributes[name], RUN.passed_out_of_sight, RUN.stray_results)
        )
    return value, Tag((LOAD, site, control, shadow.attributes[name], RUN.time, shadow.object, name))


def imported_variable_tag(site: int, control: Control, name: str, value: object) -> MaybeTag:
    """The tag of a variable in the rewritten module that it was imported from."""
    if issubclass(type(value), (type, FunctionType, ModuleType, BuiltinFunctionType)):
        return None
    for number, module in RUN.modules.items():
        if module.attribute_values.get(name, _NONE) is value:
            return Tag((LOAD, site, control, module.attributes[name], RUN.time, ("module", number),
                    name))  # fmt: skip
    return None


def import_variable(site: int, control: Control, module: int, imported: str, name: str) -> None:
    """Note a variable that a module has imported from another one.

    Read from the namespace: to read the variable would import what is imported lazily (3.15).
    """
    value = sys._getframe(1).f_globals.get(name, _NONE)
    if not is_lazy_import(value):
        tag = imported_variable_tag(site, control, imported, value)
        store_global(site, control, module, name, (value, tag))


def store_global(site: int, control: Control, module: int, name: str, new_value: Pair) -> object:
    """Note the new value of a module's variable, and return it."""
    shadow = RUN.modules.get(module)
    if shadow is None:
        shadow = RUN.modules[module] = Shadow(("module", module))
    RUN.time += 1
    shadow.attributes[name] = Tag((STORE, site, control, new_value[1], RUN.time))
    shadow.attribute_values[name] = new_value[0]
    return new_value[0]


def delete_global(site: int, control: Control, module: int, name: str) -> None:
    """Note that a variable of a module was deleted: its absence has an origin."""
    store_global(site, control, module, name, (_NONE, None))


def join_global(site: int, control: Control, module: int, name: str, decided: Control) -> None:
    """Where branches join that may have set a variable of a module."""
    shadow = RUN.modules.get(module)
    if shadow is not None and name in shadow.attributes:
        before = shadow.attributes[name]
        shadow.attributes[name] = Tag((PHI, site, control, before, decided))


def load_cell(site: int, control: Control, cell: str, value: object, tag: MaybeTag) -> Pair:
    """A variable that more than one function sets."""
    return value, Tag((LOAD, site, control, tag, RUN.time, ("cell", cell), None))


def store_cell(site: int, control: Control, new_value: Pair) -> Pair:
    """The new value of such a variable."""
    RUN.time += 1
    return new_value[0], Tag((STORE, site, control, new_value[1], RUN.time))
