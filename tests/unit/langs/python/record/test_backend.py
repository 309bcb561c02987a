"""What is a call, whose it is, and what is told of it: the same for every backend."""

from __future__ import annotations

import decimal
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from recorded import BACKENDS, Node, record

from whence.langs.python.record import recording as recording_module
from whence.langs.python.record.options import Detail, RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.summaries import Summaries
from whence.langs.python.record.user_code import UserCodeRules

Run = Callable[..., Node]


# Where who created a generator cannot be told, who first made it run counts as its caller.
def knows_creators(backend: str) -> bool:
    return backend == "native" or sys.version_info >= (3, 12)


def test_functions_methods_lambdas_and_bodies_are_calls(run: Run) -> None:
    body = run("""
class Box:
    def __init__(self, x):
        self.x = x
    @property
    def twice(self):
        return self.x * 2
    @staticmethod
    def plain(a): return a
    @classmethod
    def make(cls, x): return cls(x)

def f(x):
    return (lambda y: y + 1)(x)

f(1); Box.make(3).twice; Box.plain(5)
""")
    assert body.names() == ["Box", "f", "Box.make", "Box.twice", "Box.plain"]
    assert body.find("f").outcome == "→ 2"
    assert body.find("f").names() == ["f.<locals>.<lambda>"]
    assert body.find("Box.make").names() == ["Box.__init__"]
    assert body.find("Box.make").arguments == {"cls": "<class program.Box>", "x": "3"}
    assert body.find("Box.twice").arguments == {"self": "Box(x=3)"}


def test_arguments_of_every_kind_are_told_by_name(run: Run) -> None:
    body = run("""
def f(a, /, b=2, *args, c, d=4, **kw): return None
f(1, c=3)
f(1, 5, 6, 7, c=8, e=9)
""")
    first, second = body.all("f")
    assert first.arguments == {"a": "1", "b": "2", "c": "3", "d": "4", "args": "()", "kw": "{}"}
    assert second.arguments["args"] == "(6, 7)"
    assert second.arguments["kw"] == "{'e': 9}"


def test_calls_made_from_c_stand_below_the_call_that_caused_them(run: Run) -> None:
    body = run("""
class Key:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return self.n == other.n
    def __hash__(self): return 1
def key(x): return -x
def caller():
    sorted([1, 2], key=key)
    {Key(1): 1}[Key(1)]
    return list(map(key, [3]))
caller()
""")
    assert body.find("caller").names() == [
        "key", "key", "Key.__init__", "Key.__hash__", "Key.__init__", "Key.__hash__",
        "Key.__eq__", "key",
    ]  # fmt: skip


def test_comprehensions_belong_to_the_function_in_which_they_stand(run: Run) -> None:
    body = run("""
def g(x): return x
def f(): return [g(i) for i in range(2)], sum(g(i) for i in range(2)), {g(1): g(2)}
f()
""")
    assert body.names() == ["f"]
    assert body.find("f").names() == ["g"] * 6


def test_the_place_of_the_call_is_told_by_line_and_column(run: Run) -> None:
    body = run("""
def g(): pass
def f():
    x = 1
    return g(), [g() for i in range(1)]
f()
""")
    first, second = body.all("g")
    assert (first.line, first.column) == (5, 12)
    assert second.line == 5
    assert body.find("f").line == 6


def test_a_generator_is_a_call_of_who_created_it(run: Run, backend: str) -> None:
    body = run("""
def g(x): return x
def make(n):
    for i in range(n):
        yield g(i)
def first(): return make(2)
def second(it): return list(it)
second(first())
""")
    assert body.find("make").outcome == "yielded 0, 1, then returned None"
    assert body.find("make").names() == ["g", "g"]
    parent = body.find("first" if knows_creators(backend) else "second")
    assert parent.names() == ["make"]


def test_generators_made_before_any_of_them_runs_are_kept_apart(run: Run) -> None:
    body = run("""
def make(n):
    yield n
a = make(1); b = make(2); c = make(3)
list(c); list(a)
""")
    expected = {"1": "yielded 1, then returned None", "3": "yielded 3, then returned None"}
    told = {call.arguments["n"]: call.outcome for call in body.all("make")}
    assert {n: told[n] for n in expected} == expected


