"""Where marked parts come from, beyond the ten programs of the conformance suite."""

from __future__ import annotations

import pytest
from marked_runs import mark

CASES = {
    "an attribute of an element": (
        """
        class P:
            def __init__(self, name, n): self.name = name; self.n = n
        def nm(i): return "p" + str(i)
        def build(k):
            out = []
            for i in range(k): out.append(P(nm(i), i))
            return out
        def main(): return build(3)
        main()
        """,
        "[2].name", "nm", '"p" + str(i)',
    ),
    "through update, a slice and a copy": (
        """
        def v(i): return 0
        def main():
            xs = [v(0), v(1), v(2)]
            d = {}
            d.update(a=5, b=list(xs[1:]))
            return d
        main()
        """,
        "['b'][1]", "v", "0",
    ),
    "a variable that two functions share": (
        """
        def start(): return 0
        def counter():
            c = start()
            def inc(d):
                nonlocal c
                c += d
                return c
            return inc
        def main():
            f = counter()
            return [f(1), f(0), f(2)]
        main()
        """,
        "[1]", "counter.<locals>.inc", "c += d",
    ),
    "a field of a dataclass": (
        """
        from dataclasses import dataclass, field
        @dataclass
        class It:
            name: str
            qty: int = 1
            tags: list = field(default_factory=list)
        def q(): return 1
        def main(): return [It("a"), It("b", q())]
        main()
        """,
        "[1].qty", "q", "1",
    ),
    "what an exception carries": (
        """
        class Err(Exception):
            def __init__(self, code): self.code = code
        def code(): return 3
        def deep(): raise Err(code())
        def main():
            try: deep()
            except Err as e: return (e.code, "x")
        main()
        """,
        "[0]", "code", "3",
    ),
    "the arguments of an exception": (
        """
        def code(): return "c"
        def deep(): raise ValueError("m", code())
        def main():
            try: deep()
            except ValueError as e: return [e.args[1]]
        main()
        """,
        "[0]", "code", '"c"',
    ),
    "a text with values in it": (
        """
        def n(): return 5
        def lab(x): return f"<{x:>3}>"
        def main(): return [lab(n()), lab(1)]
        main()
        """,
        "[0]", "lab", 'f"<{x:>3}>"',
    ),
    "what max selects": (
        """
        def mk(i): return {"q": i % 3}
        def main():
            xs = [mk(i) for i in range(4)]
            return [max(xs, key=lambda d: d["q"])]
        main()
        """,
        "[0]", "mk", '{"q": i % 3}',
    ),
    "an operator of the program's own": (
        """
        class V:
            def __init__(self, x): self.x = x
            def __add__(self, o): return V(self.x + o.x)
        def main(): return {"s": V(1) + V(2)}
        main()
        """,
        "['s'].x", "V.__add__", "self.x + o.x",
    ),
    "a heap": (
        """
        import heapq
        def item(i): return (i, "x" * i)
        def main():
            h = []
            for i in (3, 1, 2): heapq.heappush(h, item(i))
            return [heapq.heappop(h)]
        main()
        """,
        "[0]", "item", '(i, "x" * i)',
    ),
    "a part of what code out of sight made": (
        """
        import json
        def text(): return '{"k": [1, 2]}'
        def main():
            d = json.loads(text())
            return d["k"]
        main()
        """,
        "[1]", "main", "json.loads(text())",
    ),
    "an alias": (
        """
        def extra(): return [None]
        def add(dst, src): dst += src
        def main():
            a = [1]; b = a
            add(b, extra())
            return a
        main()
        """,
        "[1]", "extra", "None",
    ),
    "a missing key of a defaultdict": (
        """
        from collections import defaultdict
        def score(w): return len(w)
        def main():
            d = defaultdict(list)
            for w in ["aa", "b", "cc"]: d[score(w)].append(score(w))
            return d
        main()
        """,
        "[2][1]", "score", "len(w)",
    ),
    "a coroutine": (
        """
        import asyncio
        async def value():
            await asyncio.sleep(0)
            return 7
        async def both(): return [await value()]
        def main(): return asyncio.run(both())
        main()
        """,
        "[0]", "value", "7",
    ),
    "a match": (
        """
        def one(): return "x"
        def main():
            match {"k": [one(), "y"]}:
                case {"k": [first, *_]}: return [first]
        main()
        """,
        "[0]", "one", '"x"',
    ),
    "a named tuple": (
        """
        from typing import NamedTuple
        class P(NamedTuple):
            x: int
            y: int
        def one(): return 1
        def main(): return [P(one(), 1).x]
        main()
        """,
        "[0]", "one", "1",
    ),
    "a variable of the module": (
        """
        def one(): return 1
        LIMIT = one()
        def main(): return [LIMIT]
        main()
        """,
        "[0]", "one", "1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_origin_is_the_expression_that_made_the_part(case: str) -> None:
    source, path, call, expression = CASES[case]
    marked = mark(source, "main", path)
    found = [(each.activation.name, each.site.text) for each in marked.origin.makers]
    assert (call, expression) in found
    assert len(found) == 1 or case == "a match", "there is no doubt"


def test_an_argument_is_followed_to_the_caller() -> None:
    marked = mark(
        """
        def load(): return [3, 1]
        def drop(xs): return xs[:1]
        def use(xs): return sum(xs)
        def main():
            xs = load()
            drop(xs)
            return use(xs)
        main()
        """,
        "use", "[1]", argument="xs",
    )  # fmt: skip
    [maker] = marked.origin.makers
    assert (maker.activation.name, maker.site.text) == ("load", "1")


def test_early_returns_decide_what_comes_after_them() -> None:
    marked = mark(
        """
        def big(n): return n > 100
        def tiny(n): return n < 0
        def f(n):
            if big(n): return "big"
            if tiny(n): return "tiny"
            return "mid"
        def main(): return [f(5)]
        main()
        """,
        "main", "[0]",
    )  # fmt: skip
    assert marked.calls(1) == {"main", "f", "big", "tiny"}


def test_a_try_that_went_well_decides_what_its_handler_would_have_set() -> None:
    marked = mark(
        """
        def check(x): return x
        def main():
            v = 1
            try: check(3)
            except ValueError: v = 2
            return [v]
        main()
        """,
        "main", "[0]",
    )  # fmt: skip
    assert "check" in marked.calls(1)


def test_a_value_of_which_two_things_are_identical_has_candidates() -> None:
    marked = mark(
        """
        import operator
        def one(): return 1
        def main(): return [operator.getitem([one(), one()], 0)]
        main()
        """,
        "main", "[0]",
    )  # fmt: skip
    names = {each.activation.name for each in marked.origin.makers}
    assert names <= {"one", "main"}
    assert "one" in marked.calls(1)


def test_what_changes_out_of_sight_is_unknown() -> None:
    marked = mark(
        """
        import collections
        def main():
            made = [1, 2]
            hidden = {"f": made}
            exec("hidden['f'][0] = 9")
            return made
        main()
        """,
        "main", "[0]",
    )  # fmt: skip
    assert marked.criterion.value == 9
    found = marked.origin
    assert found.unknown or all(each.site.text != "1" for each in found.makers)
