"""The memory of a history, asked without HTTP: what is answered, and when."""

import asyncio
import json
import logging
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event
from typing import Any

import _duckdb
import pytest

from sinks import locks
from sinks.files import data_files
from sinks.history_root import HistoryWriteError
from streams.apps import compact_and_forget
from streams.errors import ConfigurationError
from streams.extractors import rules
from streams.files import file_runner
from streams.files.inbox import Group, Inbox, NoRoom
from streams.files.open_generation import writing
from streams.files.store import Store
from streams.folds import documents
from streams.folds.outcome import Outcome
from streams.folds.session_state import HEADER
from streams.serving.backends import embedded, fold_thread, read_cache
from streams.serving.backends.backend import Busy, NotReady
from streams.serving.backends.embedded import EmbeddedBackend
from streams.serving.backends.write_queue import PostedLog
from tests.command import files_holding, rows, turn
from tests.waiting import WITHIN, eventually

pytestmark = pytest.mark.nightly

POSTS = 40
SLOW = Event()


def encoded(*records: Any) -> list[bytes]:
    return [json.dumps(one).encode() for one in records]


def spoken(number: int, **fields: Any) -> Any:
    """The number-th turn of a session, a second after the last."""
    at = f"2026-01-01T00:00:{number:02}Z"
    return turn(f"e{number}", occurred_at=at, user_input=str(number)) | fields


async def said(memory: EmbeddedBackend, session: str = "s") -> list[str]:
    """What was said in a session."""
    found = await memory.rows("sessions", "default", session)
    if found.rows.get(HEADER) is None:
        return []
    return [one["user_input"] for one in documents.session(*found)["conversations"]]


async def test_guarantee_3_every_record_hears_what_it_ended_as(tmp_path: Path) -> None:
    async with EmbeddedBackend(tmp_path / "h") as memory:
        found = await memory.submit(
            [
                *encoded(turn("e1"), turn("e1"), turn("e1", user_input="other")),
                *encoded(turn("e2", source="meta_request")),
                b'{"type": "turn"}',
            ],
            WITHIN,
        )
        assert [one.ending for one in found] == ["applied", "duplicate", "dead", "withheld", "dead"]
        assert found[2].reason == "conflicting_duplicate"
        assert found[4].reason == "invalid" and "event_id" in (found[4].detail or "")
        assert found[0] == Outcome("applied")
    letters = rows(tmp_path / "h", "SELECT src_topic, src_offset FROM dead_letters ORDER BY ALL")
    assert letters == [("inbox", 3), ("inbox", 5)]


async def test_who_has_written_reads_it_at_once_and_others_see_it_change(tmp_path: Path) -> None:
    async with EmbeddedBackend(tmp_path / "h") as memory:
        assert await said(memory) == []
        with memory.changes.of(("sessions", "default", "s")) as changed:
            for number in range(30):
                await memory.submit(encoded(spoken(number)), WITHIN)
                assert (await said(memory))[-1] == str(number)
            assert changed.is_set()
        await eventually(
            lambda: not memory._folded
        )  # until it is committed: then the store answers
        assert (await said(memory))[-1] == "29"


async def test_a_record_of_several_lines_is_one(tmp_path: Path) -> None:
    async with EmbeddedBackend(tmp_path / "h") as memory:
        record = json.dumps(turn("e1", user_input="a\nb"), indent=2).encode()
        assert await memory.submit([record], WITHIN) == [Outcome("applied")]
        assert await said(memory) == ["a\nb"]


async def test_what_the_log_took_says_when(tmp_path: Path) -> None:
    async with EmbeddedBackend(tmp_path / "h") as memory:
        await memory.submit(encoded(turn("e1")), WITHIN)
    sql = "SELECT recorded_at > now() - INTERVAL 1 HOUR, occurred_at < recorded_at FROM events"
    assert rows(tmp_path / "h", sql) == [(True, True)]


