import types

import pytest

from whence.langs.python.trace.line_table import position, span

SOURCE = (
    '''
def f(a,
      b):
    total = (a
             + b)
    for each in range(
        3
    ):
        total += [x for x in range(each)
                  if x]; total = lambda: total
    try:
        raise ValueError(a, b, "'''
    + "long " * 60
    + """", a)
    except (ValueError,
            TypeError) as problem:
        pass
    class C:
        def m(self): return [self
            , f]
    with open(a) as file, open(b) as other:
        yield file
    return total
"""
    + "\n" * 300
    + "x = 1; y = f(x, x)\n"
)


def codes(code):
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from codes(each)


@pytest.mark.parametrize(
    "code", list(codes(compile(SOURCE, "s.py", "exec"))), ids=lambda c: c.co_name
)
def test_every_instruction_has_the_line_and_column_that_python_says(code):
    for unit, (line, _, column, _) in enumerate(code.co_positions()):
        expected = (line, None if column is None else column + 1) if line else (None, None)
        assert position(code.co_linetable, code.co_firstlineno, unit) == expected


@pytest.mark.parametrize(
    "code", list(codes(compile(SOURCE, "s.py", "exec"))), ids=lambda c: c.co_name
)
def test_every_instruction_spans_what_python_says(code):
    for unit, (line, last, first, after) in enumerate(code.co_positions()):
        known = line and first is not None and after is not None
        expected = (line, first + 1, last, after + 1) if known else None
        assert span(code.co_linetable, code.co_firstlineno, unit) == expected


def test_an_instruction_behind_the_table_has_no_line():
    assert position(b"", 1, 0) == (None, None)
    assert position(compile("x", "s", "eval").co_linetable, 1, 10**6) == (None, None)


@pytest.mark.parametrize(
    "table", [b"\x80", b"\xf0", b"\xf0\x7f\x7f", b"\xe8" + b"\x7f" * 50, b"\xd0"]
)
def test_a_damaged_table_tells_nothing(table):
    assert position(table, 1, 0) == (None, None)


def test_lines_before_the_first_are_not_told():
    minus_five_lines = b"\xe8\x0b"
    assert position(minus_five_lines, 1, 0) == (None, None)
