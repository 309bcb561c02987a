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
from whence.langs.python.record import choose
from whence.langs.python.record.choose import candidates, chosen

RECORDER = Path(choose.__file__).parent / "native"


def compiler() -> list[str]:
    return (sysconfig.get_config_var("CC") or "cc").split()


def has_a_compiler() -> bool:
    return shutil.which(compiler()[0]) is not None


@pytest.mark.skipif(not has_a_compiler(), reason="there is no C compiler")
@pytest.mark.parametrize("module", ["record._recorder", "trace._scan"])
def test_where_there_is_a_compiler_the_parts_in_c_are_built(module: str) -> None:
    # They are optional, so that a failure to build them would pass unnoticed.
    assert importlib.util.find_spec(f"whence.langs.python.{module}") is not None


@pytest.mark.skipif(not has_a_compiler(), reason="there is no C compiler")
@pytest.mark.parametrize(
    ("pretended", "reason"),
    [
        ("#define Py_GIL_DISABLED 1", "free-threaded builds of Python are not supported"),
        (
            "#undef PY_VERSION_HEX\n#define PY_VERSION_HEX 0x030F00F0",
            "version of Python is not known",
        ),
    ],
)
def test_the_recorder_in_c_refuses_an_interpreter_whose_frames_it_does_not_know(
    pretended: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "patchlevel.h").write_text(f"#include_next <patchlevel.h>\n{pretended}\n")
    built = tmp_path / "_recorder.so"
    command = [*compiler(), "-shared", "-fPIC", f"-I{tmp_path}"]
    command += [f"-I{sysconfig.get_path('include')}", "-o", str(built), str(RECORDER / "whole.c")]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(ImportError, match=reason):
        ExtensionFileLoader("_recorder", str(built)).create_module(
            ModuleSpec("_recorder", None, origin=str(built))
        )


def test_on_a_free_threaded_build_nothing_records_and_it_is_said_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choose.sysconfig, "get_config_var", {"Py_GIL_DISABLED": 1}.get)
    with pytest.raises(WhenceError) as told:
        chosen(None)
    assert str(told.value).count("free-threaded build of Python") == 2
    assert "record with a standard build" in str(told.value)


def test_where_the_recorder_in_c_refuses_the_other_one_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WHENCE_BACKEND", raising=False)
    refusal = ImportError("the C recorder refuses: this version of Python is not known to it")
    monkeypatch.setattr(choose, "load_extension", lambda name: refusal)
    native, _ = candidates()
    assert native.why_not() == str(refusal)
    assert chosen(None).name == "pure"


def test_a_backend_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHENCE_BACKEND", raising=False)
    assert chosen("pure").name == "pure"
    monkeypatch.setenv("WHENCE_BACKEND", "pure")
    assert chosen(None).name == "pure"
    with pytest.raises(WhenceError, match="there is no backend named"):
        chosen("no such thing")
