"""An oracle that asks a Python function of the user's: `--oracle 'python:module:function'`.

The function gets the call as plain data (a dictionary in the words of the open tree format, plus
`node`) and answers True or "right", False or "wrong", "inadmissible", or None when it does not
know. Its mistakes are reported with its name, never taken for a verdict.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from whence.errors import UsageError, WhenceError
from whence.model.question import Question
from whence.model.verdict import Verdict
from whence.tree.codec import encode_call

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
    function: Callable[[dict[str, Any]], Any]

    def judge(self, question: Question) -> Verdict | None:
        """What the function says of the call."""
        record = {"node": question.node, **encode_call(question.call)}
        record["equation"] = question.call.equation()
        try:
            said = self.function(record)
        except Exception as problem:
            raise WhenceError(
                f"the oracle {self.name} raised {type(problem).__name__}: {problem}, about "
                f"{record['equation']}; mend it, or let it return None where it does not know"
            ) from problem
        if said is None:
            return None
        if not isinstance(said, bool | str) or said not in _VERDICTS:
            raise WhenceError(
                f"the oracle {self.name} said {said!r} about {record['equation']}; it may say "
                'True, False, "right", "wrong", "inadmissible" or None'
            )
        return _VERDICTS[said]


def load_oracle(text: str) -> PythonFunction:
    """The oracle that `python:module:function` names; modules of the current folder count."""
    kind, _, place = text.partition(":")
    module_name, _, function_name = place.partition(":")
    if kind != "python" or not module_name or not function_name:
        raise UsageError(f"{text!r} names no oracle: write python:module:function")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
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
