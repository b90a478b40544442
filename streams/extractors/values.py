"""What a value is: not "it" or "the second one", of its rule's kind, and worth keeping."""

import re
from collections.abc import Callable

from streams.extractors.patterns import loops_atomic
from streams.extractors.rule import LOOSE, Rule

MAX_VALUE = 120
MARKS = " \t\r\n\"'„“”‘’«»「」『』《》()（）*_`-–—:：,，、.。!！~～…"
PAIRS = (("《", "》"), ("「", "」"), ("『", "』"))


def _fits_any(takes: str, value: str, said: str) -> bool:
    return True


def _any_is_worth(family: str, value: str, folded: str) -> bool:
    return True


class Values:
    """How values of one language are judged.

    `empty`: of no value whatever its family; `vague`: of no value that may be any words; `fits`:
    what a rule takes, a value, its clause -> whether it is of that kind; `worth`: a family, a
    value, the same folded -> whether it says something alone; `endless`: of what does not end,
    or of words by which nobody knows what has; `said`: what is found in any words that say
    something.
    """

    def __init__(
        self,
        empty: str,
        vague: str = "(?!)",
        endless: str = "(?!)",
        said: str = ".",
        *,
        fits: Callable[[str, str, str], bool] = _fits_any,
        worth: Callable[[str, str, str], bool] = _any_is_worth,
    ) -> None:
        self._empty = re.compile(loops_atomic(empty))
        self._vague = re.compile(loops_atomic(vague))
        self._endless = re.compile(loops_atomic(endless))
        self._said = re.compile(said)
        self._fits = fits
        self._worth = worth

    def was(self, old: str) -> bool:
        """Whether what a correction takes back is anything: more than marks and particles."""
        return self._said.search(old) is not None

    def ends(self, folded: str) -> bool:
        """Whether a thing of that name may be over; of no name, it may."""
        return not self._endless.fullmatch(folded)

    def takes(self, rule: Rule, value: str, folded: str, clause: str) -> bool:
        """Whether a rule fits a value of a clause."""
        if rule.finds and (not 0 < len(value) <= MAX_VALUE or self._empty.fullmatch(folded)):
            return False
        if rule.family in LOOSE and self._vague.fullmatch(folded):
            return False
        return self._fits(rule.takes or rule.slot, value, clause)

    def worth(self, rule: Rule, value: str, folded: str) -> bool:
        """Whether what a rule says of a value says something by itself."""
        family = rule.kind if rule.kind == "task_done" else rule.family
        if rule.ends and family == "event":
            family = "ended"
        stated = rule.takes == "stated" or rule.kind in ("feeling", "end")
        return stated or self._worth(family, value, folded)


def trimmed(text: str) -> str:
    """Without marks around it, but for a quotation or a title that ends with it."""
    short = text.strip(MARKS)
    for opens, closes in PAIRS:
        for whole in (f"{short}{closes}", f"{opens}{short}", f"{opens}{short}{closes}"):
            odd = short.count(opens) + short.count(closes) > 0 and opens + closes not in whole
            if odd and whole in text and whole.count(opens) == whole.count(closes):
                return whole
    if '"' in short:
        for whole in (f'"{short}"', f'{short}"', f'"{short}'):
            if whole in text and whole.count('"') % 2 == 0:
                return whole
    return short
