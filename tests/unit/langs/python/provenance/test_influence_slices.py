"""Calls that are missing from a slice are found, and none is of those that left something out."""

from __future__ import annotations

import textwrap

import pytest
from marked_runs import CLEANED, mark
from perturbation import Mark, check

from whence.langs.python.provenance.influence_slices import influencing_calls
from whence.langs.python.provenance.marked_parts import Criterion
from whence.langs.python.provenance.tags import Activation

MARK = Mark((("main", 0),), (("attribute", "n"),))


def test_a_call_that_could_have_changed_the_object_is_missing_from_the_narrow_slice() -> None:
    found = check(CLEANED, MARK, width=1)
    assert any(each.startswith("clean ") and "(heap)" in each for each in found.violations)


def test_no_call_that_matters_is_missing_from_the_wide_slice() -> None:
    found = check(CLEANED, MARK, width=3)
    assert found.violations == ()
    assert found.tried == 3, "the call that is outside was tried in all ways"


ENDING = """
class Upto:
    def __init__(self, stop): self.at, self.stop = 0, stop
    def __iter__(self): return self
    def over(self, now): return now >= self.stop
    def last(self): raise StopIteration
    def __next__(self):
        self.at += 1
        if self.over(self.at): return self.last()
        return self.at
def generated(stop):
    at = 0
    while not over(at, stop):
        yield at
        at += 1
def over(at, stop): return at >= stop
def looped():
    found = []
    for each in Upto(3): found.append(each)
    return found
def asked():
    found, numbers = [], Upto(3)
    try:
        while True: found.append(next(numbers))
    except StopIteration: pass
    return found
def unpacked():
    [*found] = Upto(3)
    return found
def zipped(): return list(zip(Upto(3), "abc"))
def found(): return 7 in Upto(3)
def some(): return any(n > 5 for n in Upto(3))
def main():
    return {
        "looped": looped(), "comprehended": [each for each in Upto(3)], "listed": list(Upto(3)),
        "summed": sum(Upto(3)), "zipped": zipped(), "unpacked": unpacked(),
        "joined": ",".join(map(str, Upto(3))), "asked": asked(), "dict": dict.fromkeys(Upto(3)),
        "generated": list(generated(3)), "found": found(), "any": some(),
    }
main()
"""


@pytest.mark.parametrize("key", [
    "looped", "comprehended", "listed", "summed", "zipped", "unpacked", "joined", "asked", "dict",
    "generated", "found", "any",
])  # fmt: skip
def test_who_said_that_there_is_no_more_is_in_the_slice_of_what_lacks_something(key: str) -> None:
    marked = mark(ENDING, "main", f"[{key!r}]")
    ended = marked.calls(3)
    if key == "generated":
        assert ended >= {"generated", "over"}
    else:
        assert {"Upto.over", "Upto.last"} <= ended, ended
    # The call that ended it is one of the last: not only those that gave something are there.
    last = "over" if key == "generated" else "Upto.over"
    numbers = [each.number for each in influencing_calls(marked.criterion, 3) if each.name == last]
    assert len(numbers) == (4 if key == "generated" else 3)


