"""Tags: both implementations have the same fields by the same names."""

from __future__ import annotations

import pytest

from whence.langs.python.provenance.runtime.native_tagging import NATIVE_TAG
from whence.langs.python.provenance.tags import (
    AMBIG,
    BOUND,
    CONST,
    CTL,
    LOAD,
    PART,
    RET,
    STORE,
    WHOLE,
    PythonTag,
)

FIELDS = {
    (CONST, 3, None): "kind site control",
    (BOUND, 3, None, "append", "owner"): "name receiver",
    (WHOLE, 0, None, 5, 1234, "need"): "time address",
    (RET, 3, None, "source", "activation", "need"): "source returned_by",
    (STORE, 3, None, "source", 5): "source time",
    (LOAD, 3, None, "source", 5, 1234, "key", "owner"): "source time address key",
    (PART, 3, None, "source", ("item", 1)): "source step",
    (AMBIG, 3, None, ("one", "other"), "need"): "choices",
    (CTL, 3, None, "why", "activation", True): "predicate activation outcome",
    (CTL, 3, None, "why", "activation", False, ("test",)): "outcome dropped",
}


@pytest.mark.parametrize(("fields", "names"), FIELDS.items(), ids=str)
def test_a_tag_reads_the_same_in_c_and_in_python(fields: tuple[object, ...], names: str) -> None:
    if NATIVE_TAG is None:
        pytest.skip("built without C")
    native, python = NATIVE_TAG(fields), PythonTag(fields)
    assert list(native) == list(python) == list(fields)
    assert native[2:] == python[2:]
    for name in names.split():
        assert getattr(native, name) == getattr(python, name)


def test_a_native_tag_refuses_what_is_no_tag() -> None:
    if NATIVE_TAG is None:
        pytest.skip("built without C")
    with pytest.raises(TypeError, match="expected a tuple"):
        NATIVE_TAG([CONST, 3, None])
    with pytest.raises(ValueError, match="no such kind"):
        NATIVE_TAG((99, 3, None))
