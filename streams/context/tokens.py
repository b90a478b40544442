"""How many tokens a text has at most, whatever the model."""

import math
from collections.abc import Callable

Count = Callable[[str], int]
"""Text -> tokens. Of a text it must not be more than of its lines together."""
ASCII_LETTERS = 3.0
"""Characters of plain letters that are a token; of English 4 to 5 are, of ids 2 to 3."""
OTHER = 1.5
"""Tokens of any other character: of Chinese and Japanese one has 0.7 to 1.5."""


def estimated(text: str) -> int:
    """More than the tokenizers of the common models count for prose of any language."""
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return math.ceil(plain / ASCII_LETTERS + (len(text) - plain) * OTHER)
