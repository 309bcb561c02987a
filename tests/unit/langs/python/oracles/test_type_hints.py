"""What annotations say of recorded calls."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
from recorded import BACKENDS, environment, recording

from whence.langs.python.oracles.type_hints import TypeHintOracle
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.question import Question
from whence.model.verdict import Verdict

WRONG, INADMISSIBLE = Verdict.WRONG, Verdict.INADMISSIBLE


def written(folder: Path, sources: dict[str, str]) -> None:
    """Files that are older than any recording of them."""
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (time.time() - 100,) * 2)


def recorded(folder: Path, source: str) -> Path:
    """A program that is recorded in this process, as a module of its own."""
    written(folder, {"p.py": source})
    program, output = folder / "p.py", folder / "run.whence"
    module = types.ModuleType("p")
    module.__file__ = str(program)
    sys.modules["p"] = module
    sys.path.insert(0, str(folder))
    try:
        with recording(output, program, BACKENDS[0], RecordOptions()):
            exec(compile(source, str(program), "exec"), vars(module))
    finally:
        sys.path.remove(str(folder))
        del sys.modules["p"]
    return output


def judged(output: Path) -> dict[str, tuple[Verdict, str] | None]:
    """What the oracle says of the last call of each function."""
    tree = open_trace(output)
    oracle = TypeHintOracle(tree)
    found: dict[str, tuple[Verdict, str] | None] = {}
    for at in range(1, len(tree.columns)):
        call = tree.call(at)
        said = oracle.judge(Question(tree.id(at), call, "", "", 1, 1.0, 1))
        name = tree.functions[int(tree.columns.function[at])].qualname
        found[name] = None if said is None else (said.verdict, said.reason)
    return found


CASES = """
from __future__ import annotations
import typing as t, collections.abc
from typing import Optional, Union, Literal, Any, TypeVar, NewType, Protocol, Iterator, Callable
from dataclasses import dataclass
import enum

T = TypeVar("T")
UserId = NewType("UserId", int)
Vector = list[float]
class Named(Protocol):
    name: str
@dataclass
class Parcel:
    grams: int
class Letter(Parcel): pass
class Other: pass
class Color(enum.Enum):
    RED = 1
class Row(t.TypedDict):
    a: int
