"""What goes through code that is not rewritten is not lost: objects of libraries hold it.

Each program gets a value from `source()`, leaves it with something whose insides cannot be seen
(a queue, a file, a database, a cache, another thread), or lets such a thing call it, and takes it
out again. The call of `source` must be in the widest slice of what comes out.
"""

from __future__ import annotations

import re

import pytest
from marked_runs import mark

from whence.langs.python.provenance.runtime.function_traits import traits_of

HEAD = """
import argparse, array, asyncio, bisect, collections, concurrent.futures, configparser, contextlib
import contextvars, copy, csv, dataclasses, datetime, decimal, enum, fractions, functools, heapq, io
import itertools, json, logging, operator, os, pathlib, pickle, queue, random, re, sqlite3, string
import struct, tempfile, textwrap, threading, types, urllib.parse, weakref
import numpy as np
import xml.etree.ElementTree as ET
def source(): return 41
"""
PROGRAMS = {
    "lru_cache": """
@functools.lru_cache
def f(x): return source() + x
def main():
    a = f(1); b = f(1)
    return b
""",
    "cache method": """
class C:
    @functools.cache
    def f(self, x): return source() + x
def main():
    c = C(); c.f(1)
    return c.f(1)
""",
    "cached_property": """
class C:
    @functools.cached_property
    def p(self): return source()
def main():
    c = C(); c.p
    return c.p
""",
    "property": """
class C:
    @property
    def p(self): return source()
def main():
    c = C()
    return c.p
""",
    "queue": """
def main():
    q = queue.Queue(); q.put(source())
    return q.get()
""",
    "simplequeue": """
def main():
    q = queue.SimpleQueue(); q.put(source())
    return q.get()
""",
    "priority": """
def main():
    q = queue.PriorityQueue(); q.put(source()); q.put(99)
    return q.get()
""",
    "deque": """
def main():
    q = collections.deque(); q.append(source()); q.rotate(1)
    return q.popleft()
""",
    "heapq": """
def main():
    q = []; heapq.heappush(q, source()); heapq.heappush(q, 99)
    return heapq.heappop(q)
""",
    "counter": """
def main():
    c = collections.Counter(); c.update([source(), 2])
    return c.most_common(1)
""",
    "counter value": """
def main():
    c = collections.Counter([source(), 2])
    return c[41]
""",
    "ordereddict": """
def main():
    c = collections.OrderedDict(); c[1] = source(); c.move_to_end(1)
    return c.popitem()
""",
    "defaultdict": """
def main():
    d = collections.defaultdict(source)
    return d[1]
""",
    "defaultdict2": """
def main():
    d = collections.defaultdict(source)
    d[1]
    return d.get(1)
""",
    "chainmap": """
def main():
    d = collections.ChainMap({}, {"a": source()})
    return d["a"]
""",
    "stringio": """
def main():
    s = io.StringIO(); s.write(str(source()))
    return s.getvalue()
""",
    "stringio print": """
def main():
    s = io.StringIO(); print(source(), file=s)
    return s.getvalue()
""",
    "bytesio": """
def main():
    s = io.BytesIO(); s.write(bytes([source()])); s.seek(0)
    return s.read()
""",
    "array": """
def main():
    a = array.array("i"); a.append(source())
    return a[0]
""",
    "bytearray": """
def main():
    a = bytearray(); a.append(source())
    return a[0]
""",
    "memoryview": """
def main():
    a = bytearray(3); m = memoryview(a); m[0] = source()
    return a[0]
""",
    "tee": """
def main():
    a, b = itertools.tee(iter([source()]))
    next(a)
    return next(b)
""",
    "cycle": """
def main():
    a = itertools.cycle([source(), 2])
    next(a); next(a)
    return next(a)
""",
    "copy": """
def main():
    a = copy.copy([source()])
    return a[0]
""",
    "deepcopy": """
def main():
    a = copy.deepcopy({"a": [source()]})
    return a["a"][0]
""",
    "json": """
def main():
    return json.loads(json.dumps({"a": source()}))["a"]
""",
    "pickle": """
def main():
    return pickle.loads(pickle.dumps({"a": source()}))["a"]
""",
    "re.sub": """
def main():
    return re.sub("x", lambda m: str(source()), "axb")
""",
    "template": """
def main():
    return string.Template("$a").substitute(a=source())
""",
    "struct": """
def main():
    return struct.unpack("i", struct.pack("i", source()))[0]
""",
    "date": """
def main():
    return (datetime.date(2024, 1, 1) + datetime.timedelta(days=source())).isoformat()
""",
    "replace": """
@dataclasses.dataclass
class P:
    x: int
    y: int = 2
def main():
    return dataclasses.replace(P(1), y=source()).y
""",
    "asdict": """
@dataclasses.dataclass
class P:
    x: int
def main():
    return dataclasses.asdict(P(source()))["x"]
""",
    "nt replace": """
P = collections.namedtuple("P", "x y")
def main():
    return P(1, 2)._replace(y=source()).y
""",
    "contextvar": """
V = contextvars.ContextVar("V")
def main():
    V.set(source())
    return V.get()
""",
    "contextmanager": """
@contextlib.contextmanager
def cm():
    yield source()
def main():
    with cm() as x: return x
""",
    "exitstack": """
@contextlib.contextmanager
def cm():
    yield source()
def main():
    with contextlib.ExitStack() as s: return s.enter_context(cm())
""",
    "thread": """
def main():
    out = []
    t = threading.Thread(target=lambda: out.append(source())); t.start(); t.join()
    return out[0]
""",
    "future": """
def main():
    with concurrent.futures.ThreadPoolExecutor(1) as e: return e.submit(source).result()
""",
    "pool map": """
def one(x): return source() + x
def main():
    with concurrent.futures.ThreadPoolExecutor(1) as e: return list(e.map(one, [1]))[0]
""",
    "asyncio task": """
async def one(): return source()
async def amain():
    t = asyncio.create_task(one()); await asyncio.sleep(0)
    return await t
def main(): return asyncio.run(amain())
""",
    "gather": """
async def one(): return source()
async def amain(): return (await asyncio.gather(one(), one()))[0]
def main(): return asyncio.run(amain())
""",
    "asyncio queue": """
async def amain():
    q = asyncio.Queue(); await q.put(source())
    return await q.get()
def main(): return asyncio.run(amain())
""",
    "asyncio future": """
async def amain():
    f = asyncio.get_running_loop().create_future(); f.set_result(source())
    return await f
def main(): return asyncio.run(amain())
""",
    "csv": """
def main():
    s = io.StringIO(); csv.writer(s).writerow([source(), 2])
    return s.getvalue()
""",
    "csv reader": """
def main():
    return list(csv.reader([f"{source()},2"]))[0][0]
""",
    "sqlite": """
def main():
    c = sqlite3.connect(":memory:"); c.execute("create table t(x)")
    c.execute("insert into t values (?)", (source(),))
    found = c.execute("select x from t").fetchone()[0]
    c.close()
    return found
""",
    "tempfile": """
def main():
    with tempfile.TemporaryFile("w+") as f:
        f.write(str(source())); f.seek(0)
        return f.read()
""",
    "path": """
def main():
    with tempfile.TemporaryDirectory() as d:
        p = pathlib.Path(d) / "a"; p.write_text(str(source()))
        return p.read_text()
""",
    "environ": """
def main():
    os.environ["WX"] = str(source())
    return os.environ.pop("WX")
""",
    "simplenamespace": """
def main():
    n = types.SimpleNamespace(a=source()); n.b = n.a
    return n.b
""",
    "partial": """
def add(a, b): return a + b
def main(): return functools.partial(add, source())(2)
""",
    "reduce": """
def add(a, b): return a + b + source()
def main(): return functools.reduce(add, [1, 2, 3])
""",
    "singledispatch": """
@functools.singledispatch
def f(x): return source()
def main(): return f(1)
""",
    "attrgetter": """
class C: pass
def main():
    c = C(); c.x = source()
    return operator.attrgetter("x")(c)
""",
    "itemgetter": """
def main(): return operator.itemgetter(0)([source()])
""",
    "weakref": """
class C: pass
def main():
    c = C(); c.x = source(); r = weakref.ref(c)
    return r().x
""",
    "weakvaluedict": """
class C: pass
def main():
    c = C(); c.x = source(); d = weakref.WeakValueDictionary(); d[1] = c
    return d[1].x
""",
    "getattr": """
class C:
    def __getattr__(self, n): return source()
def main(): return C().zap
""",
    "descriptor": """
class D:
    def __get__(self, o, t): return o.__dict__["v"]
    def __set__(self, o, v): o.__dict__["v"] = v
class C: x = D()
def main():
    c = C(); c.x = source()
    return c.x
""",
    "slots": """
class C: __slots__ = ("x",)
def main():
    c = C(); c.x = source()
    return c.x
""",
    "setattr": """
class C: pass
def main():
    c = C(); setattr(c, "x", source())
    return vars(c)["x"]
""",
    "__dict__": """
class C: pass
def main():
    c = C(); c.__dict__.update(x=source())
    return c.x
""",
    "globals": """
def main():
    globals()["zz"] = source()
    return zz
""",
    "exec": """
def main():
    d = {"s": source()}; exec("y = s + 1", d)
    return d["y"]
""",
    "eval": """
def main():
    s = source()
    return eval("s + 1")
""",
    "exception": """
def main():
    try: raise ValueError(source())
    except ValueError as e: return e.args[0]
""",
    "exc attr": """
class E(Exception): pass
def thrower():
    e = E(); e.code = source(); raise e
def main():
    try: thrower()
    except E as e: return e.code
""",
    "generator send": """
def g():
    x = yield
    yield x
def main():
    i = g(); next(i)
    return i.send(source())
""",
    "throw": """
def g():
    try: yield
    except ValueError as e: yield e.args[0]
def main():
    i = g(); next(i)
    return i.throw(ValueError(source()))
""",
    "closure": """
def main():
    x = 0
    def inc():
        nonlocal x
        x = source()
    inc()
    return x
""",
    "default mut": """
def f(a, acc=[]):
    acc.append(a)
    return acc
def main():
    f(source()); return f(2)[0]
""",
    "class attr": """
class C: n = 0
def main():
    C.n = source()
    return C().n
""",
    "type()": """
def main():
    K = type("K", (), {"v": source()})
    return K.v
""",
    "metaclass": """
class M(type):
    def __call__(cls, *a):
        o = super().__call__(*a); o.extra = source(); return o
class C(metaclass=M): pass
def main(): return C().extra
""",
    "init_subclass": """
class B:
    def __init_subclass__(cls): cls.tag = source()
class C(B): pass
def main(): return C.tag
""",
    "enum": """
class E(enum.Enum):
    A = 41
def main(): return E(source()).value
""",
    "sort inplace": """
def main():
    xs = [3, source(), 1]; xs.sort(key=lambda x: -x)
    return xs[0]
""",
    "bisect": """
def main():
    xs = [1, 99]; bisect.insort(xs, source())
    return xs[1]
""",
    "random.shuffle": """
def main():
    xs = [source()]; random.shuffle(xs)
    return xs[0]
""",
    "textwrap": """
def main(): return textwrap.fill("a" * source())
""",
    "logging": """
def main():
    s = io.StringIO(); h = logging.StreamHandler(s)
    l = logging.Logger("zz"); l.addHandler(h)
    l.error("%d", source())
    return s.getvalue()
""",
    "atexit dict": """
REG = {}
def register(f):
    REG[f.__name__] = f
    return f
@register
def h(): return source()
def main(): return REG["h"]()
""",
    "matchobj": r"""
def main():
    m = re.match(r"(\d+)", str(source()))
    return m.group(1)
""",
    "decimal": """
def main(): return decimal.Decimal(source()) + 1
""",
    "fractions": """
def main(): return fractions.Fraction(source(), 2) + 1
""",
    "urlparse": """
def main(): return urllib.parse.urlparse(f"http://a/{source()}").path
""",
    "argparse": """
def main():
    p = argparse.ArgumentParser(); p.add_argument("--n", type=lambda t: source())
    return p.parse_args(["--n", "3"]).n
""",
    "configparser": """
def main():
    c = configparser.ConfigParser(); c["a"] = {"b": str(source())}
    return c["a"]["b"]
""",
    "xml": """
def main():
    r = ET.Element("a"); r.set("x", str(source()))
    return ET.tostring(r)
""",
    "shelve-like userdict": """
class D(collections.UserDict): pass
def main():
    d = D(); d["a"] = source()
    return d["a"]
""",
    "userlist": """
class D(collections.UserList): pass
def main():
    d = D(); d.append(source())
    return d[0]
""",
    "list subclass": """
class D(list):
    def append(self, x): super().append(x + source())
def main():
    d = D(); d.append(1)
    return d[0]
""",
    "dict subclass missing": """
class D(dict):
    def __missing__(self, k): return source()
def main(): return D()[1]
""",
    "str subclass": """
class S(str):
    def __add__(self, o): return str(source())
def main(): return S("a") + "b"
""",
    "__format__": """
class S:
    def __format__(self, f): return str(source())
def main(): return f"{S()}"
""",
    "__str__ join": """
class S:
    def __str__(self): return str(source())
def main(): return " ".join(map(str, [S()]))
""",
    "__eq__ in": """
class S:
    def __eq__(self, o): return source() > 0
    def __hash__(self): return 1
def main(): return 1 in [S()]
""",
    "__hash__ dict": """
class S:
    def __eq__(self, o): return source() > 0
    def __hash__(self): return 1
def main():
    d = {S(): "a"}
    return d.get(S())
""",
    "__lt__ sort": """
class S:
    def __init__(self, n): self.n = n
    def __lt__(self, o): return source() > self.n + o.n
def main(): return sorted([S(1), S(2)])[0].n
""",
    "__bool__": """
class S:
    def __bool__(self): return source() > 0
def main():
    if S(): return 1
    return 2
""",
    "__len__ bool": """
class S:
    def __len__(self): return source()
def main(): return 1 if S() else 2
""",
    "__contains__": """
class S:
    def __contains__(self, x): return source() > 0
def main(): return 1 in S()
""",
    "__index__": """
class S:
    def __index__(self): return source() - 41
def main(): return [7, 8][S()]
""",
    "__getitem__ iter": """
class S:
    def __getitem__(self, i):
        if i > 1: raise IndexError
        return source()
def main(): return list(S())
""",
    "__iadd__": """
class S:
    v = 0
    def __iadd__(self, o): self.v = source(); return self
def main():
    s = S(); s += 1
    return s.v
""",
    "__enter__": """
class S:
    def __enter__(self): return source()
    def __exit__(self, *a): pass
def main():
    with S() as x: return x
""",
    "__exit__ suppress": """
class S:
    def __enter__(self): return self
    def __exit__(self, *a): return source() > 0
def main():
    with S(): raise ValueError
    return 1
""",
    "match": """
class P:
    __match_args__ = ("x",)
    def __init__(self, x): self.x = x
def main():
    match P(source()):
        case P(x): return x
""",
    "walrus": """
def main():
    if (y := source()) > 3: return y
""",
    "del": """
def main():
    xs = [1, 2, 3]; del xs[source() - 41]
    return xs[0]
""",
    "slice assign": """
def main():
    xs = [1, 2, 3]; xs[source() - 40:] = []
    return len(xs)
""",
    "setdefault": """
def main():
    d = {}; d.setdefault("a", []).append(source())
    return d["a"][0]
""",
    "groupby": """
def main():
    return [(k, list(v)) for k, v in itertools.groupby([1, 2], key=lambda x: source())]
""",
    "accumulate": """
def main():
    return list(itertools.accumulate([1, 2], lambda a, b: source()))[1]
""",
    "zip_longest": """
def main():
    return list(itertools.zip_longest([source()], [1, 2]))[0][0]
""",
    "product": """
def main():
    return list(itertools.product([source()], [1, 2]))[0][0]
""",
    "batched slice": """
def main():
    return list(itertools.islice([1, source(), 3], 1, 2))[0]
""",
    "compress": """
def main():
    return list(itertools.compress("ab", [source() > 50, True]))[0]
""",
    "numpy": """
def main():
    a = np.zeros(3); a[1] = source()
    return float(a.sum())
""",
    "numpy2": """
def main():
    a = np.array([1, source()])
    return int((a * 2)[1])
""",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_left_with_code_out_of_sight_is_found_again(name: str) -> None:
    marked = mark(f"{HEAD}{PROGRAMS[name]}main()\n", "main", "")
    assert "source" in marked.calls(3)


def test_methods_that_know_their_class_have_the_traits_of_its_module() -> None:
    assert traits_of(re.compile("a").match) == traits_of("a".find)
