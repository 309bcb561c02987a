"""Calls: how tags cross from the caller to the callee and back.

The runtime prepares a call, the program's own frame makes it, and the runtime finishes it. A
rewritten function finds the tags of its arguments in the *pending call*, which names its code. A
function that code out of sight calls (a key function, an `__eq__`) finds its arguments by identity
among the operands of the running operation, and its result becomes an input of that operation.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    MethodWrapperType,
)
from typing import Any, ClassVar

from whence.langs.python.provenance.rewriter.syntax_nodes import RUNTIME_NAMES
from whence.langs.python.provenance.runtime.displays import StarredKeywords, star_shapes
from whence.langs.python.provenance.runtime.instance_creation import prepare_instance
from whence.langs.python.provenance.runtime.model_lookup import model_for
from whence.langs.python.provenance.runtime.native_tagging import with_native
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
    entry_for_frame,
    frame_of,
)
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    deep_tags,
    is_opaque,
    scan_existing_objects,
    shadow_for,
    shadow_mapping,
    shadow_of,
    shadow_sequence,
)
from whence.langs.python.provenance.runtime.tagged_operations import (
    note_failure,
    note_unexplained_error,
    shape_tag,
)
from whence.langs.python.provenance.runtime.text_pieces import kept_text_tag
from whence.langs.python.provenance.runtime.type_inspection import name_of
from whence.langs.python.provenance.tags import (
    AMBIG,
    ARG,
    BOUND,
    FRAME,
    FUNCTIONS,
    INPUT,
    LOST,
    NEW,
    OP,
    RET,
    SCALARS,
    SEL,
    SITES,
    Activation,
    Control,
    FunctionInfo,
    GeneratorRun,
    MaybeTag,
    Pair,
    Tag,
)

REWRITTEN_CODES: dict[int, CodeType] = {}
"""The code of rewritten functions, by its address."""

DEFAULTS: dict[int, tuple[Any, tuple[MaybeTag, ...], dict[str, MaybeTag], tuple[Any, ...]]] = {}
FAILED = object()
"""What a callback gave that gave nothing."""
_STEPPED = (GeneratorType, CoroutineType, AsyncGeneratorType)
NO_KEYWORDS: dict[str, Pair] = {}
_NO_TAGS: dict[str, MaybeTag] = {}


def is_rewritten(function: Any) -> bool:
    """Whether a function was rewritten."""
    return type(function) is FunctionType and id(function.__code__) in REWRITTEN_CODES


# --- definitions ---------------------------------------------------------------------------------


class _Definition:
    """Collects the tags of a function's defaults, which are evaluated before the function
    exists.
    """

    def __init__(self, number: int):
        self.number = number
        self.tags: list[MaybeTag] = []
        THREAD.defining.append(self)

    def __call__(self, function: Any) -> Any:
        while THREAD.defining and THREAD.defining.pop() is not self:
            pass
        code = function.__code__
        REWRITTEN_CODES[id(code)] = code
        info = FUNCTIONS[self.number]
        info.namespace = function.__globals__
        RUN.note_namespace(info.namespace, info.module)
        count = len(function.__defaults__ or ())
        named = [name for name in info.keyword_only if name in (function.__kwdefaults__ or {})]
        if any(tag is not None for tag in self.tags):
            address = id(function)
            known = DEFAULTS  # which is there until the interpreter ends
            forget = weakref.ref(function, lambda _: known.pop(address, None))
            tags = dict(zip(named, self.tags[count:], strict=False))
            DEFAULTS[address] = (forget, tuple(self.tags[:count]), tags, _defaults_of(function))
        if not count and not function.__kwdefaults__:
            _AGAIN[self.number] = _DefinedAgain(self.number)
        return function


class _DefinedAgain:
    """The decorator of a function without defaults that was defined before.

    An inner function is defined at every call of the outer one, so this must be fast.
    """

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number

    def __call__(self, function: Any) -> Any:
        is_known = id(function.__code__) in REWRITTEN_CODES
        if is_known and FUNCTIONS[self.number].namespace is function.__globals__:
            return function
        return _Definition(self.number)(function)


_AGAIN: dict[int, _DefinedAgain] = {}
"""By the number of the function."""


def _defaults_of(function: Any) -> tuple[Any, ...]:
    return (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())


def define_function(number: int) -> _Definition | _DefinedAgain:
    """The innermost decorator of every rewritten function."""
    return _AGAIN.get(number) or _Definition(number)


def note_default(given: Pair) -> Any:
    """Note the tag of a default of the function that is being defined."""
    if THREAD.defining:
        THREAD.defining[-1].tags.append(given[1])
    return given[0]


def define_lambda(site: int, control: Control, function: Any) -> Pair:
    """The function of a lambda expression, with its tag."""
    return function, Tag((NEW, site, control, None))


def function_tag(site: int, control: Control) -> MaybeTag:
    """The tag of a function that was just defined."""
    return Tag((NEW, site, control, None))


# --- a call, from the caller ---------------------------------------------------------------------


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
        given = (receiver, *arguments)
        pending = _prepare_function(
            site, control, called, function.__func__, given, keywords, stars
        )
        pending.function = function
        pending.arguments = pending.values[1:]
        return pending
    if type(function) is BuiltinFunctionType and _is_simple(function, arguments, keywords):
        return _prepare_simple(site, control, called, arguments, stars)
    model = model_for(function)
    if model is not None:
        before = THREAD.operation
        receiver_pair = (getattr(function, "__self__", None), receiver_tag(tag) if tag else None)
        made = model(site, control, receiver_pair, arguments, keywords)
        if made is not NotImplemented:
            return ModelledCall(_under_stars(site, control, made, stars) if stars else made, before)
    if issubclass(type(function), type):
        return prepare_instance(site, control, called, arguments, keywords, stars, is_rewritten)
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
"""Methods of plain values that give or read containers."""


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
    site: int,
    control: Control,
    called: Pair,
    arguments: tuple[Pair, ...],
    stars: tuple[MaybeTag, ...],
) -> PreparedCall:
    function, tag = called
    needs = (receiver_tag(tag), *(tag for _, tag in arguments), *stars)
    prepared = PreparedCall(
        function, [value for value, _ in arguments], {}, _finish_simple, THREAD.operation
    )
    prepared.tag = Tag((OP, site, control, *needs))
    # Should it fail, this is what the exception is known by.
    prepared.operation = Operation(site, control, ((function.__self__, needs[0]), *arguments))
    THREAD.operation, THREAD.pending = prepared.operation, None
    return prepared


def _finish_simple(prepared: PreparedCall, value: Any) -> Pair:
    owner, tag = prepared.function.__self__, prepared.tag
    if type(owner) is str and type(value) is str and tag is not None:
        tag = kept_text_tag(tag, prepared.function.__name__, owner, value)
    return value, tag


class ModelledCall:
    """A call that a model has already made: the program's frame only takes the result."""

    __slots__ = ("arguments", "before")

    keywords: ClassVar[dict[str, Any]] = {}

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
    site: int, control: Control, called: Pair, function: Any, arguments: tuple[Pair, ...],
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


