"""Provenance over programs that nobody tuned it for.

Modules of the standard library that are rewritten whole pass CPython's own tests as they do
unrewritten, and no call outside the slice of a mark changes what was marked.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from foreign_suites import Suite, differences, from_unittest
from perturbation import check, some_marks

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

REWRITTEN = Path(__file__).parents[1] / "support" / "run_rewritten.py"
CORPUS = Path(__file__).parents[1] / "corpus"

KEPT_ALIVE = "objects with shadows live until the run is forgotten, so weak references do too"
COUNTED = "it counts references"
MANY = "of more than a million calls everything would be kept: it is left out (`run_rewritten.py`)"

MODULES: dict[str, tuple[str, dict[str, str]]] = {
    "test_abc": ("abc,_py_abc", {}),
    "test_bisect": ("bisect", {}),
    "test_cmd": ("cmd", {}),
    "test_colorsys": ("colorsys", {}),
    "test_copy": ("copy", {
        "test_deepcopy_weakkeydict": KEPT_ALIVE, "test_deepcopy_weakvaluedict": KEPT_ALIVE,
    }),
    "test_csv": ("csv", {}),
    "test_dataclasses": ("dataclasses", {"test_original_class_is_gced": KEPT_ALIVE}),
    "test_fnmatch": ("fnmatch", {}),
    "test_fractions": ("fractions", {}),
    "test_genericpath": ("genericpath", {}),
    "test_getopt": ("getopt", {}),
    "test_graphlib": ("graphlib", {}),
    "test_linecache": ("linecache", {}),
    "test_mimetypes": ("mimetypes", {}),
    "test_netrc": ("netrc", {}),
    "test_operator": ("operator", {"test_methodcaller_cyclic_gc": KEPT_ALIVE}),
    "test_optparse": ("optparse", {"test_refleak": COUNTED}),
    "test_posixpath": ("posixpath", {"test_expandvars_large": MANY}),
    "test_pprint": ("pprint", {}),
    "test_reprlib": ("reprlib", {}),
    "test_sched": ("sched", {}),
    "test_shlex": ("shlex", {}),
    "test_stat": ("stat", {}),
    "test_string": ("string", {}),
    "test_textwrap": ("textwrap", {}),
}  # fmt: skip
"""The test, what of it is rewritten, and which tests differ, with the cause. Not every version of
Python has all of them."""


@pytest.mark.parametrize("name", MODULES)
def test_cpythons_own_tests_pass_with_the_module_rewritten(name: str, suite: Suite) -> None:
    if importlib.util.find_spec(f"test.{name}") is None:
        pytest.skip("this Python was installed without its tests")
    modules, known = MODULES[name]
    plain = suite.run([sys.executable, "-m", "unittest", "-v", f"test.{name}"], from_unittest)
    command = [sys.executable, str(REWRITTEN), modules, f"test.{name}"]
    rewritten = suite.run(command, from_unittest)
    assert len(plain) > 1, "tests were run"
    different = differences(plain, rewritten)
    if known:
        different.pop("exit code", None)
    there = {each.partition(" ")[0] for each in plain}
    assert {each.partition(" ")[0] for each in different} == known.keys() & there


def quiet_programs() -> list[str]:
    """The programs of the corpus that need nothing but themselves."""
    found = []
    for folder in sorted(CORPUS.glob("*/bug.json")):
        told = json.loads(folder.read_text(encoding="utf-8"))
        if not (told.get("argv") or told.get("stdin") or told.get("needs")):
            found.append(folder.parent.name)
    return found


@pytest.mark.parametrize("name", quiet_programs())
def test_no_call_outside_the_widest_slice_changes_the_marked_part(name: str) -> None:
    source = (CORPUS / name / "buggy.py").read_text(encoding="utf-8")

    for mark in some_marks(source, 5):
        checked = check(source, mark, most=8)
        assert checked.violations == (), mark
