"""What is folded again from the history is what was folded first: `forget`, `show session --as-of`,
a server over a sink's history and `backfill` all go this way."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.apps.compact_and_forget import forget
from streams.files import file_runner
from streams.files.manifest import Settings
from streams.files.open_generation import opened
from streams.files.refold import refold, refold_user
from streams.folds import documents
from streams.folds.constants import Rules
from streams.folds.session_state import HEADER
from streams.generations.promotion import promote
from streams.generations.rebuild import backfill
from streams.pipeline.entity import Entity
from tests.command import ndjson, rows
from tests.property.strategies import MINUTES, events, write_plans
from tests.property.world import Json, World, encode, when

pytestmark = pytest.mark.nightly

FEW = settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
NUMBERS = {
    "deep": {"in": [1e15, ""]}, "big": 1e15, "tiny": 5e-324, "whole": 2**63 - 1, "none": None,
    "list": [1e22, -0.0],
}  # fmt: skip


@st.composite
def worlds(draw: st.DrawFn) -> list[Json]:
    """Events in any order, plans in theirs; some say when they were recorded."""
    told = draw(st.permutations(draw(events()))) + draw(write_plans(most=4))
    for record in told:
        if draw(st.booleans()):
            record["recorded_at"] = when(draw(MINUTES) + 5_000)
        if draw(st.integers(0, 3)) == 0:
            record["numbers"] = NUMBERS
    return told


@contextmanager
def history_of(records: list[Json]) -> Iterator[Path]:
    """A history of these records."""
    with TemporaryDirectory() as folder:
        file = ndjson(Path(folder, "said.ndjson"), records)
        history = Path(folder, "history")
        file_runner.run([str(file)], history)
        yield history


def content(entity: Entity) -> dict[str, object]:
    """All rows but for the index of ids, which depends on the order they came in."""
    return {name: row for name, row in entity.scan("") if name[0] not in "iobOhu"}


def shown(entity: Entity) -> object:
    if entity.where[0] == "sessions":
        return documents.session(entity, Rules()) if entity.get(HEADER) else None
    return content(entity)


@FEW
@given(worlds())
def test_every_session_and_user_folded_again_is_as_it_was(records: list[Json]) -> None:
    with history_of(records) as history, opened(history) as (store, _):
        keys = [(name, *key) for name in ("sessions", "users") for key in store.entities(name)]
        first = World(store)
        again = World()
        for table, tenant, key in keys:
            made = (refold if table == "sessions" else refold_user)(history, tenant, key, Rules())
            again.store.entities[table, tenant, key] = made
            was = store.entity(table, tenant, key)
            assert shown(made) == shown(was), (table, key)
            if table == "sessions":
                tasks = was.names("t/")
                assert made.names("t/") == tasks
                for name in tasks:
                    asked = (name.removeprefix("t/"), key)
                    assert again.task(*asked) == first.task(*asked)
        for record in records:
            assert again.say(record) == first.say(record), record  # a refused plan may now apply


@FEW
@given(worlds())
def test_after_a_stranger_is_forgotten_every_record_is_a_duplicate(records: list[Json]) -> None:
    with history_of(records) as history:
        with opened(history) as (store, _):
            first = [World(store).say(record)[0] for record in records]
        forget(history, "default", "stranger")
        with opened(history) as (store, _):
            assert [World(store).say(record)[0] for record in records] == first


@FEW
@given(worlds(), st.sampled_from(("u1", "u2")))
def test_after_one_is_forgotten_what_others_said_is_a_duplicate(
    records: list[Json], gone: str
) -> None:
    left = {"u1", "u2"} - {gone}
    theirs = [one for one in records if one["type"] == "turn" and one.get("user_id") in left]
    with history_of(records) as history:
        highest = "SELECT owner_id, max(seq) FROM revisions WHERE owner_id LIKE 's%' GROUP BY ALL"
        forget(history, "default", gone)
        assert rows(history, "SELECT count(*) FROM events WHERE user_id = ?", gone) == [(0,)]
        with opened(history) as (store, _):
            made = World(store)
            assert set(made.say(*theirs)) <= {"duplicate"}
            for owner, seq in rows(history, highest):
                assert store.entity("sessions", "default", owner)[HEADER].seq > seq


@FEW
@given(worlds())
def test_a_generation_of_the_same_rules_knows_every_record(records: list[Json]) -> None:
    with history_of(records) as history:
        with opened(history) as (store, _):
            first = [World(store).say(record)[0] for record in records]
        backfill(history, "again", Settings())
        promote(history, "again")
        with opened(history / "generations" / "again") as (store, _):
            assert [World(store).say(record)[0] for record in records] == first


def test_a_record_whose_canonical_form_is_too_long_for_a_line_is_folded_again(
    tmp_path: Path,
) -> None:
    """1e15 takes 4 bytes in a line and 18 in what is kept of it."""
    long = b'{"type": "turn", "event_id": "e", "session_id": "s", "user_id": "u", '
    long += b'"occurred_at": "2026-01-01T00:00:00Z", "user_input": "' + b"x" * 850_000
    long += b'", "many": [' + b"1e15," * 19_000 + b"1]}"
    file = tmp_path / "long.ndjson"
    file.write_bytes(long + b"\n" + encode({"type": "turn", "event_id": "o", "session_id": "s",
                     "user_id": "other", "occurred_at": "2026-01-01T00:00:00Z"}))  # fmt: skip
    history = tmp_path / "history"
    assert file_runner.run([str(file)], history)["applied"] == 2
    forget(history, "default", "other")
    with opened(history) as (store, _):
        assert World(store).say(long) == ["duplicate"]
    backfill(history, "again", Settings())
    assert rows(history / "generations" / "again", "SELECT reason FROM dead_letters") == []
    assert rows(history / "generations" / "again", "SELECT count(*) FROM session_current") == [(1,)]


def test_a_turn_with_described_images_is_a_duplicate_after_another_is_forgotten(
    tmp_path: Path,
) -> None:
    at = {"session_id": "s", "occurred_at": "2026-01-01T00:00:00Z", "type": "turn"}
    told = at | {"event_id": "e", "user_id": "u", "image_summaries": ["a red door"]}
    asked = at | {"event_id": "r", "user_id": "u", "task_id": "t", "status": "running"}
    other = at | {"event_id": "o", "user_id": "other"}
    history = tmp_path / "history"
    file_runner.run([str(ndjson(tmp_path / "said.ndjson", [told, asked, other]))], history)
    forget(history, "default", "other")
    again = file_runner.run([str(ndjson(tmp_path / "again.ndjson", [told, asked]))], history)
    assert (again["duplicate"], again["dead"]) == (2, 0)
    assert rows(history, "SELECT task_id FROM task_current") == [("t",)]
