"""Calls and values as JSON: the part of the open tree format that describes one call.

`docs/tree-format.md` is the manual. Decoding is strict: what is not in the manual is refused with
a `MalformedRecord` that says what was expected, and nothing that is read is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Location,
    Outcome,
    OutcomeKind,
    Rule,
)
from whence.model.value import Kind, Value, show

MAX_NESTING = 200
MAX_VALUES = 1_000_000
"""How many values one call may have; decoded they take some hundred bytes each."""


class MalformedRecord(Exception):
    """A piece of JSON is not what the format says; the message says what was expected."""


# One spelling for equal JSON.
# Made once: `json.dumps` with options makes a new encoder for every call.
_canonical = json.JSONEncoder(
    separators=(",", ":"),
    sort_keys=True,
    ensure_ascii=False,
    check_circular=False,
    allow_nan=False,
).encode


_UNKNOWN = "?"
"""What a generator returned, if that is not known."""
_OUTCOME_KEYS = frozenset(("returned", "raised", "yielded", "not_terminated", "failed", "equation"))
_EQUATION_KEYS = _OUTCOME_KEYS | {"function", "args", "reads", "effects", "printed"}


def equation_digest(record: Mapping[str, Any]) -> tuple[int, int]:
    """A 64-bit digest of what is judged about a call, and how long its text is.

    Digests are equal for calls that deserve the same answer. Where a part of a value was left out
    or the outcome is not known, that cannot be told, so the call's own `id` is mixed in and it
    equals no other.
    """
    text, length, has_outcome = _equation_text(record)
    if not has_outcome:
        text += f" of {record.get('id')}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True), length


def stable_digest(record: Mapping[str, Any]) -> str | None:
    """A digest of what is judged that is the same in every run; None where not all is known."""
    text, _, has_outcome = _equation_text(record)
    if not has_outcome:
        return None
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _equation_text(record: Mapping[str, Any]) -> tuple[str, int, bool]:
    """What is judged in one spelling, its length as written, and whether all is known."""
    judged = {key: record[key] for key in record if key in _EQUATION_KEYS}
    text = _canonical(judged)
    length = len(text)
    has_outcome = not _OUTCOME_KEYS.isdisjoint(judged)
    if '"id":' in text or '"same":' in text or '"more":' in text:
        values = _Values(judged)
        has_outcome = has_outcome and not values.cut_off
        text = _canonical(values.renumbered(judged))
    return text, length, has_outcome


_NAMES_TO_VALUES = frozenset(("args", "reads", "fields"))
_VALUES = frozenset(
    ("args", "list", "tuple", "set", "dict", "returned", "raised", "error", "yielded", "effects",
     "before", "after")
)  # fmt: skip


class _Values:
    """The values of a record: which have a number, and whether parts were left out."""

    def __init__(self, judged: Mapping[str, Any]) -> None:
        self.cut_off = False
        self._defined: set[int] = set()
        self._numbers: dict[int, int] = {}
        try:
            self._record(judged, self._look)
        except RecursionError:  # deeper than anything that is shown
            self.cut_off = True

    def renumbered(self, judged: Mapping[str, Any]) -> Mapping[str, Any]:
        """The record with values numbered in the order in which they appear.

        The number that a tracer gave a value means nothing; which values share one does. A
        reference to a value that is not in the record refers to something unknown.
        """
        try:
            return self._record(judged, self._renumber)
        except RecursionError:
            return judged

    def _look(self, key: str, inner: Any) -> Any:
        if key == "id" and isinstance(inner, int):
            self._defined.add(inner)
        elif key == "more" and inner:
            self.cut_off = True
        return inner

    def _renumber(self, key: str, inner: Any) -> Any:
        if key not in ("id", "same") or not isinstance(inner, int):
            return inner
        if inner not in self._defined:
            return f"#{inner}"
        return self._numbers.setdefault(inner, len(self._numbers))

    def _record(self, item: Mapping[str, Any], other: Callable[[str, Any], Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key in sorted(item):
            inner = item[key]
            if key in _NAMES_TO_VALUES and isinstance(inner, dict):
                out[key] = {name: self._value(part, other) for name, part in sorted(inner.items())}
            elif key in _VALUES:
                out[key] = self._value(inner, other)
            else:
                out[key] = other(key, inner)
        return out

    def _value(self, item: Any, other: Callable[[str, Any], Any]) -> Any:
        if isinstance(item, list):
            return [self._value(part, other) for part in item]
        return self._record(item, other) if isinstance(item, dict) else item


def has_too_many_values(record: Mapping[str, Any]) -> bool:
    """Whether a call has more values than anybody could look at."""
    count, left = 0, list(record.values())
    while left:
        item = left.pop()
        count += 1
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        if count + len(left) + len(inner) > MAX_VALUES:
            return True
        left.extend(inner)
    return False


# --- values ------------------------------------------------------------------------------------


def decode_value(item: Any, nesting: int = 0) -> Value:
    """A value from its JSON."""
    if nesting > MAX_NESTING:
        raise MalformedRecord(f"a value is nested more than {MAX_NESTING} levels deep")
    if isinstance(item, str):
        return Value(Kind.ATOM, item)
    if isinstance(item, float) and not math.isfinite(item):
        raise MalformedRecord("a number is too large: write it as a text")
    if item is None or isinstance(item, bool | int | float):
        return Value(Kind.ATOM, json.dumps(item))
    if isinstance(item, list):
        return Value(Kind.LIST, "", _indexed(item, None, nesting))
    if isinstance(item, dict):
        return _decode_compound(item, nesting)
    raise MalformedRecord(f"a value cannot be {type(item).__name__}")


_SEQUENCES = (("list", Kind.LIST), ("tuple", Kind.TUPLE), ("set", Kind.SET))


def _decode_compound(item: dict[str, Any], nesting: int) -> Value:
    omitted = _count(item, "more")
    identity = _identity(item, "id")
    for name, kind in _SEQUENCES:
        if name in item:
            parts = _indexed(_as_list(item[name], name), item.get("steps"), nesting)
            return Value(kind, "", parts, omitted, identity)
    if "dict" in item:
        return Value(Kind.DICT, "", _entries(item["dict"], nesting), omitted, identity)
    if "object" in item:
        name = _as_text(item["object"], "object")
        return Value(Kind.OBJECT, name, _fields(item.get("fields", {}), nesting), omitted, identity)
    if "term" in item:
        parts = _indexed(_as_list(item.get("args", []), "args"), item.get("steps"), nesting)
        return Value(Kind.TERM, _as_text(item["term"], "term"), parts, omitted, identity)
    if "text" in item:
        return Value(Kind.ATOM, _as_text(item["text"], "text"), (), 0, identity)
    if "same" in item:
        same = _identity(item, "same")
        if same is None:
            raise MalformedRecord('"same" must be the id of a value, a whole number')
        return Value(Kind.SHARED, "", (), 0, same)
    raise MalformedRecord(
        f"a value with {', '.join(map(repr, list(item)[:4])) or 'no keys'}: expected one of "
        '"text", "list", "tuple", "set", "dict", "object", "term", "same"'
    )


# The three below are loops and not generators, which would take a second frame for each level of
# nesting: `MAX_NESTING` levels must fit into the stack that an interface has left.


def _indexed(items: list[Any], steps: Any, nesting: int) -> tuple[tuple[str, Value], ...]:
    parts: list[tuple[str, Value]] = []
    if steps is None:
        for number, part in enumerate(items):
            parts.append((f"[{number}]", decode_value(part, nesting + 1)))
        return tuple(parts)
    names = [_as_text(step, "steps") for step in _as_list(steps, "steps")]
    if len(names) != len(items) or len(set(names)) != len(names):
        raise MalformedRecord('"steps" must be a list with a text of its own for each part')
    for step, part in zip(names, items, strict=True):
        parts.append((step, decode_value(part, nesting + 1)))
    return tuple(parts)


def _entries(items: Any, nesting: int) -> tuple[tuple[str, Value], ...]:
    parts: list[tuple[str, Value]] = []
    taken: set[str] = set()
    for pair in _as_list(items, "dict"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise MalformedRecord('a "dict" is a list of [key, value] pairs')
        key = decode_value(pair[0], nesting + 1)
        step = f"[{key.text if key.kind is Kind.ATOM else show(key)}]"
        while step in taken:  # two keys that are written alike must stay addressable
            step = step[:-1] + "′]"
        taken.add(step)
        parts.append((step, decode_value(pair[1], nesting + 1)))
    return tuple(parts)


def _fields(items: Any, nesting: int) -> tuple[tuple[str, Value], ...]:
    if not isinstance(items, dict):
        raise MalformedRecord('"fields" must be an object from names to values')
    parts: list[tuple[str, Value]] = []
    for name, part in items.items():
        step = name if name.startswith("[") else f".{name}"
        parts.append((step, decode_value(part, nesting + 1)))
    return tuple(parts)


def encode_value(value: Value) -> Any:
    """The JSON of a value; decoding it gives an equal value."""
    if value.kind is Kind.ATOM:
        return value.text if value.identity is None else {"text": value.text, "id": value.identity}
    if value.kind is Kind.SHARED:
        return {"same": value.identity}
    inner = [encode_value(part) for _, part in value.parts]
    steps = [step for step, _ in value.parts]
    item: dict[str, Any]
    if value.kind is Kind.DICT:
        item = {"dict": [[step[1:-1], part] for step, part in zip(steps, inner, strict=True)]}
    elif value.kind is Kind.OBJECT:
        names = [step.removeprefix(".") for step in steps]
        item = {"object": value.text, "fields": dict(zip(names, inner, strict=True))}
    else:
        numbered = steps == [f"[{number}]" for number in range(len(steps))]
        plain = numbered and not value.omitted and value.identity is None
        if value.kind is Kind.LIST and plain:
            return inner
        if value.kind is Kind.TERM:
            item = {"term": value.text, "args": inner}
        else:
            item = {value.kind.value: inner}
        if not numbered:
            item["steps"] = steps
    if value.omitted:
        item["more"] = value.omitted
    if value.identity is not None:
        item["id"] = value.identity
    return item


# --- calls -------------------------------------------------------------------------------------


def decode_call(record: Mapping[str, Any], function: Function, rule: Rule) -> Call:
    """A call from its record. The caller looks up its function and rule in the tables."""
    return Call(
        function=function,
        rule=rule,
        outcome=decode_outcome(record),
        arguments=_bindings(record.get("args", []), "args"),
        reads=_reads(record.get("reads", {})),
        effects=tuple(_effect(effect) for effect in _as_list(record.get("effects", []), "effects")),
        printed=_as_text(record.get("printed", ""), "printed"),
        site=decode_location(record.get("at"), "at"),
        text=_as_text(record.get("equation", ""), "equation"),
    )


def encode_call(call: Call) -> dict[str, Any]:
    """The record of a call, without its id and parent."""
    record: dict[str, Any] = {"function": call.function.name}
    if call.rule.name != call.function.name:
        record["rule"] = call.rule.name
    if call.text:
        record["equation"] = call.text
    if call.arguments:
        values = [encode_value(argument.value) for argument in call.arguments]
        # Where only some arguments have names, the others go by those that a mark gives them.
        names = [
            argument.name or f"arg{number}" for number, argument in enumerate(call.arguments, 1)
        ]
        named = any(argument.name for argument in call.arguments) and len(set(names)) == len(names)
        record["args"] = dict(zip(names, values, strict=True)) if named else values
    if call.reads:
        record["reads"] = {read.name: encode_value(read.value) for read in call.reads}
    record.update(encode_outcome(call.outcome))
    if call.effects:
        record["effects"] = [_encode_effect(effect) for effect in call.effects]
    if call.printed:
        record["printed"] = call.printed
    if call.site:
        record["at"] = encode_location(call.site)
    return record


def outcome_kind(record: Mapping[str, Any]) -> OutcomeKind:
    """How a call ended, without decoding its values."""
    if "raised" in record:
        if "returned" in record:
            raise MalformedRecord('a call has either "returned" or "raised": it ended only once')
        return OutcomeKind.RAISED
    if record.get("not_terminated"):
        return OutcomeKind.NOT_TERMINATED
    if record.get("failed"):
        return OutcomeKind.FAILED
    if "yielded" in record and "returned" not in record:
        return OutcomeKind.YIELDED
    return OutcomeKind.RETURNED


def decode_outcome(record: Mapping[str, Any]) -> Outcome:
    """The outcome that a call's record gives."""
    kind = outcome_kind(record)
    value: Value | None = None
    raised_at: Location | None = None
    if kind is OutcomeKind.RAISED:
        raised = record["raised"]
        if isinstance(raised, dict) and "error" in raised:
            raised_at = decode_location(raised.get("at"), "raised.at")
            raised = raised["error"]
        value = None if raised is None else decode_value(raised)
    elif kind is OutcomeKind.NOT_TERMINATED:
        reason = record["not_terminated"]
        if not isinstance(reason, str | bool):
            raise MalformedRecord('"not_terminated" must be true, or a text that says why')
        value = Value(Kind.ATOM, reason) if isinstance(reason, str) else None
    elif "returned" in record and not ("yielded" in record and record["returned"] == _UNKNOWN):
        value = decode_value(record["returned"])
    yielded = tuple(map(decode_value, _as_list(record.get("yielded", []), "yielded")))
    return Outcome(kind, value, yielded, raised_at, "yielded" in record)


