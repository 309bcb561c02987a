"""Classes with methods for all that the language and its library may ask of them, and what asks.

Each case is a function; all are run, and what became of each is printed.
"""

import operator, functools, itertools, collections, copy, json, re, math, contextlib, heapq, bisect, string, random, statistics
class N:
    def __init__(self, v=3): self.v = v
    def __add__(self, o): return N(self.v)
    def __radd__(self, o): return N(self.v)
    def __iadd__(self, o): return self
    def __sub__(self, o): return N(1)
    def __mul__(self, o): return N(2)
    def __rmul__(self, o): return N(2)
    def __mod__(self, o): return N(2)
    def __divmod__(self, o): return (1, 2)
    def __neg__(self): return N(2)
    def __abs__(self): return N(2)
    def __round__(self, n=None): return 5
    def __index__(self): return 2
    def __int__(self): return 2
    def __float__(self): return 2.0
    def __bool__(self): return True
    def __eq__(self, o): return isinstance(o, N) and self.v == o.v
    def __lt__(self, o): return True
    def __le__(self, o): return True
    def __gt__(self, o): return False
    def __hash__(self): return 7
    def __repr__(self): return "N"
    def __str__(self): return "n"
    def __format__(self, s): return "f"
    def __call__(self, *a): return 4
    def __enter__(self): return self
    def __exit__(self, *a): return None
    def __copy__(self): return N()
    def __deepcopy__(self, m): return N()
    def __getattr__(self, n):
        if n.startswith("__"): raise AttributeError(n)
        return 9
    def __dir__(self): return ["a"]
    def __sizeof__(self): return 3
    def __instancecheck__(self, x): return True
    def __bytes__(self): return b"x"
    def __complex__(self): return 1j
    def __trunc__(self): return 2
    def __floor__(self): return 2
    def __ceil__(self): return 2
class S:
    def __init__(self, *xs): self.xs = list(xs) or [1, 2, 3]
    def __len__(self): return len(self.xs)
    def __length_hint__(self): return 3
    def __getitem__(self, i): return self.xs[i]
    def __setitem__(self, i, v): self.xs[i] = v
    def __delitem__(self, i): del self.xs[i]
    def __iter__(self): return iter(self.xs)
    def __reversed__(self): return reversed(self.xs)
    def __contains__(self, x): return x in self.xs
    def __add__(self, o): return S(*self.xs, *o)
    def __iadd__(self, o): self.xs.extend(o); return self
    def __bool__(self): return True
class Q:
    def __init__(self): self.n = 3
    def __getitem__(self, i):
        if i >= self.n: raise IndexError
        return i
    def __len__(self): return 3
class I:
    def __init__(self, n=3): self.n = n
    def __iter__(self): return self
    def __next__(self):
        if self.n == 0: raise StopIteration
        self.n -= 1
        return self.n
    def __length_hint__(self): return self.n
class M:
    def __init__(self): self.d = {"a": 1, "b": 2}
    def keys(self): return self.d.keys()
    def __getitem__(self, k): return self.d[k]
class D(dict):
    def __getitem__(self, k): return 5
    def __missing__(self, k): return 6
    def keys(self): return dict.keys(self)
    def __iter__(self): return dict.__iter__(self)
    def get(self, k, d=None): return 8
    def items(self): return dict.items(self)
    def __contains__(self, k): return True
    def __len__(self): return 2
class D2(dict):
    def __missing__(self, k): return 6
class L(list):
    def __getitem__(self, k): return list.__getitem__(self, k)
    def __iter__(self): return list.__iter__(self)
    def __len__(self): return list.__len__(self)
    def append(self, x): list.append(self, x)
    def __eq__(self, o): return True
    def __contains__(self, x): return True
class T(str):
    def __len__(self): return 2
    def __eq__(self, o): return str.__eq__(self, o)
    def __hash__(self): return str.__hash__(self)
    def __str__(self): return "q"
    def __iter__(self): return iter("ab")
    def __add__(self, o): return T(str.__add__(self, o))
class A:
    def __init__(self): self.__dict__["x"] = 1
    def __getattribute__(self, n): return object.__getattribute__(self, n)
    def __setattr__(self, n, v): object.__setattr__(self, n, v)
    def __delattr__(self, n): object.__delattr__(self, n)
