"""No call outside the widest slice of a part can change it, on ways without an assignment.

What iterators do on their way, windows to objects that change, closure cells and frames, entries
that reading makes. As in test_forms.py, each program once showed a hole.
"""

from __future__ import annotations

import sys

import pytest
from marked_runs import mark
from perturbation import check_form

HEAD = """
import collections, concurrent.futures, itertools, os, sys, types
def source(): return 41
def flag(): return True
def nope(): return False
def one(): return 1
def two(): return 2
def word(): return "ab"
"""
PROGRAMS = {
    'walrus any': """
def check(x): return x > 2
def main():
    any(check(y := x) for x in [1, 2, 3, 4])
    return y
""",
    'walrus all': """
def check(x): return x < 2
def main():
    all(check(y := x) for x in [1, 2, 3, 4])
    return [y, 1]
""",
    'any map effects': """
ACC = []
def check(x): ACC.append(x); return ok(x)
def ok(x): return x > 2
def main():
    any(map(check, [1, 2, 3, 4]))
    return [len(ACC), ACC[-1]]
""",
    'in gen effects': """
ACC = []
def gen():
    for x in [1, 2, 3, 4]:
        ACC.append(x)
        yield val(x)
def val(x): return x
def main():
    3 in gen()
    return [len(ACC), ACC[-1]]
""",
    'zip effects': """
ACC = []
def limit():
    for x in range(size()): yield x
def size(): return 2
def gen():
    for x in [1, 2, 3, 4]:
        ACC.append(x)
        yield x
def main():
    for a, b in zip(limit(), gen()): pass
    return [len(ACC), ACC[-1]]
""",
    'islice effects': """
ACC = []
def gen():
    for x in [1, 2, 3, 4]:
        ACC.append(x)
        yield x
def main():
    list(itertools.islice(gen(), two()))
    return [len(ACC), ACC[-1]]
""",
    'takewhile effects': """
ACC = []
def gen():
    for x in [1, 2, 3, 4]:
        ACC.append(x)
        yield x
def small(x): return x < 3
def main():
    list(itertools.takewhile(small, gen()))
    return [len(ACC), ACC[-1]]
""",
    'iter sentinel': """
N = [0]
def nxt(): N[0] += one(); return N[0]
def stop(): return 3
def main(): return [list(iter(nxt, stop())), N[0]]
""",
    'cell set': """
def outer():
    v = 1
    def get(): return v
    return get
def setit(f):
    f.__closure__[0].cell_contents = source()
def main():
    f = outer()
    setit(f)
    return f()
""",
    'cells of a closure': """
def outer():
    v = source(); w = two()
    def get(): return v + w
    return get
def main():
    f = outer()
    cells = f.__closure__
    return [len(cells), cells[1].cell_contents, [c.cell_contents for c in cells]]
""",
    'proxy get': """
def later(a):
    if flag(): a["x"] = source()
def main():
    a = {"x": 1}
    m = types.MappingProxyType(a)
    later(a)
    return [m["x"], m.get("x"), dict(m), [k for k in m]]
""",
    'proxy len': """
def later(a):
    if flag(): a["y"] = source()
def main():
    a = {"x": 1}
    m = types.MappingProxyType(a)
    later(a)
    return [len(m), "y" in m, list(m.items()), sorted(m)]
""",
    'memoryview': """
def later(a):
    if flag(): a[0] = source()
def main():
    a = bytearray(b"abc")
    m = memoryview(a)
    later(a)
    return [m[0], bytes(m), m.tolist(), len(a)]
""",
    'proxy kwargs': """
def f(**k): return k["x"]
def later(a): a["x"] = source()
def main():
    a = {"x": 1}
    m = types.MappingProxyType(a); c = collections.ChainMap(a)
    later(a)
    return [f(**m), f(**c), {**m}, {**c}, dict(m), dict(c)]
""",
    'class dict proxy': """
class C: v = 1
def touch():
    if flag(): C.v = source()
def main():
    p = vars(C); q = C.__dict__
    touch()
    return [p["v"], q["v"], "w" in p, dict(q)["v"]]
""",
    'views of subclasses': """
def touch(d):
    if flag(): d["b"] = source()
def main():
    d = collections.defaultdict(int, a=1); o = collections.OrderedDict(a=1)
    c = collections.Counter(a=1)
    vs = [d.values(), o.values(), c.items(), o.keys()]
    for x in (d, o, c): touch(x)
    return [list(vs[0]), list(vs[1]), list(vs[2]), len(vs[3])]
""",
    'defaultdict read makes': """
def main():
    d = collections.defaultdict(list)
    if nope(): y = d["c"]
    return [len(d), "c" in d]
""",
    'property effects': """
class C:
    n = 0
    @property
    def bump(self): self.n += 1; return self.n
def main():
    c = C()
    if nope(): x = c.bump
    return c.n
""",
    'operator effects': """
class T:
    def __init__(self): self.down = []
    def __rshift__(self, o): self.down.append(o); return o
def main():
    a, b = T(), T()
    if nope(): a >> b
    return len(a.down)
""",
    'iterator consumed in helper': """
def skip(it, n):
    for _ in range(n): next(it)
def peek(it):
    if nope(): ys = [y for y in it]
def main():
    it = iter([1, 2, 3]); skip(it, one()); peek(it)
    return list(it)
""",
    'singleton __new__': """
class S:
    it = None
    def __new__(cls, *a):
        if cls.it is None: cls.it = super().__new__(cls)
        return cls.it
    def __init__(self, v): self.v = v
def main():
    a = S(source()); b = S(two())
    return [a.v, a is b]
""",
    'executor': """
def work(x): return x + one()
def main():
    with concurrent.futures.ThreadPoolExecutor(1) as ex:
        fs = [ex.submit(work, i) for i in (1, source())]
        return [[f.result() for f in fs], list(ex.map(work, [5]))]
""",
    'groupby consumed': """
def key(x): return x % two()
def main():
    gs = itertools.groupby(sorted([1, 2, 3, 4], key=key), key)
    d = {}
    for k, g in gs: d[k] = list(g)
    return d
""",
    'environ getenv': """
def setit():
    if flag(): os.environ["HOLE3"] = word()
def drop(): os.environ.pop("HOLE3", None)
def main():
    drop()
    setit()
    r = os.getenv("HOLE3", "no")
    drop()
    return r
""",
    'frame read': """
def peek(): return sys._getframe(1).f_locals["v"]
def main():
    v = source()
    return peek()
""",
    'global shadows builtin': """
len = 3
def drop():
    global len
    if flag(): del len
def main():
    drop()
    return len == 3
""",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_call_outside_the_widest_slice_changes_a_part(name: str) -> None:
    check_form(f"{HEAD}{PROGRAMS[name]}main()\n")


DELETED = """
V = W = 1
def drop_variable():
    global V
    del V
def drop_item(): del globals()["W"]
def main():
    found = []
    drop_variable()
    try: found.append(V)
    except NameError: found.append(2)
    drop_item()
    try: found.append(W)
    except NameError: found.append(3)
    return found
main()
"""


def test_who_deleted_a_variable_is_in_the_slice_of_what_its_lack_led_to() -> None:
    assert mark(DELETED, "main", "[0]").calls(1) >= {"drop_variable"}
    assert mark(DELETED, "main", "[1]").calls(1) >= {"drop_item"}


def test_what_was_set_by_a_cell_has_its_origin_there() -> None:
    source = """
        def outer():
            v = 1
            def get(): return v
            return get
        def fresh(): return 41
        def change(f): f.__closure__[0].cell_contents = fresh()
        def main():
            f = outer()
            before = f()
            change(f)
            return [before, f(), f.__closure__[0].cell_contents]
        main()
        """
    names = [mark(source, "main", f"[{n}]").origin.makers[0].activation.name for n in range(3)]
    assert names == ["outer", "fresh", "fresh"]


def test_what_came_out_of_nowhere_is_made_of_what_is_known() -> None:
    source = """
        V = 1
        def fresh(): return 41
        def change(): exec("global V; V = fresh()")
        def main():
            change()
            return V
        main()
        """
    marked = mark(source, "main", "")
    assert "main" in {each.activation.name for each in marked.origin.makers}
    assert "fresh" in marked.calls(3)


IN_FRAME = """
import sys
def fresh(): return 41
def poke(): sys._getframe(1).f_locals["v"] = fresh()
def poke_all(): sys._getframe(1).f_locals.update({"v": fresh()})
def one():
    v = 1
    poke()
    return v
def any_of_them():
    v = 1
    poke_all()
    return v
one(), any_of_them()
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="frames give copies of their variables")
def test_what_was_set_by_a_frame_has_its_origin_there_or_is_unknown() -> None:
    one, any_of_them = mark(IN_FRAME, "one", ""), mark(IN_FRAME, "any_of_them", "")
    assert one.origin.makers[0].activation.name == "fresh"
    assert any_of_them.origin.makers == ()
    assert "fresh" in any_of_them.calls(3)
