"""Which builtin has a model: its own account of where the parts of its result come from.

A model receives the receiver, the arguments and the keywords as pairs, and returns a pair. It does
what the builtin does, through the builtin. For what it does not cover it returns NotImplemented,
before it has done anything.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodWrapperType, ModuleType
from typing import Any

from whence.langs.python.objects.raw_class import class_order, is_builtin_function, own_names
from whence.langs.python.provenance.tags import Control, Pair

Arguments = tuple[Pair, ...]
Keywords = dict[str, Pair]
Model = Callable[[int, Control, Pair, Arguments, Keywords], Any]

FUNCTIONS: dict[int, tuple[object, Model]] = {}
METHODS: dict[tuple[int, str], Model] = {}


def models(function: object) -> Callable[[Model], Model]:
    """Register the model of a builtin function or type."""

    def register(model: Model) -> Model:
        FUNCTIONS[id(function)] = (function, model)
        return model

    return register


def models_method(kind: type, *names: str) -> Callable[[Model], Model]:
    """Register the model of methods of a builtin type."""

    def register(model: Model) -> Model:
        for name in names:
            METHODS[id(kind), name] = model
        return model

    return register


def model_for(function: Any) -> Model | None:
    """The model of something that is about to be called."""
    entry = FUNCTIONS.get(id(function))
    if entry is not None:
        return entry[1]
    if type(function) is MethodWrapperType:  # `super().__setattr__`
        return METHODS.get((id(function.__objclass__), function.__name__))
    if not is_builtin_function(type(function)):
        return None
    receiver = function.__self__
    if receiver is None or issubclass(type(receiver), (ModuleType, type)):
        return None
    name = function.__name__
    for kind in class_order(type(receiver)):
        if name in own_names(kind):
            return METHODS.get((id(kind), name))
    return None
