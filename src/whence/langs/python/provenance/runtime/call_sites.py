"""Calls, on the caller's side: how tags are passed to the callee, and the tag of the result.

The runtime prepares a call, the program's own frame makes it, and the runtime finishes it. Tags
cross in the *pending call*, which names the code of the callee (`call_entry`).
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    MethodWrapperType,
)
from typing import Any, ClassVar

from whence.langs.python.objects.raw_class import is_builtin_function, name_of
from whence.langs.python.provenance.runtime.displays import StarredKeywords, star_shapes
from whence.langs.python.provenance.runtime.function_definitions import (
    REWRITTEN_CODES,
    is_rewritten,
)
from whence.langs.python.provenance.runtime.instance_creation import prepare_instance
from whence.langs.python.provenance.runtime.model_lookup import model_for
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.opaque_holders import is_opaque
from whence.langs.python.provenance.runtime.out_of_sight_calls import (
    PreparedCall,
    count_operands,
    prepare_out_of_sight,
)
from whence.langs.python.provenance.runtime.run_state import (
    RUN,
    THREAD,
    Operation,
    PendingCall,
    frame_of,
)
from whence.langs.python.provenance.runtime.shadow_memory import deep_tags, shadow_of
from whence.langs.python.provenance.runtime.tagged_operations import note_failure, shape_tag
from whence.langs.python.provenance.runtime.text_pieces import kept_text_tag
from whence.langs.python.provenance.tags import (
    AMBIG,
    ARG,
    BOUND,
    NEW,
    OP,
    RET,
    SCALARS,
    SEL,
    Control,
    GeneratorRun,
    MaybeTag,
    Pair,
    Tag,
)

_STEPPED = (GeneratorType, CoroutineType, AsyncGeneratorType)
NO_KEYWORDS: dict[str, Pair] = {}
_STARRED = "Value" if sys.version_info >= (3, 15) else "argument"
"""What the interpreter calls `x` of `**x` where it is no mapping."""
_NO_TAGS: dict[str, MaybeTag] = {}


@with_native
def prepare_call(
    site: int, control: Control, called: Pair, arguments: tuple[Pair, ...],
    keywords: dict[str, Pair],
) -> PreparedCall | PendingCall | ModelledCall:  # fmt: skip
    """Everything the program's own frame needs to make a call."""
    function, tag = called
    stars = star_shapes(arguments, keywords)
    if type(function) is FunctionType and id(function.__code__) in REWRITTEN_CODES:
        return _prepare_function(site, control, called, function, arguments, keywords, stars)
    if type(function) is MethodType and is_rewritten(function.__func__):
        receiver = (function.__self__, receiver_tag(tag))
        with_receiver = (receiver, *arguments)
        pending = _prepare_function(
            site, control, called, function.__func__, with_receiver, keywords, stars
        )
        pending.function = function
        pending.arguments = pending.values[1:]
        return pending
    if is_builtin_function(type(function)) and _is_simple(function, arguments, keywords):
        return _prepare_simple(site, control, called, arguments, stars)
    model = model_for(function)
    if model is not None:
        before = THREAD.operation
        receiver_pair = (getattr(function, "__self__", None), receiver_tag(tag) if tag else None)
        made = model(site, control, receiver_pair, arguments, keywords)
        if made is not NotImplemented:
            return ModelledCall(_under_stars(site, control, made, stars) if stars else made, before)
    if issubclass(type(function), type):
        return prepare_instance(site, control, called, arguments, keywords, stars)
    receiver_operand: tuple[Pair, ...] = ()
    if issubclass(type(function), _BOUND) and function.__self__ is not None:
        receiver_operand = ((function.__self__, receiver_tag(tag)),)
    behind = function.__func__ if type(function) is MethodType else function
    if is_opaque(behind) or not callable(function):  # it may remember: `functools.cache`
        receiver_operand = (*receiver_operand, (behind, None if behind is not function else tag))
    operands = (*receiver_operand, *arguments, *count_operands(stars))
    return prepare_out_of_sight(site, control, called, arguments, keywords, operands)


def _under_stars(site: int, control: Control, made: Pair, stars: tuple[MaybeTag, ...]) -> Pair:
    """The result of a model that had starred arguments: it also depends on their number."""
    value, tag = made
    if tag is not None and tag.kind == NEW:
        shadow = shadow_of(value)
        if shadow is not None:
            shadow.shape = Tag((OP, site, control, shadow.shape, *stars))
    return value, Tag((SEL, site, control, tag, *stars))


_BOUND = (MethodType, BuiltinFunctionType, MethodWrapperType)
_COMPLEX = frozenset({"join", "format", "format_map", "split", "rsplit", "splitlines", "partition",
                      "rpartition", "as_integer_ratio"})  # fmt: skip
"""Methods of scalars that return or read containers."""


def _is_simple(function: Any, arguments: tuple[Pair, ...], named: dict[str, Pair]) -> bool:
    """Whether this is a method of a scalar with scalar arguments that returns a scalar."""
    return (
        type(function.__self__) in SCALARS
        and function.__self__ is not None
        and not named
        and function.__name__ not in _COMPLEX
        and all(type(value) in SCALARS for value, _ in arguments)
    )


