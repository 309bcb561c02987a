"""No call outside the widest slice of a part can change it, on ways that no object leads along.

Settings of libraries, files, pipes, variables by name, replaced code, exceptions that were caught.
As in test_forms.py, each program once showed a hole.
"""

from __future__ import annotations

import decimal
import locale
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from marked_runs import mark
from perturbation import check_form

from whence.langs.python.provenance.runtime.run_state import RUN

HEAD = """
import collections, contextlib, decimal, io, locale, os, pathlib, random, shutil, sys, tempfile
import time, warnings
def flag(): return True
def nope(): return False
def number(): return 5
def word(): return "ab"
def digits(): return "41"
def name(): return "plain.txt"
"""
PROGRAMS = {
    "decimal precision": """
def main():
    decimal.getcontext().prec = number()
    return str(decimal.Decimal(1) / decimal.Decimal(3))
""",
    "decimal context by a test": """
def main():
    if flag(): decimal.getcontext().prec = 3
    return [decimal.Decimal(1) / 3, +decimal.Decimal("1.23456")]
""",
    "decimal context replaced": """
def main():
    decimal.setcontext(decimal.Context(prec=number()))
    return str(decimal.Decimal(2).sqrt())
""",
    "decimal context of a block": """
def main():
    with decimal.localcontext() as context:
        context.prec = number()
        made = decimal.Decimal(1) / 7
    return f"{made}"
""",
    "decimal context by a keyword": """
def set_up(): decimal.getcontext().prec = number()
def main():
    set_up()
    return round(float(decimal.Decimal(2) ** decimal.Decimal("0.5")), 12)
""",
    "decimal default of a new context": """
def main():
    decimal.getcontext().rounding = pick()
    return str(decimal.Decimal("2.5").quantize(decimal.Decimal(1)))
def pick(): return decimal.ROUND_UP if flag() else decimal.ROUND_DOWN
""",
    "file written without a buffer and read while it is open": """
def main():
    out = open("data.txt", "wb", buffering=0)
    out.write(content())
    with open("data.txt", "rb") as text: return text.read(1)
def content(): return b"ab"
""",
    "file written and read": """
def main():
    with open("data.txt", "w") as out: out.write(word())
    with open("data.txt") as given: return given.read()
""",
    "file written and read by lines": """
def main():
    out = open("lines.txt", "w")
    for _ in range(2): out.write(word() + "\\n")
    out.close()
    return [line.strip() for line in open("lines.txt")]
""",
    "file that may be missing": """
def main():
    pathlib.Path("may.txt").unlink(missing_ok=True)
    if flag(): pathlib.Path("may.txt").write_text("x")
    return os.path.exists("may.txt")
""",
    "path written and read": """
def main():
    pathlib.Path("path.txt").write_text(word())
    return pathlib.Path("path.txt").read_text()
""",
    "file that cannot be opened": """
def main():
    pathlib.Path("gone.txt").write_text("x")
    if flag(): os.remove("gone.txt")
    try: open("gone.txt").close()
    except OSError: return "no"
    return "yes"
""",
    "names in a folder": """
def main():
    shutil.rmtree("folder", ignore_errors=True)
    os.mkdir("folder")
    open("folder/" + name(), "w").close()
    return sorted(os.listdir("folder"))
""",
    "file size": """
def main():
    open("size.txt", "w").write(word())
    return os.stat("size.txt").st_size
""",
    "file copied": """
def main():
    pathlib.Path("from.txt").write_text(word())
    shutil.copy("from.txt", "to.txt")
    return pathlib.Path("to.txt").read_bytes()
""",
    "pipe": """
def main():
    reader, writer = os.pipe()
    os.write(writer, word().encode())
    os.close(writer)
    got = os.read(reader, 100)
    os.close(reader)
    return got
""",
    "socket pair": """
import socket
def main():
    left, right = socket.socketpair()
    left.sendall(word().encode())
    got = right.recv(100)
    left.close(); right.close()
    return got
""",
    "current folder": """
def main():
    before = os.getcwd()
    os.makedirs("other", exist_ok=True)
    if flag(): os.chdir("other")
    now = os.path.basename(os.getcwd())
    os.chdir(before)
    return now == "other"
""",
    "environment": """
def main():
    os.environ["WHENCE_TEST_WORD"] = word()
    return [os.environ["WHENCE_TEST_WORD"], os.getenv("WHENCE_TEST_WORD"),
            os.path.expandvars("$WHENCE_TEST_WORD")]
""",
    "random state": """
def main():
    random.seed(number())
    return [random.random(), random.randint(1, 1000)]
""",
    "random state set back": """
def main():
    random.seed(7)
    state = random.getstate()
    for _ in range(number()): random.random()
    if nope(): random.setstate(state)
    return random.random()
""",
    "warning filters": """
def main():
    with warnings.catch_warnings():
        warnings.simplefilter("error" if flag() else "ignore")
        try: warnings.warn("w")
        except UserWarning: return "raised"
    return "quiet"
""",
    "recursion limit": """
def main():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + number())
    now = sys.getrecursionlimit() - before
    sys.setrecursionlimit(before)
    return now
""",
    "csv dialect": """
import csv
def main():
    csv.register_dialect("own", delimiter=";" if flag() else ",")
    return next(csv.reader(["a;b"], dialect="own"))
""",
    "print options": """
import numpy
def main():
    numpy.set_printoptions(precision=number())
    return str(numpy.array([1 / 3]))
""",
    "print options by a test": """
import numpy
def set_up():
    if flag(): numpy.set_printoptions(suppress=True)
def main():
    set_up()
    return f"{numpy.array([1e-9])}"
""",
    "print options of a block": """
import numpy
def main():
    with numpy.printoptions(precision=number()): return repr(numpy.array([1 / 3]))
""",
    "named logger": """
import logging
def main():
    logging.getLogger("own").setLevel(number())
    return logging.getLogger("own").getEffectiveLevel()
""",
    "virtual subclass": """
import abc
class Shape(abc.ABC): pass
class Square: pass
def main():
    class Local(abc.ABC): pass
    if flag(): Local.register(Square)
    return isinstance(Square(), Local)
""",
    "codec error handler": """
import codecs
def handler(error): return ("?" + word(), error.end)
def main():
    codecs.register_error("own", handler)
    return "a\\xe9".encode("ascii", "own")
""",
    "pickle reducer": """
import copyreg, copy
class P:
    def __init__(self, x): self.x = x
def made(x): return P(x + number())
def reduced(p): return made, (p.x,)
def main():
    copyreg.pickle(P, reduced)
    return copy.copy(P(1)).x
""",
    "locals by name": """
def main():
    v = number()
    return locals()["v"]
""",
    "locals in a format": """
def main():
    v = word()
    return "%(v)s" % locals()
""",
    "locals as keywords": """
def main():
    v, w = word(), number()
    return "{v}".format(**locals())
""",
    "locals taken whole": """
def main():
    v = word()
    if flag(): w = 1
    return sorted(locals())
""",
    "locals passed on": """
def shown(names): return [names["v"], len(names)]
def main():
    v = word()
    return shown(locals())
""",
    "vars and dir": """
def main():
    v = word()
    if flag(): w = 1
    return [vars()["v"], dir()]
""",
    "locals in a comprehension": """
def main():
    v = word()
    here = locals()
    return [here[each] for each in ("v",)]
""",
    "locals of a closure": """
def main():
    v = word()
    def inner():
        v
        return locals()["v"]
    return inner()
""",
    "format_map of globals": """
def main():
    global V
    V = word()
    return "{V}".format_map(globals())
""",
    "code replaced": """
def one(): return 1
def two(): return 2
def main():
    if flag(): one.__code__ = two.__code__
    return one()
""",
    "code replaced by a call": """
def one(): return 1
def two(): return 2
def pick(n): return (one, two)[n]
def index(): return 1
def main():
    one.__code__ = pick(index()).__code__
    return one()
""",
    "code replaced elsewhere": """
def one(): return 1
def two(): return 2
def swap(function, other):
    if flag(): function.__code__ = other.__code__
def main():
    swap(one, two)
    return [one(), 1]
""",
    "code replaced by setattr": """
def one(): return 1
def two(): return 2
def attribute(): return "__code__"
def main():
    setattr(one, attribute(), two.__code__)
    return one()
""",
    "code with other constants": """
def one(): return 1
def main():
    plain = (lambda: 5).__code__
    made = {}
    exec("def plain(): return 7", made)
    if flag(): one.__code__ = made["plain"].__code__
    return one()
""",
    "defaults replaced": """
def one(x=1): return x
def main():
    one.__defaults__ = (number(),)
    return one()
""",
    "deleter": """
class C:
    def __init__(self): self._x = 1
    @property
    def x(self): return self._x
    @x.deleter
    def x(self): self._x = number()
def main():
    c = C()
    del c.x
    return [c.x, c]
""",
    "deleter that decides": """
class C:
    def __init__(self): self._x = 1
    @property
    def x(self): return self._x
    @x.deleter
    def x(self):
        if flag(): self._x = 2
def main():
    c = C()
    del c.x
    return c.x
""",
    "deleter that removes": """
class C:
    def __init__(self): self.kept = {"a": 1}
    def __delattr__(self, name):
        if flag(): self.kept.clear()
def main():
    c = C()
    del c.anything
    return len(c.kept)
""",
    "deleter that raises": """
class C:
    @property
    def x(self): return 1
    @x.deleter
    def x(self):
        if flag(): raise AttributeError("x")
def main():
    c = C()
    try: del c.x
    except AttributeError: return "refused"
    return "deleted"
""",
    "deleter elsewhere": """
LOG = []
class C:
    @property
    def x(self): return 1
    @x.deleter
    def x(self): LOG.append(number())
def main():
    del C().x
    return [LOG[-1], len(LOG)]
""",
    "deleter, then a default": """
class C:
    def __init__(self): self._x = word()
    @property
    def x(self): return getattr(self, "_x", number())
    @x.deleter
    def x(self): del self._x
def main():
    c = C()
    del c.x
    return c.x
""",
    "deleter that returns nothing used": """
class C:
    def __init__(self): self.count = 0
    def gone(self):
        self.count += number()
        return flag()
    x = property(lambda self: self.count, None, lambda self: self.gone())
def main():
    c = C()
    del c.x
    del c.x
    return c.x
""",
    "deleter by name": """
class C:
    def __init__(self): self.a, self.b = 1, 2
def which(): return "a"
def main():
    c = C()
    delattr(c, which())
    return [hasattr(c, "a"), hasattr(c, "b"), sorted(vars(c))]
""",
    "deleter of a descriptor": """
class D:
    def __get__(self, thing, kind): return thing.__dict__.get("v", 0)
    def __delete__(self, thing): thing.__dict__["v"] = number()
class C: d = D()
def main():
    c = C()
    del c.d
    return c.d
""",
    "which call raised": """
def bad(x): return x == 3
def check(x):
    if bad(x): raise ValueError(x)
    return x
def main():
    done = 0
    try:
        for x in [1, 2, 3, 4]:
            check(x)
            done += 1
    except ValueError: pass
    return done
""",
    "which call raised, by its list": """
def bad(x): return x == 3
def check(x):
    if bad(x): raise ValueError(x)
def main():
    done = []
    try:
        for x in [1, 2, 3, 4]:
            check(x)
            done.append(0)
    except ValueError: done.append(1)
    return done
""",
    "which call raised, by its message": """
def bad(x): return x == 3
def check(x):
    if bad(x): raise ValueError("no")
def main():
    at = None
    try:
        for x in [1, 2, 3]:
            at = x
            check(x)
    except ValueError as error: return [at, str(error)]
""",
    "which conversion failed": """
def main():
    v = digits()
    try:
        int(v)
        ok = True
    except ValueError: ok = False
    return ok
""",
    "which conversion failed, below": """
def convert(v):
    int(v)
    return 1
def main():
    v = digits()
    try:
        convert(v)
        return "good"
    except ValueError: return "bad"
""",
    "which key was missing": """
def main():
    d = {"a": 1, "ab": 2}
    key = word()
    try:
        d[key]
        found = [1]
    except KeyError: found = [0]
    return found
""",
    "which attribute was missing": """
class C: pass
def main():
    c = C()
    if flag(): c.x = 1
    try:
        c.x
        return 1
    except AttributeError: return 2
""",
    "suppressed": """
def main():
    v = digits()
    out = []
    with contextlib.suppress(ValueError):
        int(v)
        out.append(1)
    return out
""",
    "which loop ended": """
def bad(x): return x == 2
def check(x):
    if bad(x): raise KeyError
def main():
    rounds = 0
    while True:
        try:
            rounds += 1
            check(rounds)
        except KeyError: break
    return rounds
""",
    "assertion caught": """
def main():
    v = number()
    try:
        assert v > 3
        return "fine"
    except AssertionError: return "failed"
""",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder and settings of their own for each program."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHENCE_TEST_WORD", "")
    numeric = locale.setlocale(locale.LC_NUMERIC)
    folder = os.getcwd()  # noqa: PTH109
    with decimal.localcontext(), warnings.catch_warnings(), np.printoptions():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
    locale.setlocale(locale.LC_NUMERIC, numeric)
    os.chdir(folder)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_call_outside_the_widest_slice_changes_a_part(name: str) -> None:
    check_form(HEAD + PROGRAMS[name] + "main()\n")


