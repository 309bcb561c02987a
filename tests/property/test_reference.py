"""The reference oracle is sound: whatever one place of a program is changed into.

Each program here is recorded with one mutation and judged by the unchanged one, call by call.
"""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path
from typing import Any

import pytest
from mutants import Mutant, mutants
from reference_versions import Judged, blamed, judged, run_recorded

from whence.errors import WhenceError
from whence.langs.python.oracles.reference_oracle import ReferenceOracle, reference_oracle_for
from whence.model.verdict import Verdict
from whence.tree.column_tree import ColumnTree

PROGRAMS = {
    "merge_sort": """
def merge(left, right):
    out = []
    while left and right:
        if left[0] <= right[0]:
            out.append(left[0])
            left = left[1:]
        else:
            out.append(right[0])
            right = right[1:]
    return out + left + right

def split(items):
    middle = len(items) // 2
    return items[:middle], items[middle:]

def sort(items):
    if len(items) <= 1:
        return items
    left, right = split(items)
    return merge(sort(left), sort(right))

def main():
    print(sort([5, 2, 9, 1, 7]))

if __name__ == "__main__":
    main()
""",
    "shop": """
RATE = 7
count = 0

class Item:
    def __init__(self, name, price):
        self.name = name
        self.price = price

    @property
    def taxed(self):
        return self.price + self.price * RATE // 100

class Cart:
    limit = 3

    def __init__(self):
        self.items = []

    def add(self, item):
        global count
        if len(self.items) >= self.limit:
            raise OverflowError("full")
        self.items.append(item)
        count += 1
        return self

    def total(self):
        return sum(item.taxed for item in self.items)

def fill(names):
    cart = Cart()
    for position, name in enumerate(names):
        cart.add(Item(name, 100 * (position + 1)))
    return cart

def report(cart):
    print("items", count, "total", cart.total())
    return {item.name: item.price for item in cart.items}

print(report(fill(["tea", "milk"])))
try:
    fill("abcd")
except OverflowError as problem:
    print(problem)
""",
    "words": """
import functools

def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return function(*args, **kwargs)
    wrapper.calls = 0
    return wrapper

@counted
def clean(word, *, strip=".,"):
    return word.strip(strip).lower()

def words(text):
    for word in text.split():
        cleaned = clean(word)
        if len(cleaned) > 1:
            yield cleaned

def tally(text, into=None):
    found = {} if into is None else into
    for word in words(text):
        found[word] = found.get(word, 0) + 1
    return found

def maker(least):
    def often(found):
        return sorted(word for word, count in found.items() if count >= least)
    return often

def main():
    found = tally("The cat, the dog. A cat!")
    tally("the end", into=found)
    print(maker(2)(found), len(set(found)))
    print(clean.calls)

main()
""",
}


def expected(source: str, call: str) -> str | None:
    """What a call of plain values comes to, found in another way: by making it here."""
    namespace: dict[str, Any] = {"__name__": "elsewhere"}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(source, namespace)
            return repr(eval(call, namespace))
    except Exception:
        return None


def below(tree: ColumnTree, position: int) -> set[str]:
    """The functions that ran in a call."""
    end = int(tree.columns.end[position])
    return {tree.functions[int(number)].qualname for number in tree.columns.function[position:end]}


def check(tree: ColumnTree, found: list[Judged], good: str, mutant: Mutant) -> None:
    for each in found:
        ran = below(tree, each.position)
        if each.verdict is Verdict.WRONG:
            # A changed body of a module or class counts only where it ran.
            assert mutant.function in ran or each.position == 0, (mutant, each)
        left, arrow, right = each.equation.partition(" → ")
        if each.verdict is Verdict.RIGHT and arrow and "self=" not in left and "…" not in left:
            wanted = expected(good, left)
            if wanted is not None and "<" not in wanted + right:
                assert wanted == right, (mutant, each)


def tried(good: str, mutant: Mutant, folder: Path) -> str:
    """Judge all calls of a mutant; in which function a session ends."""
    (folder / "good").mkdir(parents=True)
    (folder / "good" / "program.py").write_text(good)
    (folder / "program.py").write_text(mutant.source)
    try:
        tree = run_recorded(folder / "program.py", limit=10)
    except WhenceError:
        return "endless"
    oracle: ReferenceOracle = reference_oracle_for(tree, str(folder / "good"))
    try:
        found = judged(tree, oracle)
        check(tree, found, good, mutant)
        if found[0].verdict is not Verdict.WRONG:
            return "same"
        return blamed(tree, oracle)
    finally:
        oracle.close()


def is_sound(ended: str, mutant: Mutant) -> bool:
    """The changed function was named, alone or among others, or nobody was blamed."""
    if ended.startswith("? one of"):
        return repr(mutant.function) in ended
    return ended in ("same", "endless", mutant.function) or ended.startswith("?")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_changed_function_is_found_or_it_is_said_why_not(name: str, tmp_path: Path) -> None:
    good = PROGRAMS[name]
    some = [mutant for mutant in mutants(good) if mutant.function not in ("<module>", "Cart")]
    for number, mutant in enumerate(random.Random(name).sample(some, 2)):
        ended = tried(good, mutant, tmp_path / str(number))
        assert is_sound(ended, mutant), (mutant, ended)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_changed_function_is_found(name: str, tmp_path: Path) -> None:
    good = PROGRAMS[name]
    ends: list[str] = []
    for number, mutant in enumerate(mutants(good)):
        ended = tried(good, mutant, tmp_path / str(number))
        assert is_sound(ended, mutant), (mutant, ended)
        ends.append(
            ended if ended in ("same", "endless") else "?" if ended.startswith("?") else "found"
        )
        print(ended[:60], "|", mutant.function, mutant.what)
    print({end: ends.count(end) for end in set(ends)})
