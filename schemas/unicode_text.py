"""Unicode normalization of texts that users wrote, in linear time."""

import re
import unicodedata
from functools import cache
from typing import Literal


def normalized(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Like `unicodedata.normalize`, which sorts the marks of a letter in quadratic time and does
    not release the interpreter's lock: runs of over 30 marks are divided first (UAX 15, Stream-Safe
    Text Process)."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, _long_run().sub("\\g<0>\u034f", text))


@cache
def _long_run() -> re.Pattern[str]:
    """30 marks of one letter (characters with a combining class), followed by another."""
    marks = "".join(filter(unicodedata.combining, map(chr, range(0x300, 0x20000))))
    return re.compile(f"[{marks}]{{30}}(?=[{marks}])")
