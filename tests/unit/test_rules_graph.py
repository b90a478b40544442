"""Links between events and threads of them, rule by rule (docs/rules.md, "Long-term memory")."""

from typing import Any

from tests.unit.memory_told import Json, Memory, link, plan


def thread(op: str, thread_key: str, event_id: str | None = None, **fields: Any) -> Json:
    return {"op": op, "thread_key": thread_key, **fields} | (
        {"event_id": event_id} if event_id else {}
    )


def graphed(user: Memory, **updates: list[Json]) -> list[tuple[str, str]]:
    """A plan of graph updates of its own; (op, what) of each revision it made.

    Each change is one row of `threads` or `links` and one revision of the same op.
    """
    plan_id = f"p{len(user.table('plans'))}"
    tables = ("threads", "links")
    before = {name: len(user.table(name)) for name in tables}
    revisions = user.made(plan(plan_id, context_updates=updates))
    for name in tables:
        rows = user.table(name)[before[name] :]
        ops = [one["op"] for one in revisions if f"{one['entity_type']}s" == name]
        assert [row["op"] for row in rows] == ops
    shown = [one["after"] or one["before"] for one in revisions]
    what = [one.get("thread_key", one.get("label", "")) for one in shown]
    return [
        (one["op"], f"{name} {ids['event_id']}" if "event_id" in ids else name)
        for one, name, ids in zip(revisions, what, shown, strict=True)
    ]


def members(user: Memory) -> dict[str, float]:
    """`thread event` -> confidence."""
    found = user.rows.scan("x/")
    return {name[2:].replace("\x1f", " "): member.confidence for name, member in found}


def test_remove_takes_an_event_out_of_a_thread(user: Memory) -> None:
    graphed(user, threads=[thread("put", "trip", "e1")])
    assert graphed(user, threads=[thread("remove", "trip", "e1")]) == [("remove", "trip e1")]
    assert members(user) == {}
    assert graphed(user, threads=[thread("remove", "trip", "e1")]) == []


def test_merge_into_moves_every_event_and_the_surer_membership_stands(user: Memory) -> None:
    graphed(
        user,
        threads=[
            thread("put", "trip", "e1", confidence=0.9),
            thread("put", "trip", "e2"),
            thread("put", "trip", "e3"),
            thread("put", "travel", "e1", confidence=0.3),
            thread("put", "travel", "e3", confidence=0.8),
        ],
    )
    made = graphed(user, threads=[thread("merge_into", "trip", into="travel")])
    assert sorted(made) == [
        ("put", "travel e1"),
        ("put", "travel e2"),
        ("remove", "trip e1"),
        ("remove", "trip e2"),
        ("remove", "trip e3"),
    ]
    assert members(user) == {"travel e1": 0.9, "travel e2": 0.5, "travel e3": 0.8}


def test_a_link_is_unique_by_its_ends_and_label(user: Memory) -> None:
    assert graphed(user, links=[link(), link(label="same_topic")]) == [
        ("put", "caused_by"),
        ("put", "same_topic"),
    ]
    assert graphed(user, links=[link()]) == []
    assert graphed(user, links=[link(confidence=0.8)]) == [("put", "caused_by")]
    assert len(list(user.rows.scan("k/"))) == 2


def test_remove_takes_a_link_away_once(user: Memory) -> None:
    graphed(user, links=[link()])
    assert graphed(user, links=[link("remove")]) == [("remove", "caused_by")]
    assert graphed(user, links=[link("remove")]) == []
    assert list(user.rows.scan("k/")) == []
