"""No text costs a turn more than its share: what is tried, how far it may look, what is folded."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from streams.extractors import engine, languages, rules
from streams.extractors.clauses import Clause
from streams.folds import end_facts
from tests.acceptance.utterances import turn, utterances
from tests.property.world import World, when
from tests.property.world import turn as record_of
from tests.tiers import soaked
from tests.unit.test_extracting import extracting

OWN = tuple(dict.fromkeys(one.text for one in utterances()))
EXAMPLES = tuple(
    rule.example for code in languages.CODES for rule in languages.language(code).rules
)
CUES = tuple(
    cue
    for code in languages.CODES
    for rule in languages.language(code).rules
    for cue in rule.cues.split("|")
)
MARKS = (". ", ", ", "，", "、", "。", "\n", " and ", " but ", "; ", "? ", "i ", "i'm ", "a ")


class Counted:
    """What the engine does for one text."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tries = 0
        self.looked = 0
        """Characters of sentences, each as often as a clause of it is looked at."""
        match = engine.Language._match

        def matched(own: Any, text: str, said: str, first: Clause, last: Clause,
                    numbers: set[int], *more: Any) -> Any:  # fmt: skip
            self.tries += len(numbers)
            self.looked += min(last.stop, first.stop) - first.begin
            return match(own, text, said, first, last, numbers, *more)

        monkeypatch.setattr(engine.Language, "_match", matched)

    def of(self, text: str) -> tuple[int, int]:
        """Tries, and characters looked at."""
        self.tries = self.looked = 0
        rules.extract(turn(text))
        return self.tries, self.looked


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def hostile(chance: Random) -> Iterator[str]:
    """Texts of what the rules react to, as long as is read."""
    while True:
        pieces = [
            chance.choice(chance.choice([CUES, CUES, EXAMPLES])) + chance.choice(MARKS)
            for _ in range(chance.choice([1, 1, 2, 3]))
        ]
        unit = "".join(pieces)
        yield (unit * (engine.MAX_TEXT // len(unit) + 1))[: engine.MAX_TEXT]


def check(counted: Counted, text: str) -> None:
    tries, _ = counted.of(text)
    # the last clause ends the budget
    assert tries <= engine.MAX_TRIES + 2 * len(languages.language("en").rules), text[:200]


@pytest.mark.parametrize(
    "unit", ["i love tea, ", "i'm sad, i like it and ", "我喜欢茶，", "i am. "]
)
def test_a_designed_text_takes_no_more_than_its_share(counted: Counted, unit: str) -> None:
    check(counted, (unit * 4_000)[: engine.MAX_TEXT])


@pytest.mark.component
@pytest.mark.parametrize("seed", soaked(range(6), 1))
def test_no_text_takes_more_than_its_share(counted: Counted, seed: int) -> None:
    texts = hostile(Random(seed))
    for _ in range(40):
        check(counted, next(texts))


@pytest.mark.component
def test_what_people_say_is_read_to_its_end(counted: Counted) -> None:
    """As much as is read at once of what the rules were written and judged by."""
    joined = "\n".join(Random(1).sample(OWN, len(OWN)))
    most = max(counted.of(one)[0] for one in OWN[::7])
    whole = max(
        counted.of(joined[at : at + engine.MAX_TEXT])[0]
        for at in range(0, len(joined), engine.MAX_TEXT)
    )
    print(f"at most {most} tries of one text, {whole} of {engine.MAX_TEXT} characters of them")
    assert most < engine.MAX_TRIES / 10 and whole < engine.MAX_TRIES


def test_a_sentence_that_is_too_long_is_not_looked_at_clause_by_clause(counted: Counted) -> None:
    sentence = "i love tea, " * 300
    tries, looked = counted.of(sentence)
    assert (tries, looked) == (0, 0)
    assert counted.of("I love tea. " + sentence)[0] > 0


DEAR = [
    "i love tea. ", "i no longer like tea. ", "先月入籍しました。; ", "forget that i love tea. ",
    "我家狗叫旺财。旺财昨天去世了。", "We broke up. and ",
]  # fmt: skip


@pytest.mark.parametrize("unit", DEAR)
def test_a_turn_over_its_budget_is_applied_and_its_extraction_is_a_dead_letter(unit: str) -> None:
    made = extracting()
    text = (unit * 4_000)[: engine.MAX_TEXT]
    assert made.say(record_of("a", 0, user_id="u1", user_input=text)) == ["applied"]
    assert made.counts["extracted_dead"] == 1 and not made.rows["plans"]
    (letter,) = made.rows["dead_letters"]
    assert letter["reason"] == "extraction_failed"
    assert letter["detail"].startswith(f"OverBudget: its text takes more than {engine.MAX_TRIES}")
    assert "tea" not in letter["detail"]
    assert made.say(record_of("b", 1, user_id="u1", user_input=unit)) == ["applied"]
    assert made.counts["extracted_dead"] == 1, "a turn alone is within it"


@pytest.mark.parametrize("kind", ["preference_updates", "state_updates"])
@pytest.mark.parametrize("values", ["tea number {}", "{} 茶", "tea {}s of the 9th"])
def test_ends_are_compared_with_few_of_what_is_known(
    kind: str, values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan ends 200 things of a user of whom many are known: what it costs grows with the two
    together, not with their product."""
    many, looked = 600, 0
    speaks_of = end_facts.speaks_of

    def counting(*said: Any) -> bool:
        nonlocal looked
        looked += 1
        return speaks_of(*said)

    made = World()
    for first in range(0, many, 200):
        some = [values.format(f"no{at}x") for at in range(first, first + 200)]
        made.say(_plan(f"p{first}", 0, **{kind: [_held(kind, value) for value in some]}))
    monkeypatch.setattr(end_facts, "speaks_of", counting)
    family = "like" if kind == "preference_updates" else "drink"
    over = [{"families": [family], "value": f"no{at}x"} for at in range(200)]
    made.say(_plan("over", 60, ends=over))
    closed = [row for row in made.rows["revisions"] if row["op"] in ("close", "revoke")]
    assert len(closed) == 200
    assert looked <= 3 * 200


def _held(kind: str, value: str) -> Any:
    if kind == "preference_updates":
        return {"op": "confirm", "subject": value, "domain": "general", "polarity": "like"}
    return {"kind": "fact", "body_text": value, "payload": {"family": "drink", "value": value}}


def _plan(plan_id: str, at: float, **fields: Any) -> Any:
    head = {"type": "write_plan", "plan_id": plan_id, "user_id": "u1", "occurred_at": when(at)}
    return head | {"extractor": {"name": "tests"}} | fields