def test_a_generator_is_told_with_the_usual_bound_from_its_first_call_on(run: Run) -> None:
    body = run(
        """
def plain(values): return None
def make(values):
    yield 1
numbers = list(range(30))
for _ in range(11):
    plain(numbers)
list(make(numbers))
""",
        options=RecordOptions(early_calls=0),
    )
    first, *_, last = (call.arguments["values"] for call in body.all("plain"))
    assert body.find("make").arguments["values"] == last != first


def test_what_comes_of_the_first_steps_of_generators_and_coroutines_is_told_deeper(
    run: Run,
) -> None:
    body = run(
        """
import asyncio
def plain(n): return [[n], [[n]]]
def several():
    for n in range(30): yield [[n], [[n]]]
async def later(n):
    await asyncio.sleep(0)
    return [[n], [[n]]]
for n in range(30): plain(n)
list(several())
async def main():
    for n in range(30): await later(n)
asyncio.run(main())
""",
        options=RecordOptions(early_calls=0),
    )
    results = [call.outcome for call in body.all("plain")]
    assert "[[29], [[29]]]" not in results[-1]
    later = [call.outcome for call in body.find("main").all("later")]
    assert later == results
    yielded = body.find("several").outcome
    assert "[[9], [[9]]]" in yielded and "[[10], [[10]]]" not in yielded
    assert all(result.removeprefix("→ ") in yielded for result in results[:8])


def test_a_module_variable_of_the_library_that_never_changes_is_told(run: Run) -> None:
    body = run(
        """
import re, datetime, decimal, pathlib, random
PATTERN, DAY = re.compile("a+"), datetime.date(2024, 2, 29)
PRICE, PLACE, CHANCE = decimal.Decimal("1.50"), pathlib.PurePosixPath("/a"), random.Random(1)
def f(): return [PATTERN, DAY, PRICE, PLACE, CHANCE]
f()
"""
    )
    reads = body.find("f").reads
    assert reads["PATTERN"] == "re.compile('a+')"
    assert "2024, 2, 29" in reads["DAY"]
    assert "1.50" in reads["PRICE"] and "/a" in reads["PLACE"]
    assert reads["CHANCE"] == "<random.Random>"


def test_what_stands_before_a_summary_is_told_right_however_often(run: Run) -> None:
    """A summary runs code, so that what was encoded before it in the same record counts anew."""
    body = run("""
from decimal import Decimal
def keep(text, price): return text
def look(text): return price
price = Decimal("1.50")
for n in range(40):
    text = f"{n:>60}"
    keep(text, price)
    look(text)
    look(f"{n % 3:>60}")
""")
    kept = [call.arguments["text"] for call in body.all("keep")]
    assert kept == [repr(f"{n:>60}") for n in range(40)]
    looked = [call.arguments["text"] for call in body.all("look")]
    assert looked == [repr(f"{m:>60}") for n in range(40) for m in (n, n % 3)]
    assert {call.arguments["price"] for call in body.all("keep")} == {"Decimal('1.50')"}
    assert {call.outcome for call in body.all("look")} == {"→ Decimal('1.50')"}


def test_a_generator_that_is_thrown_into_and_closed(run: Run) -> None:
    body = run("""
def make():
    while True:
        try:
            yield 1
        except KeyError:
            yield 2
def through():
    yield 3
g = make(); next(g); g.throw(KeyError('k')); next(g)
h = through(); next(h)
try:
    h.throw(ValueError('v'))
except ValueError:
    pass
""")
    assert body.find("make").outcome.startswith("yielded 1, 2, 1")
    assert "raised" in body.find("through").outcome


