"""Any program computes with tags what it computes without, and no call outside a slice matters."""

from __future__ import annotations

import re
from typing import Any

from call_programs import programs
from hypothesis import given, settings
from perturbation import check, some_marks
from tag_dump import dump_both

from whence.langs.python.provenance.rewriter.rewriting_importer import Modules, run_source
from whence.langs.python.provenance.runtime.shadow_switch import SWITCH


def with_results(source: str) -> str:
    """The same program, which keeps what its calls give."""
    return "RESULTS = []\n" + re.sub(r"^    (f\d\(\d, \[7\]\))$", r"    RESULTS.append(\1)", source,
                                     flags=re.MULTILINE)  # fmt: skip


@given(source=programs())
@settings(max_examples=60)
def test_a_program_with_tags_gives_the_same(source: str) -> None:
    source = with_results(source)
    plain: dict[str, Any] = {}
    exec(compile(source, "program.py", "exec"), plain)
    tagged = run_source(source, "program.py")
    assert tagged["RESULTS"] == plain["RESULTS"], source


@given(source=programs())
@settings(max_examples=30)
def test_a_function_with_two_bodies_gives_the_same_whichever_runs(source: str) -> None:
    source = with_results(source)
    plain: dict[str, Any] = {}
    exec(compile(source, "program.py", "exec"), plain)
    SWITCH.install()
    SWITCH.wait_for(2)
    line = next(n for n, text in enumerate(source.splitlines(), 1) if text.startswith("def f0("))
    modules = Modules(dual=True, wanted=("program.py", line, "f0"))
    tagged: dict[str, Any] = {"__builtins__": __builtins__}
    try:
        exec(modules.code(source, "program.py"), tagged)
    finally:
        SWITCH.stop()
    assert tagged["RESULTS"] == plain["RESULTS"], source


@given(source=programs())
@settings(max_examples=12)
def test_no_call_outside_the_widest_slice_changes_the_marked_part(source: str) -> None:
    source = with_results(source)
    for mark in some_marks(source, 2):
        checked = check(source, mark, most=6)
        assert checked.violations == (), source


@given(source=programs())
@settings(max_examples=20)
def test_the_twins_in_c_and_in_python_leave_the_same_tags(source: str) -> None:
    native, python = dump_both(with_results(source))
    assert native == python, source