"""

WRONG_RESULTS = {
    "def f(x: int) -> int: return str(x)\nf(1)": "result '1' is not int",
    "def f(x: int) -> 'int': return None\nf(1)": "result None is not int",
    "def f() -> list[int]: return [1, '2']\nf()": "result [1, '2'] is not list[int]",
    "def f() -> t.List[int]: return (1,)\nf()": "is not t.List[int]",
    "def f() -> dict[str, int]: return {1: 1}\nf()": "is not dict[str, int]",
    "def f() -> tuple[int, str]: return 1, 'a', 2\nf()": "is not tuple[int, str]",
    "def f() -> Optional[int]: return ''\nf()": "is not Optional[int]",
    "def f() -> int | None: return ''\nf()": "is not int | None",
    "def f() -> Union[int, list[str]]: return [1]\nf()": "is not Union[int, list[str]]",
    "def f() -> Literal['a', 'b']: return 'c'\nf()": "is not Literal['a', 'b']",
    "def f() -> bool: return 1\nf()": "is not bool",
    "def f() -> int: return 1.5\nf()": "is not int",
    "def f() -> Vector: return [1, 'a']\nf()": "is not Vector",
    "def f() -> UserId: return 'a'\nf()": "is not UserId",
    "def f() -> Parcel: return None\nf()": "result None is not Parcel",
    "def f() -> Parcel: return Other()\nf()": "is not Parcel",
    "def f() -> Letter: return Parcel(1)\nf()": "is not Letter",
    "def f() -> list[Parcel]: return [Letter(1), 3]\nf()": "is not list[Parcel]",
    "def f() -> int: return Parcel(1)\nf()": "is not int",
    "def f() -> Color: return 1\nf()": "is not Color",
    "def f() -> Callable[[int], int]: return 3\nf()": "is not Callable",
    "def f() -> collections.abc.Sequence[int]: return {1}\nf()": "is not",
    "def f() -> Iterator[int]:\n    yield 1\n    yield 'a'\nlist(f())": "yielded 'a' is not",
    "import asyncio\nasync def f() -> int: return 'a'\nasyncio.run(f())": "is not int",
    "def f() -> str: return list(range(1000))\nf()": "is not str",
}


@pytest.mark.parametrize("case", WRONG_RESULTS)
def test_a_result_outside_its_annotation_is_wrong(tmp_path: Path, case: str) -> None:
    verdict = judged(recorded(tmp_path, CASES + case))["f"]
    assert verdict is not None
    assert verdict[0] is WRONG
    assert WRONG_RESULTS[case] in verdict[1]


INADMISSIBLE_ARGUMENTS = {
    "def f(x: int): return x\nf('a')": "x 'a' is not int",
    "def f(x: int) -> str: return 1\nf('a')": "x 'a' is not int",
    "def f(*x: int): pass\nf(1, 'a')": "is not int",
    "def f(**x: int): pass\nf(a=1, b='a')": "is not int",
    "def f(x, *, y: str): pass\nf(1, y=2)": "y 2 is not str",
    "def f(x: int = None): pass\nf('a')": "is not int",
    "def f(x: int = 3): pass\nf(None)": "x None is not int",
    "class C:\n    def f(self, x: int): pass\nC().f(None)": "x None is not int",
    "def f(x: Parcel): pass\nf({'grams': 1})": "is not Parcel",
}


@pytest.mark.parametrize("case", INADMISSIBLE_ARGUMENTS)
def test_an_argument_outside_its_annotation_should_never_be_given(
    tmp_path: Path, case: str
) -> None:
    found = judged(recorded(tmp_path, CASES + case))
    verdict = found.get("f") or found.get("C.f")
    assert verdict is not None
    assert verdict[0] is INADMISSIBLE
    assert INADMISSIBLE_ARGUMENTS[case] in verdict[1]


SILENT = [
    "def f(x: int) -> int: return x\nf(1)",
    "def f(x: int) -> int: return x\nf(True)",
    "def f(x: float) -> float: return 1\nf(1)",
    "def f(x: int = None): return x\nf(None)",
    "def f(x: int = 'a'): return x\nf('a')",
    "MISSING = 'no'\ndef f(x: int = MISSING): return x\nf()",
    "def f(x: T) -> T: return 'a'\nf(1)",
    "def f(x: Named) -> Named: return x\nf(3)",
    "def f() -> Row: return {'a': 1}\nf()",
    "def f() -> Any: return 'a'\nf()",
    "def f() -> object: return 'a'\nf()",
    "def f() -> Parcel: return Letter(1)\nf()",
    "def f(x: list[Parcel]) -> None: x.clear()\nf([Letter(1)])",
    "def f() -> int: raise ValueError\ntry: f()\nexcept ValueError: pass",
    "def f() -> Nonsense: return 'a'\nf()",
    "def f() -> int:\n    yield 'a'\nlist(f())",
    "def f(x: list[Named]) -> int: return 'a'\nf([Other()])",
    "int = str\ndef f() -> int: return 'a'\nf()",
    "from p2 import *\ndef f() -> int: return 'a'\nf()",
    "class C:\n    def int(self): pass\n    def f(self) -> int: return 'a'\nC().f()",
    "def g(int):\n    def f() -> int: return 'a'\n    return f\ng(str)()",
    "@t.no_type_check\ndef f() -> int: return 'a'\nf()",
    "class Meta(type):\n    def __instancecheck__(c, x): return True\n"
    "class M(metaclass=Meta): pass\ndef f() -> M: return 1\nf()",
    "import abc\nclass A(abc.ABC): pass\nA.register(int)\ndef f() -> A: return 1\nf()",
    "class S(str): pass\ndef f() -> str: return S('a')\nf()",
    "class L(list): pass\ndef f() -> list[int]: return L([1])\nf()",
    "class Liar:\n    @property\n    def __class__(self): return int\n"
    "def f() -> int: return Liar()\nf()",
    "def f() -> bytes: return bytearray(b'a')\nf()",
    "def f() -> Literal[1]: return True\nf()",
    "import unittest.mock\ndef f(x: int): pass\nf(unittest.mock.Mock(spec=int))",
    "import decimal\ndef f() -> float: return decimal.Decimal(1)\nf()",
    "def f() -> Iterator[int]: return iter([1])\nf()",
    "def f(x: 'Parcel | None' = None): pass\nf()",
    "def make():\n    class C: pass\n    def f() -> C: return C()\n    return f\nmake()()",
]


@pytest.mark.parametrize("case", SILENT)
def test_when_in_doubt_nothing_is_said(tmp_path: Path, case: str) -> None:
    written(tmp_path, {"p2.py": "int = str\n"})
    found = judged(recorded(tmp_path, CASES + case))
    functions = [name for name in found if name.rpartition(".")[2] == "f"]
    assert len(functions) == 1
    assert found[functions[0]] is None


def test_classes_of_other_modules_are_followed_through_imports(tmp_path: Path) -> None:
    source = (
        "import pkg, pkg.inner\nfrom pkg import Item\n"
        "def f() -> Item: return pkg.inner.Special()\n"
        "def g() -> pkg.inner.Special: return Item()\n"
        "def h() -> pkg.Item: return None\n"
        "f(); g(); h()\n"
    )
    inner = "class Thing:\n    pass\nclass Special(Thing):\n    pass\n"
    package = {"pkg/__init__.py": "from .inner import Thing as Item\n", "pkg/inner.py": inner}
    written(tmp_path, {"p.py": source, **package})
    output = tmp_path / "run.whence"
    command = [sys.executable, "-m", "whence", "record", "-o", str(output), "p.py"]
    subprocess.run(command, check=True, cwd=tmp_path, env=environment())
    found = judged(output)
    assert found["f"] is None
    assert found["g"] == (WRONG, "result Thing() is not pkg.inner.Special")
    assert found["h"] == (WRONG, "result None is not pkg.Item")


def test_source_that_changed_since_the_run_says_nothing(tmp_path: Path) -> None:
    output = recorded(tmp_path, "def f() -> int: return 'a'\nf()\n")
    assert judged(output)["f"] is not None
    os.utime(tmp_path / "p.py")
    assert judged(output)["f"] is None


def test_source_that_is_gone_says_nothing(tmp_path: Path) -> None:
    output = recorded(tmp_path, "def f() -> int: return 'a'\nf()\n")
    (tmp_path / "p.py").unlink()
    assert judged(output)["f"] is None


def test_a_line_that_is_no_longer_that_of_the_function_says_nothing(tmp_path: Path) -> None:
    output = recorded(tmp_path, "def f(x) -> int: return 'a'\nf(1)\n")
    for text in ("\ndef f(x) -> int: return 'a'\n", "def f(y) -> int: return 'a'\n", "def f("):
        written(tmp_path, {"p.py": text})
        assert judged(output)["f"] is None


def test_nothing_is_said_of_types_that_nobody_here_knows(tmp_path: Path) -> None:
    source = """
