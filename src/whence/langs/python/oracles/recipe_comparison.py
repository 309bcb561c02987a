"""Compares recorded values and calls: the inputs alone, or the outcome with its effects.

Two processes never agree on everything: addresses, the order of sets, hidden state. So there are
three results, and only what is known in full on both sides can be `DIFFERENT`.

Invariant: `SAME` and `DIFFERENT` are never guesses. Texts that differ only in what looks like an
address, and dicts that differ only in their order, are `UNKNOWN`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from whence.langs.python.trace import value_recipes as r
from whence.langs.python.trace.call_recipes import CallRecipe, Variable
from whence.model.call import OutcomeKind

_Name = TypeVar("_Name")
_SUPER = "__class__"
OPAQUE = "whose state cannot be seen"
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}|\b\d{9,19}\b|(?<![\w/.])/[^\s'\",:;)\]]+")
"""An address in memory or another number of 64 bits (a hash, a time), or a path."""
_WITHOUT_TEXT = (r.UnknownRecipe, r.SharedRecipe, r.InstanceRecipe, r.MethodRecipe)
"""Members of sets that cannot be compared by their text."""


class Match(Enum):
    """How two things compare."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two things compare, and the difference or what is unknown."""

    match: Match
    why: str = ""


_SAME = Comparison(Match.SAME)


