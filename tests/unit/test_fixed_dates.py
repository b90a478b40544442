"""What is kept of a turn names its dates, so that it can be read months later."""

# ruff: noqa: E501 - a sentence and what is told of it are one line

import pytest

from schemas.time import parse_time
from streams.extractors import rules
from tests.acceptance.utterances import turn

TOLD = [  # on Sunday, 1 March 2026
    ("I passed my sailing exam yesterday.", "Passed their sailing exam on 28 February 2026."),
    ("I passed my sailing exam last night.", "Passed their sailing exam on 28 February 2026."),
    ("I passed my sailing exam last week.", "Passed their sailing exam in the week of 16 February 2026."),
    ("I ran my first marathon last weekend.", "Ran their first marathon on the weekend of 21 February 2026."),
    ("I sold my house last month.", "Sold their house in February 2026."),
    ("I ran a marathon last summer.", "Ran a marathon in the summer of 2025."),
    ("I broke my wrist a few days ago.", "Broke their wrist around 26 February 2026."),
    ("I started a new job in Leeds over four months ago.", "Started a new job in Leeds around November 2025."),
    ("I lost my job several years ago.", "Lost their job around 2023."),
    ("I lost my job a few months ago.", "Lost their job around December 2025."),
    ("My son had an accident last Tuesday.", "Son had an accident on 24 February 2026."),
    ("I quit smoking a week ago today.", "Quit smoking on 22 February 2026."),
    ("I had surgery on the 3rd.", "Had surgery on 3 February 2026."),
    ("I have an exam in two days.", "Has an exam on 3 March 2026."),
    ("My girlfriend is moving in next month.", "Girlfriend is moving in in April 2026."),
    ("I have been volunteering at the shelter since May.", "Has been volunteering at the shelter since May 2025."),
    ("我八天前离职了。", "用户2026年2月21日离职了。"),
    ("我们上个月分手了。", "用户2026年2月分手了。"),
    ("上周末去看了演唱会。", "用户2026年2月21日那个周末去看了演唱会。"),
    ("打算明年去冰岛。", "用户打算2027年去冰岛。"),
    ("来月から博多に引っ越すことになりました", "ユーザーは2026年4月から博多に引っ越す予定。"),
    ("来週までに願書を出さないといけない。", "ユーザーは2026年3月2日の週までに願書を出さなければならない。"),
]  # fmt: skip
AS_SAID = [  # a year is said, or it is of any such day
    ("I started a pottery class in 2019.", "Started a pottery class in 2019."),
    ("I broke my wrist on 3 May 2019.", "Broke their wrist on 3 May 2019."),
    ("I go swimming every Sunday.", "Goes swimming every Sunday."),
]


@pytest.mark.parametrize(("said", "told"), [*TOLD, *AS_SAID])
def test_a_text_names_the_date_that_was_meant(said: str, told: str) -> None:
    plan = rules.extract(turn(said))
    assert plan is not None
    assert [one["body_text"] for one in plan["state_updates"]] == [told]


@pytest.mark.parametrize(("said", "told"), TOLD)
def test_what_was_said_stands_beside_it(said: str, told: str) -> None:
    plan = rules.extract(turn(said))
    assert plan is not None
    (state,) = plan["state_updates"]
    assert state["payload"]["evidence"] == said
    assert state["payload"]["value"] in said


def test_the_same_sentence_on_another_day_names_another_date() -> None:
    later = turn("I passed my sailing exam yesterday.")
    later.occurred_at = parse_time("2027-03-01T09:00:00Z")
    plan = rules.extract(later)
    assert plan is not None
    assert plan["state_updates"][0]["body_text"] == "Passed their sailing exam on 28 February 2027."