class P:
    @property
    def p(self): return [1, 2]
    @p.setter
    def p(self, v): pass
    @p.deleter
    def p(self): pass
    @functools.cached_property
    def c(self): return [1]
    @staticmethod
    def s(x): return x
    @classmethod
    def k(cls, x): return x
class Desc:
    def __get__(self, o, t=None): return 5
    def __set__(self, o, v): pass
    def __delete__(self, o): pass
    def __set_name__(self, o, n): pass
class H: d = Desc()
class Meta(type):
    def __call__(cls, *a): return type.__call__(cls, *a)
    def __getattr__(cls, n):
        if n.startswith("__"): raise AttributeError(n)
        return 3
    def __iter__(cls): return iter([1, 2])
    def __contains__(cls, x): return True
    def __len__(cls): return 2
    def __getitem__(cls, i): return i
    def __instancecheck__(cls, x): return True
    def __subclasscheck__(cls, x): return True
    def __hash__(cls): return 4
    def __eq__(cls, o): return cls is o
    def __repr__(cls): return "meta"
    def __bool__(cls): return True
class K(metaclass=Meta):
    def __init__(self, *a): self.a = a
    def __class_getitem__(cls, i): return 1
class E:
    def __iter__(self): raise StopIteration(N())
class G:
    def __getattr__(self, n):
        if n == "keys": return lambda: ["a"]
        raise AttributeError(n)
    def __getitem__(self, k): return 1
class F:
    def __bool__(self): return False
class C:
    def __lt__(self, o): return F()
    def __gt__(self, o): return N()
def ident(x): return x
def key(x): return x
def pred(x): return True
def gen():
    try: yield from [1, 2]
    except ValueError: yield 3
    finally: pass
def addf(a, b): return a
def many(*a, **k): return len(a)