def encode_outcome(outcome: Outcome) -> dict[str, Any]:
    """The outcome's share of a call's record."""
    record: dict[str, Any] = {}
    if outcome.yielded or outcome.is_generator or outcome.kind is OutcomeKind.YIELDED:
        record["yielded"] = [encode_value(value) for value in outcome.yielded]
    if outcome.kind is OutcomeKind.RAISED:
        error = encode_value(outcome.value) if outcome.value else None
        record["raised"] = (
            {"error": error, "at": encode_location(outcome.location)} if outcome.location else error
        )
    elif outcome.kind is OutcomeKind.NOT_TERMINATED:
        record["not_terminated"] = (outcome.value and outcome.value.text) or True
    elif outcome.kind is OutcomeKind.FAILED:
        record["failed"] = True
    elif outcome.kind is OutcomeKind.RETURNED and outcome.value is not None:
        record["returned"] = encode_value(outcome.value)
    elif outcome.kind is OutcomeKind.RETURNED and "yielded" in record:
        record["returned"] = _UNKNOWN  # without it the call would count as left where it yielded
    return record


def _bindings(items: Any, key: str) -> tuple[Binding, ...]:
    if isinstance(items, dict):
        return tuple(Binding(name, decode_value(value)) for name, value in items.items())
    return tuple(Binding("", decode_value(value)) for value in _as_list(items, key))


