"""Estimates the tokens of a text."""

import math
import re
from collections.abc import Callable

Count = Callable[[str], int]
"""Text -> tokens. It must not count more for a text than for its lines together."""
ASCII, DIGITS, EAST, OTHER = 4.0, 2.0, 1.25, 2.0
"""Characters per token: ASCII without digits; digits (dates and citations); Chinese, Japanese and
Korean; all others. Ratio to o200k: 0.94 for packs in English, 0.97 for talk in English, Chinese and
Japanese, 1.3 to 1.5 for Russian, Hindi and Arabic."""
_EAST = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def estimated(text: str) -> int:
    """Estimates the tokens of a text by its characters (docs/context.md, "The budget")."""
    ascii = text.encode("ascii", "ignore")
    digits = len(ascii) - len(ascii.translate(None, b"0123456789"))
    tokens = (len(ascii) - digits) / ASCII + digits / DIGITS
    if non_ascii := len(text) - len(ascii):
        east = non_ascii - len(_EAST.sub("", text)) + len(ascii)
        tokens += east / EAST + (non_ascii - east) / OTHER
    return math.ceil(tokens)
