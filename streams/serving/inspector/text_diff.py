"""Added and removed words of a text, and the source turn of each word."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

import msgspec

_WORD = re.compile(r"\s+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|[^\w\s]")
"""A word, a space, a mark; of scripts that are written without spaces each character."""
MOST = 1_000
"""Maximum parts of a text that are compared one by one, in cubic time: in a longer text all between
the common prefix and suffix counts as changed."""

Block = tuple[int, int, int]
"""Start of equal parts in the old and in the new text, and their number."""


class DiffPiece(msgspec.Struct, frozen=True):
    """A part of a text: in both, only in the new one, or only in the old one."""

    op: Literal["same", "new", "gone"]
    text: str


class TextOrigin(NamedTuple):
    """A part of a text, and the event that it comes from, or None if unknown."""

    text: str
    event_id: str | None


def words(text: str) -> list[str]:
    """A text in parts; together they are the text."""
    return _WORD.findall(text)


def diff(before: str, after: str) -> list[DiffPiece]:
    """The word-by-word change from one text to the other."""
    old, new = words(before), words(after)
    pieces: list[DiffPiece] = []
    i = k = 0
    for old_at, new_at, length in _same(old, new):
        if old_at > i:
            pieces.append(DiffPiece("gone", "".join(old[i:old_at])))
        if new_at > k:
            pieces.append(DiffPiece("new", "".join(new[k:new_at])))
        i, k = old_at + length, new_at + length
        if length:
            pieces.append(DiffPiece("same", "".join(new[new_at:k])))
    return pieces


def blame(texts: Iterable[tuple[str, str | None]]) -> list[TextOrigin]:
    """The sources of the words of the last text; each text with its event."""
    current: list[str] = []
    sources: list[str | None] = []
    for text, event_id in texts:
        new = words(text)
        now = [event_id] * len(new)
        for old_at, new_at, length in _same(current, new):
            now[new_at : new_at + length] = sources[old_at : old_at + length]
        current, sources = new, now
    origins: list[TextOrigin] = []
    for word, event in zip(current, sources, strict=True):
        if origins and origins[-1].event_id == event:
            origins[-1] = TextOrigin(origins[-1].text + word, event)
        else:
            origins.append(TextOrigin(word, event))
    return origins


def _same(old: list[str], new: list[str]) -> list[Block]:
    """Common parts in order; the last block is empty, at the end of both."""
    if max(len(old), len(new)) <= MOST:
        matcher = SequenceMatcher(lambda word: word.isspace(), old, new)
        return [(block.a, block.b, block.size) for block in matcher.get_matching_blocks()]
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    last = next((at for at in range(most - first) if old[-1 - at] != new[-1 - at]), most - first)
    ends = len(old), len(new)
    return [(0, 0, first), (ends[0] - last, ends[1] - last, last), (*ends, 0)]
