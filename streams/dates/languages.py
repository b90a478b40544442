"""Detects the language of a text and whether it may contain a date."""

import re

from streams.dates.chinese import CHINESE
from streams.dates.english import ENGLISH
from streams.dates.french import FRENCH
from streams.dates.german import GERMAN
from streams.dates.grammar import DATED, WORD, Language
from streams.dates.japanese import JAPANESE
from streams.dates.spanish import SPANISH
from streams.extractors.patterns import either

LANGUAGES: dict[str, Language] = {
    "en": ENGLISH, "zh": CHINESE, "ja": JAPANESE, "de": GERMAN, "fr": FRENCH, "es": SPANISH,
}  # fmt: skip


def _list(text: str) -> list[str]:
    return text.split()


EUROPEAN = (ENGLISH, GERMAN, FRENCH, SPANISH)

_MARKS = {ord(mark): " " for mark in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡¿“”«»…–—"}
_APOSTROPHES = str.maketrans("’‘", "''")
_KANA = re.compile("[ぁ-んァ-ヶ]")
_HAN = re.compile("[一-鿿]")
MOST_VOTES = 60
"""Words of a text that take part in language detection."""
_DATED = re.compile(  # digits that may be a date
    r"\d{1,2}\.\d{1,2}\.|\b(?:the|on the|le|du|au|el|al|am|vom|zum|dem|día) (?:\d{1,2}(?!\d)|1er)"
)
_EASTERN_WORDS = _list("""
前天 昨 今天 今日 今晚 今早 今夜 今朝 本日 明天 明日 明早 明晚 明朝 后天
後天 明後日 天前 天之 天以 天后 天後 日前 日后 日後 日に 日まで 日の 周 週
星期 礼拜 禮拜 月 年 号 號 曜 おととい きのう ゆうべ あした あさって
おととし この春 この夏 この秋 この冬
""")
_VOTES: dict[str, list[str]] = {
    "en": _list("""
        the i m and you is was my to it we of for that have a an in are this me with at be
        do did what not on he she they your our had been
    """),
    "de": _list("""
        ich der die das und ist nicht wir mein meine ein eine zu war habe hat mit am im bin
        den dem auf für sie er es haben sind wurde nach bei in an was seit bis
    """),
    "fr": _list("""
        je j le la les l et est un une de des on nous mon ma en que qu pas il elle c dans ce
        ai a été du au ne n pour avec suis sur me depuis
    """),
    "es": _list("""
        el la y es un una de que mi en los yo me no se con fui por estuve las del tengo hace
        lo para nos su muy he a desde soy hasta
    """),
}  # fmt: skip
"""Most frequent words of each language."""
_SPEAKS: dict[str, list[str]] = {}
for _name, _words in _VOTES.items():
    for _word in _words:
        _SPEAKS.setdefault(_word, []).append(_name)


def _cues() -> frozenset[str]:
    """Words of which every date in a European language has one: a phrase counts by its last
    word."""
    cues = {str(number) for number in range(1900, 2100)}
    for language in EUROPEAN:
        for name in DATED:
            for phrase in language.tables.get(name, ()):
                last = WORD.findall(phrase)[-1]
                cues |= {last, f"{last}s"}
    return frozenset(cues - COMMON)


COMMON = {"an", "hui"}
"""Words frequent in texts without a date; `may_contain_date` looks for their phrases instead."""
_CUES = _cues()
_DAYS = frozenset(
    f"{number}{end}" for number in range(1, 32) for end in ("", "st", "nd", "rd", "th", "er")
)
_EASTERN = re.compile(either(_EASTERN_WORDS))
_DATE_WORDS = {
    language: {word for name in DATED for word in language.tables.get(name, ())}
    for language in EUROPEAN
}


def fold(text: str) -> str:
    """Lowercases a text and normalizes apostrophes; the length stays the same."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return lower if lower.isascii() else lower.translate(_APOSTROPHES)


def words_of(folded: str) -> list[str]:
    """Splits a folded text into words without punctuation; Chinese and Japanese stay unsplit."""
    return folded.translate(_MARKS).split()


def may_contain_date(folded: str, words: list[str]) -> bool:
    """Whether a folded text has a word without which it cannot name a date."""
    if not _CUES.isdisjoint(words) or "un an" in folded or "l'an" in folded or "'hui" in folded:
        return True
    if not _DAYS.isdisjoint(words) and _DATED.search(folded):
        return True
    return not folded.isascii() and _EASTERN.search(folded) is not None


def detect(folded: str, words: list[str]) -> Language:
    """The language of a folded text: by script, otherwise by its most frequent words."""
    if not folded.isascii():
        if _KANA.search(folded):
            return JAPANESE
        if _HAN.search(folded):
            return CHINESE
    votes = dict.fromkeys(_VOTES, 0)
    for names in filter(None, map(_SPEAKS.get, words[:MOST_VOTES])):
        for name in names:
            votes[name] += 1
    most = max(votes.values())
    leading = [LANGUAGES[name] for name, count in votes.items() if count == most]
    if len(leading) == 1:
        return leading[0]
    return max(leading, key=lambda language: len(_DATE_WORDS[language].intersection(words)))
