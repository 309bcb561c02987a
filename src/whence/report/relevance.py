"""A call without the parts of its inputs that it did not use.

An attribute was not used if no code names it that ran in the call or below it (`ports.AttributeUse`
says when that is not enough). Only inputs lose parts: outcome and effects are what is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from whence.errors import WhenceError
from whence.model.call import Binding, Call, Effect, Function
from whence.model.value import Kind, Value, is_opaque, names_code
from whence.ports import AttributeUse
from whence.report.changes import equal
from whence.report.source import Sources

MOST_FUNCTIONS = 200
MOST_FILES = 16
"""The code of more functions, or in more files, is not read."""
_WORTH_HIDING = 2
"""Unused attributes are left out only if there are at least this many."""
_FEW_NAMES = 4
"""The values of so many attributes can be told apart without their names."""


def relevant(call: Call, sources: Sources, ran: Sequence[Function] | None = None) -> Call:
    """The call without what it did not use; `ran`: all functions that ran in it, if known."""
    if call.step is not None:
        used = dict(call.step.looks_at)
        return replace(
            call,
            arguments=tuple(
                replace(each, value=_only(each.value, used[each.name]))
                if each.name in used
                else each
                for each in call.arguments
            ),
        )
    inputs = _Inputs.of(call, sources, ran or ())
    if inputs is None:
        return call
    return replace(
        call,
        arguments=tuple(map(inputs.used_of, call.arguments)),
        reads=tuple(map(inputs.used_of, call.reads)),
    )


class _Inputs:
    """What the code that ran uses of objects."""

    def __init__(self, use: AttributeUse, texts: Sequence[str], sources: Sources) -> None:
        self._use = use
        self._texts = texts
        self._syntax = sources.syntax
        self._plain: dict[str, bool] = {}

    @classmethod
    def of(cls, call: Call, sources: Sources, ran: Sequence[Function]) -> _Inputs | None:
        """None if not all of the code is known, or it may use what it does not name."""
        files = {function.location.file for function in ran if function.location is not None}
        if not ran or len(ran) > MOST_FUNCTIONS or len(files) > MOST_FILES:
            return None
        if sources.syntax is None or call.text:
            return None
        use, texts = AttributeUse(), {}
        for function in ran:
            if function.location is None:
                return None
            file = function.location.file
            try:
                if file not in texts:
                    texts[file] = sources.read_unchanged(file)
            except WhenceError:
                return None
            use |= sources.syntax.attributes_named(texts[file], function)
            if use.reaches_all:
                return None
        return cls(use, list(texts.values()), sources)

    def used_of(self, binding: Binding) -> Binding:
        """An input without what was not used of it."""
        return replace(binding, value=self._used(binding.value))

    def _used(self, value: Value) -> Value:
        if not value.parts:
            return value
        parts = value.parts
        if value.kind is Kind.OBJECT and self._is_known(value.text):
            parts = tuple(part for part in parts if self._is_used(part[0]))
        unused = len(value.parts) - len(parts)
        if unused < _WORTH_HIDING:
            parts, unused = value.parts, 0
        used = tuple((step, self._used(part)) for step, part in parts)
        if value.brief is not None:
            return _used_of_library(value, used, unused)
        return replace(value, parts=used, unused=unused)

    def _is_used(self, step: str) -> bool:
        return not step.startswith(".") or step[1:] in self._use.names

    def _is_known(self, name: str) -> bool:
        """Whether objects of a class are used only by the attributes that the code names."""
        if not self._use.uses_wholes:
            return True
        if name not in self._plain:
            assert self._syntax is not None
            is_plain = self._syntax.is_plain_class
            self._plain[name] = any(is_plain(text, name) for text in self._texts)
        return self._plain[name]


def _used_of_library(value: Value, used: tuple[tuple[str, Value], ...], unused: int) -> Value:
    """An object of a library: what was used of it if that is plain, or only its type."""
    shown = tuple((step, part) for step, part in used if not (names_code(part) or is_opaque(part)))
    if not unused or not shown or not is_opaque(value):
        return value
    omitted = value.omitted + len(used) - len(shown)
    return replace(value, parts=shown, omitted=omitted, unused=unused, brief=None)


def without_internals(call: Call) -> Call:
    """The call without what libraries keep in the program's objects: attributes named `__so__`, and
    those that the recording says are only kept for the library. Nor is a change of them shown."""
    effects = [effect for effect in map(_public_effect, call.effects) if effect is not None]
    return replace(_with_values(call, _public), effects=tuple(effects))


def _public_effect(effect: Effect) -> Effect | None:
    """An effect without what libraries keep for themselves; None if that is all that changed."""
    before, after = effect.before, effect.after
    if before is None or after is None:
        return replace(effect, before=before and _public(before), after=after and _public(after))
    if before.brief == after.brief == "":
        return None
    public = replace(effect, before=_public(before), after=_public(after))
    if public == effect or equal(before, after):
        return public
    assert public.before is not None
    assert public.after is not None
    return None if equal(public.before, public.after) else public


def with_field_names(call: Call, sources: Sources) -> Call:
    """The call with the names of fields in the named tuples of the file that its code is in."""
    where, syntax = call.where(), sources.syntax
    if where is None or where.line is None or syntax is None:
        return call
    try:
        text = sources.read_unchanged(where.file)
    except WhenceError:
        return call
    fields: dict[str, Sequence[str]] = {}

    def named(value: Value) -> Value:
        if not value.parts:
            return value
        parts = tuple((step, named(part)) for step, part in value.parts)
        if value.kind is Kind.OBJECT and parts[0][0] == "[0]":
            names = fields.setdefault(value.text, syntax.tuple_fields(text, value.text))
            if len(names) == len(parts) + value.omitted:
                pairs = zip(names, parts, strict=False)
                parts = tuple((f".{name}", part) for name, (_, part) in pairs)
        return value if parts == value.parts else replace(value, parts=parts)

    return _with_values(call, named)


def without_repeated_names(call: Call) -> Call:
    """The call in which the attributes of a class are named once in each value: `P(x=1, y=2)` is
    followed by `P(3, 4)`.

    Of larger objects all are named, and of those that are nested less deep than the first one,
    since that may be too deep to be shown.
    """

    def named_once(value: Value) -> Value:
        return _named_once(value, 0, {})

    return _with_values(call, named_once)


def _named_once(value: Value, depth: int, named: dict[tuple[str, ...], int]) -> Value:
    """`named`: the classes with their attributes whose names were given, and how deep."""
    if not value.parts:
        return value
    names = tuple(step for step, _ in value.parts)
    key = (value.text, *names)
    is_known = named.get(key, depth + 1) <= depth
    if value.kind is Kind.OBJECT and not is_known:
        named[key] = depth
    parts = tuple((step, _named_once(part, depth + 1, named)) for step, part in value.parts)
    few = len(names) <= _FEW_NAMES and not value.omitted
    if value.kind is Kind.OBJECT and is_known and few and all(n.startswith(".") for n in names):
        parts = tuple((f"[{index}]", part) for index, (_, part) in enumerate(parts))
    return replace(value, parts=parts)


def _with_values(call: Call, other: Callable[[Value], Value]) -> Call:
    outcome = call.outcome
    return replace(
        call,
        arguments=tuple(replace(each, value=other(each.value)) for each in call.arguments),
        reads=tuple(replace(each, value=other(each.value)) for each in call.reads),
        outcome=replace(
            outcome,
            value=None if outcome.value is None else other(outcome.value),
            yielded=tuple(map(other, outcome.yielded)),
        ),
    )


def _public(value: Value) -> Value:
    if not value.parts:
        return value
    is_object = value.kind is Kind.OBJECT and not value.text.startswith("<method ")
    parts = tuple(
        (step, _public(part))
        for step, part in value.parts
        if not (is_object and _is_internal(step, part))
    )
    return value if parts == value.parts else replace(value, parts=parts)


def _is_internal(step: str, part: Value) -> bool:
    """Whether only a library needs an attribute. What has items may be the program's, such as the
    private attributes of a pydantic model."""
    if part.brief == "":
        return True
    return (
        step.startswith(".__")
        and step.endswith("__")
        and not (part.kind is Kind.DICT and part.parts)
    )


def _only(value: Value, names: frozenset[str]) -> Value:
    kept = tuple((step, part) for step, part in value.parts if step[1:] in names)
    unused = len(value.parts) - len(kept)
    return value if unused < _WORTH_HIDING else replace(value, parts=kept, unused=unused)
