"""Models of builtin functions and types: what their results depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from whence.langs.python.provenance.runtime import attribute_access, tagged_operations
from whence.langs.python.provenance.runtime.call_sites import call_with_tags
from whence.langs.python.provenance.runtime.displays import (
    make_dict,
    make_list,
    make_set,
    make_tuple,
)
from whence.langs.python.provenance.runtime.iteration import (
    entry_pairs,
    iterate_pairs,
    iterator_of,
    next_pair,
)
from whence.langs.python.provenance.runtime.iterator_sources import (
    IteratorSource,
    SequenceSource,
    tuple_tag,
)
from whence.langs.python.provenance.runtime.model_lookup import (
    Arguments,
    Keywords,
    Model,
    models,
    models_method,
)
from whence.langs.python.provenance.runtime.object_contents import set_elements
from whence.langs.python.provenance.runtime.out_of_sight_calls import out_of_sight_tag
from whence.langs.python.provenance.runtime.run_state import RUN, THREAD
from whence.langs.python.provenance.runtime.shadow_memory import (
    deep_tags,
    is_plain_key,
    shadow_set,
    synchronise,
)
from whence.langs.python.provenance.runtime.tagged_operations import (
    outcome_tag,
    run_out_of_sight,
    shape_after_comparisons,
    shape_tag,
)
from whence.langs.python.provenance.runtime.type_inspection import (
    SEQUENCES,
    IdentitySet,
    class_attribute,
    has_special_method,
    is_iterable,
)
from whence.langs.python.provenance.tags import (
    BOUND,
    CONST,
    NEW,
    OP,
    SEL,
    STORE,
    Control,
    MaybeTag,
    Pair,
    Tag,
)

_CALLED_AT_ONCE = ("__len__", "__length_hint__", "keys", "__getattribute__", "__getattr__")
_HASHED = (dict, set, frozenset)

# --- containers ----------------------------------------------------------------------------------


def _shape(site: int, control: Control, iterable: Pair) -> MaybeTag:
    return Tag((OP, site, control, iterable[1], shape_tag(iterable[0])))


def _copied(site: int, control: Control, args: Arguments) -> tuple[list[Pair], MaybeTag]:
    """The values of an iterable, if there is one, and the tag of how many there are."""
    if not args:
        return [], None
    return list(iterate_pairs(site, control, args[0])), _shape(site, control, args[0])


def can_copy_by_items(args: Arguments) -> bool:
    """Whether reading an iterable item by item calls the same program code as reading it at once.

    `list(…)` calls a program's `__len__`; `set(…)` does not call the `__iter__` of a subclass of
    set; keys that are added one by one are compared again.
    """
    if not args:
        return True
    thing = args[0][0]
    kind = type(thing)
    is_hashed = issubclass(kind, _HASHED)
    methods = (*_CALLED_AT_ONCE, "__iter__") if is_hashed else _CALLED_AT_ONCE
    if kind is reversed or any(
        type(class_attribute(kind, method)) is FunctionType for method in methods
    ):
        return False
    return not is_hashed or all(is_plain_key(element) for element in set_elements(thing))


@models(list)
def _list(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if named or len(args) > 1 or not can_copy_by_items(args):
        return NotImplemented
    return make_list(site, control, *_copied(site, control, args))


@models(tuple)
def _tuple(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if named or len(args) > 1 or not can_copy_by_items(args):
        return NotImplemented
    if args and type(args[0][0]) is tuple:
        return args[0]
    return make_tuple(site, control, *_copied(site, control, args))


@models(set)
def _set(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if named or len(args) > 1 or not can_copy_by_items(args):
        return NotImplemented
    pairs, shape = _copied(site, control, args)
    shape = Tag((OP, site, control, *(tag for _, tag in pairs), shape))
    return make_set(site, control, pairs, shape)


@models(frozenset)
def _frozenset(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if named or len(args) != 1 or type(args[0][0]) is frozenset or not can_copy_by_items(args):
        return NotImplemented
    pairs, shape = _copied(site, control, args)
    made, operation = run_out_of_sight(
        site, control, tuple(pairs), frozenset, [value for value, _ in pairs]
    )
    RUN.time += 1
    entries = [(value, Tag((STORE, site, control, tag, RUN.time))) for value, tag in pairs]
    shape = Tag((OP, site, control, *(tag for _, tag in pairs), shape))
    shadow_set(made, entries, shape_after_comparisons(operation, shape))
    synchronise(made, site, control, pairs)
    return made, Tag((NEW, site, control, None))


@models(dict)
def _dict(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) > 1 or not can_copy_by_items(args):
        return NotImplemented
    entries = dict_entries(site, control, args, named)
    shape = _shape(site, control, args[0]) if args else None
    keys = tuple(key[1] for key, _ in entries)
    return make_dict(site, control, entries, Tag((OP, site, control, shape, *keys)))


def dict_entries(
    site: int, control: Control, args: Arguments, named: Keywords
) -> list[tuple[Pair, Pair]]:
    """The entries that `dict(…)` or `update(…)` receives."""
    entries: list[tuple[Pair, Pair]] = []
    if args:
        source = args[0]
        if hasattr(source[0], "keys"):
            entries += entry_pairs(site, control, source)
        else:
            for number, pair in enumerate(iterate_pairs(site, control, source)):
                entries.append(_entry(site, control, pair, number))
    constant: MaybeTag = Tag((CONST, site, control))
    return entries + [((name, constant), value) for name, value in named.items()]


def _entry(site: int, control: Control, element: Pair, number: int) -> tuple[Pair, Pair]:
    parts = list(iterate_pairs(site, control, element)) if is_iterable(element[0]) else None
    if parts is None:
        raise TypeError(
            f"cannot convert dictionary update sequence element #{number} to a sequence"
        )
    if len(parts) != 2:
        raise ValueError(
            f"dictionary update sequence element #{number} has length {len(parts)}; 2 is required"
        )
    return parts[0], parts[1]


@models(sorted)
def _sorted(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 1 or named.keys() - {"key", "reverse"} or not can_copy_by_items(args):
        return NotImplemented
    pairs = list(iterate_pairs(site, control, args[0]))
    order, shape = sorted_order(site, control, pairs, args[0], named)
    return make_list(site, control, [pairs[index] for index in order], shape)


def sorted_order(
    site: int, control: Control, pairs: list[Pair], owner: Pair, named: Keywords
) -> tuple[list[int], MaybeTag]:
    """The order of values after sorting, and the tag of that order."""
    backwards = named.get("reverse", (False, None))
    keys = _sort_keys(site, control, pairs, named)
    values = [value for value, _ in keys]
    order, operation = run_out_of_sight(
        site, control, tuple(keys),
        lambda: sorted(range(len(values)), key=values.__getitem__, reverse=backwards[0]),
    )  # fmt: skip
    needs = (*deep_tags(keys), owner[1], shape_tag(owner[0]), backwards[1])
    callbacks = tuple(tag for _, tag in operation.callbacks)
    return order, Tag((OP, site, control, *needs, *callbacks))


def _sort_keys(site: int, control: Control, pairs: list[Pair], named: Keywords) -> list[Pair]:
    """What values are compared by: the results of the key function, if there is one."""
    key = named.get("key", (None, None))
    if key[0] is None:
        return pairs
    return [call_with_tags(site, control, key, (pair,), {}) for pair in pairs]


# --- iterators -----------------------------------------------------------------------------------


class _Recorder:
    """Wraps an iterator of the program and remembers the tag of its last value."""

    def __init__(self, site: int, control: Control, owner: Pair):
        self._where = site, control
        self.owner = owner
        self._iterator = iterator_of(site, control, owner)
        self.tag: MaybeTag = None

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        value, self.tag = next_pair(*self._where, self._iterator, self.owner)
        return value

    def __length_hint__(self) -> int:
        import operator

        return operator.length_hint(self._iterator[0])


class _Called:
    """Wraps a function that an iterator calls and remembers the tag of its last result."""

    def __init__(self, site: int, control: Control, function: Pair, recorders: list[_Recorder]):
        self._where = site, control
        self._function = function
        self.recorders = recorders
        self.tag: MaybeTag = None

    def __call__(self, *values: object) -> object:
        tags = [recorder.tag for recorder in self.recorders]
        arguments = tuple(zip(values, tags, strict=True))
        value, self.tag = call_with_tags(*self._where, self._function, arguments, {})
        if THREAD.operation is not None:
            THREAD.operation.callbacks.append((value, self.tag))
        return value


class _Together(IteratorSource):
    """The source of `zip` and `enumerate`: tuples of the recorders' values."""

    def __init__(
        self, iterator: object, recorders: list[_Recorder], needs: MaybeTag, numbered: bool
    ):
        super().__init__(iterator, *(recorder.owner for recorder in recorders))
        self._recorders = recorders
        self._numbered = numbered
        self._needs = needs

    def tag(self, site: int, control: Control, value: object) -> MaybeTag:
        tags = tuple(recorder.tag for recorder in self._recorders)
        if self._numbered:
            tags = (Tag((OP, site, control, self._needs, *tags)), *tags)
        return tuple_tag(site, control, value, tags)


