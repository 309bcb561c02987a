"""From a recorded call to the request that makes a worker repeat it."""

from __future__ import annotations

from collections.abc import Sequence

from whence.langs.python.oracles.recipe_comparison import CallEquation
from whence.langs.python.oracles.recipe_json import CannotEncode, encode_recipe
from whence.langs.python.oracles.worker.worker_protocol import CallRequest, RecipeJson
from whence.langs.python.trace.call_recipes import RecipeSource
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.value_recipes import QualifiedName, Recipe, UnboundRecipe
from whence.model.call import OutcomeKind


class CannotRequest(Exception):
    """Why the call cannot be made again."""


def request_for_call(
    source: TraceSource, number: int, ours: CallEquation, modules: Sequence[str]
) -> tuple[CallRequest, dict[QualifiedName, Recipe]]:
    """The request, and the module variables whose values cannot be sent.

    `modules` are those of the worker's version.
    """
    call = ours.call
    if call.disturbed:
        raise CannotRequest(call.disturbed)
    try:
        arguments = [(name, encode_recipe(recipe)) for name, recipe in call.arguments.items()]
        captured = [(name, encode_recipe(recipe)) for name, recipe in call.captured.items()]
    except CannotEncode as problem:
        raise CannotRequest(f"it was given {problem}") from None
    before = RecipeSource(source).variables_at(number)
    before |= {name: variable.before for name, variable in ours.variables.items()}
    variables: list[tuple[str, str, RecipeJson]] = []
    unsent: dict[QualifiedName, Recipe] = {}
    for name, recipe in before.items():
        if isinstance(recipe, UnboundRecipe):
            continue
        try:
            variables.append((name.module, name.qualname, encode_recipe(recipe)))
        except CannotEncode:
            unsent[name] = recipe
    ended_itself = call.outcome.kind in (OutcomeKind.RETURNED, OutcomeKind.RAISED)
    request = CallRequest(
        module=call.code.module,
        qualname=call.code.qualname,
        parameters=call.code.parameters,
        free_variables=call.code.free_variables,
        flags=call.code.flags,
        steps=len(call.outcome.yielded) + ended_itself,
        arguments=arguments,
        captured=captured,
        variables=variables,
        modules=["__main__", *modules],
    )
    return request, unsent
