"""What a value is: not "it" or "the second one", and of its rule's kind."""

import re

from streams.extractors.patterns import Late
from streams.extractors.rule import Rule

MAX_VALUE = 120
MARKS = " \t\r\n\"'„“”‘’«»「」『』《》()（）*_`-–—:：,，、.。!！~～…"
PAIRS = (("《", "》"), ("「", "」"), ("『", "』"))
_WORDS = re.compile(r"[\w'’.&-]+")
_CAPITAL = re.compile(r"(?<!\w)[A-Z]")


class Values:
    """The `[takes]` of a table, compiled. Of a kind `k`, `k` is what values are, `k-` what none
    is; with `k^` a proper name is a value, too, but for what that matches, and with `k!` one with a
    capital. `empty`: no value of any kind;
    `endless`: what does not end."""

    def __init__(self, takes: dict[str, str], words: dict[str, str]) -> None:
        self._kinds = {kind: Late(pattern, words) for kind, pattern in takes.items()}

    def ends(self, folded: str) -> bool:
        """Whether a thing of that name may be over; of no name, it may."""
        endless = self._kinds.get("endless")
        return endless is None or not endless.fullmatch(folded)

    def takes(self, rule: Rule, value: str, folded: str, clause: str) -> bool:
        """Whether a rule fits a value of a clause."""
        if not value:
            return bool(rule.ends) or not rule.finds
        if len(value) > MAX_VALUE or self._kinds["empty"].fullmatch(folded):
            return False
        kind = rule.accepts or rule.slot
        wrong, right, name, proper = (self._kinds.get(kind + mark) for mark in ("-", "", "^", "!"))
        if wrong is not None and wrong.fullmatch(folded):
            return False
        if right is None and name is None and proper is None:
            return True
        if right is not None and right.fullmatch(folded):
            return True
        if proper is not None:
            return value[0].isupper() and not value.isupper() and not proper.fullmatch(folded)
        return name is not None and is_named(value, clause) and not name.fullmatch(folded)


def is_named(value: str, clause: str) -> bool:
    """Whether it is a proper name: capitalised, or of at most three words in a clause without
    capitals."""
    words = _WORDS.findall(value)
    if not words:
        return False
    if _CAPITAL.search(clause):
        return words[0][0].isupper() or (len(words) > 1 and words[1][0].isupper())
    return len(words) <= 3 and (words[0][0].isalpha() or not words[0].isascii())


def trimmed(text: str) -> str:
    """Without marks around it, but for a quotation or a title that ends with it."""
    short = text.strip(MARKS)
    for opens, closes in PAIRS:
        for whole in (f"{short}{closes}", f"{opens}{short}", f"{opens}{short}{closes}"):
            odd = short.count(opens) + short.count(closes) > 0 and opens + closes not in whole
            if odd and whole in text and whole.count(opens) == whole.count(closes):
                return whole
    return short
