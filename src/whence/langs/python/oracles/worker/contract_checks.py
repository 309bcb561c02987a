"""Evaluates what is declared beside the code about one call: icontract, deal, `whence.spec`.

The inputs and the outcome are made again in a process that was forked off. Before anything is
evaluated they are recorded once more, so that whoever asked can see whether they are what they
were.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

from whence.langs.python.oracles.worker import rebuilt_call
from whence.langs.python.oracles.worker.declared_specs import specs_of, takes_a_call
from whence.langs.python.oracles.worker.program_names import find_module, find_name
from whence.langs.python.oracles.worker.recipe_builder import RecipeBuilder
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules

PROBE = "whence_probe"
_MISSING = object()


def perform(order: dict[str, Any], say: rebuilt_call.Say, rules: UserCodeRules) -> None:
    """Say which conditions there are, and which of them do not hold."""
    held = find_name(order["module"], order["qualname"])
    function = getattr(held, "__func__", getattr(held, "fget", None) or held)
    given = _made(order["arguments"])
    after = RecipeBuilder()
    left = {name: after.build(spec) for name, spec in order["after"]}
    result = _MISSING if order["result"] is None else after.build(order["result"])
    raised = None if order["raised"] is None else after.build(order["raised"])
    probed = [*given.values(), *left.values(), *([] if result is _MISSING else [result])]
    _probe(order, [*probed, *([] if raised is None else [raised])], rules)
    rebuilt_call.stay_inside(say)
    call = _Call(given, left, result, raised)
    found = [
        *_icontract(function, call), *_invariants(order, call), *_deal(function, call),
        *_specs(order, call),
    ]  # fmt: skip
    rebuilt_call.Inside.over = True
    say({"said": "done", "found": found})


class _Call:
    """A call as a spec sees it."""

    def __init__(
        self, given: dict[str, Any], left: dict[str, Any], result: Any, raised: Any
    ) -> None:
        self.before = SimpleNamespace(**given)
        self.after = SimpleNamespace(**left)
        self.result = None if result is _MISSING else result
        self.raised = raised
        self._returned = result is not _MISSING

    @property
    def arguments(self) -> dict[str, Any]:
        """As it was given them."""
        return vars(self.before)

    @property
    def returned(self) -> bool:
        """Whether it returned something."""
        return self._returned


def _made(specs: list[Any]) -> dict[str, Any]:
    builder = RecipeBuilder()
    return {name: builder.build(spec) for name, spec in specs}


def _probe(order: dict[str, Any], values: list[Any], rules: UserCodeRules) -> None:
    """Record the values as the arguments of a call of user code."""
    module = find_module(order["module"])
    names = [f"v{number}" for number in range(len(values))]
    text = f"def {PROBE}({', '.join(names)}): pass"
    body = compile(text, getattr(module, "__file__", None) or "<string>", "exec")
    code = next(each for each in body.co_consts if isinstance(each, CodeType))
    probe = FunctionType(code, vars(module))
    recording = Recording(
        Settings(order["trace"], rebuilt_call.WHOLE, rules, keeps_tail=False), (PROBE,)
    )
    recording.start()
    try:
        probe(*values)
    finally:
        recording.finish(0, 0)


def _outcome(condition: Callable[[], Any], is_precondition: bool, text: str) -> list[list[str]]:
    """What is to be said of a condition that does not hold; of one that raises, nothing."""
    try:
        holds = bool(condition())
    except Exception:
        return []
    return [] if holds else [["inadmissible" if is_precondition else "wrong", text]]


# --- icontract -----------------------------------------------------------------------------------


def _icontract(function: Any, call: _Call) -> Iterator[list[str]]:
    groups = getattr(function, "__preconditions__", None) or []
    if groups and all(isinstance(group, list) for group in groups):
        # One group has to hold: those of a class, or those of one above it.
        failed = [
            [each for each in group if _fails(each, call.arguments)] for group in groups
        ]  # fmt: skip
        if all(failed):
            yield ["inadmissible", _told(failed[0][0])]
    if not call.returned:
        return
    old = SimpleNamespace()
    for snapshot in getattr(function, "__postcondition_snapshots__", None) or []:
        with contextlib.suppress(Exception):
            captured = {name: call.arguments[name] for name in snapshot.args}
            setattr(old, snapshot.name, snapshot.capture(**captured))
    values = {**vars(call.after), "result": call.result, "OLD": old}
    for each in getattr(function, "__postconditions__", None) or []:
        if _fails(each, values):
            yield ["wrong", _told(each)]


def _fails(contract: Any, values: dict[str, Any]) -> bool:
    try:
        chosen = {name: values[name] for name in contract.condition_args if name in values}
        return not contract.condition(**chosen)
    except Exception:
        return False


def _told(contract: Any) -> str:
    words = contract.description or "a condition"
    return f"{words} ({contract.location})" if contract.location else str(words)


def _invariants(order: dict[str, Any], call: _Call) -> Iterator[list[str]]:
    owner = order["qualname"].rpartition(".")[0]
    name = order["qualname"].rpartition(".")[2]
    self_name = next(iter(call.arguments), None)
    if not owner or self_name is None or "<" in owner:
        return
    kind = find_name(order["module"], owner)
    for each in getattr(kind, "__invariants__", None) or []:
        if not isinstance(kind, type) or type(call.arguments[self_name]) is not kind:
            return
        if name != "__init__" and _fails(each, {"self": call.arguments[self_name]}):
            yield ["inadmissible", _told(each)]
        elif call.returned and _fails(each, {"self": getattr(call.after, self_name)}):
            yield ["wrong", _told(each)]


# --- deal ----------------------------------------------------------------------------------------


def _deal(function: Any, call: _Call) -> Iterator[list[str]]:
    module = sys.modules.get("deal")
    if module is None:
        return
    introspection = importlib.import_module("deal.introspection")
    for each in introspection.get_contracts(function):
        kind = type(each).__name__
        if kind == "Pre":
            yield from _validated(each, "inadmissible", **call.arguments)
        elif kind == "Post" and call.returned:
            yield from _validated(each, "wrong", call.result)
        elif kind == "Ensure" and call.returned:
            yield from _validated(each, "wrong", **vars(call.after), result=call.result)


def _validated(contract: Any, verdict: str, *given: Any, **named: Any) -> Iterator[list[str]]:
    error = getattr(sys.modules["deal"], "ContractError")  # noqa: B009
    try:
        contract.init()
        contract.validate(*given, **named)
    except error as problem:
        yield [verdict, f"deal.{type(contract).__name__.lower()}: {problem}"[:200]]
    except Exception:
        return


# --- specs ---------------------------------------------------------------------------------------


def _specs(order: dict[str, Any], call: _Call) -> Iterator[list[str]]:
    for declared in specs_of(order):
        if takes_a_call(declared):
            try:
                said = declared(call)
            except Exception:
                continue
            if said is not None:
                yield ["right" if said else "wrong", f"whence.spec {declared.__qualname__}"]
