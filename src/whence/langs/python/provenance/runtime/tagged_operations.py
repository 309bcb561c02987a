"""Operations, operators and tests, as rewritten expressions call them.

Every operation first does what the program asked for, with the program's own values, and then
computes the tag. So the program sees what it would see without tags, exceptions included.
"""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

from whence.langs.python.provenance.rewriter.syntax_nodes import CONTROL
from whence.langs.python.provenance.runtime.native_tagging import native_operator, with_native
from whence.langs.python.provenance.runtime.object_contents import sequence_items
from whence.langs.python.provenance.runtime.run_state import RUN, THREAD, Operation
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    deep_tags,
    new_shadow,
    part_tag,
    shadow_for,
    shadow_from_candidates,
    shadow_of,
    shadow_sequence,
    synchronise,
)
from whence.langs.python.provenance.runtime.text_pieces import concatenation_tag
from whence.langs.python.provenance.runtime.type_inspection import (
    SEQUENCES,
    IdentitySet,
    has_special_method,
)
from whence.langs.python.provenance.runtime.world_state import ALL_REGIONS, world_tag
from whence.langs.python.provenance.tags import (
    AMBIG,
    CONST,
    CTL,
    EXC,
    LOAD,
    NEW,
    OP,
    PHI,
    RET,
    SCALARS,
    SEL,
    WHOLE,
    Control,
    MaybeTag,
    Pair,
    Tag,
    attribute_owner,
    is_attribute_load,
    site_of,
)

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow,
    "LShift": operator.lshift, "RShift": operator.rshift, "BitOr": operator.or_,
    "BitXor": operator.xor, "BitAnd": operator.and_, "MatMult": operator.matmul,
}  # fmt: skip
AUGMENTED: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv, "Mod": operator.imod, "Pow": operator.ipow,
    "LShift": operator.ilshift, "RShift": operator.irshift, "BitOr": operator.ior,
    "BitXor": operator.ixor, "BitAnd": operator.iand, "MatMult": operator.imatmul,
}  # fmt: skip
_ADDING = frozenset({operator.add, operator.iadd})
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le,
    "Gt": operator.gt, "GtE": operator.ge, "Is": operator.is_, "IsNot": operator.is_not,
    "In": lambda left, right: left in right, "NotIn": lambda left, right: left not in right,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "USub": operator.neg, "UAdd": operator.pos, "Not": operator.not_, "Invert": operator.invert,
}  # fmt: skip
Operator = Callable[[int, Control, Pair, Pair], Pair]
_NUMBERS = IdentitySet(int, float, bool)
_HASHED = IdentitySet(dict, set, frozenset)


@with_native
def run_out_of_sight(
    site: int, control: Control, operands: tuple[Pair, ...], function: Callable[..., Any],
    *arguments: object,
) -> tuple[Any, Operation]:  # fmt: skip
    """Run an operation out of sight; callbacks into the program find its operands."""
    operation = Operation(site, control, operands)
    before, THREAD.operation, THREAD.pending = THREAD.operation, operation, None
    try:
        return function(*arguments), operation
    except BaseException as error:
        note_failure(operation, error)
        raise
    finally:
        THREAD.operation = before


def note_failure(operation: Operation, error: BaseException) -> None:
    """Note that an exception of an operation out of sight needs all of its operands."""
    if shadow_of(error) is None:
        operands = (*operation.operands, *operation.callbacks)
        # The first need is reported first: a wrong type is mostly one that no other operand has.
        first = _unusual_types_first(operands) if type(error) is TypeError else ()
        needs = (*first, *deep_tags(operands), world_tag(ALL_REGIONS))
        new_shadow(error).shape = Tag((EXC, operation.site, operation.control, None, *needs))


def _unusual_types_first(operands: tuple[Pair, ...]) -> Iterator[MaybeTag]:
    """The tags of each None, and then of what has a type that fewer have, items of sequences
    included."""
    single = [*operands]
    for value, _ in operands:
        shadow = shadow_of(value) if type(value) in SEQUENCES else None
        if shadow is not None:
            single += shadow.parts()
    # By their addresses: a metaclass may have a hash of its own.
    types = Counter(id(type(value)) for value, _ in single)
    most = max(types.values(), default=0)
    odd = [pair for pair in single if pair[0] is None or types[id(type(pair[0]))] < most]
    odd.sort(key=lambda pair: pair[0] is not None)
    return (tag for _, tag in odd if tag is not None)


