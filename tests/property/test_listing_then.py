"""Who and what there was by a time: windows of days, the index, and the tables tell the same."""

from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from schemas.time import MINUTE, format_time
from sinks.history import connect
from sinks.lookup import Lookup
from streams import listing_then, reading, search
from streams.files import local
from streams.listing_then import LAST, Then
from streams.search import active as active_index
from tests.command import ndjson
from tests.property.test_chronicle import clocks
from tests.reference import worlds

Json = dict[str, Any]

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A world lasts for hours."""
    monkeypatch.setattr(listing_then, "DAY", 7 * MINUTE)
    monkeypatch.setattr(active_index, "NEWEST", (2, 7))


def said(root: Path, tenant: str, asked: Then) -> dict[str, list[Any]]:
    """What had been said by then, read row by row; of a turn that has ended, how it ended."""
    sql = """
        SELECT session_id, user_id, event_id, epoch_us(occurred_at), epoch_us(recorded_at),
            status = 'running'
        FROM events WHERE tenant = ?1
        UNION ALL SELECT NULL, user_id, NULL, epoch_us(occurred_at), epoch_us(recorded_at), NULL
        FROM plans WHERE tenant = ?1
    """
    with connect(root, views=["events", "plans"]) as db:
        found = db.execute(sql, [tenant]).fetchall()
    then = [row for row in found if row[3] <= asked.as_of and row[4] <= asked.known_at]
    ended = {(row[0], row[2]) for row in then if row[5] is False}
    then = [row for row in then if not (row[5] and (row[0], row[2]) in ended)]
    return {
        "turns": [row for row in then if row[2] is not None],
        "plans": [row for row in then if row[2] is None],
    }


def active(root: Path, tenant: str, what: str, asked: Then) -> dict[str, int]:
    """Name -> when it was last active."""
    place, found = 1 if what == "users" else 0, said(root, tenant, asked)
    times = defaultdict[str, list[int]](list)
    for row in found["turns"]:
        if row[place] is not None:
            times[row[place]].append(row[3])
    spoke = set(times)
    for row in found["plans"] if what == "users" else ():
        if row[1] not in spoke:
            times[row[1]].append(row[3])
    return {name: max(some) for name, some in times.items()}


def pages(root: Path, tenant: str, what: Any, asked: Then) -> list[tuple[str, str]]:
    """The whole list, two at a time."""
    found: list[tuple[str, str]] = []
    after = asked.after
    with Lookup(root, tenant) as about:
        while page := listing_then.page(about, what, asked._replace(after=after, limit=2)):
            found += page.items()
            name, at = found[-1]
            after = reading.parse_moment(at) or 0, name
    return found


def indexed_pages(root: Path, tenant: str, what: Any, asked: Then) -> list[tuple[str, str]]:
    """The whole list as the index has it, two at a time."""
    found: list[tuple[str, int]] = []
    one = search.Active(
        kind=what[:-1], at=asked.as_of, limit=2, since=asked.since, until=asked.until
    )
    while page := search.active_then(root, tenant, one):
        found += page.items()
        one = msgspec.structs.replace(one, after=found[-1][::-1])
    return [(name, format_time(at)) for name, at in found]


def turns_of(root: Path, tenant: str, what: str, asked: Then) -> dict[str, int]:
    """Name -> how many turns, each counted once in its session."""
    place = 1 if what == "users" else 0
    turns = {(row[place], row[0], row[2]) for row in said(root, tenant, asked)["turns"]}
    count = defaultdict[str, int](int)
    for name, *_ in turns:
        count[name] += 1
    return count


@pytest.mark.parametrize("seed", (0, 1, 2, 3, 22, 24, 27, 28))
def test_a_list_is_that_of_all_that_had_been_said(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    records = worlds.arranged(chance, [*worlds.world(chance), *worlds.world(chance)])
    root = tmp_path / "h"
    tenants = {record.get("tenant", "default") for record in records}
    half = chance.randint(0, len(records))
    for number, some in enumerate((records[:half], records[half:])):  # indexed as it comes
        local.run([str(ndjson(tmp_path / f"{number}.ndjson", some))], root)
        for tenant in tenants:
            search.update(root, tenant)
    for tenant in sorted(tenants):
        for at, known in clocks(root, chance, 4):
            asked = Then(at, LAST if known is None else known)
            for what in ("users", "sessions"):
                expected = active(root, tenant, what, asked)
                in_order = sorted(expected.items(), key=lambda one: (one[1], one[0]), reverse=True)
                told = [(name, format_time(when)) for name, when in in_order]
                assert pages(root, tenant, what, asked) == told, (tenant, what, asked)
                check_counts(root, tenant, what, asked, dict(told))
            check_periods(root, tenant, chance, Then(at))


def check_periods(root: Path, tenant: str, chance: Random, asked: Then) -> None:
    """Of now's knowledge the index tells the same as the tables, in any period."""
    for what in ("users", "sessions"):
        every = sorted(((at, name) for name, at in active(root, tenant, what, asked).items()))
        times = [-LAST, *(at for at, _ in every), LAST]
        for since, until in ((-LAST, LAST), sorted(chance.choices(times, k=2))):
            period = asked._replace(since=since, until=until)
            told = [(name, format_time(at)) for at, name in every[::-1] if since <= at <= until]
            assert pages(root, tenant, what, period) == told, (tenant, what, period)
            assert indexed_pages(root, tenant, what, period) == told, (tenant, what, period)


def check_counts(root: Path, tenant: str, what: Any, asked: Then, page: dict[str, str]) -> None:
    tables = listing_then.listed(root, tenant, what, asked._replace(limit=len(page) + 1))
    assert {name: one["last_active"] for name, one in tables.items()} == page
    if asked.known_at != LAST:
        return
    kind: Any = what[:-1]
    index = search.counted_then(
        root, tenant, search.Then(kind=kind, names=tuple(page), at=asked.as_of)
    )
    turns = turns_of(root, tenant, what, asked)
    for name, one in tables.items():
        assert index[name].turns == one["turns"] == turns.get(name, 0)
        if what == "users":
            held = [
                state
                for state in reading.states(root, tenant, name, asked.as_of, None)
                if state["kind"] != "long_mood_state"
            ]
            assert index[name].held == one["states"] == len(held)
            assert index[name].others == one["sessions"]
        else:
            assert index[name].first == one["user_id"]