def _reads(items: Any) -> tuple[Binding, ...]:
    if not isinstance(items, dict):
        raise MalformedRecord('"reads" must be an object from names to values')
    return _bindings(items, "reads")


def _effect(item: Any) -> Effect:
    if not isinstance(item, dict) or "target" not in item:
        raise MalformedRecord(
            'an effect is an object with "target", and "before" and "after" values'
        )
    before = decode_value(item["before"]) if "before" in item else None
    after = decode_value(item["after"]) if "after" in item else None
    return Effect(_as_text(item["target"], "target"), before, after)


def _encode_effect(effect: Effect) -> dict[str, Any]:
    item: dict[str, Any] = {"target": effect.target}
    if effect.before is not None:
        item["before"] = encode_value(effect.before)
    if effect.after is not None:
        item["after"] = encode_value(effect.after)
    return item


# --- places, functions and rules ---------------------------------------------------------------


def decode_location(item: Any, key: str) -> Location | None:
    """A place in source text."""
    if item is None:
        return None
    if not isinstance(item, dict) or not isinstance(item.get("file"), str):
        raise MalformedRecord(
            f'"{key}" must be an object with "file", and "line" and "column" numbers'
        )
    return Location(item["file"], _place(item, "line"), _place(item, "column"))


def encode_location(location: Location) -> dict[str, Any]:
    """The JSON of a place."""
    parts = {"file": location.file, "line": location.line, "column": location.column}
    return {key: value for key, value in parts.items() if value is not None}


