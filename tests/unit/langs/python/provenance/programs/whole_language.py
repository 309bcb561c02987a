"""Every form of statement and expression, with what it gives printed in the end."""
import asyncio, contextlib, functools, collections, dataclasses, enum, re, itertools, typing
out = []
def p(*a): out.append(repr(a))
G = 10
def glob():
    global G
    G += 1
    return G
p(glob(), G)
def defaults(a, b=2, *args, c=3, d, **kw): return a, b, args, c, d, kw
p(defaults(1, d=4), defaults(1, 2, 3, 4, d=5, e=6), defaults(*[1, 2], **{'d': 3}, z=1))
try: defaults(1, **{'d': 1}, **{'d': 2})
except TypeError as e: p(type(e))
def closures():
    x = 0
    def inc(by=1):
        nonlocal x
        x += by
        return x
    def get(): return x
    inc(); inc(5)
    return get(), [f() for f in [lambda: x, lambda y=x: y + 1]]
p(closures())
def comps(n):
    a = [i * j for i in range(n) if i % 2 for j in range(i) if j]
    b = {i: j for i, j in zip(range(n), 'abcdef')}
    c = {i % 3 for i in range(n)}
    d = sum(x for x in a)
    e = [y for x in range(n) if (y := x * 2) > 4]
    f = [[k for k in range(m)] for m in range(3)]
    g = [(u, v) for (u, *v) in [(1, 2, 3), (4,)]]
    h = list(x or y for x, y in [(0, 1), (2, 3)])
    i = [z for q in (a and [1] or [2]) for z in (q if q else 3, 4)]
    return a, b, c, d, e, y, f, g, h, i
p(comps(6))
def gen(n):
    try:
        for i in range(n):
            r = yield i
            if r: p('sent', r)
    except ValueError as e:
        p('thrown', e.args)
        yield 'caught'
    finally:
        p('closed')
    return 'end'
g = gen(5); p(next(g), g.send('x'), g.throw(ValueError('boo')), list(g))
def deleg(n):
    r = yield from gen(n)
    p('r', r)
    yield from [7, 8]
    yield from (k for k in 'ab')
p(list(deleg(2)))
g = gen(3); next(g); g.close()
class Meta(type):
    def __call__(cls, *a, **k):
        o = super().__call__(*a, **k); o.meta = 1; return o
class Base(metaclass=Meta):
    count = 0
    __slots__ = ('x', 'meta', '__dict__')
    def __new__(cls, *a, **k):
        cls.count += 1
        return super().__new__(cls)
    def __init__(self, x): self.x = x; self.__private = x + 1
    @property
    def double(self): return self.x * 2
    @double.setter
    def double(self, v): self.x = v // 2
    @classmethod
    def make(cls, *a): return cls(*a)
    @staticmethod
    def stat(a): return a + 1
    def priv(self): return self.__private
    def __eq__(self, o): return isinstance(o, Base) and self.x == o.x
    def __hash__(self): return hash(self.x)
    def __lt__(self, o): return self.x < o.x
    def __add__(self, o): return type(self)(self.x + o.x)
    def __iadd__(self, o): self.x += o.x; return self
    def __getitem__(self, k): return (self.x, k)
    def __contains__(self, k): return k == self.x
    def __len__(self): return self.x
    def __bool__(self): return self.x > 1
    def __repr__(self): return f'B({self.x!r})'
    def __call__(self, *a): return a
    def __iter__(self): return iter([self.x])
    def __getattr__(self, n):
        if n.startswith('dyn'): return n
        raise AttributeError(n)
class Derived(Base):
    def __init__(self, x, y=0):
        super().__init__(x)
        self.y = y
    def __repr__(self): return 'D' + super().__repr__()
a, b = Base(1), Derived(2, y=3)
p(a, b, a == b, a < b, a + b, a[1], a[1:2], 1 in a, len(b), bool(a), a(1, 2), [*a], a.dynx, b.priv(), Base.count, Base.make(4), Derived.stat(3))
a += b; p(a); a.double = 10; p(a.x, a.double)
try: a.nope
except AttributeError as e: p(str(e), e.name)
p({a: 1, b: 2}[a], sorted([b, a]), max([a, b]), a or b, a and b, not a, 1 if b else 2)
d = {}; d[a] = 1; d[Base(a.x)] = 2; p(d, len(d)); d.setdefault(Base(99), []).append(3); p(d); del d[Base(a.x)]; p(d)
def unpack():
    (a, b), *c, d = (1, 2), 3, 4, 5
    [x, y] = 'ab'
    q = r = [1]
    q[0], r = 5, 6
    return a, b, c, d, x, y, q, r
