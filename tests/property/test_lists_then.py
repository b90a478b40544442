"""Who and what there was by a time, as known at another: the index tells what the tables hold."""

from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest

from schemas.time import MINUTE
from sinks.history import connect
from streams import history_documents, search
from streams.directory import active_as_of as active_index
from streams.directory import users_and_sessions
from streams.files import file_runner
from tests.command import ndjson
from tests.property.test_chronicle import clocks, recorded_later
from tests.reference import worlds
from tests.tiers import soaked

Json = dict[str, Any]

pytestmark = pytest.mark.nightly

FAR = users_and_sessions.FAR
NONE_HELD = "long_mood_state"


@pytest.fixture(autouse=True)
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A world lasts for hours."""
    monkeypatch.setattr(active_index, "NEWEST", (2, 7))
    for module in (active_index, users_and_sessions):
        monkeypatch.setattr(module, "HOUR", 7 * MINUTE)


class Row(NamedTuple):
    """A turn, or a plan without session and turn."""

    session_id: str | None
    user_id: str | None
    event_id: str | None
    occurred_at: int
    recorded_at: int
    running: bool | None

    def name(self, kind: str) -> str | None:
        return self.user_id if kind == "user" else self.session_id


def said(root: Path, tenant: str, at: int, known: int) -> tuple[list[Row], list[Row]]:
    """The turns and plans by then, read row by row; of a turn that has ended, how it ended."""
    sql = """
        SELECT session_id, user_id, event_id, epoch_us(occurred_at), epoch_us(recorded_at),
            status = 'running'
        FROM events WHERE tenant = ?1
        UNION ALL SELECT NULL, user_id, NULL, epoch_us(occurred_at), epoch_us(recorded_at), NULL
        FROM plans WHERE tenant = ?1
    """
    with connect(root, views=["events", "plans"]) as db:
        found = list(map(Row._make, db.execute(sql, [tenant]).fetchall()))
    then = [row for row in found if row.occurred_at <= at and row.recorded_at <= known]
    ended = {(row.session_id, row.event_id) for row in then if row.running is False}
    turns = [
        row
        for row in then
        if row.event_id is not None
        and not (row.running and (row.session_id, row.event_id) in ended)
    ]
    return turns, [row for row in then if row.event_id is None]


def active(turns: list[Row], plans: list[Row], kind: str) -> dict[str, int]:
    """Name -> when it was last active, by a plan where it has no turn."""
    found: dict[str, int] = {}
    for rows in (turns, plans):
        times = defaultdict[str, list[int]](list)
        for row in rows:
            if (name := row.name(kind)) is not None and name not in found:
                times[name].append(row.occurred_at)
        found |= {name: max(some) for name, some in times.items()}
    return found


def counted(root: Path, tenant: str, kind: str, turns: list[Row], name: str,
            at: int, known: int) -> search.OwnerCounts:  # fmt: skip
    theirs = [row for row in turns if row.name(kind) == name]
    number = len({(row.session_id, row.event_id) for row in theirs})
    if kind == "session":
        named = [(row.occurred_at, row.user_id) for row in theirs if row.user_id is not None]
        users = {user for _, user in named}
        return search.OwnerCounts(number, len(users), first=min(named)[1] if named else None)
    held = history_documents.states(root, tenant, name, at, None if known == FAR else known)
    states = sum(state["kind"] != NONE_HELD for state in held)
    return search.OwnerCounts(number, len({row.session_id for row in theirs}), states)


def pages(root: Path, tenant: str, asked: search.ActiveQuery) -> list[tuple[str, int]]:
    """The whole list, two at a time."""
    found: list[tuple[str, int]] = []
    while page := search.active_as_of(root, tenant, asked):
        found += page.items()
        asked = msgspec.structs.replace(asked, after=found[-1][::-1])
    return found


def check(root: Path, tenant: str, chance: Random, at: int, known: int) -> None:
    turns, plans = said(root, tenant, at, known)
    for kind in ("user", "session"):
        every = active(turns, plans, kind)
        in_order = sorted(((when, name) for name, when in every.items()), reverse=True)
        times = [-FAR, *every.values(), FAR]
        for since, until in ((-FAR, FAR), sorted(chance.choices(times, k=2))):
            asked = search.ActiveQuery(
                kind=kind, at=at, known_at=known, limit=2, since=since, until=until
            )
            told = [(name, when) for when, name in in_order if since <= when <= until]
            assert pages(root, tenant, asked) == told, (tenant, asked)
        then = search.CountQuery(kind=kind, names=(*every, "nobody"), at=at, known_at=known)
        found = search.counts_as_of(root, tenant, then)
        assert found.pop("nobody") == search.OwnerCounts(0, 0)
        assert found == {
            name: counted(root, tenant, kind, turns, name, at, known) for name in every
        }, (tenant, then)


@pytest.mark.parametrize("seed", soaked((1, 0, 3, 22, 27, 2, 24, 28, *range(100, 108)), 3))
def test_a_list_is_that_of_all_that_had_been_said(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    records = worlds.arranged(chance, [*worlds.world(chance), *worlds.world(chance)])
    if seed % 2:
        records = recorded_later(chance, records)
    root = tmp_path / "h"
    tenants = sorted({record.get("tenant", "default") for record in records})
    half = chance.randint(0, len(records))
    for number, some in enumerate((records[:half], records[half:])):  # indexed as it comes
        file_runner.run([str(ndjson(tmp_path / f"{number}.ndjson", some))], root)
        for tenant in tenants:
            search.update(root, tenant)
    for tenant in tenants:
        for at, known in clocks(root, chance, 4):
            check(root, tenant, chance, at, FAR if known is None else known)
        search.update(root, tenant, rebuild=True)
        for at, known in clocks(root, chance, 3):
            check(root, tenant, chance, at, FAR if known is None else known)
