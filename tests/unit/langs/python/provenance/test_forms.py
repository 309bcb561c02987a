"""No call outside the widest slice of a part can change it: forms of code that once showed a hole.

Each program is run with one call after another gone wrong. A call that is not in the slice of a
part of what `main` returns must leave that part as it is, and that the program runs at all is what
it does without tags.
"""

from __future__ import annotations

import pytest
from perturbation import check_form
from same_calls import alone, with_tags

HEAD = """
import asyncio, collections, collections.abc, contextlib, contextvars, functools, io, itertools
import operator, string, sys, types, weakref
def source(): return 41
def flag(): return True
def nope(): return False
def name(): return "x"
def two(): return 2
def zero(): return 0
"""
PROGRAMS = {
    'getattr default after __getattr__': """
class C:
    def __getattr__(self, n):
        if flag(): raise AttributeError(n)
        return 7
def main(): return getattr(C(), "x", 5)
""",
    'hasattr __getattr__': """
class C:
    def __getattr__(self, n):
        if flag(): raise AttributeError(n)
        return 7
def main(): return [1] if hasattr(C(), "x") else [2]
""",
    'hasattr property': """
class C:
    @property
    def p(self):
        if flag(): raise AttributeError
        return 1
def main(): return hasattr(C(), "p")
""",
    '__getattribute__': """
class C:
    def __init__(self): self.v = 3
    def __getattribute__(self, n):
        if n == "v" and flag(): return source()
        return object.__getattribute__(self, n)
def main(): return C().v
""",
    'del attr class fallback': """
class C: v = source()
def drop(c):
    if flag(): del c.v
def main():
    c = C(); c.v = 2; drop(c)
    return c.v
""",
    '__hash__ set dedupe': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main(): return len({K(1), K(2)})
""",
    'set add dedupe': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    s = set()
    s.add(K(1)); s.add(K(2))
    return len(s)
""",
    'dict key dedupe': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    d = {}
    d[K(1)] = 1; d[K(2)] = 2
    return list(d.values())
""",
    'dict display dedupe': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    d = {K(1): 1, K(2): 2}
    return list(d.values())
""",
    'dict comp dedupe': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    d = {K(x): x for x in [1, 2]}
    return list(d.values())
""",
    'set comp dedupe': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    return len({K(x) for x in [1, 2]})
""",
    'dict() dedupe': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    d = dict([(K(1), 1), (K(2), 2)])
    return [len(d), list(d.values())]
""",
    'dict update dedupe': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    d = {K(1): 1}
    d.update({K(2): 2})
    return [len(d), list(d.values())]
""",
    'dict union dedupe': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    d = {K(1): 1} | {K(2): 2}
    return [len(d), list(d.values())]
""",
    'set ops eq': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    a, b = {K(1)}, {K(2)}
    return [
        len(a & b), len(a | b), len(a - b), len(a ^ b), a <= b, a.isdisjoint(b), len(a.union(b)),
        len(a.intersection(b)),
    ]
""",
    'set -= eq': """
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return hash_of(self.v)
    def __eq__(self, o): return same(self, o)
def hash_of(v): return 1
def same(a, b): return True
def main():
    a, b = {K(1)}, {K(2)}
    a -= b
    c = {K(3)}; c.discard(K(4))
    d = {K(5)}; d.update([K(6)])
    return [len(a), len(c), len(d)]
""",
    'redirect_stdout': """
def main():
    s = io.StringIO()
    with contextlib.redirect_stdout(s): print(source())
    return s.getvalue()
""",
    'descriptor class state': """
class D:
    def __set_name__(self, owner, name): self.name = prefix() + name
    def __get__(self, o, t=None): return o.__dict__.get(self.name, 0)
    def __set__(self, o, v): o.__dict__[self.name] = v + two()
def prefix(): return "_"
class C: x = D()
def main():
    c = C(); c.x = source()
    return [c.x, c]
""",
    'metaclass __prepare__': """
class M(type):
    @classmethod
    def __prepare__(m, n, b): return {"v": source()}
def main():
    class C(metaclass=M): w = v + 1
    return C.w
""",
    'metaclass __instancecheck__': """
class M(type):
    def __instancecheck__(cls, o): return flag()
    def __subclasscheck__(cls, o): return nope()
class C(metaclass=M): pass
def main():
    r = 0
    match 5:
        case C(): r = 1
    return [isinstance(1, C), issubclass(int, C), r]
""",
    'ChainMap': """
def main():
    a, b = {"x": 1}, {"y": source()}
    c = collections.ChainMap(a, b)
    c["y"] = two()
    d = c.new_child({"z": source()})
    return [c["y"], b["y"], d["z"], a["y"], c.parents["y"], list(c.items())]
""",
    'defaultdict list': """
def group(xs):
    d = collections.defaultdict(list)
    for x in xs: d[keyed(x)].append(x)
    return d
def keyed(x): return x % 2
def main(): return dict(group([1, 2, 3]))
""",
    'ordered dict': """
def main():
    d = collections.OrderedDict(a=1, b=2)
    d.move_to_end("a", last=flag())
    return [list(d), d.popitem(last=flag())]
""",
    'abc Mapping': """
class M(collections.abc.Mapping):
    def __init__(self): self.d = {"a": source()}
    def __getitem__(self, k): return self.d[k] + two()
    def __iter__(self): return iter(self.d)
    def __len__(self): return len(self.d)
def main():
    m = M()
    return [
        m.get("a"), m.get("b", 1), dict(m), list(m.items()), "a" in m, {**m}, m == {"a": 43},
        list(m.values()),
    ]
""",
    'exec eval': """
G = 5
def main():
    ns = {}
    exec("def f(): return 1 + " + str(source()), ns)
    x = two()
    return [ns["f"](), eval("x + G"), eval("x + y", {}, {"x": 1, "y": source()})]
""",
    'vars setattr': """
class C: pass
def main():
    c = C()
    vars(c)["a"] = source()
    setattr(c, name(), two())
    d = vars(c)
    d["b"] = 3
    return [c.a, c.x, c.b, dict(vars(c))]
""",
    'class attr inherited': """
class A: v = 1
class B(A): pass
def seta(): A.v = source()
def setb():
    if nope(): B.v = 9
def main():
    seta(); setb()
    return B().v
""",
    'match class': """
class P:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
class Q:
    @property
    def v(self): return two()
def main():
    r = []
    match P(source(), two()):
        case P(1, _): r.append("one")
        case P(x, y) if flag(): r += [x, y]
        case _: r.append("none")
    match Q():
        case Q(v=2): r.append("q")
        case _: r.append("w")
    return r
""",
    'match eq': """
class K:
    def __eq__(self, o): return flag()
class N: K = K()
def main():
    match 5:
        case N.K: return "same"
        case _: return "other"
""",
    'match own mapping': """
class M(collections.abc.Mapping):
    def __getitem__(self, k):
        if k == "a" and flag(): return source()
        raise KeyError(k)
    def __iter__(self): return iter(["a"])
    def __len__(self): return 1
def main():
    match M():
        case {"a": x}: return x
        case _: return 0
""",
    'match own sequence': """
class M(collections.abc.Sequence):
    def __getitem__(self, i):
        if i > 1: raise IndexError
        return source() + i
    def __len__(self): return two()
def main():
    match M():
        case [a, b]: return [a, b]
        case _: return 0
""",
    'asynccontextmanager': """
@contextlib.asynccontextmanager
async def cm():
    yield source()
async def amain():
    async with cm() as x: return x
def main(): return asyncio.run(amain())
""",
    'yield from iter list': """
def outer(): yield from iter([source(), two()])
def main(): return list(outer())
""",
    'yield from zip': """
def outer(): yield from zip([source()], [two()])
def main(): return list(outer())[0]
""",
    'yield from deque items': """
def outer():
    d = {"a": source()}
    yield from d.items()
    yield from collections.deque([two()])
    yield from "ab"
    yield from range(two())
def main(): return list(outer())
""",
    'yield from own': """
class I:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n > two(): raise StopIteration(source())
        return self.n
def outer():
    r = yield from I()
    yield r
def main(): return list(outer())
""",
    'yield from file-like': """
def outer():
    s = io.StringIO("a\\n" + str(source()))
    yield from s
def main(): return [x.strip() for x in outer()]
""",
    'iterator shared': """
def take(it): return next(it)
def skip(it):
    if flag(): next(it)
def main():
    it = iter([1, 2, 3, 4])
    skip(it); a = take(it); b = take(it)
    return [a, b]
""",
    'iterator shared zip': """
def skip(it):
    if flag(): next(it)
def main():
    it = iter([1, 2, 3, 4, 5])
    skip(it)
    return list(zip(it, it))
""",
    'iterator count shared': """
IDS = itertools.count(1)
def fresh(): return next(IDS)
def maybe():
    if flag(): fresh()
def main():
    maybe()
    return fresh()
""",
    'dict iterator': """
def skip(it):
    if flag(): next(it)
def main():
    it = iter({"a": 1, "b": 2}.values()); skip(it)
    return next(it)
""",
    'enumerate shared': """
def skip(it):
    if flag(): next(it)
def main():
    it = enumerate("abc"); skip(it)
    return next(it)
""",
    'map shared': """
def f(x): return x * 2
def skip(it):
    if flag(): next(it)
def main():
    it = map(f, [1, 2, 3]); skip(it)
    return next(it)
""",
    'except type dynamic': """
def kinds(): return (KeyError, ValueError)
def main():
    try: raise KeyError
    except kinds(): return 1
    except Exception: return 2
""",
    'default changed': """
def f(a=1): return a
def patch(): f.__defaults__ = (source(),)
def main():
    patch()
    return f()
""",
    'kwdefaults changed': """
def f(*, a=1): return a
def patch(): f.__kwdefaults__["a"] = source()
def main():
    patch()
    return f()
""",
    'code changed': """
def f(): return 1
def g(): return source()
def patch():
    if flag(): f.__code__ = g.__code__
def main():
    patch()
    return f()
""",
    'closure list': """
def main():
    xs = []
    def put(x):
        if keep(x): xs.append(x)
    for x in [1, 2, 3]: put(x)
    return xs
def keep(x): return x != 2
""",
    'global list': """
REG = []
def reg(x):
    if ok(x): REG.append(x)
def ok(x): return x > 1
def main():
    for x in (1, 2): reg(x)
    return REG
""",
    'module object': """
import types
mod = types.ModuleType("modx"); mod.v = 1
def setv(): mod.v = source()
def maybe():
    if nope(): mod.v = 3
def main():
    setv(); maybe()
    return mod.v
""",
    'sys.modules': """
def install():
    m = types.ModuleType("zzmod"); m.v = source(); sys.modules["zzmod"] = m
def main():
    install()
    try:
        import zzmod
        return zzmod.v
    finally: sys.modules.pop("zzmod", None)
""",
    'sys.modules from': """
def install():
    m = types.ModuleType("zzmod"); m.v = source(); sys.modules["zzmod"] = m
def main():
    install()
    try:
        from zzmod import v
        return v
    finally: sys.modules.pop("zzmod", None)
""",
    'foreign module attribute': """
def patch():
    if flag(): string.zzz = source()
def main():
    patch()
    return string.zzz
""",
    'foreign module lacks attribute': """
def patch():
    if nope(): string.zzy = source()
def main():
    patch()
    return getattr(string, "zzy", 1)
""",
    'alias via partial': """
def main():
    xs = []
    run(functools.partial(xs.append, source()))
    return xs
def run(f):
    if flag(): f()
""",
    'alias via weakref': """
class C: v = 0
def touch(r):
    if nope(): r().v = 3
def main():
    c = C()
    touch(weakref.ref(c))
    return c.v
""",
    'alias via proxy': """
class C: v = 0
def touch(r):
    if nope(): r.v = 3
def main():
    c = C()
    touch(weakref.proxy(c))
    return c.v
""",
    'alias via frozenset key': """
class C:
    v = 0
def touch(d):
    for k in d:
        if nope(): k.v = 3
def main():
    c = C()
    touch({c: 1}); touch({c}); touch(frozenset([c]))
    return c.v
""",
    'alias via deque': """
class C: v = 0
def touch(d):
    if nope(): d[0].v = 3
def main():
    c = C(); d = collections.deque([c]); touch(d)
    return c.v
""",
    'alias via ChainMap': """
class C: v = 0
def touch(d):
    if nope(): d["a"].v = 3
def main():
    c = C(); touch(collections.ChainMap({"a": c}))
    return c.v
""",
    'alias via SimpleNamespace': """
class C: v = 0
def touch(d):
    if nope(): d.c.v = 3
def main():
    c = C(); touch(types.SimpleNamespace(c=c))
    return c.v
""",
    'alias via contextvar': """
V = contextvars.ContextVar("V")
def touch():
    if nope(): V.get().append(3)
def main():
    xs = []; V.set(xs); touch()
    return xs
""",
    'alias via module attr': """
def touch():
    if nope(): string.zzx.append(3)
def main():
    xs = []; string.zzx = xs; touch()
    return xs
""",
    'alias via exception': """
class C: v = 0
def touch(e):
    if nope(): e.args[0].v = 3
def main():
    c = C()
    try: raise KeyError(c)
    except KeyError as e: touch(e)
    return c.v
""",
    'not in own iter': """
class I:
    def __iter__(self): return iter([source(), two()])
def main():
    return [
        2 not in I(), 41 in I(), list(I()), [*I()], sum(I()), sorted(I()), tuple(I()),
        dict.fromkeys(I()),
    ]
""",
    'stdout print elsewhere': """
def say():
    if flag(): print("a", source())
def main():
    s = io.StringIO(); old = sys.stdout; sys.stdout = s
    try: say()
    finally: sys.stdout = old
    return s.getvalue()
""",
    'finalizer called': """
class O: pass
def main():
    xs = []; o = O()
    weakref.finalize(o, xs.append, source())()
    return xs
""",
    'sched timer': """
import sched
def main():
    out = []
    s = sched.scheduler(lambda: zero(), lambda d: None)
    s.enter(0, 1, out.append, (source(),)); s.run()
    return out
""",
    'etree': """
import xml.etree.ElementTree as ET
def main():
    r = ET.fromstring("<a><b x='1'/></a>")
    mark(r); return [r[0].get("x"), ET.tostring(r), [e.tag for e in r.iter()]]
def mark(r):
    if flag(): r[0].set("x", str(source()))
""",
    'bucket by key': """
def keyed(x): return x % 2
def main():
    b = {0: [], 1: []}
    for x in [1, 2, 3]: b[keyed(x)].append(x)
    return b
""",
    'bucket list by index': """
def keyed(x): return x % 2
def main():
    b = [[], []]
    for x in [1, 2, 3]: put(b[keyed(x)], x)
    return b
def put(xs, x): xs.append(x)
""",
    'bucket via method': """
class B:
    def __init__(self): self.n = 0
    def add(self, x): self.n += x
def keyed(x): return x % 2
def main():
    b = [B(), B()]
    for x in [1, 2, 3]: b[keyed(x)].add(x)
    return [b[0].n, b[1].n]
""",
    'bucket via get': """
def keyed(x): return "ab"[x % 2]
def main():
    b = {"a": [], "b": [], "z": []}
    for x in [1, 2, 3]: b.get(keyed(x), b["z"]).append(x)
    return b
""",
    'object by if': """
class B:
    def __init__(self): self.n = 0
def pick(): return True
def main():
    a, b = B(), B()
    if pick(): c = a
    else: c = b
    c.n = source()
    return [a.n, b.n]
""",
    'object by if passed': """
class B:
    def __init__(self): self.n = 0
def pick(): return True
def fill(c): c.n = source()
def main():
    a, b = B(), B()
    if pick(): c = a
    else: c = b
    fill(c)
    return b.n
""",
    'object by ifexp': """
class B:
    def __init__(self): self.n = 0
def pick(): return True
def main():
    a, b = B(), B()
    (a if pick() else b).n = source()
    return b.n
""",
    'object by call': """
class B:
    def __init__(self): self.n = 0
def pick(a, b): return a if which() else b
def which(): return True
def main():
    a, b = B(), B()
    p = pick(a, b)
    b.n = 1
    p.n = source()
    return b.n
""",
    'object by call return if': """
class B:
    def __init__(self): self.n = 0
def pick(a, b):
    if which(): return a
    return b
def which(): return True
def main():
    a, b = B(), B()
    p = pick(a, b)
    b.n = 1
    p.n = source()
    return b.n
""",
    'object by max': """
class B:
    def __init__(self, k): self.k = k; self.n = 0
def weight(b): return b.k
def main():
    bs = [B(0), B(1)]
    max(bs, key=weight).n = source()
    return bs[0].n
""",
    'attribute by name': """
class B:
    def __init__(self): self.a = 1; self.b = 2
def which(): return "a"
def main():
    o = B(); setattr(o, which(), source())
    return [o.a, o.b]
""",
    'append skipped before': """
def put(xs):
    if nope(): xs.append(5)
def main():
    xs = []; put(xs); xs.append(1)
    return [xs[0], xs]
""",
    'dict set skipped before': """
def put(d):
    if nope(): d["z"] = 5
def main():
    d = {}; put(d); d["a"] = 1
    return [list(d), len(d), list(d.values()), [k for k in d], d]
""",
    'attr set skipped before': """
class C: pass
def put(c):
    if nope(): c.y = 5
def main():
    c = C(); put(c); c.x = 1
    return [c, hasattr(c, "y"), getattr(c, "y", 0), dict(vars(c))]
""",
    'set add skipped before': """
def put(d):
    if nope(): d.add(5)
def main():
    d = set(); put(d); d.add(1)
    return [len(d), 5 in d, sorted(d)]
""",
    'method patched': """
class C:
    def m(self): return 1
def patch(c):
    if nope(): c.m = lambda: 2
def main():
    c = C(); patch(c)
    return c.m()
""",
    'class method patched': """
class C:
    def m(self): return 1
def patch():
    if nope(): C.m = lambda self: 2
def main():
    c = C(); patch()
    return c.m()
""",
    'generator shared not skipped': """
def g():
    for x in [1, 2, 3]: yield x
def skip(it):
    if nope(): next(it)
def main():
    it = g(); skip(it)
    return [next(it), list(it)]
""",
    'iterator shared not skipped': """
def skip(it):
    if nope(): next(it)
def main():
    it = iter([1, 2, 3]); skip(it)
    out = []
    for x in it: out.append(x)
    return out
""",
    'iterator header loop': """
def header(it):
    for line in it:
        if end(line): break
def end(line): return line == "--"
def main():
    it = iter(["a", "--", "b", "c"])
    header(it)
    return list(it)
""",
    'iterator counted': """
def header(it):
    for line in it:
        if end(line): break
def end(line): return line == "--"
def main():
    it = iter(["a", "--", "b", "c"])
    header(it)
    n = 0
    for _ in it: n += 1
    return n
""",
    'iterator zip peek': """
def main():
    it = iter([1, 2, 3, 4]); peek(it)
    return [a + b for a, b in zip(it, it)]
def peek(it): next(it, None) if flag() else None
""",
    'genexp shared': """
def f(x): return x * 2
def skip(it):
    if flag(): next(it)
def main():
    it = (f(x) for x in [1, 2, 3]); skip(it)
    return next(it)
""",
    'recursion accumulators': """
def walk(t, acc):
    if isinstance(t, list):
        for x in t: walk(x, acc)
    elif ok(t): acc.append(t)
def ok(t): return t != 2
def main():
    acc = []; walk([1, [2, [3]]], acc)
    return acc
""",
    'dict views live': """
def touch(d):
    if nope(): d["b"] = 2
def main():
    d = {"a": 1}; v = d.values(); k = d.keys(); i = d.items()
    touch(d)
    return [list(v), list(k), list(i), len(v), "a" in k]
""",
    'discard absent': """
def key(): return 3
def main():
    s = {1, 20}; s.discard(key())
    t = {1, 20}; t.difference_update({key()})
    d = collections.deque([1, 20]); d.rotate(key() - 3)
    return [len(s), sorted(s), len(t), d[0]]
""",
    'update nothing': """
def more(): return []
def main():
    s = {1}; s.update(more())
    d = {"a": 1}; d.update(more())
    xs = [1]; xs.extend(more()); xs += more()
    c = collections.Counter("a"); c.update(more())
    q = collections.deque([1]); q.extend(more())
    return [len(s), len(d), len(xs), dict(c), len(q)]
""",
    'callback in own container': """
class I:
    def __iter__(self): return iter([source(), two()])
def outer(): yield from I()
def main():
    return [
        list(outer()), max(I()), set(I()) == {41, 2}, ",".join(map(str, I())), dict(enumerate(I())),
    ]
""",
    'class swapped': """
class A:
    def go(self): return 1
class B:
    def go(self): return 2
def swap(x):
    if flag(): x.__class__ = B
def main():
    x = A(); swap(x)
    return x.go()
""",
    'class not swapped': """
class A:
    def go(self): return 1
class B:
    def go(self): return 2
def swap(x):
    if nope(): x.__class__ = B
def main():
    x = A(); swap(x)
    return x.go()
""",
    'bases changed': """
class A:
    v = 1
class A2:
    v = 2
class B(A): pass
def swap():
    if flag(): B.__bases__ = (A2,)
def main():
    swap()
    return B().v
""",
    'set of elements that may be equal': """
def one(): return 1
def main():
    rows = [[one()], [2, one()]]
    return [sorted({x for row in rows for x in row}), len({x + 1 for x in rows[1]})]
""",
    'attr from slot default': """
class S:
    __slots__ = ("a", "b")
    def __init__(self): self.a = 1
def fill(s):
    if nope(): s.b = 2
def main():
    s = S(); fill(s)
    return [hasattr(s, "b"), getattr(s, "b", 0), s.a]
""",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_call_outside_the_widest_slice_changes_a_part(name: str) -> None:
    check_form(f"{HEAD}{PROGRAMS[name]}main()\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_form_makes_the_same_calls_with_tags(name: str) -> None:
    source = f"{HEAD}{PROGRAMS[name]}print(main())\n"
    expected, found = alone(source), with_tags(source)
    assert found.calls == expected.calls
    assert found.printed == expected.printed
