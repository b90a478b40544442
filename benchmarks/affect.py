"""Affect on EmoBank: Pearson's r by cross-validation against a TF-IDF ridge, and what it costs.

    python -m benchmarks.affect --folds 10

Both see the same folds, shuffled by a fixed seed. Ours chooses its alphas inside the training
folds; the yardstick gets those that are best for it on the sentences tested. Time is CPU of one
core, over all sentences, against a loop that splits each text and looks its words up in a dict.
"""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pytest

from benchmarks.affect_training import predictor, read
from benchmarks.affect_validation import (
    Rated,
    correlations,
    cross_validate,
    doubt,
)
from benchmarks.common import arguments, in_process, note, show
from streams.extractors import affect_english as english
from streams.extractors.affect import certainty, estimate
from streams.extractors.affect_english import Axes
from tests.acceptance.emobank import EMOBANK, tfidf
from tests.shared_data import shared

FIFTHS = 5
REPEAT = 5


class Calibration(NamedTuple):
    """What a fifth of the sentences claims, and what comes true of it."""

    claimed: float
    shown: float


def sentences() -> list[Rated]:
    try:
        return read(shared(*EMOBANK))
    except pytest.skip.Exception as missing:
        sys.exit(f"{missing} (benchmarks/README.md says what is needed)")


def validated(folds: int) -> tuple[Axes, list[Calibration]]:
    """r on each axis, and how far confidence can be believed."""
    rated = sentences()
    true = [one.axes for one in rated]
    held_out = cross_validate(rated, folds, partial(predictor, None))
    return correlations(held_out, true), calibration(held_out, true)


def calibration(held_out: Sequence[Axes], true: Sequence[Axes]) -> list[Calibration]:
    """By fifths of confidence, over the sentences that people rated to one side of neutral."""
    measured = doubt(held_out, true)[0]
    told = sorted(
        (certainty(mine[0], measured), (mine[0] > 0) == (theirs[0] > 0))
        for mine, theirs in zip(held_out, true, strict=True)
        if theirs[0]
    )
    parts = (
        told[at * len(told) // FIFTHS : (at + 1) * len(told) // FIFTHS] for at in range(FIFTHS)
    )
    return [
        Calibration(
            sum(confidence for confidence, _ in part) / len(part),
            2 * sum(right for _, right in part) / len(part) - 1,
        )
        for part in parts
    ]


def yardstick(folds: int) -> Axes:
    return tfidf(sentences(), folds)


def microseconds(work: Callable[[str], object], texts: Sequence[str]) -> float:
    """CPU a sentence: the least of some passes, each over all of them."""
    passes = []
    for _ in range(REPEAT):
        began = time.process_time()
        for text in texts:
            work(text)
        passes.append(time.process_time() - began)
    return min(passes) / len(texts) * 1e6


def costs() -> tuple[float, float, float]:
    """Reading the weights in ms; an estimate and the bare loop in µs a sentence."""
    texts = [one.text for one in sentences()]
    began = time.process_time()
    known = english.model().weights
    loading = (time.process_time() - began) * 1e3

    def bare(text: str) -> int:
        return sum(word in known for word in text.lower().split())

    return loading, microseconds(estimate, texts), microseconds(bare, texts)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--folds", type=int, default=10)
    options = parser.parse_args()
    note("cross-validation")
    ours, believed = in_process(validated, options.folds).answer
    note("yardstick")
    theirs = in_process(yardstick, options.folds).answer
    loading, each, bare = in_process(costs).answer
    show(
        f"Affect on EmoBank, {options.folds} folds: Pearson's r",
        ("axis", "TF-IDF ridge", "Turnfold"),
        [
            (axis, f"{theirs[at]:.3f}", f"{ours[at]:.3f}")
            for at, axis in enumerate(("valence", "arousal", "dominance"))
        ],
    )
    show(
        "Confidence, by fifths of the sentences",
        ("claimed", "side of neutral right, 2p - 1"),
        [(f"{one.claimed:.2f}", f"{one.shown:.2f}") for one in believed],
    )
    show(
        "Time",
        ("estimate, µs a sentence", "bare loop, µs", "ratio", "weights read once, ms"),
        [(f"{each:.0f}", f"{bare:.1f}", f"{each / bare:.0f}", f"{loading:.0f}")],
    )


if __name__ == "__main__":
    main()
