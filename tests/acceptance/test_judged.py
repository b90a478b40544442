"""Items of the kind that people say to each other, judged one by one: what a careful reader would
keep of each, and what nobody would.

`judged/asked.ndjson` are users who ask for something and tell a fact in passing (the format is that
of `judged.py`).

A line of `judged/en.ndjson` is {text, keep: [sentences about the user, likes as "like: subject"],
over?: [words of what ends]}; nothing to keep is junk. The format of the other languages stands
in `judged.py`: some of their items were held out while the rules were written. All sentences are
our own.
"""

import re

import pytest

from streams.extractors import rules
from tests.acceptance.judged import LANGUAGES, PARTS, Judged, Score, items, kept, over, score, total
from tests.acceptance.utterances import turn

JUDGED = items("en")
CALM = (0.1, 0.2, 0.3, 0.5)
HELD = {  # recall, precision, items without a fact that may give something
    "zh": (0.9, 0.95, 0),
    "ja": (0.9, 0.95, 0),
    "de": (0.95, 0.95, 0),
    "fr": (0.95, 0.95, 0),
    "es": (0.9, 0.95, 0),
}
BLIND = {  # the same; what version 8 has, so that it gets no worse
    "zh": (0.89, 0.97, 0),
    "ja": (0.88, 0.97, 0),
    "de": (0.93, 1.0, 0),
    "fr": (1.0, 1.0, 0),
    "es": (1.0, 1.0, 0),
}
ASKED = {"tune": (0.97, 0.93, 0), "blind": (0.87, 0.89, 1)}
"""What version 9 has of those who ask; of "blind" it had 0.80 when that was measured first."""
REGISTERS = {"tune": (0.98, 1.0, 0), "blind": (0.71, 0.95, 1)}
"""What version 11 has of turns of six registers; of "blind" version 10 had 0.59, 0.88 and 4 when
that was measured first, and version 9 0.53, 0.83 and 5."""
PLATFORMS = (0.81, 0.98, 0)
"""What version 11 has of turns of seven registers; version 10 had 0.50, 0.98, 0 at first sight."""
LEAST = {"tune": (48, 90), "held": (48, 90), "blind": (35, 70)}
TUNED = [one for language in HELD for one in items(language) if one["part"] == "tune"]
WORTH = items("worth")
"""Sentences by class: what somebody would want to read months later, and what nobody would."""
FIRST_PERSON = re.compile(
    r"我|咱|私|僕|俺|うちの|\b(?:ich|mein|meine|mich|je|mon|ma|moi|yo|mi|me)\b", re.IGNORECASE
)


@pytest.mark.parametrize("judged", JUDGED, ids=lambda one: one["text"])
def test_what_a_careful_reader_keeps_is_kept_and_no_more(judged: Judged) -> None:
    plan = rules.extract(turn(judged["text"]), affect=lambda said: CALM) or {}
    assert kept(plan) == judged["keep"]
    assert over(plan) == judged.get("over", [])
    assert "event_affect" not in plan, "none of these is a feeling of the user's own"


def test_half_of_it_is_junk() -> None:
    junk = [one for one in JUDGED if not one["keep"] and not one.get("over")]
    assert len(JUDGED) / 3 < len(junk) < len(JUDGED) * 2 / 3


@pytest.mark.parametrize("judged", TUNED, ids=lambda one: one["text"])
def test_a_tuned_item_gives_what_it_gave_or_is_marked_as_missed(judged: Judged) -> None:
    plan = rules.extract(turn(judged["text"]), affect=lambda said: CALM) or {}
    counts = score(judged)
    assert kept(plan) == judged.get("keep", [])
    assert (counts.met < counts.expected) == judged.get("missed", False)
    assert counts.wrong == 0
    assert "event_affect" not in plan


def keeps(counts: Score, bounds: tuple[float, float, int]) -> None:
    """At least this recall and precision, at most so much junk."""
    recall, precision, junk = bounds
    assert counts.recall >= recall, counts
    assert counts.precision >= precision, counts
    assert counts.junk <= junk, counts


@pytest.mark.parametrize(("part", "bounds"), [("held", HELD), ("blind", BLIND)])
@pytest.mark.parametrize("language", HELD)
def test_a_part_keeps_its_figures(
    language: str, part: str, bounds: dict[str, tuple[float, float, int]]
) -> None:
    counts = total(one for one in items(language) if one["part"] == part)
    keeps(counts, bounds[language])


@pytest.mark.parametrize("part", ASKED)
def test_what_users_tell_while_they_ask_keeps_its_figures(part: str) -> None:
    own = [one for one in items("asked") if one["part"] == part]
    counts = total(own)
    assert 0.4 < counts.silent / len(own) < 0.6
    keeps(counts, ASKED[part])


@pytest.mark.parametrize("part", REGISTERS)
def test_what_users_tell_in_six_registers_keeps_its_figures(part: str) -> None:
    own = [one for one in items("registers") if one["part"] == part]
    counts = total(own)
    assert 0.4 < counts.silent / len(own) < 0.6
    keeps(counts, REGISTERS[part])


def test_what_users_tell_on_platforms_keeps_its_figures() -> None:
    own = items("platforms")
    counts = total(own)
    assert len(own) >= 120
    assert 0.4 < counts.silent / len(own) < 0.6
    keeps(counts, PLATFORMS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_parts_are_half_without_facts(language: str) -> None:
    for part in PARTS:
        counts = [score(one) for one in items(language) if one["part"] == part]
        assert len(counts) >= LEAST[part][language in ("zh", "ja")]
        assert 0.4 < sum(one.silent for one in counts) / len(counts) < 0.6


@pytest.mark.parametrize("language", HELD)
def test_no_text_about_the_user_speaks_in_the_first_person(language: str) -> None:
    for one in items(language):
        plan = rules.extract(turn(one["text"])) or {}
        for text in kept(plan):
            assert not FIRST_PERSON.search(text), text


@pytest.mark.parametrize("judged", WORTH, ids=lambda one: one["text"])
def test_what_is_useful_months_later_is_stored_and_nothing_else(judged: Judged) -> None:
    plan = rules.extract(turn(judged["text"])) or {}
    if "as yet" in judged:
        assert bool(kept(plan)) == (judged["as yet"] == "stored")
    else:
        assert kept(plan) == judged.get("keep", [])


FELT = [one for one in WORTH if "felt" in one]


@pytest.mark.parametrize("judged", FELT, ids=lambda one: one["text"])
def test_what_is_felt_is_told_from_politeness(judged: Judged) -> None:
    plan = rules.extract(turn(judged["text"]), affect=lambda said: CALM) or {}
    assert ("event_affect" in plan) == judged["felt"]


def test_few_classes_are_not_as_judged_yet() -> None:
    useful = [one for one in WORTH if one["useful"]]
    assert len(useful) >= 40
    assert len(WORTH) - len(useful) >= 40
    assert sum("as yet" in one for one in WORTH) <= 0.1 * len(WORTH)