def test_what_changes_while_generators_wait_for_each_other_is_seen(run: Run) -> None:
    body = run("""
def make():
    xs = []
    def inner():
        for n in range(2):
            xs.append(n)
            yield n
    def outer():
        yield from inner()
        len(xs)
    def outermost():
        yield from outer()
        xs.append(5)
        yield 5
    def still():
        yield from (1, 2)
        len(xs)
    def looping():
        for n in still():
            xs.append(-n)
            yield n
    def read(values):
        for n in values:
            xs.append('r')
    return outermost, looping, read
outermost, looping, read = make()
read(outermost())
read(looping())
""")
    chain = [body.find(f"make.<locals>.{name}") for name in ("outermost", "outer")]
    for call in (*chain, body.find("make.<locals>.inner")):
        assert [(name, after) for name, (_, after) in call.effects.items()][:2] == [
            ("xs[0]", "0"),
            ("xs[2]", "1"),
        ]
        assert call.reads["xs(resumed)"] == "[0, 'r']"
        assert call.reads["xs(resumed)′2"] == "[0, 'r', 1, 'r']"
    assert body.find("make.<locals>.looping").effects["xs[6]"] == ("nothing", "-1")
    assert body.find("make.<locals>.still").effects == {}


def test_what_a_generator_is_sent_is_what_it_reads(run: Run) -> None:
    body = run("""
class Raw:
    def __repr__(self): raise AssertionError
    def __init__(self): self.n = 1
def make(xs):
    got = yield 1
    xs.append(got)
    other = yield [got]
    yield other
def around(xs):
    return (yield from make(xs))
g = make([]); next(g); g.send(3); g.send(Raw()); next(g, None)
h = around([]); next(h); next(h); h.send('text'); list(h)
""")
    direct, inner = body.all("make")
    assert direct.reads == {"sent[0]": "3", "sent[1]": "Raw(n=1)"}
    assert direct.effects["xs[0]"] == ("nothing", "3")
    assert inner.reads == {"sent[1]": "'text'"}
    assert body.find("around").reads == inner.reads


def test_what_is_sent_into_asynchronous_code_is_told_where_it_does_not_just_pass(run: Run) -> None:
    body = run("""
import types
@types.coroutine
def outside():
    return (yield 'waits')
async def make():
    got = yield 1
    await outside()
    yield got
async def main():
    it = make()
    await it.asend(None)
    await it.asend('sent')
    await it.aclose()
running = main()
running.send(None)
try:
    running.send('answer')
except StopIteration:
    pass
""")
    assert body.find("outside").reads == {"sent[0]": "'answer'"}
    assert {name for name in body.find("make").reads if name.startswith("sent")} == {"sent[0]"}
    assert body.find("make").reads["sent[0]"] == "'sent'"
    assert body.find("main").reads == {}


def test_without_values_nothing_is_told_of_what_is_sent(run: Run) -> None:
    body = run("def make():\n    yield (yield 1)\ng = make(); next(g); g.send(5)",
               options=RecordOptions(detail=Detail.IDS))  # fmt: skip
    assert body.find("make").reads == {}


def test_coroutines_and_tasks_belong_to_who_created_them(run: Run, backend: str) -> None:
    body = run("""
import asyncio
def g(x): return x
async def child(x):
    await asyncio.sleep(0)
    return g(x)
async def numbers():
    for i in range(2):
        yield g(i)
        await asyncio.sleep(0)
async def main():
    task = asyncio.create_task(child(1))
    own = await child(2)
    return own + await task + sum([x async for x in numbers()])
result = asyncio.run(main())
""")
    main = body.find("main")
    assert main.outcome == "→ 4"
    first, second = body.all("child")
    assert {first.outcome, second.outcome} == {"→ 1", "→ 2"}
    assert first.names() == second.names() == ["g"]
    assert body.find("numbers").names() == ["g", "g"]
    if knows_creators(backend):
        assert sorted(main.names()) == ["child", "child", "numbers"]


def test_a_thread_belongs_to_who_started_it(run: Run) -> None:
    body = run("""
import threading
def inner(n): return n
def work(n): return inner(n)
def start():
    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
start()
""")
    start = body.find("start")
    assert start.names() == ["work"] * 3
    assert all(call.names() == ["inner"] for call in start.calls)


def test_exceptions_are_told_where_they_came_up_and_passed_through(run: Run) -> None:
    body = run("""
class Broken(Exception):
    def __init__(self, x):
        super().__init__(x)
        self.x = x
def deep(x):
    raise Broken(x)
def middle(x):
    try:
        return deep(x)
    finally:
        y = 1
def top(x):
    try:
        middle(x)
    except Broken as e:
        return e.x
top([5])
""")
    assert body.find("deep").outcome.startswith("raised Broken(")
    assert body.find("deep").raised_at == 7
    assert body.find("middle").outcome.startswith("raised Broken(")
    assert body.find("top").outcome == "→ <same as #1>"  # what it was given


