"""Trains the English affect model: ridge regression in plain Python, so that anyone can repeat it.

The ridge is solved in its dual form, (X C² Xᵀ + alpha) a = y, by conjugate gradients, and the
weights are C² Xᵀ a. C scales the columns: rare words count more, classes of the lexicon stand in
for words too rare to be learned. After training each word carries the sum of its own weight and
its classes', so that the lexicon is not needed at run time.
"""

import csv
import gzip
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import mul
from pathlib import Path
from typing import NamedTuple

from streams.extractors import affect_english as english
from streams.extractors.affect_english import NEGATED, UNIT, Axes, Features, Model

LEXICON = Path(__file__).with_name("affect_en.txt")
CLASS = "theme:"  # no token holds a colon and letters
ALPHAS = (80.0, 160.0, 320.0)
PAIR_SCALE, CLASS_SCALE, LOOK_SCALE = 0.6, 2.8, 0.5
FEWEST = 2  # sentences a pair has to be in
TOLERANCE = 1e-3  # of the residual, where the gradients end
ERROR_FOLDS = 3
SEED = 6

Vector = list[float]
Lexicon = dict[str, tuple[str, ...]]
Row = tuple[tuple[str, ...], tuple[str, ...], float]  # scaled names, plain names, scale


class Rated(NamedTuple):
    """A sentence and what people felt, -1..+1 on each axis."""

    text: str
    axes: Axes


def read(path: Path) -> list[Rated]:
    """EmoBank's file, `id,split,V,A,D,text`, ratings on 1..5."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return [
            Rated(row["text"], _axes((float(row[axis]) - 3) / 2 for axis in "VAD"))
            for row in csv.DictReader(file)
        ]


def _axes(values: Iterator[float]) -> Axes:
    v, a, d = values
    return v, a, d


def lexicon(path: Path = LEXICON) -> Lexicon:
    """Stem -> its classes: the themes it is listed under."""
    found: dict[str, dict[str, None]] = {}
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("#") or ":" not in line:
            continue
        head, _, words = line.partition(":")
        theme = CLASS + head.split()[0]
        for word in words.split():
            found.setdefault(english.stem(word), {})[theme] = None
    return {word: tuple(themes) for word, themes in found.items()}


# --- ridge ------------------------------------------------------------------------------------


class Ridge:
    """Rows of named features, each 1 times its column's scale; some also times the row's."""

    def __init__(self, rows: Sequence[Row], column_scale: Callable[[str], float]) -> None:
        self.index: dict[str, int] = {}
        self.scaled = [self._indices(row[0]) for row in rows]
        self.plain = [self._indices(row[1]) for row in rows]
        self.scale = [row[2] for row in rows]
        self.squares = [column_scale(name) ** 2 for name in self.index]
        self.in_scaled = self._transposed(self.scaled)
        self.in_plain = self._transposed(self.plain)

    def _indices(self, names: Sequence[str]) -> list[int]:
        index = self.index
        return [index.setdefault(name, len(index)) for name in names]

    def _transposed(self, rows: list[list[int]]) -> list[list[int]]:
        columns: list[list[int]] = [[] for _ in self.index]
        for number, row in enumerate(rows):
            for column in row:
                columns[column].append(number)
        return columns

    def weights(self, dual: Vector) -> Vector:
        """C² Xᵀ a: a weight for each column."""
        plain, scaled = dual.__getitem__, list(map(mul, dual, self.scale)).__getitem__
        return [
            square * (sum(map(scaled, in_scaled)) + sum(map(plain, in_plain)))
            for square, in_scaled, in_plain in zip(
                self.squares, self.in_scaled, self.in_plain, strict=True
            )
        ]

    def predict(self, weights: Vector) -> Vector:
        """X w, for the rows trained on."""
        get = weights.__getitem__
        return [
            scale * sum(map(get, scaled)) + sum(map(get, plain))
            for scale, scaled, plain in zip(self.scale, self.scaled, self.plain, strict=True)
        ]

    def solve(self, target: Vector, alpha: float) -> dict[str, float]:
        """The weight of each name."""
        dual = [0.0] * len(target)
        left, step = target[:], target[:]
        size = sum(map(mul, left, left))
        enough = size * TOLERANCE**2
        while size > enough:
            pushed = self.predict(self.weights(step))
            pushed = [p + alpha * s for p, s in zip(pushed, step, strict=True)]
            length = size / sum(map(mul, step, pushed))
            dual = [x + length * s for x, s in zip(dual, step, strict=True)]
            left = [x - length * p for x, p in zip(left, pushed, strict=True)]
            before, size = size, sum(map(mul, left, left))
            step = [x + size / before * s for x, s in zip(left, step, strict=True)]
        return dict(zip(self.index, self.weights(dual), strict=True))


# --- the model --------------------------------------------------------------------------------


def train(rated: Sequence[Rated], words: Lexicon, alphas: Axes) -> Model:
    """The model of these sentences, with no error known yet; `alphas` one an axis."""
    found = [english.features(one.text) for one in rated]
    seen = Counter(word for one in found for word in one.words)
    rows = [_row(one, words, seen) for one in found]
    counts = Counter(name for row in rows for name in {*row[0], *row[1]})

    def scale(name: str) -> float:
        if name.startswith("<"):
            return LOOK_SCALE
        if name.lstrip(NEGATED).startswith(CLASS):
            return CLASS_SCALE
        return (PAIR_SCALE if " " in name else 1.0) * (math.log(len(rows) / counts[name]) + 1)

    ridge = Ridge(rows, scale)
    bias = _axes(sum(column) / len(rated) for column in zip(*(r.axes for r in rated), strict=True))
    solved = [
        ridge.solve([one.axes[axis] - bias[axis] for one in rated], alphas[axis])
        for axis in range(3)
    ]
    return Model(_with_classes(solved, words), bias, (0.0, 0.0, 0.0))


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
    return tuple(names), tuple(found.looks), 1 / math.sqrt(max(1, found.tokens))


def _with_classes(solved: Sequence[dict[str, float]], words: Lexicon) -> dict[str, Axes]:
    """The weights of words and looks; those of the classes are added to their words."""

    def total(names: Sequence[str]) -> Axes:
        return _axes(sum(one.get(name, 0.0) for name in names) for one in solved)

    plain = (name for name in solved[0] if not name.lstrip(NEGATED).startswith(CLASS))
    weights = {name: total((name, *words.get(name, ()))) for name in plain}
    for word, themes in words.items():
        weights.setdefault(word, total(themes))
        weights[NEGATED + word] = total((word, *(NEGATED + theme for theme in themes)))
    return weights


def predict(rated: Sequence[Rated], by: Model) -> list[Axes]:
    """The model's values; a sentence whose words it does not know has its bias and looks."""
    return [english.value(english.features(one.text), by) for one in rated]


