"""Removes invisible characters and quotes untrusted text, by properties of Unicode.

A model reads characters that people do not see, and marks that look like a pack's own. So invisible
characters, and marks that could end a quotation or look like a citation, are removed from text in a
pack.
"""

import re
import unicodedata

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
"""Categories of invisible characters: controls, bidirectional marks, tags."""
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Default_Ignorable_Code_Point of DerivedCoreProperties.txt, which `unicodedata` lacks: variation
selectors and fillers are also invisible, in spite of their categories."""
_JOINERS = "\u200c\u200d"
_VIRAMA = 9
_CITATION = re.compile(r"(\W)(?=\s*\w\s*\W\s*\w{6})")
_QUOTE_NAMES = ("QUOTATION MARK", "DOUBLE PRIME", "DOUBLE APOSTROPHE")


def sanitize(text: str) -> str:
    """Returns a text in one line, without invisible characters and without citations."""
    if not (text.isprintable() and text == text.strip() and "  " not in text):
        text = " ".join(text.split())
    if not text.isprintable() or (not text.isascii() and _IGNORABLE.search(text)):
        visible = (char for at, char in enumerate(text) if _is_visible(text, at))
        text = " ".join("".join(visible).split())
    return _CITATION.sub(_uncited, text) if "[" in text or not text.isascii() else text


def _is_visible(text: str, at: int) -> bool:
    char = text[at]
    if char in _JOINERS:
        return _joins(text, at)
    return unicodedata.category(char) not in HIDDEN and _IGNORABLE.match(char) is None


def _joins(text: str, at: int) -> bool:
    """Whether a joiner changes how its neighbours are written: after a virama, between letters of a
    joining script, in an emoji. Elsewhere joiners could carry hidden data."""
    before = text[at - 1 : at]
    if before and unicodedata.combining(before) == _VIRAMA:
        return True
    before = text[:at].rstrip("\ufe0f")[-1:] if text[at] == "\u200d" else before
    after = text[at + 1 : at + 2]
    if not before or not after:
        return False
    if unicodedata.bidirectional(after) == "AL":
        return unicodedata.bidirectional(before) in ("AL", "NSM") and before not in _JOINERS
    symbols = {unicodedata.category(before), unicodedata.category(after)}
    return text[at] == "\u200d" and symbols <= {"So", "Sk"}


def _uncited(opening: re.Match[str]) -> str:
    """Replaces the bracket of a citation by "("."""
    return "(" if unicodedata.category(opening[1]) == "Ps" else opening[1]


class _Quotes(dict[int, str]):
    """Code point -> its replacement inside a quotation: a single mark for any quotation mark."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category, name = unicodedata.category(char), unicodedata.name(char, "")
        replacement = char
        if char == '"':
            replacement = "'"
        elif category in ("Pi", "Pf") or any(part in name for part in _QUOTE_NAMES):
            opens = category in ("Pi", "Ps") or "TURNED" in name or "REVERSED" in name
            replacement = "‘" if opens else "’"
        self[code] = replacement
        return replacement


_QUOTES = _Quotes()


def quoted(text: str) -> str:
    """Quotes a text as data: between “ and ”, with other quotation marks replaced."""
    marked = '"' in text or not text.isascii()
    return f"“{text.translate(_QUOTES) if marked else text}”"
