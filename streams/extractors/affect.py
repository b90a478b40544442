"""A sentence's feeling as valence, arousal and dominance: `estimate`. Offline, pure, fast.

The text's script decides: kana is Japanese, Chinese characters without kana are Chinese, all else
is tried as English. What is covered, how good it is, where the numbers come from: docs/affect.md.
"""

import math
import re
from typing import NamedTuple

from streams.extractors import affect_english as english
from streams.extractors import affect_lexicon as lexicon
from streams.extractors.affect_english import FACE, Axes

KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
LATIN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*")
LETTERS_A_CHARACTER = 4  # so many Latin letters weigh as much as one character
DOUBT_OF_A_LIST = 0.4  # of valence from a list; no ratings to measure it by (docs/affect.md)
SURE_WORD = 0.5  # the confidence from which an English word among others counts


class Estimate(NamedTuple):
    """Each axis in -1..+1 ((x - 3) / 2 of EmoBank's 1..5), 0 neutral; confidence in 0..1.

    Confidence is 2p - 1, with p the chance that people would put the valence on the same side
    of neutral, which grows with the distance from neutral (docs/affect.md says how it is measured).
    """

    valence: float
    arousal: float
    dominance: float
    confidence: float


def estimate(text: str) -> Estimate | None:
    """What a sentence feels like; None where it gives nothing to go by."""
    language = _language(text)
    return _english(text) if language is None else _listed(text, language)


def certainty(value: float, doubt: float) -> float:
    """2p - 1, p the chance that the true value has the sign of this one; normal errors."""
    return math.erf(abs(value) / (doubt * math.sqrt(2)))


def _language(text: str) -> lexicon.Language | None:
    """The language with a list that the script shows; None: English, or one not covered."""
    if text.isascii():
        return None
    kana, han = len(KANA.findall(text)), len(HAN.findall(text))
    latin = sum(map(len, LATIN.findall(text)))
    if latin > LETTERS_A_CHARACTER * (kana + han) or kana + han == 0:
        return None
    return lexicon.JAPANESE if kana else lexicon.CHINESE


def _english(text: str) -> Estimate | None:
    by = english.model()
    axes = english.axes(text, by)
    return None if axes is None else _bounded(axes, by.doubt[0])


def _listed(text: str, language: lexicon.Language) -> Estimate | None:
    axes = lexicon.felt(text, language)
    mixed = [_english(word) for word in (*LATIN.findall(text), *FACE.findall(text))]
    axes += [guess[:3] for guess in mixed if guess is not None and guess.confidence >= SURE_WORD]
    return _bounded(lexicon.mean(axes), DOUBT_OF_A_LIST) if axes else None


def _bounded(axes: Axes, doubt: float) -> Estimate:
    v, a, d = (min(1.0, max(-1.0, value)) for value in axes)
    return Estimate(v, a, d, certainty(v, doubt))
