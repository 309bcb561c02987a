"""The twins in C and in Python leave the same tags, and a tag made in C reads as a tuple."""

from __future__ import annotations

import gc
import runpy
import textwrap
from pathlib import Path

import pytest
from marked_runs import CLEANED
from tag_dump import dump_both

from whence.langs.python.provenance.rewriter.rewriting_importer import Modules, run_source
from whence.langs.python.provenance.runtime import native_tagging
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_switch import SWITCH
from whence.langs.python.provenance.tags import CTL, FRAME, OP, RET

PROGRAMS = {
    "numbers": """
        def work(a, b=2, *, c=3):
            x = a + b * c - 7 // 2
            x += 1
            return x if x > 3 and not x == 4 or a is None else -x
        def failing(a):
            try: return 1 / a
            except ZeroDivisionError as error: return str(error)
        print(work(1), work(5, 6), work(1, c=9), work(b=1, a=2), work(*[1, 2]), failing(0))
        """,
    "sequences": """
        def merge(left, right):
            out = []
            i = j = 0
            while i < len(left) and j < len(right):
                if left[i] <= right[j]:
                    out.append(left[i]); i += 1
                else:
                    out.append(right[j]); j += 1
            out.extend(left[i:])
            return out + list(right[j:])
        def item(xs, n):
            try: return xs[n]
            except IndexError: return None
        xs = merge([1, 4, 9], (2, 3))
        a, (b, *c) = xs[0], xs[1:]
        for x, (y, z) in [(1, (2, 3)), (4, (5, 6))]:
            a += x * y - z
        for x in xs: xs.append(x) if len(xs) < 9 else None
        print(item(xs, -1), item(xs, 99), item("text", 2), "text"[1:3], [x for x in xs if x > a])
        """,
    "iterators": """
        import collections
        class Down:
            def __init__(self, n): self.n = n
            def __iter__(self): return self
            def __next__(self):
                if not self.n: raise StopIteration(self.n)
                self.n -= 1
                return self.n
        class Odd:
            def __iter__(self): raise StopIteration
        def count(n, bad=None):
            for i in range(n):
                if i == bad: raise ValueError(i)
                sent = yield [i]
                if sent: yield sent
            return n
        def both(n):
            got = yield from count(n)
            yield from "ab"
            return got
        def whole(things): return [each for each in things if each]
        def first(things):
            for each in things:
                for inner in things:
                    if inner: break
                    else: continue
                return each
        def failing(things):
            try: return list(things) and [x for x in things]
            except Exception as error: return type(error).__name__
        tables = [{"a": 1, "b": (2,)}, {3, 4}, frozenset([5]), collections.deque([6, 7]), "text"]
        for table in tables:
            print(whole(table), first(table), [*table], list(reversed(list(table))))
        print(whole(Down(3)), first(Down(2)), whole(count(3)), first(count(2)), whole(both(2)))
        print([(i, x) for i, x in enumerate(Down(3))], list(zip(count(2), [8, 9], (1, 2, 3))))
        print(list(map(lambda x: x + 1, [1, 2])), list(filter(None, [0, 1])))
        steps = count(3)
        print(next(steps), steps.send(5), next(iter([7])), next(iter(()), 8), list(steps))
        print(failing(count(3, 1)), failing(Odd()), failing(Down(1)), failing(3))
        it = iter([1, 2, 3, 4])
        print([(a, b) for a, b in zip(it, it)], max(x * 2 for x in Down(3)), list(it))
        print({k: v for k, v in tables[0].items()}, list(tables[0].values()))
        print(sum(x for x in [1, 2]), [-x for x in [1, 2.5]])
        """,
    "out of sight": """
        import bisect, functools, heapq, itertools, json, math, operator, re, types
        class Slotted:
            __slots__ = ("a", "b", "__dict__")
            def __init__(self): self.a = [1]; self.c = {"x": self.a}
            def __lt__(self, other): return id(self) < id(other)
            def __contains__(self, item): return item in self.a
        class Words(str): pass
        class Names(dict): pass
        def change(thing):
            operator.setitem(thing.c, "y", 2)
            vars(thing)["d"] = thing.a
            operator.attrgetter("a.append")(thing)(3)
            return thing.c, thing.d, thing.a, 1 in thing, 9 in thing
        def texts(text):
            found = re.compile("(?P<n>[a-z]+) ?").match(text, 0)
            again = re.search("c", text)
            return found.group(1), found["n"], found.lastgroup, found.end(), again, found.re.pattern
        things = [Slotted(), Slotted()]
        heap = [(3, things[0]), (1, things[1])]
        heapq.heapify(heap)
        print([change(each)[2:] for each in things], heapq.heappop(heap)[0], texts("ab cd"))
        print(functools.partial(change, things[0])()[0], json.dumps({"a": [1, {"b": 2}]}), math.pi)
        row = []
        for n in (3, 1, 2): bisect.insort(row, n)
        print(row, list(itertools.islice(itertools.chain(row, things), 2)))
        print(operator.add(*row[:2]), max(*row), math.hypot(*range(40)), str.__new__(Words, "w"))
        print(types.SimpleNamespace(a=row).a, Names(a=1).get("a"), copied := Names({"k": things}))
        print(sorted(things, key=lambda each: len(each.a))[0] in things, copied["k"] is things)
        print(math.fsum(range(20)), max([1, 2], key=lambda x: -x), operator.itemgetter(0, 1)(row))
        """,
    "objects": """
        import re, collections
        class Base:
            kind = "base"
            __slots__ = ("slotted",)
        class Thing(Base):
            def __init__(self, n, more=None):
                self.n = n
                self.more = more or {}
                self.slotted = n
            def __eq__(self, other): return self.n == other.n
            def __hash__(self): return 1
            def __bool__(self): return self.n > 1
            @property
            def double(self): return self.n * 2
            @double.setter
            def double(self, value): self.n = value
        class Kept(collections.OrderedDict): pass
        class Failure(ValueError): pass
        def use(things):
            found = {thing: thing.n for thing in things}
            kept = Kept(a=things)
            kept.extra = found
            error = Failure("no")
            error.why = things[0]
            return found[Thing(1)], kept["a"], kept.extra, error.why.double, things[0].kind
        things = [Thing(1), Thing(2, {"a": [1]}), Thing(n=3)]
        things[0].double = 8
        print(use([Thing(1), *things]), [bool(each) for each in things], things[1].more["a"][0])
        print(re.sub("a", lambda match: match.group().upper(), "banana"), re.match("b", "abc"))
        print(isinstance(things[0], Base), things in [things], things[0] in things, 3 in {3: 4})
        """,
    "generators": """
        def numbers(n):
            for each in range(n):
                got = yield each
                if got: yield got
        def over(n): yield from numbers(n)
        async def later(n): return n + 1
        async def both(): return await later(1) + await later(2)
        import asyncio
        first = numbers(3)
        print(next(first), first.send(7), list(first), list(over(3)), sum(x for x in over(4) if x))
        print(asyncio.run(both()), sorted([3, 1, 2], key=lambda x: -x), list(map(str, over(2))))
        left = numbers(9); next(left)
        """,
    "texts": """
        def shout(text): return text.upper().strip() + "!" if text.startswith("a") else text
        def parts(text): return text.split(","), text.find("b"), text.replace("a", "b")
        total = 3
        print(shout("abc "), shout("b"), parts("a,b"), f"{total:>5} of {total!r}", "%s" % total)
        print(str(total), int("7"), float(2), bool("x"), str(None))
        print("-".join(["a", str(total)]), total.bit_length(), "a" in "abc", "x" * 3, None is None)
        """,
    "what was cleaned": CLEANED,
    "the whole language": (Path(__file__).parents[1] / "programs/whole_language.py").read_text(
        "utf-8"
    ),
}