async def test_a_fold_that_comes_late_is_told_as_accepted(tmp_path: Path) -> None:
    """Another command has the history meanwhile; afterwards the record is there."""
    root = tmp_path / "h"
    async with EmbeddedBackend(root) as memory:
        with ExitStack() as other:
            lent = locks.borrowed(root, AssertionError("not lent"))
            await asyncio.to_thread(other.enter_context, lent)
            assert not memory.readiness().ready
            with pytest.raises(NotReady):
                await memory.rows("sessions", "default", "s")
            found = await memory.submit(encoded(turn("e1")), 0.3)
            assert found == [Outcome("accepted")]
        await eventually(lambda: memory.readiness().ready)
        assert await said(memory) == ["say e1"]
        assert await memory.submit(encoded(turn("e1")), WITHIN) == [Outcome("duplicate")]


async def test_more_than_is_good_is_refused_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "WAITING_RECORDS", 3)
    async with EmbeddedBackend(tmp_path / "h") as memory:
        first = asyncio.create_task(memory.submit(encoded(turn("e1"), turn("e2")), WITHIN))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await memory.submit(encoded(turn("e3"), turn("e4")), WITHIN)
        assert await first == [Outcome("applied")] * 2
        assert await memory.submit(encoded(turn("e3")), WITHIN) == [Outcome("applied")]
    assert rows(tmp_path / "h", "SELECT count(*) FROM events") == [(3,)]


async def test_what_one_tenant_has_waiting_is_no_reason_to_refuse_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "WAITING_RECORDS", 1)
    async with EmbeddedBackend(tmp_path / "h") as memory:
        many = [
            asyncio.create_task(memory.submit(encoded(turn("e1", tenant=f"t{at}")), WITHIN))
            for at in range(2 * embedded.SHARES)
        ]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await memory.submit(encoded(turn("e2", tenant="t0")), WITHIN)
        assert await memory.submit(encoded(turn("e2", tenant="b")), WITHIN) == [Outcome("applied")]
        assert await asyncio.gather(*many) == [[Outcome("applied")]] * len(many)


def of_tenant(tenant: str, post: int, count: int) -> list[bytes]:
    """Records of one request."""
    return encoded(*(turn(f"{post}-{at}", tenant=tenant) for at in range(count)))


def places(root: Path, tenant: str) -> list[int]:
    """Where the log has a tenant's records."""
    query = f"SELECT src_offset FROM events WHERE tenant = '{tenant}' ORDER BY ALL"
    return [offset for (offset,) in rows(root, query)]


@pytest.mark.parametrize(("posts", "each"), [(40, 10), (1, 1_000)], ids=["many", "one, large"])
async def test_a_tenants_many_records_keep_those_of_another_waiting_for_few(
    posts: int, each: int, tmp_path: Path
) -> None:
    """The log is never far ahead of the folding, and tenants take turns on their way into it,
    also within a request."""
    async with EmbeddedBackend(tmp_path / "h") as memory:
        many = [memory.submit(of_tenant("a", post, each), WITHIN) for post in range(posts)]
        one = memory.submit(of_tenant("b", 0, 1), WITHIN)
        assert await asyncio.gather(*many, one) == [
            *[[Outcome("applied")] * each] * posts, [Outcome("applied")]
        ]  # fmt: skip
    assert places(tmp_path / "h", "b")[0] <= posts * each // 2
    assert places(tmp_path / "h", "a")[-1] == posts * each + 1