def case_0(): return N() + 1
def case_1(): return 1 + N()
def case_2(): return N() - 1
def case_3(): return N() * 2
def case_4(): return 2 * N()
def case_5(): return N() % 3
def case_6(): return divmod(N(), 2)
def case_7(): return -N()
def case_8(): return abs(N())
def case_9(): return round(N())
def case_10(): return round(N(), 1)
def case_11(): return [1, 2, 3][N()]
def case_12(): return int(N())
def case_13(): return float(N())
def case_14(): return bool(N())
def case_15(): return not N()
def case_16(): return N() and 1
def case_17(): return N() or 1
def case_18(): return 1 if N() else 2
def case_19(): return N() == N()
def case_20(): return N() != N()
def case_21(): return N() < N()
def case_22(): return N() <= N() < N()
def case_23(): return N() in [N(1), N()]
def case_24(): return N() in (N(), 2)
def case_25(): return N() in {N(), 2}
def case_26(): return N() in {N(): 1}
def case_27(): return [N(1), N()].index(N())
def case_28(): return [N(1), N()].count(N())
def case_29(): return [N(1), N()].remove(N())
def case_30(): return {N(): 1}[N()]
def case_31(): return {N(): 1}.get(N())
def case_32(): return {N(): 1}.setdefault(N(), 3)
def case_33(): return {N(): 1}.pop(N())
def case_34(): return {N(), N()}
def case_35(): return {N(): 1, N(): 2}
def case_36(): return set([N(), N()])
def case_37(): return frozenset([N(), N()])
def case_38(): return dict([(N(), 1), (N(), 2)])
def case_39(): return dict.fromkeys([N(), N()])
def case_40(): return {N()} | {N()}
def case_41(): return {N()} & {N()}
def case_42(): return {N()} - {N()}
def case_43(): return {N()} == {N()}
def case_44(): return {N()} <= {N(), 1}
def case_45(): return [N()] == [N()]
def case_46(): return (N(),) < (N(),)
def case_47(): return [N()] + [N()]
def case_48(): return [N()] * 2
def case_49(): return sorted([N(), N(), N()])
def case_50(): return sorted([N(), N(), N()], key=key)
def case_51(): return sorted([N(), N()], reverse=True)
def case_52(): return min(N(), N())
def case_53(): return max([N(), N()])
def case_54(): return min([N(), N()], key=key)
def case_55(): return sum([N(), N()])
def case_56(): return sum([N(), N()], N())
def case_57(): return any([N(), N()])
def case_58(): return all([N(), N()])
def case_59(): return repr(N())
def case_60(): return str(N())
def case_61(): return format(N())
def case_62(): return format(N(), "x")
def case_63(): return f"{N()}"
def case_64(): return f"{N()!r}"
def case_65(): return f"{N():>3}"
def case_66(): return f"{N()!s:>{N()}}"
def case_67(): return "%s %r" % (N(), N())
def case_68(): return "%d" % N()
def case_69(): return "{} {!r} {x}".format(N(), N(), x=N())
def case_70(): return "{0.v} {0}".format(N())
def case_71(): return "{x}".format_map({"x": N()})
def case_72(): return print(N(), [N()])
def case_73(): return str([N(), {N(): N()}])
def case_74(): return hash(N())
def case_75(): return hash((N(), N()))
def case_76(): return N()(1)
def case_77(): return N().attr
def case_78(): return getattr(N(), "foo")
def case_79(): return getattr(N(), "__foo__", 3)
def case_80(): return hasattr(N(), "foo")
def case_81(): return copy.copy(N())
def case_82(): return copy.deepcopy([N()])
def case_83(): return list(range(N()))
def case_84(): return range(N())[0]
def case_85(): return "ab" * N()
def case_86(): return chr(N())
def case_87(): return bin(N())
def case_88(): return isinstance(N(), N)
def case_89(): return isinstance(3, N())
def case_90(): return isinstance(N(), (int, N))
def case_91(): return operator.add(N(), N())
def case_92(): return operator.index(N())
def case_93(): return functools.reduce(addf, [N(), N()])
def case_94(): return functools.reduce(operator.add, [N(), N()])
def case_95(): return list(map(ident, [N()]))
def case_96(): return list(filter(None, [N()]))
def case_97(): return list(filter(pred, [N()]))
def case_98(): return list(zip([N()], S()))
def case_99(): return list(enumerate(S()))
def case_100(): return list(enumerate(S(), N()))
def case_101(): return dict(zip(S(), S()))
def case_102(): return len(S())
def case_103(): return list(S())
def case_104(): return tuple(S())
def case_105(): return set(S())
def case_106(): return sorted(S())
def case_107(): return reversed(S())
def case_108(): return list(reversed(S()))
def case_109(): return S()[0]
def case_110(): return S()[0:2]
def case_111(): return S() + S()
def case_112(): return 1 in S()
def case_113(): return [*S()]
def case_114(): return (*S(), 1)
def case_115(): return {*S()}
def case_116(): return many(*S())
def case_117(): return many(*S(), *I())
def case_118(): return many(*I(), **M())
def case_119(): return many(**M())
def case_120(): return many(**D(a=1))
def case_121(): return {**M()}
def case_122(): return {**M(), **M()}
def case_123(): return {**D(a=1)}
def case_124(): return [x for x in S()]
def case_125(): return {x for x in S()}
def case_126(): return {x: x for x in S()}
def case_127(): return list(x for x in S())
def case_128(): return [x for x in S() if N()]
def case_129(): return sum(S())
def case_130(): return max(S())
def case_131(): return min(S())
def case_132(): return any(S())
def case_133(): return all(S())
def case_134(): return ",".join(map(str, S()))
def case_135(): return iter(S())
def case_136(): return next(iter(S()))
def case_137(): return bool(S())
def case_138(): return list(Q())
def case_139(): return 2 in Q()
def case_140(): return list(reversed(Q()))
def case_141(): return [*Q()]
def case_142(): return iter(Q())
def case_143(): return list(I())
def case_144(): return tuple(I())
def case_145(): return [*I()]
def case_146(): return sum(I())
def case_147(): return max(I())
def case_148(): return sorted(I())
def case_149(): return set(I())
def case_150(): return dict.fromkeys(I())
def case_151(): return 2 in I()
def case_152(): return next(I())
def case_153(): return next(I(0), 5)
def case_154(): return list(zip(I(), I()))
def case_155(): return list(map(addf, I(), I()))
def case_156(): return list(itertools.chain(I(), I()))
def case_157(): return list(itertools.islice(I(), 2))
def case_158(): return list(itertools.accumulate(I()))
def case_159(): return list(itertools.groupby(I()))
def case_160(): return list(itertools.product(I(), I()))
def case_161(): return list(itertools.takewhile(pred, I()))
def case_162(): return [(k, list(g)) for k, g in itertools.groupby(I(), key)]
def case_163(): return "".join(T("ab") for _ in range(2))
def case_164(): return bytes(I())
def case_165(): return bytearray(I())
def case_166(): return list(I()) + [1]
def case_167(): return [].extend(I())
def case_168(): return [1].extend(S())
def case_169(): return {}.update(M())
def case_170(): return {}.update([(N(), 1)])
def case_171(): return {}.update(a=N())
def case_172(): return dict(M())
def case_173(): return dict(M(), c=1)
def case_174(): return dict(D(a=1))
def case_175(): return D(a=1)["a"]
def case_176(): return D(a=1).get("a")
def case_177(): return "a" in D()
def case_178(): return list(D(a=1))
def case_179(): return len(D())
def case_180(): return D(a=1) == {"a": 1}
def case_181(): return D2()["zz"]
def case_182(): return D2().get("q")
def case_183(): return "q" in D2()
def case_184(): return collections.ChainMap(D2(), {"a": 1})["a"]
def case_185(): return collections.Counter(S())
def case_186(): return collections.Counter([N(), N()])
def case_187(): return collections.defaultdict(N)["x"]
def case_188(): return collections.OrderedDict([(N(), 1)])
def case_189(): return collections.deque(S(), 2)
def case_190(): return collections.deque([N()]).index(N())
def case_191(): return N() in collections.deque([N()])
def case_192(): return L([1, 2])[0]
def case_193(): return len(L([1]))
def case_194(): return list(L([1]))
def case_195(): return L([1]).append(2)
def case_196(): return L([1]) == [2]
def case_197(): return 5 in L([1])
def case_198(): return L([1]) + [1]
def case_199(): return [x for x in L([1, 2])]
def case_200(): return [*L([1])]
def case_201(): return sorted(L([2, 1]))
def case_202(): return sum(L([1]))
def case_203(): return len(T("abc"))
def case_204(): return T("a") == "a"
def case_205(): return T("a") + "b"
def case_206(): return "b" + T("a")
def case_207(): return str(T("x"))
def case_208(): return f"{T('x')}"
def case_209(): return "".join([T("a"), T("b")])
def case_210(): return list(T("xy"))
def case_211(): return {T("a"): 1}["a"]
def case_212(): return T("abc").upper()
def case_213(): return "a" in T("abc")
def case_214(): return T("abc")[0]
def case_215(): return "%s" % T("x")
def case_216(): return print(T("x"))
def case_217(): return A().x
def case_218(): return getattr(A(), "x")
def case_219(): return getattr(A(), "y", 1)
def case_220(): return hasattr(A(), "y")
def case_221(): return setattr(A(), "z", 1)
def case_222(): return vars(A())
def case_223(): return A().__class__
def case_224(): return isinstance(A(), A)
def case_225(): return isinstance(A(), int)
def case_226(): return callable(A())
def case_227(): return len([A()])
def case_228(): return [A()] == [A()]
def case_229(): return A() in [1, 2]
def case_230(): return str(A())[:2]
def case_231(): return many(A())
def case_232(): return P().p
def case_233(): return P().p[0]
def case_234(): return P().c
def case_235(): return P().s(1)
def case_236(): return P().k(1)
def case_237(): return P.k(1)
def case_238(): return getattr(P(), "p")
def case_239(): return hasattr(P(), "p")
def case_240(): return H().d
def case_241(): return H.d
def case_242(): return getattr(H(), "d")
def case_243(): return K(1).a
def case_244(): return K[1]
def case_245(): return K.foo
def case_246(): return len(K)
def case_247(): return list(K)
def case_248(): return 1 in K
def case_249(): return isinstance(3, K)
def case_250(): return issubclass(int, K)
def case_251(): return {K: 1}[K]
def case_252(): return K == K
def case_253(): return bool(K)
def case_254(): return [K].index(K)
def case_255(): return str(K)
def case_256(): return type(K(2)) is K
def case_257(): return list(gen())
def case_258(): return next(gen())
def case_259(): return sum(x for x in gen())
def case_260(): return list(iter(functools.partial(next, I()), 0))
def case_261(): return functools.partial(many, 1)(*S())
def case_262(): return heapq.nsmallest(2, [N(), N(), N()])
def case_263(): return heapq.heapify([N(), N(), N()])
def case_264(): return bisect.bisect([N(), N()], N())
def case_265(): return bisect.insort([N(), N()], N())
def case_266(): return math.floor(N())
def case_267(): return math.ceil(N())
def case_268(): return math.trunc(N())
def case_269(): return math.sqrt(N())
def case_270(): return math.prod([N(), N()])
def case_271(): return math.fsum([N()])
def case_272(): return pow(2, N())
def case_273(): return json.dumps({"a": [1, 2]}, default=ident)
def case_274(): return json.dumps(N(), default=str)
def case_275(): return re.sub("a", ident and (lambda m: "b"), "aaa")
def case_276(): return max(S(), key=key, default=3)
def case_277(): return list(map(N(), [1]))
def case_278(): return sorted([3, 1], key=N())
def case_279(): return statistics.mean(S())
def case_280(): return type(N())()
def case_281(): return N.__add__(N(), 1)
def case_282(): return super(N, N()).__init__()
def case_283(): return bytes(N())
def case_284(): return complex(N())
def case_285(): return dir(N())
def case_286(): return eval("N() + 1")
def case_287(): return slice(N(), N()) == slice(N(), N())
def case_288(): return [1, 2, 3][N():N()]
def case_289(): return [1, 2, 3][:N()]
def case_290(): return "abc".replace("a", T("z"))
def case_291(): return "abc".startswith(T("a"))
def case_292(): return "a-b".split(T("-"))
def case_293(): return "abc".find(T("b"))
def case_294(): return T("a").join(["x", "y"])
def case_295(): return T("{}").format(N())
def case_296(): return T("a%s") % N()
def case_297(): return int(T("12"))
def case_298(): return float(T("1.5"))
def case_299(): return [T("a"), T("b")].index("b")
def case_300(): return string.Template("$x").substitute(x=N())
def case_301(): return next(iter({N(): 1}.items()))
def case_302(): return [k for k, v in {N(): N()}.items()]
def case_303(): return [*{N(): 1}]
def case_304(): return dict(c=N(), **M())
def case_305(): return set(M().keys())
def case_306(): return {**{N(): 1}, **{N(): 2}}
def case_307(): return {N(): 1} | {N(): 2}
def case_308(): return {N(): 1} == {N(): 1}
def case_309(): return (lambda *a, **k: a)(*S(), **M())
def case_310(): return [1, 2, 3].pop(N())
def case_311(): return [1, 2, 3].insert(N(), 4)
def case_312(): return [1, 2, 3, 4] * N()
def case_313(): return collections.deque([1, 2, 3])[N()]
def case_314(): return collections.deque([1, 2, 3]).rotate(N())
def case_315(): return "abc"[N()]
def case_316(): return "abc"[N():]
def case_317(): return (1, 2, 3)[N()]
def case_318(): return (1, 2, 3)[:N()]
def case_319(): return list(reversed((1, 2)))
def case_320(): return L([1, 2]).pop()
def case_321(): return L([1, 2]).insert(0, 1)
def case_322(): return L([3, 1]).sort()
def case_323(): return L([1, 2])[-1]
def case_324(): return L([1, 2]).extend(I())
def case_325(): return L([1, 2]).copy()
def case_326(): return L([1, 2])[0:1]
def case_327(): return tuple(L([1]))
def case_328(): return D(a=1).copy()
def case_329(): return D(a=1) | {"b": 2}
def case_330(): return {"b": 2} | D(a=1)
def case_331(): return D2(a=1)["a"]
def case_332(): return D2(a=1).pop("a")
def case_333(): return D2(a=1).setdefault("q", 1)
def case_334(): return D2(a=1).items()
def case_335(): return list(D2(a=1).items())
def case_336(): return D(a=1).pop("a")
def case_337(): return D(a=1).setdefault("z", N())
def case_338(): return D(a=1).update({"b": 1})
def case_339(): return D(a=1).values()
def case_340(): return sorted(D(b=1, a=2))
def case_341(): return min(D(b=1, a=2), key=key)
def case_342(): return set(D(a=1))
def case_343(): return [k for k in D(a=1)]
def case_344(): return str(D(a=1))
def case_345(): return str(L([1]))
def case_346(): return json.dumps(D(a=1))
def case_347(): return json.dumps(L([1]))
def case_348(): return json.dumps({T("a"): T("b")})
def case_349(): return re.match(T("a"), T("abc")).group()
def case_350(): return re.findall("a", T("aab"))
def case_351(): return T("a b").split()
def case_352(): return T("abc").strip()
def case_353(): return T("a").encode()
def case_354(): return sorted([T("b"), T("a")])
def case_355(): return max(T("b"), T("a"))
def case_356(): return "x" + str(T("y"))
def case_357(): return "%s-%s" % (T("x"), N())
def case_358(): return "{:>5}".format(T("x"))
def case_359(): return T("abc")[1:]
def case_360(): return T("abc") * 2
def case_361(): return print(T("a"), end=T("z"))
def case_362(): return ",".join(S("a", "b"))
def case_363(): return ",".join(T("ab"))
def case_364(): return str.join(",", S("a"))
def case_365(): return "abc".join(I(0))
def case_366(): return collections.namedtuple("Z", S("a", "b"))
def case_367(): return next(zip(I(), I()))
def case_368(): return list(zip(S(), I(), strict=True))
def case_369(): return list(itertools.zip_longest(I(), I(2)))
def case_370(): return list(itertools.starmap(addf, [S(1, 2)]))
def case_371(): return list(itertools.permutations(S(), 2))
def case_372(): return list(itertools.compress(S(), I()))
def case_373(): return dict(S((1, 2), (3, 4)))
def case_374(): return dict([S(1, 2)])
def case_375(): return dict(map(S, [1], [2]))
def case_376(): return set(S(N(), N()))
def case_377(): return frozenset(I())
def case_378(): return {1, 2}.union(I())
def case_379(): return {1, 2}.update(S(), I())
def case_380(): return {1, 2}.intersection(S())
def case_381(): return {1, 2}.issubset(I())
def case_382(): return {1, 2} >= set(I())
def case_383(): return {1}.add(N())
def case_384(): return {N()}.discard(N())
def case_385(): return {N()}.remove(N())
def case_386(): return [1, 2, 3].index(N())
def case_387(): return (1, N()).count(N())
def case_388(): return [N(), N()].sort()
def case_389(): return [N(), N()].reverse()
def case_390(): return sorted({N(): 1, N(2): 3}.items())
def case_391(): return enumerate(I()).__next__()
def case_392(): return sum([[1], [2]], [])
def case_393(): return any(x for x in I())
def case_394(): return all(pred(x) for x in I())
def case_395(): return functools.reduce(lambda a, b: a + b, S())
def case_396(): return operator.itemgetter(0)(S())
def case_397(): return operator.itemgetter("a", "b")(M())
def case_398(): return operator.attrgetter("v")(N())
def case_399(): return operator.methodcaller("__len__")(S())
def case_400(): return operator.contains(S(), 1)
def case_401(): return operator.concat([1], [2])
def case_402(): return operator.length_hint(I())
def case_403(): return operator.countOf(S(), 1)
def case_404(): return type("Z", (N,), {})()
def case_405(): return type("Z", (K,), {})(1)
def case_406(): return vars(N())
def case_407(): return id(N()) and 1
def case_408(): return callable(N())
def case_409(): return N().__class__.__name__
def case_410(): return N().__dict__
def case_411(): return N.__dict__["__add__"](N(), 1)
def case_412(): return getattr(N(), "v") + getattr(S(), "xs")[0]
def case_413(): return getattr(K, "zz")
def case_414(): return hasattr(K, "zz")
def case_415(): return K.__name__
def case_416(): return issubclass(K, K)
def case_417(): return isinstance(K(), (int, K))
def case_418(): return [K, K].count(K)
def case_419(): return K in [K]
def case_420(): return K in {K}
def case_421(): return {K}
def case_422(): return {K: K}
def case_423(): return dict.fromkeys([K])
def case_424(): return sorted([K], key=lambda k: 1)
def case_425(): return f"{K}"
def case_426(): return [K(), K()][0].a
def case_427(): return many(K, k=K)
def case_428(): return (K,) == (K,)
def case_429(): return memoryview(bytes(N()))[0]
def case_430(): return bytes([N()])
def case_431(): return hex(N())
def case_432(): return "{:d}".format(3)
def case_433(): return "a".center(N())
def case_434(): return "a".ljust(N(), "x")
def case_435(): return "a\tb".expandtabs(N())
def case_436(): return "aXbXc".split("X", N())
def case_437(): return int.from_bytes(S(), "big")
def case_438(): return round(2.567, N())
def case_439(): return divmod(7, int(N()))
def case_440(): return math.gcd(N(), 4)
def case_441(): return math.isclose(N(), 2)
def case_442(): return math.hypot(N(), N())
def case_443(): return random.Random(3).choice(S())
def case_444(): return random.Random(3).sample(list(S()), N())
def case_445(): return statistics.median(S())
def case_446(): return contextlib.suppress(ValueError).__enter__()
def case_447(): return copy.copy(S())
def case_448(): return copy.deepcopy(L([1]))
def case_449(): return copy.copy(D(a=1))
def case_450(): x = N(); x += 1
def case_451(): x = [N()]; x[0] += 1
def case_452(): x = {"a": N()}; x["a"] += 1
def case_453(): x = S(); x[0] += 1
def case_454(): x = S(); x[0] = 5; del x[1]
def case_455(): x = S(); x += [1]
def case_456(): x = [1]; x += S()
def case_457(): x = [1]; x += I()
def case_458(): x = [1]; x *= N()
def case_459(): x = {1}; x |= {N()}
def case_460(): a, b, c = S()
def case_461(): a, *b = I()
def case_462(): a, (b, c) = 1, Q().__class__() and [1, 2]
def case_463():
    for x in S(): pass