class _RecipeComparer:
    """Compares recipes of two calls, and learns which labels mean the same object."""

    def __init__(self, ours: CallRecipe | None = None, theirs: CallRecipe | None = None) -> None:
        self._ours: dict[int, int] = {}
        self._theirs: dict[int, int] = {}
        self._after = [{} if call is None else _objects_after(call) for call in (ours, theirs)]

    def compare(self, ours: r.Recipe, theirs: r.Recipe) -> Comparison:
        """Two recipes."""
        if isinstance(ours, r.SecretRecipe) and isinstance(theirs, r.SecretRecipe):
            if ours.digest == theirs.digest:
                return Comparison(Match.SAME)
            return Comparison(Match.DIFFERENT, "another secret")
        for recipe in (ours, theirs):
            if isinstance(recipe, r.UnknownRecipe):
                return Comparison(Match.UNKNOWN, recipe.reason)
        if isinstance(ours, r.UnboundRecipe) is not isinstance(theirs, r.UnboundRecipe):
            return Comparison(Match.UNKNOWN, "a name without a value on one side")
        if isinstance(ours, r.SharedRecipe) or isinstance(theirs, r.SharedRecipe):
            return self._shared(ours, theirs)
        if type(ours) is not type(theirs):
            return Comparison(Match.DIFFERENT, "another type")
        sharing = self._labels(ours, theirs)
        if sharing.match is not Match.SAME:
            return sharing
        match ours, theirs:
            case r.LiteralRecipe(one), r.LiteralRecipe(other):
                return _literals(one, other)
            case r.ItemsRecipe(kind, one), r.ItemsRecipe(other_kind, other):
                if kind != other_kind:
                    return Comparison(Match.DIFFERENT, "another type")
                if kind in ("set", "frozenset"):
                    return _sets(one, other)
                return self.compare_all(one, other)
            case r.EntriesRecipe(one), r.EntriesRecipe(other):
                return self._dicts(one, other)
            case r.InstanceRecipe(of, state), r.InstanceRecipe(other_of, other_state):
                return self._objects(of, other_of, state, other_state)
            case (
                r.ExtendedRecipe(of, content, state) | r.ExceptionRecipe(of, content, state),
                r.ExtendedRecipe(other_of, other_content, other_state)
                | r.ExceptionRecipe(other_of, other_content, other_state),
            ):
                contents = self.compare(content, other_content)
                objects = self._objects(of, other_of, state, other_state)
                return first_difference((objects, contents))
            case r.MethodRecipe(name, owner), r.MethodRecipe(other_name, other_owner):
                if name != other_name:
                    return Comparison(Match.DIFFERENT, "another method")
                return self.compare(owner, other_owner)
            case r.SummaryRecipe(of, text), r.SummaryRecipe(other_of, other_text):
                return first_difference((_names(of, other_of), compare_texts(text, other_text)))
            case r.MemberRecipe(of, name), r.MemberRecipe(other_of, other_name):
                same = (of, name) == (other_of, other_name)
                return _SAME if same else Comparison(Match.DIFFERENT, "another member")
            case _:
                return _SAME if ours == theirs else Comparison(Match.DIFFERENT, "another value")

    def compare_all(self, ours: Iterable[r.Recipe], theirs: Iterable[r.Recipe]) -> Comparison:
        """Compare recipes one by one."""
        one, other = list(ours), list(theirs)
        if len(one) != len(other):
            return Comparison(Match.DIFFERENT, "another length")
        return first_difference(map(self.compare, one, other))

    def _shared(self, ours: r.Recipe, theirs: r.Recipe) -> Comparison:
        """Compare where at least one side refers to an object of the inputs.

        Another object, or a new one, is a difference if its content differs. If it looks alike, it
        is unknown whether the identity matters.
        """
        if isinstance(ours, r.SharedRecipe) and isinstance(theirs, r.SharedRecipe):
            partners = self._ours.get(ours.label), self._theirs.get(theirs.label)
            if partners == (theirs.label, ours.label):
                return _SAME
        contents: list[r.Recipe] = []
        for recipe, after in zip((ours, theirs), self._after, strict=True):
            whole = after.get(recipe.label) if isinstance(recipe, r.SharedRecipe) else recipe
            if whole is None or any(
                isinstance(part, r.UnknownRecipe | r.SharedRecipe) for part in r.walk(whole)
            ):
                return Comparison(Match.UNKNOWN, "an object shared with one that was not recorded")
            contents.append(whole)
        texts = canonical(contents[0]), canonical(contents[1])
        if texts[0] != texts[1]:
            alike = _alike(*texts)
            return Comparison(Match.UNKNOWN if alike else Match.DIFFERENT, "another value")
        if isinstance(contents[0], r.MemberRecipe):
            return _SAME
        return Comparison(Match.UNKNOWN, "equal objects, of which one is an input")

    def _labels(self, ours: r.Recipe, theirs: r.Recipe) -> Comparison:
        one, other = getattr(ours, "label", None), getattr(theirs, "label", None)
        if one is not None and other is not None:
            partners = self._ours.get(one, other), self._theirs.get(other, one)
            if partners != (other, one):
                return Comparison(Match.UNKNOWN, "other objects are shared")
            self._ours[one], self._theirs[other] = other, one
        return _SAME

    def _dicts(
        self,
        ours: tuple[tuple[r.Recipe, r.Recipe], ...],
        theirs: tuple[tuple[r.Recipe, r.Recipe], ...],
    ) -> Comparison:
        if len(ours) != len(theirs):
            return Comparison(Match.DIFFERENT, "another length")
        keys = first_difference(
            self.compare(one[0], other[0]) for one, other in zip(ours, theirs, strict=True)
        )
        if keys.match is Match.SAME:
            return self.compare_all((one[1] for one in ours), (other[1] for other in theirs))
        if keys.match is Match.UNKNOWN:
            return keys
        if _sets([key for key, _ in ours], [key for key, _ in theirs]).match is Match.SAME:
            return Comparison(Match.UNKNOWN, "dicts that differ in their order")
        return keys

    def _objects(
        self, of: r.QualifiedName, other_of: r.QualifiedName, state: r.State, other_state: r.State
    ) -> Comparison:
        classes = _names(of, other_of)
        if classes.match is not Match.SAME:
            return classes
        one, other = dict(state), dict(other_state)
        if one.keys() != other.keys():
            return Comparison(Match.DIFFERENT, "other attributes")
        return first_difference(self.compare(value, other[name]) for name, value in one.items())


