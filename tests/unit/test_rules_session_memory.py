"""What a session remembers, rule by rule (docs/rules.md, "Session memory")."""

from typing import Any

import pytest

from tests.unit.session_told import Json, Told, turn


def seen(event_id: str, hours: float, type_: str, content: str = "tea", **fields: Any) -> Json:
    """A turn with one observation."""
    said = {"type": type_, **fields}
    said |= {"decision": content} if type_ == "decision" else {"content": content}
    return turn(event_id, hours, observations=[said])


def wrote(event_id: str, hours: float, **delta: Any) -> Json:
    return turn(event_id, hours, session_memory_delta=delta)


def contents(told: Told) -> list[str]:
    return [one.get("decision") or one["content"] for one in told.document["session_memory"]]


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


def test_opposing_takes_away_until_three_turns_after_it() -> None:
    told = Told(seen("a", 0, "preference", explicit=True))
    told.say(seen("b", 1, "preference", "coffee", opposes="TEA"))
    assert contents(told) == []
    assert [one["op"] for one in told.revisions("preference")] == ["add", "remove"]
    told.say(seen("c", 2, "preference"), seen("d", 3, "preference"))
    assert contents(told) == []
    assert contents(told.say(seen("e", 4, "preference"))) == ["tea"]


def item(item_id: str, content: str = "tea", type_: str = "preference", **fields: Any) -> Json:
    return {"id": item_id, "type": type_, "content": content, **fields}


@pytest.mark.parametrize("delta", [{"update": [{"id": "x", "content": "y"}]}, {"delete": ["x"]}])
def test_an_unknown_id_is_a_counted_warning(delta: Json) -> None:
    told = Told(wrote("a", 0, **delta))
    assert (told.outcomes, told.warnings) == (["applied"], ["unknown_memory_item"])
    assert contents(told) == []


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
