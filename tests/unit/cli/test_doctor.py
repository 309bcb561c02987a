"""`whence doctor` says what works here and why something does not."""

from __future__ import annotations

import argparse
import runpy
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from whence.cli import doctor
from whence.errors import WhenceError
from whence.langs.python.record import backend_choice
from whence.langs.python.record.backend_choice import Candidate


def said(capsys: Any) -> tuple[int, str]:
    code = doctor.run(argparse.Namespace())
    return code, capsys.readouterr().out


def here(monkeypatch: pytest.MonkeyPatch, *every: Candidate) -> None:
    monkeypatch.setattr(doctor, "candidates", lambda: every)
    monkeypatch.setattr(backend_choice, "candidates", lambda: every)


NATIVE = Candidate("native", "in C")
PURE = Candidate("pure", "in Python")
NOT_BUILT = Candidate("native", "in C", "it was not built", "install a compiler")


def test_the_first_that_works_is_taken(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    here(monkeypatch, NATIVE, PURE)
    code, text = said(capsys)
    assert code == 0
    assert "native   yes (in C), the default\n" in text
    assert "pure     yes (in Python)\n" in text
    assert "pure: " not in text


def test_what_is_in_the_way_is_told_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    here(monkeypatch, NOT_BUILT, PURE)
    code, text = said(capsys)
    assert code == 0
    assert "native   no: it was not built\n" in text
    assert "cure: install a compiler\n" in text
    assert "pure     yes (in Python), the default\n" in text


def test_the_weaknesses_of_the_recorder_in_python_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    here(monkeypatch, NOT_BUILT, PURE)
    _, text = said(capsys)
    assert "who created a generator" in text
    assert "which call started a process is known only if it was forked off" in text


def test_if_nothing_can_record_the_exit_code_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    other = Candidate("pure", "in Python", "no ctypes")
    here(monkeypatch, NOT_BUILT, other)
    code, text = said(capsys)
    assert code == 1
    assert "pure     no: no ctypes\n" in text
    assert "journal         no: nothing records here\n" in text
    assert "checkpoints     no: they need a journal\n" in text
    with pytest.raises(WhenceError, match="nothing can record here") as problem:
        backend_choice.choose_backend()
    assert "install a compiler" in str(problem.value)
    assert "no ctypes" in str(problem.value)


def test_why_programs_are_run_again_from_their_start_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(doctor, "no_journal", lambda _: None)
    monkeypatch.setattr(doctor, "no_checkpoints", lambda: "they are made on Linux only")
    assert "checkpoints     no: they are made on Linux only\n" in said(capsys)[1]
    monkeypatch.setattr(doctor, "no_checkpoints", lambda: "")
    assert "checkpoints     yes\n" in said(capsys)[1]


def test_the_python_and_the_packages_are_named(capsys: Any) -> None:
    _, text = said(capsys)
    assert sys.executable in text
    assert "numpy" in text


def test_a_package_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(doctor, "_OPTIONAL", {"no_such_package": "nothing works without it"})
    _, text = said(capsys)
    assert "no_such_package no: nothing works without it" in text


def test_a_backend_that_is_wanted_and_cannot_be_had_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here(monkeypatch, NOT_BUILT, PURE)
    with pytest.raises(WhenceError, match="native: it was not built; install a compiler"):
        backend_choice.choose_backend("native")
    with pytest.raises(WhenceError, match="there is no backend named magic"):
        backend_choice.choose_backend("magic")
    monkeypatch.setenv(backend_choice.VARIABLE, "pure")
    assert backend_choice.choose_backend() is PURE


def test_a_free_threaded_python_is_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1)
    for candidate in backend_choice.candidates():
        assert "free-threaded" in candidate.why_not()


def test_another_interpreter_is_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        name = "pypy"

    monkeypatch.setattr(sys, "implementation", Other)
    for candidate in backend_choice.candidates():
        assert candidate.why_not() == "this is pypy; whence records CPython only"


def test_a_part_in_c_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    scanner = "whence.langs.python.trace._scan"
    missing = {scanner: backend_choice.NOT_BUILT}
    monkeypatch.setattr(doctor, "extension_obstacle", missing.get)
    _, text = said(capsys)
    assert "yes: _recorder, _identity, _confinement, _interposition, _tagging\n" in text
    assert "no: _scan, so recordings are opened slowly; the C extension was not built" in text
    assert "cure: install a C compiler" in text


def test_every_part_in_c_is_known() -> None:
    assert set(doctor.EXTENSIONS) == set(built_by_setup())


def test_every_part_in_c_was_built() -> None:
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("they are not built for a free-threaded Python")
    assert {name: backend_choice.extension_obstacle(name) for name in built_by_setup()} == (
        dict.fromkeys(built_by_setup())
    )


def built_by_setup() -> list[str]:
    setup = Path(__file__).parents[3] / "setup.py"
    return list(runpy.run_path(str(setup))["EXTENSIONS"])
