"""What a reader sees of a text that others wrote, decided by properties of Unicode.

A model reads characters that people do not see, and marks that look like those of a pack. So text
in a pack has none of the former, and none of the latter that could end its quotation or stand for a
source.
"""

import re
import unicodedata

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
"""Categories of characters that nobody sees: controls, bidirectional marks, tags."""
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Default_Ignorable_Code_Point of DerivedCoreProperties.txt, which `unicodedata` lacks: variation
selectors and fillers are of categories that are seen."""
_JOINERS = "\u200c\u200d"
_VIRAMA = 9
_CITATION = re.compile(r"(\W)(?=\s*\w\s*\W\s*\w{6})")
_QUOTE_NAMES = ("QUOTATION MARK", "DOUBLE PRIME", "DOUBLE APOSTROPHE")


def seen(text: str) -> str:
    """A text in one line, without what a reader does not see and without citations."""
    if not (text.isprintable() and text == text.strip() and "  " not in text):
        text = " ".join(text.split())
    if not text.isprintable() or (not text.isascii() and _IGNORABLE.search(text)):
        kept = (one for at, one in enumerate(text) if _is_seen(text, at))
        text = " ".join("".join(kept).split())
    return _CITATION.sub(_uncited, text) if "[" in text or not text.isascii() else text


def _is_seen(text: str, at: int) -> bool:
    one = text[at]
    if one in _JOINERS:
        return _joins(text, at)
    return unicodedata.category(one) not in HIDDEN and _IGNORABLE.match(one) is None


def _joins(text: str, at: int) -> bool:
    """Whether a joiner changes how its neighbours are written: behind a virama, between letters of
    a script that joins them, in an emoji. Elsewhere joiners could carry anything unseen."""
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
    """Another bracket than a citation has."""
    return "(" if unicodedata.category(opening[1]) == "Ps" else opening[1]


class _Quotes(dict[int, str]):
    """Code point -> what stands for it inside a quotation: a single mark for any quotation mark."""

    def __missing__(self, code: int) -> str:
        one = chr(code)
        category, name = unicodedata.category(one), unicodedata.name(one, "")
        shown = one
        if one == '"':
            shown = "'"
        elif category in ("Pi", "Pf") or any(part in name for part in _QUOTE_NAMES):
            opens = category in ("Pi", "Ps") or "TURNED" in name or "REVERSED" in name
            shown = "‘" if opens else "’"
        self[code] = shown
        return shown


_QUOTES = _Quotes()


def quoted(text: str) -> str:
    """A text as data: between “ and ”, without other such marks."""
    marked = '"' in text or not text.isascii()
    return f"“{text.translate(_QUOTES) if marked else text}”"
