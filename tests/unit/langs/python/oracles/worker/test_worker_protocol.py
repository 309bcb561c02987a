"""Messages between an oracle and its worker survive the pipe."""

from __future__ import annotations

import pytest

from whence.langs.python.oracles.worker.worker_protocol import (
    CallRequest,
    CannotAnswer,
    Ended,
    Loaded,
    decode_as,
    decode_message,
    encode_message,
)


def test_a_message_is_read_as_it_was_written() -> None:
    request = CallRequest("m", "f", ["x"], [("x", ["literal", "\udc80"])], line=3, wants_lines=True)
    text = encode_message(request)
    again = decode_message(text)
    assert isinstance(again, CallRequest)
    assert encode_message(again) == text
    assert decode_message(encode_message(Ended()).encode()) == Ended()


@pytest.mark.parametrize(
    "line", ["{}", '{"message": "Nothing"}', "[]", "x", '{"message": "Loaded"}']
)
def test_what_is_no_message_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        decode_message(line)


def test_another_message_than_expected_is_refused() -> None:
    with pytest.raises(ValueError):
        decode_as(Loaded, encode_message(CannotAnswer("why")))
