from __future__ import annotations

import ast
import sys
import warnings

import pytest

from whence.langs.python.source import quiet_compile

DOUBTFUL = "def f(x):\n    return x is 1 or '\\d'\n"


def test_nothing_is_said_of_doubtful_code_even_where_warnings_are_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        made = quiet_compile.compile_quietly(quiet_compile.parse_quietly(DOUBTFUL), "program.py")
        assert list(warnings.filters) == before
    assert made.co_filename == "program.py"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="up to 3.13 nobody minds that")
def test_nothing_is_said_of_what_leaves_a_finally() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet_compile.compile_quietly(
            quiet_compile.parse_quietly("def f():\n    try: 1\n    finally: return 2\n"), "p.py"
        )


def test_what_is_no_python_is_told_and_the_filters_are_what_they_were() -> None:
    before = list(warnings.filters)
    with pytest.raises(SyntaxError):
        quiet_compile.parse_quietly("def")
    wrong = ast.fix_missing_locations(ast.Module([ast.Return(None)], []))
    with pytest.raises(SyntaxError):
        quiet_compile.compile_quietly(wrong, "p.py")
    assert list(warnings.filters) == before


def test_a_warning_that_was_shown_once_is_not_shown_again() -> None:
    namespace = {"__name__": "program", "warnings": warnings}
    warn = compile("warnings.warn('once')\n", "program.py", "exec")
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        exec(warn, namespace)
        quiet_compile.parse_quietly(DOUBTFUL)
        exec(warn, namespace)
    assert len(shown) == 1