def case_464():
    for x in I(): pass
def case_465():
    for x in Q(): pass
def case_466():
    for a, b in [S(1, 2)]: pass
def case_467():
    while N(): break
def case_468(): assert N()
def case_469():
    with N() as n: pass
def case_470():
    with N(), N(): pass
def case_471():
    try: 
        with N(): raise ValueError
    except ValueError: pass
def case_472(): x = P(); x.p = 1; del x.p
def case_473(): x = P(); x.p += [1]
def case_474(): x = P(); x.c; x.c
def case_475(): x = H(); x.d = 1; del x.d
def case_476(): x = A(); x.y = 1; del x.y; x.x += 1
def case_477(): x = [1, 2, 3]; x[0:2] = S()
def case_478(): x = [1, 2, 3]; x[0:2] = I()
def case_479(): x = [1, 2, 3]; x[N():] = I()
def case_480(): x = [1, 2, 3]; del x[N()]
def case_481(): x = [1, 2, 3]; x[N()] = 1
def case_482(): x = {}; x[N()] = 1; x[N()] = 2; del x[N()]
def case_483(): x = D(); x["a"] = 1; x["a"] += 1
def case_484(): x = D2(); x["a"] += 1
def case_485(): x = collections.defaultdict(N); x["a"] += 1
def case_486(): x = L(); x.append(1); x[0] += 1
def case_487(): x = L([1]); x += [2]
def case_488():
    match N():
        case N(v=3): pass
