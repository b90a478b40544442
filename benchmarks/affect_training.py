"""Trains the English affect model from EmoBank.

Beside words, pairs and looks the ridge has classes: the themes and levels under which the word list
has a word. They stand in for words too rare to be learned. After training each word carries the
sum of its own weight and its classes', so that the list is not needed at run time.
"""

import csv
import gzip
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from benchmarks.affect_ridge import Ridge, Row
from benchmarks.affect_validation import (
    Predict,
    Rated,
    correlations,
    cross_validate,
    doubt,
    folds,
)
from streams.extractors import affect_english as english
from streams.extractors.affect_english import NEGATED, UNIT, Axes, Features, Model, axes_of

LISTS = ("affect_en.txt", "affect_vader.txt")
CLASS = "theme:"  # no token holds a colon and letters
ALPHAS = (80.0, 160.0, 240.0)  # of valence, arousal and dominance, by `choose` on all sentences
TRIED = (80.0, 160.0, 320.0)
PAIR_SCALE, CLASS_SCALE, LOOK_SCALE = 0.8, 2.8, 0.5
FEWEST = 2  # sentences a pair has to be in
DOUBT_FOLDS = 3

Lexicon = dict[str, tuple[str, ...]]


def read(path: Path) -> list[Rated]:
    """EmoBank's file, `id,split,V,A,D,text`, ratings on 1..5."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return [
            Rated(row["text"], axes_of((float(row[axis]) - 3) / 2 for axis in "VAD"))
            for row in csv.DictReader(file)
        ]


@cache
def lexicon() -> Lexicon:
    """Stem -> its classes: what it is listed under, and the levels of that on the axes."""
    lists = ((Path(english.__file__).parent / name).read_text("utf-8") for name in LISTS)
    found: dict[str, dict[str, None]] = {}
    for line in "".join(lists).splitlines():
        head, colon, words = line.partition(" : ")
        if not colon or line.startswith("#"):
            continue
        theme, *levels = head.split()
        names = [theme, *(axis + level for axis, level in zip("vad", levels, strict=False))]
        for word in words.split():
            found.setdefault(english.stem(word), {}).update((CLASS + name, None) for name in names)
    return {word: tuple(classes) for word, classes in found.items()}


# --- the model --------------------------------------------------------------------------------


def train(rated: Sequence[Rated], alphas: Axes) -> Model:
    """The model of these sentences, with no doubt measured yet; `alphas` one an axis."""
    words = lexicon()
    found = [english.features(one.text) for one in rated]
    seen = Counter(word for one in found for word in one.words)
    rows = [_row(one, words, seen) for one in found]
    counts = Counter(name for row in rows for name in {*row.scaled, *row.plain})

    def scale(name: str) -> float:
        if name.startswith("<"):
            return LOOK_SCALE
        if name.lstrip(NEGATED).startswith(CLASS):
            return CLASS_SCALE
        return (PAIR_SCALE if " " in name else 1.0) * (math.log(len(rows) / counts[name]) + 1)

    ridge = Ridge(rows, scale)
    bias = mean(rated)
    solved = [
        ridge.solve([one.axes[axis] - bias[axis] for one in rated], alphas[axis])
        for axis in range(3)
    ]
    return Model(_with_classes(solved, words), bias, (0.0, 0.0, 0.0))


def mean(rated: Sequence[Rated]) -> Axes:
    """The mean rating on each axis."""
    return axes_of(sum(one.axes[axis] for one in rated) / len(rated) for axis in range(3))


def _row(found: Features, words: Lexicon, seen: Counter[str]) -> Row:
    """A sentence with the classes of its words; pairs seen once teach nothing."""
    names: list[str] = []
    for word in found.words:
        if " " in word:
            if seen[word] >= FEWEST:
                names.append(word)
            continue
        bare = word.lstrip(NEGATED)
        names.append(bare)
        mark = NEGATED if bare != word else ""
        names += [mark + theme for theme in words.get(bare, ())]
    return Row(names, found.looks, 1 / math.sqrt(max(1, found.tokens)))


def _with_classes(solved: Sequence[dict[str, float]], words: Lexicon) -> dict[str, Axes]:
    """The weights of words and looks; those of the classes are added to their words."""

    def total(names: Sequence[str]) -> Axes:
        return axes_of(sum(one.get(name, 0.0) for name in names) for one in solved)

    plain = (name for name in solved[0] if not name.lstrip(NEGATED).startswith(CLASS))
    weights = {name: total((name, *words.get(name, ()))) for name in plain}
    for word, themes in words.items():
        weights.setdefault(word, total(themes))
        weights[NEGATED + word] = total((word, *(NEGATED + theme for theme in themes)))
    return weights


def predict(rated: Sequence[Rated], by: Model) -> list[Axes]:
    """The model's values; a sentence whose words it does not know has its bias and looks."""
    return [english.value(english.features(one.text), by) for one in rated]


def choose(rated: Sequence[Rated]) -> Axes:
    """The best alpha for each axis, by a quarter of these sentences held out."""
    training, test = next(folds(4, rated))
    learned, held = [rated[at] for at in training], [rated[at] for at in test]
    true = [one.axes for one in held]
    tried = {
        alpha: correlations(predict(held, train(learned, (alpha,) * 3)), true) for alpha in TRIED
    }
    return axes_of(max(TRIED, key=lambda alpha: tried[alpha][axis]) for axis in range(3))


def predictor(alphas: Axes | None, rated: Sequence[Rated]) -> Predict:
    """A model of these sentences as a function; with no alphas they are chosen by them alone."""
    model = train(rated, alphas or choose(rated))
    return lambda held: predict(held, model)


def fit(rated: Sequence[Rated]) -> Model:
    """The model to ship; its doubt is measured on sentences it was not shown."""
    predicted = cross_validate(rated, DOUBT_FOLDS, partial(predictor, ALPHAS))
    measured = doubt(predicted, [one.axes for one in rated])
    return train(rated, ALPHAS)._replace(doubt=measured)


# --- the file ---------------------------------------------------------------------------------


def packed(model: Model) -> bytes:
    """The weights as gzip of `feature v a d` lines in 1/10000; all-zero ones are left out."""
    named = {english.BIAS: model.bias, english.DOUBT: model.doubt, **model.weights}
    lines = []
    for name, axes in sorted(named.items()):
        numbers = [round(value * UNIT) for value in axes]
        if any(numbers):
            lines.append("\t".join([name, *map(str, numbers)]) + "\n")
    return gzip.compress("".join(lines).encode("utf-8"), compresslevel=9, mtime=0)
