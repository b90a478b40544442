"""Questions to the history: bounded in time and number, always of the generation that is live."""

import asyncio
import shutil
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sinks.generation import FOLDER, Pointer, switch
from sinks.history import connect
from sinks.history_root import OWNER
from sinks.locations import Location
from streams import history_documents
from streams.errors import DataRefused
from streams.files import file_runner
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.lag import Lag
from streams.search import Listing, Query, history_source
from streams.search import indexing as build
from streams.search.document import Doc
from streams.serving.backends.backend import Busy, Subject
from streams.serving.backends.readonly import HistoryBackend
from streams.serving.backends.replica import ReplicaBackend
from streams.serving.flow.history_progress import HistoryProgress
from streams.serving.history import indexing
from streams.serving.history.history_queries import (
    LOOKUP_THREADS,
    LOOKUPS_WAITING,
    THREADS,
    WAITING,
    HistoryQueries,
)
from streams.serving.http.keys import ALL, changed, make
from streams.serving.http.problems import Problem
from streams.serving.http.route import HISTORY_UNTIL, _history_until
from tests.command import ndjson, turn
from tests.serving.serving import serving
from tests.waiting import WITHIN, eventually, until

pytestmark = pytest.mark.nightly

SECONDS = 20.0
"""So long a question may take that keeps others waiting; none is asked later than that."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may build an index for longer than a search waits."""
    monkeypatch.setattr(indexing, "WAIT_SECONDS", WITHIN)


def history(root: Path, *records: Any) -> Path:
    """One with these records."""
    file = ndjson(root.with_suffix(".ndjson"), list(records))
    file_runner.run([str(file)], root)
    return root


def asking(past: HistoryQueries, ask: Callable[[HistoryQueries], Awaitable[Any]]) -> Any:
    """What comes of it."""

    async def asked() -> Any:
        with closing(past):
            return await ask(past)

    return asyncio.run(asked())


def endless(root: Location) -> Any:
    """A question that nobody waits for."""
    with connect(root, views=["events"]) as db:
        return db.execute("SELECT count(*) FROM range(10_000_000_000_000)").fetchall()


def quick(root: Location) -> Any:
    return history_documents.session(root, "default", "s", None, 0)["conversation_count"]


async def test_a_question_without_end_is_interrupted(tmp_path: Path) -> None:
    root = history(tmp_path / "h", turn("e1"))
    with closing(HistoryQueries(HistoryBackend(root), 1.0)) as past:
        began = time.monotonic()
        slow = [past.ask("session", str(number), endless) for number in range(THREADS)]
        found = await asyncio.gather(*slow, return_exceptions=True)
        assert [one.status for one in found if isinstance(one, Problem)] == [503] * THREADS
        assert time.monotonic() - began < WITHIN
        assert await past.ask("session", "a", quick) == 1, "the threads are free again"


async def test_too_many_questions_are_sent_away(tmp_path: Path) -> None:
    root = history(tmp_path / "h", turn("e1"))
    with closing(HistoryQueries(HistoryBackend(root), 0.5)) as past:
        asked = [past.ask("session", "a", endless) for _ in range(THREADS - 1 + WAITING + 3)]
        found = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(one, Busy) for one in found) == 3


async def test_a_tenant_that_asks_much_keeps_no_other_waiting(tmp_path: Path) -> None:
    """As many questions without end as one may have, and others are answered at once; of two that
    ask much, each has its turn."""
    root = history(tmp_path / "h", turn("e1"))
    with closing(HistoryQueries(HistoryBackend(root), SECONDS)) as past:
        greedy = [
            asyncio.ensure_future(past.ask("session", "greedy", endless))
            for _ in range(THREADS - 1 + WAITING)
        ]
        await asyncio.sleep(0.1)
        with pytest.raises(Busy):
            await past.ask("session", "greedy", quick)
        for _ in range(3):
            assert await past.ask("session", "modest", quick) == 1
        also = asyncio.ensure_future(past.ask("session", "also", endless))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        assert await past.ask("session", "modest", quick) == 1, "behind one question of each"
        assert time.monotonic() - began < 2 * SECONDS
        await asyncio.gather(*greedy, also, return_exceptions=True)
        async with asyncio.timeout(WITHIN):  # nothing is left of who is answered
            while past._tables._asked or past._tables._of:
                await asyncio.sleep(0.01)


