"""Which lines a call ran, from this call alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from recorded import environment

from whence.langs.python.replay.single_call import CannotTell, lines_of_call
from whence.langs.python.trace.trace_reader import open_trace

SIGN = """\
def sign(n, names=()):
    if n < 0:
        return "minus"
    for name in names:
        if name == "zero":
            return name
    return "plus"
"""


def lines(folder: Path, source: str, function: str, *, changed: bool = False) -> frozenset[int]:
    program = folder / "program.py"
    program.write_text(dedent(source))
    os.utime(program, (1, 1))
    subprocess.run(
        [sys.executable, "-m", "whence", "record", "-q", "-o", "t.whence", "program.py"],
        cwd=folder, env=environment(), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    (folder / "written").unlink(missing_ok=True)
    if changed:
        program.write_text(dedent(source))
    tree = open_trace(folder / "t.whence")
    names = [each.qualname for each in tree.functions]
    position = int((tree.columns.function == names.index(function)).argmax())
    return lines_of_call(tree, tree.id(position))


@pytest.mark.parametrize(
    ("call", "ran"),
    [
        ("sign(-1)", {2, 3}),
        ("sign(1)", {2, 4, 7}),
        ("sign(1, ['a', 'zero'])", {2, 4, 5, 6}),
    ],
)
def test_the_lines_of_a_call_are_known(tmp_path: Path, call: str, ran: set[int]) -> None:
    assert lines(tmp_path, f"{SIGN}print({call})\n", "sign") == ran


def test_of_a_recursion_only_the_call_itself_counts(tmp_path: Path) -> None:
    source = """\
    def depth(tree):
        if not tree:
            return 0
        return 1 + depth(tree[0])
    depth([[]])
    """
    assert lines(tmp_path, source, "depth") == {2, 4}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("open('written', 'w').close()\n" + SIGN + "sign(1)\n",
         "while its module is loaded it opens a file for writing"),
        ("def sign(n):\n    if n:\n        open('written', 'w').close()\nsign(1)\n",
         "it opens a file for writing"),
        ("import itertools\ndef sign(n):\n    if n: next(n)\nsign(itertools.count())\n",
         "it was given an object of itertools.count"),
        ("def sign(n):\n    if n: yield n\nlist(sign(1))\n", "it is a generator or coroutine"),
        ("class sign:\n    if True: x = 1\n", "it is the body of a module or class"),
        ("import os\ndef sign(n):\n    if n: return os.getpid()\nsign(1)\n",
         "made again, it has a different outcome"),
        ("def sign(n):\n    if n: return sign(n)\nsign(1)\n", "as often as Python allows"),
        ("import sys\ndef sign(n):\n    if n: sys.settrace(None)\nsign(1)\n", "it traces itself"),
    ],
)  # fmt: skip
def test_what_keeps_them_from_being_known_is_said_and_nothing_is_done(
    tmp_path: Path, source: str, why: str
) -> None:
    with pytest.raises(CannotTell) as told:
        lines(tmp_path, source, "sign")
    assert why in str(told.value)
    assert not (tmp_path / "written").exists()


def test_lines_of_a_file_that_was_changed_are_not_told(tmp_path: Path) -> None:
    with pytest.raises(CannotTell, match="its file has changed or is gone"):
        lines(tmp_path, f"{SIGN}sign(1)\n", "sign", changed=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines processes")
def test_a_library_in_c_cannot_do_what_an_audit_hook_does_not_see(tmp_path: Path) -> None:
    load = "import ctypes\nctypes.CDLL(None).system(b'touch written')\n"
    lines(tmp_path, f"{load}{SIGN}print(sign(-1))\n", "sign")
    assert not (tmp_path / "written").exists()