def finish_function(pending: PendingCall, value: Any) -> Pair:
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
    for name, given in entries:
        if name is not None:
            more: list[tuple[Pair, Pair]] = [((name, None), given)]
        else:
            refusal = f"argument after ** must be a mapping, not {name_of(type(given[0]))}"
            more = spread_entries(site, control, given, refusal)
            shapes += (given[1], shape_tag(given[0]))
        for (key, _), value in more:
            if key in made:
                raise TypeError(f"got multiple values for keyword argument {key!r}")
            made[key] = value
    made.shape = Tag((OP, site, control, *shapes))
    return made


# --- a call, from the callee ---------------------------------------------------------------------


@with_native
def enter_function(
    number: int, values: tuple[Any, ...], of_lambda: FrameType | None = None
) -> tuple[Any, ...]:
    """Begin a function: returns its activation, its control and the tags of its arguments."""
    info = FUNCTIONS[number]
    frame = of_lambda or sys._getframe(1)
    here = THREAD
    pending, here.pending = here.pending, None
    operation, here.operation = here.operation, None
    is_direct = False
    if info.is_stepped:
        pending = entry_for_frame(frame, RUN.starting.pop(id(frame), None))
    elif pending is not None and _is_this(pending, frame, values):
        is_direct = True
    else:
        pending = _expected(operation, frame, values)
    if info.is_stepped and pending is not None:
        parent = pending.control.activation  # whoever made it
    else:
        asked = RUN.maker_of(frame) if info.is_stepped else None
        parent = asked or RUN.frames.get(id(frame.f_back)) or nearest_activation(frame)
    RUN.number += 1
    RUN.time += 1
    activation = Activation(RUN.number, info, parent)
    RUN.activations.append(activation)
    RUN.frames[id(frame)] = activation
    activation.start = RUN.time
    activation.values = values
    if info.global_names or info.free_names:
        activation.roots = reachable_roots(info, frame)
    activation.operation = None if is_direct else operation
    if pending is not None:
        pending.activation = activation
        if pending.run is not None:
            pending.run.activation = activation
            activation.made = pending.run.number
        control = Tag((FRAME, pending.site, pending.control, pending.tag, activation))
        activation.guarded = parent.guarded or SITES[pending.site].is_guarded or info.is_stepped
        tags = bind_arguments(info, pending, values, control)
    elif operation is not None and operation.activation is parent:
        activation.guarded = True
        control = Tag((FRAME, operation.site, operation.control, None, activation))
        tags = identify_arguments(operation, control, values)
    else:
        control = Tag((FRAME, 0, parent.control, RUN.passed_out_of_sight, activation))
        activation.guarded = activation.number > 1
        if activation.number == 1:
            scan_existing_objects((*values, *activation.roots, *info.fixed))
        tags = [Tag((INPUT, 0, control, name)) for name in _names(info)]
    activation.control = control
    activation.arguments = tuple(tags)
    if RUN.on_enter is not None:
        RUN.on_enter(activation)
    return (activation, control, *tags)


