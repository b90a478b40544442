"""Sentences of docs/rules.md that could be read in two ways: what each means, as a table."""

import pytest

from schemas.base import parse_time
from streams.folds.effects import Refused
from streams.folds.states import STATES
from streams.pipeline.decode import Dead, decode
from tests.unit.memory_told import Json, Memory, day, plan, prefers, says
from tests.unit.session_told import Told, encode, turn


@pytest.mark.parametrize(
    ("first", "second", "spans"),
    [
        ({}, {"valid_from": day(10)}, [(1, None), (10, None)]),
        ({"valid_to": day(5)}, {"valid_from": day(10)}, [(1, 5), (10, None)]),
        ({"valid_to": day(20)}, {"valid_from": day(10)}, [(1, 20), (10, None)]),
        ({"valid_from": day(10)}, {"valid_from": day(1)}, [(1, None), (10, None)]),
    ],
    ids=["later", "after its end", "before its end", "earlier"],
)
def test_a_new_version_leaves_those_beside_it_as_they_are(
    user: Memory, first: Json, second: Json, spans: list[tuple[float, float | None]]
) -> None:
    user.tell(says("Kyoto", state_id="home", **first))
    user.tell(says("Nara", state_id="home", **second), plan_id="p2")
    versions = user.rows[STATES.key("home")].versions
    found = [(one.valid_from, one.valid_to) for one in versions]
    assert found == [
        (parse_time(day(since)), None if until is None else parse_time(day(until)))
        for since, until in spans
    ]


@pytest.mark.parametrize(
    ("text", "valid_from", "payload"),
    [
        (
            "",
            day(1),
            {"family": "home", "mine": 1, "value": "Leeds", "evidence": "I live in Leeds."},
        ),
        ("Lives in York.", day(1), {"family": "home", "mine": 1}),
        ("Lives in York.", day(9), {"family": "home", "mine": 1}),
    ],
    ids=["the same text", "a correction", "a new version"],
)
def test_another_text_without_a_payload_is_not_described_by_the_old_one(
    user: Memory, text: str, valid_from: str, payload: Json
) -> None:
    said = {"family": "home", "mine": 1, "value": "Leeds", "evidence": "I live in Leeds."}
    user.tell(says("Lives in Leeds.", state_id="home", valid_from=day(1), payload=said))
    user.tell(says(text, state_id="home", valid_from=valid_from), plan_id="p2")
    assert user.states()["home"]["payload"] == payload


@pytest.mark.parametrize(
    ("update", "changes"),
    [
        (says("Nara", state_id="home"), False),
        (says("Nara", state_id="home", valid_from=day(1)), False),
        (says("Nara", state_id="home", valid_from=day(9)), True),
        (says("Nara", state_id="home", valid_from=day(0)), True),
        ({"op": "close", "state_id": "home"}, False),
        (says("Nara", "task", state_id="home"), False),
        ({"op": "close", "state_id": "nowhere"}, False),
        (says("Nara", state_id="nowhere"), True),
    ],
    ids=["current", "named", "later", "earlier", "close", "other kind", "unknown", "new state"],
)
def test_unchanged_since_is_about_the_version_that_would_change(
    user: Memory, update: Json, changes: bool
) -> None:
    user.tell(says("Kyoto", state_id="home", valid_from=day(1)), at=5)
    made = user.tell({**update, "unchanged_since": day(4)}, plan_id="p2", at=6)
    assert bool(made) is changes


@pytest.mark.beyond_reference
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    "update",
    [{"op": "close", "state_id": "home"}, says("By a model.", state_id="home")],
    ids=["close", "upsert"],
)
def test_what_a_user_has_corrected_stays_whatever_a_model_says_later_of_an_earlier_turn(
    user: Memory, update: Json, is_first: bool
) -> None:
    """The correction has come before the model's plan, which stands before it by its time."""
    by_rules = {"extractor": {"name": "rules"}}
    by_model = {"extractor": {"name": "llm"}, "extraction": {"event_ids": ["e1"]}}
    first = {} if is_first else by_rules
    user.made(
        plan("rules", 1, state_updates=[says("Kyoto", state_id="home", valid_from=day(1))], **first)
    )
    user.made(
        plan("hand", 5, state_updates=[says("Kyoto city", state_id="home", valid_from=day(1))])
    )
    update = {**update, "unchanged_since": day(1)}
    assert user.made(plan("model", 1, state_updates=[update], **by_model)) == []
    state = user.state()
    assert (state["body_text"], state["valid_to"]) == ("Kyoto city", None)