def _objects_after(call: CallRecipe) -> dict[int, r.Recipe]:
    """The objects of a call's inputs as they were at its end, by their labels."""
    objects: dict[int, r.Recipe] = {}
    for name, recipe in _named_inputs(call).items():
        if name not in call.changed:
            objects |= labelled_parts([recipe])
        elif (label := getattr(recipe, "label", None)) is not None:
            objects[label] = call.changed[name]
    return objects


def labelled_parts(recipes: Iterable[r.Recipe]) -> dict[int, r.Recipe]:
    """All labelled parts of some values, by label."""
    parts = ((getattr(part, "label", None), part) for recipe in recipes for part in r.walk(recipe))
    return {
        label: part
        for label, part in parts
        if label is not None and not isinstance(part, r.SharedRecipe)
    }


def first_difference(comparisons: Iterable[Comparison]) -> Comparison:
    """The first that is different, else the first that is unknown, else `SAME`."""
    worst = _SAME
    for comparison in comparisons:
        if comparison.match is Match.DIFFERENT:
            return comparison
        if comparison.match is Match.UNKNOWN and worst.match is Match.SAME:
            worst = comparison
    return worst


def _names(one: r.QualifiedName, other: r.QualifiedName) -> Comparison:
    if one == other:
        return _SAME
    if one.qualname == other.qualname:
        return Comparison(Match.UNKNOWN, f"{one.qualname} is in another module")
    return Comparison(Match.DIFFERENT, "another class")


def _literals(one: object, other: object) -> Comparison:
    if type(one) is not type(other):
        return Comparison(Match.DIFFERENT, "another type")
    if isinstance(one, str) and isinstance(other, str):
        return compare_texts(one, other)
    # By `repr`: -0.0 is not 0.0, and nan is nan.
    return _SAME if repr(one) == repr(other) else Comparison(Match.DIFFERENT, "another value")


def compare_texts(one: str, other: str) -> Comparison:
    """Compare texts, of which addresses and paths do not count."""
    if one == other:
        return _SAME
    if _alike(one, other):
        return Comparison(Match.UNKNOWN, "texts that differ in what may be an address or a path")
    return Comparison(Match.DIFFERENT, "another text")


def _alike(one: str, other: str) -> bool:
    return _ADDRESS.sub("", one) == _ADDRESS.sub("", other)


def _sets(one: Iterable[r.Recipe], other: Iterable[r.Recipe]) -> Comparison:
    """Compare members in any order."""
    ours, theirs = list(one), list(other)
    for member in (*ours, *theirs):
        for part in r.walk(member):
            if isinstance(part, _WITHOUT_TEXT):
                return Comparison(Match.UNKNOWN, "a set of objects")
    if len(ours) != len(theirs):
        return Comparison(Match.DIFFERENT, "another length")
    if sorted(map(canonical, ours)) == sorted(map(canonical, theirs)):
        return _SAME
    return Comparison(Match.DIFFERENT, "other members")


def canonical(recipe: r.Recipe) -> str:
    """A text that is equal for equal recipes, whatever their labels and the order of sets."""
    match recipe:
        case r.ItemsRecipe(kind, items):
            texts = [canonical(item) for item in items]
            if kind in ("set", "frozenset"):
                texts.sort()
            return f"{kind}({','.join(texts)})"
        case r.EntriesRecipe(entries):
            return f"{{{','.join(f'{canonical(k)}:{canonical(v)}' for k, v in entries)}}}"
        case r.InstanceRecipe(of, state):
            return f"<{of}{_state(state)}>"
        case r.ExtendedRecipe(of, content, state) | r.ExceptionRecipe(of, content, state):
            return f"<{of} {canonical(content)}{_state(state)}>"
        case r.MethodRecipe(name, owner):
            return f"<{name} of {canonical(owner)}>"
        case r.MemberRecipe(of, text) | r.SummaryRecipe(of, text):
            return f"<{of} {text!r}>"
        case _:
            return repr(recipe)