@with_native
def identify_arguments(
    operation: Operation, control: Control, values: tuple[Any, ...]
) -> list[MaybeTag]:
    """The tags of arguments that code out of sight passes: found among its operands."""
    known = Candidates(operation.site, control, (*operation.operands, *operation.callbacks))
    return [Tag((ARG, operation.site, control, known.tag(value))) for value in values]


def _is_this(pending: PendingCall, frame: FrameType, values: tuple[Any, ...]) -> bool:
    """Whether the function that begins is the pending call: the same code and values."""
    if pending.code is not frame.f_code:
        return False
    if not pending.values or not values:
        return True
    return values[0] is pending.values[0] or type(values[0]) is tuple  # perhaps `*rest`


def _expected(
    operation: Operation | None, frame: FrameType, values: tuple[Any, ...]
) -> PendingCall | None:
    """The pending call of an instance's `__new__` or `__init__`, if one is being created."""
    if operation is None or operation.expected is None:
        return None
    found = operation.expected.pop(id(frame.f_code), None)
    if found is None:
        return None
    if operation.callbacks:  # by what `__new__` gave it is decided whether there is an `__init__`
        told = (tag for _, tag in operation.callbacks)
        found.tag = Tag((OP, found.site, found.control, found.tag, *told))
    given = found.values[1:]
    same = all(a is b for a, b in zip(given, values[1 : 1 + len(given)], strict=False))
    return found if same or len(values) < len(found.values) else None


def nearest_activation(frame: FrameType) -> Activation:
    """The caller of a call: the nearest rewritten frame on the stack, or the call that started
    the thread. For a generator expression, the call that contains it.
    """
    outer = frame.f_back
    while outer is not None:
        found = RUN.frames.get(id(outer)) or RUN.expression_of(outer)
        if found is not None:
            return found
        outer = outer.f_back
    return RUN.started_by()


def _names(info: FunctionInfo) -> list[str]:
    names = [*info.positional, *info.keyword_only]
    return names + ["*"] * info.has_rest + ["**"] * info.has_named_rest


def reachable_roots(info: FunctionInfo, frame: FrameType) -> tuple[Any, ...]:
    """The objects that a function reaches through closures and module variables."""
    found = [frame.f_globals.get(name) for name in info.global_names]
    if info.free_names:
        known = frame.f_locals
        found += [known.get(name) for name in info.free_names]
    return tuple(found)


def _changed_defaults(pending: PendingCall) -> MaybeTag:
    function = pending.defined
    places = (function, function.__defaults__, function.__kwdefaults__)
    needs = deep_tags((place, None) for place in places)
    return Tag((LOST, pending.site, pending.control, *needs, RUN.passed_out_of_sight))