# --- search -----------------------------------------------------------------------------------


async def test_look_ups_wait_for_no_question_to_the_tables(tmp_path: Path) -> None:
    """As many questions without end as a tenant may have, and its searches are answered; so are as
    many at a time as come in a second or two."""
    root = history(tmp_path / "h", turn("e1", user_input="the heron"))
    heron = Query(text="heron", now=0)
    with closing(HistoryQueries(HistoryBackend(root), 10 * WITHIN)) as past:
        await past.search("default", heron)
        endlessly = [
            asyncio.ensure_future(past.ask("session", "default", endless))
            for _ in range(THREADS - 1 + WAITING)
        ]
        await asyncio.sleep(0.1)
        with pytest.raises(Busy):
            await past.ask("session", "default", quick)
        found = await asyncio.gather(*(past.search("default", heron) for _ in range(400)))
        assert {hit.id for page in found for hit in page.hits} == {"e1"}
        assert not any(one.done() for one in endlessly)
        for one in endlessly:
            one.cancel()
        await asyncio.gather(*endlessly, return_exceptions=True)


async def test_too_many_look_ups_are_sent_away(tmp_path: Path) -> None:
    root = history(tmp_path / "h", turn("e1", user_input="the heron"))
    go_on = threading.Event()

    def slowly(*_: Any, **__: Any) -> list[Any]:
        assert go_on.wait(WITHIN)
        return []

    with closing(HistoryQueries(HistoryBackend(root), 10 * WITHIN)) as past:
        every = LOOKUP_THREADS - 1 + LOOKUPS_WAITING + 3
        listing = Listing(now=0, limit=1)
        asked = [
            asyncio.ensure_future(past.look_up("default", listing, slowly, "users"))
            for _ in range(every)
        ]
        await asyncio.sleep(0.1)
        assert await past.ask("session", "default", quick) == 1, "the tables are another lane"
        go_on.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(one, Busy) for one in found) == 3