async def test_a_tenant_whose_records_take_long_waits_and_not_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What their records take of the processor is measured: the same number of records of the same
    length is folded in the time of some of the others."""

    def extract(record: Any, affect: Any) -> None:
        until = time.thread_time() + (0.005 if record.tenant == "a" else 0)
        while time.thread_time() < until:
            pass

    monkeypatch.setattr(rules, "extract", extract)
    async with EmbeddedBackend(tmp_path / "h", "rules") as memory:
        posts = [
            memory.submit(of_tenant(tenant, post, 10), WITHIN)
            for post in range(16)
            for tenant in "ab"
        ]
        assert await asyncio.gather(*posts) == [[Outcome("applied")] * 10] * 32
    assert places(tmp_path / "h", "b")[-1] < 160 + 100


async def test_a_request_of_which_a_part_found_no_room_is_refused_and_may_be_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, appended = Inbox.append, list[int]()

    def full(inbox: Inbox, records: Any) -> Group:
        if len(appended) == 2:
            raise NoRoom("make room")
        appended.append(len(records))
        return append(inbox, records)

    async with EmbeddedBackend(tmp_path / "h") as memory:
        sent = of_tenant("a", 0, 1_000)
        with monkeypatch.context() as patched:
            patched.setattr(Inbox, "append", full)
            with pytest.raises(NoRoom):
                await memory.submit(sent, WITHIN)
        assert not memory._waiting
        endings = [one.ending for one in await memory.submit(sent, WITHIN)]
        assert endings[: sum(appended)] == ["duplicate"] * sum(appended)
        assert endings[sum(appended) :] == ["applied"] * (1_000 - sum(appended))
    assert len(places(tmp_path / "h", "a")) == 1_000


async def test_a_request_of_all_or_none_is_one_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, lengths = Inbox.append, list[int]()

    def counted(inbox: Inbox, records: Any) -> Group:
        lengths.append(len(records))
        return append(inbox, records)

    monkeypatch.setattr(Inbox, "append", counted)
    async with EmbeddedBackend(tmp_path / "h") as memory:
        await memory.submit(of_tenant("a", 0, 100), WITHIN, None, True)
    assert lengths == [100]


async def test_a_post_that_waits_too_long_for_its_turn_is_refused_and_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "LOGGED_WITHIN", 0.05)
    monkeypatch.setattr(PostedLog, "_gather", lambda log: SLOW.wait() and [])
    async with EmbeddedBackend(tmp_path / "h") as memory:
        try:
            with pytest.raises(Busy):
                await memory.submit(encoded(turn("e1")), 0.0)
            assert not memory._waiting
        finally:
            SLOW.set()
    assert rows(tmp_path / "h", "SELECT count(*) FROM events") == [(0,)]


async def test_a_server_that_begins_well_warns_of_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        for extractor in ("rules", None, None):
            async with EmbeddedBackend(tmp_path / "h", extractor):
                pass
    assert "rules" in caplog.text, "what was chosen is said, as no warning"
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_a_history_has_one_writer(tmp_path: Path) -> None:
    root = tmp_path / "h"
    async with EmbeddedBackend(root):
        with pytest.raises(ConfigurationError, match="runs on this history"):
            async with EmbeddedBackend(root):
                pass
        with pytest.raises(ConfigurationError, match="writing this history"), writing(root):
            pass
    with writing(root), pytest.raises(ConfigurationError, match="writing this history"):
        async with EmbeddedBackend(root):
            pass


async def test_many_at_once_are_folded_in_their_order(tmp_path: Path) -> None:
    """Each sender's records, whoever they were written with."""
    async with EmbeddedBackend(tmp_path / "h") as memory:

        async def send(user: int) -> None:
            for number in range(20):
                record = spoken(number, event_id=f"{user}-{number}", session_id=f"s{user}")
                assert await memory.submit(encoded(record), WITHIN) == [Outcome("applied")]

        await asyncio.gather(*(send(user) for user in range(10)))
        for user in range(10):
            assert await said(memory, f"s{user}") == [str(number) for number in range(20)]
    sql = "SELECT count(*), count(DISTINCT src_offset), max(src_offset) FROM events"
    assert rows(tmp_path / "h", sql) == [(200, 200, 200)]


