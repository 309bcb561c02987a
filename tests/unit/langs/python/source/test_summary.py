import pytest

from whence.langs.python.source.python_syntax import PythonSyntax
from whence.model.call import Call, Function, Location, Outcome, OutcomeKind, Rule


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("Sum the items.", "Sum the items."),
        ("Sum the items", "Sum the items"),
        ("Sum the items of\n    a basket.", "Sum the items of …"),
        ("Sum the items.\n    Round them.", "Sum the items."),
        ("\n    Sum the items\n\n    of a basket.", "Sum the items"),
        ("Takes:\n    a basket", "Takes:"),
    ],
)
def test_a_docstring_that_goes_on_says_so(text: str, summary: str) -> None:
    source = f'def total(basket):\n    """{text}"""\n'
    function = Function("m.total", "total", "m", Location("m.py", 1))
    call = Call(function, Rule("total", "total"), Outcome(OutcomeKind.RETURNED))
    assert PythonSyntax().summary(source, call) == summary
