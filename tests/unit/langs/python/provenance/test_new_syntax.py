"""Forms that older versions of Python cannot even read: each with the version it takes.

Rewritten, whole or with two bodies, they do what they did; and no call outside the widest slice of
a part can change it.
"""

from __future__ import annotations

import contextlib
import io
import sys
import textwrap
import warnings

import pytest
from marked_runs import mark
from perturbation import check_form

from whence.langs.python.provenance.rewriter.rewriting_importer import Modules, run_source
from whence.langs.python.provenance.runtime.shadow_switch import SWITCH

PROGRAMS = {
    "type parameters and aliases, 3.12": """
        type Pair[T] = tuple[T, T]
        def twice[T](x: T) -> Pair[T]: return x, x
        class Box[T]:
            def __init__(self, x: T): self.x = x
            def get[U: (int, str)](self, other: U) -> T | U: return self.x or other
        def outer():
            type Here = list[Box]
            class Inner[T](Box[T]): type Alias = T
            return Here.__value__, Inner[int](3).get(4), Inner.Alias.__name__
        def every[T, *Ts, **P](f, *a: *Ts): return f(*a)
        print(every(twice, 1), every.__type_params__, twice(2), Box(0).get("y"), outer())
        print(Pair.__value__, Pair.__type_params__, twice.__type_params__, Box.__type_params__)
        print(Box.get.__type_params__[0].__constraints__)
        """,
    "f-strings in f-strings, 3.12": r"""
        def show(xs): return f"{", ".join(f"{x!r:>{len(f"{x}") + 2}}" for x in xs)}\n{
            xs[0]  # the first
        :{"^" + str(4)}}|{'\N{bullet}'}"
        print(show(["a", "bc"]), f"{(lambda x: f"{x=}")(3)}", f"{'\n'.join("ab")}")
        """,
    "defaults of type parameters, 3.13": """
        class Box[T = int, **P = [int]]:
            def get[U = str](self, x: U) -> U: return x
        type Pair[T = int] = tuple[T, T]
        print(Box().get(3), [each.__default__ for each in Box.__type_params__])
        print(Pair.__type_params__[0].__default__)
        def every[*Ts = *tuple[int, str]](*a: *Ts): return a
        print(every(1), every.__type_params__[0].__default__)
        print([each.has_default() for each in Box.get.__type_params__])
        """,
    "unpacking in comprehensions, 3.15": """
        import asyncio
        class Own:
            def __init__(self, *xs): self.xs = xs
            def __iter__(self): print("iter"); return iter(self.xs)
            def __len__(self): print("len"); return len(self.xs)
            def keys(self): print("keys"); return [str(x) for x in self.xs]
            def __getitem__(self, key): print("get", key); return key * 2
        def pairs(n): return [(i, i + 1) for i in range(n)]
        def lists(n): return [*p for p in pairs(n) if p[0] != 1]
        def sets(n): return {*p for p in pairs(n)}
        def dicts(n): return {**{i: n, n: i} for i in range(n)}
        def gen(n): return (*p for p in pairs(n))
        def own(): return [*Own(1, 2) for _ in "ab"], {*Own(3) for _ in "a"}
        def own_dict(): return {**Own(4) for _ in "a"}
        def own_gen(): return list(*Own(5, 6) for _ in "a")
        def bound(n): return [*(last := p) for p in pairs(n)], last
        def bound_gen(n): return list((*(q := p) for p in pairs(n))), q
        def nested(n): return [*[*(x, y) for y in range(n)] for x in range(n)]
        def inside(n): return [x for x in [*(y, y) for y in range(n)] if x]
        async def each(n):
            for i in range(n): yield [i, i * 10]
        async def later(n): return [*p async for p in each(n)]
        async def later_gen(n): return [x async for x in (*p async for p in each(n))]
        def refused(make):
            try: return make()
            except TypeError as problem: return str(problem)
        print(lists(3), sorted(sets(3)), dicts(3), list(gen(3)), own(), own_dict(), own_gen())
        print(bound(2), bound_gen(2), nested(2), inside(3), [*() for _ in "ab"])
        print(asyncio.run(later(2)), asyncio.run(later_gen(2)), {**{} for _ in "ab"})
        print(refused(lambda: {*1 for _ in "a"}), refused(lambda: {**1 for _ in "a"}))
        print(refused(lambda: list((*1 for _ in "a"))), [lambda: 0 for _ in "a"][0]())
        print([*p for p in pairs(2)], {*p for p in pairs(1)} == {0, 1})
        print(list((*p for p in pairs(2))))
        """,
    "imports that wait, 3.15": """
        import sys
        for name in ("colorsys", "sched", "wave", "bisect"): sys.modules.pop(name, None)
        lazy import colorsys
        lazy import xml.dom.minidom as dom
        lazy from sched import scheduler as S, Event
        __lazy_modules__ = ["bisect"]
        import bisect
        if name:
            lazy from wave import open as wave_open
        def loaded(): return [each in sys.modules for each in "colorsys sched wave bisect".split()]
        def kind(name): return type(globals()[name]).__name__
        def kinds(): return [kind(each) for each in ("colorsys", "S", "dom", "bisect")]
        print(loaded(), kinds())
        def use(): return colorsys.rgb_to_hsv(0, 0, 0)
        print(use(), loaded(), kinds(), S.__name__, loaded())
        lazy import there_is_no_such_module as missing
        try: missing
        except ImportError as problem: print(type(problem).__name__, problem)
        """,
    "constants of patterns, 3.15": """
        def sign(x):
            match x:
                case +1: return "one"
                case -1 | +2.5: return "other"
                case +1 + 2j: return "complex"
        print(sign(1), sign(-1), sign(2.5), sign(1 + 2j), sign(0))
        """,
    "frozendict and sentinel, 3.15": """
        NOTHING = sentinel("NOTHING")
        def made(**kw): return frozendict(kw, x=1)
        def get(d, k, default=NOTHING): return d[k] if k in d else default
        d = made(a=[2])
        d["a"].append(3)
        print(d, get(d, "a"), get(d, "b") is NOTHING, NOTHING, hash(made()) == hash(made()))
        print(d | {"y": 2}, {**d}, [*d], list(d.items()), d == {"a": [2, 3], "x": 1})
        print(made(**{"z": 3}, **{"a": 2}))
        class Own(frozendict): pass
        print(Own(a=1), len(Own(a=1, b=2)), sorted(Own(b=1, a=2)), dict(d), d.get("x"), "x" in d)
        match d:
            case {"x": x, **rest}: print(x, rest)
        b = bytearray(b"abcdef")
        print(b.take_bytes(2), b, b.take_bytes(), b)
        import re
        print(re.prefixmatch("a(.)", "abc")[1], re.compile("b").prefixmatch("abc"))
        """,
    "templates, 3.14": """
        import asyncio
        def shown(t): return t.strings, [(i.value, i.expression, i.conversion, i.format_spec)
                                         for i in t.interpolations], t.values
        def parts(t): return [p if isinstance(p, str) else (p.value, p.format_spec) for p in t]
        def name(): return "x"
        async def soon(x): return x
        def every(n):
            a = t"{n}{n!r:>{n + 1}}"
            b = t"<{name()}> {(m := n * 2)} {m=} {[i for i in range(n)]}" t" and {a}"
            yield shown(a); yield parts(b); yield shown(b)[0]; yield shown(a + b)[2][:3]
            yield shown(t""), list(t""), shown(t"{{}}"), shown(rt"\\d{n}"), m
            yield [shown(t"{i}:{i:{i}}")[2] for i in range(n)]
            yield (lambda k: t"{k} {(lambda: k)()}".values)(3)
            match t"{n:>4} done":
                case object(strings=(first, last), interpolations=(one,)):
                    yield first, last, one.value
        async def waits():
            t = t"{await soon(1)} {[x async for x in counted()]:{await soon('>')}}"
            return shown(t)
        async def counted():
            for x in (1, 2): yield x
        class C:
            T = t"{name()} in {__qualname__}"
        try: t"{1 / 0} {print('never')}"
        except ZeroDivisionError: print("raised")
        for each in every(2): print(each)
        print(asyncio.run(waits()), shown(C.T), shown(t'''{
            name()  # a comment
        }'''))
        """,
    "several exceptions without parentheses, 3.14": """
        def kind(f):
            try: return f()
            except ValueError, KeyError: return "one"
            except ArithmeticError, OSError: return "two"
        def group():
            try: raise ExceptionGroup("g", [ValueError(1), KeyError(2), OSError(3)])
            except* ValueError, KeyError: return_ = ["both"]
            except* OSError: return_.append("other")
            return return_
        print(kind(lambda: {}[1]), kind(lambda: int("x")), kind(lambda: 1 / 0), kind(int), group())
        """,
    "annotations that wait, 3.14": """
        import annotationlib, dataclasses
        from annotationlib import Format, get_annotations
        asked = []
        def note(x): asked.append(x); return x
        def f(a: note(1), b: Later = 2, *c: note(3)) -> Never: return a
        class C:
            x: note(4)
            y: Later = 5
            if asked: no: int
            else: yes: note(6)
            def m(self, o: C) -> C: return self
        if asked: missing: int
        there: note(9) = 10
        def outer(T):
            class D:
                v: list[T]
                def g(self, x: T, w: D): self.x: T = x; return self
            return D, (lambda: 1), D().g
        @dataclasses.dataclass
        class P:
            a: int
            b: "P | None" = None
            c: list[Q] = dataclasses.field(default_factory=list)
        class Q: pass
        print(asked, f(1), there)
        print(get_annotations(f, format=Format.STRING), get_annotations(C, format=Format.STRING))
        print(sorted(get_annotations(f, format=Format.FORWARDREF)), asked)
        class Later: pass
        class Never: pass
        print(f.__annotations__, sorted(C.__annotations__), asked)
        print(sorted(__annotate__(1)), C.m.__annotations__, P(1), P.__annotations__["c"])
        D, _, g = outer(int)
        print(D.__annotations__, g.__annotations__, g(3, None).x, D.__annotate__(1))
        del C.y
        C.__annotations__["new"] = 1
        print(C.__annotations__["new"], get_annotations(outer(str)[0]), f.__annotate__.__name__)
        """,
    "leaving finally, 3.14": """
        def back(x):
            try: return x / 0
            finally: return "left"
        def on(xs):
            for x in xs:
                try: 1 / x
                finally: continue
            while True:
                try: raise ValueError
                finally: break
            return "done"
        print(back(1), on([0, 1]))
        """,
}  # fmt: skip
FORMS = {
    "a template is rendered, 3.14": """
        def price(n): return n * 3
        def title(s): return s.title()
        def width(): return "6"
        def make(n, s): return t"<{title(s)}> costs {price(n):>{width()}} or {n!r}"
        def render(t):
            out = []
            for part in t:
                match part:
                    case str() as text: out.append(text)
                    case object(value=value, conversion="r"): out.append(repr(value))
                    case _: out.append(format(part.value, part.format_spec))
            return "".join(out)
        def main():
            t = make(5, "bob")
            u = t + t" and {price(1)}" + make(2, "al")
            return [render(t), t.interpolations[0].value, t.values[1], render(u), u.values[3:5],
                    t.interpolations[1].format_spec, [p.value for p in u if not isinstance(p, str)]]
        """,
    "what a template holds is changed, 3.14": """
        def items(): return [1, 2]
        def grow(xs, n): xs.append(n)
        def flag(): return True
        def main():
            xs = items()
            t = t"{xs} {len(xs)} {[*xs]}"
            if flag(): grow(t.interpolations[0].value, 3)
            value, count, copied = t.values
            return [list(value), count, copied, list(t)[0].value[-1]]
        """,
    "templates in a comprehension, 3.14": """
        def name(n): return "n" + str(n)
        def keep(n): return n != 1
        def main(): return [t"{name(n)}!{n}".values[0] for n in range(3) if keep(n)]
        """,
    "a template out of sight, 3.14": """
        import copy, pickle
        from string.templatelib import Interpolation, Template
        def name(n): return "n" + str(n)
        def main():
            t = Template("a", Interpolation(name(1), "x"), "b", Interpolation(name(2)))
            parts = [*t]
            return [t.values[0], parts[1].value, parts[2], Template(*reversed(parts)).values[0]]
        """,
    "an exception of several, 3.14": """
        def fails(n):
            if n: raise KeyError(n)
            raise OSError
        def flag(): return True
        def main():
            try: fails(flag())
            except KeyError, ValueError: return [1]
            except OSError: return [2]
        """,
    "unpacked elements, 3.15": """
        def one(): return 1
        def two(): return [2, one()]
        def width(n): return [n] * n
        def flag(): return True
        def main():
            rows = [width(one()), two(), []]
            return [[*row for row in rows], [*row for row in rows if flag()],
                    sorted({*row for row in rows}), list((*row for row in rows)),
                    {**{str(x): x for x in row} for row in rows},
                    [*width(n) for n in range(3)]]
        """,
    "what a frozendict holds, 3.15": """
        def one(): return 1
        def key(): return "k"
        def main():
            d = frozendict({key(): one(), "other": [one()]})
            return [d["k"], d["other"], list(d), list(d.values()), {**d}, dict(d), len(d),
                    d.get("k")]
        """,
    "annotations that are asked for, 3.14": """
        def size(): return 4
        def main():
            class C:
                x: size()
                y: [size(), 2]
            def f(a: [size()]): pass
            type A = tuple[size()]
            return [C.__annotations__["x"], C.__annotations__["y"], f.__annotations__["a"],
                    f.__annotations__["a"], A.__value__.__args__, A.__value__.__args__]
        """,
    "aliases that are asked for, 3.12": """
        def size(): return int
        def main():
            type A = list[size()]
            return [A.__value__.__args__[0].__name__]
        """,
    "what generic functions are given, 3.12": """
        def source(): return 41
        def first[T](xs: list[T], default: T = source()) -> T: return xs[0] if xs else default
        class Box[T]:
            def __init__(self, x: T): self.x = x
            def get(self) -> T: return self.x
        def main(): return [first([]), first([source()]), Box[int](source()).get()]
        """,
}  # fmt: skip