@with_native
def bind_arguments(
    info: FunctionInfo, pending: PendingCall, values: tuple[Any, ...], control: Control
) -> list[MaybeTag]:
    """The tags of the arguments of a call, as the language binds them to parameters."""
    site, given, named = pending.site, pending.tags, pending.keyword_tags
    stars = pending.starred
    if len(given) == len(info.positional) == len(values):
        return [Tag((ARG, site, control, tag, *stars)) for tag in given]
    found = DEFAULTS.get(id(pending.defined))
    defaults, named_defaults = (found[1], found[2]) if found is not None else ((), {})
    if found is not None:
        now = _defaults_of(pending.defined)
        if len(now) != len(found[3]) or any(
            a is not b for a, b in zip(now, found[3], strict=True)
        ):  # others were set since
            changed = _changed_defaults(pending)
            defaults = (changed,) * len(pending.defined.__defaults__ or ())
            named_defaults = dict.fromkeys(pending.defined.__kwdefaults__ or (), changed)
    tags: list[MaybeTag] = []
    count = len(info.positional)
    for number, name in enumerate(info.positional):
        if number < len(given):
            tag = given[number]
        elif name in named:
            tag = named[name]
        else:
            place = number - (count - len(defaults))
            tag = defaults[place] if 0 <= place < len(defaults) else None
        tags.append(Tag((ARG, site, control, tag, *stars)))
    for name in info.keyword_only:
        tag = named[name] if name in named else named_defaults.get(name)
        tags.append(Tag((ARG, site, control, tag, *stars)))
    rest = count + len(info.keyword_only)
    if info.has_rest:
        more: list[MaybeTag] = [Tag((ARG, site, control, tag)) for tag in given[count:]]
        if len(more) == len(values[rest]) and more:
            shadow_sequence(values[rest], more, Tag((OP, site, control, *stars)) if stars else None)
        tags.append(Tag((NEW, site, control, None, *stars)))
        rest += 1
    if info.has_named_rest:
        entries = [
            (key, value, None, Tag((ARG, site, control, named.get(key))))
            for key, value in values[rest].items()
        ]
        shadow_mapping(values[rest], entries, Tag((OP, site, control, *stars)) if stars else None)
        tags.append(Tag((NEW, site, control, None, *stars)))
    return tags


@with_native
def return_value(activation: Activation, control: Control, site: int, given: Pair) -> Any:
    """Note the result of a function, and return it."""
    activation.result = Tag((RET, site, control, given[1], activation))
    activation.value = given[0]
    return given[0]


def raise_from(activation: Activation, control: Control, error: BaseException) -> None:
    """Note that a function ends with an exception."""
    note_current_error(activation, control, error)
    activation.result = None
    activation.failure = Tag((RET, 0, control, shadow_for(error).shape, activation))


def note_current_error(activation: Activation, control: Control, error: BaseException) -> None:
    """If an operation of this call just failed, note it as the source of the exception."""
    operation = THREAD.operation
    if operation is not None and operation.activation is activation:
        note_failure(operation, error)
    else:
        note_unexplained_error(control, error)
    THREAD.pending = None


@with_native
def leave_function(activation: Activation) -> None:
    """End a function."""
    run = RUN
    run.time += 1
    activation.end = run.time
    run.frames.pop(id(sys._getframe(1)), None)
    end_activation(activation)


def end_activation(activation: Activation) -> None:
    """End an activation and return to what ran before."""
    operation = THREAD.operation = activation.operation
    if operation is not None:
        if activation.result is not None:
            operation.callbacks.append((activation.value, activation.result))
        elif activation.failure is not None:  # `hasattr` and others go on without it
            operation.callbacks.append((FAILED, activation.failure))
    elif activation.control.site == 0:
        RUN.stray_results = Tag(
            (OP, 0, None, activation.result, activation.failure, RUN.stray_results)
        )
    if RUN.on_leave is not None:
        RUN.on_leave(activation)


def run_lambda(number: int, site: int, values: tuple[Any, ...], body: Callable[..., Pair]) -> Any:
    """Run the body of a lambda expression."""
    frame = sys._getframe(1)
    activation, control, *tags = enter_function(number, values, frame)
    try:
        return return_value(activation, control, site, body(control, *tags))
    except BaseException as error:
        raise_from(activation, control, error)
        raise
    finally:
        RUN.time += 1
        activation.end = RUN.time
        RUN.frames.pop(id(frame), None)
        end_activation(activation)


# --- modules -------------------------------------------------------------------------------------


def enter_module(module: int) -> tuple[Activation, Control]:
    """Begin a module that carries tags: it counts as part of the run itself."""
    RUN.note_namespace(sys._getframe(1).f_globals, module)
    return RUN.root, RUN.root.control


def leave_module(namespace: dict[str, Any]) -> None:
    """End a module: delete the rewriter's variables from it."""
    for name in [variable for variable in namespace if variable.startswith(RUNTIME_NAMES)]:
        del namespace[name]
