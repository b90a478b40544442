"""Every list inside a row has a cap, however much comes in."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from streams.folds import affect, end_facts, seen_ids, session_memory, states, task_machine
from streams.folds.constants import Rules
from streams.folds.effects import SEP
from tests.property.world import (
    DAYS,
    Json,
    World,
    fact,
    feeling,
    plan,
    recursion,
    result,
    signal,
    turn,
    world,
)

CAPS = {
    "Session.intents": Rules().max_intents, "Session.window": Rules().max_conversations,
    "Session.waiting": Rules().max_running, "Session.running": Rules().max_running,
    "MemoryEntry.showings": 20, "MemoryEntry.ops": session_memory.MAX_OPS,
    "Task.order": Rules().max_recursions, "Machine.plan": Rules().max_plan_steps,
    "Machine.claims": task_machine.MAX_CLAIMS, "Machine.short_term": Rules().max_short_term,
    "Machine.constraints": 100, "MoodRow.felt": Rules().max_moments,
    "MoodRow.words": affect.MAX_WORDS, "State.versions": states.MAX_VERSIONS,
    "Ends.ends": end_facts.MAX_ENDS, "Topic.days": 361, "Topic.answers": Rules().max_answers,
    "Learner.artifacts": 4, "Learner.difficulties": 3,
}  # fmt: skip
"""What docs/constants.md and the modules state; a list of no name here may hold 65 at most."""
UNNAMED = 65
BLOCK = 2 * seen_ids.BLOCK
ID_RUN = seen_ids.BLOCK * seen_ids.ENTRY  # ids seen: RUN at most, or turns that left the newest


def lists(row: Any, name: str) -> Iterator[tuple[str, int]]:
    """Every list in a row and its length, named by the row or tuple it lies in."""
    fields = getattr(row, "_fields", None) or getattr(row, "__struct_fields__", ())
    if fields:
        for field in fields:
            yield from lists(getattr(row, field), f"{type(row).__name__}.{field}")
    elif isinstance(row, tuple | list):
        yield name, len(row)
        for one in row:
            yield from lists(one, name)


def turns() -> Iterable[Json]:
    for n in range(400):
        yield turn(
            f"e{n}", n, client_id=f"c{n % 2}", task_id=f"t{n // 4}", intent="quiz", topic=f"x{n}",
            user_id="u1", affect=feeling((n % 5) / 5),
            observations=[
                {"type": "background", "content": f"seen {n}", "explicit": n % 2 == 0},
                {"type": "preference", "content": "tea", "confidence": 0.9},
            ],
            session_memory_delta={
                "add": [{"id": "m", "type": "decision", "decision": "kept",
                         "confidence": 1.0}] * (n == 0),
                "update": [{"id": "m", "rationale": f"{n}"}],
            },
        )  # fmt: skip
    for n in range(100):
        yield turn(f"w{n}", 500 + n, status="running", task_id=f"w{n}")


def steps() -> Iterable[Json]:
    for n in range(260):
        yield recursion(
            f"r{n:03}", n, n, "CALL_TOOL", max_iteration=1000, step_id=f"s{n}",
            output={"tool_calls": [{"id": f"c{n}"}]}, short_term_memory_append=["one", "two"],
            constraints=[f"{i}" for i in range(100)], plan=[{"step_id": f"s{i}"} for i in range(n)],
        )  # fmt: skip
        yield result(f"r{n:03}", n, f"c{n}")
    for n in range(300):
        yield result("r259", 300, f"other{n}", call_index=0)
    for n in range(100):
        yield result(f"early{n}", 300, 0)
        yield recursion(f"ask{n}", 0, 300, "CLARIFY", task_id=f"ask{n}")


def lessons() -> Iterable[Json]:
    for n in range(520):
        metadata = {"correct_rate": 0.5, "difficulty": ("easy", "medium", "hard")[n % 3]}
        yield signal(f"a{n}", n * DAYS, topic="daily", metadata=metadata, artifact="quiz_set")
        yield signal(f"b{n}", n * DAYS, topic=f"topic {n}")


def plans() -> Iterable[Json]:
    for n in range(120):
        yield plan(
            f"p{n}", n,
            fact("f", f"version {n}", valid_from=turn("x", n)["occurred_at"]),
            {"op": "upsert", "kind": "long_mood_state", "body_text": f"mood {n}"},
            preference_updates=[
                {"op": "confirm", "domain": "d", "polarity": "like", "subject": "tea"}
            ],
            event_affect=feeling(0.1),
            ends=[{"families": ["pet"], "value": f"cat {n}"}],
        )  # fmt: skip


@pytest.fixture(scope="module")
def heavy() -> World:
    return world(*turns(), *steps(), *lessons(), *plans())


def test_guarantee_7_every_list_in_every_row_has_a_cap(heavy: World) -> None:
    longest: dict[str, int] = {}
    for (table, _, key), entity in heavy.store.entities.items():
        for name, row in entity.scan(""):
            if isinstance(row, bytes):
                assert len(row) <= ID_RUN, (table, key, name)
            kind = "Block" if name[0] == "o" else type(row).__name__
            for where, length in lists(row, kind):
                longest[where] = max(longest.get(where, 0), length)
    over = {
        where: length
        for where, length in longest.items()
        if length > CAPS.get(where, BLOCK if where in ("Block", "Newest.entries") else UNNAMED)
    }
    assert over == {}
    full = {"Session.window", "Session.running", "MemoryEntry.showings", "MemoryEntry.ops",
            "Task.order", "Machine.short_term", "MoodRow.felt", "MoodRow.words",
            "State.versions", "Ends.ends", "Topic.days", "Topic.answers"}  # fmt: skip
    assert {where: longest[where] for where in full} == {where: CAPS[where] for where in full}


def test_guarantee_7_rows_of_their_own_are_bounded_in_number(heavy: World) -> None:
    session, user = heavy.rows_of("sessions", "s1"), heavy.rows_of("users", "u1")
    conversations = len(list(session.scan("c/")))
    assert conversations == Rules().max_conversations
    assert len(list(session.scan("r/"))) == Rules().max_running
    assert len(list(session.scan("m/"))) <= Rules().max_memory_items + Rules().max_candidates
    assert len(list(session.scan("q/t1\x1f"))) == Rules().max_recursions
    most = Rules().max_recursions + Rules().max_waiting_results
    assert len(list(session.scan("w/t1\x1f"))) <= most
    assert len(list(user.scan("y/"))) == 500


def marks(kind: str, event_ids: list[str], at: int) -> Json:
    updates = [{"op": kind, "event_id": event_id} for event_id in event_ids]
    return plan(f"marks {at}", at, event_updates=updates)


def test_guarantee_7_marks_of_events_are_bounded_and_what_they_ended_stays_ended() -> None:
    """The first events have a fact, a preference or an end; nothing rests on the later ones."""
    rules = {"name": "rules"}
    said = World()
    for n in range(40):
        field, update = [
            ("state_updates", {"op": "upsert", "kind": "fact", "body_text": f"fact {n}"}),
            ("preference_updates", {"op": "confirm", "domain": "d", "polarity": "like",
                                    "subject": f"tea {n}"}),
            ("ends", {"families": ["pet"], "value": f"cat {n}"}),
        ][n % 3]  # fmt: skip
        made: Json = {field: [update]}
        said.say(plan(f"said {n}", n, event_id=f"said{n}", extractor=rules, **made))
    said.say(marks("retract", [f"said{n}" for n in range(40)], 50))
    user = said.rows_of("users", "u1")
    before = [dict(user.scan(letter)) for letter in ("s/", "p/", "e/")]
    for batch in range(10):
        kind = "restore" if batch % 2 else "retract"
        events = [f"idle{batch}-{n}" for n in range(200)]
        said.say(marks(kind, events, 100 - batch if batch < 5 else 100 + batch))
    assert [dict(user.scan(letter)) for letter in ("s/", "p/", "e/")] == before
    kept = {name[2:].partition(SEP)[0] for name in user.names("v/")}
    assert {f"said{n}" for n in range(40)} <= kept
    latest = {f"idle{batch}-{n}" for batch in range(5, 10) for n in range(200)}
    assert kept - {f"said{n}" for n in range(40)} == latest
    assert len(latest) == end_facts.MAX_MARKS


def test_guarantee_7_marks_of_one_id_in_many_sessions_are_bounded() -> None:
    """Programs that count from 1 in each session: a fact rests on that of one session."""
    said, rules = World(), {"name": "rules"}
    allergy = {"op": "upsert", "kind": "fact", "body_text": "allergic to nuts"}
    told = {"event_id": "1", "session_id": "s0", "extractor": rules, "state_updates": [allergy]}
    said.say(plan("told", 0, **told))
    count = end_facts.MAX_MARKS + 20
    for n in range(count):
        updates = [{"op": "retract", "event_id": "1"}]
        said.say(plan(f"marks {n}", 10 + n, session_id=f"s{n}", event_updates=updates))
    kept = {name[2:].partition(SEP)[2] for name in said.rows_of("users", "u1").names("v/")}
    assert kept == {"s0"} | {f"s{n}" for n in range(count - end_facts.MAX_MARKS, count)}


def test_guarantee_7_families_of_ends_are_bounded() -> None:
    said = World()
    most, names = (
        end_facts.MAX_FAMILIES,
        [f"family{n:04}" for n in range(end_facts.MAX_FAMILIES + 60)],
    )
    for n in range(0, len(names), 20):
        over = [{"families": [name]} for name in names[n : n + 20]]
        said.say(plan(f"ends {n}", n // 20 + 1, ends=over))
    kept = said.rows_of("users", "u1").names("e/")
    assert kept == [f"e/{name}" for name in names[-most:]]


def test_guarantee_7_documents_keep_the_caps_of_their_schemas(heavy: World) -> None:
    document, machine_document = heavy.session(), heavy.task()
    assert len(document["conversations"]) == 20
    assert document["conversation_count"] == 200
    assert len(document["session_memory"]) <= 200
    (kept,) = (one for one in document["session_memory"] if one["id"] == "m")
    assert (kept["decision"], kept["rationale"]) == ("kept", "399")  # 400 writes, 32 remembered
    assert len(document["context"]["recent_intents"]) == 10
    steps_kept = len(machine_document["recursion_history"]) + sum(
        len(step["recursion_history"]) for step in machine_document["context"]["plan"]
    )
    assert steps_kept == 200
    assert machine_document["older_recursions"] == 60
    assert len(machine_document["context"]["plan"]) == 100
    assert len(machine_document["context"]["memory"]["short_term"]) == 50
    profile = heavy.profile()
    assert profile is not None
    assert len(profile["history"]["topics_visited"]) == 500