import numpy as np
import numpy.typing as npt
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")

class Sized(Protocol):
    def __len__(self) -> int: ...

@dataclass
class Box(Generic[T]):
    held: T

def arrays(a: np.ndarray, b: npt.NDArray[np.float64]) -> np.ndarray: return a.tolist()
def numbers(a: np.float64) -> np.int64: return int(a)
def sizes(a: Sized) -> Sized: return 3
def boxes(a: Box[int]) -> Box[str]: return Box(a.held)
def first(a: list[T]) -> T: return None

arrays(np.zeros(2), [1])
numbers(2.0)
sizes(4)
boxes(Box("x"))
first([1])
"""
    said = judged(recorded(tmp_path, source))
    names = ("arrays", "numbers", "sizes", "boxes", "first")
    assert [said[name] for name in names] == [None] * 5


@pytest.mark.skipif(sys.version_info < (3, 15), reason="it takes Python 3.15")
def test_a_frozendict_is_a_mapping_and_no_dict(tmp_path: Path) -> None:
    source = """
from collections.abc import Mapping, MutableMapping
def mapping(x: Mapping[str, int]) -> None: pass
def plain(x: dict[str, int]) -> None: pass
def mutable(x: MutableMapping) -> None: pass
for f in (mapping, plain, mutable): f(frozendict(a=1))
"""
    found = judged(recorded(tmp_path, source))
    assert found["mapping"] is None
    for name in ("plain", "mutable"):
        said = found[name]
        assert said is not None
        assert said[0] is INADMISSIBLE
