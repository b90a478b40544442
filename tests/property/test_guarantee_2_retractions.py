"""Retracted events (docs/rules.md, "Long-term memory"): in any order of the plans memory is the
same, and what still holds is what would hold if the events had never been."""

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.folds import preferences, states
from tests.reference import compared, replayed
from tests.unit.memory_told import Json, Memory, plan, prefers, says

EVENTS = (("a", "s1"), ("b", "s1"), ("a", "s2"), ("c", "s2"))
"""Ids with their sessions: one id is in both."""
CITIES = ("Leeds", "York", "Bath")


def _fact(draw: Any, day: float, is_same: bool) -> Json:
    city = draw(st.sampled_from(CITIES))
    payload = {"family": "home", "value": city}
    return says(city, state_id="home", payload=payload) | ({} if is_same else {"valid_from": day})


@st.composite
def plans(draw: Any) -> list[Json]:
    """What the rules make of four events, each a day after the one before."""
    made = []
    for number, (event_id, session_id) in enumerate(EVENTS, 1):
        kind = draw(st.sampled_from(("fact", "correction", "own", "like", "end", "close")))
        day = f"2026-01-0{number}T00:00:00Z"
        fields: Json = {}
        if kind in ("fact", "correction"):
            fields["state_updates"] = [_fact(draw, day, kind == "correction")]  # type: ignore[arg-type]
        elif kind == "own":
            own = {"family": "home", "value": draw(st.sampled_from(CITIES))}
            fields["state_updates"] = [says(f"of {number}", state_id=f"f{number}", payload=own)]
        elif kind == "like":
            polarity = draw(st.sampled_from(("like", "dislike")))
            fields["preference_updates"] = [prefers("confirm", polarity=polarity)]
        else:
            families = ["home"] if kind == "end" else ["like", "dislike"]
            words = draw(st.sampled_from(("", "Leeds"))) if kind == "end" else ""
            fields["ends"] = [{"families": families, "value": words}]
        made.append(
            plan(
                f"p{number}", number, event_id=event_id, session_id=session_id,
                extractor={"name": "rules"}, **fields,
            )
        )  # fmt: skip
    return made


Event = tuple[str, str]


def marks(op: str, events: list[Event], at: float) -> list[Json]:
    """Plans, each of one session."""
    made = []
    for session_id in sorted({session_id for _, session_id in events}):
        updates = [
            {"op": op, "event_id": event_id, "reason": "the message was edited"}
            for event_id, of in events
            if of == session_id
        ]
        name = f"{op}-{at}-{session_id}"
        made.append(plan(name, at, session_id=session_id, event_updates=updates))
    return made


def memory_of(records: list[Json]) -> Memory:
    memory = Memory()
    for record in records:
        assert memory.give(record) == "applied"
    return memory


def everything(memory: Memory) -> Json:
    """All documents of states and preferences by the names of their rows."""
    known = {
        name: [states.document(row, one) for one in row.versions]
        for name, row in memory.rows.scan("s/")
    }
    return known | {name: preferences.document(row) for name, row in memory.rows.scan("p/")}


def standing(memory: Memory) -> tuple[Json, dict[tuple[str, str], str]]:
    """What holds now: texts of active states, and preferences that are not revoked."""
    active = {
        name: (state["body_text"], state["valid_from"])
        for name, state in memory.states().items()
        if state["status"] == "active"
    }
    likes = {name: one for name, one in memory.preferences().items() if one != "revoked"}
    return active, likes


@given(st.data(), plans(), st.lists(st.sampled_from(EVENTS), min_size=1, unique=True))
def test_guarantee_2_a_retraction_counts_in_any_order(
    data: st.DataObject, made: list[Json], gone: list[Event]
) -> None:
    back = data.draw(st.lists(st.sampled_from(gone), unique=True))
    sent = [*made, *marks("retract", gone, 9), *marks("restore", back, 10)]
    memory = memory_of(sent)
    assert everything(memory_of(data.draw(st.permutations(sent)))) == everything(memory)
    away = set(gone) - set(back)
    left = [one for one in made if (one["event_id"], one["session_id"]) not in away]
    assert standing(memory) == standing(memory_of(left))


@given(plans(), st.lists(st.sampled_from(EVENTS), min_size=1, unique=True))
def test_guarantee_4_a_retraction_has_a_revision_for_each_change(
    made: list[Json], gone: list[Event]
) -> None:
    memory = memory_of(made)
    before = everything(memory)
    revisions = [one for mark in marks("retract", gone, 9) for one in memory.made(mark)]
    after = everything(memory)
    changed = {name for name in before if before[name] != after[name]}
    assert {one["entity_id"] for one in revisions} == {name[2:] for name in changed}
    reasons = {one["reason"] for one in revisions}
    assert reasons <= {"the message was edited", "rules"}, "an end that closes what is back"


def of_rules(event_id: str, number: int) -> Json:
    """A plan of the rules: a home of its own, from its day on."""
    upsert = says(event_id, state_id="home", valid_from=f"2026-01-0{number}T00:00:00Z")
    return plan(
        event_id, number, event_id=event_id, session_id="s1", extractor={"name": "rules"},
        state_updates=[upsert],
    )  # fmt: skip


THREE_DAYS = [of_rules(event_id, number) for number, event_id in enumerate("abc", 1)]


@pytest.mark.parametrize("gone", "abc")
@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_guarantee_4_revisions_end_at_what_a_retraction_leaves(
    gone: str, order: tuple[int, ...]
) -> None:
    """Also if a plan after the retraction removes the version of the retracted event."""
    records = [*THREE_DAYS, *marks("retract", [(gone, "s1")], 9)]
    memory = memory_of([records[number] for number in order])
    revisions = [
        {"tenant": memory.rows.tenant, **row}
        | {name: row[name] and json.dumps(row[name]) for name in ("before", "after")}
        for row in memory.table("revisions")
    ]
    ended = replayed.replay(revisions)
    assert ended.broken == []
    assert replayed.told(ended, compared.flat_rows([memory.rows], [])) == []
