"""Recipes as JSON, for the process that makes the objects (`worker/recipe_builder.py` reads it)."""

from __future__ import annotations

from typing import Any

from whence.langs.python.objects.atoms import encode_atom
from whence.langs.python.trace import value_recipes as r


class CannotEncode(Exception):
    """What cannot be made again, and why."""


def encode_recipe(recipe: r.Recipe) -> list[Any]:
    """A recipe as JSON; `CannotEncode` if a part of it is unknown."""
    match recipe:
        case r.LiteralRecipe(value):
            return ["literal", encode_atom(value)]
        case r.ItemsRecipe(kind, items, label):
            return ["items", kind, [encode_recipe(item) for item in items], label]
        case r.EntriesRecipe(entries, label):
            pairs = [[encode_recipe(key), encode_recipe(value)] for key, value in entries]
            return ["dict", pairs, label]
        case r.BytearrayRecipe(content, label):
            return ["bytearray", content.hex(), label]
        case r.InstanceRecipe(of, state, label):
            return ["instance", of.module, of.qualname, _state(state), label]
        case r.ExtendedRecipe(of, content, state, label):
            inner = encode_recipe(content)
            return ["extended", of.module, of.qualname, inner, _state(state), label]
        case r.ExceptionRecipe(of, args, state, label):
            return ["raised", of.module, of.qualname, encode_recipe(args), _state(state), label]
        case r.MemberRecipe(of, name, label):
            return ["member", of.module, of.qualname, name, label]
        case r.SummaryRecipe(of, text, label):
            return ["written", of.module, of.qualname, text, label]
        case r.ClassRecipe(name):
            return ["class", name.module, name.qualname]
        case r.FunctionRecipe(name):
            return ["function", name.module, name.qualname]
        case r.MethodRecipe(qualname, owner, label):
            return ["method", qualname, encode_recipe(owner), label]
        case r.ModuleRecipe(name):
            return ["module", name]
        case r.SharedRecipe(label):
            return ["same", label]
        case r.UnboundRecipe():
            raise CannotEncode("a name without a value")
        case r.UnknownRecipe(reason):
            raise CannotEncode(reason)


def _state(state: r.State) -> list[list[Any]]:
    return [[name, encode_recipe(value)] for name, value in state]