def note_unexplained_error(control: Control, error: BaseException) -> None:
    """Note that an exception which no known operation raised, such as that of a call with too few
    arguments, depends on all variables that were visible where it was raised."""
    shadow = shadow_for(error)
    if shadow.shape is not None:
        return
    site = 0
    needs: list[MaybeTag] = []
    traceback = _TRACEBACK.__get__(error)
    while traceback is not None:
        frame = traceback.tb_frame
        if id(frame.f_globals) in RUN.namespaces:
            site = site_of(frame.f_code, traceback.tb_lasti) or site
            needs += (frame.f_locals.get(CONTROL), *tags_in_frame(frame))
        traceback = traceback.tb_next
    shadow.shape = Tag((EXC, site, control, None, *needs))


_TRACEBACK = BaseException.__dict__["__traceback__"]


def tags_in_frame(frame: FrameType) -> list[MaybeTag]:
    """The tags of all variables that are visible in a frame of the program."""
    tags: list[MaybeTag] = [
        f_local for name, f_local in frame.f_locals.items() if name.startswith("$")
    ]
    module = RUN.modules.get(RUN.namespaces.get(id(frame.f_globals), -1))
    return tags if module is None else [*tags, *module.tags()]


@with_native
def outcome_tag(operation: Operation, value: object, needs: tuple[MaybeTag, ...]) -> MaybeTag:
    """The tag of an operation's result: that of its last callback, or one of its own."""
    site, control, callbacks = operation.site, operation.control, operation.callbacks
    if not callbacks:
        return Tag((OP, site, control, *needs))
    if callbacks[-1][0] is value:
        others = deep_tags(callbacks[:-1])
        return Tag((RET, site, control, callbacks[-1][1], None, *others, *needs))
    return Tag((OP, site, control, *needs, *deep_tags(callbacks)))


def shape_after_comparisons(operation: Operation, shape: MaybeTag) -> MaybeTag:
    """The shape of a dict or set to which keys were added: which are equal decides it."""
    if not operation.callbacks:
        return shape
    others = (tag for _, tag in operation.callbacks)
    return Tag((OP, operation.site, operation.control, shape, *others))


_CHOSEN = frozenset({LOAD, PHI, SEL, RET, AMBIG})


def note_change_target(control: Control, tag: MaybeTag) -> None:
    """Note which object a call changes, if that was chosen: it could have been another one."""
    while tag is not None and is_attribute_load(tag):
        tag = attribute_owner(tag)  # only code that has another object could store it there
    if tag is not None and tag.kind in _CHOSEN:
        control.activation.note_decision(RUN.time, tag)


def note_stop(iterator: object, tag: MaybeTag) -> None:
    """Note what decided how far an iterator ran: its side effects could have been more or fewer."""
    if tag is not None and has_special_method(type(iterator), "__next__"):
        site, control = tag.site, tag.control
        control.activation.note_decision(
            RUN.time, Tag((CTL, site, control, tag, control.activation, True))
        )


@with_native
def constant(site: int, control: Control) -> Tag:
    """The tag of a constant."""
    return Tag((CONST, site, control))


@with_native
def join_branches(site: int, control: Control, before: MaybeTag, decided: Control) -> Tag:
    """The tag of a variable that a branch may have set, where the branches join."""
    return Tag((PHI, site, control, before, decided))


def opaque_tag(site: int, control: Control, *needs: MaybeTag) -> MaybeTag:
    """The tag of an expression that was evaluated unchanged."""
    return Tag((OP, site, control, *needs))


def operate_on_scalars(
    function: Callable[[Any, Any], Any], site: int, control: Control, left: Pair, right: Pair
) -> Pair:
    """An operation on values without parts, which calls no code of the program."""
    try:
        return function(left[0], right[0]), Tag((OP, site, control, left[1], right[1]))
    except BaseException as error:
        note_failure(Operation(site, control, (left, right)), error)
        raise


# --- operators -----------------------------------------------------------------------------------


