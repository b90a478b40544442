"""Quotes a user's words as the reason of a change: one line, short, safe to print."""

import re

MAX_REASON = 200
"""Longest reason, in characters."""
_HEAD, _TAIL = 'said: "', '"'
_BROKEN = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+"
)
"""White space, control characters, and marks that change the direction of writing."""
_IMAGE = re.compile(r"\[image:[^\]]*\]|data:image/\S+", re.IGNORECASE)
"""An image, or the description of one, in a text: not the user's words."""
_SENTENCE = re.compile(r"(?:[.!?…]+(?=\s)|[。！？]+)")


def shortened(text: str, limit: int = MAX_REASON) -> str:
    """A text in one line of at most `limit` characters: cut after a sentence that ends in its
    second half, otherwise between two words, with an ellipsis."""
    line = _BROKEN.sub(" ", _IMAGE.sub(" ", text)).strip()
    if len(line) <= limit:
        return line
    ends = [match.end() for match in _SENTENCE.finditer(line, 0, limit)]
    if ends and ends[-1] >= limit // 2:
        return line[: ends[-1]]
    head = line[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space >= limit // 2 else head).rstrip() + "…"


def quoted(text: str) -> str:
    """`said: "I moved to Kyoto last week."`, at most MAX_REASON characters."""
    return f"{_HEAD}{shortened(text, MAX_REASON - len(_HEAD) - len(_TAIL))}{_TAIL}"
