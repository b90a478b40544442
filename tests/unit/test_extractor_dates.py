"""When it was, of what the rules find (docs/extractors.md, "Dates"). Said on Sunday, 2026-03-01."""

from collections.abc import Iterable

import pytest

from schemas.base import JsonObject
from schemas.time import DAY, parse_time
from streams.dates.period import format_period
from streams.extractors import rules
from tests.acceptance.utterances import turn

NOW = "2026-03-01T09:00:00Z"


def plan_of(text: str) -> JsonObject:
    plan = rules.extract(turn(text))
    assert plan is not None
    assert plan["occurred_at"] == NOW
    return plan


def about(said: JsonObject) -> str | None:
    if "about_start" not in said:
        return None
    return format_period(parse_time(said["about_start"]), parse_time(said["about_end"]))


@pytest.mark.parametrize(
    ("text", "begins", "period"),
    [
        ("I won my first tournament yesterday.", "2026-02-28", "2026-02-28"),
        ("I moved to Berlin two weeks ago.", "2026-02-09", "2026-02-09..2026-02-15"),
        ("I've been vegan since January.", "2026-01-01", "2026-01-01..2026-03-01"),
        ("先週、会社を辞めました。", "2026-02-16", "2026-02-16..2026-02-22"),
        ("去年我辞职了。", "2025-01-01", "2025"),
    ],
)
def test_a_state_begins_on_the_past_date_on_which_it_is_said_to(
    text: str, begins: str, period: str
) -> None:
    plan = plan_of(text)
    (state,) = plan["state_updates"]
    assert state["valid_from"] == f"{begins}T00:00:00Z"
    assert about(state["payload"]) == about(plan["event_annotations"]) == period


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("I'm planning to open a studio next month.", "2026-04"),
        ("Remind me to call the plumber tomorrow.", "2026-03-02"),
        ("I started a pottery class this week.", "2026-02-23..2026-03-01"),
    ],
)
def test_what_is_to_come_or_goes_on_holds_from_the_turn_on(text: str, period: str) -> None:
    (state,) = plan_of(text)["state_updates"]
    assert state["valid_from"] == NOW
    assert about(state["payload"]) == period


def test_the_one_value_of_a_slot_holds_from_the_end_of_a_long_period() -> None:
    (state,) = plan_of("I moved to Berlin last year.")["state_updates"]
    assert state["payload"]["slot"]
    assert state["valid_from"] == "2026-01-01T00:00:00Z"


def test_a_date_of_another_thing_is_not_the_states() -> None:
    states = plan_of("I'm a nurse, and last week I met Tom.")["state_updates"]
    nurse = next(one for one in states if "nurse" in one["body_text"])
    assert nurse["valid_from"] == NOW
    assert about(nurse["payload"]) is None
    other = plan_of("I live in Porto. Last week I went to a pottery workshop.")["state_updates"]
    assert [one["valid_from"] for one in other] == [NOW, "2026-02-16T00:00:00Z"]


def test_two_dates_in_a_sentence_are_nobodys() -> None:
    (state,) = plan_of("I won my first tournament yesterday, not last week.")["state_updates"]
    assert state["valid_from"] == NOW


def test_what_is_over_on_a_date_ends_then_and_what_was_told_since_ends_now() -> None:
    ends = plan_of("I quit my job last week.")["ends"]
    assert [one["at"] for one in ends] == ["2026-02-23T00:00:00Z", NOW]
    assert [one["at"] for one in plan_of("I quit my job.")["ends"]] == [NOW]


@pytest.mark.parametrize(
    "text", ["We cancelled our trip to Rome last week.", "I quit my job last month."]
)
def test_no_state_is_ended_by_the_turn_that_tells_it(text: str) -> None:
    plan = plan_of(text)
    for state in plan.get("state_updates", ()):
        own = {state["payload"].get(name) for name in ("family", "category", "slot")} - {None}
        for end in plan.get("ends", ()):
            if own.intersection(end["families"]):
                assert parse_time(state["valid_from"]) >= parse_time(end["at"])


def every_valid_from() -> Iterable[tuple[str, str]]:
    for language in rules.LANGUAGES.values():
        for rule in language.rules:
            plan = rules.extract(turn(rule.example)) or {}
            for state in plan.get("state_updates", ()):
                yield rule.example, state["valid_from"]


def test_no_rule_makes_a_state_that_begins_after_its_turn() -> None:
    for example, begins in every_valid_from():
        assert parse_time(begins) <= parse_time(NOW), example
        assert begins == NOW or parse_time(begins) % DAY == 0, example
