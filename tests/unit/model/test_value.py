"""Paths into values, and what is shown of them."""

import pytest

from whence.errors import UsageError
from whence.model.value import Kind, Value, atom


def test_a_part_that_was_not_recorded_can_be_named_where_there_may_be_one() -> None:
    long = Value(Kind.LIST, "", (("[0]", atom("1")),), omitted=3)
    assert long.resolve(("[3]",)) == ("[3]",)
    assert long.part(("[3]",)) == atom("…")
    with pytest.raises(UsageError, match="has no part"):
        long.resolve(("[4]",))
    table = atom("array([1, 2, …7 more], dtype=int64)")
    assert table.resolve(("[5]",)) == ("[5]",)
    with pytest.raises(UsageError, match="has no part"):
        atom("17").resolve(("[5]",))
    with pytest.raises(UsageError, match="has no part"):
        Value(Kind.OBJECT, "P", ((".x", atom("1")),), omitted=3).resolve((".y",))
