"""Rules on utterances written by hand: in each language hardly anything wrong, most found."""

import pytest

from tests.acceptance.utterances import Extraction, agree, measure, score, total, utterances

LANGUAGES = ("en", "zh", "ja")
PRECISION = 0.95
RECALL = 0.6


@pytest.mark.parametrize("language", LANGUAGES)
def test_precision_and_recall(language: str) -> None:
    scores = total(score for (name, _), score in measure().items() if name == language)
    assert scores.expected >= 30
    assert scores.precision >= PRECISION, scores
    assert scores.recall >= RECALL, scores


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_set_has_hard_negatives(language: str) -> None:
    own = [one for one in utterances() if one.language == language]
    silent = [one for one in own if not one.expect]
    assert len(silent) >= len(own) / 4


def test_the_score_counts_what_is_wrong_missed_and_right() -> None:
    expect = [{"kind": "preference", "value": "green tea", "polarity": "like"}]
    right = Extraction(frozenset({"preference"}), "Green  Tea", "like", None)
    wrong = right._replace(polarity="dislike")
    assert agree(right, expect[0])
    assert not agree(wrong, expect[0])
    assert not agree(right._replace(kinds=frozenset({"background"})), expect[0])
    assert not agree(right._replace(value="tea and " + "so much more " * 9), expect[0])
    counts = score([right, wrong], expect)["preference"]
    assert (counts.precision, counts.recall) == (0.5, 1.0)
    assert score([], expect)["preference"].recall == 0.0


def test_a_correction_also_names_what_it_replaces() -> None:
    expect = {"kind": "correction", "value": "Bergen", "replaces": "Oslo"}
    kinds = frozenset({"background", "correction"})
    assert agree(Extraction(kinds, "Bergen", None, "Oslo"), expect)
    assert not agree(Extraction(kinds, "Bergen", None, "Rome"), expect)
    assert not agree(Extraction(frozenset({"background"}), "Bergen", None, None), expect)
