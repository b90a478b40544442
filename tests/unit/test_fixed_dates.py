"""What is kept of a turn names its dates, so that it can be read months later."""

import pytest

from schemas.time import parse_time
from streams.dates import resolve
from streams.extractors import rules
from streams.extractors.absolute_dates import Named, fixed
from tests.acceptance.utterances import turn

SUNDAY = parse_time("2026-03-01T09:00:00Z")
TOLD = [
    ("en", "passed an exam yesterday", "passed an exam on 28 February 2026"),
    ("en", "passed an exam last week", "passed an exam in the week of 16 February 2026"),
    ("en", "ran a race last weekend", "ran a race on the weekend of 21 February 2026"),
    ("en", "sold a house last month", "sold a house in February 2026"),
    ("en", "ran a marathon last summer", "ran a marathon in the summer of 2025"),
    ("en", "broke a wrist a few days ago", "broke a wrist around 26 February 2026"),
    ("en", "lost a job several years ago", "lost a job around 2023"),
    ("en", "had an accident last Tuesday", "had an accident on 24 February 2026"),
    ("zh", "用户八天前离职了", "用户2026年2月21日离职了"),
    ("zh", "用户上个月分手了", "用户2026年2月分手了"),
    ("zh", "上周末去看了演唱会", "2026年2月21日那个周末去看了演唱会"),
    ("ja", "来月から博多に引っ越す", "2026年4月から博多に引っ越す"),
    ("ja", "来週までに願書を出す", "2026年3月2日の週までに願書を出す"),
    ("de", "gestern umgezogen", "gestern umgezogen"),
]


@pytest.mark.parametrize(("language", "said", "told"), TOLD)
def test_a_text_names_the_date_that_was_meant(language: str, said: str, told: str) -> None:
    (span,) = resolve(said, SUNDAY, language)
    named = Named.of(span.start, span.end, span.lasting)
    assert fixed(language, said, span.begin, span.stop, named) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Remind me to call the plumber tomorrow.", "To do: call the plumber on 2 March 2026."),
        ("I live with my two brothers since May.", "Lives with their two brothers."),
    ],
)
def test_a_state_names_its_date_once(said: str, told: str) -> None:
    plan = rules.extract(turn(said))
    assert plan is not None
    (state,) = plan["state_updates"]
    assert state["body_text"] == told
    assert state["payload"]["evidence"] == said
    assert state["payload"]["about_start"] < state["payload"]["about_end"]


def test_the_same_sentence_on_another_day_names_another_date() -> None:
    later = turn("Remind me to call the plumber tomorrow.")
    later.occurred_at = parse_time("2027-03-01T09:00:00Z")
    plan = rules.extract(later)
    assert plan is not None
    assert plan["state_updates"][0]["body_text"] == "To do: call the plumber on 2 March 2027."
