"""Affect in Chinese and Japanese: sentences by hand, with negation and hard neutral ones."""

import math
from pathlib import Path

import pytest

from streams.extractors.affect import Estimate, estimate
from streams.extractors.affect_lexicon import SIMPLIFIED, words

NEUTRAL = 0.15  # |valence| up to here says nothing of feeling
LANGUAGES = ("zh", "ja")


def sentences(code: str) -> list[tuple[str, str]]:
    """(sign, sentence): `+`, `-` or `0`."""
    lines = Path(__file__).with_name(f"affect_{code}.tsv").read_text("utf-8").splitlines()
    return [(sign, text) for sign, _, text in (line.partition("\t") for line in lines)]


def sign(found: Estimate | None) -> str:
    if found is None or abs(found.valence) <= NEUTRAL:
        return "0"
    return "+" if found.valence > 0 else "-"


def felt(text: str) -> Estimate:
    found = estimate(text)
    assert found is not None, text
    return found


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_sentences_have_the_sign_that_people_hear(code: str) -> None:
    wrong = [(want, text) for want, text in sentences(code) if sign(estimate(text)) != want]
    assert len(wrong) <= 2, wrong


@pytest.mark.parametrize("code", LANGUAGES)
def test_confidence_claims_no_more_than_the_sentences_show(code: str) -> None:
    told = [(want, found) for want, text in sentences(code) if (found := estimate(text))]
    right = sum(sign(found) == want for want, found in told) / len(told)
    assert sum(found.confidence for _, found in told) / len(told) <= 2 * right - 1


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("我很开心", "我不开心"), ("他喜欢猫", "他不喜欢猫"), ("我相信他", "我不相信他"),
        ("楽しい", "楽しくない"), ("満足です", "満足ではありません"), ("好きだ", "好きじゃない"),
    ],
)  # fmt: skip
def test_a_negation_turns_round(text: str, denied: str) -> None:
    assert felt(text).valence > 0 > felt(denied).valence
    assert abs(felt(denied).valence) < felt(text).valence


def test_a_negation_turns_one_word_round() -> None:
    assert felt("我不开心也难过").valence < felt("我不开心").valence


@pytest.mark.parametrize(
    ("less", "plain", "more"),
    [("有点难过", "难过", "非常难过"), ("少し悲しい", "悲しい", "とても悲しい")],
)
def test_degree_words_grade(less: str, plain: str, more: str) -> None:
    assert felt(more).valence < felt(plain).valence < felt(less).valence < 0


@pytest.mark.parametrize("text", ["不过很开心", "不但好吃", "嬉しいかもしれない", "差不多很满意"])
def test_what_only_looks_like_a_negation_denies_nothing(text: str) -> None:
    assert felt(text).valence > NEUTRAL


def test_arousal_and_dominance_come_from_the_words() -> None:
    assert felt("大家都很激动").arousal > 0.4 > -0.2 > felt("湖边很安静").arousal
    assert felt("彼は勇敢だ").dominance > 0.2 > -0.2 > felt("怖い").dominance


def test_traditional_characters_are_read() -> None:
    assert felt("我很開心") == felt("我很开心")
    assert all(chr(old) not in word for old in SIMPLIFIED for word in words("zh"))


def test_english_words_among_others_count() -> None:
    assert felt("今天超级happy").valence > NEUTRAL
    assert felt("今日はhappyな一日だった。").valence > NEUTRAL
    assert estimate("请打开API的config文件") is None


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_lists_are_within_the_axes(code: str) -> None:
    for word, axes in words(code).items():
        assert word == word.strip()
        assert all(math.isfinite(value) and -1 <= value <= 1 for value in axes), word