@pytest.mark.parametrize("body", [
    "for x in xs:\n  if keep(x): found.append(x)",
    "for x in xs:\n  if not keep(x): continue\n  found.append(x)",
    "for x in xs:\n  if not keep(x): break\n  found.append(x)",
    "for x in xs: keep(x) and found.append(x)",
    "for x in xs: found.append(x) if keep(x) else None",
    "for x in xs:\n  match keep(x):\n    case True: found.append(x)",
    "for x in xs:\n  try:\n    if not keep(x): raise KeyError\n    found.append(x)\n  except: 0",
    "found = filled(found)",
    "found = [x for x in xs if keep(x)]",
    "found = list(filter(keep, xs))",
    "found = [*generated()]",
    "i = 0\nwhile keep(xs[i]):\n  found.append(xs[i])\n  i += 1",
    "[found.append(x) for x in xs if keep(x)]",
    "some = Holder(found)\nfor x in xs: some.add(x)",
    "some = Holder(found)\nfor x in xs:\n  if keep(x): some.items.append(x)",
    "kept()['found'] = found\nfor x in xs:\n  if keep(x): kept()['found'].append(x)",
])  # fmt: skip
def test_who_left_something_out_is_in_the_widest_slice_of_what_lacks_it(body: str) -> None:
    source = (
        "xs = [1, 2, 3]\nstore = {}\n"
        "def keep(x): return wanted(x)\n"
        "def wanted(x): return x != 2\n"
        "def kept(): return store\n"
        "class Holder:\n"
        "  def __init__(self, items): self.items = items\n"
        "  def add(self, x):\n"
        "    if keep(x): self.items.append(x)\n"
        "def filled(into):\n"
        "  for x in xs:\n    if keep(x): into.append(x)\n  return into\n"
        "def generated():\n  for x in xs:\n    if keep(x): yield x\n"
        "def main():\n  found = []\n" + textwrap.indent(body, "  ") + "\n  return found\n"
        "main()\n"
    )
    marked = mark(source, "main", "")
    given = [
        each.values[0] for each in influencing_calls(marked.criterion, 3) if each.name == "wanted"
    ]
    assert 2 in given, given


STEPPED = """
import itertools
OUT_OF_SIGHT = {}
exec(compile('''
def shouted(texts, up):
    for each in texts: yield up(each)
def chosen(texts, good):
    for each in texts:
        if good(each): yield each
def counted(less):
    number = 0
    while less(number):
        yield 5
        number += 1
class Walk:
    def __init__(self, texts, good): self.texts, self.good = list(texts), good
    def __iter__(self): return self
    def __next__(self):
        while self.texts:
            each = self.texts.pop(0)
            if self.good(each): return each
        raise StopIteration
''', "<made>", "exec"), OUT_OF_SIGHT)
shouted, chosen = OUT_OF_SIGHT["shouted"], OUT_OF_SIGHT["chosen"]
counted, Walk = OUT_OF_SIGHT["counted"], OUT_OF_SIGHT["Walk"]
def up(text): return text.upper()
def good(text): return text < "c"
def less(number): return number < 2
def number(left=[0, 1, 2, 9]): return left.pop(0)
def looped(given):
    found = []
    for each in given: found.append(each)
    return found
def counting(given):
    count = 0
    for each in given: count += 1
    return count
def unpacked(given):
    [*found] = given
    return found
def delegated(given):
    yield from given
def asked(given):
    count = 0
    while next(given, None) is not None: count += 1
    return count
def extended(given):
    found = []
    found.extend(given)
    return found
def length(*given): return len(given)
def main(): return %s
main()
"""
GIVEN = {
    'shouted("ab", up)': ("up", 2), 'chosen("abcd", good)': ("good", 4),
    "counted(less)": ("less", 3), 'Walk("abcd", good)': ("good", 4),
    'filter(good, "abcd")': ("good", 4), '(each for each in "abcd" if good(each))': ("good", 4),
    'itertools.takewhile(good, "abcd")': ("good", 3),
    'itertools.dropwhile(good, "abcd")': ("good", 3),
    'itertools.filterfalse(good, "abcd")': ("good", 4),
    'itertools.starmap(up, [("a",), ("b",)])': ("up", 2), "iter(number, 9)": ("number", 4),
    'itertools.groupby("abcd", good)': ("good", 4),
}  # fmt: skip
"""Iterators that ask the program's own code: which function, and how often in all."""
TAKEN = [
    "''.join(map(str, {}))", "looped({})", "list({})", "[x for x in {}]", "[1 for x in {}]",
    "unpacked({})", "sorted({})", "max({})", "dict.fromkeys({})", "set({})", "len(list({}))",
    "list(zip({}, 'xyzw'))", "list(enumerate({}))", "list(delegated({}))", "extended({})", "[*{}]",
    "length(*{})", "counting({})", "list(x for x in {})", "{{x: 1 for x in {}}}", "asked(iter({}))",
    "list(itertools.chain({}, 'z'))", "any(x == 99 for x in {})", "99 in {}", "tuple({})",
    "frozenset({})", "sum(1 for x in {})", "{{*{}}}", "len((*{},))",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(GIVEN)))