def case_489():
    match S():
        case [1, *r]: pass
def case_490():
    match {"a": N()}:
        case {"a": N(v=1)}: pass
        case {"a": N()}: pass
def case_491():
    match M():
        case {"a": 1}: pass
def case_492():
    match N():
        case 3: pass
        case "x" | 4: pass
def case_493():
    match K(1):
        case K(a=q): pass
def case_494(): g = gen(); next(g); g.throw(ValueError); g.close()
def case_495(): g = gen(); next(g); g.send(None)
def case_496():
    def f(): yield from I()
    list(f())
def case_497():
    def f(): yield from S()
    list(f())
def case_498():
    def f(): yield from gen()
    list(f())
def case_499():
    def f(): yield from Q()
    list(f())
def case_500():
    class Z(P): pass
    Z().p
def case_501():
    class Z(K): pass
    Z(1)
def case_502():
    class Z:
        d = Desc()
    class Z(N):
        def __init__(self): super().__init__(5)
    Z() + 1
def case_503():
    @ident
    def f(): return 1
    f()
def case_504():
    @functools.wraps(many)
    def f(*a): return 1
    f()
def case_505():
    @functools.lru_cache
    def f(a): return a
    f(N()); f(N())
def case_506():
    @functools.total_ordering
    class Z:
        def __eq__(self, o): return False
        def __lt__(self, o): return False
    Z() >= Z(); Z() > Z()
