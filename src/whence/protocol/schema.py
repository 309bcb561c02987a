"""The JSON schema of the protocol, made from the messages, so that it cannot lag behind them.

    python -m whence.protocol.schema > docs/protocol.schema.json

The texts in it are the docstrings of the dataclasses and of their fields.
"""

from __future__ import annotations

import ast
import inspect
import json
from dataclasses import MISSING, fields, is_dataclass
from textwrap import dedent
from types import NoneType, UnionType
from typing import get_args, get_origin, get_type_hints

from whence.protocol.problems import Code
from whence.protocol.requests import METHODS, VERSION

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
Schema = dict[str, object]


def schema() -> Schema:
    """The whole protocol: a request or a response."""
    definitions: dict[str, Schema] = {}
    requests: list[Schema] = []
    for method, (request, result) in METHODS.items():
        _define(result, definitions)
        requests.append(
            {
                "properties": {"method": {"const": method}, "params": _of(request, definitions)},
                "description": f"{_sentences(request)} The result is a {result.__name__}.",
            }
        )
    results = {result.__name__: {"$ref": f"#/$defs/{result.__name__}"} for _, result in _all()}
    version: Schema = {"const": VERSION}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The session protocol of whence, version {VERSION}",
        "oneOf": [{"$ref": "#/$defs/Request"}, {"$ref": "#/$defs/Response"}],
        "$defs": {
            "Request": {
                "type": "object",
                "required": ["method"],
                "properties": {
                    "version": version,
                    "id": {"type": ["integer", "string", "null"]},
                    "method": {"enum": list(METHODS)},
                    "params": {"type": "object"},
                },
                "additionalProperties": False,
                "oneOf": requests,
            },
            "Response": {
                "type": "object",
                "required": ["version", "id"],
                "properties": {
                    "version": version,
                    "id": {"type": ["integer", "string", "null"]},
                    "result": {"anyOf": list(results.values())},
                    "error": {"$ref": "#/$defs/Error"},
                },
                "additionalProperties": False,
                "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
            },
            "Error": {
                "type": "object",
                "required": ["code", "message", "cure"],
                "properties": {
                    "code": {"enum": [code.value for code in Code]},
                    "message": {"type": "string"},
                    "cure": {"type": "string"},
                },
                "additionalProperties": False,
            },
            **definitions,
        },
    }


def _all() -> list[tuple[type, type]]:
    return list(METHODS.values())


def _of(kind: object, definitions: dict[str, Schema]) -> Schema:
    """The schema of an annotation; dataclasses are added to the definitions."""
    arguments = get_args(kind)
    if get_origin(kind) is UnionType or NoneType in arguments:
        return {"anyOf": [_of(part, definitions) for part in arguments]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    if get_origin(kind) is dict:
        return {"type": "object"}
    assert isinstance(kind, type), kind
    if is_dataclass(kind):
        return _define(kind, definitions)
    return {"type": _PLAIN[kind]}


def _define(kind: type, definitions: dict[str, Schema]) -> Schema:
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # it may be part of itself
        definitions[name] = _object(kind, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _object(kind: type, definitions: dict[str, Schema]) -> Schema:
    hints, texts = get_type_hints(kind), field_texts(kind)
    properties: dict[str, Schema] = {}
    required = []
    assert is_dataclass(kind)
    for field in fields(kind):
        properties[field.name] = _of(hints[field.name], definitions)
        if field.name in texts:
            properties[field.name] = {**properties[field.name], "description": texts[field.name]}
        if field.default is MISSING and field.default_factory is MISSING:
            required.append(field.name)
    return {
        "description": _sentences(kind),
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


def _sentences(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").split())


def field_texts(kind: type) -> dict[str, str]:
    """The docstrings below the fields of a class."""
    body = ast.parse(dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    name = ""
    for statement in body.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            if name:
                texts[name] = " ".join(str(statement.value.value).split())
            name = ""
    return texts


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1, ensure_ascii=False))