def test_an_end_is_no_change_that_unchanged_since_asks_for(user: Memory) -> None:
    user.tell(says("Kyoto", state_id="home", payload={"family": "home"}))
    user.made(plan("over", 8, ends=[{"families": ["home"]}]))
    user.tell(says("Kyoto city", state_id="home", unchanged_since=day(1)), plan_id="p2", at=9)
    state = user.state()
    assert (state["body_text"], state["valid_to"]) == ("Kyoto city", day(8))


def test_an_end_that_no_longer_matches_is_lifted(user: Memory) -> None:
    user.tell(says("Kyoto", state_id="home", payload={"family": "home"}))
    user.made(plan("over", 8, ends=[{"families": ["home"]}], event_id="e8"))
    user.tell(says("", state_id="home", payload={"family": "work"}), plan_id="p2", at=9)
    state = user.state()
    assert (state["valid_to"], state["evidence_event_ids"]) == (None, [])


def test_of_two_ends_the_earliest_alone_is_evidence(user: Memory) -> None:
    user.tell(says("Kyoto", state_id="home", payload={"family": "home"}), event_id="e1")
    user.made(plan("late", 8, ends=[{"families": ["home"]}], event_id="e8"))
    user.made(plan("early", 9, ends=[{"families": ["home"], "at": day(4)}], event_id="e9"))
    state = user.state()
    assert (state["valid_to"], state["evidence_event_ids"]) == (day(4), ["e1", "e9"])
    assert state["updated_at"] == day(9)


@pytest.mark.parametrize(
    ("update", "until"),
    [
        ({"op": "close", "state_id": "home", "valid_to": day(2)}, day(5)),
        ({"op": "close", "state_id": "home", "valid_to": day(7)}, day(7)),
        (says("", state_id="home", valid_to=day(2)), day(5)),
        (says("", state_id="home", valid_from=day(6), valid_to=day(2)), "invalid"),
    ],
    ids=["close before it began", "close", "upsert", "one update gives both"],
)
def test_an_interval_is_not_less_than_empty(user: Memory, update: Json, until: str) -> None:
    user.tell(says("Kyoto", state_id="home", valid_from=day(5)))
    record = plan("p2", 9, state_updates=[update])
    if until == "invalid":
        assert isinstance(decode(encode(record), ("", 0, 0)), Dead)
        return
    user.made(record)
    assert user.state()["valid_to"] == until


@pytest.mark.parametrize(
    ("update", "shown"), [({"entities": []}, ["Ann"]), ({"entities": ["Bo"]}, ["Bo"])]
)
def test_annotations_are_a_default_of_new_states_alone(
    user: Memory, update: Json, shown: list[str]
) -> None:
    notes = {"entities": ["Ann"], "about_start": day(3)}
    user.tell(says("Kyoto", state_id="home"), event_annotations=notes)
    other = {"entities": ["Cy"], "about_start": day(4)}
    user.tell(says("", state_id="home", **update), plan_id="p2", event_annotations=other)
    state = user.state()
    assert (state["entities"], state["valid_from"]) == (shown, day(3))


@pytest.mark.parametrize(
    ("update", "confidence", "note"),
    [
        (prefers("confirm"), 0.5, "old"),
        (prefers("upsert_candidate", note=""), 0.5, "old"),
        (prefers("confirm", confidence=0.3, note="new"), 0.3, "new"),
        (prefers("revoke", confidence=0.3, note="new"), 0.9, "old"),
    ],
    ids=["none given", "empty note", "given", "revoke"],
)
def test_an_update_of_a_preference_without_a_confidence_gives_a_half(
    user: Memory, update: Json, confidence: float, note: str
) -> None:
    first = prefers("confirm", confidence=0.9, note="old")
    user.made(plan("p1", preference_updates=[first]))
    user.made(plan("p2", preference_updates=[update]))
    ((_, known),) = user.rows.scan("p/")
    assert (known.confidence, known.note) == (confidence, note)