p(unpack())
for bad in ('a, b = 1, 2, 3', 'a, *b = []', 'a, b = 1', '[][1]', '{}["k"]', '1/0', 'int("x")', 'None.x', '"a" + 1', 'undefined_name', '[1] < 3', 'f(*3)', 'len()'):
    try: exec(bad)
    except Exception as e: p(bad, type(e).__name__)
def excs(k):
    try:
        try:
            if k == 0: raise ValueError('v')
            if k == 1: raise KeyError
            if k == 2: return 'ret'
            if k == 3: [][0]
        except ValueError as e:
            return str(e)
        except (KeyError, IndexError) as e:
            raise RuntimeError('re') from e
        else:
            p('else')
        finally:
            p('fin', k)
    except RuntimeError as e:
        return type(e.__cause__).__name__, e.__context__ is e.__cause__
p([excs(k) for k in range(5)])
@contextlib.contextmanager
def cm(n):
    p('in', n)
    try: yield n
    except ZeroDivisionError: p('swallow')
    finally: p('out', n)
def withs():
    with cm(1) as a, cm(2): p(a)
    with cm(3): 1 / 0
    with contextlib.suppress(KeyError), cm(4) as (q): {}['x']
p(withs())
def m(v):
    match v:
        case 0 | 1: return 'small'
        case int(n) if n > 100: return 'big', n
        case [x, *rest] if rest: return x, rest
        case {'k': val, **more}: return val, more
        case Derived(x=1, y=yy): return 'D', yy
        case str() as s: return s
        case None: return 'none'
        case _: return 'other'
p([m(v) for v in (0, 500, [1, 2, 3], [1], {'k': 1, 'z': 2}, Derived(1, 7), 'str', None, 5)])
async def co(n):
    await asyncio.sleep(0)
    return n * 2
async def agen(n):
    for i in range(n):
        yield await co(i)
class ACM:
    async def __aenter__(self): return 5
    async def __aexit__(self, *a): return True
async def main():
    r = [x async for x in agen(3)]
    s = [await co(i) for i in range(2)]
    async with ACM() as v:
        raise KeyError
    t = await asyncio.gather(co(1), co(2))
    async for q in agen(2): pass
    else: t.append('else')
    return r, s, v, t, q
p(asyncio.run(main()))
@dataclasses.dataclass(order=True)
class DC:
    a: int
    b: list = dataclasses.field(default_factory=list)
    c: str = 'c'
    def __post_init__(self): self.a += 1
p(DC(1), DC(1, [2]), DC(3) > DC(2), dataclasses.replace(DC(1), c='z'))
class NT(typing.NamedTuple):
    x: int
    y: int = 2
    def s(self): return self.x + self.y
p(NT(1), NT(1, 3).s(), NT(5).x, NT(1)._replace(y=9))
class Color(enum.Enum):
    RED = 1
    BLUE = enum.auto()
    def low(self): return self.name.lower()
p(Color.RED, Color(2).low(), list(Color))
def loops():
    r = []
    for i in range(5):
        if i == 1: continue
        if i == 3: break
        r.append(i)
    else: r.append('no')
    while r:
        v = r.pop()
        if v == 0: break
    else: v = 'empty'
    for k in {'a': 1}: r.append(k)
    for k, v in {'a': 1}.items(): r.append((k, v))
    for i, _ in enumerate('ab', 5): r += [i]
    return r, v, i, k
p(loops())
p(f"{1+1!r:>4}|{'x':{'^5'}}|{3.14159:.2f}|{a}", 'abc'[::-1], [1, 2, 3][-2:], (1, 2) + (3,), [0] * 3, 'a' * 2)
p(1 < 2 < 3, 1 < 3 < 2, 3 > 2 != 5, [x for x in range(10) if 2 < x < 5], 1 == 1 == 2)
x = [1, 2, 3]; x[1:2] = [7, 8]; del x[0]; x += (9,); x[0] += 1; x[-1] = 0; p(x)
def localfn():
    v = 1; w = 2
    return sorted(locals()), sorted(dir()), eval('v + w'), sorted(vars())