# --- validation -------------------------------------------------------------------------------


def folds(count: int, rated: Sequence[Rated]) -> Iterator[tuple[list[int], list[int]]]:
    """(training, test) positions, shuffled by a fixed seed."""
    order = list(range(len(rated)))
    random.Random(SEED).shuffle(order)
    for fold in range(count):
        test = order[fold::count]
        held = set(test)
        yield [at for at in order if at not in held], test


def choose(rated: Sequence[Rated], words: Lexicon) -> Axes:
    """The best alpha for each axis, by a quarter of these sentences held out."""
    training, test = next(folds(4, rated))
    learned, held = [rated[at] for at in training], [rated[at] for at in test]
    tried = {}
    for alpha in ALPHAS:
        model = train(learned, words, (alpha, alpha, alpha))
        tried[alpha] = correlations(predict(held, model), [one.axes for one in held])
    return _axes(max(ALPHAS, key=lambda alpha: tried[alpha][axis]) for axis in range(3))


def cross_validate(
    rated: Sequence[Rated],
    count: int,
    fit: Callable[[Sequence[Rated]], Callable[[Sequence[Rated]], list[Axes]]],
) -> list[Axes]:
    """What `fit` on the other folds predicts for each sentence, in their order."""
    predicted: list[Axes] = [(0.0, 0.0, 0.0)] * len(rated)
    for training, test in folds(count, rated):
        by = fit([rated[at] for at in training])
        for at, axes in zip(test, by([rated[at] for at in test]), strict=True):
            predicted[at] = axes
    return predicted


def correlations(predicted: Sequence[Axes], true: Sequence[Axes]) -> Axes:
    """Pearson's r on each axis."""
    return _axes(
        pearson([p[axis] for p in predicted], [t[axis] for t in true]) for axis in range(3)
    )


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Pearson's r; 0 where one side does not vary."""
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    dx, dy = [x - mx for x in xs], [y - my for y in ys]
    size = math.sqrt(sum(map(mul, dx, dx)) * sum(map(mul, dy, dy)))
    return sum(map(mul, dx, dy)) / size if size else 0.0


def fit(rated: Sequence[Rated]) -> Model:
    """The model to ship: its alphas chosen, its error measured on sentences it was not shown."""
    words = lexicon()
    alphas = choose(rated, words)

    def on_these(some: Sequence[Rated]) -> Callable[[Sequence[Rated]], list[Axes]]:
        model = train(some, words, alphas)
        return lambda held: predict(held, model)

    predicted = cross_validate(rated, ERROR_FOLDS, on_these)
    error = _axes(
        math.sqrt(
            sum((p[x] - r.axes[x]) ** 2 for p, r in zip(predicted, rated, strict=True)) / len(rated)
        )
        for x in range(3)
    )
    return train(rated, words, alphas)._replace(error=error)


# --- the file ---------------------------------------------------------------------------------


def packed(model: Model) -> bytes:
    """The weights as gzip of `feature v a d` lines in 1/10000; all-zero ones are left out."""
    named = {english.BIAS: model.bias, english.ERROR: model.error, **model.weights}
    lines = []
    for name, axes in sorted(named.items()):
        numbers = [round(value * UNIT) for value in axes]
        if any(numbers):
            lines.append("\t".join([name, *map(str, numbers)]) + "\n")
    return gzip.compress("".join(lines).encode("utf-8"), compresslevel=9, mtime=0)
