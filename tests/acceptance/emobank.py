"""The yardstick that affect is set against on EmoBank: ridge on TF-IDF of words and pairs."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from benchmarks.affect_ridge import Ridge, Row
from benchmarks.affect_training import mean
from benchmarks.affect_validation import Predict, Rated, correlations, cross_validate
from streams.extractors.affect_english import Axes, axes_of, tokens

EMOBANK = ("data", "emobank", "train.csv.gz")
ALPHAS = (2.0, 4.0, 8.0)


def _terms(text: str) -> list[str]:
    words = tokens(text)
    return [*words, *map(" ".join, pairwise(words))]


def _fit(alpha: float, rated: Sequence[Rated]) -> Predict:
    seen = Counter(term for one in rated for term in set(_terms(one.text)))
    idf = {
        term: math.log((1 + len(rated)) / (1 + count)) + 1
        for term, count in seen.items()
        if count > 1
    }

    def row(text: str) -> Row:
        terms = [term for term in _terms(text) if term in idf]
        length = math.sqrt(sum((n * idf[term]) ** 2 for term, n in Counter(terms).items()))
        return Row(terms, (), 1 / (length or 1.0))

    bias = mean(rated)
    ridge = Ridge([row(one.text) for one in rated], idf.__getitem__)
    solved = [
        ridge.solve([one.axes[axis] - bias[axis] for one in rated], alpha) for axis in range(3)
    ]

    def predict(held: Sequence[Rated]) -> list[Axes]:
        rows = (row(one.text) for one in held)
        return [
            axes_of(
                bias[axis] + one.scale * sum(solved[axis][term] for term in one.scaled)
                for axis in range(3)
            )
            for one in rows
        ]

    return predict


def tfidf(rated: Sequence[Rated], folds: int) -> Axes:
    """Its r on each axis, with the alpha that is best for it on the very sentences tested."""
    true = [one.axes for one in rated]
    tried = [
        correlations(cross_validate(rated, folds, partial(_fit, alpha)), true) for alpha in ALPHAS
    ]
    return axes_of(max(column) for column in zip(*tried, strict=True))