async def test_an_index_is_built_beside_the_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun without being asked for; until it is there a search is told so in words, as is that of
    another tenant, and all threads for questions are free."""
    root = history(tmp_path / "h", turn("e1", user_input="the heron"))
    go_on, events = threading.Event(), history_source.events

    def slowly(*given: Any) -> Iterator[list[Doc]]:
        assert go_on.wait(WITHIN)
        yield from events(*given)

    monkeypatch.setattr(history_source, "events", slowly)
    monkeypatch.setattr(indexing, "WAIT_SECONDS", 0.2)
    heron = Query(text="heron", now=0)
    with closing(HistoryQueries(HistoryBackend(root), WITHIN)) as past:
        past.begin(["default"])
        for tenant in ["default"] * THREADS + ["other"]:
            with pytest.raises(Problem) as told:
                await past.search(tenant, heron)
            assert told.value.status == 503 and b"search index" in told.value.body
            assert (b"retry-after", b"5") in told.value.headers
        answers = [past.ask("session", str(number), quick) for number in range(THREADS)]
        assert await asyncio.gather(*answers) == [1] * THREADS
        go_on.set()
        monkeypatch.setattr(indexing, "WAIT_SECONDS", WITHIN)
        assert [hit.id for hit in (await past.search("default", heron)).hits] == ["e1"]
        assert (await past.search("other", heron)).hits == []


async def test_an_index_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """Not "being built"; and as soon as it can be written, it is."""
    root = history(tmp_path / "h", turn("e1", user_input="the heron"))
    heron = Query(text="heron", now=0)
    (root / build.FOLDER).write_text("in the way")
    with closing(HistoryQueries(HistoryBackend(root), WITHIN)) as past:
        with pytest.raises(Problem) as told:
            await past.search("default", heron)
        assert told.value.status == 503 and b"cannot be written" in told.value.body
        (root / build.FOLDER).unlink()
        assert [hit.id for hit in (await past.search("default", heron)).hits] == ["e1"]


async def test_what_is_indexed_is_found_although_no_more_can_be_written(tmp_path: Path) -> None:
    root = history(tmp_path / "h", turn("e1", user_input="the heron"))
    index = build.update(root, "default")
    lock = index.with_suffix("").with_suffix(".lock")
    lock.unlink()
    lock.mkdir()  # no lock can be had where that is
    history(root, turn("e1", user_input="the heron"), turn("e2", user_input="a heron"))
    with closing(HistoryQueries(HistoryBackend(root), WITHIN)) as past:
        heron = Query(text="heron", now=0)
        assert [hit.id for hit in (await past.search("default", heron)).hits] == ["e1"]
        lock.rmdir()
        assert len((await past.search("default", heron)).hits) == 2


async def test_who_waits_for_an_index_goes_before_who_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = history(tmp_path / "h", turn("e1"))
    begun, go_on, built = threading.Event(), threading.Event(), list[str]()

    def noted(_: Path, tenant: str, **__: Any) -> None:
        begun.set()
        assert go_on.wait(WITHIN)
        built.append(tenant)
        build.update(root, tenant)

    monkeypatch.setattr(indexing, "update", noted)
    with closing(HistoryQueries(HistoryBackend(root), WITHIN)) as past:
        past.begin(["first", "later", "last", "asked"])
        assert await asyncio.to_thread(begun.wait, WITHIN)
        searching = asyncio.ensure_future(past.search("asked", Query(text="heron", now=0)))
        await eventually(lambda: [one._next[-1:] for one in past._indexes.values()] == [["asked"]])
        go_on.set()
        await searching
        await eventually(lambda: len(built) == 4)
    assert built == ["first", "asked", "later", "last"]


async def test_what_much_was_added_to_is_brought_up_to_date_beside_the_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = history(tmp_path / "h", turn("e1", user_input="the heron"))
    heron = Query(text="heron", now=0)
    threads: list[str] = []
    events = history_source.events

    def noted(*given: Any) -> Iterator[list[Doc]]:
        threads.append(threading.current_thread().name.partition("_")[0])
        yield from events(*given)

    monkeypatch.setattr(history_source, "events", noted)
    with closing(HistoryQueries(HistoryBackend(root), WITHIN)) as past:
        assert len((await past.search("default", heron)).hits) == 1
        history(root, turn("e2", user_input="a heron"))
        assert len((await past.search("default", heron)).hits) == 2
        monkeypatch.setattr(build, "LITTLE", 100)
        history(root, turn("e3", user_input="heron"))
        assert len((await past.search("default", heron)).hits) == 3
    assert threads == ["index", "lookup", "index"]


async def test_a_server_that_ends_waits_for_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = history(tmp_path / "h", turn("e1"))
    begun = threading.Event()

    def endlessly(*_: Any) -> Iterator[list[Doc]]:
        begun.set()
        while True:
            time.sleep(0.01)
            yield []

    monkeypatch.setattr(history_source, "events", endlessly)
    with closing(HistoryQueries(HistoryBackend(root), WITHIN)) as past:
        past.begin(["default"])
        assert await asyncio.to_thread(begun.wait, WITHIN)
    until(lambda: not any(thread.name.startswith("index") for thread in threading.enumerate()))
    assert build.current(root, "default") is None


def test_an_index_is_there_before_anybody_searches(tmp_path: Path) -> None:
    """Of the tenants that have keys; without keys of everybody's."""
    root, file = history(tmp_path / "h", turn("e1")), tmp_path / "keys.json"
    with changed(file) as held:
        held += [make(tenant, "admin", None, "")[1] for tenant in ("acme", ALL)]
    for options, tenant in (((), "default"), (("--keys", file), "acme")):
        with serving("--history", root, *options):
            until(lambda: build.current(root, tenant) is not None)  # noqa: B023 - called at once


def test_without_a_history_the_answer_says_what_to_start() -> None:
    with pytest.raises(Problem) as told:
        memory = ReplicaBackend(KafkaSettings(), "nobody")
        asking(HistoryQueries(memory, 1.0), lambda past: past.ask("session", "a", quick))
    assert told.value.status == 501 and b"--history" in told.value.body


async def test_a_generation_that_goes_live_is_asked_next(tmp_path: Path) -> None:
    root = history(tmp_path / "h", turn("e1"))
    (root / FOLDER).mkdir()
    history(root / FOLDER / "other", turn("e1"), turn("e2"))
    with closing(HistoryQueries(HistoryBackend(root), 5.0)) as past:
        before = await past.ask("session", "a", quick)
        switch(root, Pointer("other", "root"))
        assert (before, await past.ask("session", "a", quick)) == (1, 2)