def _state(state: r.State) -> str:
    return "".join(sorted(f" {name}={canonical(value)}" for name, value in state))


def compare_values(one: r.Recipe, other: r.Recipe) -> Comparison:
    """Compare two values outside of a call."""
    return _RecipeComparer().compare(one, other)


def compare_all(ours: Iterable[r.Recipe], theirs: Iterable[r.Recipe]) -> Comparison:
    """Compare values one by one; some may be the same object."""
    return _RecipeComparer().compare_all(ours, theirs)


# --- calls ---------------------------------------------------------------------------------------


def compare_inputs(ours: CallRecipe, theirs: CallRecipe) -> Comparison:
    """Whether both calls received the same."""
    return first_difference(_inputs(_RecipeComparer(), ours, theirs))


def contradiction(ours: CallRecipe, theirs: CallRecipe) -> str:
    """How two recordings of what should be one call differ; empty if no difference is certain."""
    comparer = _RecipeComparer(ours, theirs)
    effects = _outcomes(comparer, ours, theirs), _changed(ours, theirs)
    comparison = first_difference((*_inputs(comparer, ours, theirs), *effects))
    return comparison.why if comparison.match is Match.DIFFERENT else ""


@dataclass(frozen=True, slots=True)
class CallEquation:
    """A call with its effects and those of all calls below it."""

    call: CallRecipe
    variables: Mapping[r.QualifiedName, Variable]
    """The module variables that it or a call below it names."""
    printed: Mapping[int, str]
    """What was printed while it ran."""
    hidden: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    """State that a recording does not show, before and after the call (`unrecorded_state.py`)."""


def compare_equations(one: CallEquation, other: CallEquation) -> Comparison:
    """Whether two calls with the same inputs had the same outcome and effects."""
    ours, theirs = one.call, other.call
    comparer = _RecipeComparer(ours, theirs)
    inputs = first_difference(_inputs(comparer, ours, theirs))
    if inputs.match is not Match.SAME:
        return Comparison(Match.UNKNOWN, f"the inputs are not the same: {inputs.why}")
    return _compare_effects(comparer, one, other)


def compare_effects(one: CallEquation, other: CallEquation) -> Comparison:
    """Whether two calls had the same outcome and effects, if their inputs are the same although
    they are not known in full; `UNKNOWN` if they are seen to differ."""
    comparer = _RecipeComparer(one.call, other.call)
    inputs = first_difference(_inputs(comparer, one.call, other.call))
    if inputs.match is Match.DIFFERENT:
        return Comparison(Match.UNKNOWN, f"the inputs are not the same: {inputs.why}")
    return _compare_effects(comparer, one, other)


def _compare_effects(
    comparer: _RecipeComparer, one: CallEquation, other: CallEquation
) -> Comparison:
    ours, theirs = one.call, other.call
    return first_difference(
        [
            _outcomes(comparer, ours, theirs),
            compare_printed(one.printed, other.printed),
            _changed(ours, theirs),
            _changes(_after(one), _after(other), _before(one), _before(other)),
        ]
    )


def _after(equation: CallEquation) -> dict[r.QualifiedName, r.Recipe]:
    variables = equation.variables.items()
    return {name: variable.after for name, variable in variables if variable.after}


def _before(equation: CallEquation) -> dict[r.QualifiedName, r.Recipe]:
    return {name: variable.before for name, variable in equation.variables.items()}


def compare_printed(one: Mapping[int, str], other: Mapping[int, str]) -> Comparison:
    """Compare what was printed. Standard error holds paths and addresses, which always differ."""
    comparison = compare_texts(one.get(1, ""), other.get(1, ""))
    if comparison.match is Match.SAME and one.get(2, "") != other.get(2, ""):
        return Comparison(Match.UNKNOWN, "something else was written to standard error")
    return comparison


