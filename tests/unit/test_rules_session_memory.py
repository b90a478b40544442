"""What a session remembers, rule by rule (docs/rules.md, "Session memory")."""

from typing import Any

import pytest

from tests.unit.session_told import Json, Told, turn

# --- session memory ---------------------------------------------------------------------------


def seen(event_id: str, hours: float, type_: str, content: str = "tea", **fields: Any) -> Json:
    """A turn with one observation."""
    said = {"type": type_, **fields}
    said |= {"decision": content} if type_ == "decision" else {"content": content}
    return turn(event_id, hours, observations=[said])


def wrote(event_id: str, hours: float, **delta: Any) -> Json:
    return turn(event_id, hours, session_memory_delta=delta)


def contents(told: Told) -> list[str]:
    return [one.get("decision") or one["content"] for one in told.document["session_memory"]]


@pytest.mark.parametrize("type_", ["preference", "constraint", "background"])
def test_what_is_explicit_is_written_at_once(type_: str) -> None:
    (item,) = Told(seen("a", 0, type_, explicit=True)).document["session_memory"]
    assert (item["type"], item["content"], item["evidence"]) == (type_, "tea", ["a"])


@pytest.mark.parametrize("type_", ["preference", "background"])
def test_three_different_turns_promote_a_candidate(type_: str) -> None:
    told = Told(seen("a", 0, type_), seen("b", 1, type_))
    assert contents(told) == []
    told.say(seen("b", 1, type_))
    assert contents(told) == []
    told.say(seen("c", 2, type_))
    (item,) = told.document["session_memory"]
    assert item["evidence"] == ["a", "b", "c"]
    assert [one["op"] for one in told.revisions(type_)] == ["add"]


def test_the_same_observation_twice_in_one_turn_counts_once() -> None:
    said = {"type": "background", "content": "tea"}
    told = Told(seen("a", 0, "background"), turn("b", 1, observations=[said, said]))
    assert contents(told) == []


def test_same_content_is_the_same_normalised_text() -> None:
    texts = ["Green  Tea", "green tea", "ＧＲＥＥＮ\nTEA"]
    told = Told(*(seen(f"e{at}", at, "background", text) for at, text in enumerate(texts)))
    assert contents(told) == ["ＧＲＥＥＮ\nTEA"]


@pytest.mark.parametrize(("field", "written"), [("environment", 1), ("source", 0)])
def test_a_constraint_is_written_when_the_environment_requires_it(field: str, written: int) -> None:
    how = {"environment": True} if field == "environment" else {"source": "user"}
    told = Told(*(seen(f"e{at}", at, "constraint", **how) for at in range(4)))
    assert len(contents(told)) == written


@pytest.mark.parametrize(
    ("confidences", "expected"), [((0.4,), 0.4), ((0.4, 0.2), 0.7), ((0.1, 0.4, 0.2), 0.85)]
)
def test_a_capability_grows_surer_with_each_showing(
    confidences: tuple[float, ...], expected: float
) -> None:
    turns = [
        seen(f"e{at}", at, "capability_assumption", confidence=confidence)
        for at, confidence in enumerate(confidences)
    ]
    (known,) = Told(*turns).document["session_memory"]
    assert known["confidence"] == pytest.approx(expected)


def test_a_capability_shown_twice_in_one_turn_is_shown_once() -> None:
    said = {"type": "capability_assumption", "content": "tea", "confidence": 0.4}
    (known,) = Told(turn("a", 0, observations=[said, said])).document["session_memory"]
    assert known["confidence"] == pytest.approx(0.4)


def test_opposing_takes_away_until_three_turns_after_it() -> None:
    told = Told(seen("a", 0, "preference", explicit=True))
    told.say(seen("b", 1, "preference", "coffee", opposes="TEA"))
    assert contents(told) == []
    assert [one["op"] for one in told.revisions("preference")] == ["add", "remove"]
    told.say(seen("c", 2, "preference"), seen("d", 3, "preference"))
    assert contents(told) == []
    assert contents(told.say(seen("e", 4, "preference"))) == ["tea"]


def test_a_late_opposition_counts_by_its_own_time() -> None:
    opposing = seen("b", 1.5, "preference", "coffee", opposes="tea")
    turns = [seen(f"e{at}", at, "preference") for at in range(3)]
    for told in (Told(*turns, opposing), Told(opposing, *turns)):
        assert contents(told) == []


def test_opposing_content_of_another_type_does_nothing() -> None:
    told = Told(seen("a", 0, "preference", explicit=True))
    assert contents(told.say(seen("b", 1, "background", "x", opposes="tea"))) == ["tea"]


REASONED = {"source": "agent", "rationale": "cheap"}


@pytest.mark.parametrize("source", ["user", "joint", "agent"])
def test_a_decision_needs_a_source_and_a_rationale(source: str) -> None:
    told = Told(seen("a", 0, "decision", source=source), seen("b", 1, "decision", rationale="r"))
    assert contents(told) == []
    told.say(seen("c", 2, "decision", source=source, rationale="r"))
    (item,) = told.document["session_memory"]
    assert (item["decision"], item["source"], item["reversible"]) == ("tea", source, True)


def test_a_decision_without_a_rationale_stays_a_candidate_however_often_it_shows() -> None:
    assert contents(Told(*(seen(f"e{n}", n, "decision", source="user") for n in range(5)))) == []


