"""The six languages: which of them a text is in, and whether it may hold a date at all."""

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
"""Words of a text by which its language is told."""
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
"""The commonest words of each language."""
_SPEAKS: dict[str, list[str]] = {}
for _name, _words in _VOTES.items():
    for _word in _words:
        _SPEAKS.setdefault(_word, []).append(_name)


def _cues() -> frozenset[str]:
    """Of every date in a European language one word; of a phrase that is its last one."""
    found = {str(number) for number in range(1900, 2100)}
    for language in EUROPEAN:
        for name in DATED:
            for phrase in language.tables.get(name, ()):
                last = WORD.findall(phrase)[-1]
                found |= {last, f"{last}s"}
    return frozenset(found - COMMON)


COMMON = {"an", "hui"}
"""Words that stand in many texts without a date: what they are part of is looked for."""
_CUES = _cues()
_DAYS = frozenset(
    f"{number}{end}" for number in range(1, 32) for end in ("", "st", "nd", "rd", "th", "er")
)
_EASTERN = re.compile(either(_EASTERN_WORDS))
_OWN = {one: {word for name in DATED for word in one.tables.get(name, ())} for one in EUROPEAN}


def folded(text: str) -> str:
    """A text in lower case with plain apostrophes, of the same length."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(one.lower() if len(one.lower()) == 1 else one for one in text)
    return lower if lower.isascii() else lower.translate(_APOSTROPHES)


def words_of(said: str) -> list[str]:
    """The words of a folded text, without marks; Chinese and Japanese as they are written."""
    return said.translate(_MARKS).split()


def may_hold_a_date(said: str, words: list[str]) -> bool:
    """Whether a folded text has a word that every date has one of."""
    if not _CUES.isdisjoint(words) or "un an" in said or "l'an" in said or "'hui" in said:
        return True
    if not _DAYS.isdisjoint(words) and _DATED.search(said):
        return True
    return not said.isascii() and _EASTERN.search(said) is not None


def of(said: str, words: list[str]) -> Language:
    """The language of a folded text: by its script, and else by its commonest words."""
    if not said.isascii():
        if _KANA.search(said):
            return JAPANESE
        if _HAN.search(said):
            return CHINESE
    votes = dict.fromkeys(_VOTES, 0)
    for names in filter(None, map(_SPEAKS.get, words[:MOST_VOTES])):
        for name in names:
            votes[name] += 1
    most = max(votes.values())
    spoken = [LANGUAGES[name] for name, count in votes.items() if count == most]
    return spoken[0] if len(spoken) == 1 else _with_a_date(spoken, words)


def _with_a_date(spoken: list[Language], words: list[str]) -> Language:
    """Of some languages the one that knows most words of dates in the text."""
    return max(spoken, key=lambda one: len(_OWN[one].intersection(words)))
