"""Affect: sentences by hand, with negation and hard neutral ones."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.extractors.affect import Estimate, certainty, estimate
from streams.extractors.affect_english import features, stem
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


WORDS = st.sampled_from([
    "happy", "not", "n't", "never", "bomb!", "HELLO", "’s", "不", "开心", "很", "難過", "楽し",
    "くない", "ません", "嬉しい", "😀", ":)", "<3", "<", "¬good", "theme:joy", "<bias>", "\t", "\n",
    "...", "9",
])  # fmt: skip
TEXTS = st.text() | st.lists(WORDS).map("".join) | st.lists(WORDS).map(" ".join)


@given(TEXTS)
def test_any_text_has_an_estimate_within_the_axes_or_none(text: str) -> None:
    found = estimate(text)
    if found is not None:
        assert all(-1 <= value <= 1 for value in found[:3])
        assert 0 <= found.confidence <= 1


@given(TEXTS)
def test_the_same_text_has_the_same_estimate(text: str) -> None:
    assert estimate(text) == estimate(text)


@given(st.text(alphabet=st.sampled_from("0123456789 \n\t.,!?\"'-–…()%&")))
def test_a_text_of_digits_spaces_and_marks_has_none(text: str) -> None:
    assert estimate(text) is None
