from __future__ import annotations

from whence.errors import WhenceError
from whence.langs.python.source.call_graph import PythonCallGraph
from whence.model.call import Function, Location

TEXT = """\
import other

def load(path):
    return other.parse(clean(open(path)))

class Shop:
    def __init__(self):
        self.items = sorted([], key=lambda item: price(item))

    @property
    def total(self):
        def add(a, b):
            return a + price(b)
        return reduce(add, self.items).rounded().shown()

def main():
    shop = Shop()
    return load("x"), shop.total

main()
"""
FUNCTIONS = {
    "m.<module>": 1, "m.load": 3, "m.Shop": 6, "m.Shop.__init__": 7,
    "m.Shop.__init__.<locals>.<lambda>": 8, "m.Shop.total": 10,
    "m.Shop.total.<locals>.add": 12, "m.main": 16,
    "other.parse": 1, "other.clean": 5, "other.price": 9, "other.Number.shown": 3,
    "other.Number.rounded": 6,
}  # fmt: skip


def named(name: str, text: str = TEXT) -> list[str] | None:
    """The functions that the text of one names."""

    def read(file: str) -> str:
        if file != "m.py":
            raise WhenceError(f"{file} is not there")
        return text

    functions = []
    for each, line in FUNCTIONS.items():
        module, _, qualname = each.partition(".")
        functions.append(Function(each, qualname, module, Location(f"{module}.py", line)))
    function = next(each for each in functions if each.name == name)
    found = PythonCallGraph(read).callees(function, functions)
    return None if found is None else [functions[number].name for number in found]


def test_what_a_function_names_stands_in_the_order_of_its_text() -> None:
    assert named("m.load") == ["other.parse", "other.clean"]
    assert named("m.main") == ["m.Shop", "m.Shop.__init__", "m.load", "m.Shop.total"]
    assert named("m.Shop.total") == [
        "m.Shop.total.<locals>.add", "other.Number.rounded", "other.Number.shown",
    ]  # fmt: skip


def test_a_module_calls_its_class_bodies_and_what_its_statements_name() -> None:
    assert named("m.<module>") == ["m.Shop", "m.Shop.__init__", "m.main"]


def test_a_lambda_is_called_by_who_holds_it_and_calls_what_it_names() -> None:
    assert named("m.Shop.__init__") == ["m.Shop.__init__.<locals>.<lambda>"]
    assert named("m.Shop.__init__.<locals>.<lambda>") == ["other.price"]
    assert named("m.Shop.total.<locals>.add") == ["other.price"]


def test_text_that_is_not_to_be_had_says_nothing() -> None:
    assert named("other.parse") is None
    assert named("m.load", "def load(:") is None
    assert named("m.load", "\n\n\n\ndef load(path): clean()") is None