def hidden_changes(one: CallEquation, other: CallEquation) -> list[str]:
    """The names of unrecorded state that one of two calls changed, or left unlike the other one.

    A name with a colon belongs to a class or function. Others are module variables, which may
    differ between versions.
    """
    recorded = {str(name) for name in (*one.variables, *other.variables)}
    changed = {
        name
        for before, after in (one.hidden, other.hidden)
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name) and name not in recorded
    }
    ours, theirs = one.hidden[1], other.hidden[1]
    changed |= {
        name for name in ours.keys() & theirs.keys() if ":" in name and ours[name] != theirs[name]
    }
    return sorted(changed)


def compare_state(one: CallEquation, other: CallEquation) -> Comparison:
    """Whether the module variables that both name were the same when they were first used.

    Values that are opaque on both sides are skipped: each version has its own.
    """
    comparisons = []
    for name in one.variables.keys() & other.variables.keys():
        ours, theirs = one.variables[name].before, other.variables[name].before
        if not (is_opaque(ours) and is_opaque(theirs)):
            compared = _RecipeComparer().compare(ours, theirs)
            if compared.match is not Match.SAME:
                comparisons.append(Comparison(compared.match, f"{name.qualname}: {compared.why}"))
    return first_difference(comparisons)


def is_opaque(recipe: r.Recipe) -> bool:
    """Whether only the type of the value is known."""
    return isinstance(recipe, r.UnknownRecipe) and recipe.reason.endswith(OPAQUE)


def _named_inputs(call: CallRecipe) -> dict[str, r.Recipe]:
    return {**call.captured, **call.arguments}


def _inputs(
    comparer: _RecipeComparer, ours: CallRecipe, theirs: CallRecipe
) -> Iterable[Comparison]:
    for one, other in ((ours.arguments, theirs.arguments), (ours.captured, theirs.captured)):
        # The cell that `super()` uses is no input, and may exist in one version only.
        names = one.keys() - {_SUPER}
        if names != other.keys() - {_SUPER}:
            yield Comparison(Match.DIFFERENT, "other names")
            return
        for name in one:
            if name in names:
                yield comparer.compare(one[name], other[name])
    yield comparer.compare_all(ours.sent, theirs.sent)


def _outcomes(comparer: _RecipeComparer, ours: CallRecipe, theirs: CallRecipe) -> Comparison:
    one, other = ours.outcome, theirs.outcome
    if OutcomeKind.NOT_TERMINATED in (one.kind, other.kind):
        return Comparison(Match.UNKNOWN, "a call did not end")
    yielded = comparer.compare_all(one.yielded, other.yielded)
    if one.kind is not other.kind:
        return Comparison(Match.DIFFERENT, f"{one.kind.name.lower()}, {other.kind.name.lower()}")
    if one.value is None or other.value is None:
        return yielded
    return first_difference((yielded, comparer.compare(one.value, other.value)))


def _changed(ours: CallRecipe, theirs: CallRecipe) -> Comparison:
    return _changes(ours.changed, theirs.changed, _named_inputs(ours), _named_inputs(theirs))


def _changes(
    ours: Mapping[_Name, r.Recipe],
    theirs: Mapping[_Name, r.Recipe],
    before: Mapping[_Name, r.Recipe],
    other_before: Mapping[_Name, r.Recipe],
) -> Comparison:
    """Compare the inputs after the call; one that did not change is as it was before."""
    comparisons = []
    for name in dict.fromkeys((*ours, *theirs)):
        one = ours.get(name, before.get(name))
        other = theirs.get(name, other_before.get(name))
        if one is None or other is None:
            comparisons.append(Comparison(Match.UNKNOWN, f"{name} is not known on one side"))
        else:
            # With a new comparer: labels that were matched on entry have other contents by now.
            comparisons.append(_RecipeComparer().compare(one, other))
    return first_difference(comparisons)
