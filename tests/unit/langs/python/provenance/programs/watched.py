"""Objects that tell of every method of theirs that is called, and of everything asked of their class.

What is done with them is done with each kind of them. `LOG` is what was called, in order.
"""

import collections
import copy
import functools
import heapq
import itertools
import operator

LOG = []


class Meta(type):
    def __hash__(cls): LOG.append("Meta.__hash__"); return 1
    def __eq__(cls, other): LOG.append("Meta.__eq__"); return cls is other
    def __getattribute__(cls, name): LOG.append("Meta." + name); return type.__getattribute__(cls, name)
    def __getattr__(cls, name): LOG.append("Meta: no " + name); raise AttributeError(name)
    def __instancecheck__(cls, thing): LOG.append("isinstance"); return type.__instancecheck__(cls, thing)
    def __subclasscheck__(cls, kind): LOG.append("issubclass"); return type.__subclasscheck__(cls, kind)
    def __call__(cls, *given): LOG.append("Meta()"); return type.__call__(cls, *given)


NAMES = """__len__ __iter__ __getitem__ __setitem__ __delitem__ __contains__ __eq__ __ne__ __hash__
__repr__ __str__ __add__ __iadd__ __mul__ __lt__ __gt__ __bool__ __reversed__ __or__ __ior__
__format__ __index__ __int__ __and__ __sub__ keys values items get append extend pop update""".split()


def told(name, base):
    def method(self, *given, **more):
        LOG.append(name)
        return getattr(base, name)(self, *given, **more)
    return method


def watched(base):
    def read(self, name): LOG.append("get " + name); return base.__getattribute__(self, name)
    def lacks(self, name): LOG.append("no " + name); raise AttributeError(name)
    space = {name: told(name, base) for name in NAMES if hasattr(base, name)}
    space |= {"__getattribute__": read, "__getattr__": lacks}
    space["__class__"] = property(lambda self: (LOG.append("__class__"), type(self))[1])
    return Meta("Watched" + base.__name__, (base,), space)


class Plain:
    def __init__(self, value=None): self.value = value


class Placed:
    def __init__(self, values): self.values = values
    def __len__(self): return len(self.values)
    def __getitem__(self, place): return self.values[place]


class Holder: pass


KINDS = {base.__name__: watched(base)
         for base in (list, dict, set, tuple, str, int, Plain, Placed, collections.deque, frozenset)}
GIVEN = {"list": [1, 2], "dict": {"a": 1, 0: 2}, "set": [1, 2], "tuple": [1, 2], "str": "ab",
         "int": 1, "Plain": 3, "Placed": [1, 2], "deque": [1, 2], "frozenset": [1]}


def given(a, *b, c=None, **d): return a, b, c, d


def gives(x):
    got = yield x
    yield got


def sent(x):
    run = gives(x)
    next(run)
    return run.send(x)


def in_dict(x):
    d = {"a": x}
    d["b"] = d["a"]
    del d["b"]
    d.get("a"), d.setdefault("q", x), d.pop("q"), d.update(z=x)
    return d


def in_list(x):
    xs = [x]
    xs.append(x), xs.insert(0, x), xs.pop(), xs.extend([x])
    xs += [x]
    xs[0] = x
    xs[0:1] = [x]
    del xs[0]
    more = xs + [x], xs * 2
    xs.reverse()
    return more, xs[0], xs.clear()


def in_object(x):
    k = Holder()
    k.a = x
    k.b = k.a
    del k.b
    setattr(k, "c", x), getattr(k, "c"), hasattr(k, "d"), vars(k)
    return k


def raised(x):
    try:
        raise ValueError(x)
    except ValueError as error:
        return error.args


def unpacked(x):
    a, *b = [x, x, x]
    c, d = x, x
    return a, c


def matched(x):
    match [x]:
        case [y]: return y


def enclosed(x):
    y = x
    def inner():
        nonlocal y
        y = x
        return y
    return inner()


def as_class(x):
    t = type(x)
    d = {"t": t}
    d["u"] = t
    k = Holder()
    k.t = t
    xs = [t, t]
    xs.append(d["t"])
    a, b = xs[:2]
    return given(t, a, c=b, d=k.t), [each for each in xs]


