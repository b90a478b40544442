"""A replica's lane: whole transactions only, one changelog only, and how fresh it is."""

import asyncio
from collections.abc import Sequence
from time import monotonic, sleep, time
from typing import Any, NamedTuple

import pytest
from aiokafka.structs import TopicPartition
from msgspec.msgpack import encode

from streams.folds.outcome import Outcome
from streams.folds.preferences import PREFERENCES
from streams.folds.seen_ids import RUNS
from streams.kafka.agents.outcomes import OutcomeNote
from streams.kafka.transport.changelog import AWAY, Replaced
from streams.kafka.transport.marker import MARKER_KEY, Marker, TablePosition
from streams.kafka.transport.rows import COOLED, WARM, MemoryRows
from streams.kafka.transport.throttled_tenants import Ahead
from streams.pipeline.row_formats import Reached
from streams.serving.backends.change_waiters import Changes
from streams.serving.backends.replica_lane import ENDINGS, ReplicaLane
from tests.next_format import NEXT, NOTE, TODAY, register

WHERE = b"s\0default\0s-1\0"


class Record(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int = 0
    headers: tuple[tuple[str, bytes], ...] = ()


def row(offset: int, value: bytes | None, name: bytes = b"i/0") -> Record:
    return Record(offset, WHERE + name, value)


def marker(offset: int, following: int, log: str = "log", **note: object) -> Record:
    return Record(
        offset, MARKER_KEY, Marker({"turns": following}, {"ends": {}, **note}, log, 1).encode()
    )


def opened(beginning: int, end: int) -> ReplicaLane:
    """Of a changelog that reaches from `beginning` to `end`."""
    made = ReplicaLane(TopicPartition("changelog", 0), "sessions", MemoryRows(), Changes())
    made.progress.open(beginning, end)
    read(made, [], made.progress.position)
    return made


def read(lane: ReplicaLane, records: Sequence[Record], position: int) -> None:
    lane.take(lane.progress.take(records, position))


@pytest.fixture
def lane() -> ReplicaLane:
    """Of an empty changelog: ready."""
    return opened(0, 0)


def seen(lane: ReplicaLane, run: str = "0") -> bytes | None:
    return lane.entity("default", "s-1").get(RUNS.key(run))


def test_rows_are_shown_with_their_marker_and_not_before(lane: ReplicaLane) -> None:
    read(lane, [row(0, b"a"), row(1, b"b", b"i/1"), marker(2, 1)], 4)
    read(lane, [row(4, b"A")], 5)
    assert (seen(lane), seen(lane, "1")) == (b"a", b"b")
    read(lane, [row(5, b"B", b"i/1"), marker(6, 2)], 8)
    assert (seen(lane), seen(lane, "1")) == (b"A", b"B")


def test_rows_that_a_worker_has_not_upgraded_yet_are_shown_as_it_will_upgrade_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(monkeypatch)
    old = ["id", "food", "like", "ramen", "confirmed", 0.9, None, [], 1, 1]
    new = [*old[:NOTE], "!", *old[NOTE + 1 :]]
    lane = ReplicaLane(TopicPartition("changelog", 0), "users", MemoryRows(), Changes())
    lane.progress.open(0, 0)
    read(lane, [], 0)

    def written(offset: int, reached: Reached, *users: str, row: list[Any]) -> list[Record]:
        keys = [f"u\0default\0{user}\0p/id".encode() for user in users]
        found = [Record(offset + n, key, encode(row)) for n, key in enumerate(keys)]
        told = Marker({"turns": 1}, {"ends": {}}, "log", 4, reached).encode()
        return [*found, Record(offset + len(keys), MARKER_KEY, told)]

    def notes() -> list[str | None]:
        users = (lane.entity("default", user) for user in ("anna", "ben"))
        return [user[PREFERENCES.key("id")].note for user in users]

    read(lane, written(0, Reached(TODAY), "anna", "ben", row=old), 4)
    assert notes() == ["!", "!"]
    read(lane, written(4, Reached(NEXT, "u\0default\0anna"), "anna", row=new), 7)
    assert notes() == ["!", "!"]
    read(lane, written(7, Reached(NEXT), "ben", row=new), 10)
    assert notes() == ["!", "!"]


def test_several_transactions_at_once(lane: ReplicaLane) -> None:
    second = [row(4, b"A"), row(5, b"B", b"i/1"), marker(6, 2)]
    read(lane, [row(0, b"a"), marker(1, 1), *second, row(8, b"c")], 9)
    assert (seen(lane), seen(lane, "1")) == (b"A", b"B")
    read(lane, [marker(9, 3)], 11)
    assert (seen(lane), seen(lane, "1")) == (b"c", b"B")


def test_rows_before_the_restores_end_are_all_in_it_although_compaction_took_their_marker() -> None:
    """What was read at once reaches beyond the end, into a transaction that is not all read."""
    lane = opened(0, 7)
    read(lane, [row(0, b"a"), row(1, b"b", b"i/1")], 2)
    assert not lane.ready
    read(lane, [row(4, b"A"), row(5, b"B", b"i/1"), row(7, b"next")], 8)  # 6 was the marker
    assert lane.ready
    assert (seen(lane), seen(lane, "1")) == (b"A", b"B")
    read(lane, [marker(8, 3)], 10)
    assert (seen(lane), seen(lane, "1")) == (b"next", b"B")


def test_what_was_read_stays_as_it_was(lane: ReplicaLane) -> None:
    read(lane, [row(0, b"a"), marker(1, 1)], 3)
    before = lane.entity("default", "s-1")
    read(lane, [row(3, None), marker(4, 2)], 6)
    assert before.get(RUNS.key("0")) == b"a"
    assert seen(lane) is None


def test_half_a_transaction_is_read_again_by_the_next_consumer(lane: ReplicaLane) -> None:
    read(lane, [row(0, b"a"), marker(1, 1), row(3, b"b")], 4)
    lane.progress.open(0, 6)
    assert lane.progress.position == 1, "the newest marker is looked at again"
    read(lane, [marker(1, 1), row(3, b"b"), marker(4, 2)], 6)
    assert seen(lane) == b"b"


def test_is_ready_at_the_end_and_not_before() -> None:
    lane = opened(5, 12)
    assert not lane.ready
    read(lane, [row(5, b"a")], 6)  # compaction took its marker
    assert not lane.ready
    read(lane, [row(9, b"b"), marker(10, 7), row(12, b"c")], 13)
    assert lane.ready
    assert seen(lane) == b"b", "what comes after the end waits for its marker"


@pytest.mark.parametrize(
    "other",
    [
        marker(4, 2, log="another"),
        marker(4, 0),
        Record(4, MARKER_KEY, None),
        Record(4, MARKER_KEY, b"no marker"),
    ],
    ids=["another log", "went back", "tombstone", "nonsense"],
)
def test_a_marker_of_another_changelog_is_refused(lane: ReplicaLane, other: Record) -> None:
    read(lane, [row(0, b"a"), marker(1, 1)], 3)
    with pytest.raises(Replaced):
        read(lane, [row(3, b"b"), other], 5)
    asyncio.run(lane.forget())
    lane.progress.open(0, 5)
    assert not lane.ready
    assert seen(lane) is None


@pytest.mark.parametrize("key", [b"junk\xff", b"\0\0\0\0", b"", None])
def test_a_row_of_somebody_else_is_no_end(lane: ReplicaLane, key: bytes | None) -> None:
    with lane.changes.of(("sessions", "default", "s-1")) as changed:
        read(lane, [Record(0, key, b"?"), row(1, b"a"), marker(2, 1)], 4)
        assert changed.is_set()
    assert seen(lane) == b"a"


def test_rows_are_packed_a_few_at_a_time() -> None:
    """Requests wait for it: half of them at once took 70 ms."""
    rows = MemoryRows()
    rows.put((b"s\0default\0s-%d\0i/0" % number, b"%d" % number) for number in range(WARM + 10))
    rows.commit(TablePosition())
    assert len(rows._warm) == WARM - COOLED
    assert len(rows) == WARM + 10
    for number in (0, COOLED + 9, COOLED + 10, WARM + 9):
        assert rows.read(b"s\0default\0s-%d" % number) == {"i/0": b"%d" % number}


def test_what_records_ended_as(lane: ReplicaLane) -> None:
    ended = OutcomeNote()
    ended.duplicate("turns", 1)
    ended.duplicate("turns", 2)
    ended.dead("turns", 4, "conflicting_duplicate", "e has other content")
    assert len(ended.runs["turns"]) == 2, "what lies side by side is one run"
    read(lane, [marker(0, 5, ends=ended.runs)], 2)
    said = [lane.outcome("turns", offset, "default") for offset in range(6)]
    assert said == [
        Outcome("applied"), Outcome("duplicate"), Outcome("duplicate"), Outcome("applied"),
        Outcome("dead", "conflicting_duplicate", "e has other content"), Outcome("accepted"),
    ]  # fmt: skip


def test_no_ending_is_made_up(lane: ReplicaLane) -> None:
    """Of what was restored, of a worker that says nothing, and of very many."""
    restored = opened(0, 2)
    read(restored, [marker(0, 5)], 2)
    read(restored, [marker(2, 6)], 4)
    assert restored.outcome("turns", 4, "default") == Outcome("accepted")
    assert restored.outcome("turns", 5, "default") == Outcome("applied")

    silent = Record(0, MARKER_KEY, Marker({"turns": 3}, {}, "log", 1).encode())
    read(lane, [silent, marker(2, 4)], 4)
    assert lane.outcome("turns", 2, "default") == Outcome("accepted")
    assert lane.outcome("turns", 3, "default") == Outcome("applied")

    last = 4 + ENDINGS
    read(lane, [marker(4, last + 1, ends={"turns": [[4, last, "duplicate"]]})], 6)
    assert lane.outcome("turns", 4, "default") == Outcome("accepted")
    assert lane.outcome("turns", 5, "default") == Outcome("duplicate")
    assert lane.outcome("turns", last, "default") == Outcome("duplicate")


async def test_a_tenant_that_is_behind_waits_and_others_do_not(lane: ReplicaLane) -> None:
    """A worker has folded others' records up to 9, and of `noisy` those before 3."""
    ahead = Ahead({"turns": 9}, {"noisy": {"turns": 3}}).to_note()
    late, quiet = lane.passed("turns", 5, "noisy"), lane.passed("turns", 7, "quiet")
    ended = OutcomeNote()
    ended.duplicate("turns", 7)
    read(lane, [marker(0, 2, **ahead, ends=ended.runs)], 2)
    assert quiet.done() and not late.done()
    assert lane.outcome("turns", 7, "quiet") == Outcome("duplicate")
    assert lane.outcome("turns", 8, "quiet") == Outcome("applied")
    assert lane.outcome("turns", 9, "quiet") == Outcome("accepted")
    assert lane.outcome("turns", 2, "noisy") == Outcome("applied")
    assert lane.outcome("turns", 5, "noisy") == Outcome("accepted")
    assert (lane.shown_up_to.offsets, lane.whole_up_to.offsets) == ({"turns": 9}, {"turns": 2})
    read(lane, [marker(2, 6, **ahead)], 4)
    assert late.done() and lane.outcome("turns", 5, "noisy") == Outcome("applied")
    assert lane.outcome("turns", 6, "noisy") == Outcome("accepted")
    read(lane, [marker(4, 9)], 6)
    assert lane.outcome("turns", 6, "noisy") == Outcome("applied")


async def test_waits_for_the_marker_behind_a_record(lane: ReplicaLane) -> None:
    passed = lane.passed("turns", 3, "default")
    read(lane, [marker(0, 3)], 2)
    assert not passed.done()
    read(lane, [marker(2, 4)], 4)
    assert passed.done()
    assert lane.passed("turns", 3, "default").done()
    assert not lane.passed("turns", 4, "default").done()


async def test_tells_who_changed(lane: ReplicaLane) -> None:
    with lane.changes.of(("sessions", "default", "s-1")) as event:
        read(lane, [row(0, b"a")], 1)
        assert not event.is_set()
        read(lane, [marker(1, 1)], 3)
        assert event.is_set()


def test_what_was_deleted_in_a_long_absence_does_not_stay(lane: ReplicaLane) -> None:
    """Brokers keep a tombstone for a day; a lane that was away for longer never sees it."""
    read(lane, [row(0, b"a"), marker(1, 1)], 3)
    lane.progress.heard(3, monotonic() - AWAY - 1)
    with pytest.raises(Replaced):
        read(lane, [marker(7, 2)], 9)
    asyncio.run(lane.forget())
    lane.progress.open(0, 9)
    read(lane, [marker(7, 2)], 9)
    assert lane.ready
    assert seen(lane) is None


def test_a_clock_that_is_set_back_makes_nothing_fresh(lane: ReplicaLane) -> None:
    """The broker has answered once, an hour ahead of what our clock says now."""
    stamp = int((time() + 3600) * 1000)
    lane.progress.answered(stamp, 0)
    sleep(0.2)
    lane.progress.answered(stamp, 0)
    assert lane.progress.age >= 0.2


def test_is_as_fresh_as_the_end_it_has_reached(lane: ReplicaLane) -> None:
    now = monotonic()
    lane.progress.heard(0, now - 3000)
    assert lane.progress.age >= 3000
    lane.progress.heard(6, now - 2000)
    read(lane, [row(0, b"a"), marker(1, 1)], 3)
    lane.progress.heard(9, now - 1000)
    assert lane.progress.age >= 2999, "the end of 2000 s ago is not reached"
    read(lane, [row(3, b"a"), marker(4, 2)], 6)
    lane.progress.heard(12, now - 500)
    assert 1999 < lane.progress.age < 2900
