"""English affect against people's ratings: EmoBank, by cross-validation (docs/affect.md)."""

import subprocess
import sys
from functools import partial

import pytest

from benchmarks.affect import calibration
from benchmarks.affect_training import ALPHAS, predictor, read
from benchmarks.affect_validation import Rated, correlations, cross_validate
from streams.extractors.affect_english import Axes
from tests.acceptance.emobank import EMOBANK, tfidf
from tests.shared_data import ROOT, shared

pytestmark = pytest.mark.nightly

FOLDS = 3


@pytest.fixture(scope="module")
def rated() -> list[Rated]:
    return read(shared(*EMOBANK))


@pytest.fixture(scope="module")
def held_out(rated: list[Rated]) -> list[Axes]:
    """An estimate of each sentence by a model that was not shown it."""
    return cross_validate(rated, FOLDS, partial(predictor, ALPHAS))


def test_it_goes_with_ratings_of_sentences_it_was_not_shown(
    rated: list[Rated], held_out: list[Axes]
) -> None:
    v, a, d = correlations(held_out, [one.axes for one in rated])
    assert v > 0.64
    assert a > 0.50
    assert d > 0.31


@pytest.mark.soak
def test_it_goes_past_a_tfidf_ridge(rated: list[Rated], held_out: list[Axes]) -> None:
    reached = correlations(held_out, [one.axes for one in rated])
    for ours, yardstick in zip(reached, tfidf(rated, FOLDS), strict=True):
        assert ours > yardstick + 0.02


def test_confidence_is_how_often_the_side_of_neutral_is_right(
    rated: list[Rated], held_out: list[Axes]
) -> None:
    true = [one.axes for one in rated]
    fifths = calibration(held_out, true)
    for claimed, shown in fifths:
        assert shown == pytest.approx(claimed, abs=0.08)
    assert fifths[-1].shown > fifths[0].shown + 0.4


def test_the_committed_weights_are_what_the_script_makes() -> None:
    shared(*EMOBANK)
    command = [sys.executable, str(ROOT / "scripts" / "affect"), "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