async def test_small_files_are_merged_beside_the_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit a turn leaves a file each; after each three of them they are one."""
    monkeypatch.setattr(fold_thread, "EVERY", 0.0)
    monkeypatch.setattr(fold_thread, "MERGE_COMMITS", 3)
    async with EmbeddedBackend(tmp_path / "h") as memory:
        for number in range(10):
            await memory.submit(encoded(spoken(number)), WITHIN)
            await eventually(lambda: not memory._folded)
    for table in ("events", "sessions"):
        commits = list((tmp_path / "h" / table / "_delta_log").glob("*.json"))
        with _duckdb.connect() as db:
            files = data_files(db, tmp_path / "h" / table)
        assert len(files) <= 3 < 10 <= len(commits)
    assert rows(tmp_path / "h", "SELECT count(DISTINCT event_id), count(*) FROM events") == [
        (10, 10)
    ]
    sql = "SELECT doc ->> '$.context.last_user_message' FROM session_current"
    assert rows(tmp_path / "h", sql) == [("9",)]


class FullDisk:
    """Lets no batch be committed while it is `full`; what the log takes has room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        self.refused = 0
        write = fold_thread._Runner._write

        def attempt(runner: Any, *given: Any) -> None:
            if self.full:
                self.refused += 1
                raise HistoryWriteError("events: no room")
            write(runner, *given)

        monkeypatch.setattr(fold_thread._Runner, "_write", attempt)


async def test_reads_never_go_back_while_the_log_is_folded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit fails: its records are folded once more, a turn after the other."""
    disk = FullDisk(monkeypatch)
    monkeypatch.setattr(fold_thread, "AGAIN", 0.1)
    async with EmbeddedBackend(tmp_path / "h") as memory:
        disk.full = True
        for number in range(40):
            await memory.submit(encoded(spoken(number)), WITHIN)
        while disk.refused < 2:
            assert (await said(memory))[-1] == "39"
            await asyncio.sleep(0)
        disk.full = False
        while not memory.readiness().ready or memory._folded:
            with suppress(NotReady):
                assert (await said(memory))[-1] == "39"
            await asyncio.sleep(0)
        assert (await said(memory))[-1] == "39"
    assert rows(tmp_path / "h", "SELECT count(*) FROM events") == [(40,)]


async def test_guarantee_8_forget_waits_until_the_log_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that cannot commit has a person's text in its log alone: to say that it is
    forgotten would not be true, as it is folded later."""
    root, disk = tmp_path / "h", FullDisk(monkeypatch)
    async with EmbeddedBackend(root) as memory:
        await memory.submit(encoded(turn("e1", user_input="a secret")), WITHIN)
        await eventually(lambda: not memory._folded)
        disk.full = True
        await memory.submit(encoded(turn("e2", user_input="another secret")), WITHIN)
        with pytest.raises(HistoryWriteError, match="could not commit"):
            await asyncio.to_thread(compact_and_forget.forget, root, "default", "u")
        disk.full = False
        await eventually(lambda: memory.readiness().ready)
        assert await said(memory) == ["a secret", "another secret"]
        await asyncio.to_thread(compact_and_forget.forget, root, "default", "u")
        await eventually(lambda: memory.readiness().ready)
        assert await said(memory) == []
    assert files_holding(root, "secret") == []


async def test_what_another_wrote_after_an_error_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is tried again anybody may have the history: what was read before may be old."""
    root, disk = tmp_path / "h", FullDisk(monkeypatch)
    monkeypatch.setattr(fold_thread, "AGAIN", 15.0)
    async with EmbeddedBackend(root) as memory:
        await memory.submit(encoded(turn("e1")), WITHIN)
        await eventually(lambda: not memory._folded)
        assert await said(memory) == ["say e1"]
        disk.full = True
        await memory.submit(encoded(turn("o1", session_id="o", user_id="o")), WITHIN)
        await eventually(lambda: disk.refused)
        disk.full = False
        file = root.parent / "more.ndjson"
        file.write_bytes(b"\n".join(encoded(turn("e2"))) + b"\n")
        while memory.readiness().ready or locks.is_taken(locks.history_lock(root)):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(file_runner.run, [str(file)], root)
        await eventually(lambda: memory.readiness().ready)
        assert await said(memory) == ["say e1", "say e2"]


async def test_who_is_folded_from_the_disk_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is read once more just when it has taken a record."""
    append, other = Inbox.append, ExitStack()
    async with EmbeddedBackend(tmp_path / "h") as memory:

        def slow(inbox: Inbox, records: Any) -> Group:
            group = append(inbox, records)
            other.close()  # the folding thread comes back, and finds it on disk
            began = time.monotonic()
            while memory._folder._at < group.last and time.monotonic() - began < WITHIN:
                time.sleep(0.01)
            return group

        lent = locks.borrowed(memory._root, AssertionError("not lent"))
        await asyncio.to_thread(other.enter_context, lent)
        monkeypatch.setattr(Inbox, "append", slow)
        assert await memory.submit(encoded(turn("e1")), WITHIN) == [Outcome("applied")]
        assert not memory._posts._waiting and not memory._waiting


