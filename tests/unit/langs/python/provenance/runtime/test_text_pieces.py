"""Letters of a text lead to the value that they were made from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marked_runs import mark

from whence.langs.python.provenance.marked_parts import criterion
from whence.langs.python.provenance.rewriter.rewriting_importer import run_source
from whence.langs.python.provenance.tags import Activation
from whence.langs.python.provenance.value_origins import find_origin

LINE = """
    class Item:
        def __init__(self): self.name = " tea ".strip()
    def total(): return 400 + 5
    def unit(): return "cents"
    def written(item): return f"{item.name:<6}|{total():>5} " + unit().upper()
    def main(): return [written(Item())]
    main()
"""


@pytest.mark.parametrize(
    ("letters", "function", "expression"),
    [
        ("[0:3]", "Item.__init__", '" tea "'),
        ("[6:7]", "written", 'f"{item.name:<6}|{total():>5} "'),
        ("[9:12]", "total", "400 + 5"),
        ("[13:18]", "unit", '"cents"'),
    ],
)
def test_letters_of_a_text_lead_to_the_value_that_stands_there(
    letters: str, function: str, expression: str
) -> None:
    marked = mark(LINE, "main", f"[0]{letters}")
    [maker] = marked.origin.makers
    assert (maker.activation.name, maker.site.text) == (function, expression)


def test_what_stands_elsewhere_in_a_text_is_not_in_the_slice_of_its_letters() -> None:
    marked = mark(LINE, "main", "[0][9:12]")
    assert "total" in marked.calls(3)
    assert not marked.calls(1) & {"unit", "Item.__init__"}


def test_which_texts_were_joined_is_in_the_slice_of_each() -> None:
    source = """
        def keep(word): return len(word) < 4
        def word(n): return "abc"[n] * (n + 2)
        def main(): return ", ".join(each for each in map(word, range(3)) if keep(each))
        main()
    """
    marked = mark(source, "main", "[4:7]")
    [maker] = marked.origin.makers
    assert maker.site.text == '"abc"[n] * (n + 2)'
    assert "keep" in marked.calls(1)


LETTERS = "abcdefgh"


@st.composite
def texts(draw: st.DrawFn, depth: int = 3) -> str:
    """An expression of texts that are put together from calls."""
    if not depth or draw(st.integers(0, 3)) == 0:
        return f"leaf({draw(st.integers(0, len(LETTERS) - 1))})"
    one, other = draw(texts(depth - 1)), draw(texts(depth - 1))
    width = draw(st.integers(0, 9))
    form = draw(st.sampled_from([
        f"({one} + {other})", f"'-'.join([{one}, {other}])", f"same({one})",
        f"formed({one}, {other}, {width})", f"({one}).ljust({width}, '.')",
        f"({one}).rjust({width})", f"({one}).center({width}, '.')", f"({one}).strip(' .<>')",
        f"({one}).upper()", f"({one}).title()",
    ]))  # fmt: skip
    return str(form)


@given(texts())
def test_every_letter_is_that_of_the_call_that_gave_it(expression: str) -> None:
    source = (
        f"def leaf(n): return {LETTERS!r}[n] * 2\n"
        "def formed(a, b, width): return f'<{a:>{width}}>{b!s:^{width}}'\n"
        "def same(text):\n    kept = [text]\n    return kept[0]\n"
        f"def main(): return {expression}\n"
        "main()\n"
    )
    found: list[tuple[str, str]] = []

    def left(activation: Activation) -> None:
        if activation.name != "main":
            return
        text = activation.value
        for place in range(len(text)):
            at = criterion(activation, text, activation.result, [("text", (place, place + 1))])
            [maker] = find_origin(at).makers
            made = maker.activation
            by = LETTERS[made.values[0]] if made.name == "leaf" else made.name
            found.append((text[place].lower(), by))

    run_source(source, "program.py", on_leave=left)
    assert found
    for letter, made in found:
        assert made == letter if letter in LETTERS else made in ("main", "formed"), found
