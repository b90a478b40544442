"""English affect: a linear model over words, pairs of words and the look of the sentence.

`scripts/affect` trains it (streams/extractors/affect_training.py) and writes `affect_en.tsv.gz`.
A sentence's value on an axis is

    bias + sum(looks) + sum(distinct words and pairs) / sqrt(tokens)

in -1..+1, that is (x - 3) / 2 of EmoBank's 1..5.
"""

import gzip
import math
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

Axes = tuple[float, float, float]

UNIT = 10_000
BIAS, DOUBT = "<bias>", "<doubt>"
NEGATED = "¬"
NEGATION_REACH = 3  # words after a negation that it turns round
KNOWN_SHARE = 0.5  # of the words, below which a text is hardly English

TOKEN = re.compile(
    r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+|[:;=]'?-?[()dpo/](?![\w/])|<3(?!\w)|\.\.+|[^\w\s]"
)
FACE = re.compile(r"[:;=<]['\w()/-]|[\u2600-\u27bf\U0001f000-\U0001faff]")
NEGATIONS = {
    "not", "no", "never", "without", "nor", "neither", "hardly", "barely", "scarcely", "nobody",
    "nothing", "cannot",
}  # fmt: skip
ENDINGS = (
    ("ies", "y"), ("sses", "ss"), ("ied", "y"), ("ing", ""), ("edly", ""), ("ed", ""),
    ("ly", ""), ("es", ""), ("s", ""), ("er", ""),
)  # fmt: skip


def axes_of(values: Iterable[float]) -> Axes:
    """Three numbers as the axes they are."""
    v, a, d = values
    return v, a, d


class Model(NamedTuple):
    """What each feature adds to (valence, arousal, dominance), the bias, and the doubt.

    `doubt`: how far from neutral an estimate has to be for its side to be right in 84 of 100
    sentences (one standard deviation of a normal error), measured on sentences not trained on.
    """

    weights: dict[str, Axes]
    bias: Axes
    doubt: Axes


class Features(NamedTuple):
    """A sentence as the model sees it; `words` are distinct."""

    words: list[str]
    looks: list[str]
    tokens: int


# --- words ------------------------------------------------------------------------------------


def tokens(text: str) -> list[str]:
    """Words, numbers and marks, in lower case."""
    return TOKEN.findall(text.lower().replace("’", "'"))


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word without its regular ending; related words need only meet, not be spelled right."""
    for ending, instead in ENDINGS:
        if not word.endswith(ending) or len(word) - len(ending) < 3:
            continue
        if ending == "s" and word.endswith(("ss", "us", "is")):
            continue
        word = word[: -len(ending)] + instead
        if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lse":
            word = word[:-1]
        break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _marked(words: list[str]) -> Iterator[str]:
    """The stems; those that a negation reaches are marked."""
    negation = -NEGATION_REACH - 1
    for at, word in enumerate(words):
        stemmed = stem(word)
        yield NEGATED + stemmed if at - negation <= NEGATION_REACH else stemmed
        if word in NEGATIONS or word.endswith("n't"):
            negation = at


def features(text: str) -> Features:
    """Stems (`good`, `¬good`), pairs of neighbours (`so good`), and the look of the sentence."""
    words_of_text = tokens(text)
    stems = [stem(word) for word in words_of_text]
    pairs = map(" ".join, pairwise(stems))
    words = list(dict.fromkeys([*_marked(words_of_text), *pairs]))
    return Features(words, looks(text, len(words_of_text)), len(words_of_text))


# --- the look of a sentence -------------------------------------------------------------------
# Thermometers: three exclamation marks have `!1 !2 !3`, so that each can add its own share.


COUNTED = (
    ("!", 3), ("?", 3), ("..", 3), (",", 5), ("(", 2), (";", 1), (":", 2), ("-", 3), ("'", 3),
)  # fmt: skip
DIGITS = re.compile(r"\d+")


def _steps(name: str, value: float, most: int) -> Iterator[str]:
    return (f"<{name}{step}>" for step in range(1, min(int(value), most) + 1))


def looks(text: str, count: int) -> list[str]:
    """Length, marks and capitals, for a text of so many tokens."""
    marks: list[str] = []
    for mark, most in COUNTED:
        if mark in text:
            marks += _steps(mark, text.count(mark), most)
    parts = text.split()
    marks += _steps('"', text.count('"') + text.count("“"), 3)
    marks += _steps("digits", len(DIGITS.findall(text)), 4)
    marks += _steps("length", 4 * math.log(count + 1), 20)
    marks += _steps("word", 2 * len(text) / max(1, count), 16)
    marks += _steps("shout", sum(len(part) > 1 and part.isupper() for part in parts), 4)
    capitals = sum(part[:1].isupper() for part in parts) / max(1, len(parts))
    marks += _steps("capitals", 8 * capitals, 8)
    marks += _steps("upper", 40 * sum(map(str.isupper, text)) / max(1, len(text)), 10)
    marks += _edges(text.strip())
    if all(part[:1].isupper() or len(part) < 5 for part in parts):
        marks.append("<title>")
    return marks


def _edges(text: str) -> Iterator[str]:
    first, last = text[:1], text[-1:]
    yield (
        "<begins A>"
        if first.isupper()
        else "<begins a>"
        if first.isalpha()
        else f"<begins {first}>"
    )
    if last and not last.isalnum():
        yield f"<ends {last}>"
        if not text[-2:-1].isalnum():
            yield f"<ends {text[-2:]}>"


# --- estimate ---------------------------------------------------------------------------------


@cache
def model() -> Model:
    """The trained weights; read once."""
    packed = files("streams.extractors").joinpath("affect_en.tsv.gz").read_bytes()
    weights: dict[str, Axes] = {}
    for line in gzip.decompress(packed).decode("utf-8").splitlines():
        feature, *numbers = line.split("\t")
        weights[feature] = axes_of(int(number) / UNIT for number in numbers)
    return Model(weights, weights.pop(BIAS), weights.pop(DOUBT))


def known(words: Iterable[str], weights: dict[str, Axes]) -> bool:
    """Whether enough of the words are ones that the model has seen, alone or in its lexicon."""
    stems = {word.lstrip(NEGATED) for word in words if " " not in word}
    telling = [word for word in stems if word[:1].isalpha() or FACE.match(word)]
    matches = sum(word in weights for word in telling)
    return matches > 0 and matches >= KNOWN_SHARE * len(telling)


def axes(text: str, by: Model) -> Axes | None:
    """(valence, arousal, dominance), each about -1..+1; None where too few words are known."""
    sentence = features(text)
    if not known(sentence.words, by.weights):
        return None
    return value(sentence, by)


def value(sentence: Features, by: Model) -> Axes:
    """The sum of the weights of the features."""
    weights = by.weights
    v = a = d = 0.0
    for word in sentence.words:
        added = weights.get(word)
        if added is None and word.startswith(NEGATED):
            added = weights.get(word[1:])
        if added is not None:
            v += added[0]
            a += added[1]
            d += added[2]
    size = math.sqrt(max(1, sentence.tokens))
    v, a, d = v / size + by.bias[0], a / size + by.bias[1], d / size + by.bias[2]
    for look in sentence.looks:
        added = weights.get(look)
        if added is not None:
            v += added[0]
            a += added[1]
            d += added[2]
    return v, a, d
