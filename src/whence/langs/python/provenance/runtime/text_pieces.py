"""The pieces of a composed string, so that a few of its characters can be marked.

The tag of such a string is a TEXT, which holds a `Text`: its pieces from left to right.
`tag_at_offset` goes from an offset to the piece there, and on into that piece as long as its
characters are known. The tag of a piece is that of the value it was made from: the tag of `405` in
`f"{total} cents"` is that of `total`.

Invariant: a piece is where it says it is. If that is unknown, there are no pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from whence.langs.python.provenance.tags import (
    CONST,
    COPIES,
    OP,
    SCALARS,
    SEL,
    TEXT,
    Control,
    MaybeTag,
    Pair,
    Tag,
    with_source,
)

MADE_ANEW = -1
"""Instead of an offset: the characters of the piece are not those of the value."""

Piece = tuple[int, MaybeTag, int]
"""Its length, the tag of its value, and its offset in that value's own text."""


class Text:
    """The pieces of a string, and what else decided which pieces there are."""

    __slots__ = ("needs", "pieces")

    def __init__(self, pieces: Iterable[Piece], needs: tuple[MaybeTag, ...] = ()):
        self.pieces = tuple(pieces)
        self.needs = needs


def piece(pair: Pair) -> Piece:
    """A string as a piece of another."""
    return str.__len__(pair[0]), pair[1], 0


def concatenation_tag(
    site: int, control: Control, parts: Iterable[Pair], needs: tuple[MaybeTag, ...] = ()
) -> MaybeTag:
    """The tag of a string that is made of others."""
    parts = tuple(parts)
    tags = tuple(tag for _, tag in parts)
    return Tag((TEXT, site, control, Text(map(piece, parts), needs), *needs, *tags))


def formatted_tag(
    site: int, control: Control, operand: Pair, text: str, how: tuple[MaybeTag, ...]
) -> MaybeTag:
    """The tag of a formatted scalar."""
    value, tag = operand
    needs = (tag, *how)
    if type(value) is str and value and text.count(value) == 1:
        made = padded_text(site, control, operand, text, text.index(value))
    else:
        made = Text([(len(text), tag, MADE_ANEW)], how)
    return Tag((TEXT, site, control, made, *needs))


def padded_text(site: int, control: Control, original: Pair, text: str, begins: int) -> Text:
    """The pieces of a padded string; the padding needs what the string needs."""
    filled = Tag((OP, site, control, original[1]))
    rest = len(text) - begins - len(original[0])
    return Text([(begins, filled, 0), piece(original), (rest, filled, 0)])


def printed_text(
    site: int, control: Control, arguments: Sequence[Pair], keywords: Mapping[str, Pair]
) -> Text | None:
    """What `print` writes; None if the offsets of its arguments are unknown."""
    between = keywords.get("sep", (" ", None))
    if any(type(value) not in SCALARS for value, _ in arguments) or type(between[0]) is not str:
        return None
    pieces: list[Piece] = []
    for value, tag in arguments:
        if pieces:
            pieces.append((len(between[0]), Tag((CONST, site, control)), 0))
        pieces.append((len(str(value)), tag, 0 if type(value) is str else MADE_ANEW))
    return Text(pieces)


def tag_at_offset(tag: MaybeTag, offset: int) -> MaybeTag:
    """The tag of the character at an offset, through all copies of the string."""
    copies: list[Tag] = []
    while tag is not None and offset >= 0:
        if tag.kind in COPIES:
            copies.append(tag)
            tag = tag.source
            continue
        hit = _piece_at(tag.text, offset) if tag.kind == TEXT else None
        if hit is None:
            break
        begin, (_, inner, inner_offset) = hit
        copies.append(Tag((SEL, tag.site, tag.control, inner, *tag.text.needs)))
        tag = inner
        offset = offset - begin + inner_offset if inner_offset >= 0 else MADE_ANEW
    for copy in reversed(copies):
        tag = with_source(copy, tag)
    return tag


def _piece_at(text: Text, offset: int) -> tuple[int, Piece] | None:
    begin = 0
    for piece in text.pieces:
        if offset < begin + piece[0]:
            return begin, piece
        begin += piece[0]
    return None


# --- methods that keep a text --------------------------------------------------------------------


def _centred(before: str, after: str) -> int:
    rest = len(after) - len(before)
    return rest // 2 + (rest & len(after) & 1)


def _stripped(before: str, after: str) -> int:
    return -before.index(after)  # the stripped prefix cannot contain its first character


_BEGINS: dict[str, Callable[[str, str], int]] = {
    "ljust": lambda before, after: 0,
    "rjust": lambda before, after: len(after) - len(before),
    "center": _centred,
    "strip": _stripped, "lstrip": _stripped, "rstrip": _stripped,
    "upper": lambda before, after: 0, "lower": lambda before, after: 0,
    "title": lambda before, after: 0, "capitalize": lambda before, after: 0,
}  # fmt: skip
"""Methods that keep a text: its offset in the result; negative if a prefix of it is missing."""
_SPELLING = frozenset({"upper", "lower", "title", "capitalize"})


def kept_text_tag(tag: Tag, name: str, before: str, after: str) -> Tag:
    """The tag of a string method's result, with the offset of the original string in it."""
    begins = _BEGINS.get(name)
    if begins is None or (name in _SPELLING and len(before) != len(after)):
        return tag
    _, site, control, owner, *others = tag
    offset = begins(before, after)
    if len(after) > len(before):
        text = padded_text(site, control, (before, owner), after, offset)
    else:
        text = Text([(len(after), owner, -offset)], tuple(others))
    return Tag((TEXT, site, control, text, owner, *others))