async def test_a_reply_names_the_progress_of_its_generation_s_sink_alone(tmp_path: Path) -> None:
    root = history(tmp_path / "h", turn("e1"))
    (root / OWNER).write_text('{"sink": "s", "cluster": "c"}')
    (root / FOLDER).mkdir()
    history(root / FOLDER / "other", turn("e1"))
    memory = HistoryBackend(root)
    before = memory.live
    lags = [Lag("s", "history", 0, 3, 3, 0), Lag("s.other", "history.other", 0, 9, 1, 8)]
    progress = HistoryProgress(memory)
    await progress.add(5, lags)
    assert _history_until(before, memory.history_until) == [
        (HISTORY_UNTIL, b"1970-01-01T00:00:00.000005Z")
    ]
    (root / FOLDER / "other" / OWNER).write_text('{"sink": "s", "cluster": "c"}')
    switch(root, Pointer("other", "root"))
    for at in (6, 7):
        assert _history_until(memory.live, memory.history_until) == []
        await progress.add(at, lags)
    assert _history_until(before, memory.history_until) == []


def test_a_history_that_is_gone_is_not_an_empty_one(tmp_path: Path) -> None:
    memory = HistoryBackend(history(tmp_path / "h", turn("e1")))
    shutil.rmtree(tmp_path / "h")
    with pytest.raises(Problem) as told:
        asking(HistoryQueries(memory, 1.0), lambda past: past.ask("session", "a", quick))
    assert told.value.status == 503 and str(tmp_path).encode() not in told.value.body


@pytest.mark.parametrize("left", [None, 100, -100])
def test_a_data_file_that_is_lost_or_cut_is_503_and_the_log_names_it(
    left: int | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = history(tmp_path / "h", turn("e1"))
    memory = HistoryBackend(root)
    (file,) = root.glob("events/date=*/*.parquet")
    if left is None:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:left] + (b"" if left > 0 else bytes(96) + b"PAR1"))
    with pytest.raises(Problem) as told:
        asking(HistoryQueries(memory, 5.0), lambda past: past.ask("session", "a", quick))
    assert told.value.status == 503 and str(tmp_path).encode() not in told.value.body
    assert "data file" in caplog.text


class Behind(HistoryBackend):
    """Memory shows what its tables lack, until somebody looks into them."""

    looks = 0

    def unwritten(self, tenant: str, *of: Subject) -> bool:
        return self.looks == 0

    def look(self, root: Location) -> int:
        self.looks += 1
        if self.looks == 1:
            raise DataRefused("no state of that id")
        return self.looks


def test_what_is_written_while_it_is_looked_for_is_found(tmp_path: Path) -> None:
    behind = Behind(history(tmp_path / "h", turn("e1")))
    found = asking(HistoryQueries(behind, 10.0), lambda past: past.ask("state", "a", behind.look))
    assert found == 2
    lacking, other = HistoryBackend(tmp_path / "h"), Behind(tmp_path / "h")
    with pytest.raises(Problem):  # there was nothing to wait for
        asking(HistoryQueries(lacking, 10.0), lambda past: past.ask("state", "a", other.look))


@pytest.mark.nightly
def test_a_fact_that_memory_shows_has_its_reason_at_once(tmp_path: Path) -> None:
    """Although the tables are written once a second."""
    with serving("--history", tmp_path / "history", "--extractor", "rules") as server:
        for number in range(12):
            user = {"user_id": f"u{number}", "session_id": f"s{number}"}
            said = [
                {"role": "user", "content": "I live in Leeds."},
                {"role": "assistant", "content": "Noted."},
            ]
            added = server.client.post("/v1/messages", json=user | {"messages": said})
            assert added.status_code == 200, added.text
            (home,) = server.client.get(f"/v1/users/u{number}").json()["states"]
            why = server.client.get(f"/v1/states/{home['state_id']}/why")
            assert why.status_code == 200, why.text
            correction = {"body_text": "Lives in Ghent.", "reason": "support"}
            path = f"/v1/states/{home['state_id']}"
            assert server.client.patch(path, json=correction).status_code == 200
            assert server.client.get(f"{path}/why").json()["revisions"][-1]["reason"] == "support"
        assert server.client.get("/v1/states/nothing/why").status_code == 404
