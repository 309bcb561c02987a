"""Which backend records, and that the one in C is there where it can be."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sysconfig
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path

import pytest

from whence.errors import WhenceError
from whence.langs.python.record import backend_choice
from whence.langs.python.record.backend_choice import candidates, choose_backend

RECORDER = Path(backend_choice.__file__).parent / "native"


def compiler() -> list[str]:
    return (sysconfig.get_config_var("CC") or "cc").split()


def has_a_compiler() -> bool:
    return shutil.which(compiler()[0]) is not None


@pytest.mark.skipif(not has_a_compiler(), reason="there is no C compiler")
@pytest.mark.parametrize("module", ["record._recorder", "trace._scan"])
def test_where_there_is_a_compiler_the_parts_in_c_are_built(module: str) -> None:
    # They are optional, so that a failure to build them would pass unnoticed.
    assert importlib.util.find_spec(f"whence.langs.python.{module}") is not None


def importing(name: str, source: Path, *flags: str) -> str:
    """Why an extension module that is built from this file cannot be imported."""
    built = source.with_suffix(".so")
    command = [*compiler(), "-shared", "-fPIC", *flags, f"-I{RECORDER / 'cpython'}"]
    command += [f"-I{sysconfig.get_path('include')}", "-o", str(built), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(ImportError) as refusal:
        ExtensionFileLoader(name, str(built)).create_module(
            ModuleSpec(name, None, origin=str(built))
        )
    return str(refusal.value)


@pytest.mark.skipif(not has_a_compiler(), reason="there is no C compiler")
def test_for_an_unknown_version_there_is_a_module_that_says_so(tmp_path: Path) -> None:
    source = tmp_path / "unsupported.c"
    source.write_text((RECORDER / "unsupported.c").read_text())
    reason = importing("_recorder", source, "-DWHENCE_MODULE=_recorder")
    assert "this version of Python is not known" in reason


@pytest.mark.skipif(not has_a_compiler(), reason="there is no C compiler")
def test_the_recorder_in_c_cannot_be_compiled_for_a_free_threaded_build() -> None:
    command = [*compiler(), "-fsyntax-only", "-DPy_GIL_DISABLED=1"]
    command += [f"-I{sysconfig.get_path('include')}", str(RECORDER / "_recorder.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "free-threaded builds of Python are not supported" in done.stderr


@pytest.mark.skipif(not has_a_compiler(), reason="there is no C compiler")
@pytest.mark.parametrize(
    ("pretended", "reason"),
    [
        ("", "none"),
        ("#undef PY_VERSION_HEX\n#define PY_VERSION_HEX 0x030A00F0", "another release of Python"),
        ("#define gi_iframe gi_weakreflist", "types of other sizes"),
        ("#define frame_globals(frame) ((void)frame, NULL)", "keeps frames otherwise"),
        ("#define value_at(values, index) ((void)index, NULL)", "keeps objects otherwise"),
        ("#define number_is_negative(number) false", "keeps objects otherwise"),
    ],
)
def test_an_interpreter_with_another_layout_than_its_headers_is_refused(
    pretended: str, reason: str, tmp_path: Path
) -> None:
    source = tmp_path / "probe.c"
    source.write_text(
        f"""#include "cpython.h"
{pretended}
#include "layout.c"

PyMODINIT_FUNC PyInit_probe(void)
{{
    const char *problem = layout_problem();
    PyErr_SetString(PyExc_ImportError, problem != NULL ? problem : "none");
    return NULL;
}}
"""
    )
    assert reason in importing("probe", source)


def test_on_a_free_threaded_build_nothing_records_and_it_is_said_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": 1}.get)
    with pytest.raises(WhenceError) as told:
        choose_backend(None)
    assert str(told.value) == (
        "nothing can record here: this is a free-threaded build of Python, where calls of "
        "different threads would get mixed up; record with a standard build"
    )


def test_where_the_recorder_in_c_refuses_the_other_one_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WHENCE_BACKEND", raising=False)
    refusal = ImportError("the C recorder refuses: this version of Python is not known to it")
    monkeypatch.setattr(backend_choice, "load_extension", lambda name: refusal)
    native, _ = candidates()
    assert native.why_not() == str(refusal)
    assert choose_backend(None).name == "pure"


def test_a_backend_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHENCE_BACKEND", raising=False)
    assert choose_backend("pure").name == "pure"
    monkeypatch.setenv("WHENCE_BACKEND", "pure")
    assert choose_backend(None).name == "pure"
    with pytest.raises(WhenceError, match="there is no backend named"):
        choose_backend("no such thing")
