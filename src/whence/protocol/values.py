"""Values as messages: bounded trees, each part with the path by which it is marked or unfolded.

Invariant: what is left out is counted. `more` parts are recorded and can be fetched with `value`;
`omitted` parts were never recorded; `unused` parts were not used by the call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from whence.model.value import Kind, Limits, Value, is_cut, label_of, show

MOST_DEPTH, MOST_PARTS = 20, 1000
MOST_TEXT = 200_000
"""No request gets more levels, parts of one value, or characters of one text."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a value is sent: levels, parts of one value, all parts, characters of a text."""

    depth: int = 2
    parts: int = 12
    total: int = 60
    text: int = 400

    def within_reason(self) -> Bounds:
        """The same, limited to what one message may hold."""
        return Bounds(
            max(0, min(self.depth, MOST_DEPTH)),
            max(1, min(self.parts, MOST_PARTS)),
            max(1, min(self.total, MOST_PARTS)),
            max(20, min(self.text, MOST_TEXT)),
        )


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of a value. `label` is what is written before it: a key, a name; empty in a list."""

    label: str
    value: ValueView


@dataclass(frozen=True, slots=True)
class ValueView:
    """A value, or the beginning of it. `path` marks it, and unfolds it.

    `text` is the whole value on one line, cut off where it is long; `type` an object's type or a
    term's functor.
    """

    path: str
    kind: str
    text: str
    type: str = ""
    size: int = 0
    """How many parts it has, recorded or not."""
    parts: tuple[PartView, ...] = ()
    first: int = 0
    """The index of the first of these parts."""
    more: int = 0
    """How many recorded parts are not in this message."""
    omitted: int = 0
    unused: int = 0
    is_cut: bool = False
    """Whether the recording has only its beginning."""
    characters: int = 0
    """The length of an atom whose `text` was cut off; 0 if it was not."""


def value_view(
    value: Value, path: str, bounds: Bounds = Bounds(), names: Value | None = None, first: int = 0
) -> ValueView:
    """A value as a message; `names` is the same value with other steps, which become the labels."""
    left = [bounds.total]
    return _view(value, value if names is None else names, path, bounds, left, first)


def _view(
    value: Value, names: Value, path: str, bounds: Bounds, left: list[int], first: int = 0
) -> ValueView:
    limits = Limits(depth=3, parts=12, characters=bounds.text, text=bounds.text)
    text = show(names, limits)
    whole = len(value.text) if value.kind is Kind.ATOM else 0
    view = ValueView(
        path,
        value.kind.value,
        text,
        "" if value.kind is Kind.ATOM else value.text,
        len(value.parts) + value.omitted + value.unused,
        (),
        first,
        max(0, len(value.parts) - first),
        value.omitted,
        value.unused,
        is_cut(value),
        whole if whole > len(text) else 0,
    )
    if bounds.depth <= 0 or not value.parts:
        return view
    inner = replace(bounds, depth=bounds.depth - 1)
    parts: list[PartView] = []
    pairs = list(zip(value.parts, names.parts, strict=True))
    left[0] -= min(len(pairs) - first, bounds.parts)
    for index, ((step, part), (name, named)) in enumerate(pairs[first:], first):
        if len(parts) >= bounds.parts or (parts and left[0] < 0):
            break
        below = inner if left[0] > 0 else replace(inner, depth=0)
        label = label_of(names, name, index)
        label = label[:-2] if label.endswith(": ") else label.removesuffix("=")
        parts.append(PartView(label, _view(part, named, path + step, below, left)))
    return replace(view, parts=tuple(parts), more=view.more - len(parts))
