"""English: what says something by itself is kept, what is understood today only is not."""

import pytest

from streams.extractors import rules
from tests.acceptance.judged import kept, over
from tests.acceptance.utterances import turn


def found(text: str) -> list[str]:
    return kept(rules.extract(turn(text)) or {})


@pytest.mark.parametrize(
    "text",
    [
        "We took a road trip last month.",
        "I made a yummy grilled dish yesterday.",
        "I'm reading an amazing series about dragons.",
        "I watched a great movie last night.",
        "I went to the store yesterday.",
        "I missed the bus this morning.",
        "I've never been to Asia.",
        "I'd love to try it sometime!",
        "I'd like to visit Fresno.",
        "I'm planning to leave on the 12th.",
        "Let's go with Sunday.",
        "I made a typo in the last message.",
        "I started the download an hour ago.",
        "I prefer a large car.",
        "I like concert type of events.",
        "Trying new things keeps me motivated.",
        "I believe in staying true to yourself.",
        "I'm excited to see what comes next.",
        "I just finished a great book.",
        "I've been writing more articles.",
    ],
)
def test_what_says_nothing_by_itself_is_left_out(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("We took a road trip to Utah last month.", "Took a road trip to Utah in February 2026."),
        ("I baked this rye bread for the harvest fair.", "Baked a rye bread for the harvest fair."),
        ('I\'m reading "Emma" by Jane Austen.', 'Is reading "Emma" by Jane Austen.'),
        ("I joined a gym.", "Joined a gym."),
        ("I swim twice a week.", "Swims twice a week."),
        ("I chose a red kitchen.", "Chose a red kitchen."),
        ("I gave up coffee.", "Gave up coffee."),
        ("I'd like to learn the violin.", "Wants to learn the violin."),
        ("I graduated from Ghent University.", "Graduated from Ghent University."),
    ],
)
def test_what_says_something_is_kept(text: str, kept: str) -> None:
    assert found(text) == [kept]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "I'm 42 and want to learn the violin.",
            ["Is 42 years old.", "Wants to learn the violin."],
        ),
        ("I'm a cook and speak Thai.", ["Is a cook.", "Speaks Thai."]),
        (
            "I'm from Ghana but have lived in Oslo since 2012.",
            ["Comes from Ghana.", "Lives in Oslo."],
        ),
        ("I'd love to move to Rome and work as a guide.", ["Wants to move to Rome."]),
        ("She is a cook and speaks Thai.", []),
    ],
)
def test_a_clause_after_and_has_the_subject_before_it(text: str, kept: list[str]) -> None:
    assert found(text) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("As a nurse working nights, I sleep at noon.", ["Is a nurse working nights."]),
        ("As a teacher, what vaccines do I need?", ["Is a teacher."]),
        ("As a lawyer, how would you handle this?", []),
        ("As a senior developer, review this code.", []),
    ],
)
def test_a_role_for_the_agent_is_no_work_of_the_user(text: str, kept: list[str]) -> None:
    assert found(text) == kept


def test_who_was_lost_is_over() -> None:
    plan = rules.extract(turn("We lost our dog Benji in the spring.")) or {}
    assert over(plan) == ["dog"]
