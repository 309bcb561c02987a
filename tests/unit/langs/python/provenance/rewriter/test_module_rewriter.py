"""A rewritten program does what it did, and nothing of the rewriting is seen by it."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from whence.langs.python.provenance.rewriter.rewriting_importer import Modules, run_source
from whence.langs.python.provenance.runtime.shadow_switch import SWITCH
from whence.langs.python.provenance.tags import Activation

PROGRAM = Path(__file__).parents[1] / "programs" / "whole_language.py"


def output_of(source: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run_source(textwrap.dedent(source), "program.py")
    return out.getvalue()


def test_every_form_of_the_language_gives_the_same() -> None:
    plain = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, check=True
    )
    assert output_of(PROGRAM.read_text(encoding="utf-8")) == plain.stdout


def test_every_form_of_the_language_gives_the_same_in_functions_with_two_bodies() -> None:
    plain = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, check=True
    )
    source = PROGRAM.read_text(encoding="utf-8")
    SWITCH.install()
    SWITCH.wait_for(1)
    line = source[: source.index("def closures")].count("\n") + 1
    modules = Modules(dual=True, wanted=("program.py", line, "closures"))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(modules.code(source, "program.py"), {"__name__": "__main__"})
        finally:
            SWITCH.stop()
    assert out.getvalue() == plain.stdout
    assert SWITCH.root is not None
    assert SWITCH.root.name == "closures"


def test_only_the_wanted_call_and_what_it_calls_is_shadowed() -> None:
    source = textwrap.dedent(
        """
        def leaf(n): return n + 1
        def work(n): return [leaf(i) for i in range(n)]
        RESULTS = [work(3), work(2), leaf(9)]
        """
    )
    SWITCH.install()
    SWITCH.wait_for(2)
    ended: list[Any] = []
    SWITCH.on_end = ended.append
    try:
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(Modules(dual=True, wanted=("p.py", 3, "work")).code(source, "p.py"), namespace)
    finally:
        SWITCH.stop()
        SWITCH.on_end = None
    assert namespace["RESULTS"] == [[1, 2, 3], [1, 2], 10]
    assert [each.name for each in ended] == ["work"]
    assert [each.name for each in ended[0].calls] == ["leaf", "leaf"]


def test_a_program_does_not_see_the_names_of_the_rewriter() -> None:
    namespace = run_source(
        textwrap.dedent(
            """
            def f(a):
                b = [x for x in a if x]
                for c in b: pass
                return sorted(locals())
            INNER = f([1])
            OUTER = [name for name in globals() if not name.startswith("_")]
            """
        ),
        "program.py",
    )
    assert namespace["INNER"] == ["a", "b", "c"]
    assert namespace["OUTER"] == ["f", "INNER"]
    assert not [name for name in namespace if "@" in name or "$" in name]


def test_a_callee_sees_the_callers_that_it_has() -> None:
    out = output_of(
        """
        import sys, warnings
        def who(): return sys._getframe(1).f_code.co_name
        def outer(): return who()
        print(outer())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("x")
        print(caught[0].filename, caught[0].lineno)
        """
    )
    assert out == "outer\nprogram.py 8\n"


def test_a_traceback_shows_the_lines_of_the_program() -> None:
    out = output_of(
        """
        import traceback
        def deep(n): return 1 // n
        def middle(n):
            return deep(n)
        try:
            middle(0)
        except ZeroDivisionError as error:
            for each in traceback.extract_tb(error.__traceback__):
                if each.filename == "program.py": print(each.name, each.lineno)
        """
    )
    assert out == "<module> 7\nmiddle 5\ndeep 3\n"


def test_recursion_is_as_deep_as_without() -> None:
    limit = sys.getrecursionlimit()
    out = output_of(
        f"""
        def down(n): return 0 if not n else 1 + down(n - 1)
        print(down({limit // 2}))
        """
    )
    assert out == f"{limit // 2}\n"


def test_no_equality_or_hash_of_the_program_is_called_more_often() -> None:
    source = """
        CALLS = []
        class Key:
            def __init__(self, n): self.n = n
            def __hash__(self):
                CALLS.append("hash")
                return self.n
            def __eq__(self, other):
                CALLS.append("eq")
                return self.n == other.n
            def __len__(self):
                CALLS.append("len")
                return 1
            def __iter__(self):
                CALLS.append("iter")
                return iter([self.n])
        a, b = Key(1), Key(1)
        d = {a: 1}
        d[b] = 2
        d.get(a), d.setdefault(b, 3), d.pop(a)
        s = {a}
        s.add(b)
        e = {**{a: 1}}
        e.update({b: 2})
        f = dict(e)
        list(a), tuple(b), [*a], sorted(a), set(b)
        a in [b], b in s
        """
    plain: dict[str, Any] = {}
    exec(textwrap.dedent(source), plain)
    tagged = run_source(textwrap.dedent(source), "program.py")
    assert tagged["CALLS"] == plain["CALLS"]


def test_no_code_of_the_program_is_asked_what_an_object_is() -> None:
    source = """
        ASKED = []
        class Told:
            def __new__(cls, *given): return object.__new__(cls)
            def __init__(self, n): self.n = n
            def __getattribute__(self, name):
                ASKED.append(name)
                return object.__getattribute__(self, name)
            def __getattr__(self, name):
                ASKED.append(f"no {name}")
                return self.given[name]
        a = Told(1)
        kept, by_name = [a], {"a": a}
        kept.append(a)
        a.n += 1
        by_name["b"] = kept[0]
        sorted(kept, key=lambda each: each.n)
        hash(a), repr(a), a in kept
        """
    plain: dict[str, Any] = {}
    exec(textwrap.dedent(source), plain)
    tagged = run_source(textwrap.dedent(source), "program.py")
    assert tagged["ASKED"] == plain["ASKED"]


def test_a_generator_belongs_to_who_asked_a_property_or_an_iterable_for_it() -> None:
    source = """
        class Tree:
            @property
            def leaves(self): yield 1
            def __iter__(self): yield 2
        def asked(tree): return taken(tree.leaves)
        def gone_through(tree): return taken(iter(tree))
        def taken(given): return next(given)
        asked(Tree()), gone_through(Tree())
        """
    callers: dict[str, str] = {}

    def entered(activation: Activation) -> None:
        assert activation.parent is not None
        callers[activation.name] = activation.parent.name

    run_source(textwrap.dedent(source), "program.py", on_enter=entered)
    assert callers["Tree.leaves"] == "asked"
    assert callers["Tree.__iter__"] == "gone_through"


def test_what_has_no_iterator_after_all_ends_no_loop() -> None:
    source = """
        class Odd:
            def __iter__(self): raise StopIteration("none")
        def loop():
            for each in Odd(): pass
        def collected(): return [each for each in Odd()]
        def spread(): return [*Odd()]
        for attempt in (loop, collected, spread):
            try: print(attempt())
            except Exception as error: print(repr(error))
    """
    assert output_of(source) == "StopIteration('none')\n" * 3


def test_what_is_no_python_is_told_of_as_always() -> None:
    with pytest.raises(SyntaxError):
        run_source("def f(:\n", "program.py")
    with pytest.raises(SyntaxError, match="outside function"):
        run_source("return 3\n", "program.py")
