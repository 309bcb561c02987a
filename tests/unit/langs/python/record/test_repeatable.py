from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("whence.langs.python.record._identity")


def printed(source: str) -> str:
    """What a program prints in which identity hashes are by number."""
    start = "from whence.langs.python.record import _identity\n_identity.install()\n"
    done = subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_set_of_plain_objects_has_one_order_in_every_run() -> None:
    source = """
        import os
        junk = [object() for _ in range(os.getpid() % 1000)]
        class Thing:
            def __init__(self, number):
                self.number = number
        print([thing.number for thing in {Thing(n) for n in range(500)}])
    """
    assert printed(source) == printed(source)


def test_a_hash_stays_as_long_as_the_object_lives() -> None:
    assert (
        printed("""
        import gc
        class Thing: pass
        class Named(Thing):
            __hash__ = object.__hash__
        things = [Thing() for _ in range(1000)] + [Named() for _ in range(1000)]
        hashes = [hash(thing) for thing in things]
        for _ in range(100_000):
            {Thing(): 1, Named(): 2}
        gc.collect()
        print([hash(thing) for thing in things] == hashes)
        print([object.__hash__(thing) for thing in things] == hashes)
    """)
        == "True\nTrue\n"
    )


def test_objects_that_were_there_before_are_found_in_their_tables() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent("""
            class Thing: pass
            class Own:
                def __hash__(self): return object.__hash__(self)
            things = [Thing() for _ in range(1000)] + [Own() for _ in range(100)]
            things += [Thing, Own, print, len, type, Thing.__init__]
            table = {thing: n for n, thing in enumerate(things)}
            from whence.langs.python.record import _identity
            _identity.install()
            print(all(table[thing] == n for n, thing in enumerate(things)))
            """),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "True\n", done.stderr


def test_what_is_hashed_aside_does_not_count() -> None:
    source = """
        class Thing: pass
        numbers = []
        for aside in {asides}:
            before = _identity.aside(aside)
            kept = [Thing() for _ in range(7)]
            {{*kept}}
            _identity.aside(before)
            if not aside:
                numbers += [hash(thing) for thing in kept]
        print(numbers)
    """
    without = printed(source.format(asides=(False, False)))
    assert without == printed(source.format(asides=(False, True, False)))


def test_values_that_hash_by_content_do_so_as_before() -> None:
    assert printed("print(hash((1, 2)), hash(3.5), hash(frozenset((1, 2))))") == (
        f"{hash((1, 2))} {hash(3.5)} {hash(frozenset((1, 2)))}\n"
    )
