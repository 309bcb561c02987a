"""What `type` says of a class."""

from __future__ import annotations

import re

from whence.langs.python.objects.raw_class import is_builtin_function


def test_methods_in_c_that_know_their_class_are_builtin_functions() -> None:
    assert is_builtin_function(type(len))
    assert is_builtin_function(type(re.compile("").match))
    assert not is_builtin_function(type(str.upper))
    assert not is_builtin_function(type(is_builtin_function))