def case_507():
    @contextlib.contextmanager
    def c(): yield ident(1)
    with c() as x: pass
def case_508(): import dataclasses
def case_509():
    @dataclasses.dataclass(order=True)
    class Z:
        a: N
        b: list = dataclasses.field(default_factory=S)
    Z(N()) == Z(N()); Z(N()) < Z(N()); repr(Z(N())); dataclasses.asdict(Z(N()))
def case_510(): import enum
def case_511():
    class E(enum.Enum):
        A = 1
        @classmethod
        def _missing_(cls, v): return cls.A
    E(1); E(5); E["A"]; list(E); E.A in E
def case_512(): import collections as cc
def case_513(): Z = cc.namedtuple("Z", "a b"); Z(N(), 1)._replace(a=N()) == Z(N(), 1); Z(*S(1, 2))
def case_514(): x = sorted([S(2), S(1)], key=len)
def case_515(): x = [N() for _ in range(2)]; x.sort(); x.reverse(); x.sort(key=key)
def case_516(): x = {N(i): i for i in range(3)}; x.popitem(); x.update({N(5): 1}); x |= {N(6): 1}
def case_517():
    global G
def case_518(): G = N(); G += 1
def case_519(): print(*S(), sep=T(","))
def case_520(): lambda_ = (lambda a, b=N(): a); lambda_(N())
def case_521(): raise_ = None
def case_522():
    try: raise KeyError(N())
    except KeyError as e: str(e); e.args[0] == N()
