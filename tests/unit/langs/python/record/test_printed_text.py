"""What a call printed is known, and the streams are what they were."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorded import BACKENDS, environment

from whence.langs.python.record.printed_text import PrintedText
from whence.langs.python.trace.trace_reader import open_trace

only_in_c = pytest.mark.skipif("native" not in BACKENDS, reason="it takes the recorder in C")


def printed(
    folder: Path, source: str, *options: str, expect: int = 0, backend: str = "native"
) -> tuple[dict[str, str], str]:
    """What each function printed, by its name, and what the program did in all."""
    (folder / "program.py").write_text(source)
    words = ["-m", "whence", "record", "--backend", backend, *options, "-o", "t.whence"]
    done = subprocess.run(
        [sys.executable, *words, "program.py"], cwd=folder, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == expect, done.stdout
    tree = open_trace(folder / "t.whence")
    calls = [tree.call(position) for position in range(len(tree.columns))]
    return {each.function.short(): each.printed for each in calls}, done.stdout


def test_a_text_belongs_to_the_call_that_printed_it(backend: str, tmp_path: Path) -> None:
    by, _ = printed(tmp_path, """
import sys, logging
def inner(): print("inner", 1, sep="-"); sys.stderr.write("warned\\n")
def lines(): sys.stdout.writelines(["a\\n", "b\\n"])
def logged(): logging.warning("careful")
def outer(): print("before"); inner(); print("after", end="")
outer(); lines(); logged(); print("module")
""", backend=backend)  # fmt: skip
    assert by["inner"] == "inner-1\nwarned\n"
    assert by["outer"] == "before\nafter"
    assert by["lines"] == "a\nb\n"
    assert by["logged"] == "WARNING:root:careful\n"
    assert by["<module>"] == "module\n"


def test_other_streams_are_not_what_was_printed(backend: str, tmp_path: Path) -> None:
    by, _ = printed(tmp_path, """
import contextlib, io, sys
def to_file():
    with open("other", "w") as other: other.write("no"); print("no", file=other)
def redirected():
    with contextlib.redirect_stdout(io.StringIO()): print("no")
def fails():
    try: sys.stdout.write(3)
    except TypeError: pass
to_file(); redirected(); fails()
""", backend=backend)  # fmt: skip
    assert by["to_file"] == by["redirected"] == by["fails"] == ""


@only_in_c
def test_the_streams_and_their_methods_look_as_without_us(tmp_path: Path) -> None:
    source = """
import io, sys
write = sys.stdout.write
print(type(sys.stdout), type(write), write.__name__, write.__self__ is sys.stdout)
print(sys.stdout is sys.__stdout__, type(io.TextIOWrapper.__dict__["write"]), vars(sys.stdout))
print(io.TextIOWrapper.write is io.TextIOWrapper.__dict__["write"], write.__doc__)
print(sys.getrefcount(sys.stdout), sys.getrefcount(sys.__stdout__.buffer))
"""
    (tmp_path / "plain.py").write_text(source)
    plain = subprocess.run(
        [sys.executable, "plain.py"], cwd=tmp_path, text=True, stdout=subprocess.PIPE, check=True
    )
    by, out = printed(tmp_path, source)
    assert out == plain.stdout == by["<module>"]


def test_a_long_text_is_cut_with_the_number_of_what_is_left_out(
    backend: str, tmp_path: Path
) -> None:
    by, _ = printed(tmp_path, "def f(): print('é' * 30_000, end='')\nf()\n", backend=backend)
    assert by["f"] == "é" * 10_000 + "…20000 more characters\n"


def test_surrogates_and_other_encodings_do_no_harm(backend: str, tmp_path: Path) -> None:
    by, _ = printed(tmp_path, """
import sys
sys.stdout.reconfigure(errors="backslashreplace")
def f(): print("\\ud800 \\U0001f600")
f()
""", backend=backend)  # fmt: skip
    assert by["f"] == "\\ud800 \U0001f600\n"


def test_calls_that_print_different_things_are_different_calls(
    backend: str, tmp_path: Path
) -> None:
    printed(tmp_path, """
text = iter("aab")
def say(): print(next(text))
say(); say(); say()
""", backend=backend)  # fmt: skip
    tree = open_trace(tmp_path / "t.whence")
    says = [each for each in range(len(tree.columns)) if tree.call(each).function.short() == "say"]
    first, second, third = (int(tree.columns.equation[each]) for each in says)
    assert first != third
    assert second != third


def test_threads_print_each_for_their_own_call(backend: str, tmp_path: Path) -> None:
    by, _ = printed(tmp_path, """
