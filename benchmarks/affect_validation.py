"""Cross-validation: estimates against the ratings of sentences they were not made from."""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import erfc, log, sqrt
from statistics import correlation
from typing import NamedTuple

from streams.extractors.affect_english import Axes, axes_of

SEED = 6
DOUBTS = [step / 100 for step in range(2, 60)]
SMALLEST = 1e-9


class Rated(NamedTuple):
    """A sentence and what people felt, -1..+1 on each axis."""

    text: str
    axes: Axes


Predict = Callable[[Sequence[Rated]], list[Axes]]


def folds(count: int, rated: Sequence[Rated]) -> Iterator[tuple[list[int], list[int]]]:
    """(training, test) positions, shuffled by a fixed seed."""
    order = list(range(len(rated)))
    random.Random(SEED).shuffle(order)
    for fold in range(count):
        test = order[fold::count]
        held = set(test)
        yield [at for at in order if at not in held], test


def cross_validate(
    rated: Sequence[Rated],
    count: int,
    fit: Callable[[Sequence[Rated]], Predict],
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
    return axes_of(
        correlation([p[axis] for p in predicted], [t[axis] for t in true]) for axis in range(3)
    )


def doubt(predicted: Sequence[Axes], true: Sequence[Axes]) -> Axes:
    """For each axis the s with which `certainty(value, s)` says best how often the side is right.

    The greatest likelihood, by steps of a hundredth; those rated as just neutral have no side.
    """
    return axes_of(
        max(DOUBTS, key=partial(_likelihood, [p[axis] for p in predicted], [t[axis] for t in true]))
        for axis in range(3)
    )


def _likelihood(predicted: Sequence[float], true: Sequence[float], doubt: float) -> float:
    """The logarithm of how likely the true sides of neutral are, given the predictions."""
    towards = (p if t > 0 else -p for p, t in zip(predicted, true, strict=True) if t)
    return sum(log(max(erfc(-value / (doubt * sqrt(2))) / 2, SMALLEST)) for value in towards)
