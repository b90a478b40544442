"""No record costs more than its bytes do when it is folded or indexed, whatever memory contains."""

import unicodedata
from random import Random
from time import thread_time
from typing import Any

import pytest

from schemas.unicode_text import normalized
from streams.folds.effects import Refused
from streams.search import tokens
from tests.unit.memory_told import Json, Memory, day, plan, prefers, says

MOST = 200
"""Updates of one kind in a plan."""
ENDS: dict[str, dict[str, Any]] = {
    "without words": {"families": ["home"]},
    "of words without spaces": {"families": ["home"], "value": "上海"},
    "of preferences": {"families": ["like"], "value": "tea"},
}


def ends(end: Json, count: int) -> Json:
    """Ends that each change what the one before has ended, as each is earlier."""
    return plan("ends", 20, ends=[{**end, "at": day(19 - n / MOST)} for n in range(count)])


def merges(count: int) -> Json:
    threads = [
        {"op": "merge_into", "thread_key": "ab"[n % 2], "into": "ba"[n % 2]} for n in range(count)
    ]
    return plan("merges", 20, context_updates={"threads": threads})


@pytest.fixture
def user() -> Memory:
    memory = Memory()
    events = [{"thread_key": "a", "event_id": f"e{n}"} for n in range(MOST)]
    homes = [says(f"b{n}", payload={"family": "home", "value": f"上海 {n}"}) for n in range(MOST)]
    likes = [prefers("confirm", f"tea {n}") for n in range(MOST)]
    memory.give(
        plan("first", 2, state_updates=homes, preference_updates=likes,
             context_updates={"threads": events})
    )  # fmt: skip
    return memory


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_plan_of_many_ends_over_much_memory_is_refused(user: Memory, end: Json) -> None:
    with pytest.raises(Refused, match="too_large"):
        user.give(ends(end, MOST))
    assert user.give(ends(end, 5)) == "applied"


def test_a_plan_of_many_merges_of_a_long_thread_is_refused(user: Memory) -> None:
    with pytest.raises(Refused, match="too_large"):
        user.give(merges(MOST))
    assert user.give(merges(5)) == "applied"


def test_marks_of_one_letter_are_sorted_in_linear_time() -> None:
    marks = "\u0301\u0316" * 60_000  # 11 s in the order of their number squared
    start = thread_time()
    assert normalized("NFKC", f"a{marks}") == normalized("NFKC", f"a{marks}")
    assert thread_time() - start < 3


def test_texts_with_a_letters_usual_marks_keep_their_normal_form() -> None:
    chance = Random(1)
    for _ in range(300):
        text = "".join(chance.choices("ae\u0301\u0316\u3099\u1100\u1161ﬁＡ\u00e9か ", k=25))
        assert normalized("NFKC", text) == unicodedata.normalize("NFKC", text)
        assert normalized("NFC", text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("word", ["京" * 1_000, "a" * 1_000, "é" * 1_000, "1" * 1_000])
def test_no_long_word_stays_in_memory(word: str) -> None:
    caches = (tokens._forms_once, tokens.stem)
    before = [cache.cache_info().currsize for cache in caches]
    tokens.terms(word)
    assert [cache.cache_info().currsize for cache in caches] == before
