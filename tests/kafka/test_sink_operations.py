"""Looking after a history that sinks write: `compact`, `forget`, and sinks that go on later."""

import asyncio
import json
from pathlib import Path

import pytest

from sinks.digest import digest
from streams.files import file_runner
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from tests.acceptance import test_private_places as places
from tests.acceptance.test_guarantees import ALICE, MARKS, alice_alone, bobs, company
from tests.command import answer, files_holding, ndjson, rows, turn, turnfold
from tests.kafka.history import Message, messages, send
from tests.kafka.test_sink import Process, run
from tests.kafka.working import options_of
from tests.scanning import holding

SOON = "2099-01-01T00:00:00Z"


class Sunk:
    """A history of the sink `ops`, and the topics it reads; `every` message they will hold."""

    def __init__(self, settings: KafkaSettings, folder: Path) -> None:
        self.settings, self.history = settings, folder / "history"
        elsewhere = turn("x1", tenant="elsewhere", session_id="alone", user_id=ALICE)
        records = [*alice_alone(), *company(), elsewhere]
        file_runner.run([str(ndjson(folder / "records.ndjson", records))], folder / "file")
        self.file = folder / "file"
        self.every = messages(self.file)
        asyncio.run(ensure_topics(self.settings))

    def sink(self, given: list[Message]) -> None:
        asyncio.run(send(self.settings, given))
        run(self.settings, self.history, name="ops", roll_bytes=10_000)


def table(one: Message) -> str:
    return dict(one.headers)["table"].decode()


@pytest.fixture
def sunk(prefixed: KafkaSettings, tmp_path: Path) -> Sunk:
    return Sunk(prefixed, tmp_path)


def test_a_sinks_history_is_compacted_and_written_on(sunk: Sunk) -> None:
    half = len(sunk.every) // 2
    for first in range(0, half, 6):
        sunk.sink(sunk.every[first : min(first + 6, half)])
    before = digest(sunk.history)
    with Process(sunk.settings, sunk.history, "ops") as running:
        running.wait_for("positioned")
        for command in (("admin", "compact"), ("forget", ALICE, "--yes")):
            refused = turnfold(*command, "--history", sunk.history)
            assert refused.code == 3
            assert "a sink is writing this history; stop all its sinks" in refused.err
        running.process.terminate()
        running.ends_with(0)
    done = turnfold("admin", "compact", "--history", sunk.history, "-o", "json")
    assert done.code == 0, done.err
    assert any(one["files_after"] < one["files_before"] for one in done.json().values())
    assert digest(sunk.history) == before
    sunk.sink(sunk.every[half:])
    assert digest(sunk.history) == digest(sunk.file)


def test_guarantee_8_a_forgotten_person_stays_gone_when_the_sink_continues(sunk: Sunk) -> None:
    """What the sink had not read yet, too; what comes afterwards is a new beginning."""
    read = [one for one in sunk.every if b'"group"' in one.value or table(one) == "events"]
    unread = [one for one in sunk.every if one not in read]
    assert any(mark.encode() in one.value for one in unread for mark in MARKS)
    sunk.sink(read)
    assert [mark for mark in MARKS if files_holding(sunk.history, mark)]
    done = turnfold("forget", ALICE, "--history", sunk.history, "--yes", "-o", "json")
    assert done.code == 0, done.err
    assert "Kafka's topics" in done.json()["elsewhere"]
    assert ALICE not in done.out
    assert [mark for mark in MARKS if files_holding(sunk.history, mark)] == []
    group = turnfold("show", "session", "group", "--history", sunk.history, "-o", "json").json()
    assert [one["user_input"] for one in group["conversations"]] == ["bob in company"]
    sunk.sink(unread)
    assert [mark for mark in MARKS if files_holding(sunk.history, mark)] == []
    assert bobs(sunk.history) == bobs(sunk.file)
    event = next(one for one in read if table(one) == "events")
    row = json.loads(event.value) | {"recorded_at": SOON, "user_id": ALICE, "event_id": "back"}
    sunk.sink([event._replace(value=json.dumps(row).encode(), headers=[("table", b"events")])])
    assert rows(sunk.history, "SELECT event_id FROM events WHERE event_id = 'back'") == [("back",)]


@pytest.mark.nightly
def test_guarantee_8_no_byte_is_left_in_the_folder_of_a_sink(
    prefixed: KafkaSettings, tmp_path: Path
) -> None:
    """A scan of all bytes. What the topics still have, the receipt names; a sink that reads it
    afterwards leaves it out."""
    records = ndjson(tmp_path / "records.ndjson", places.records())
    file_runner.run([str(records)], tmp_path / "file")
    every = messages(tmp_path / "file")
    history = tmp_path / "work" / "history"
    history.parent.mkdir()
    asyncio.run(ensure_topics(prefixed))
    asyncio.run(send(prefixed, every[: len(every) // 2]))
    run(prefixed, history, name="ops", roll_bytes=10_000)
    asyncio.run(send(prefixed, every[len(every) // 2 :]))
    for way in (places.requested, places.replacing, places.data_files):
        way(history)
    assert len(holding(history, places.MARKS)) > 8
    done = turnfold("forget", places.PERSON, "--history", history, "--yes", "-o", "json")
    assert done.code == 0, done.err
    receipt = done.json()
    assert "Kafka" in receipt["elsewhere"] and receipt["may_remain"] == {}
    assert holding(history, places.MARKS) == {}
    run(prefixed, history, name="ops", roll_bytes=10_000)
    again = turnfold("forget", places.PERSON, "--history", history, "--yes", "-o", "json")
    assert again.code == 0, again.err
    assert holding(history, places.MARKS) == {}
    places.check_declared(history)


@pytest.mark.component
def test_a_letter_is_settled_for_the_history_and_for_the_topic(
    prefixed: KafkaSettings, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text(f"no json of {ALICE}\nno json\n")
    file_runner.run([str(tmp_path / "lines")], tmp_path / "file")
    sunk, at = tmp_path / "history", ("--history", tmp_path / "history")
    asyncio.run(ensure_topics(prefixed))
    asyncio.run(send(prefixed, messages(tmp_path / "file")))
    run(prefixed, sunk, name="ops")
    first, second = (one["id"] for one in answer("admin", "dlq", "list", *at))
    kafka = options_of(prefixed)
    assert answer("admin", "dlq", "settle", first, *at, *kafka)["settled"] == 1
    run(prefixed, sunk, name="ops")
    assert [one["id"] for one in answer("admin", "dlq", "list", *at)] == [second]
    counts = answer("admin", "dlq", "replay", "--from-topic", "--dry-run", *kafka)
    assert (counts["chosen"], counts["settled"]) == (1, 1)
    # what was settled before the erasure and is read after it stays out
    assert answer("admin", "dlq", "settle", second, *at, *kafka)["settled"] == 1
    answer("forget", ALICE, "--yes", *at)
    assert files_holding(sunk, f"json of {ALICE}") == []
    run(prefixed, sunk, name="ops")
    assert answer("admin", "dlq", "list", *at) == []
    assert [one["id"] for one in answer("admin", "dlq", "list", "--settled", *at)] == [second]
