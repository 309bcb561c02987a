"""An oracle that asks a Python function of the user's: `--oracle 'python:module:function'`.

The function gets the call as a dictionary: `node`, `function`, `rule`, `args` (by name or in
order), `reads`, `outcome` ("returned", "raised", "yielded", "not terminated"), `returned`,
`raised`, `yielded`, `effects` (each with `target`, `before`, `after`), `printed`, `equation` (one
line of text). Values are plain Python: numbers,
texts, lists, tuples, dictionaries. It answers True or "right", False or "wrong", "inadmissible",
or None when it does not know. Its mistakes are reported with its name, never taken for a verdict,
and what it prints goes to standard error, away from the report.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from whence.errors import UsageError, WhenceError
from whence.model.call import Call
from whence.model.question import Question
from whence.model.value import Kind, Value
from whence.model.verdict import Verdict

_VERDICTS: dict[Any, Verdict] = {
    True: Verdict.RIGHT,
    False: Verdict.WRONG,
    "right": Verdict.RIGHT,
    "wrong": Verdict.WRONG,
    "inadmissible": Verdict.INADMISSIBLE,
}


@dataclass(frozen=True)
class PythonFunction:
    """Asks a function."""

    name: str
    function: Callable[[Any], Any]
    described: Callable[[Question], Any] | None = None
    """Makes what the function is given of a question; None: the dictionary above."""

    def judge(self, question: Question) -> Verdict | None:
        """What the function says of the call."""
        equation = question.call.equation()
        try:
            with contextlib.redirect_stdout(sys.stderr):
                if self.described is None:
                    call = {"node": question.node, **as_dictionary(question.call)}
                else:
                    call = self.described(question)
                verdict = self.function(call)
        except Exception as problem:
            frame = traceback.extract_tb(problem.__traceback__)[-1]
            raise WhenceError(
                f"the oracle {self.name} raised {type(problem).__name__}: {problem} "
                f"({frame.filename}:{frame.lineno}), about {equation}; mend it, or let it "
                "return None where it does not know"
            ) from problem
        if verdict is None:
            return None
        if not isinstance(verdict, bool | str) or verdict not in _VERDICTS:
            raise WhenceError(
                f"the oracle {self.name} said {verdict!r} about {equation}; it may say "
                'True, False, "right", "wrong", "inadmissible" or None'
            )
        return _VERDICTS[verdict]


def as_dictionary(call: Call) -> dict[str, Any]:
    """A call in plain Python."""
    outcome = call.outcome
    named = all(argument.name for argument in call.arguments)
    kind = outcome.kind.name.lower()
    return {
        "function": call.function.name,
        "rule": call.rule.name,
        "args": {argument.name: plain(argument.value) for argument in call.arguments}
        if named
        else [plain(argument.value) for argument in call.arguments],
        "reads": {read.name: plain(read.value) for read in call.reads},
        "outcome": kind.replace("_", " "),
        "returned": plain(outcome.value) if kind == "returned" and outcome.value else None,
        "raised": plain(outcome.value) if kind == "raised" and outcome.value else None,
        "yielded": [plain(value) for value in outcome.yielded],
        "effects": [
            {
                "target": effect.target,
                "before": None if effect.before is None else plain(effect.before),
                "after": None if effect.after is None else plain(effect.after),
            }
            for effect in call.effects
        ],
        "printed": call.printed,
        "equation": call.equation(),
    }


def plain(value: Value) -> Any:
    """A value in plain Python; one without a counterpart becomes a dictionary that describes it."""
    parts = [plain(part) for _, part in value.parts]
    names = [step for step, _ in value.parts]
    if value.kind is Kind.ATOM:
        return _literal(value.text)
    if value.kind is Kind.SHARED:
        return {"same": value.identity}
    if value.kind is Kind.OBJECT:
        fields = {name.removeprefix("."): part for name, part in zip(names, parts, strict=True)}
        return {"object": value.text, "fields": fields}
    if value.kind is Kind.TERM:
        return {"term": value.text, "args": parts}
    if value.omitted:
        return {value.kind.value: parts, "more": value.omitted}
    if value.kind is Kind.DICT:
        keys = [_literal(name[1:-1]) for name in names]
        with contextlib.suppress(TypeError):
            return dict(zip(keys, parts, strict=True))
        return [list(pair) for pair in zip(keys, parts, strict=True)]
    return tuple(parts) if value.kind is Kind.TUPLE else parts


def _literal(text: str) -> Any:
    """The number, text or constant that an atom denotes; else its text."""
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return ast.literal_eval(text)
    return {"true": True, "false": False, "null": None}.get(text, text)


def load_oracle(text: str) -> PythonFunction:
    """The oracle that `python:module:function` names; modules of the current folder count."""
    kind, _, name = text.partition(":")
    module_name, _, function_name = name.partition(":")
    if kind != "python" or not module_name or not function_name:
        raise UsageError(f"{text!r} names no oracle: write python:module:function")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            function: Any = importlib.import_module(module_name)
    except Exception as problem:
        raise WhenceError(
            f"the oracle's module {module_name} could not be imported "
            f"({type(problem).__name__}: {problem})"
        ) from problem
    for part in function_name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise WhenceError(f"the module {module_name} has no function {function_name}")
    return PythonFunction(text, function)