def case_523():
    try: [][N()]
    except IndexError: pass
def case_524():
    try: {}[N()]
    except KeyError: pass
def case_525():
    try: int(T("q"))
    except ValueError as e: str(e)
def case_526(): del N().v
def case_527():
    return 1 if F() and N() else 2
def case_528():
    return 1 if N() and F() else 2
def case_529():
    return 1 if N() or F() else 2
def case_530():
    return not (F() and N())
def case_531():
    return 1 if not (N() or F()) else 2
def case_532():
    return 1 if (F() and N()) or N() else 2
def case_533():
    return 1 if not (N() and (F() or N())) else 2
def case_534():
    return (N() if F() else F()) and N()
def case_535():
    return 1 if (N() if N() else F()) else 2
def case_536():
    return 1 if ((F() and N()) if N() else F()) else 2
def case_537():
    return [x for x in [1] if F() and N()]
def case_538():
    return [x for x in [1] if N() or F()]
def case_539():
    return [x for x in [1, 2] if not (F() or F())]
def case_540():
    return 1 if (y := F()) and N() else 2
def case_541():
    return 1 if (y := F() and N()) else 2
def case_542():
    return 1 if N() and N() and F() else 2
def case_543():
    return bool(F() and N())
def case_544():
    return 1 if C() < C() < C() else 2
