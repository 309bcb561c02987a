"""A reference that differs in many functions: only the one at fault is blamed, or none is.

Each program has one fault. Other functions are written differently in the reference, but do the
same there. Some of them do something else for what only the fault gives them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from reference_versions import judged, run_recorded

from whence.app.session_driver import SessionDriver
from whence.langs.python.oracles.reference_oracle import reference_oracle_for
from whence.model.verdict import Answer, Verdict
from whence.session.events import Answered, Ask, Exhausted, Found
from whence.session.state import State

WRONG = Verdict.WRONG

CASES: dict[str, tuple[str, str, str, str]] = {
    # name: the reference, the program, the function at fault, a function that is not wrong
    "swapped_arguments": (
        """
def guard(log, name):
    entries = log
    entries.append(name)
    return len(entries)
def nested(log):
    return guard(log, "b")
try: print(nested([]))
except AttributeError: print("none")
""",
        """
def guard(log, name):
    size = log.__len__() + 1
    log.append(name)
    return size
def nested(log):
    return guard("b", log)
try: print(nested([]))
except AttributeError: print("none")
""",
        "nested",
        "guard",
    ),
    "wrong_kind": (
        """
def clone(xs):
    return dict(xs)
def size(xs):
    return xs.__len__() if hasattr(xs, "keys") else -1
def main():
    found = size(clone({1: 2}))
    print(found)
main()
""",
        """
def clone(xs):
    return [*xs, 3]
def size(xs):
    return len(xs)
def main():
    print(size(clone({1: 2})))
main()
""",
        "clone",
        "size",
    ),
    "wrong_state": (
        """
class Settings:
    limit = 1
def configure(n):
    Settings.limit = n
def below(n):
    if Settings.limit is None: return "none"
    return n < Settings.limit
configure(3)
print(below(2))
""",
        """
class Settings:
    limit = 1
def configure(n):
    Settings.limit = None
def below(n):
    return not n >= (Settings.limit or 0)
configure(3)
print(below(2))
""",
        "configure",
        "below",
    ),
    "new_parameter_of_a_nested_function": (
        """
def maker(n):
    def add(x, step=1):
        return x + n + step - 1
    return add
def use(f):
    result = f(1)
    return result
def show(x):
    return "=" + str(x)
def main():
    print(show(use(maker(3))))
main()
""",
        """
def maker(n):
    def add(x):
        return x + n
    return add
def use(f):
    return f(1)
def show(x):
    return "!" + str(x)
def main():
    print(show(use(maker(3))))
main()
""",
        "show",
        "use",
    ),
    "default_of_a_nested_function": (
        """
def maker(n):
    def add(x, step=[2]):
        return x + n + step[0]
    return add
def use(f):
    result = f(1)
    return result
print(use(maker(3)))
""",
        """
def maker(n):
    def add(x, step=[3]):
        return x + n + step[0]
    return add
def use(f):
    return f(1)
print(use(maker(3)))
""",
        "maker",
        "use",
    ),
    "comprehension_that_runs": (
        """
def scaled(x):
    result = x * 2
    return result
def every(xs):
    return sum(scaled(x_2) for x_2 in xs)
def main():
    print(every([1, 2]))
main()
""",
        """
def scaled(x):
    return x * 3
def every(xs):
    return sum(scaled(x) for x in xs)
def main():
    print(every([1, 2]))
main()
""",
        "scaled",
        "",
    ),
    "default_of_a_function": (
        """
def add(x, step=2):
    return x + step
def use(x):
    result = add(x)
    return result
def main():
    print(use(1))
main()
""",
        """
def add(x, step=3):
    return x + step
def use(x):
    return add(x)
def main():
    print(use(1))
main()
""",
        "<module>",
        "use",
    ),
    "attribute_of_a_class": (
        """
class Cart:
    limit = 3
    def left(self, n):
        room = self.limit - n
        return room
print(Cart().left(1))
""",
        """
class Cart:
    limit = 4
    def left(self, n):
        return self.limit - n
print(Cart().left(1))
""",
        "Cart",
        "Cart.left",
    ),
    "captured_by_another_version": (
        """
def maker(items):
    held = tuple(items)
    def count():
        return held.__len__() if type(held) is tuple else -1
    return count
def report(f):
    text = str(f())
    return "<" + text + ">"
print(report(maker([1, 2])))
""",
        """
def maker(items):
    held = list(items)
    def count():
        return len(held)
    return count
def report(f):
    return "(" + str(f()) + ")"
print(report(maker([1, 2])))
""",
        "report",
        "maker.<locals>.count",
    ),
    "other_representation": (
        """
class Bag:
    def __init__(self): self.items = {}
    def put(self, x): self.items[x] = True
    def all(self): return sorted(self.items.keys())
def show(bag):
    return "[" + str(bag.all()) + "]"
def main():
    bag = Bag()
    bag.put(1)
    print(show(bag))
main()
""",
        """
class Bag:
    def __init__(self): self.items = []
    def put(self, x): self.items.append(x)
    def all(self): return sorted(self.items)
def show(bag):
    return "(" + str(bag.all()) + ")"
def main():
    bag = Bag()
    bag.put(1)
    print(show(bag))
main()
""",
        "show",
        "Bag.all",
    ),
    "state_of_a_library": (
        """
import decimal
def setup(n):
    decimal.getcontext().prec = n
def third(x):
    result = decimal.Decimal(x) / 3
    return result
def main():
    setup(5)
    found = third(1)
    print(found)
main()
""",
        """
import decimal
def setup(n):
    decimal.getcontext().prec = n - 1
