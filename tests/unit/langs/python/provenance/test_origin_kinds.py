"""An origin is never another expression: it is the right one, among the candidates, or unknown.

One small program for each kind of data flow. `source` makes the marked value and `decoy` an equal
one, so that a guess by value or by identity is noticed.
"""

from __future__ import annotations

import textwrap

import pytest
from marked_runs import mark

HEAD = """
import array, asyncio, bisect, collections, contextlib, contextvars, copy, ctypes, dataclasses
import datetime, decimal, enum, fractions, functools, heapq, io, itertools, json, math, operator
import pickle, queue, random, re, statistics, string, struct, threading, types, weakref
from concurrent.futures import ThreadPoolExecutor
def source(): return {value}
def decoy(): return {value}
def one(): return 1
def zero(): return 0
class Box:
    def __init__(self, x=None): self.x = x
"""
SOURCE = "source"
"""Stands for the expression in `source`."""

# Each program: the body of the module, and the right origins, as expressions of `main` or `source`.
PROGRAMS: dict[str, tuple[str, ...]] = {
    # --- descriptors and attributes
    "descriptor that stores": ("""
class D:
    def __set_name__(self, kind, name): self.name = "_" + name
    def __get__(self, thing, kind): return getattr(thing, self.name)
    def __set__(self, thing, value): setattr(thing, self.name, value)
class C:
    a, b = D(), D()
def main():
    c = C(); c.a = decoy(); c.b = source()
    return c.b
""", SOURCE),
    "descriptor that keeps a dict": ("""
class D:
    def __init__(self): self.kept = {}
    def __get__(self, thing, kind): return self.kept[id(thing)]
    def __set__(self, thing, value): self.kept[id(thing)] = value
class C: d = D()
def main():
    c, other = C(), C(); other.d = decoy(); c.d = source()
    return c.d
""", SOURCE),
    "descriptor without a setter": ("""
class D:
    def __get__(self, thing, kind): return source()
class C: d = D()
def main(): decoy(); return C().d
""", SOURCE),
    "property": ("""
class C:
    def __init__(self, x): self._x = x; self.y = decoy()
    @property
    def x(self): return self._x
def main(): return C(source()).x
""", SOURCE),
    "property setter": ("""
class C:
    def __init__(self): self._x = decoy()
    @property
    def x(self): return self._x
    @x.setter
    def x(self, value): self._x = value
def main():
    c = C(); c.x = source()
    return c.x
""", SOURCE),
    "property out of sight": ("""
def main():
    kind = types.SimpleNamespace(a=decoy(), b=source())
    return kind.b
""", SOURCE),
    "cached property": ("""
class C:
    @functools.cached_property
    def x(self): return source()
def main():
    c = C(); decoy(); c.x
    return c.x
""", SOURCE),
    "__getattr__ delegation": ("""
class Proxy:
    def __init__(self, inner): self.inner = inner
    def __getattr__(self, name): return getattr(self.inner, name)
def main():
    box = Box(source()); box.y = decoy()
    return Proxy(box).x
""", SOURCE),
    "__getattr__ that computes": ("""
class Lazy:
    def __getattr__(self, name): return source()
def main(): decoy(); return Lazy().anything
""", SOURCE),
    "__getattribute__": ("""
class Spy:
    def __init__(self, x): self.x = x
    def __getattribute__(self, name): return object.__getattribute__(self, name)
def main(): decoy(); return Spy(source()).x
""", SOURCE),
    "__setattr__": ("""
class Spy:
    def __setattr__(self, name, value): object.__setattr__(self, name, value)
def main():
    s = Spy(); s.y = decoy(); s.x = source()
    return s.x
""", SOURCE),
    "__setattr__ into a dict": ("""
class Spy:
    def __init__(self): self.__dict__["kept"] = {}
    def __setattr__(self, name, value): self.kept[name] = value
    def __getattr__(self, name): return self.kept[name]
def main():
    s = Spy(); s.y = decoy(); s.x = source()
    return s.x
""", SOURCE),
    "setattr": ("""
def main():
    box = Box(); setattr(box, "y", decoy()); setattr(box, "x", source())
    return getattr(box, "x")
""", SOURCE),
    "object.__setattr__": ("""
def main():
    box = Box(decoy()); object.__setattr__(box, "x", source())
    return box.x
""", SOURCE),
    "instance dict": ("""
def main():
    box = Box(decoy()); box.__dict__["x"] = source()
    return box.x
""", SOURCE),
    "instance dict updated": ("""
def main():
    box = Box(decoy()); box.__dict__.update(y=decoy(), x=source())
    return box.x
""", SOURCE),
    "vars": ("""
def main():
    box = Box(source()); box.y = decoy()
    return vars(box)["x"]
""", SOURCE),
    "slots": ("""
class S:
    __slots__ = ("a", "b")
def main():
    s = S(); s.a = decoy(); s.b = source()
    return s.b
""", SOURCE),
    "slot descriptor": ("""
class S:
    __slots__ = ("a", "b")
def main():
    s = S(); s.a = decoy(); S.b.__set__(s, source())
    return S.b.__get__(s)
""", SOURCE),
    "class attribute": ("""
class C: x = 0
def main():
    C.x = source(); c = C(); c.y = decoy()
    return c.x
""", SOURCE),
    "class attribute of a base": ("""
class A: pass
class B(A): pass
def main():
    A.x = source(); B.y = decoy()
    return B().x
""", SOURCE),
    "instance before class attribute": ("""
class C: pass
def main():
    C.x = decoy(); c = C(); c.x = source()
    return c.x
""", SOURCE),
    "class body": ("""
def main():
    class C:
        y = decoy()
        x = source()
    return C.x
""", SOURCE),
    "class keyword": ("""
class Base:
    def __init_subclass__(cls, x, **named): cls.x = x
def main():
    class C(Base, x=source()): y = decoy()
    return C.x
""", SOURCE),
    "metaclass": ("""
class Meta(type):
    def __call__(cls, *given):
        made = super().__call__(); made.x = given[0]
        return made
class C(metaclass=Meta): pass
def main(): decoy(); return C(source()).x
""", SOURCE),
    "__new__": ("""
class C:
    def __new__(cls, x):
        made = object.__new__(cls); made.x = x
        return made
def main(): decoy(); return C(source()).x
""", SOURCE),
    "super": ("""
class A:
    def get(self): return source()
class B(A):
    def get(self): return super().get()
def main(): decoy(); return B().get()
""", SOURCE),
    # --- records
    "dataclass replace": ("""
@dataclasses.dataclass
class P:
    a: int
    b: int
def main():
    p = P(source(), decoy())
    return dataclasses.replace(p, b=5).a
""", SOURCE),
    "dataclass replaced field": ("""
@dataclasses.dataclass(frozen=True)
class P:
    a: int
    b: int
def main():
    p = P(decoy(), decoy())
    return dataclasses.replace(p, a=source()).a
""", SOURCE),
    "dataclass asdict": ("""
@dataclasses.dataclass
class P:
    a: int
    b: int
def main(): return dataclasses.asdict(P(decoy(), source()))["b"]
""", SOURCE),
    "dataclass default factory": ("""
@dataclasses.dataclass
class P:
    b: int
    a: int = dataclasses.field(default_factory=source)
def main(): return P(decoy()).a
""", SOURCE),
    "dataclass post init": ("""
@dataclasses.dataclass
class P:
    a: int
    b: int = 0
    def __post_init__(self): self.b = self.a
def main(): decoy(); return P(source()).b
""", SOURCE),
    "namedtuple": ("""
P = collections.namedtuple("P", "a b")
def main(): return P(decoy(), source()).b
""", SOURCE),
    "namedtuple replace": ("""
P = collections.namedtuple("P", "a b")
def main(): return P(decoy(), source())._replace(a=5).b
""", SOURCE),
    "namedtuple replaced": ("""
P = collections.namedtuple("P", "a b")
def main(): return P(decoy(), decoy())._replace(b=source()).b
""", SOURCE),
    "namedtuple asdict": ("""
P = collections.namedtuple("P", "a b")
def main(): return P(decoy(), source())._asdict()["b"]
""", SOURCE),
    "enum": ("""
def main():
    E = enum.Enum("E", dict(A=5, B=source()))
    decoy()
    return E.B.value
""", SOURCE, 'enum.Enum("E", dict(A=5, B=source()))'),
    "enum class": ("""
def main():
    class E(enum.Enum):
        B = source()
    decoy()
    return E.B.value
""", SOURCE),
    "simple namespace": ("""
def main():
    n = types.SimpleNamespace(a=decoy()); n.b = source()
    return n.b
""", SOURCE),
    # --- copies
    "deepcopy": ("""
def main(): return copy.deepcopy({"a": decoy(), "b": source()})["b"]
""", SOURCE),
    "deepcopy of an object": ("""
def main():
    box = Box(source()); box.y = decoy()
    return copy.deepcopy(box).x
""", SOURCE),
    "copy": ("""
def main():
    box = Box(source()); box.y = decoy()
    return copy.copy(box).x
""", SOURCE),
    "pickle": ("""
def main(): return pickle.loads(pickle.dumps([decoy(), source()]))[1]
""", SOURCE, "pickle.loads(pickle.dumps([decoy(), source()]))"),
    "json": ("""
def main(): return json.loads(json.dumps([decoy(), source()]))[1]
""", SOURCE, "json.loads(json.dumps([decoy(), source()]))"),
    "json hook": ("""
def hook(d): return d["x"]
def main(): return json.loads(json.dumps({"y": decoy(), "x": source()}), object_hook=hook)
""", SOURCE, 'json.loads(json.dumps({"y": decoy(), "x": source()}), object_hook=hook)'),
    # --- mappings
    "ChainMap": ("""
def main():
    m = collections.ChainMap({"a": 1}, {"a": decoy(), "b": source()})
    return m["b"]
""", SOURCE),
    "ChainMap written": ("""
def main():
    m = collections.ChainMap({}, {"b": decoy()}); m["b"] = source()
    return m["b"]
""", SOURCE),
    "ChainMap get": ("""
def main(): return collections.ChainMap({"a": decoy()}, {"b": source()}).get("b")
""", SOURCE),
    "defaultdict": ("""
def main():
    d = collections.defaultdict(source); d["a"] = decoy()
    return d["b"]
""", SOURCE),
    "Counter": ("""
def main():
    c = collections.Counter(a=decoy(), b=source())
    return c["b"]
""", SOURCE),
    "Counter counted": ("""
def main():
    c = collections.Counter("abracadabra"); decoy()
    return c["a"]
""", 'collections.Counter("abracadabra")', 'c["a"]'),
    "OrderedDict": ("""
def main():
    d = collections.OrderedDict(a=decoy(), b=source()); d.move_to_end("a")
    return d["b"]
""", SOURCE),
    "OrderedDict popitem": ("""
def main():
    d = collections.OrderedDict(a=decoy(), b=source())
    return d.popitem()[1]
""", SOURCE),
    "UserDict": ("""
class U(collections.UserDict): pass
def main():
    u = U(a=decoy()); u["b"] = source()
    return u["b"]
""", SOURCE),
    "mapping proxy": ("""
def main(): return types.MappingProxyType({"a": decoy(), "b": source()})["b"]
""", SOURCE),
    "dict fromkeys": ("""
def main(): decoy(); return dict.fromkeys("ab", source())["b"]
""", SOURCE),
    "dict merged": ("""
def main(): return ({"b": decoy()} | {"b": source()})["b"]
""", SOURCE),
    "dict popitem": ("""
def main():
    d = {"a": decoy(), "b": source()}
    return d.popitem()[1]
""", SOURCE),
    "dict views": ("""
def main(): return list({"a": decoy(), "b": source()}.values())[1]
""", SOURCE),
    "missing": ("""
class M(dict):
    def __missing__(self, key): return source()
def main(): decoy(); return M()["a"]
""", SOURCE),
    "weak value dictionary": ("""
def main():
    box, other = Box(source()), Box(decoy())
    d = weakref.WeakValueDictionary(a=other, b=box)
    return d["b"].x
""", SOURCE),
    "weak key dictionary": ("""
def main():
    box, other = Box(), Box()
    d = weakref.WeakKeyDictionary(); d[other] = decoy(); d[box] = source()
    return d[box]
""", SOURCE),
    "weakref": ("""
def main():
    box, other = Box(source()), Box(decoy())
    return weakref.ref(box)().x
""", SOURCE),
    "weak proxy": ("""
def main():
    box = Box(source()); box.y = decoy()
    return weakref.proxy(box).x
""", SOURCE),
    # --- bytes
    "struct": ("""
def main():
    data = struct.pack("<ii", decoy(), source())
    return struct.unpack("<ii", data)[1]
""", SOURCE, 'struct.unpack("<ii", data)'),
    "struct unpack_from": ("""
def main():
    data = struct.pack("<ii", decoy(), source())
    return struct.unpack_from("<i", data, 4)[0]
""", SOURCE, 'struct.unpack_from("<i", data, 4)'),
    "struct into a bytearray": ("""
def main():
    data = bytearray(8); struct.pack_into("<ii", data, 0, decoy(), source())
    return struct.unpack("<ii", data)[1]
""", SOURCE, 'struct.unpack("<ii", data)'),
    "int from bytes": ("""
def main():
    data = source().to_bytes(4, "little"); decoy()
    return int.from_bytes(data, "little")
""", SOURCE, 'int.from_bytes(data, "little")'),
    "bytearray": ("""
def main():
    b = bytearray(2); b[0] = decoy(); b[1] = source()
    return b[1]
""", SOURCE, "b[1]"),
    "bytes": ("""
def main():
    b = bytes([decoy(), source()])
    return b[1]
""", SOURCE, "b[1]", "bytes([decoy(), source()])"),
    "memoryview": ("""
def main():
    b = bytearray(2); m = memoryview(b); m[0] = decoy(); m[1] = source()
    return m[1]
""", SOURCE, "m[1]"),
    "memoryview behind": ("""
def main():
    b = bytearray(2); m = memoryview(b); m[0] = decoy(); m[1] = source()
    return b[1]
""", SOURCE, "b[1]"),
    "array": ("""
def main():
    a = array.array("i", [decoy(), source()])
    return a[1]
""", SOURCE, "a[1]", 'array.array("i", [decoy(), source()])'),
    "array written": ("""
def main():
    a = array.array("i", [0, 0]); a[0] = decoy(); a[1] = source()
    return a[1]
""", SOURCE, "a[1]"),
    "array iterated": ("""
def main():
    a = array.array("i", [decoy(), source()])
    for x in a: pass
    return x
""", SOURCE, "a"),
    "ctypes": ("""
def main():
    c, other = ctypes.c_int(source()), ctypes.c_int(decoy())
    return c.value
""", SOURCE, "c.value", "ctypes.c_int(source())"),
    "ctypes written": ("""
def main():
    c = ctypes.c_int(decoy()); c.value = source()
    return c.value
""", SOURCE, "c.value"),
    "ctypes structure": ("""
class S(ctypes.Structure): _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int)]
def main():
    s = S(decoy(), source())
    return s.b
""", SOURCE, "s.b", "S(decoy(), source())"),
    "ctypes structure written": ("""
class S(ctypes.Structure): _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int)]
def main():
    s = S(); s.a = decoy(); s.b = source()
    return s.b
""", SOURCE, "s.b"),
    "ctypes array": ("""
def main():
    a = (ctypes.c_int * 2)(decoy(), source())
    return a[1]
""", SOURCE, "a[1]", "(ctypes.c_int * 2)(decoy(), source())"),
    "BytesIO": ("""
def main():
    f = io.StringIO(); f.write(str(source())); decoy(); f.seek(0)
    return f.read()
""", "f.read()", "str(source())"),
    # --- texts
    "regex callback": ("""
def put(match): return TEXT
def main(): decoy(); return re.sub("b", put, "b")
TEXT = "zz"
""", 're.sub("b", put, "b")', '"zz"'),
    "regex callback value": ("""
def put(match): return str(source())
def main(): decoy(); return re.sub("b", put, "abc")
""", 're.sub("b", put, "abc")', "str(source())"),
    "regex group": ("""
def main():
    decoy()
    return re.match("(a+)", "aaab").group(1)
""", 're.match("(a+)", "aaab").group(1)', 're.match("(a+)", "aaab")'),
    "regex whole group": ("""
def text(): return "aaa"
def main():
    given = text()
    return re.match(".*", given).group()
""", 're.match(".*", given).group()', '"aaa"'),
    "__format__": ("""
class F:
    def __init__(self, x): self.x = x
    def __format__(self, how): return made(self.x)
def made(x): return str(x)
def main(): decoy(); return f"{F(source())}"
""", 'f"{F(source())}"', "str(x)"),
    "format": ("""
class F:
    def __init__(self, x): self.x = x
    def __format__(self, how): return made(self.x)
def made(x): return str(x)
def main(): decoy(); return format(F(source()))
""", "str(x)", "format(F(source()))"),
    "str format": ("""
def main(): decoy(); return "{}".format(source())
""", '"{}".format(source())'),
    "percent": ("""
def main(): decoy(); return "%d" % source()
""", '"%d" % source()'),
    "__str__": ("""
class F:
    def __init__(self, x): self.x = x
    def __str__(self): return made(self.x)
def made(x): return repr(x)
def main(): decoy(); return str(F(source()))
""", "repr(x)", "str(F(source()))"),
    "template": ("""
def main(): decoy(); return string.Template("$x").substitute(x=source())
""", 'string.Template("$x").substitute(x=source())'),
    # --- numbers and dates
    "date": ("""
def main(): decoy(); return datetime.date(2000, 1, source() % 28).day
""", "datetime.date(2000, 1, source() % 28).day", "datetime.date(2000, 1, source() % 28)",
    "source() % 28"),
    "timedelta": ("""
def main(): decoy(); return datetime.timedelta(days=source()).days
""", SOURCE, "datetime.timedelta(days=source()).days", "datetime.timedelta(days=source())"),
    "date replaced": ("""
def main():
    d = datetime.date(source() % 1000 + 2000, 1, 1); decoy()
    return d.replace(month=2).year
""", "source() % 1000 + 2000", "d.replace(month=2).year", "d.replace(month=2)",
    "datetime.date(source() % 1000 + 2000, 1, 1)"),
    "fraction": ("""
def main(): decoy(); return fractions.Fraction(source(), 1).numerator
""", SOURCE, "fractions.Fraction(source(), 1).numerator", "fractions.Fraction(source(), 1)"),
    "decimal": ("""
def main(): decoy(); return int(decimal.Decimal(source()))
""", "int(decimal.Decimal(source()))"),
    "complex": ("""
def main(): decoy(); return complex(source(), 1).real
""", "complex(source(), 1).real", "complex(source(), 1)"),
    "computed": ("""
def main(): decoy(); return math.sqrt(source())
""", "math.sqrt(source())"),
    "abs": ("""
def main(): decoy(); return abs(source())
""", SOURCE, "abs(source())"),
    "int of an int": ("""
def main(): decoy(); return int(source())
""", SOURCE, "int(source())"),
    "sum of one": ("""
def main(): decoy(); return sum([source()])
""", SOURCE, "sum([source()])"),
    "statistics": ("""
def main(): return statistics.median([1, source(), 10_000_000])
""", SOURCE, "statistics.median([1, source(), 10_000_000])"),
    "statistics mode": ("""
def main(): return statistics.mode([1, source(), decoy()])
""", SOURCE, "statistics.mode([1, source(), decoy()])"),
    # --- functional
    "attrgetter": ("""
def main():
    box = Box(source()); box.y = decoy()
    return operator.attrgetter("x")(box)
""", SOURCE),
    "attrgetter of several": ("""
def main():
    box = Box(source()); box.y = decoy()
    return operator.attrgetter("y", "x")(box)[1]
""", SOURCE),
    "itemgetter": ("""
def main(): return operator.itemgetter(1)([decoy(), source()])
""", SOURCE),
    "itemgetter by name": ("""
def main(): return operator.itemgetter("b")({"a": decoy(), "b": source()})
""", SOURCE),
    "methodcaller": ("""
class C:
    def get(self): return source()
def main(): decoy(); return operator.methodcaller("get")(C())
""", SOURCE),
    "operator getitem": ("""
def main(): return operator.getitem([decoy(), source()], 1)
""", SOURCE),
    "operator setitem": ("""
def main():
    xs = [decoy(), 0]; operator.setitem(xs, 1, source())
    return xs[1]
""", SOURCE),
    "partial": ("""
def second(a, b): return b
def main(): return functools.partial(second, decoy())(source())
""", SOURCE),
    "partial bound": ("""
def second(a, b): return b
def main(): return functools.partial(second, b=source())(decoy())
""", SOURCE),
    "partial of a builtin": ("""
def main(): return functools.partial(max, source())(1)
""", SOURCE, "functools.partial(max, source())(1)"),
    "partialmethod": ("""
class C:
    def get(self, x): return x
    own = functools.partialmethod(get, 5)
    def other(self): return source()
def main(): decoy(); return C().other()
""", SOURCE),
    "reduce": ("""
def last(a, b): return b
def main(): return functools.reduce(last, [decoy(), 3, source()])
""", SOURCE),
    "reduce with a builtin": ("""
def main(): return functools.reduce(max, [1, source(), 3])
""", SOURCE, "functools.reduce(max, [1, source(), 3])"),
    "lru_cache": ("""
@functools.lru_cache
def cached(n): return source() if n else decoy()
def main():
    cached(0); cached(1)
    return cached(1)
""", SOURCE),
    "lru_cache of an argument": ("""
@functools.lru_cache
def same(x): return x
def main(): decoy(); return same(source())
""", SOURCE),
    "singledispatch": ("""
@functools.singledispatch
def f(x): return decoy()
@f.register
def _(x: int): return source()
def main(): return f(1)
""", SOURCE),
    "wraps": ("""
def deco(f):
    @functools.wraps(f)
    def inner(*given, **named): return f(*given, **named)
    return inner
@deco
def same(a, b): return b
def main(): return same(decoy(), b=source())
""", SOURCE),
    "map with itemgetter": ("""
def main(): return list(map(operator.itemgetter(1), [(0, decoy()), (0, source())]))[1]
""", SOURCE),
    "sorted with itemgetter": ("""
def main(): return sorted([(2, source()), (1, decoy())], key=operator.itemgetter(0))[1][1]
""", SOURCE),
    "callable object": ("""
class F:
    def __call__(self, x): return x
def main(): decoy(); return F()(source())
""", SOURCE),
    "default argument": ("""
def main():
    def f(x=source()): return x
    decoy()
    return f()
""", SOURCE),
    # --- heaps, queues, iterators
    "heapq": ("""
def main():
    h = []; heapq.heappush(h, (2, decoy())); heapq.heappush(h, (1, source()))
    return heapq.heappop(h)[1]
""", SOURCE),
    "heapq numbers": ("""
def main():
    h = [10_000_000, source(), 20_000_000]; heapq.heapify(h); decoy()
    return heapq.heappop(h)
""", SOURCE),
    "nsmallest": ("""
def main(): decoy(); return heapq.nsmallest(1, [10_000_000, source()])[0]
""", SOURCE),
    "nlargest by key": ("""
def main(): return heapq.nlargest(1, [(1, decoy()), (2, source())])[0][1]
""", SOURCE),
    "heapq merge": ("""
def main(): return list(heapq.merge([source()], [10_000_000]))[0]
""", SOURCE),
    "bisect insort": ("""
def main():
    xs = [0, 10_000_000]; bisect.insort(xs, source()); decoy()
    return xs[1]
""", SOURCE),
    "tee": ("""
def main():
    a, b = itertools.tee([decoy(), source()]); next(a); next(b)
    return next(b)
""", SOURCE),
    "tee of a generator": ("""
def gen(): yield decoy(); yield source()
def main():
    a, b = itertools.tee(gen()); list(a); next(b)
    return next(b)
""", SOURCE),
    "chain": ("""
def main(): return list(itertools.chain([decoy()], [source()]))[1]
""", SOURCE),
    "cycle": ("""
def main():
    c = itertools.cycle([decoy(), source()]); next(c); next(c); next(c)
    return next(c)
""", SOURCE),
    "repeat": ("""
def main(): decoy(); return list(itertools.repeat(source(), 2))[1]
""", SOURCE),
    "islice": ("""
def main(): return list(itertools.islice([decoy(), source()], 1, 2))[0]
""", SOURCE),
    "product": ("""
def main(): return list(itertools.product([decoy()], [source()]))[0][1]
""", SOURCE),
    "combinations": ("""
def main(): return list(itertools.combinations([decoy(), source()], 2))[0][1]
""", SOURCE),
    "zip_longest": ("""
def main(): return list(itertools.zip_longest([decoy(), 1], [3], fillvalue=source()))[1][1]
""", SOURCE),
    "accumulate": ("""
def last(a, b): return b
def main(): return list(itertools.accumulate([decoy(), source()], last))[1]
""", SOURCE),
    "accumulate max": ("""
def main(): return list(itertools.accumulate([1, source()], max))[1]
""", SOURCE, "list(itertools.accumulate([1, source()], max))"),
    "starmap": ("""
def second(a, b): return b
def main(): return list(itertools.starmap(second, [(decoy(), source())]))[0]
""", SOURCE),
    "groupby": ("""
def main():
    for key, group in itertools.groupby([(1, decoy()), (2, source())], key=lambda p: p[0]):
        got = list(group)[0][1]
    return got
""", SOURCE),
    "pairwise": ("""
def main(): return list(itertools.pairwise([decoy(), source()]))[0][1]
""", SOURCE),
    "compress": ("""
def main(): return list(itertools.compress([decoy(), source()], [0, 1]))[0]
""", SOURCE),
    "deque": ("""
def main():
    d = collections.deque([decoy()]); d.append(source())
    return d.pop()
""", SOURCE),
    "deque rotated": ("""
def main():
    d = collections.deque([decoy(), 3, source()]); d.rotate(1)
    return d[0]
""", SOURCE),
    "deque with a limit": ("""
def main():
    d = collections.deque(maxlen=1); d.append(decoy()); d.append(source())
    return d[0]
""", SOURCE),
    "queue": ("""
def main():
    q = queue.Queue(); q.put(decoy()); q.put(source()); q.get()
    return q.get()
""", SOURCE),
    "simple queue": ("""
def main():
    q = queue.SimpleQueue(); q.put(decoy()); q.put(source()); q.get()
    return q.get()
""", SOURCE),
    "priority queue": ("""
def main():
    q = queue.PriorityQueue(); q.put((2, decoy())); q.put((1, source()))
    return q.get()[1]
""", SOURCE),
    "queue between threads": ("""
def work(q): q.put(source())
def main():
    q = queue.Queue(); decoy()
    t = threading.Thread(target=work, args=(q,)); t.start(); t.join()
    return q.get()
""", SOURCE),
    "threads with two queues": ("""
def work(given, out): out.put(given.get())
def main():
    a, b = queue.Queue(), queue.Queue(); decoy()
    t = threading.Thread(target=work, args=(a, b)); t.start()
    a.put(source()); t.join()
    return b.get()
""", SOURCE),
    "thread result list": ("""
def work(out): out.append(source())
def main():
    out = [decoy()]
    t = threading.Thread(target=work, args=(out,)); t.start(); t.join()
    return out[1]
""", SOURCE),
    "thread local": ("""
HERE = threading.local()
def main():
    HERE.y = decoy(); HERE.x = source()
    return HERE.x
""", SOURCE),
    "executor": ("""
def main():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(decoy).result()
        return pool.submit(source).result()
""", SOURCE),
    "executor map": ("""
def same(x): return x
def main():
    with ThreadPoolExecutor(1) as pool: return list(pool.map(same, [decoy(), source()]))[1]
""", SOURCE),
    # --- asyncio and contexts
    "contextvar": ("""
V = contextvars.ContextVar("V")
def main():
    V.set(decoy()); V.set(source())
    return V.get()
""", SOURCE),
    "contextvar default": ("""
V = contextvars.ContextVar("V")
def main(): decoy(); return V.get(source())
""", SOURCE),
    "contextvar reset": ("""
V = contextvars.ContextVar("V")
def main():
    V.set(source()); token = V.set(decoy()); V.reset(token)
    return V.get()
""", SOURCE),
    "context run": ("""
V = contextvars.ContextVar("V")
def main():
    V.set(source()); context = contextvars.copy_context(); V.set(decoy())
    return context.run(V.get)
""", SOURCE),
    "gather": ("""
async def slow(f): await asyncio.sleep(0); return f()
async def both(): return await asyncio.gather(slow(decoy), slow(source))
def main(): return asyncio.run(both())[1]
""", SOURCE),
    "task": ("""
async def work(): return source()
async def outer():
    t = asyncio.create_task(work()); decoy()
    return await t
def main(): return asyncio.run(outer())
""", SOURCE),
    "asyncio queue": ("""
async def outer():
    q = asyncio.Queue(); await q.put(decoy()); await q.put(source()); await q.get()
    return await q.get()
def main(): return asyncio.run(outer())
""", SOURCE),
    "future": ("""
async def outer():
    f = asyncio.get_running_loop().create_future(); decoy(); f.set_result(source())
    return await f
def main(): return asyncio.run(outer())
""", SOURCE),
    "wait_for": ("""
async def work(): return source()
def main(): decoy(); return asyncio.run(asyncio.wait_for(work(), 5))
""", SOURCE),
    # --- syntax
    "star unpacking": ("""
def main():
    first, *rest = [decoy(), 2, source()]
    return rest[1]
""", SOURCE),
    "nested unpacking": ("""
def main():
    (a, b), c = (decoy(), source()), decoy()
    return b
""", SOURCE),
    "swap": ("""
def main():
    a, b = source(), decoy(); a, b = b, a
    return b
""", SOURCE),
    "walrus": ("""
def main():
    if (x := source()) and decoy(): return x
""", SOURCE),
    "walrus in a comprehension": ("""
def main():
    [y := f() for f in (decoy, source)]
    return y
""", SOURCE),
    "match": ("""
def main():
    match [decoy(), source()]:
        case [_, x]: return x
""", SOURCE),
    "match mapping": ("""
def main():
    match {"a": decoy(), "b": source()}:
        case {"b": x}: return x
""", SOURCE),
    "match class": ("""
class P:
    __match_args__ = ("a", "b")
    def __init__(self, a, b): self.a, self.b = a, b
def main():
    match P(decoy(), source()):
        case P(a, b): return b
""", SOURCE),
    "match star": ("""
def main():
    match [decoy(), decoy(), source()]:
        case [_, *rest]: return rest[1]
""", SOURCE),
    "match as": ("""
def main():
    decoy()
    match source():
        case int() as x: return x
""", SOURCE),
    "match value": ("""
def main():
    decoy()
    match source():
        case x if x > 0: return x
""", SOURCE),
    "send": ("""
def gen():
    got = yield decoy()
    yield got
def main():
    g = gen(); next(g)
    return g.send(source())
""", SOURCE),
    "throw": ("""
def gen():
    try: yield decoy()
    except ValueError as error: yield error.args[0]
def main():
    g = gen(); next(g)
    return g.throw(ValueError(source()))
""", SOURCE),
    "generator return": ("""
def gen():
    yield decoy()
    return source()
def outer(): x = yield from gen(); yield x
def main(): return list(outer())[1]
""", SOURCE),
    "stop iteration value": ("""
def gen():
    return source()
    yield
def main():
    decoy()
    try: next(gen())
    except StopIteration as stop: return stop.value
""", SOURCE),
    "context manager": ("""
class C:
    def __enter__(self): return source()
    def __exit__(self, *given): decoy()
def main():
    with C() as x: return x
""", SOURCE),
    "generator context manager": ("""
@contextlib.contextmanager
def managed(): yield source()
def main():
    decoy()
    with managed() as x: return x
""", SOURCE),
    "exit stack": ("""
class C:
    def __enter__(self): return source()
    def __exit__(self, *given): decoy()
def main():
    with contextlib.ExitStack() as stack: return stack.enter_context(C())
""", SOURCE),
    "nullcontext": ("""
def main():
    decoy()
    with contextlib.nullcontext(source()) as x: return x
""", SOURCE),
    "closing": ("""
class C(Box):
    def close(self): decoy()
def main():
    with contextlib.closing(C(source())) as c: return c.x
""", SOURCE),
    "exception argument": ("""
def main():
    try: raise KeyError(decoy(), source())
    except KeyError as error: return error.args[1]
""", SOURCE),
    "exception attribute": ("""
class E(Exception): pass
def main():
    e = E(decoy()); e.x = source()
    try: raise e
    except E as error: return error.x
""", SOURCE),
    "exception group": ("""
def main():
    try: raise ExceptionGroup("g", [ValueError(decoy()), ValueError(source())])
    except* ValueError as group: got = group.exceptions[1].args[0]
    return got
""", SOURCE),
    "exception cause": ("""
def main():
    try:
        try: raise ValueError(source())
        except ValueError as error: raise KeyError(decoy()) from error
    except KeyError as error: return error.__cause__.args[0]
""", SOURCE),
    "closure": ("""
def main():
    x = source(); decoy()
    def f(): return x
    return f()
""", SOURCE),
    "nonlocal": ("""
def main():
    x = decoy()
    def f():
        nonlocal x
        x = source()
    f()
    return x
""", SOURCE),
    "global": ("""
X = 0
def set_it():
    global X
    X = source()
def main(): decoy(); set_it(); return X
""", SOURCE),
    "globals": ("""
def main():
    globals()["Y"] = source(); decoy()
    return Y
""", SOURCE),
    "locals": ("""
def main():
    y, x = decoy(), source()
    return locals()["x"]
""", SOURCE),
    "eval": ("""
def main():
    y, x = decoy(), source()
    return eval("x")
""", SOURCE, 'eval("x")'),
    "exec": ("""
def main():
    y, space = decoy(), {"x": source()}
    exec("z = x", space)
    return space["z"]
""", SOURCE),
    "conditional": ("""
def main(): return source() if one() else decoy()
""", SOURCE),
    "or": ("""
def main(): return zero() or source() or decoy()
""", SOURCE),
    "comprehension": ("""
def main(): return [f() for f in (decoy, source)][1]
""", SOURCE),
    "dict comprehension": ("""
def main(): return {k: f() for k, f in (("a", decoy), ("b", source))}["b"]
""", SOURCE),
    "nested function call": ("""
def same(x): return x
def main(): return same(same(source()))
""", SOURCE),
    "augmented": ("""
def main():
    x = source(); x += zero()
    return x
""", "x += zero()", SOURCE),
    "global statement loop": ("""
def main():
    for f in (decoy, source): x = f()
    return x
""", SOURCE),
    "sort": ("""
def main():
    xs = [(2, source()), (1, decoy())]; xs.sort()
    return xs[1][1]
""", SOURCE),
    "max": ("""
def main(): return max([1, source(), 3])
""", SOURCE),
    "min by key": ("""
def main(): return min([(2, decoy()), (1, source())])[1]
""", SOURCE),
    "reversed": ("""
def main(): return list(reversed([source(), decoy()]))[1]
""", SOURCE),
    "random choice": ("""
def main(): return random.Random(0).choice([source()])
""", SOURCE),
    "random sample": ("""
def main(): return random.Random(0).sample([source()], 1)[0]
""", SOURCE),
    "list multiplied": ("""
def main(): return ([decoy(), source()] * 2)[3]
""", SOURCE),
    "list slice set": ("""
def main():
    xs = [0, 0]; xs[:] = [decoy(), source()]
    return xs[1]
""", SOURCE),
    "set": ("""
def main(): decoy(); return set([source()]).pop()
""", SOURCE),
    "user list": ("""
class L(collections.UserList): pass
def main():
    xs = L([decoy()]); xs.append(source())
    return xs[1]
""", SOURCE),
    "list subclass": ("""
class L(list):
    def last(self): return self[-1]
def main():
    xs = L([decoy()]); xs.append(source())
    return xs.last()
""", SOURCE),
    "getitem": ("""
class G:
    def __init__(self, *given): self.given = given
    def __getitem__(self, n): return self.given[n]
def main(): return G(decoy(), source())[1]
""", SOURCE),
    "iterator protocol": ("""
class I:
    def __init__(self, *given): self.given = list(given)
    def __iter__(self): return self
    def __next__(self):
        if not self.given: raise StopIteration
        return self.given.pop(0)
def main(): return list(I(decoy(), source()))[1]
""", SOURCE),
    "rebound method": ("""
def main():
    xs = [decoy()]; add = xs.append; add(source())
    return xs[1]
""", SOURCE),
    "types.MethodType": ("""
def get(self): return self.x
def main():
    box = Box(source()); box.y = decoy()
    return types.MethodType(get, box)()
""", SOURCE),
    "function attribute": ("""
def f(): pass
def main():
    f.y = decoy(); f.x = source()
    return f.x
""", SOURCE),
    "module attribute": ("""
def main():
    m = types.ModuleType("m"); m.y = decoy(); m.x = source()
    return m.x
""", SOURCE),
    "cell contents": ("""
def main():
    x = source(); decoy()
    def f(): return x
    return f.__closure__[0].cell_contents
""", SOURCE),
    "kwargs": ("""
def f(**named): return named["b"]
def main(): return f(a=decoy(), b=source())
""", SOURCE),
    "args": ("""
def f(*given): return given[1]
def main(): return f(decoy(), source())
""", SOURCE),
    "starred call": ("""
def f(a, b): return b
def main(): return f(*[decoy(), source()])
""", SOURCE),
}  # fmt: skip
VALUES = {"a small number": "41", "a large number": "1_000_041", "a text": '"forty-one"'}
ONLY_SMALL = {"bytearray", "bytes", "memoryview", "memoryview behind"}
NUMBERS = {
    "struct", "struct unpack_from", "struct into a bytearray", "int from bytes", "array",
    "array written", "array iterated", "ctypes", "ctypes written", "ctypes structure",
    "ctypes structure written", "ctypes array", "date", "timedelta", "date replaced", "fraction",
    "decimal", "complex", "computed", "abs", "int of an int", "sum of one", "statistics",
    "partial of a builtin", "reduce with a builtin", "heapq numbers", "nsmallest", "heapq merge",
    "bisect insort", "accumulate max", "match as", "match value", "max", "augmented", "percent",
    "Counter", "statistics mode",
}  # fmt: skip
"""Programs that need a number."""