def case_545():
    return 1 if C() > C() > C() else 2
def case_546():
    return C() < C() < C()
def case_547():
    return (lambda: 1 if F() and N() else 2)()
def case_548():
    return [1 if F() or N() else 2 for _ in range(2)]
def case_549():
    return 1 if type(F() and 3).__name__ == 'F' else 2
def case_550():
    if F() and N(): pass
def case_551():
    if not (N() or F()): pass
def case_552():
    if N() or F(): pass
    elif F(): pass
def case_553():
    while F() or F(): pass
def case_554():
    while F() and N(): pass
def case_555():
    assert N() or F()
def case_556():
    assert not (F() and N())
def case_557():
    match 3:
        case 3 if F() and N(): pass
        case _ if N() or F(): pass
def case_558():
    x = F() and N()
    if x: pass
def case_559():
    if N() and (F() or N()) and not F(): pass
def case_560():
    return ','.join(E())
def case_561():
    a, *b = E()
def case_562():
    x = [1]; x[:] = E()
def case_563():
    return list(E())
def case_564():
    for x in E(): pass
def case_565():
    return [*E()]
def case_566():
    return {**G()}
def case_567():
    return many(**G())


def attempt(case):
    try: return str(case())
    except Exception as error: return f"{type(error).__name__}: {error}"


for case in [each for name, each in list(globals().items()) if name.startswith("case_")]:
    print(case.__name__, attempt(case))
