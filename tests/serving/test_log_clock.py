"""When the log took a record, where the machine's clock stepped back before the server started
again: `recorded_at` continues from the log."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from streams.apps import compact_and_forget
from streams.files.inbox import FOLDER, Inbox
from streams.files.inbox_recovery import fold_leftover
from streams.files.manifest import Settings
from streams.files.open_generation import locked
from streams.generations import promotion, rebuild
from streams.serving.backends.embedded import EmbeddedBackend
from tests.command import rows, turn
from tests.waiting import WITHIN

NOON = 1_800_000_000_000_000
"""Microseconds: what the machine's clock says at first."""
HOUR = 3_600_000_000
RECORDED = "SELECT epoch_us(recorded_at) FROM events ORDER BY src_offset"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The machine's clock, as the log reads it."""
    now = [NOON]
    reading = SimpleNamespace(time_ns=lambda: now[0] * 1000)
    monkeypatch.setattr("streams.files.inbox.time", reading)
    return now


def serve(root: Path, events: Sequence[str]) -> None:
    """A server's life: it takes a turn after the other, and ends."""

    async def post() -> None:
        async with EmbeddedBackend(root) as memory:
            for event in events:
                record = turn(event, occurred_at="2026-01-01T00:00:00Z")
                (outcome,) = await memory.submit([json.dumps(record).encode()], WITHIN)
                assert outcome.ending == "applied"

    asyncio.run(post())


def leave(root: Path, event: str) -> None:
    """What a server took that was killed before it folded it."""
    (root / FOLDER).mkdir(exist_ok=True)
    committed = rows(root, "SELECT coalesce(max(src_offset), 0) FROM events")[0][0]
    record = turn(event, occurred_at="2026-01-01T00:00:00Z")
    Inbox(root / FOLDER, committed).append([json.dumps(record).encode()])


def recorded(root: Path) -> list[int]:
    return [at for (at,) in rows(root, RECORDED)]


def test_a_server_that_starts_again_goes_on_from_the_time_of_its_last_record(
    tmp_path: Path, clock: list[int]
) -> None:
    serve(tmp_path / "h", ["a", "b"])
    clock[0] -= HOUR
    serve(tmp_path / "h", ["c"])
    clock[0] -= HOUR
    serve(tmp_path / "h", ["d"])
    assert recorded(tmp_path / "h") == [NOON] * 4
    clock[0] = NOON + 5
    serve(tmp_path / "h", ["e"])
    assert recorded(tmp_path / "h")[-1] == NOON + 5


@pytest.mark.parametrize("folder", ["a server", "a command"])
def test_a_server_that_was_killed_goes_on_from_its_log(
    tmp_path: Path, clock: list[int], folder: str
) -> None:
    """Whoever folds what is in the log: the next server, or a command before it."""
    root = tmp_path / "h"
    serve(root, ["a"])
    clock[0] += HOUR
    leave(root, "b")
    clock[0] -= 2 * HOUR
    if folder == "a command":
        with locked(root):
            fold_leftover(root, clock[0])
    serve(root, ["c"])
    serve(root, ["d"])
    assert recorded(root) == [NOON, NOON + HOUR, NOON + HOUR, NOON + HOUR]


def test_a_generation_that_was_promoted_goes_on_from_it_too(
    tmp_path: Path, clock: list[int]
) -> None:
    root = tmp_path / "h"
    serve(root, ["a"])
    rebuild.backfill(root, "v2", Settings())
    promotion.promote(root, "v2")
    clock[0] -= HOUR
    serve(root, ["b"])
    assert recorded(root) == [NOON, NOON]


def test_what_was_known_before_a_record_came_does_not_change(
    tmp_path: Path, clock: list[int]
) -> None:
    root = tmp_path / "h"
    serve(root, ["a"])
    clock[0] -= HOUR
    before = rows(root, f"SELECT count(*) FROM events WHERE epoch_us(recorded_at) < {NOON}")
    serve(root, ["b"])
    assert rows(root, f"SELECT count(*) FROM events WHERE epoch_us(recorded_at) < {NOON}") == before


def test_it_is_not_forgotten_with_the_users(tmp_path: Path, clock: list[int]) -> None:
    root = tmp_path / "h"
    serve(root, ["a"])
    compact_and_forget.forget(root, "default", "u")
    clock[0] -= HOUR
    serve(root, ["b"])
    assert recorded(root) == [NOON]