def decode_function(record: Mapping[str, Any]) -> Function:
    """A function from its definition line."""
    trusted = record.get("trusted", False)
    if not isinstance(trusted, bool):
        raise MalformedRecord('"trusted" must be true or false')
    return Function(
        name=_as_text(record.get("name"), "name"),
        qualname=_as_text(record.get("qualname", ""), "qualname"),
        module=_as_text(record.get("module", ""), "module"),
        location=decode_location(record if "file" in record else None, "file"),
        trusted=trusted,
    )


def decode_rule(record: Mapping[str, Any]) -> Rule:
    """A rule from its definition line."""
    return Rule(
        name=_as_text(record.get("name"), "name"),
        function=_as_text(record.get("function"), "function"),
        location=decode_location(record if "file" in record else None, "file"),
        source=_as_text(record.get("source", ""), "source"),
    )


def encode_function(function: Function) -> dict[str, Any]:
    """The definition line of a function."""
    record: dict[str, Any] = {"define": "function", "name": function.name}
    _add(record, "qualname", function.qualname)
    _add(record, "module", function.module)
    if function.location:
        record.update(encode_location(function.location))
    if function.trusted:
        record["trusted"] = True
    return record


def encode_rule(rule: Rule) -> dict[str, Any]:
    """The definition line of a rule."""
    record: dict[str, Any] = {"define": "rule", "name": rule.name, "function": rule.function}
    if rule.location:
        record.update(encode_location(rule.location))
    _add(record, "source", rule.source)
    return record


def _add(record: dict[str, Any], key: str, text: str) -> None:
    if text:
        record[key] = text


def _identity(item: Mapping[str, Any], key: str) -> int | None:
    number = item.get(key)
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise MalformedRecord(f'the "{key}" of a value must be a whole number')
    return number


def _place(item: Mapping[str, Any], key: str) -> int | None:
    number = item.get(key)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**31:
        raise MalformedRecord(f'"{key}" must be a whole number from 0')
    return number


def _count(item: Mapping[str, Any], key: str) -> int:
    return _place(item, key) or 0


def _as_list(item: Any, key: str) -> list[Any]:
    if not isinstance(item, list):
        raise MalformedRecord(f'"{key}" must be a list')
    return item


def _as_text(item: Any, key: str) -> str:
    if not isinstance(item, str):
        raise MalformedRecord(f'"{key}" must be a text')
    return item