def cases() -> list[tuple[str, str]]:
    made = []
    for name in PROGRAMS:
        for kind in VALUES:
            fits = kind == "a small number" or name not in ONLY_SMALL
            if fits and (kind != "a text" or name not in NUMBERS):
                made.append((name, kind))
    return made


def answer(name: str, kind: str) -> str:
    """What is said of the origin: right, candidates, unknown, or wrong with what was said."""
    body, *right = PROGRAMS[name]
    value = VALUES[kind]
    right = [value if each == SOURCE else each for each in right]
    source = HEAD.format(value=value) + body + "main()\n"
    origin = mark(textwrap.dedent(source), "main", "").origin
    if not origin.makers:
        return "unknown"
    decoys = [maker for maker in origin.makers if maker.site.function == "decoy"]
    said = [maker for maker in origin.makers if maker not in decoys and maker.site.text in right]
    if not said:
        texts = ", ".join(f"{each.site.text} in {each.site.function}" for each in origin.makers)
        return f"wrong: {texts}"
    return "right" if len(origin.makers) == 1 else "candidates"


@pytest.mark.parametrize(("name", "kind"), cases())
def test_an_origin_is_never_another_expression(name: str, kind: str) -> None:
    assert answer(name, kind) in {"right", "candidates", "unknown"}