def _on_numbers(function: Callable[[Any, Any], Any], others: Operator) -> Operator:
    """An operator with a fast path for numbers, which most operands are."""

    def operate(site: int, control: Control, left: Pair, right: Pair) -> Pair:
        a, tag_of_a = left
        b, tag_of_b = right
        if type(a) not in _NUMBERS or type(b) not in _NUMBERS:
            return others(site, control, left, right)
        try:
            return function(a, b), Tag((OP, site, control, tag_of_a, tag_of_b))
        except BaseException as error:
            note_failure(Operation(site, control, (left, right)), error)
            raise

    return operate


def apply_binary(
    function: Callable[[Any, Any], Any], site: int, control: Control, left: Pair, right: Pair
) -> Pair:
    """`left + right` and so on."""
    a, b = left[0], right[0]
    if type(a) in SCALARS and type(b) in SCALARS:
        if type(a) is str and type(b) is str and function in _ADDING:
            return function(a, b), concatenation_tag(site, control, (left, right))
        return operate_on_scalars(function, site, control, left, right)
    value, operation = run_out_of_sight(site, control, (left, right), function, a, b)
    if operation.callbacks:
        return value, outcome_tag(operation, value, deep_tags((left, right)))
    kind = type(value)
    made = Tag((NEW, site, control, None, left[1], right[1]))
    if kind in SEQUENCES and value is not a and value is not b:
        tags = _joined_tags(site, control, left, right, len(value))
        if tags is not None:
            shape = Tag((OP, site, control, left[1], right[1], shape_tag(a), shape_tag(b)))
            shadow_sequence(value, tags, shape)
            return value, made
    if value is a:
        synchronise(value, site, control, (left, right), True)
        return value, left[1]
    if type(value) not in SCALARS:
        candidates = Candidates(site, control, (left, right))
        shadow_from_candidates(value, candidates, selects=kind in _HASHED)
        return value, Tag((NEW, site, control, None, candidates.made))
    return value, Tag((OP, site, control, *deep_tags((left, right))))


def _joined_tags(
    site: int, control: Control, left: Pair, right: Pair, length: int
) -> list[MaybeTag] | None:
    """The tags of the items of `a + b` or `a * n`."""
    a, b = left[0], right[0]
    if issubclass(type(a), (list, tuple)) and issubclass(type(b), (list, tuple)):
        tags = item_tags(site, control, left) + item_tags(site, control, right)
    elif issubclass(type(a), (list, tuple)) and type(b) is int:
        tags = item_tags(site, control, left) * max(b, 0)
    elif issubclass(type(b), (list, tuple)) and type(a) is int:
        tags = item_tags(site, control, right) * max(a, 0)
    else:
        return None
    return tags if len(tags) == length else None


def item_tags(site: int, control: Control, pair: Pair) -> list[MaybeTag]:
    """The tags of a sequence's items."""
    thing = pair[0]
    shadow = shadow_of(thing)
    if shadow is not None:
        synchronise(thing, site, control)
        shadow = shadow_for(thing)
        if type(shadow.items) is list:
            needs = (pair[1], shadow.shape)
            return [
                Tag((LOAD, site, control, tag, RUN.time, id(thing), number, *needs))
                for number, tag in enumerate(shadow.items)
            ]
    values = sequence_items(thing)
    return [part_tag(site, control, pair, ("item", i), value) for i, value in enumerate(values)]


_SIZED = IdentitySet(list, dict, set, deque)


@with_native
def shape_tag(thing: object) -> MaybeTag:
    """The tag of which places an object has, and of what ended its iteration."""
    shape = _shape_of(thing)
    ended = RUN.iteration_ends.get(id(thing)) if RUN.iteration_ends else None
    return shape if ended is None else Tag((OP, 0, RUN.root.control, shape, ended[1]))


def _shape_of(thing: object) -> MaybeTag:
    if type(thing) in SCALARS:
        return None
    shadow = RUN.shadows.get(id(thing))
    shape: MaybeTag = None
    if shadow is not None:
        shape = Tag((WHOLE, 0, None, RUN.time, shadow.address, shadow.shape))
    elif type(thing) in _SIZED:
        RUN.kept_alive[id(thing)] = thing
        shape = Tag((WHOLE, 0, None, RUN.time, id(thing), None))
    run = RUN.run_of(thing)
    if run is not None and (run.dropped or run.position):
        return Tag((OP, 0, RUN.root.control, run.position, *run.dropped))
    source = RUN.sources.get(id(thing))
    if source is None or source[0] is not thing:
        return shape
    behind = (tag for pair in source[1].behind for tag in (pair[1], shape_tag(pair[0])))
    return Tag((OP, 0, RUN.root.control, shape, *behind))


