"""How objects are constructed, read from the text: what is not plain there is not known."""

from __future__ import annotations

import pytest

from whence.langs.python.source.definitions import (
    NOT_LITERAL,
    Construction,
    ModuleDefinitions,
    definitions_in,
)


def in_text(text: str) -> ModuleDefinitions:
    definitions = definitions_in(text)
    assert definitions is not None
    return definitions


def test_text_that_is_not_python_has_no_definitions() -> None:
    assert definitions_in("def f(:") is None


PLAIN = {
    "nothing to store": ("class C: pass", Construction(())),
    "parameters and literals": (
        'class C:\n def __init__(self, x, *, y=2):\n  "stores"\n  self.a = x\n'
        "  self.b: int = y\n  self.c = []",
        Construction((("x", "a", NOT_LITERAL), ("y", "b", 2)), {"c": []}),
    ),
    "a dataclass": (
        "@dataclass\nclass C:\n x: int\n k: ClassVar[int] = 1\n"
        " y: list = field(default_factory=list)\n z: int = field(default=3)\n"
        " w: int = field(init=False, default=4)",
        Construction((("x", "x", NOT_LITERAL), ("y", "y", []), ("z", "z", 3))),
    ),
    "a frozen base": (
        "@dataclass(frozen=True)\nclass B:\n x: int\n@dataclass(frozen=True)\nclass C(B):\n y: int",
        Construction((("x", "x", NOT_LITERAL), ("y", "y", NOT_LITERAL)), frozen=True),
    ),
}


@pytest.mark.parametrize("text, expected", PLAIN.values(), ids=PLAIN)
def test_a_plain_constructor_is_known(text: str, expected: Construction) -> None:
    assert in_text(text).construction("C") == expected


NOT_PLAIN = {
    "no such class": "class D: pass",
    "a metaclass": "class C(metaclass=M): pass",
    "a decorator": "@made\nclass C: pass",
    "a base": "class B: pass\nclass C(B): pass",
    "__new__": "class C:\n def __new__(cls): ...",
    "__setattr__": "class C:\n def __setattr__(self, name, value): ...",
    "asynchronous": "class C:\n async def __init__(self): ...",
    "decorated": "class C:\n @timed\n def __init__(self): pass",
    "any arguments": "class C:\n def __init__(self, *x): self.x = x",
    "a computed value": "class C:\n def __init__(self, x): self.x = x + 1",
    "a stored expression": "class C:\n def __init__(self, x): self.x = x; print(x)",
    "a parameter that is not stored": "class C:\n def __init__(self, x): self.y = 1",
    "a parameter that is stored twice": "class C:\n def __init__(self, x): self.x = self.y = x",
    "an attribute that is set twice": (
        "class C:\n def __init__(self, x):\n  self.x = 1\n  self.x = x"
    ),
    "a mangled name": "class C:\n def __init__(self, x): self.__x = x",
    "another object": "class C:\n def __init__(self, x): other.x = x",
    "a dataclass with more": "@dataclass\nclass C:\n x: int\n def __post_init__(self): ...",
    "a dataclass and a decorator": "@made\n@dataclass\nclass C:\n x: int",
    "a dataclass without a constructor": "@dataclass(init=False)\nclass C:\n x: int",
    "a dataclass of another class": "class B: pass\n@dataclass\nclass C(B):\n x: int",
    "a dataclass whose base does more": (
        "@dataclass\nclass B:\n def __post_init__(self): ...\n@dataclass\nclass C(B):\n x: int"
    ),
    "a variable of the constructor": "@dataclass\nclass C:\n x: InitVar[int]",
    "fields by keyword": "@dataclass\nclass C:\n _: KW_ONLY\n x: int",
}


@pytest.mark.parametrize("text", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_a_constructor_that_is_not_plain_is_not_known(text: str) -> None:
    assert in_text(text).construction("C") is None


@pytest.mark.parametrize(
    "text, fields",
    [
        ("class P(NamedTuple):\n x: int\n y: int = 1", ["x", "y"]),
        ("class P(typing.NamedTuple):\n x: int", ["x"]),
        ("P = namedtuple('P', 'x, y')", ["x", "y"]),
        ("P = collections.namedtuple('P', ['x', 'y'])", ["x", "y"]),
        ("P = namedtuple('P', names)", None),
        ("P = other('P', 'x')", None),
        ("P = namedtuple('P', 'x')\nP = 1", None),
        ("class P(NamedTuple):\n x: int\n def __new__(cls): ...", None),
        ("class P(Base):\n x: int", None),
        ("", None),
    ],
)
def test_the_fields_of_a_named_tuple(text: str, fields: list[str] | None) -> None:
    assert in_text(text).tuple_fields("P") == fields


@pytest.mark.parametrize(
    "text, extends, sets",
    [
        ("class C(list): pass", True, True),
        ("class B(dict): pass\nclass C(B): pass", True, True),
        ("class C(list):\n def __init__(self): ...", False, True),
        ("class C(list):\n def __setattr__(self, n, v): ...", True, False),
        ("class C(Other): pass", False, False),
        ("class C(list, metaclass=M): pass", False, True),
        ("@dataclass(frozen=True)\nclass C:\n x: int", False, False),
        ("@dataclass(frozen=FROZEN)\nclass C:\n x: int", False, False),
        ("", False, False),
    ],
)
def test_what_is_made_and_changed_as_a_builtin_is(text: str, extends: bool, sets: bool) -> None:
    definitions = in_text(text)
    assert definitions.extends_plainly("C") is extends
    assert definitions.sets_plainly("C") is sets


@pytest.mark.parametrize(
    "text, is_known",
    [
        ("class C:\n def __eq__(self, other): return self.x == other.x", True),
        ("class C:\n def __eq__(self, other): return self.x == 1", False),
        ("class C:\n def __eq__(self, other):\n  self.x = 1\n  return self.x == other.x", False),
        ("@dataclass\nclass C:\n x: int", True),
        ("@dataclass(eq=False)\nclass C:\n x: int", False),
        ("@dataclass\nclass B:\n x: int\nclass C(B): pass", True),
        ("class C: pass", False),
        ("", False),
    ],
)
def test_whether_equal_contents_are_equal(text: str, is_known: bool) -> None:
    assert in_text(text).has_value_equality("C") is is_known


@pytest.mark.parametrize(
    "text, runs",
    [
        ("import os\ndef f(): ...\nx = [1]", False),
        ("def f(): ...\nf()", True),
        ("def f(): ...\nx = f()", True),
        ("def f(): ...\nif __name__ == '__main__': f()", False),
        ("def f(): ...\nif __name__ != '__main__': pass\nelse: f()", True),
        ("def f(): ...\nif f(): pass", True),
        ("try: import fast\nexcept ImportError: fast = None", False),
        ("def f(): ...\ntry: f()\nexcept OSError: pass", True),
        ("sys.exit(1)", True),
        ("for x in (): pass", True),
    ],
)
def test_whether_importing_a_module_does_work(text: str, runs: bool) -> None:
    assert in_text(text).runs_when_imported is runs
