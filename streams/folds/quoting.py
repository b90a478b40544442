"""A person's words as the reason of a change: one line, short, safe to print."""

import re

MOST = 200
"""Characters of a reason."""
_HEAD, _TAIL = 'said: "', '"'
_BROKEN = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+"
)
"""White space, and what a terminal or a page would obey: control characters, marks that turn the
direction of writing."""
_IMAGE = re.compile(r"\[image:[^\]]*\]|data:image/\S+", re.IGNORECASE)
"""How an image's description, or an image, stands in a text: nobody's own words."""
_SENTENCE = re.compile(r"(?:[.!?…]+(?=\s)|[。！？]+)")


def shortened(text: str, most: int = MOST) -> str:
    """A text in one line of at most `most` characters, cut behind a sentence where one ends in
    its second half, else between two words, with an ellipsis."""
    line = _BROKEN.sub(" ", _IMAGE.sub(" ", text)).strip()
    if len(line) <= most:
        return line
    ends = [match.end() for match in _SENTENCE.finditer(line, 0, most)]
    if ends and ends[-1] >= most // 2:
        return line[: ends[-1]]
    head = line[: most - 1]
    space = head.rfind(" ")
    return (head[:space] if space >= most // 2 else head).rstrip() + "…"


def quoted(text: str) -> str:
    """`said: "I moved to Kyoto last week."`, at most MOST characters."""
    return f"{_HEAD}{shortened(text, MOST - len(_HEAD) - len(_TAIL))}{_TAIL}"