def _prepare_simple(
    site: int, control: Control, called: Pair, arguments: tuple[Pair, ...],
    stars: tuple[MaybeTag, ...],
) -> PreparedCall:  # fmt: skip
    function, tag = called
    needs = (receiver_tag(tag), *(tag for _, tag in arguments), *stars)
    made = Tag((OP, site, control, *needs))
    # If it fails, the exception gets its tag from this.
    operation = Operation(site, control, ((function.__self__, needs[0]), *arguments))
    return PreparedCall(called, arguments, {}, _finish_simple, made).begin(operation)


def _finish_simple(prepared: PreparedCall, value: object) -> Pair:
    owner, tag = prepared.function.__self__, prepared.tag
    if type(owner) is str and type(value) is str and tag is not None:
        tag = kept_text_tag(tag, prepared.function.__name__, owner, value)
    operation = prepared.operation
    if operation is not None and operation.callbacks:  # a handler of errors in a text
        needs = deep_tags(operation.callbacks)
        tag = Tag((OP, operation.site, operation.control, tag, *needs))
    return value, tag


class ModelledCall:
    """A call that a model has already made: the program's frame only takes the result."""

    __slots__ = ("arguments", "before")

    keywords: ClassVar[dict[str, object]] = {}

    def __init__(self, made: Pair, before: Operation | None):
        self.arguments = (made,)
        self.before = before

    @staticmethod
    def function(made: Pair) -> Pair:
        """Called by the program's frame in place of the modelled function."""
        return made


def receiver_tag(tag: MaybeTag) -> MaybeTag:
    """The tag of the object that a method is bound to."""
    while tag is not None and tag.kind not in {BOUND, AMBIG} and tag.kind >= ARG:
        tag = tag.source
    if tag is not None and tag.kind == BOUND:
        return tag.receiver
    return None


def _prepare_function(
    site: int, control: Control, called: Pair, function: object, arguments: tuple[Pair, ...],
    keywords: dict[str, Pair], stars: tuple[MaybeTag, ...],
) -> PendingCall:  # fmt: skip
    values = [value for value, _ in arguments]
    tags = [tag for _, tag in arguments]
    named = {name: tag for name, (_, tag) in keywords.items()} if keywords else _NO_TAGS
    pending = PendingCall(function, called[1], site, control, tags, values, named)
    pending.starred = stars
    if keywords:
        pending.keywords = {name: value for name, (value, _) in keywords.items()}
    pending.before = THREAD.operation
    THREAD.pending = pending
    return pending


def finish_function(pending: PendingCall, value: object) -> Pair:
    site, control = pending.site, pending.control
    activation = pending.activation
    if activation is not None:
        called = () if pending.tag is None else (pending.tag,)
        return value, Tag((RET, site, control, activation.result, activation, *called))
    needs = (*pending.tags, *pending.keyword_tags.values(), *pending.starred, pending.tag)
    if not issubclass(type(value), _STEPPED):
        return value, Tag((RET, site, control, None, None, *needs))
    RUN.made[id(pending.code)] += 1
    run = pending.run = GeneratorRun(RUN.made[id(pending.code)])
    RUN.promised.append((control.activation, pending.code, run))
    RUN.note_run(value, run)
    frame = frame_of(value)
    if frame is not None and frame.f_code is pending.code:
        RUN.starting[id(frame)] = (weakref.ref(value), pending)
    return value, Tag((NEW, site, control, run, *needs))


@with_native
def finish_call(prepared: PreparedCall | PendingCall | ModelledCall, value: Any) -> Pair:
    """The result of a call with its tag."""
    THREAD.operation, THREAD.pending = prepared.before, None
    if type(prepared) is PendingCall:
        return finish_function(prepared, value)
    if type(prepared) is ModelledCall:
        return value  # type: ignore[no-any-return]
    assert type(prepared) is PreparedCall
    return prepared.finish(prepared, value)


def call_with_tags(
    site: int, control: Control, called: Pair, arguments: Iterable[Pair],
    keywords: dict[str, Pair],
) -> Pair:  # fmt: skip
    """Make a whole call here: for models, and where the rewritten code may not bind a variable."""
    prepared = prepare_call(site, control, called, tuple(arguments), keywords)
    before = prepared.before
    try:
        value = prepared.function(*prepared.arguments, **prepared.keywords)
    except BaseException as error:
        if THREAD.operation is not before and THREAD.operation is not None:
            note_failure(THREAD.operation, error)
        THREAD.operation, THREAD.pending = before, None
        raise
    return finish_call(prepared, value)


def collect_keywords(
    site: int, control: Control, entries: Iterable[tuple[str | None, Pair]]
) -> dict[str, Pair]:
    """The keyword arguments of a call, `**more` included."""
    from whence.langs.python.provenance.runtime.iteration import spread_entries

    made = StarredKeywords()
    shapes: list[MaybeTag] = []
    for name, argument in entries:
        if name is not None:
            more: list[tuple[Pair, Pair]] = [((name, None), argument)]
        else:
            refusal = f"{_STARRED} after ** must be a mapping, not {name_of(type(argument[0]))}"
            more = spread_entries(site, control, argument, refusal)
            shapes += (argument[1], shape_tag(argument[0]))
        for (key, _), value in more:
            if key in made:
                raise TypeError(f"got multiple values for keyword argument {key!r}")
            made[key] = value
    made.shape = Tag((OP, site, control, *shapes))
    return made