def needs(name: str) -> None:
    """Skip on a Python that is too old for it."""
    version = tuple(map(int, name.rpartition(", ")[2].split(".")))
    if sys.version_info < version:
        pytest.skip(f"it takes Python {version[0]}.{version[1]}")


def output_of(run: object) -> str:
    assert callable(run)
    with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        run()
    return out.getvalue()


def plainly(source: str) -> None:
    exec(compile(source, "program.py", "exec", dont_inherit=True), {"__name__": "__main__"})


def with_two_bodies(source: str) -> None:
    SWITCH.install()
    SWITCH.wait_for(1)
    try:
        exec(Modules(dual=True).code(source, "program.py"), {"__name__": "__main__"})
    finally:
        SWITCH.stop()


@pytest.mark.parametrize("name", PROGRAMS)
def test_new_forms_do_what_they_did(name: str) -> None:
    needs(name)
    source = textwrap.dedent(PROGRAMS[name])
    usual = output_of(lambda: plainly(source))
    assert usual
    assert output_of(lambda: run_source(source, "program.py")) == usual
    assert output_of(lambda: with_two_bodies(source)) == usual


@pytest.mark.parametrize("name", FORMS)
def test_no_call_outside_the_widest_slice_changes_a_part_of_what_new_forms_give(name: str) -> None:
    needs(name)
    check_form(f"{textwrap.dedent(FORMS[name])}\nmain()\n")


