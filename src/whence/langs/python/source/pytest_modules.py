"""Test modules as pytest loads them: with rewritten assertions, by a loader of its own.

pytest's loader does not ask other finders, so whoever rewrites modules has to get at the code right
before pytest runs it. pytest still does all that it does to load a module.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

Asserts = Callable[[ast.Module, bytes, str], None]
"""Rewrites the assertions of a module, given its tree, its text and its file."""
Replacement = Callable[[CodeType, dict[str, Any], Asserts], CodeType]
"""The code to run for a module, given its usual code, its namespace and how its assertions are
rewritten."""
_PYTEST, _HOOK = "_pytest.assertion.rewrite", "AssertionRewritingHook"


def replace_test_modules(replacement: Replacement) -> None:
    """Replace the code of test modules from here on. Does nothing before pytest is imported, and
    nothing the second time."""
    pytest = sys.modules.get(_PYTEST)
    if pytest is None or "exec" in vars(pytest) or not hasattr(pytest, _HOOK):
        return

    def run(code: CodeType, namespace: dict[str, Any]) -> None:
        exec(replacement(code, namespace, _asserts_of(pytest)), namespace)

    vars(pytest)["exec"] = run


def _asserts_of(pytest: Any) -> Asserts:
    """How pytest rewrites the assertions of a module, with the settings of this run."""
    hooks = [hook for hook in sys.meta_path if type(hook) is pytest.AssertionRewritingHook]
    config = getattr(hooks[0], "config", None) if hooks else None

    def rewrite(tree: ast.Module, source: bytes, file: str) -> None:
        pytest.rewrite_asserts(tree, source, file, config)
        for node in ast.walk(tree):
            if getattr(node, "end_lineno", 0) is None:  # pytest sets only the start
                vars(node).update(end_lineno=node.lineno, end_col_offset=node.col_offset)  # type: ignore[attr-defined]

    return rewrite