p(localfn())
p(list(map(lambda q, r: q + r, [1, 2], [3, 4])), list(filter(None, [0, 1])), list(filter(lambda q: q > 1, [1, 2])), list(zip([1], [2])), list(reversed([1, 2])), next(iter([5])), next(iter([]), 'd'), sum([1, 2]), sum([[1], [2]], []), min(3, 1), max([1, 5, 2], key=lambda q: -q), any(q > 1 for q in [1, 2]), all([]), ''.join(c for c in 'ab'), type(zip([], [])), type(map(p, [])), type(q for q in []))
p(functools.reduce(lambda s, t: s + t, [1, 2, 3]), list(itertools.accumulate([1, 2, 3])), collections.Counter('aab'), collections.defaultdict(list, {1: [2]})[3], re.sub('a', lambda mm: mm.group().upper(), 'banana'))
@functools.lru_cache(None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
p(fib(30), fib.cache_info())
def deco(f):
    @functools.wraps(f)
    def w(*a, **k): return ('w', f(*a, **k))
    return w
@deco
def decorated(x: int = 3) -> str:
    "doc"
    return x
p(decorated(), decorated(4), decorated.__name__, decorated.__doc__, decorated.__wrapped__.__annotations__)
def rec(n): return 0 if n == 0 else 1 + rec(n - 1)
p(rec(900))
assert True, 'x'
try: assert [] , 'msg'
except AssertionError as e: p(e.args)
try: assert 0
except AssertionError as e: p(e.args)
class Outer:
    v = [i for i in range(3)]
    w = v[0] if v else 1
    class Inner:
        z = 4
        def f(self): return __class__.__name__, self.z
    def g(self, h=w): return h, self.v
p(Outer().g(), Outer.Inner().f(), Outer.Inner.f.__qualname__, closures.__code__.co_name)
try:
    raise ExceptionGroup('g', [ValueError(1), TypeError(2)])
except* ValueError as eg: p('V', eg.exceptions)
except* TypeError as eg: p('T', eg.exceptions)
lst = [3, 1, 2]; lst.sort(key=lambda t: -t); p(lst); lst.sort(); lst.reverse(); lst.insert(0, 9); lst.remove(1); p(lst, lst.index(9), lst.count(2), lst.pop(0), lst.copy())
dd = dict(a=1); dd.update(b=2); dd.update([('c', 3)]); dd |= {'d': 4}; p(dd.pop('a'), dd.get('z'), dd.get('b'), dd, dd.popitem(), list(dd.keys()), list(dd.values()), sorted(dd.items()), {**dd, 'q': 1}, dd.copy(), dict(dd), dict(zip('ab', [1, 2])), dict.fromkeys('ab'))
s = {1, 2}; s.add(3); s.discard(1); s |= {8}; p(s, s & {2}, s - {2}, frozenset(s), 2 in s, sorted(s), set([1, 1]))
if (wal := 5) > 3: p(wal)
p((lambda *a, k=1, **kw: (a, k, kw))(1, 2, k=3, z=4))
p([q for q in map(lambda q: 0 < q < 3 and (q or 1), [0, 1, 2, 3])])
def posonly(a, /, b, *, c): return a, b, c
p(posonly(1, 2, c=3))
try: posonly(a=1, b=2, c=3)
except TypeError as e: p(str(e))
import sys
def who(): return sys._getframe(1).f_code.co_name
def caller(): return who()
p(caller())
p(collections.namedtuple('Pt', 'x y').__module__, type('T', (), {}).__module__)
p(sorted(k for k in globals() if not k.startswith('__') and not k.startswith('_@'))[:5])
class Priv:
    __s = 1
    def f(self, **k): return self.__s, k
    def g(self): return self.f(__x=1)
p(Priv().g())
global_list = []
def star_lists(): return [*[1, 2], *'ab'], {*[1], 2}, (*[], 3)
p(star_lists())
it = iter([1, 2, 3]); p([next(it), *it])
def tricky():
    r = []
    for i in range(3):
        try:
            if i == 1: continue
            r.append(i)
        finally:
            r.append('f')
    return r
p(tricky())
def g2():
    x = yield 1
    while x: x = yield x * 2
gg = g2(); p(next(gg), gg.send(3), gg.send(4))
try: gg.send(0)
except StopIteration as e: p('stop', e.value)
import operator
p(operator.itemgetter(1)([1, 2]), operator.attrgetter('x')(NT(1)), list(itertools.chain([1], (2,))), list(itertools.groupby([1, 1, 2])).__len__())
print('\n'.join(out))
