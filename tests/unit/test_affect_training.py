"""The training of English affect: ridge, classes, folds, correlation, and the weights' file."""

import gzip
from collections.abc import Sequence
from itertools import product

import pytest

from benchmarks.affect_ridge import Ridge, Row
from benchmarks.affect_training import lexicon, packed, predict, train
from benchmarks.affect_validation import (
    Predict,
    Rated,
    cross_validate,
    doubt,
    folds,
)
from streams.extractors import affect_english as english

ALPHAS = (1.0, 1.0, 1.0)
SPOKEN = [
    Rated(f"{who} {what} the {thing}", (side, 0.1, 0.0))
    for who, (what, side), thing in product(
        ("we", "you", "they"), (("loved", 0.5), ("hated", -0.5)), ("soup", "film", "walk")
    )
]


def test_ridge_solves_what_can_be_solved_by_hand() -> None:
    """One column of scale 2, in the second row times 0.5: w = 4·Σxy / (alpha + 4·Σx²)."""
    ridge = Ridge([Row(["x"], [], 1.0), Row(["x"], [], 0.5)], lambda name: 2.0)
    solved = ridge.solve([3.0, 1.0], 1.0)
    assert solved["x"] == pytest.approx(4 * 3.5 / (1 + 4 * 1.25))


def test_rows_have_scaled_and_plain_columns() -> None:
    ridge = Ridge([Row(["x"], ["y"], 0.5), Row([], ["y"], 0.5)], lambda name: 1.0)
    x, y = ridge.predict([4.0, 1.0])
    assert (x, y) == (3.0, 1.0)


def test_a_class_stands_in_for_a_word_never_seen() -> None:
    model = train(SPOKEN, ALPHAS)
    assert "ador" not in {word for one in SPOKEN for word in english.features(one.text).words}
    assert set(lexicon()["ador"]) & set(lexicon()[english.stem("loved")])
    adored, detested = predict(
        [Rated("we adored the soup", (0, 0, 0)), Rated("we detested the soup", (0, 0, 0))], model
    )
    assert adored[0] > 0.05
    assert detested[0] < -0.05


def test_folds_hold_each_sentence_once_and_are_the_same_again() -> None:
    parts = list(folds(4, SPOKEN))
    assert sorted(at for _, test in parts for at in test) == list(range(len(SPOKEN)))
    assert all(not set(training) & set(test) for training, test in parts)
    assert parts == list(folds(4, SPOKEN))


def test_cross_validation_never_shows_what_it_tests() -> None:
    def fit(shown: Sequence[Rated]) -> Predict:
        texts = {one.text for one in shown}

        def held_out(held: Sequence[Rated]) -> list[english.Axes]:
            assert not texts & {one.text for one in held}
            return [one.axes for one in held]

        return held_out

    true = [one.axes for one in SPOKEN]
    assert cross_validate(SPOKEN, 3, fit) == true


def test_doubt_is_greater_where_sides_are_wrong_more_often() -> None:
    true = [(side, 0.1, 0.1) for side in (0.1, -0.1) for _ in range(50)]
    right = [(side * 2, 0.1, 0.1) for side, _, _ in true]
    half = [(side * (2 if at % 3 else -2), 0.1, 0.1) for at, (side, _, _) in enumerate(true)]
    assert doubt(right, true)[0] < doubt(half, true)[0]


def test_the_file_is_the_same_each_time_and_holds_no_sentence() -> None:
    model = train(SPOKEN, ALPHAS)
    text = gzip.decompress(packed(model)).decode("utf-8")
    assert packed(model) == packed(train(SPOKEN, ALPHAS))
    names = [line.split("\t")[0] for line in text.splitlines()]
    assert names == sorted(names)
    assert all(len(name.split(" ")) <= 2 for name in names)