async def test_guarantee_7_what_was_read_is_bounded_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_cache, "CACHED_BYTES", 100_000)
    async with EmbeddedBackend(tmp_path / "h") as memory:
        text = "x" * 20_000
        await memory.submit(
            encoded(*(turn(f"e{n}", session_id=f"s{n}", user_input=text) for n in range(20))),
            WITHIN,
        )
        await eventually(lambda: not memory._folded)
        for number in (*range(20), 19, 0):
            assert await said(memory, f"s{number}") == [text]
            held = [size for _, size in memory._read._found.values()]
            assert sum(held) == memory._read._bytes <= 100_000
        assert 1 < len(held) < 5 and "s0" in [key for _, _, key in memory._read._found]


async def test_a_store_that_cannot_be_read_is_no_fault_of_who_asks(tmp_path: Path) -> None:
    """503 to try again, without the place of the folder."""
    closed = Store(tmp_path / "closed")
    closed.close()
    async with EmbeddedBackend(tmp_path / "h") as memory:
        opened, memory._store = memory._store, closed
        with pytest.raises(NotReady) as refused:
            await memory.rows("sessions", "default", "s")
        assert str(tmp_path) not in str(refused.value)
        memory._store = opened


@pytest.mark.parametrize("user", ["u", "nobody"])
async def test_a_write_that_reads_first_waits_for_a_history_that_is_lent(
    tmp_path: Path, user: str
) -> None:
    async with EmbeddedBackend(tmp_path / "h") as memory:
        await memory.submit(encoded(turn("e1")), WITHIN)
        erasing = asyncio.create_task(
            asyncio.to_thread(compact_and_forget.forget, tmp_path / "h", "default", user)
        )
        while memory._store is not None:
            await asyncio.sleep(0.01)
        await memory.catch_up("sessions", "default", "s", WITHIN)
        await memory.rows("sessions", "default", "s")
        await erasing


async def test_who_waits_hears_of_what_was_done_while_the_history_was_lent(tmp_path: Path) -> None:
    async with EmbeddedBackend(tmp_path / "h") as memory:
        await memory.submit(encoded(turn("e1")), WITHIN)
        with memory.changes.of(("sessions", "default", "s")) as changed:
            await asyncio.to_thread(compact_and_forget.forget, tmp_path / "h", "default", "u")
            await asyncio.wait_for(changed.wait(), WITHIN)
            assert await said(memory) == []


@pytest.mark.parametrize("where", [(locks, "is_taken"), (PostedLog, "_append")])
async def test_a_thread_that_ends_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: tuple[Any, str]
) -> None:
    """Nobody would fold, or log, what is posted: the process has to be started again."""

    def gone(*_: Any) -> None:
        raise OSError("the disk is gone")

    async with EmbeddedBackend(tmp_path / "h") as memory:
        failing = asyncio.ensure_future(memory.failed())
        await memory.submit(encoded(turn("e1")), WITHIN)
        assert not failing.done()
        monkeypatch.setattr(*where, gone)
        posting = asyncio.ensure_future(memory.submit(encoded(turn("e2")), 0.1))
        assert "the disk is gone" in str(await asyncio.wait_for(failing, WITHIN))
        assert not memory.readiness().ready and "has failed" in memory.readiness().about
        with pytest.raises(NotReady):
            await memory.rows("sessions", "default", "other")
        posting.cancel()
        monkeypatch.undo()