MODEL: Json = {"extraction": {"event_ids": ["e"]}}
RULES: Json = {"extractor": {"name": "rules"}}
SENT: Json = {}


@pytest.mark.parametrize(
    ("first", "second", "last"),
    [
        ((9, RULES), (1, RULES), "first"), ((9, MODEL), (1, MODEL), "first"),
        ((9, SENT), (1, SENT), "second"), ((9, SENT), (1, RULES), "first"),
        ((1, SENT), (9, RULES), "second"), ((9, RULES), (1, SENT), "first"),
        ((5, SENT), (5, RULES), "first"), ((5, SENT), (5, MODEL), "first"),
        ((5, MODEL), (5, RULES), "first"),
    ],
)  # fmt: skip
def test_plans_apply_in_their_places(
    first: tuple[float, Json], second: tuple[float, Json], last: str
) -> None:
    user = Memory()
    for name, (at, fields) in (("first", first), ("second", second)):
        polarity = "like" if name == "first" else "dislike"
        update = prefers("confirm", polarity=polarity, note=name)
        user.made(plan(name, at, preference_updates=[update], event_id=name, **fields))
    polarity = "like" if last == "first" else "dislike"
    assert [one for one, status in user.preferences().items() if status == "confirmed"] == [
        (polarity, "tea")
    ]


@pytest.mark.parametrize(("made_by", "text"), [(RULES, "late"), (MODEL, "late"), (SENT, "early")])
def test_a_state_keeps_what_was_said_of_it_last(made_by: Json, text: str) -> None:
    user = Memory()
    for name, at in (("late", 9), ("early", 1)):
        user.tell(says(name, state_id="s", valid_from=day(0)), plan_id=name, at=at, **made_by)
    assert user.state()["body_text"] == text


@pytest.mark.beyond_reference
@pytest.mark.parametrize(
    "update", [{"op": "close"}, says("corrected"), {"op": "close", "valid_to": day(3)}]
)
def test_what_a_sent_plan_names_by_id_it_has_read_whatever_its_clock_says(update: Json) -> None:
    user = Memory()
    user.tell(says("found", state_id="s"), at=9, **RULES)
    (revision,) = user.tell({**update, "state_id": "s"}, plan_id="p2", at=1)
    assert revision["after"] != revision["before"]
    assert user.state()["status"] == ("closed" if update["op"] == "close" else "active")


def test_a_sent_plan_does_not_go_behind_one_that_was_sent_before() -> None:
    """The rules' plan of day 5 stands before both: the first of them is of day 9."""
    sent = [plan("a", 9), plan("b", 1, preference_updates=[prefers("confirm")])]
    ruled = plan("r", 5, preference_updates=[prefers("confirm", polarity="dislike")], **RULES)
    for order in ([*sent, ruled], [ruled, *sent], [sent[0], ruled, sent[1]]):
        user = Memory()
        for record in order:
            user.made(record)
        assert user.preferences() == {("like", "tea"): "confirmed", ("dislike", "tea"): "revoked"}


@pytest.mark.parametrize("kind", ["rules", "hand"])
def test_plans_of_the_rules_neither_count_for_tidying_nor_are_tidied(kind: str) -> None:
    user = Memory()
    fields: Json = {"extractor": {"name": kind}}
    for name in ("one", "two"):
        user.tell(says(state_id=name, valid_from=day(1)), plan_id=name, **fields)
    for number in range(8):
        user.made(plan(f"p{number}"))
    assert len(user.states()) == 2
    assert sum(one["valid_to"] is None for one in user.states().values()) == 1 + (kind == "rules")


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        ({"op": "close", "state_id": "mood"}, "mood_cannot_close"),
        ({"op": "mark_done", "state_id": "mood"}, "mood_cannot_close"),
        (says("calm", state_id="mood"), "kind_differs"),
        (says("calm", "long_mood_state", state_id="fact"), "kind_differs"),
        (says("calm", "long_mood_state", state_id="unknown"), None),
    ],
)
def test_the_mood_is_one_and_takes_no_other_states_id(
    user: Memory, update: Json, reason: str | None
) -> None:
    from streams.folds.memory import mood_id

    user.tell(says(state_id="fact"))
    named = {"mood": mood_id(user.rows)}.get(update["state_id"], update["state_id"])
    record = plan("p2", state_updates=[{**update, "state_id": named}])
    if reason is None:
        assert user.give(record) == "applied"
        return
    with pytest.raises(Refused) as refused:
        user.give(record)
    assert refused.value.reason == reason


