"""What users say, turn by turn, and what the rules remember of it.

A line of `judged/dialogues.ndjson` is {group, turns, current?}: what is current after all turns, a
fact's sentence or "like: thing". The rules of a group without `current` are in its test.
"""

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from schemas.base import JsonObject, format_time, parse_time
from schemas.time import DAY, HOUR
from streams.extractors import rules
from streams.extractors.do_not_store import is_private
from tests.acceptance.utterances import turn
from tests.unit.memory_told import Memory

JUDGED = Path(__file__).parent / "judged"
START = parse_time("2026-03-01T09:00:00Z")
MOST_WRONG = [("seen", 175, 23), ("fresh", 60, 2), ("unseen", 20, 13)]
"""How many dialogues leave a wrong fact. The rules were changed for the first two groups; `fresh`
was written before, and left 28 then."""
BEFORE = ("After the winter", "Since the break-up", "Because of the rent", "Thanks to her")
DATES = [
    *(("", f" {when}") for when in (
        "yesterday", "last week", "this morning", "on Friday", "two weeks ago", "in January",
        "last month", "just now", "today",
    )),
    ("", ""), ("Yesterday ", ""), ("Last week, ", ""), ("So, ", ""), ("Unfortunately ", ""),
]  # fmt: skip


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (JUDGED / name).read_text("utf-8").splitlines()]


GROUPS: dict[str, list[list[str]]] = defaultdict(list)
CURRENT: list[tuple[list[str], list[str]]] = []
for _line in lines("dialogues.ndjson"):
    if "current" in _line:
        CURRENT.append((_line["turns"], _line["current"]))
    else:
        GROUPS[_line["group"]].append(_line["turns"])
ENDS = GROUPS["end"]
OF_SUBJECT = [pair for pair in ENDS if pair[1].startswith(("I ", "We "))]
LANGUAGES = ("en", "zh", "ja")


def plans(turns: list[str], every: int = DAY) -> list[JsonObject | None]:
    """The plans of one user's turns, so many microseconds apart."""
    made = []
    for number, text in enumerate(turns):
        at = format_time(START + number * every)
        said = turn(text, f"e{number}").model_copy(update={"occurred_at": parse_time(at)})
        made.append(rules.extract(said))
    return made


def current(made: list[JsonObject | None]) -> list[str]:
    """What stands after these plans."""
    memory = Memory("u1")
    for plan in filter(None, made):
        memory.give(plan)
    facts = [one["body_text"] for one in memory.states().values() if one["status"] != "closed"]
    likes = memory.preferences().items()
    return facts + [f"{of}: {what}" for (of, what), status in likes if status == "confirmed"]


def after(*turns: str) -> list[str]:
    return current(plans([*turns]))


@pytest.mark.parametrize(("turns", "facts"), CURRENT, ids=[turns[-1] for turns, _ in CURRENT])
def test_a_dialogue_leaves_what_is_true(turns: list[str], facts: list[str]) -> None:
    assert after(*turns) == facts
    assert facts or len(turns) == 1 or after(*turns[:-1]), "what is over has been there"


@pytest.mark.parametrize(("text",), GROUPS["private"])
def test_nothing_is_stored_of_a_private_turn(text: str) -> None:
    for fact in (
        "",
        "\nI live in Oslo and I'm allergic to nuts. ",
        "\n我住在北京。",
        "\n横浜に住んでいます。",
    ):
        said = text + fact
        assert rules.extract(turn(said)) is None or (fact and not is_private(said))
    assert is_private(text)


@pytest.mark.parametrize(("text",), GROUPS["not private"])
def test_a_turn_that_only_sounds_private_is_none(text: str) -> None:
    assert not is_private(text)


@pytest.mark.parametrize(("text",), GROUPS["of others"])
def test_nothing_is_stored_of_what_others_wrote_or_what_is_only_supposed(text: str) -> None:
    plan = rules.extract(turn(text)) or {}
    assert not {"state_updates", "preference_updates", "ends"} & {*filter(plan.get, plan)}