def test_a_decision_that_supersedes_another_removes_it() -> None:
    told = Told(seen("a", 0, "decision", **REASONED))
    told.say(seen("b", 1, "decision", "coffee", supersedes="Tea", **REASONED))
    assert contents(told) == ["coffee"]
    assert [one["op"] for one in told.revisions("decision")] == ["add", "remove", "add"]


def test_without_supersedes_both_decisions_stand() -> None:
    told = Told(seen("a", 0, "decision", **REASONED))
    told.say(seen("b", 1, "decision", "coffee", **REASONED))
    assert contents(told) == ["tea", "coffee"]


@pytest.mark.parametrize(
    ("source", "left"), [("agent", ["tea", "x"]), ("joint", ["tea", "x"]), ("user", ["x"])]
)
def test_an_irreversible_decision_yields_to_the_user_alone(source: str, left: list[str]) -> None:
    fixed = seen("a", 0, "decision", reversible=False, **REASONED)
    other = seen("b", 1, "decision", "x", supersedes="tea", source=source, rationale="r")
    assert contents(Told(fixed, other)) == left
    assert contents(Told(other, fixed)) == left


# --- direct writes ----------------------------------------------------------------------------


def item(item_id: str, content: str = "tea", type_: str = "preference", **fields: Any) -> Json:
    return {"id": item_id, "type": type_, "content": content, **fields}


def test_a_direct_write_needs_no_threshold() -> None:
    (written,) = Told(wrote("a", 0, add=[item("m", scope="here")])).document["session_memory"]
    assert (written["id"], written["content"], written["scope"]) == ("m", "tea", "here")


def test_an_update_changes_the_fields_it_gives() -> None:
    told = Told(wrote("a", 0, add=[item("m", confidence=0.9)]))
    told.say(wrote("b", 1, update=[{"id": "m", "content": "coffee"}]))
    (written,) = told.document["session_memory"]
    assert (written["content"], written["confidence"]) == ("coffee", 0.9)
    assert [one["op"] for one in told.revisions("preference")] == ["add", "update"]


@pytest.mark.parametrize("reverse", [False, True])
def test_per_id_the_latest_write_wins(reverse: bool) -> None:
    writes = [wrote("a", 0, add=[item("m", "old")]), wrote("b", 1, add=[item("m", "new")])]
    assert contents(Told(*(reversed(writes) if reverse else writes))) == ["new"]


def test_a_delete_leaves_a_tombstone_for_earlier_writes() -> None:
    told = Told(wrote("b", 1, delete=["m"]), wrote("a", 0, add=[item("m")]))
    assert contents(told) == []
    assert contents(told.say(wrote("c", 2, add=[item("m")]))) == ["tea"]


@pytest.mark.parametrize("delta", [{"update": [{"id": "x", "content": "y"}]}, {"delete": ["x"]}])
def test_an_unknown_id_is_a_counted_warning(delta: Json) -> None:
    told = Told(wrote("a", 0, **delta))
    assert (told.outcomes, told.warnings) == (["applied"], ["unknown_memory_item"])
    assert contents(told) == []


def test_an_equal_type_and_content_merges() -> None:
    told = Told(wrote("a", 0, add=[item("m", confidence=0.3)]))
    told.say(wrote("b", 1, add=[item("n", "TEA", confidence=0.8), item("o", "tea", "background")]))
    merged, other = told.document["session_memory"]
    assert (merged["id"], merged["confidence"], merged["evidence"]) == ("m", 0.8, ["a", "b"])
    assert other["type"] == "background"


def test_a_direct_write_merges_with_what_was_observed() -> None:
    told = Told(seen("a", 0, "preference", explicit=True), wrote("b", 1, add=[item("m")]))
    (merged,) = told.document["session_memory"]
    assert merged["evidence"] == ["a", "b"]


def test_evidence_names_the_20_newest_events() -> None:
    told = Told(*(seen(f"e{n:02}", n, "capability_assumption") for n in range(25)))
    (known,) = told.document["session_memory"]
    assert known["evidence"] == [f"e{n:02}" for n in range(5, 25)]


@pytest.mark.beyond_reference
def test_of_201_items_the_least_confident_falls_out_with_a_revision() -> None:
    def batch(first: int, last: int) -> Json:
        add = [item(f"m{n}", f"c{n}", confidence=0.1 if n in (7, 70) else 0.5)
               for n in range(first, last)]  # fmt: skip
        return wrote(f"e{first}", first, add=add)

    told = Told(*(batch(n, min(n + 50, 201)) for n in range(0, 201, 50)))
    assert len(contents(told)) == 200
    assert "c7" not in contents(told)
    (removed,) = (one for one in told.revisions("preference") if one["op"] == "remove")
    assert (removed["entity_id"], removed["reason"]) == ("m7", "over the cap")


@pytest.mark.beyond_reference
def test_of_101_candidates_the_oldest_is_forgotten() -> None:
    def others(event_id: str, hours: float, count: int) -> Json:
        said = [{"type": "background", "content": f"{event_id}{n}"} for n in range(count)]
        return turn(event_id, hours, observations=said)

    told = Told(seen("a", 0, "background"), others("b", 1, 50), others("c", 2, 50))
    told.say(seen("d", 3, "background"), seen("e", 4, "background"))
    assert contents(told) == []
    assert contents(told.say(seen("f", 5, "background"))) == ["tea"]