@pytest.mark.parametrize("status", ["active", "waiting_input", None])
def test_a_later_turn_reopens_a_closed_session(status: str | None) -> None:
    said = {} if status is None else {"session_status": status}
    told = Told(turn("a", 0, session_status="closed"), turn("b", 1, **said))
    assert (told.document["status"], told.document["closed_reason"]) == (status or "active", None)


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ("Green Tea", "  ｇｒｅｅｎ　tea ", 1),
        ("green tea", "green-tea", 2),
        ("straße", "STRASSE", 1),
    ],
)
def test_items_are_equal_by_their_normalised_content(first: str, second: str, count: int) -> None:
    """Two entries, as one of them is written directly under an id of its own."""
    observed = turn("a", 0, observations=[_background(first)])
    written = turn("b", 1, session_memory_delta={"add": [{"id": "m", **_background(second)}]})
    items = Told(observed, written).document["session_memory"]
    assert len(items) == count
    assert items[0]["content"] == first


def _background(content: str) -> Json:
    return {"type": "background", "content": content, "explicit": True, "confidence": 0.5}


@pytest.mark.parametrize("character", ["\0", "\t", "\n", "\x1f", "\x7f", "\x85", "\x9f"])
@pytest.mark.parametrize(
    ("field", "is_refused"),
    [
        ("event_id", True), ("session_id", True), ("user_id", True), ("task_id", True),
        ("client_id", True), ("tenant", True), ("topic", True), ("intent", True),
        ("artifact", True), ("source", True),
        ("user_input", False), ("agent_answer", False), ("error", False), ("anything", False),
    ],
)  # fmt: skip
def test_ids_names_and_labels_have_no_control_characters(
    field: str, is_refused: bool, character: str
) -> None:
    record = turn("e", 0, **({} if field == "event_id" else {field: f"a{character}b"}))
    if field == "event_id":
        record[field] = f"a{character}b"
    read = decode(encode(record), ("", 0, 0))
    assert isinstance(read, Dead) is is_refused
    if isinstance(read, Dead):
        assert f"{field}: must not contain control characters" in read.detail


@pytest.mark.parametrize(
    ("event_id", "hours", "contents"),
    [("b", 0, []), ("b", 1, []), ("A", 0, ["tea"]), ("b", -1, ["tea"])],
    ids=["one time, greater id", "later", "one time, lesser id", "earlier"],
)
def test_of_two_turns_the_later_one_is_later_by_time_and_id(
    event_id: str, hours: float, contents: list[str]
) -> None:
    """What was written is opposed by a turn that is later than it."""
    written = turn("a", 2, session_memory_delta={"add": [{"id": "m", **_background("tea")}]})
    opposes = {**_background("coffee"), "opposes": "tea"}
    told = Told(written, turn(event_id, 2 + hours, observations=[opposes]))
    shown = [one["content"] for one in told.document["session_memory"]]
    assert [one for one in shown if one == "tea"] == contents


@pytest.mark.parametrize(("hours", "status"), [(1, "waiting_input"), (1.001, "active")])
def test_a_turn_is_later_than_a_question_if_its_time_is(hours: float, status: str) -> None:
    asks = {"type": "recursion", "session_id": "s", "task_id": "t", "trace_id": "r",
            "iteration_index": 0, "occurred_at": turn("a", 1)["occurred_at"],
            "action": {"action_type": "CLARIFY", "output": {}}}  # fmt: skip
    assert Told(asks, turn("z", hours)).document["status"] == status
