"""Dates in what people say, judged one by one: precision and recall, on cases that the tables were
written with (`known`) and on a third that was sealed before the tables were begun (`held_out`).

A line of `judged/dates.ndjson` is {language, half, at, text, dates: {words: period}}; the texts are
our own. `python -m tests.acceptance.test_judged_dates` prints the figures and the faults.
"""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from schemas.time import parse_time
from streams.dates import resolve
from streams.dates.languages import LANGUAGES
from streams.dates.period import format_period, parse_period

LINES = (Path(__file__).parent / "judged" / "dates.ndjson").read_bytes().splitlines()
JUDGED: list[dict[str, Any]] = [msgspec.json.decode(line) for line in LINES]
HALVES = ("known", "held_out")


class Score(NamedTuple):
    """Dates found and right, found, and expected."""

    right: int = 0
    found: int = 0
    expected: int = 0

    def plus(self, other: "Score") -> "Score":
        return Score(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def precision(self) -> float:
        return self.right / self.found

    @property
    def recall(self) -> float:
        return self.right / self.expected


def expected(judged: dict[str, Any]) -> set[tuple[int, int]]:
    return {parse_period(period) for period in judged["dates"].values()}


def found(judged: dict[str, Any], language: str | None = None) -> dict[tuple[int, int], str]:
    spans = resolve(judged["text"], parse_time(judged["at"]), language)
    return {(one.start, one.end): judged["text"][one.begin : one.stop] for one in spans}


def score(judged: dict[str, Any], language: str | None = None) -> Score:
    wanted, there = expected(judged), found(judged, language)
    return Score(len(wanted & there.keys()), len(there), len(wanted))


def scores(half: str) -> dict[str, Score]:
    made: dict[str, Score] = defaultdict(Score)
    for judged in JUDGED:
        if judged["half"] == half:
            made[judged["language"]] = made[judged["language"]].plus(score(judged))
    return dict(made)


def total(half: str) -> Score:
    made = Score()
    for one in scores(half).values():
        made = made.plus(one)
    return made


@pytest.mark.parametrize("half", HALVES)
def test_of_the_dates_that_are_found_19_of_20_are_right(half: str) -> None:
    assert total(half).precision >= 0.95
    assert total(half).recall >= 0.95


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_language_is_much_worse_than_the_others(language: str) -> None:
    both = scores("known")[language].plus(scores("held_out")[language])
    assert both.precision >= 0.9
    assert both.recall >= 0.9


def test_who_knows_the_language_finds_no_less() -> None:
    told = sum(score(one, one["language"]).right for one in JUDGED)
    assert told >= sum(score(one).right for one in JUDGED)


def test_a_date_stands_where_the_text_names_it() -> None:
    for judged in JUDGED:
        there = found(judged)
        for words, period in judged["dates"].items():
            told = there.get(parse_period(period))
            assert told is None or told in words or words in told, judged["text"]


def main() -> None:
    """Prints the figures, and the faults with what was found instead."""
    for half in HALVES:
        for language, one in {**scores(half), "all": total(half)}.items():
            sys.stdout.write(
                f"{half} {language}: precision {one.precision:.3f} ({one.right}/{one.found}), "
                f"recall {one.recall:.3f} ({one.right}/{one.expected})\n"
            )
    for judged in JUDGED:
        there = found(judged)
        if there.keys() != expected(judged):
            shown = ", ".join(f"{said} = {format_period(*one)}" for one, said in there.items())
            sys.stdout.write(f"{judged['half']} {judged['text']} -> {shown}\n")


if __name__ == "__main__":
    main()