def _forms() -> dict[str, str]:
    """The programs of the tests beside this one, many of which once showed a hole."""
    forms, exceptions = (
        runpy.run_path(str(Path(__file__).parents[1] / f"test_{name}.py"))
        for name in ("forms", "exceptions")
    )
    found = {name: f"{forms['HEAD']}{each}main()\n" for name, each in forms["PROGRAMS"].items()}
    del found["sys.modules from"]  # it has the address of a module in its tags
    for statement, value, _ in exceptions["FORMS"]:
        found[statement] = exceptions["PROGRAM"].format(statement=statement, value=value)
    return found


FORMS = _forms()


@pytest.mark.parametrize("name", [*PROGRAMS, *FORMS])
def test_both_twins_leave_the_same_tags(name: str, twin: str) -> None:
    if twin == "python" or not native_tagging.HAS_NATIVE:
        pytest.skip("both twins run at once")
    native, python = dump_both(FORMS.get(name) or textwrap.dedent(PROGRAMS[name]))
    for ours, theirs in zip(native, python, strict=False):
        assert ours == theirs
    assert len(native) == len(python)
    assert len(native) > 10


def test_both_twins_note_as_much_of_what_holds_what(twin: str) -> None:
    if twin == "python" or not native_tagging.HAS_NATIVE:
        pytest.skip("both twins run at once")
    for name in ("objects", "out of sight"):
        noted = []
        for is_native in (True, True, False):  # what the first puts into caches is there for all
            native_tagging.use_native(is_native)
            run_source(textwrap.dedent(PROGRAMS[name]), "program.py")
            noted.append(len(RUN.holder_addresses))
        assert noted[1] == noted[2] > 10


def test_a_function_that_is_defined_anew_elsewhere_belongs_there() -> None:
    SWITCH.install()
    code = Modules(dual=False).code("def f():\n    def g(): return 1\n    return g\n", "program.py")
    for _ in range(2):
        namespace = run_source(code)
        assert id(namespace["f"].__globals__) in RUN.namespaces
        assert id(namespace["f"]().__globals__) in RUN.namespaces


def test_a_tag_reads_as_a_tuple() -> None:
    run_source("def f(a):\n    if a:\n        return a + 1\nf(2)\n", "program.py")
    call = RUN.activations[-1]
    assert call.result is not None
    assert len(call.result) == 5
    kind, _, control, source, made_by = call.result
    assert (kind, made_by) == (RET, call)
    assert control is call.result[2]
    assert control[0] == CTL
    assert control[5] is True
    assert call.result[3:] == (source, call)
    assert call.result[-1] is call
    assert call.control[:1] == (FRAME,)
    assert source[0] == OP
    with pytest.raises(IndexError):
        source[99]


def _forget() -> int:
    """Forget the run; how many tags are left, which suspended programs of other tests may have."""
    for _ in range(2):  # what was suspended then has ended in between
        RUN.reset()
        gc.collect()
    return native_tagging.native_tag_count()


def test_nothing_is_left_of_a_run_that_is_forgotten(twin: str) -> None:
    before = _forget()
    for name in ("objects", "generators", "the whole language"):
        run_source(textwrap.dedent(PROGRAMS[name]), "program.py").clear()
    if twin == "native":
        assert native_tagging.native_tag_count() > before + 100
    assert _forget() == before


def test_a_long_chain_of_tags_is_freed() -> None:
    source = "def f():\n    x = 0\n    while x < 100_000: x += 1\n    return x\nf()\n"
    before = _forget()
    run_source(source, "program.py")
    assert _forget() == before
