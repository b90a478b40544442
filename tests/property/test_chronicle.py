"""A session and a user as of any time, on both clocks, in random worlds."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from schemas.events import Signal, Turn
from schemas.time import SECOND, format_time, parse_time
from sinks.history import connect
from sinks.lookup import Lookup
from streams import history_documents
from streams.errors import DataRefused
from streams.files import file_runner
from streams.point_in_time import session, user
from tests.command import ndjson, turn
from tests.planned import CONVERSATIONS
from tests.reference import learner, worlds
from tests.tiers import soaked

Json = dict[str, Any]
MINUTE = 60 * SECOND
LATE = parse_time("2040-01-01T00:00:00Z")

pytestmark = pytest.mark.nightly


def mastery(root: Path, tenant: str, user_id: str, as_of: int, known_at: int | None) -> list[Json]:
    """A learner's scores by topic after each lesson with an answer: each time the profile that the
    reference model makes of the lessons up to then."""
    when = "user_id = ? AND epoch_us(occurred_at) <= ? AND epoch_us(recorded_at) <= ?"
    values = user_id, as_of, LATE if known_at is None else known_at
    lessons: list[learner.Lesson] = []
    with Lookup(root, tenant) as about:
        for table, of, kind in (
            ("events", "status <> 'running'", Turn),
            ("signals", "scope = 'user'", Signal),
        ):
            for (doc,) in about.rows(table, ("doc",), f"{of} AND {when}", *values):
                lessons.append(kind.model_validate_json(doc))
    answered = {
        lesson.occurred_at for lesson in lessons
        if lesson.topic and lesson.metadata and lesson.metadata.correct_rate is not None
    }  # fmt: skip
    levels = []
    for at in sorted(answered):
        profile = learner.profile(user_id, [one for one in lessons if one.occurred_at <= at])
        assert profile is not None
        levels.append({"at": format_time(at), "scores": profile["mastery_score"]})
    return levels[-user.LESSONS :]


def check_user(root: Path, tenant: str, name: str, at: int, known_at: int | None) -> None:
    past = user.past(root, tenant, name, at, known_at)
    assert past["mastery"] == mastery(root, tenant, name, at, known_at)
    assert all(one["ended_at"] <= format_time(at) for one in past["ended"])
    true_now = {
        (one["state_id"], one["valid_from"])
        for one in history_documents.states(root, tenant, name, at, known_at)
    }
    assert true_now.isdisjoint((one["entity_id"], one["valid_from"]) for one in past["ended"])
    assert past["counts"] == {name: len(past[name]) for name in past["counts"]}, "of few, all"


def check_session(root: Path, tenant: str, name: str, at: int, known_at: int | None) -> None:
    try:
        pages = [session.session(root, tenant, name, size=3, as_of=at, known_at=known_at)]
    except DataRefused:
        return  # no turn by then
    while len(pages) * 3 < pages[0]["turn_count"]:
        pages.append(
            session.session(
                root, tenant, name, size=3, chunk=len(pages), as_of=at, known_at=known_at
            )
        )
    turns = [one for page in pages for one in page["turns"]]
    assert turns == sorted(turns, key=lambda one: (one["occurred_at"], one["event_id"]))
    assert len(turns) == pages[0]["turn_count"]
    last = turns[-1]["event_id"]
    assert session.session(
        root, tenant, name, size=3, turn=last, as_of=at, known_at=known_at
    )["chunk"] == len(pages) - 1  # fmt: skip
    document, _ = session.documents_as_of(root, tenant, name, at, known_at, ())
    assert document == history_documents.session(root, tenant, name, at, at, known_at)


def who(root: Path) -> list[tuple[str, str, bool]]:
    """Tenant and name of all users and sessions; whether it is a user."""
    sql = """
        SELECT DISTINCT tenant, user_id, true FROM events WHERE user_id IS NOT NULL
        UNION SELECT DISTINCT tenant, user_id, true FROM plans
        UNION SELECT DISTINCT tenant, session_id, false FROM events ORDER BY ALL
    """
    with connect(root, views=["events", "plans"]) as db:
        return db.execute(sql).fetchall()


def clocks(root: Path, chance: Random, number: int) -> list[tuple[int, int | None]]:
    """Times around those of records."""
    sql = (
        "SELECT DISTINCT epoch_us(occurred_at), epoch_us(recorded_at) FROM events "
        "UNION SELECT epoch_us(occurred_at), epoch_us(recorded_at) FROM plans ORDER BY ALL"
    )
    with connect(root, views=["events", "plans"]) as db:
        times = db.execute(sql).fetchall()
    found: list[tuple[int, int | None]] = [(LATE, None)]
    for _ in range(number if times else 0):
        at, known = chance.choice(times)[0], chance.choice(times)[1]
        shift = chance.choice((-1, 0, 1, MINUTE))
        found.append((at + shift, chance.choice((None, known + shift, LATE))))
    return found


def recorded_later(chance: Random, records: list[Json]) -> list[Json]:
    """Some were recorded long after they happened, in any order; some before."""
    late = [-30, 0, 0, 1, 30, 600, 5_000]
    return [
        record
        if chance.random() < 0.4
        else record
        | {"recorded_at": format_time(
            parse_time(record["occurred_at"]) + chance.choice(late) * MINUTE
        )}
        for record in records
    ]  # fmt: skip


def check(root: Path, chance: Random, number: int) -> int:
    checked = 0
    for tenant, name, is_user in who(root):
        for at, known_at in clocks(root, chance, number):
            (check_user if is_user else check_session)(root, tenant, name, at, known_at)
            checked += 1
    return checked


@pytest.mark.parametrize("seed", soaked(range(6), 2))
def test_any_world_as_of_any_time(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    for number in range(2):
        records = worlds.arranged(chance, worlds.world(chance))
        if number:
            records = recorded_later(chance, records)
        root = tmp_path / f"h{number}"
        file_runner.run([str(ndjson(tmp_path / "records.ndjson", records))], root)
        if (root / "events").exists() or (root / "plans").exists():
            check(root, chance, 2)


def test_conversations_as_of_any_time(tmp_path: Path) -> None:
    file_runner.run([str(CONVERSATIONS)], tmp_path / "h")
    assert check(tmp_path / "h", Random(0), 3) > 20


def test_a_page_shows_what_was_committed_since_and_nothing_of_another_tenant(
    tmp_path: Path,
) -> None:
    root = tmp_path / "h"
    file_runner.run([str(CONVERSATIONS)], root)
    before = user.past(root, "default", "emma", LATE, None)
    more = turn("late", user_id="emma", session_id="late", occurred_at="2026-04-01T00:00:00Z")
    file_runner.run([str(ndjson(tmp_path / "more.ndjson", [more]))], root)
    after = user.past(root, "default", "emma", LATE, None)
    assert {one["session_id"] for one in after["sessions"]} == {
        "late", *(one["session_id"] for one in before["sessions"])
    }  # fmt: skip
    assert session.session(root, "default", "late", size=10)["turn_count"] == 1
    assert not any(user.past(root, "other", "emma", LATE, None)["counts"].values())
