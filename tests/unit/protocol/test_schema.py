"""The schema in the documentation is that of the messages, and sessions keep to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema

from whence.app.session_host import SessionHost
from whence.protocol.problems import CURES, Code
from whence.protocol.requests import METHODS
from whence.protocol.schema import field_texts, schema
from whence.protocol.views import SessionView

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLE = Path(__file__).parents[3] / "examples" / "sqrtest.jsonl"
SCHEMA = jsonschema.Draft202012Validator(schema())


def test_the_written_schema_is_that_of_the_messages() -> None:
    written = json.loads((DOCS / "protocol.schema.json").read_text("utf-8"))
    assert written == schema(), "run: python -m whence.protocol.schema > docs/protocol.schema.json"


def test_the_manual_names_every_method_and_every_code() -> None:
    manual = (DOCS / "protocol.md").read_text("utf-8")
    missing = [name for name in METHODS if f"`{name}`" not in manual]
    missing += [code.value for code in Code if f"`{code.value}`" not in manual]
    assert not missing
    assert set(CURES) == set(Code)


def test_the_docstring_of_a_field_describes_it() -> None:
    assert field_texts(SessionView)["log"] == "The file that keeps the session."


def _valid(host: SessionHost, method: str, **parameters: object) -> dict[str, Any]:
    """The response to a request; both are as the schema has them."""
    message = {"version": 1, "id": 7, "method": method, "params": parameters}
    SCHEMA.validate(message)
    response: dict[str, Any] = json.loads(host.handle_text(json.dumps(message)))
    SCHEMA.validate(response)
    return response


def test_requests_and_responses_of_a_session_keep_to_the_schema() -> None:
    host = SessionHost()
    opened = _valid(host, "open", recording=str(EXAMPLE), keep=False)["result"]
    session = opened["session"]
    call = opened["question"]["call"]["call"]
    for method, parameters in (
        ("hello", {}),
        ("call", {"session": session, "call": call, "whole": True}),
        ("calls", {"session": session, "limit": 3}),
        ("value", {"session": session, "call": call, "path": "result"}),
        ("source", {"session": session, "call": call}),
        ("why", {"session": session, "call": call, "path": "result"}),
        ("answer", {"session": session, "verdict": "wrong", "by": "agent", "expected": "True"}),
        ("answers", {"session": session}),
        ("strategy", {"session": session}),
        ("diagnosis", {"session": session}),
        ("undo", {"session": session}),
        ("redo", {"session": session}),
        ("sessions", {}),
        ("jobs", {}),
        ("next", {"session": "0123456789abcdef"}),
        ("close", {"session": session}),
    ):
        _valid(host, method, **parameters)
    host.close()


def test_a_message_that_is_none_gets_an_error_as_the_schema_has_it() -> None:
    host = SessionHost()
    for text in ("", "[1]", "{", '{"method": 3}', '{"method": "next", "more": 1}', "nul\0l"):
        response = json.loads(host.handle_text(text))
        SCHEMA.validate(response)
        assert response["error"]["cure"]
