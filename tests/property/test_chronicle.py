"""A session and a user as of any time, on both clocks: what is kept in memory in the order of time
answers as the views do, and as records folded again."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from schemas.time import SECOND, format_time, parse_time
from sinks import kept
from sinks.history import connect
from streams import reading
from streams.chronicle import session, user
from streams.errors import DataRefused
from streams.files import local
from streams.sample import CONVERSATIONS
from tests.command import ndjson
from tests.property import chronicle_slowly as slowly
from tests.reference import worlds
from tests.tiers import soaked

Json = dict[str, Any]
MINUTE = 60 * SECOND
LATE = parse_time("2040-01-01T00:00:00Z")

pytestmark = pytest.mark.nightly


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    kept.forget()
    yield
    kept.forget()


def told_of_user(root: Path, tenant: str, name: str, at: int, known: int | None) -> Json:
    found = user.past(root, tenant, name, at, known)
    del found["counts"]
    return found | user.known_of(root, tenant, name, at, known)


def slowly_of_user(root: Path, tenant: str, name: str, at: int, known: int | None) -> Json:
    given = root, tenant, name, at, known
    return {
        "ended": slowly.ended(*given), "moments": slowly.moments(*given),
        "mastery": slowly.mastery(*given), "sessions": slowly.sessions(*given),
        "steps": slowly.steps(root, tenant, [name]), **reading.known_of(*given),
    }  # fmt: skip


def told_of_session(root: Path, tenant: str, name: str, at: int, known: int | None) -> Any:
    try:
        page = session.session(root, tenant, name, size=3, chunk=1, as_of=at, known_at=known)
        del page["steps"]
        return page | {"document": session.then(root, tenant, name, at, known, ())[0]}
    except DataRefused as refused:
        return str(refused)


def slowly_of_session(root: Path, tenant: str, name: str, at: int, known: int | None) -> Any:
    try:
        page = slowly.session(root, tenant, name, size=3, chunk=1, as_of=at, known_at=known)
        return page | {"document": reading.session(root, tenant, name, at, at, known)}
    except DataRefused as refused:
        return str(refused)


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
    asked = 0
    for tenant, name, is_user in who(root):
        told, known = (
            (told_of_user, slowly_of_user) if is_user else (told_of_session, slowly_of_session)
        )
        for at, known_at in clocks(root, chance, number):
            given = root, tenant, name, at, known_at
            assert told(*given) == known(*given), given[1:]
            asked += 1
    return asked


@pytest.mark.parametrize("seed", soaked(range(12), 3))
def test_any_world_is_told_as_the_views_tell_it(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    for number in range(3):
        records = worlds.arranged(chance, worlds.world(chance))
        if number == 2:
            records = recorded_later(chance, records)
        root = tmp_path / f"h{number}"
        file = ndjson(tmp_path / "records.ndjson", records)
        local.run([str(file)], root)
        if (root / "events").exists() or (root / "plans").exists():
            check(root, chance, 3)


def test_conversations_are_told_as_the_views_tell_them(tmp_path: Path) -> None:
    local.run([str(CONVERSATIONS)], tmp_path / "h")
    assert check(tmp_path / "h", Random(0), 6) > 20