def third(x):
    return decimal.Decimal(x) / 3
def main():
    setup(5)
    print(third(1))
main()
""",
        "setup",
        "third",
    ),
    "patched_library": (
        """
import string
def setup(text):
    string.hexdigits = text
def digits():
    found = len(string.hexdigits)
    return found
def main():
    setup("0123")
    count = digits()
    print(count)
main()
""",
        """
import string
def setup(text):
    string.hexdigits = text * 2
def digits():
    return len(string.hexdigits)
def main():
    setup("0123")
    print(digits())
main()
""",
        "setup",
        "digits",
    ),
    "cache_filled_before": (
        """
import functools
@functools.cache
def square(n): return n * n
def warm():
    for n in range(3): square(n)
def total(ns):
    found = sum(square(n) for n in ns)
    return found
def main():
    warm()
    result = total([1, 2])
    print(result)
main()
""",
        """
import functools
@functools.cache
def square(n): return n ** 3
def warm():
    for n in (0, 1, 2): square(n)
def total(ns):
    return sum(square(n) for n in ns)
def main():
    warm()
    print(total([1, 2]))
main()
""",
        "square",
        "total",
    ),
    "name_in_the_text_of_an_exception": (
        """
def first(xs):
    for item in xs: break
    return item
def choose(n):
    return [n]
def main():
    try: print(first(choose(1)))
    except NameError as problem: print(problem)
main()
""",
        """
def first(xs):
    for x in xs: break
    return x
def choose(n):
    return []
def main():
    try: print(first(choose(1)))
    except NameError as problem: print(problem)
main()
""",
        "choose",
        "first",
    ),
    "generator_of_another_version": (
        """
def steps(n):
    for i in range(n):
        value = double(i)
        yield value
def double(i): return i * 2
def total(numbers):
    found = 0
    for number in numbers: found += number
    return found
def main():
    numbers = steps(4)
    next(numbers)
    print(total(numbers))
main()
""",
        """
def steps(n):
    for i in range(n):
        yield double(i)
def double(i): return i * 3
def total(numbers):
    return sum(numbers)
def main():
    numbers = steps(4)
    next(numbers)
    print(total(numbers))
main()
""",
        "double",
        "total",
    ),
    "method_with_super": (
        """
class Base:
    def name(self): return "base"
class Derived(Base):
    def name(self):
        inherited = super().name()
        return inherited + "!"
def shown(x):
    text = x.name()
    return "<" + text + ">"
print(shown(Derived()))
""",
        """
class Base:
    def name(self): return "base"
class Derived(Base):
    def name(self):
        return Base.name(self) + "!"
def shown(x):
    return "(" + x.name() + ")"
print(shown(Derived()))
""",
        "shown",
        "Derived.name",
    ),
    "coroutine": (
        """
import asyncio
async def fetch(n):
    await asyncio.sleep(0)
    result = n + 1
    return result
def choose(n): return n
async def main():
    found = await fetch(choose(1))
    print(found)
asyncio.run(main())
""",
        """
import asyncio
async def fetch(n):
    await asyncio.sleep(0)
    return n + 1
def choose(n): return n + 5
async def main():
    print(await fetch(choose(1)))
asyncio.run(main())
""",
        "choose",
        "fetch",
    ),
}


def diagnosed(reference: str, program: str, folder: Path) -> tuple[str, set[str]]:
    """The function that is blamed, if any; and all functions with a call judged wrong."""
    (folder / "good.py").write_text(reference)
    (folder / "bad.py").write_text(program)
    return diagnosed_script(folder / "bad.py", folder / "good.py")


def diagnosed_script(program: Path, reference: Path) -> tuple[str, set[str]]:
    tree = run_recorded(program)
    oracle = reference_oracle_for(tree, str(reference))
    try:
        verdicts = judged(tree, oracle)
        session = SessionDriver(State(tree), [oracle])
        wrong = Answer(tree.id(0), WRONG, by="symptom")
        outcome = session.start([Answered((wrong,))])
        while isinstance(outcome, Ask):
            outcome = session.send(Answered((Answer(outcome.question.node, Verdict.UNKNOWN),)))
    finally:
        oracle.close()
    assert isinstance(outcome, Found | Exhausted)
    node = outcome.diagnosis.node
    blamed = "" if node is None else tree.call(tree.position(node)).function.qualname
    return blamed, {call.function for call in verdicts if call.verdict is WRONG}


FOUND = {"swapped_arguments", "wrong_kind", "comprehension_that_runs", "cache_filled_before"}
"""The function at fault is found here; in other programs nobody need be blamed."""


@pytest.mark.parametrize("name", CASES)
def test_a_function_that_only_differs_is_not_blamed(name: str, tmp_path: Path) -> None:
    reference, program, at_fault, innocent = CASES[name]
    blamed, wrong = diagnosed(reference, program, tmp_path)
    assert blamed == at_fault or (blamed == "" and name not in FOUND), (blamed, wrong)
    assert not innocent or innocent not in wrong


def test_a_function_is_not_blamed_for_a_data_file_that_differs(tmp_path: Path) -> None:
    program = """
import pathlib
def rate():
    return int(pathlib.Path(__file__).with_name("rate.txt").read_text())
print(rate())
"""
    good = tmp_path / "good"
    good.mkdir()
    for folder, text, data in (
        (tmp_path, program, "7"),
        (good, program.replace("return int(", "return 0 + int("), "8"),
    ):
        (folder / "program.py").write_text(text)
        (folder / "rate.txt").write_text(data)
    blamed, _ = diagnosed_script(tmp_path / "program.py", good)
    assert blamed == ""