UNREAD = """
import sys
def number(): return 700
def main():
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(number())
    made = str(10 ** 600)
    sys.set_int_max_str_digits(before)
    return made
main()
"""


def test_a_slice_is_not_complete_if_a_setting_was_changed_that_anything_may_read() -> None:
    mark(UNREAD, "main", "")
    assert RUN.has_absorbed


PURE = """
import math
def number(): return 5
def other(): return 7
def main():
    math.sqrt(other())
    return math.floor(number() / 2)
main()
"""


def test_what_shares_no_state_does_not_influence_what_is_computed_later() -> None:
    marked = mark(PURE, "main", "")
    assert marked.calls(3) == {"main", "number"}
    assert not RUN.world
    assert not RUN.has_absorbed


SEPARATE = """
import decimal, os
def number(): return 5
def word(): return "ab"
def main():
    out = open("data.txt", "w")
    out.write(word())
    out.close()
    decimal.getcontext().prec = number()
    return str(decimal.Decimal(1) / 3)
main()
"""


def test_files_do_not_influence_the_arithmetic_of_decimals() -> None:
    calls = mark(SEPARATE, "main", "").calls(3)
    assert "number" in calls
    assert "word" not in calls


def test_the_narrow_slices_do_not_follow_the_world() -> None:
    assert "number" not in mark(SEPARATE, "main", "").calls(2)
