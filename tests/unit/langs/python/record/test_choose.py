"""Which backend records, and that the one in C is there where it can be."""

from __future__ import annotations

import importlib.util
import shutil
import sysconfig

import pytest

from whence.errors import WhenceError
from whence.langs.python.record.choose import chosen


def has_a_compiler() -> bool:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return shutil.which(compiler) is not None


@pytest.mark.skipif(not has_a_compiler(), reason="there is no C compiler")
@pytest.mark.parametrize("module", ["record._recorder", "trace._scan"])
def test_where_there_is_a_compiler_the_parts_in_c_are_built(module: str) -> None:
    # They are optional, so that a failure to build them would pass unnoticed.
    assert importlib.util.find_spec(f"whence.langs.python.{module}") is not None


def test_a_backend_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHENCE_BACKEND", raising=False)
    assert chosen("pure").name == "pure"
    monkeypatch.setenv("WHENCE_BACKEND", "pure")
    assert chosen(None).name == "pure"
    with pytest.raises(WhenceError, match="there is no backend named"):
        chosen("no such thing")
