"""Affect in English: what a sentence's estimate says, and when there is none."""

import math

import pytest

from streams.extractors.affect import certainty, estimate
from streams.extractors.affect_english import features, stem


@pytest.mark.parametrize(
    ("brighter", "darker"),
    [
        ("I love this, it is wonderful!", "I hate this, it is awful."),
        ("We won the prize and celebrated all night.", "Bomb kills twenty in market attack"),
        ("This is good.", "This is not good."),
        ("She was a happy child.", "She was never a happy child."),
        ("My daughter was born today.", "My mother died yesterday."),
    ],
)
def test_valence_orders_what_people_order(brighter: str, darker: str) -> None:
    good, bad = estimate(brighter), estimate(darker)
    assert good is not None
    assert bad is not None
    assert good.valence > bad.valence + 0.05


def test_arousal_tells_fireworks_from_a_nap() -> None:
    loud, still = estimate("The bomb exploded and we ran!"), estimate("We sat quietly by the lake.")
    assert loud is not None
    assert still is not None
    assert loud.arousal > still.arousal + 0.2


@pytest.mark.parametrize(("good", "bad"), [("😀", "😭"), (":)", ":("), ("ok <3", "ok 💔")])
def test_faces_count(good: str, bad: str) -> None:
    bright, dark = estimate(good), estimate(bad)
    assert bright is not None
    assert dark is not None
    assert bright.valence > 0.1
    assert dark.valence < bright.valence - 0.2


@pytest.mark.parametrize("text", ["", " ", "?!", "123", "asdf qwer", "¿Dónde está la biblioteca?"])
def test_nothing_to_go_by_is_none(text: str) -> None:
    assert estimate(text) is None


def test_confidence_grows_with_the_distance_from_neutral() -> None:
    assert certainty(0.0, 0.1) == 0
    assert certainty(-0.2, 0.1) == certainty(0.2, 0.1) == pytest.approx(math.erf(math.sqrt(2)))
    sure, unsure = estimate("What a wonderful, happy day!"), estimate("It is on page nine.")
    assert sure is not None
    assert unsure is not None
    assert sure.confidence > unsure.confidence


def test_a_negation_reaches_three_words() -> None:
    assert features("not a very good good").words[:5] == ["not", "¬a", "¬very", "¬good", "good"]


def test_related_words_meet() -> None:
    assert len({stem(word) for word in ("hope", "hopes", "hoped", "hoping")}) == 2  # hope, hop
    assert stem("stories") == stem("story")
    assert stem("boss") == "boss"
