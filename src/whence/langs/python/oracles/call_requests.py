"""What a worker is told so that it makes a recorded call again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.langs.python.oracles.recipe_comparison import CallEquation
from whence.langs.python.oracles.recipe_json import CannotEncode, spec
from whence.langs.python.trace.call_recipes import RecipeSource
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.value_recipes import QualifiedName, Recipe, UnboundRecipe
from whence.model.call import OutcomeKind


class CannotRequest(Exception):
    """Why the call cannot be made again."""


def request_for_call(
    source: TraceSource, number: int, ours: CallEquation, modules: Sequence[str]
) -> tuple[dict[str, Any], dict[QualifiedName, Recipe]]:
    """What a worker has to be told, and the variables that it cannot be told.

    `modules` are those of its version.
    """
    call = ours.call
    if call.disturbed:
        raise CannotRequest(call.disturbed)
    try:
        arguments = [[name, spec(recipe)] for name, recipe in call.arguments.items()]
        captured = [[name, spec(recipe)] for name, recipe in call.captured.items()]
    except CannotEncode as problem:
        raise CannotRequest(f"it was given {problem}") from None
    known = RecipeSource(source).variables_at(number)
    known |= {name: each.before for name, each in ours.variables.items()}
    variables: list[list[Any]] = []
    unsent: dict[QualifiedName, Recipe] = {}
    for name, recipe in known.items():
        if isinstance(recipe, UnboundRecipe):
            continue
        try:
            variables.append([name.module, name.qualname, spec(recipe)])
        except CannotEncode:
            unsent[name] = recipe
    ended_itself = call.outcome.kind in (OutcomeKind.RETURNED, OutcomeKind.RAISED)
    return {
        "do": "call",
        "module": call.code.module,
        "qualname": call.code.qualname,
        "parameters": call.code.parameters,
        "free": call.code.free_variables,
        "flags": call.code.flags,
        "steps": len(call.outcome.yielded) + ended_itself,
        "arguments": arguments,
        "captured": captured,
        "variables": variables,
        "modules": ["__main__", *modules],
    }, unsent