TEMPLATE = """
def price(n): return n * 3
def title(s): return s.title()
def width(): return "6"
def make(n, s): return t"<{title(s)}> costs {price(n):>{width()}}"
def main():
    t = make(5, "bob")
    parts = list(t)
    return {"value": t.interpolations[0].value, "values": t.values, "text": t.strings[1],
            "format": t.interpolations[1].format_spec, "part": parts[3].value, "all": t}
main()
"""


@pytest.mark.parametrize(
    ("path", "function", "expression", "others"),
    [
        ("['value']", "title", "s.title()", {"price", "width"}),
        ("['values'][1]", "price", "n * 3", {"title", "width"}),
        ("['text']", "make", 't"<{title(s)}> costs {price(n):>{width()}}"',
         {"title", "price", "width"}),
        ("['format']", "make", ":>{width()}", {"title", "price"}),
        ("['part']", "price", "n * 3", {"title", "width"}),
        ("['all'].interpolations[1].value", "price", "n * 3", {"title", "width"}),
    ],
)  # fmt: skip
def test_each_part_of_a_template_has_an_origin_of_its_own(
    path: str, function: str, expression: str, others: set[str]
) -> None:
    needs("templates, 3.14")
    marked = mark(TEMPLATE, "main", path)
    (maker,) = marked.origin.makers
    assert (maker.activation.name, maker.site.text) == (function, expression)
    assert not others & marked.calls(1)


@pytest.mark.parametrize(
    ("first", "asked"),
    [
        ("from __future__ import annotations", "C.__annotations__"),
        ("import annotationlib as a", "a.get_annotations(C, format=a.Format.STRING)['x'][:20]"),
    ],
)
def test_annotations_are_the_texts_that_they_were(first: str, asked: str) -> None:
    if "annotationlib" in first:
        needs("annotations that wait, 3.14")
    source = f"{first}\nclass C: x: (lambda: 1) = 2\nprint({asked})\n"
    assert output_of(lambda: run_source(source, "program.py")) == output_of(lambda: plainly(source))


def test_what_an_annotated_target_calls_is_called_once() -> None:
    source = textwrap.dedent(
        """
        class C: pass
        def there(): print("called"); return C
        def kind(): print("kind"); return int
        there().x: kind() = 3
        print(C.x)
        """
    )
    assert output_of(lambda: run_source(source, "program.py")) == output_of(lambda: plainly(source))