def test_what_an_iterator_is_told_is_in_the_slice_of_what_it_gives(number: int) -> None:
    check_told(list(GIVEN)[number], TAKEN[number % 4 :: 4])


@pytest.mark.soak
@pytest.mark.parametrize("given", GIVEN)
def test_what_an_iterator_is_told_is_in_the_slice_of_all_that_it_gives(given: str) -> None:
    check_told(given, TAKEN)


def check_told(given: str, ways: list[str]) -> None:
    asked, times = GIVEN[given]
    for taken in ways:
        if "groupby" in given and taken in {"sorted({})", "max({})"}:
            continue
        marked = mark(STEPPED % taken.format(given), "main", "")
        told = [each for each in influencing_calls(marked.criterion, 3) if each.name == asked]
        assert len(told) == times, taken


@pytest.mark.parametrize("made", [
    "[*some(), 3, *xs][1]", "(*some(), 3)[0]", "len({*some(), 3})", "len([*some()])",
    "len({**named()})", "{**named(), **named()}.get('a', 0)", "second(*some())", "rest(*some())",
    "second(1, **named())", "len(rest_named(**named()))", "second(1, *some(), **named())",
    "Pair(*some()).second", "Pair(1, **named()).second", "Pair(1).add(*some())",
    "len(list(zip(*some())))", "'{}{}'.format(4, *some(), 5)", "'abc'.replace('b', *some(), 'd')",
    "Fields(*some(), 1).left", "max(0, 1, *some())",
])  # fmt: skip
def test_who_made_what_is_starred_too_short_is_in_the_slice(made: str) -> None:
    source = (
        "import collections\nxs = [1, 2, 3]\nFields = collections.namedtuple('Fields', 'left')\n"
        "def some(): return []\n"
        "def named(): return {}\n"
        "def second(first=0, second=5, **named): return second\n"
        "def rest(*given): return len(given)\n"
        "def rest_named(**given): return given\n"
        "class Pair:\n"
        "  def __init__(self, first=0, second=5): self.first, self.second = first, second\n"
        "  def add(self, more=0): return self.first + more\n"
        f"def main(): return {made}\n"
        "main()\n"
    )
    marked = mark(source, "main", "")
    wanted = {each for each in ("some", "named") if f"{each}()" in made}
    assert wanted <= marked.calls(1), marked.calls(1)


KEPT_OUT = """
def wanted(x): return x != 2
def count(x): return x - 2
def main():
    found = []
    for x in [1, 2, 3]:
        if wanted(x) and count(x): found.append(x)
    return found
main()
"""


@pytest.mark.parametrize("function", ["wanted", "count"])
def test_making_calls_go_wrong_shows_a_slice_without_what_kept_something_out(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check(KEPT_OUT, Mark((("main", 0),), ())).violations == ()
    monkeypatch.setattr("perturbation.influencing_calls", _without_decisions)
    found = check(KEPT_OUT, Mark((("main", 0),), ()))
    assert any(each.startswith(f"{function} ") for each in found.violations), found


def _without_decisions(criterion: Criterion, width: int) -> frozenset[Activation]:
    """The hole that slices once had: what was tested and left no trace in the list."""
    deciding = {"wanted", "count"}
    return frozenset(
        each for each in influencing_calls(criterion, width) if each.name not in deciding
    )


QUEUED = """
import queue
class Box:
    def __init__(self): self.n = 1
def touched(waiting): return None
def other(n): return None
def main():
    box, waiting = Box(), queue.SimpleQueue()
    waiting.put(box)
    touched(waiting)
    other(3)
    return box
main()
"""


def test_who_reaches_an_object_by_what_an_extension_holds_is_in_the_widest_slice() -> None:
    found = mark(QUEUED, "main", ".n").calls(3)
    assert "touched" in found
    assert "other" not in found