@pytest.mark.parametrize(("told", "end"), ENDS)
def test_an_end_stands_with_any_date_beside_it(told: str, end: str) -> None:
    assert after(told)
    for before, when in DATES:
        assert after(told, f"{before}{end}{when}.") == [], (before, when)
    assert after("I live in Rome.", "I love jazz.", end) == ["Lives in Rome.", "like: jazz"]


@pytest.mark.parametrize(("told", "end"), OF_SUBJECT)
def test_a_sentence_without_its_subject_is_of_the_user(told: str, end: str) -> None:
    bare = end.removeprefix("I ").removeprefix("We ").capitalize()
    assert " had to " in end or after(told, f"{bare}.") == []


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(("told", "end"), {told: (told, end) for told, end in OF_SUBJECT}.values())
def test_what_stands_before_the_subject_is_no_part_of_a_statement(
    before: str, told: str, end: str
) -> None:
    assert after(told, f"{before} {end}.") == []


@pytest.mark.parametrize(("told", "asked"), GROUPS["forget"])
def test_what_a_user_asks_to_forget_ends_with_the_sentence_as_reason(told: str, asked: str) -> None:
    assert after(told) and after(told, asked) == []
    assert after("I own a kayak.", asked) == after("I own a kayak.") != []
    (plan,) = plans([asked])
    assert plan is not None
    for end in plan["ends"]:
        sentence = end["reason"].removeprefix('said: "').removesuffix('"')
        assert len(sentence) > len(asked) / 2 and sentence in asked


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_that_was_taken_back_is_current_in_any_order(language: str) -> None:
    """First all is told, then all is taken back, hour by hour."""
    pairs = GROUPS[f"taken back, {language}"]
    made = plans([told for told, _ in pairs] + [back for _, back in pairs], HOUR)
    assert None not in made and len(current(made[: len(pairs)])) >= len(pairs)
    for seed in range(6):
        assert current(made) == []
        random.Random(seed).shuffle(made)


def test_one_retraction_leaves_the_rest_as_it_was() -> None:
    """A retraction ends at most a like, a favourite and a fact of the same thing."""
    pairs = GROUPS["taken back, en"]
    made = plans([told for told, _ in pairs] + [back for _, back in pairs], HOUR)
    told = made[: len(pairs)]
    before = set(current(told))
    for retraction in made[len(pairs) :]:
        ended = before - set(current([*told, retraction]))
        assert 1 <= len(ended) <= 2, ended


@pytest.mark.parametrize(("told", "back"), GROUPS["over"])
def test_what_is_over_is_known_by_the_verb(told: str, back: str) -> None:
    before = after(told)
    assert before and not set(before) & set(after(told, back))


@pytest.mark.parametrize(("half", "count", "most"), MOST_WRONG)
def test_of_dialogues_that_change_something_few_leave_what_is_wrong(
    half: str, count: int, most: int
) -> None:
    """`unseen` was written before the rules were changed, and not looked at during it."""
    own = [dialogue for dialogue in lines("changes.ndjson") if dialogue["half"] == half]
    wrong = [
        dialogue["turns"] for dialogue in own
        if any(word in f" {fact}" for fact in after(*dialogue["turns"])
               for word in dialogue["wrong"])
    ]  # fmt: skip
    assert len(own) == count and len(wrong) <= most, wrong


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("Never use emojis when you write to my boss.",
         "answer format emoji when you write to my boss"),
        ("When you write to my boss, never use emojis.",
         "answer format emoji when you write to my boss"),
        ("If I ask for code, always answer in Python and English.",
         "answer language if i ask for code"),
    ],
)  # fmt: skip
def test_an_instruction_keeps_its_condition(text: str, slot: str) -> None:
    (plan,) = plans([text])
    (fact,) = (plan or {})["state_updates"]
    assert fact["payload"]["slot"] == slot
    assert fact["payload"]["condition"].split()[-1] in fact["body_text"]
    assert len(after("Never use emojis.", text)) == 2