@with_native
def unary(name: str, site: int, control: Control, operand: Pair) -> Pair:
    """`-operand` and so on."""
    if type(operand[0]) in _NUMBERS and name != "Invert":
        return UNARY[name](operand[0]), Tag((OP, site, control, operand[1]))
    value, operation = run_out_of_sight(site, control, (operand,), UNARY[name], operand[0])
    if type(operand[0]) in SCALARS:
        return value, Tag((OP, site, control, operand[1]))
    needs = deep_tags((operand,)) if name != "Not" else (operand[1], shape_tag(operand[0]))
    return value, outcome_tag(operation, value, needs)


def _compare(name: str, site: int, control: Control, left: Pair, right: Pair) -> Pair:
    """`left < right` and so on."""
    a, b = left[0], right[0]
    if (type(a) in SCALARS and type(b) in SCALARS) or name in {"Is", "IsNot"}:
        return operate_on_scalars(COMPARISONS[name], site, control, left, right)
    value, operation = run_out_of_sight(site, control, (left, right), COMPARISONS[name], a, b)
    if name in {"In", "NotIn"} and type(b) in _HASHED:
        needs = (*deep_tags((left,)), right[1], shape_tag(b))
        return value, outcome_tag(operation, value, needs)
    tag = outcome_tag(operation, value, deep_tags((left, right)))
    if name in {"In", "NotIn"}:
        note_stop(b, tag)
    return value, tag


OPERATORS: dict[str, Operator] = {
    name: native_operator(name, function)
    for name, function in {
        **{
            name: _on_numbers(function, partial(apply_binary, function))
            for name, function in BINARY.items()
        },
        **{
            name: _on_numbers(function, partial(_compare, name))
            for name, function in COMPARISONS.items()
        },
    }.items()
}
"""What rewritten code calls for an operator, by its name in the syntax tree."""


# --- tests ---------------------------------------------------------------------------------------


@with_native
def test(site: int, control: Control, condition: Pair) -> Control:
    """The control of what depends on whether a value is true."""
    value, tag = condition
    if type(value) in SCALARS:
        return Tag((CTL, site, control, tag, control.activation, bool(value)))
    truth, operation = run_out_of_sight(site, control, (condition,), bool, value)
    needs = (tag, shape_tag(value), *(tag for _, tag in operation.callbacks))
    return Tag((CTL, site, control, Tag((OP, site, control, *needs)), control.activation, truth))


@with_native
def test_and_note(site: int, control: Control, condition: Pair) -> Control:
    """A test that decides whether something is changed."""
    made = test(site, control, condition)
    made.activation.note_decision(RUN.time, made)
    return made


@with_native
def select(site: int, control: Control, chosen: Pair, decided: Control) -> Pair:
    """A value that a test chose."""
    return chosen[0], Tag((SEL, site, control, chosen[1], decided))


def short_circuit(
    site: int, control: Control, stops_when: bool, left: Pair, right: Callable[[], Pair],
    for_truth: bool,
) -> Pair:  # fmt: skip
    """`and` and `or` where no variable may be bound; for its truth only, or for its value."""
    decided = test_and_note(site, control, left)
    if decided.outcome is not stops_when:
        return select(site, control, right(), decided)
    return select(site, control, (stops_when, left[1]) if for_truth else left, decided)


def choose_branch(
    site: int,
    control: Control,
    condition: Pair,
    body: Callable[[], Pair],
    other: Callable[[], Pair],
) -> Pair:
    """`body if condition else other` where no variable may be bound."""
    decided = test_and_note(site, control, condition)
    return select(site, control, body() if decided.outcome else other(), decided)


def first_of(first: object, *_: object) -> Any:
    """The first of several evaluated values."""
    return first


def last_of(*values: object) -> Any:
    """The last of several evaluated values."""
    return values[-1]