def test_what_a_call_changed_is_told(run: Run) -> None:
    body = run("""
STATE = {'n': 0}
COUNT = 0
class Box:
    def __init__(self, x): self.x = x
    def grow(self): self.x += 1
def append(xs, ys): xs.append(1)
def count():
    global COUNT
    COUNT += 1
    STATE['n'] = COUNT
append([0], [0]); Box(1).grow(); count()
""")
    assert body.find("append").effects == {"xs[1]": ("nothing", "1")}
    assert body.find("Box.grow").effects == {"self.x": ("1", "2")}
    assert body.find("Box.__init__").effects == {"self": ("Box()", "Box(x=1)")}
    effects = body.find("count").effects
    assert effects["COUNT"] == ("0", "1")
    assert effects["STATE['n']"] == ("0", "1")
    assert body.find("count").reads["COUNT"] == "0"


def test_closures_are_read_and_bound_anew(run: Run) -> None:
    body = run("""
def outer():
    n = 0
    seen = []
    def inc(by):
        nonlocal n
        n += by
        seen.append(n)
        return n
    return inc
inc = outer(); inc(2); inc(3)
""")
    first, second = body.all("outer.<locals>.inc")
    assert first.reads == {"n": "0", "seen": "[]"}
    assert second.reads == {"n": "2", "seen": "[2]"}
    assert first.effects["n"] == ("0", "2")
    assert first.effects["seen[0]"] == ("nothing", "2")


def test_a_parameter_that_is_bound_anew_is_no_effect_but_may_hide_one(run: Run) -> None:
    body = run("""
def number(n): n += 1; return n
def hides(xs):
    xs.append(1)
    xs = None
number(1); data = [0]; hides(data)
""")
    assert body.find("number").effects == {}
    (effect,) = body.find("hides").effects.values()
    assert "not known" in effect[1]


def test_what_a_caller_holds_is_compared_though_its_name_might_be_bound_anew(run: Run) -> None:
    body = run("""
def add(xs, again=False):
    xs.append(1)
    if again:
        xs = []
def caller():
    data = [0]
    add(data)
    return data
caller()
""")
    assert body.find("add").effects == {"xs[1]": ("nothing", "1")}


@pytest.mark.skipif(sys.version_info < (3, 14), reason="templates are new in 3.14")
def test_templates_are_told_with_all_that_they_hold(run: Run) -> None:
    body = run("""
def make(x): return t"a{x + 1!r:>4}"
make(1)
""")
    assert body.find("make").outcome == (
        "→ Template(strings=('a', ''), interpolations=(Interpolation(value=2, "
        "expression='x + 1', conversion='r', format_spec='>4'),))"
    )


@pytest.mark.skipif(sys.version_info < (3, 14), reason="up to 3.13 annotations do not wait")
def test_annotations_that_are_asked_for_are_no_calls_but_what_they_call_is(run: Run) -> None:
    body = run("""
def kind(): return int
def f(x: kind()): pass
def asks(): return f.__annotations__
asks()
""")
    assert body.names() == ["asks"]
    assert body.find("asks").names() == ["kind"]


def test_the_same_object_is_told_as_such(run: Run) -> None:
    body = run("""
def same(a, b): return a
x = [1]
same(x, x); same([1], [1])
ring = []
ring.append(ring)
def hold(r): pass
hold(ring)
""")
    first, second = body.all("same")
    assert "same as" in first.arguments["b"]
    assert "same as" not in second.arguments["b"]
    assert "same as" in first.outcome and "same as" in second.outcome
    assert "same as" in body.find("hold").arguments["r"]


def test_values_beyond_the_bound_are_left_out_with_their_number(run: Run) -> None:
    body = run("""
def f(x): pass
f(list(range(1000))); f('x' * 5000); f(10 ** 2000)
""")
    numbers, text, large = (call.arguments["x"] for call in body.all("f"))
    assert "968 more" in numbers
    assert len(text) < 500
    assert "…" in text
    assert len(large) < 1100


