"""How texts differ, word by word: always the texts themselves, however long they are."""

import time

import pytest

from streams.serving.inspector.text_diff import MOST, blame, diff

TEXTS = [
    ("", ""), ("", "She lives in Porto."), ("She lives in Porto.", ""),
    ("She lives in Porto.", "She lives in Lisbon now."), ("札幌に住む。", "東京に住む。"),
    ("a " * MOST, "a " * (2 * MOST)), ("a " * (2 * MOST), "a " * MOST),
    ("on " + "a b " * MOST + "off", "on " + "a c " * MOST + "off"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), TEXTS)
def test_the_pieces_are_both_texts(before: str, after: str) -> None:
    pieces = diff(before, after)
    assert "".join(one.text for one in pieces if one.op != "gone") == after
    assert "".join(one.text for one in pieces if one.op != "new") == before
    origins = blame([(before, "e1"), (after, "e2")])
    assert "".join(one.text for one in origins) == after


def test_what_stays_at_both_ends_of_a_long_text_is_the_same() -> None:
    first, *_, last = diff("on " + "a b " * MOST + "off", "on " + "a c " * MOST + "off")
    assert (first.op, last.op) == ("same", "same")


def test_long_texts_of_few_words_cost_little() -> None:
    began = time.process_time()
    diff("a x " * 100_000, "a y " * 100_000)
    diff("a x " * (MOST // 4), "a y " * (MOST // 4))
    assert time.process_time() - began < 20, "their squares take hours"