import threading
def one(): print("one")
def two(): print("two")
threads = [threading.Thread(target=f) for f in (one, two)]
for t in threads: t.start()
for t in threads: t.join()
""", backend=backend)  # fmt: skip
    assert "one" in by["one"]
    assert "two" not in by["one"]
    assert "two" in by["two"]


@pytest.mark.parametrize("detail", ["ids", "shallow"])
def test_nothing_is_recorded_of_it_with_less_detail(
    backend: str, tmp_path: Path, detail: str
) -> None:
    by, out = printed(tmp_path, "def f(): print('x')\nf()\n", "--detail", detail, backend=backend)
    assert out == "x\n"
    assert by["f"] == ""


def test_a_traceback_is_printed_by_the_run(backend: str, tmp_path: Path) -> None:
    source = "def f(): raise ValueError('x')\nf()\n"
    by, out = printed(tmp_path, source, expect=1, backend=backend)
    assert by["program.py"] == out
    assert out.endswith("ValueError: x\n")


@only_in_c
def test_a_hard_exit_loses_nothing_and_tells_the_status(tmp_path: Path) -> None:
    by, _ = printed(
        tmp_path,
        "import os\ndef f():\n    print('x', flush=True)\n    os._exit(5)\nf()\n",
        expect=5,
    )
    assert by["f"] == "x\n"
    tree = open_trace(tmp_path / "t.whence")
    assert tree.call(0).right() == "→ 5"
    assert tree.call(2).right().startswith("did not end")


@only_in_c
def test_a_wrong_hard_exit_is_none(tmp_path: Path) -> None:
    by, _ = printed(tmp_path, """
import os
for wrong in ("x", 2**70):
    try: os._exit(wrong)
    except (TypeError, OverflowError): pass
def f(): print("later")
f()
""")  # fmt: skip
    assert by["f"] == "later\n"


@only_in_c
def test_what_was_recorded_before_an_exec_is_kept(tmp_path: Path) -> None:
    source = "import os, sys\ndef f(): return 1\nf()\nos.execv(sys.executable, ['p', '-c', ''])\n"
    by, _ = printed(tmp_path, source)
    assert "f" in by


@pytest.mark.skipif(len(BACKENDS) < 2, reason="there is one recorder only")
def test_every_backend_writes_the_same_of_what_is_printed(tmp_path: Path) -> None:
    source = """
import logging, sys, threading
class Text(str): pass
def parts(n):
    for i in range(n):
        print("part", i)
        yield i
def fails():
    try: print(3, file=sys.stderr, flush=None); sys.stdout.write(None)
    except TypeError: print("no text")
def nested(): return [print(i, end="") for i in range(2)]
def main():
    list(parts(2)); fails(); nested()
    print(Text("of a subclass")); print("", end=""); logging.warning("careful")
    sys.stdout.writelines(["a", "b\\n"])
    thread = threading.Thread(target=print, args=("from a thread",)); thread.start(); thread.join()
main()
"""
    found = []
    for backend in BACKENDS:
        by, out = printed(tmp_path, source, backend=backend)
        tree = open_trace(tmp_path / "t.whence")
        told = [
            (call.function.short(), call.printed, call.right())
            for call in map(tree.call, range(1, len(tree.columns)))
        ]
        found.append((by, out, told))
    assert found[0] == found[1]


def test_a_write_that_fails_raises_as_without_us(backend: str, tmp_path: Path) -> None:
    by, out = printed(tmp_path, """
import sys
def f():
    for wrong in (3, "\\ud800"):
        try: sys.stdout.write(wrong)
        except Exception as problem: print(type(problem).__name__, problem.args[:1])
f()
""", backend=backend)  # fmt: skip
    assert out == by["f"]
    assert out.startswith("TypeError (")
    assert "UnicodeEncodeError ('utf-8',)" in out


def test_the_recorder_in_python_gives_the_streams_back() -> None:
    stream = sys.__stdout__
    assert stream is not None
    before = dict(vars(stream))
    watching = PrintedText(lambda descriptor, text: None)
    watching.watch()
    assert stream.write.__self__ is stream  # type: ignore[attr-defined]
    watching.unwatch()
    assert vars(stream) == before
