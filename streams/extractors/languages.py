"""The languages of the rules: detection, and the texts of findings in each language."""

import re
from collections.abc import Iterator
from functools import cache

from streams.extractors import chinese, english, japanese
from streams.extractors.engine import Language
from streams.extractors.european import bare, code_of, folded
from streams.extractors.rule import Finding
from streams.extractors.table import load

CODES = ("en", "zh", "ja", "de", "fr", "es")
FOLDS = {"en": folded, "zh": chinese.folded, "ja": folded, "de": folded, "fr": bare, "es": bare}
"""How the text of a language is folded before it is matched; its length stays."""
TOPICS = {  # one name for what people of all languages speak of
    name: topic
    for topic, names in {
        "drink": "飲み物 ドリンク 饮料 饮品 飲料 beverage getränk boisson bebida",
        "food": "食べ物 料理 食物 菜 dish meal essen gericht plat comida",
        "colour": "色 颜色 顏色 color farbe couleur",
        "movie": "映画 电影 電影 film película pelicula",
        "music": "音楽 音乐 音樂 musik musique música musica",
        "book": "本 书 書 buch livre libro",
    }.items()
    for name in names.split()
}
_KANA = re.compile("[ぁ-んァ-ヶ]")
_HAN = re.compile("[一-鿿]")
_WORD = re.compile(r"[^\W_]+")
_SMALL = frozenset(
    ["a", "an", "the", "my", "our", "some", "of", "to", "and", "de", "la", "le", "les", "el", "los"]
)


@cache
def language(code: str) -> Language:
    """A language, its table read and compiled at the first text of it."""
    return Language(code, load(code), FOLDS[code])


def language_of(text: str) -> Language:
    """By script: kana is Japanese, other Han characters are Chinese; all else by its words."""
    if not text.isascii():
        if _KANA.search(text):
            return language("ja")
        if _HAN.search(text):
            return language("zh")
    return language(code_of(text))


def words(value: str) -> Iterator[str]:
    """The words of a value that say something."""
    return (word for word in _WORD.findall(value.lower()) if word not in _SMALL)


def tell(by: Language, finding: Finding, value: str) -> str:
    """A rule's `says` with its parts, as a sentence about the user."""
    name, says = finding.name, finding.rule.says
    if name:
        value = by.called.format(value=value, name=name)
    condition = finding.condition if finding.condition not in value.lower() else ""
    parts = {
        "value": value,
        "old": finding.old or "",
        "topic": finding.topic,
        "whose": finding.whose,
        "condition": condition,
    }
    if by.code == "en":
        return english.tell(says, parts)
    if by.code == "ja":
        return japanese.tell(says, parts)
    if by.code == "zh":
        return chinese.tell(says, parts)
    sentence = says.format_map(parts)
    if condition:
        sentence = f"{sentence.removesuffix('.')} ({condition})."
    return sentence[:1].upper() + sentence[1:]


def kind_of_pet(value: str) -> str:
    """What an animal is, without its number and what is said of it: "a young cat" -> "cat"."""
    return value.split()[-1] if value.isascii() and value.split() else value