def test_detail_ids_records_no_values_and_shallow_no_changes(run: Run) -> None:
    source = "def f(x):\n    x.append(1)\n    return x\nf([0])"
    bare = run(source, RecordOptions(detail=Detail.IDS)).find("f")
    assert bare.arguments.get("x", "?") == "?" or bare.arguments == {}
    shallow = run(source, RecordOptions(detail=Detail.SHALLOW)).find("f")
    assert shallow.arguments == {"x": "[0]"}
    assert shallow.effects == {}


def test_shallow_records_nothing_that_a_call_reads_besides_its_arguments(run: Run) -> None:
    source = (
        "LIMIT = [9]\n"
        "def make(limit):\n"
        "    def f(x):\n        return x, limit, LIMIT\n"
        "    return f\n"
        "make([8])([0])"
    )
    full, shallow = (
        run(source, RecordOptions(detail=detail)).find("make.<locals>.f")
        for detail in (Detail.FULL, Detail.SHALLOW)
    )
    assert full.reads == {"limit": "[8]", "LIMIT": "[9]"}
    assert shallow.reads == {}
    assert shallow.arguments == full.arguments == {"x": "[0]"}


FIB = "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(10)"


@pytest.mark.parametrize(
    "options",
    [RecordOptions(max_calls=20), RecordOptions(depth=4), RecordOptions(max_bytes=200)],
    ids=["calls", "depth", "bytes"],
)
def test_past_a_bound_calls_are_counted_exactly(
    run: Run, options: RecordOptions, backend: str
) -> None:
    whole = run(FIB)
    bounded = run(FIB, options)
    assert whole.weight == 178
    assert bounded.weight == 178
    if options.max_bytes is None or backend == "pure":  # the other one counts whole pages
        assert len(list(bounded.walk())) < 178


def test_exec_and_eval_in_user_code_are_user_code(run: Run) -> None:
    body = run("""
def g(): return 1
def f():
    exec('def made(): return g()\\nmade()', globals())
f()
""")
    assert [call.name for call in body.walk() if call.name == "g"]


def test_what_was_not_user_code_in_one_recording_can_be_in_the_next(
    tmp_path: Path, backend: str
) -> None:
    def calls(*added: str) -> int:
        settings = Settings(
            str(tmp_path / "run.whence"), rules=UserCodeRules(added=added), backend=backend
        )
        recording = Recording(settings, ["test"])
        recording.start()
        textwrap.dedent("  a")
        return recording.finish(0, None).calls

    assert calls() == 0
    assert calls("textwrap") == 1


def test_an_ordered_dict_is_told_in_its_own_order(run: Run) -> None:
    body = run("""
from collections import OrderedDict, defaultdict
class Cache(OrderedDict):
    def __iter__(self): return 1 / 0
def touch(d):
    d.move_to_end("a")
def look(d):
    pass
touch(OrderedDict(a=1, b=2))
touch(Cache(a=1, b=2, c=3))
look(defaultdict(list, a=[1]))
""")
    plain, cache = (call for call in body.calls if call.name == "touch")
    assert "{'a': 1, 'b': 2}" in plain.arguments["d"]
    assert "{'b': 2, 'a': 1}" in plain.effects["d"][1]
    assert "{'b': 2, 'c': 3, 'a': 1}" in cache.effects["d"][1]
    assert "more" not in plain.effects["d"][1] + cache.effects["d"][1]
    looked = body.find("look").arguments["d"]
    assert "default_factory=<class list>" in looked
    assert "more" not in looked


def test_the_order_of_an_ordered_dict_is_known_without_asking_its_keys(
    run: Run, backend: str
) -> None:
    body = run("""
from collections import OrderedDict
class Key:
    asked = 0
    def __hash__(self): Key.asked += 1; return 1
    def __eq__(self, other): Key.asked += 1; return self is other
def look(d):
    pass
d = OrderedDict(((Key(), 1), (Key(), 2), ("x", 3)))
d.move_to_end(next(iter(d)))
Key.asked = 0
look(d)
asked = Key.asked
def tell(n): pass
tell(asked)
""")
    assert body.find("tell").arguments["n"] == "0"
    told = body.find("look").arguments["d"]
    if backend == "native":
        assert "Key(): 2, 'x': 3, " in told
        assert "more" not in told
    else:
        assert "…1 more" in told


