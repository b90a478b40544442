"""The rule extractor on any text: total, deterministic, valid plans, time linear in the length."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.base import format_time
from schemas.events import WritePlan
from streams.extractors import languages, rules
from streams.extractors.normalize import cleaned
from streams.folds.quote_reason import quoted
from streams.pipeline.fast_decode import PlainTurn
from tests.acceptance.utterances import turn, utterances

pytestmark = pytest.mark.nightly

KNOWN = tuple(dict.fromkeys(one.text for one in utterances()))
EXAMPLES = tuple(
    rule.example for code in languages.CODES for rule in languages.language(code).rules
)
CUES = tuple(
    cue
    for code in languages.CODES
    for rule in languages.language(code).rules
    for cue in rule.cues.split("|")
)
MARKS = ("\n", ". ", "，", "、", "?", '"', "「", "> ", "```")
PIECES = st.sampled_from((*KNOWN, *EXAMPLES, *CUES, *MARKS))
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join), st.sampled_from(KNOWN))
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
LONG = 100_000


@settings(max_examples=400)
@given(TEXTS)
def test_any_text_gives_no_plan_or_one_that_validates(text: str) -> None:
    plan = rules.extract(turn(text), affect=lambda said: (-0.5, 0.5, 0.0, 0.7))
    assert plan == rules.extract(turn(text), affect=lambda said: (-0.5, 0.5, 0.0, 0.7))
    if plan is None:
        return
    made = WritePlan.model_validate(plan)
    assert made.state_updates or made.preference_updates or made.ends or made.event_affect
    for update in made.state_updates:
        assert update.payload
        assert update.payload["evidence"] in cleaned(text), "evidence is the user's own words"
        assert update.reason == quoted(update.payload["evidence"]), "so is the reason"
        assert len(update.reason) <= 200 and not CONTROL.search(update.reason)
        assert update.payload["value"]
        assert {update.op} == {"upsert"}, "total: nothing that needs a known state"
    for end in made.ends:
        assert end.families and end.at is not None
        assert end.at <= made.occurred_at, "what is over is over now, or was on a day before"
        assert end.reason.startswith('said: "') and end.evidence_event_ids == [made.event_id]
    known: set[tuple[str, str]] = set()
    for preference in made.preference_updates:
        assert preference.op != "revoke" or (preference.subject, preference.polarity) in known
        known.add((preference.subject, preference.polarity))


@settings(max_examples=100)
@given(TEXTS)
def test_the_quick_turn_and_the_model_give_the_same_plan(text: str) -> None:
    slow = turn(text)
    quick = PlainTurn(
        type="turn", event_id=slow.event_id, session_id=slow.session_id, user_id=slow.user_id,
        occurred_at=slow.occurred_at, user_input=text,
    )  # fmt: skip
    assert rules.extract(quick) == rules.extract(slow)
    plan = rules.extract(slow)
    assert plan is None or plan["occurred_at"] == format_time(slow.occurred_at)


HOSTILE = (*CUES, *EXAMPLES, *KNOWN, "a", "は", "，", '"', "`", ">", ":\n", "not not ", "i i ")


@pytest.mark.parametrize("language", languages.CODES)
def test_no_text_takes_long(language: str) -> None:
    """100 KB of whatever the tables react to, and as much as is looked at of it, again and again.

    A pattern that backtracks without end would take minutes; the bound is far above a slow machine.
    """
    begin = time.process_time()
    for piece in HOSTILE:
        if rules.language_of(piece) is not languages.language(language):
            continue
        for size in (LONG, rules.MAX_TEXT):
            text = (piece * (size // len(piece) + 1))[:size]
            began = time.process_time()
            rules.extract(turn(text))
            assert time.process_time() - began < 2, piece
    assert time.process_time() - begin < 120
