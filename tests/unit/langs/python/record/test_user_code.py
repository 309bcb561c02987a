"""Which code is user code: what libraries compile in the program's modules is not."""

from __future__ import annotations

from types import CodeType

import pytest

from whence.langs.python.record.user_code import UserCode


def code_of(file: str, name: str = "__init__") -> CodeType:
    namespace: dict[str, object] = {}
    exec(compile(f"def {name}(self): pass", file, "exec"), namespace)
    function = namespace[name]
    return function.__code__  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    "file", ["<attrs generated methods shop.Point>", "<attrs generated init shop.Point>"]
)
def test_methods_that_attrs_generates_are_not_user_code(file: str) -> None:
    module = {"__name__": "shop", "__file__": "/project/shop.py"}
    assert not UserCode().owns(code_of(file), module)
    assert not UserCode().owns(code_of(file), {"__name__": "__main__"})
    assert UserCode().owns(code_of("/project/shop.py"), module)
    assert UserCode().owns(code_of("<cell 1>"), module)
