"""Affect is total on any text, bounded and deterministic."""

from hypothesis import given
from hypothesis import strategies as st

from streams.extractors.affect import estimate

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