def test_an_ordered_dict_that_was_changed_as_a_dict_is_told_as_far_as_it_is_known(
    run: Run,
) -> None:
    body = run("""
from collections import OrderedDict
def look(d): pass
d = OrderedDict(a=1, b=2)
dict.__setitem__(d, "c", 3)
look(d)
e = OrderedDict(a=1, b=2)
dict.__delitem__(e, "a")
look(e)
""")
    assert [call.name for call in body.calls if call.name == "look"] == ["look", "look"]


def test_an_exception_is_placed_where_it_came_up_and_not_where_it_was_passed_on(run: Run) -> None:
    body = run("""
def f(): raise ValueError
def other_handler():
    try:
        f()
    except KeyError:
        pass
def finally_after():
    try:
        f()
    finally:
        len("x")
def with_block():
    with open("/dev/null"):
        f()
def raised_again():
    try:
        f()
    except ValueError:
        len("x")
        raise
def raised_anew():
    try:
        f()
    except ValueError as error:
        raise error from None
def generator():
    try:
        yield f()
    finally:
        pass
for each in (other_handler, finally_after, with_block, raised_again, raised_anew, generator):
    try: list(each())
    except ValueError: pass
""")
    assert {call.name: call.raised_at for call in body.calls} == {
        "other_handler": 5, "finally_after": 10, "with_block": 15, "raised_again": 18,
        "raised_anew": 26, "generator": 29,
    }  # fmt: skip


def test_a_summarized_object_can_change_whatever_its_module(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Summaries()
    registry.register(decimal.Context, lambda value: (f"Context(prec={value.prec})", True))
    monkeypatch.setattr(recording_module, "SUMMARIES", registry)
    body = run("""
import datetime, decimal
def widen(context): context.prec = 50
def keep(number, day): return None
widen(decimal.Context(prec=5))
keep(decimal.Decimal("1.5"), datetime.date(2020, 1, 2))
""")
    before, after = body.find("widen").effects["context"]
    assert ("prec=5)" in before, "prec=50)" in after) == (True, True)
    assert body.find("keep").effects == {}


# Instances of what the standard library offers without an argument, or with a simple one; each is
# looked at, changed by whatever method changes it, and looked at again.
_EVERY_TYPE = """
import array, collections, contextlib, datetime, decimal, enum, fractions, functools, io, ipaddress
import itertools, operator, pathlib, queue, random, re, string, struct, threading, types, uuid
import weakref
MODULES = (array, collections, contextlib, datetime, decimal, enum, fractions, functools, io,
           ipaddress, itertools, operator, pathlib, queue, random, re, string, struct, threading,
           types, uuid, weakref)
CHANGES = {"append": (1,), "add": (1,), "update": ({"k": 1},), "put": (1,), "write": ("x",),
           "clear": (), "set": (), "pop": (), "popitem": (), "release": ()}
GIVEN = ((), ("1",), (1,), ([1, 2],), ({"a": 1},), (2020, 1, 2), ("b", b"x"))
def look(value): return None
def change(value, name):
    try: getattr(value, name)(*CHANGES[name])
    except Exception: pass
def made(kind):
    for arguments in GIVEN:
        try: return kind(*arguments)
        except Exception: continue
kinds = {vars(module)[name] for module in MODULES for name in sorted(vars(module))
         if isinstance(vars(module)[name], type) and not name.startswith("_")}
for kind in sorted(kinds, key=lambda kind: (kind.__module__, kind.__qualname__)):
    if issubclass(kind, (threading.Thread, random.Random, io.RawIOBase, io.TextIOWrapper)): continue
    value = made(kind)
    look(value)
    for name in CHANGES:
        if hasattr(value, name): change(value, name)
"""


@pytest.mark.skipif(len(BACKENDS) < 2, reason="there is one recorder only")
def test_every_type_of_the_library_looks_and_changes_alike_for_every_backend(
    tmp_path: Path,
) -> None:
    addresses = re.compile(r"0x[0-9a-f]+")
    texts = [
        addresses.sub("0x", record(_EVERY_TYPE, tmp_path, backend).text()).splitlines()
        for backend in BACKENDS
    ]
    assert len(texts[0]) > 100
    assert [pair for pair in zip(*texts, strict=True) if pair[0] != pair[1]] == []