KEEPING = [
    lambda x: [x, x], lambda x: given(x, x, c=x, d=x), lambda x: x is None, lambda x: (x, 1)[0],
    in_dict, in_list, in_object, lambda x: [y for y in [x, x]], lambda x: list(y for y in [x, x]),
    lambda x: {i: y for i, y in enumerate([x, x])}, sent, lambda x: list(zip([x], [x])),
    lambda x: list(map(lambda y: y, [x])), lambda x: list(filter(lambda y: True, [x])),
    lambda x: sorted([x, x], key=lambda y: 1), lambda x: max([x, x], key=lambda y: 1), raised,
    lambda x: given(*[x], **{"c": x}), unpacked, lambda x: functools.partial(given, x)(),
    lambda x: collections.deque([x]).popleft(), lambda x: x if LOG else None, enclosed, matched,
    as_class, lambda x: type(x), lambda x: id(x),
]
CALLING = [
    lambda x: isinstance(x, int), lambda x: isinstance(x, (list, dict)), lambda x: type(x).__name__,
    lambda x: len(x), lambda x: list(x), lambda x: tuple(x), lambda x: set(x), lambda x: bool(x),
    lambda x: not x, lambda x: x == x, lambda x: x != 3, lambda x: hash(x), lambda x: x in [1, x],
    lambda x: 1 in x, lambda x: repr(x), lambda x: str(x), lambda x: f"{x}", lambda x: f"{x!r}",
    lambda x: x[0], lambda x: x[0:1], lambda x: x + x, lambda x: x + [1], lambda x: x * 2,
    lambda x: x < x, lambda x: list(reversed(x)), lambda x: x | x, lambda x: x & x, lambda x: {x: 1},
    lambda x: {x: 1, x: 2}[x], lambda x: {x, x}, lambda x: copy.copy(x), lambda x: x.lacking,
    lambda x: setattr(x, "foo", 1), lambda x: getattr(x, "lacking", 1),
    lambda x: hasattr(x, "lacking"), lambda x: sorted(x), lambda x: min(x), lambda x: sum(x),
    lambda x: any(x), lambda x: all(x), lambda x: list(enumerate(x)), lambda x: list(zip(x, x)),
    lambda x: list(map(str, x)), lambda x: "".join(x), lambda x: dict(x), lambda x: [*x],
    lambda x: given(*x), lambda x: given(1, **x), lambda x: {**x}, lambda x: x.append(x),
    lambda x: x.pop(), lambda x: list(x.keys()), lambda x: list(x.values()),
    lambda x: list(x.items()), lambda x: x.get(1), lambda x: x.get("zz", 4),
    lambda x: x.update({3: 4}), lambda x: [y for y in x], lambda x: operator.setitem(x, 0, 5),
    lambda x: int(x), lambda x: [1, 2, 3][x], lambda x: list(range(x)), lambda x: [1, x].index(x),
    lambda x: [1, x].count(x), lambda x: [1, x].remove(x), lambda x: isinstance(x, type(x)),
    lambda x: isinstance(3, type(x)), lambda x: issubclass(int, type(x)), lambda x: type(x)(),
    lambda x: "{}".format(x), lambda x: "%s" % (x,), lambda x: next(iter(x)),
    lambda x: dict.fromkeys([x]), lambda x: frozenset(x), lambda x: heapq.heapify([x]),
    lambda x: max(x, x), lambda x: list(itertools.chain(x, [1])), lambda x: 1 if x else 2,
    lambda x: x and 1, lambda x: x or 1, lambda x: type(x) == int, lambda x: type(x) in {int, str},
    lambda x: {int: 1}.get(type(x)), lambda x: "a" in x, lambda x: x(),
    lambda x: operator.iadd(x, x), lambda x: [].extend(x), lambda x: {type(x): 1}[type(x)],
    lambda x: type(x).lacking,
]


def gone_through(x):
    for y in x: pass


def parts(x):
    a, b = x


def rest(x):
    a, *b = x


def doubled(x):
    x += x


def with_attribute(x):
    x.attribute = 3
    x.attribute
    del x.attribute


def with_item(x):
    x[0] = 3
    x[0] += 1
    del x[0]
    x[0:1] = [3]


def in_slice(x):
    xs = [1, 2]
    xs[0:1] = x
    xs += x


def tested(x):
    if x: pass
    while not x: break
    assert x


def entered(x):
    with x: pass


def compared(x):
    match x:
        case []: pass
        case {}: pass
        case str(): pass
        case Plain(value=3): pass
        case 3: pass
        case [a, b]: pass


def delegated(x):
    def all_of(): yield from x
    for y in all_of(): pass


def thrown(x):
    raise x


def derived(x):
    class Sub(type(x)): pass


STATEMENTS = [gone_through, parts, rest, doubled, with_attribute, with_item, in_slice, tested, entered,
              compared, delegated, thrown, derived]


def main():
    for name, kind in KINDS.items():
        for number, done in enumerate([*KEEPING, *CALLING, *STATEMENTS]):
            x = kind(GIVEN[name])
            LOG.append(f"-- {name} {number}")
            try:
                done(x)
            except Exception as error:
                LOG.append(type(error).__name__)


main()