class _Mapped(IteratorSource):
    """The source of `map`: the results of the function."""

    def __init__(self, iterator: object, latest: _Called | _Recorder, *behind: Pair):
        super().__init__(iterator, *behind)
        self._latest = latest

    def tag(self, site: int, control: Control, value: object) -> MaybeTag:
        return Tag((SEL, site, control, self._latest.tag))


class _Filtered(_Mapped):
    """The source of `filter`: its values depend on all tests so far."""

    heeds_callbacks = True


@models(zip)
def _zip(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if named.keys() - {"strict"}:
        return NotImplemented
    recorders = [_Recorder(site, control, iterable) for iterable in args]
    strict = named.get("strict", (False, None))
    made = zip(*recorders, strict=strict[0])
    _Together(made, recorders, None, numbered=False)
    return made, Tag((NEW, site, control, None, *deep_tags(args)))


@models(enumerate)
def _enumerate(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if not args or len(args) > 2 or named.keys() - {"start"}:
        return NotImplemented
    start = args[1] if len(args) > 1 else named.get("start", (0, None))
    recorder = _Recorder(site, control, args[0])
    made = enumerate(recorder, start[0])
    _Together(made, [recorder], start[1], numbered=True)
    return made, Tag((NEW, site, control, None, args[0][1], shape_tag(args[0][0]), start[1]))


@models(map)
def _map(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) < 2 or named:
        return NotImplemented
    recorders = [_Recorder(site, control, iterable) for iterable in args[1:]]
    called = _Called(site, control, args[0], recorders)
    made = map(called, *recorders)
    _Mapped(made, called, *args[1:])
    return made, Tag((NEW, site, control, None, *(tag for _, tag in args)))


@models(filter)
def _filter(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 2 or named:
        return NotImplemented
    recorder = _Recorder(site, control, args[1])
    called = None
    if args[0][0] is not None:
        called = _Called(site, control, args[0], [recorder])
    made = filter(called, recorder)
    _Filtered(made, recorder, args[1])
    return made, Tag((NEW, site, control, None, *(tag for _, tag in args)))


@models(iter)
def _iter(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 1 or named:
        return NotImplemented
    return iterator_of(site, control, args[0])


@models(reversed)
def _reversed(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 1 or named or type(args[0][0]) not in SEQUENCES:
        return NotImplemented
    made = reversed(args[0][0])
    SequenceSource(made, args[0], backwards=True)
    return made, Tag((NEW, site, control, None, args[0][1], shape_tag(args[0][0])))


@models(next)
def _next(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if not args or len(args) > 2 or named or not has_special_method(type(args[0][0]), "__next__"):
        return NotImplemented
    try:
        value, tag = next_pair(site, control, args[0], args[0])
    except StopIteration:
        if len(args) == 1:
            raise
        needs = (args[0][1], shape_tag(args[0][0]))
        return args[1][0], Tag((SEL, site, control, args[1][1], *needs))
    return value, Tag((SEL, site, control, tag, args[0][1]))


# --- choosing and summing up ---------------------------------------------------------------------


def _extreme(function: Callable[..., Any]) -> None:
    @models(function)
    def _model(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
        if not args or named.keys() - {"key", "default"}:
            return NotImplemented
        if len(args) > 1 and "default" in named:
            return NotImplemented
        pairs = list(args) if len(args) > 1 else list(iterate_pairs(site, control, args[0]))
        if not pairs:
            if "default" not in named:
                raising = (lambda _: function(()), None)
                return call_with_tags(site, control, raising, (args[0],), {})
            chosen = named["default"]
            return chosen[0], Tag((SEL, site, control, chosen[1], *deep_tags(args)))
        keys = _sort_keys(site, control, pairs, named)
        values = [value for value, _ in keys]
        index, operation = run_out_of_sight(
            site, control, tuple(keys),
            lambda: function(range(len(values)), key=values.__getitem__),
        )  # fmt: skip
        needs = (*deep_tags(keys), *(tag for _, tag in operation.callbacks))
        needs = (*needs, args[0][1], shape_tag(args[0][0]))
        return pairs[index][0], Tag((SEL, site, control, pairs[index][1], *needs))


_extreme(max)
_extreme(min)


@models(sum)
def _sum(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if not args or len(args) > 2 or named.keys() - {"start"}:
        return NotImplemented
    pairs = list(iterate_pairs(site, control, args[0]))
    start = args[1:] if len(args) > 1 else tuple(named.values())
    value, operation = run_out_of_sight(
        site, control, (*pairs, *start), sum, [value for value, _ in pairs],
        *(value for value, _ in start),
    )  # fmt: skip
    needs = (*deep_tags((*pairs, *start)), args[0][1], shape_tag(args[0][0]))
    if not operation.callbacks and type(value) is not list:
        return value, Tag((OP, site, control, *needs))
    return value, out_of_sight_tag(operation, value)


def _quantifier(function: Callable[[Any], bool], stops_when: bool) -> None:
    @models(function)
    def _model(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
        if len(args) != 1 or named:
            return NotImplemented
        needs: list[MaybeTag] = [args[0][1], shape_tag(args[0][0])]
        answer = not stops_when
        for pair in iterate_pairs(site, control, args[0]):
            decided = tagged_operations.test(site, control, pair)
            needs.append(decided.predicate)
            if decided.outcome is stops_when:
                answer = stops_when
                break
        else:
            needs.append(shape_tag(args[0][0]))
        tag = Tag((OP, site, control, *needs))
        tagged_operations.note_stop(args[0][0], tag)
        return answer, tag


_quantifier(any, stops_when=True)
_quantifier(all, stops_when=False)


_COUNTED = IdentitySet(list, tuple, dict, set, str, bytes, range)


@models(len)
def _len(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 1 or named:
        return NotImplemented
    if type(args[0][0]) in _COUNTED:
        return len(args[0][0]), Tag((OP, site, control, args[0][1], shape_tag(args[0][0])))
    value, operation = run_out_of_sight(site, control, args, len, args[0][0])
    return value, outcome_tag(operation, value, (args[0][1], shape_tag(args[0][0])))


# --- attributes and types ------------------------------------------------------------------------


@models(getattr)
def _getattr(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) not in {2, 3} or named or type(args[1][0]) is not str:
        return NotImplemented
    try:
        value, tag = attribute_access.attribute(site, control, args[0], args[1][0])
    except AttributeError as error:
        if len(args) == 2:
            raise
        absent = attribute_access.missing_attribute(site, control, args[0], args[1][0])
        needs = (args[0][1], args[1][1], shape_tag(error), absent)
        return args[2][0], Tag((SEL, site, control, args[2][1], *needs))
    if tag is not None and tag.kind == BOUND:
        return value, tag
    return value, Tag((SEL, site, control, tag, args[1][1]))


@models(setattr)
def _setattr(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 3 or named or type(args[1][0]) is not str:
        return NotImplemented
    attribute_access.set_attribute(site, control, args[2], args[0], args[1][0])
    attribute_access.named_attribute(site, control, args[0], args[1])
    return None, Tag((CONST, site, control))


@models(delattr)
def _delattr(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 2 or named or type(args[1][0]) is not str:
        return NotImplemented
    attribute_access.delete_attribute(site, control, args[0], args[1][0])
    attribute_access.named_attribute(site, control, args[0], args[1])
    return None, Tag((CONST, site, control))


@models_method(object, "__setattr__")
def _own_setattr(
    site: int, control: Control, owner: Pair, args: Arguments, named: Keywords
) -> object:
    if len(args) != 2 or named or type(args[0][0]) is not str:
        return NotImplemented
    name, new_value = args
    _, operation = run_out_of_sight(
        site, control, (owner, new_value), object.__setattr__, owner[0], name[0], new_value[0]
    )
    attribute_access.attribute_written(operation, new_value, owner, name[0])
    attribute_access.named_attribute(site, control, owner, name)
    return None, Tag((CONST, site, control))


@models_method(object, "__getattribute__")
def _own_getattr(
    site: int, control: Control, owner: Pair, args: Arguments, named: Keywords
) -> object:
    if len(args) != 1 or named or type(args[0][0]) is not str:
        return NotImplemented
    name = args[0]
    value, operation = run_out_of_sight(
        site, control, (owner,), object.__getattribute__, owner[0], name[0]
    )
    tag = attribute_access.read_attribute(operation, owner, name[0], value)
    if tag is not None and tag.kind == BOUND:
        return value, tag
    return value, Tag((SEL, site, control, tag, name[1]))


def _with_receiver(model: Model) -> Model:
    """The model of a method that is called with its receiver: `object.__setattr__(thing, …)`."""

    def called(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
        return model(site, control, args[0], args[1:], named) if args else NotImplemented

    return called


models(object.__setattr__)(_with_receiver(_own_setattr))
models(object.__getattribute__)(_with_receiver(_own_getattr))


def _of_kind(function: Callable[..., Any]) -> None:
    @models(function)
    def _model(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
        if named:
            return NotImplemented
        value, operation = run_out_of_sight(
            site, control, args, function, *(value for value, _ in args)
        )
        return value, outcome_tag(operation, value, tuple(tag for _, tag in args))


for _function in (isinstance, issubclass, id, callable):
    _of_kind(_function)


@models(hasattr)
def _hasattr(site: int, control: Control, _: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 2 or named or type(args[1][0]) is not str:
        return NotImplemented
    value, operation = run_out_of_sight(site, control, args, hasattr, args[0][0], args[1][0])
    read = attribute_access.missing_attribute(site, control, args[0], args[1][0])  # or deleted
    return value, outcome_tag(operation, value, (args[1][1], read))
