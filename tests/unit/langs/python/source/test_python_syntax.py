"""What the text of a Python file says of a call."""

from __future__ import annotations

import pytest

from whence.langs.python.source.python_syntax import PythonSyntax
from whence.model.call import Function


@pytest.mark.parametrize(
    ("expression", "called"),
    [
        ("price(item)", "price(item)"),
        ("shown or (lambda: 1)()", "shown or (lambda: 1)()"),
        ("[price(item) for item in items]", "price(item)"),
        ("{name: shop.price(name) for name in names}", "shop.price(name)"),
        ("sum(price(item) for item in items)", "sum(price(item) for item in items)"),
        ("[price(price(item)) for item in items]", ""),
        ("[other(item) for item in items]", ""),
        ("total(", "total("),
    ],
)
def test_a_comprehension_is_shown_by_the_call_in_it(expression: str, called: str) -> None:
    function = Function("shop.price", "price", "shop")
    assert PythonSyntax().calling_expression(expression, function) == called
