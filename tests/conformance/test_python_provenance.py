"""The ten programs by which the provenance of Python values was designed."""

from __future__ import annotations

import pytest
from marked_runs import CLEANED, Marked, mark


def made_by(marked: Marked) -> tuple[str, str]:
    """The call and the expression that a marked part came from."""
    found = marked.origin
    assert len(found.makers) == 1, found
    return found.makers[0].activation.name, found.makers[0].site.text


def test_equal_small_numbers_have_their_own_origins() -> None:
    marked = mark(
        """
        def a(): return 1
        def b(): return 1
        def c(): return 1
        def build(): return [a(), b(), c()]
        build()
        """,
        "build", "[1]",
    )  # fmt: skip
    assert made_by(marked) == ("b", "1")
    assert marked.calls(1) == {"b", "build"}


def test_a_default_comes_from_where_the_function_was_defined() -> None:
    marked = mark(
        """
        def none(): return None
        def other(): return None
        def f(x, y=none()): return {"x": x, "y": y}
        def main():
            f(1, 2)
            return f(other())
        main()
        """,
        "f", "['y']", count=2,
    )  # fmt: skip
    assert made_by(marked) == ("none", "None")
    assert "other" not in marked.calls(1)


def test_an_item_moves_when_another_is_inserted_before_it() -> None:
    marked = mark(
        """
        def mk(i): return "a"
        def fill(xs):
            xs.append("a")
            xs.append(mk(0))
            xs.insert(0, "a")
        def main():
            r = []
            fill(r)
            return r
        main()
        """,
        "main", "[2]",
    )  # fmt: skip
    assert made_by(marked) == ("mk", '"a"')


def test_what_was_overwritten_is_no_origin() -> None:
    marked = mark(
        """
        def first(): return 7
        def second(): return 7
        def main():
            d = {"k": first()}
            d["k"] = second()
            return d
        main()
        """,
        "main", "['k']",
    )  # fmt: skip
    assert made_by(marked) == ("second", "7")
    assert "first" not in marked.calls(1)


def test_sorting_zipping_and_numbering_carry_values_along() -> None:
    marked = mark(
        """
        def w(s): return s.upper()
        def key(t): return -t[0]
        def main():
            names = [w("a"), w("b"), w("c")]
            rows = sorted(zip([3, 9, 5], names), key=key)
            return [(i, n) for i, (k, n) in enumerate(rows)]
        main()
        """,
        "main", "[0][1]",
    )  # fmt: skip
    assert made_by(marked) == ("w", "s.upper()")
    assert marked.criterion.value == "B"
    assert "key" in marked.calls(1)


def test_starred_arguments_and_keywords_are_followed_up_and_down() -> None:
    marked = mark(
        """
        def src(): return None
        def inner(*args, **kw): return args, kw
        def outer(*a, **k): return inner(*a, 2, **k)
        def main():
            first, *rest = [1, src(), 3]
            return outer(*rest, z=rest[0])
        main()
        """,
        "main", "[1]['z']",
    )  # fmt: skip
    assert made_by(marked) == ("src", "None")
    chain = [each.name for each in marked.origin.chain]
    assert chain == ["main", "outer", "inner", "outer", "main", "src"]


def test_what_is_sent_to_a_generator_comes_out_of_it() -> None:
    marked = mark(
        """
        def gen(xs):
            t = 0
            for x in xs:
                got = yield t
                t = got if got else t + x
        def reply(): return 42
        def main():
            g = gen([1, 2, 3])
            a = next(g)
            b = g.send(reply())
            return (a, b)
        main()
        """,
        "main", "[1]",
    )  # fmt: skip
    assert made_by(marked) == ("reply", "42")
    assert "gen" in marked.calls(1)


def test_a_test_that_left_an_assignment_out_is_in_the_slice() -> None:
    marked = mark(
        """
        def is_new(x): return False
        def default(): return 1
        def main(x):
            v = default()
            if is_new(x):
                v = 2
            return [v]
        main(3)
        """,
        "main", "[0]",
    )  # fmt: skip
    assert made_by(marked) == ("default", "1")
    assert "is_new" in marked.calls(1)


def test_a_call_that_could_have_changed_an_object_is_in_the_widest_slice() -> None:
    marked = mark(CLEANED, "main", ".n")
    assert made_by(marked) == ("read", '" bob "')
    assert {"clean", "should"} <= marked.calls(3)
    assert "other" not in marked.calls(3)
    assert "clean" in marked.calls(2), "its code does set such an attribute"
    assert "clean" not in marked.calls(1)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_what_a_condition_dropped_decides_the_places_of_the_rest(width: int) -> None:
    marked = mark(
        """
        def bad(x): return x == 9
        def keep(x): return x != 2
        def val(x): return x * 10
        def main(xs):
            ys = [val(x) for x in xs if keep(x)]
            z = bad(1)
            return ys
        main([1, 2, 3])
        """,
        "main", "[1]",
    )  # fmt: skip
    assert made_by(marked) == ("val", "x * 10")
    assert marked.origin.makers[0].activation.values == (3,)
    calls = marked.calls(width)
    assert "keep" in calls
    assert "bad" not in calls


def test_the_average_of_the_paper_comes_from_the_call_for_the_empty_list() -> None:
    marked = mark(
        """
        def average(xs, total, count):
            if not xs:
                return total / (count + 1)
            return average(xs[1:], total + xs[0], count + 1)
        def main(): return [average([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.0, 0)]
        main()
        """,
        "main", "[0]",
    )  # fmt: skip
    found = marked.origin
    assert made_by(marked) == ("average", "total / (count + 1)")
    assert found.makers[0].activation.values == ([], 21.0, 6)
    assert [each.name for each in found.chain] == ["main", *["average"] * 7]


@pytest.mark.parametrize(
    ("path", "call", "expression"),
    [
        ("", "rational_add", "R(an * ca + bn * cb, cd)"),
        (".n", "rational_add", "an * ca + bn * cb"),
        (".d", "lcm", "a * b // gcd(a, b)"),
    ],
)
def test_the_parts_of_a_rational_number_of_the_paper_have_their_origins(
    path: str, call: str, expression: str
) -> None:
    marked = mark(
        """
        from math import gcd
        class R:
            def __init__(self, n, d): self.n = n; self.d = d
        def lcm(a, b): return a * b // gcd(a, b)
        def rational_add(a, b):
            an, ad = a.n, a.d
            bn, bd = b.n, b.d
            cd = lcm(ad, bd)
            ca = cd // ad
            cb = cd // bd
            return R(an * ca + bn * cb, cd)
        def main(): return [rational_add(R(1, 2), R(1, 3))]
        main()
        """,
        "main", "[0]" + path,
    )  # fmt: skip
    assert made_by(marked) == (call, expression)


def test_what_a_search_finds_in_a_tree_comes_from_where_the_tree_was_built() -> None:
    marked = mark(
        """
        def value(n): return n
        def tree(k, left, right): return (k, value(0), left, right)
        def search(tree, k):
            k0, v0, left, right = tree
            if k0 == k: return v0
            return search(right if k0 < k else left, k)
        def main(): return [search(tree(4, tree(2, None, None), tree(6, None, None)), 6)]
        main()
        """,
        "main", "[0]",
    )  # fmt: skip
    found = marked.origin
    assert made_by(marked) == ("tree", "0")
    assert found.makers[0].activation.values == (6, None, None)
