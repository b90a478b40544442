"""A cluster is lost with all its topics: its history fills another one (docs/recovery.md)."""

import asyncio
import json
import time
from itertools import islice
from pathlib import Path

import pytest

from sinks.digest import digest
from streams.broker import Broker
from streams.files import file_runner
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from tests.acceptance import sgd
from tests.backing_up import copied, restored
from tests.command import ndjson, rows, turn, turnfold
from tests.kafka.history import messages, send
from tests.kafka.installation import Installation, installed
from tests.kafka.test_sink import TOO_LONG, Process, run
from tests.planned import CONVERSATIONS
from tests.shared_data import shared

MORE = (
    turn("said-1", user_id="ann", user_input="I live in Oslo.", tenant="acme"),
    turn("said-2", user_id="ann", user_input="I don't live in Oslo any more, I live in Bergen.",
         occurred_at="2025-02-01T00:00:00Z", tenant="acme"),
    {"type": "signal", "signal_id": "quiz-1", "scope": "user", "user_id": "ann", "topic": "fjords",
     "occurred_at": "2025-02-02T00:00:00Z", "metadata": {"correct_rate": 1.0}, "tenant": "acme"},
)  # fmt: skip
AFTER = turn("said-3", user_id="ann", user_input="I work as a nurse.", tenant="acme",
             occurred_at="2025-03-01T00:00:00Z")  # fmt: skip
REASONS = "SELECT reason FROM dead_letters ORDER BY 1"
FACTS = "SELECT body_text FROM state_current WHERE owner_id = 'ann' AND kind = 'fact' ORDER BY 1"


def written(installation: Installation, file: Path, history: Path) -> None:
    """A file of records, in topics, memory and the history."""
    installation.run("kafka", "produce", file)
    installation.await_read()
    installation.run("kafka", "sink", "--history", history, "--once")


@pytest.mark.nightly
def test_a_history_fills_another_cluster_and_memory_is_the_same(tmp_path: Path) -> None:
    lost, history = tmp_path / "lost", tmp_path / "history"
    said, after = tmp_path / "said.ndjson", tmp_path / "after.ndjson"
    said.write_text(
        CONVERSATIONS.read_text() + "".join(f"{json.dumps(one)}\n" for one in (*MORE, "?"))
    )
    after.write_text(json.dumps(AFTER) + "\n")
    with (
        Broker.start(short_lived=True) as first,
        installed(first, "", tmp_path / "first", options=("--extractor", "rules")) as before,
    ):
        written(before, said, lost)
        assert (before.working.workers[0].poll(), len(rows(lost, FACTS))) == (None, 1)
        first.kill()
    with Broker.start(short_lived=True) as second:
        with installed(second, "", tmp_path / "second") as restored:
            refusal = turnfold("kafka", "sink", "--history", lost, "--once", env=restored.env)
            assert refusal.code == 3 and "its rows are from the cluster" in refusal.err
            records = turnfold("export", "--records", "--history", lost)
            file = tmp_path / "records.ndjson"
            file.write_text(records.out)
            restored.run("kafka", "produce", file)
            restored.await_read()
            restored.run("kafka", "produce", file)  # as after an interruption
            restored.await_read()
            restored.run("kafka", "sink", "--history", history, "--once")
            assert digest(history)["memory"] == digest(lost)["memory"]
            letters = restored.run("admin", "dlq", "replay", "--history", lost, "--elsewhere")
            reasons = rows(lost, REASONS)
            assert letters["sent"] == len(reasons) > 1, letters
            restored.await_read()
            restored.run("kafka", "sink", "--history", history, "--once")
            assert rows(history, REASONS) == reasons
        with installed(second, "", tmp_path / "third", options=("--extractor", "rules")) as goes_on:
            written(goes_on, after, history)
    assert len(rows(history, FACTS)) == 2


TURNS = 600
OFTEN = ("--roll-bytes", "10000")


@pytest.mark.needs("rsync")
def test_a_copy_made_while_a_sink_writes_is_continued_by_a_sink(
    prefixed: KafkaSettings, tmp_path: Path
) -> None:
    records = islice(sgd.records(shared("data", "sgd", "train_part.jsonl.gz")), TURNS)
    file_runner.run([str(ndjson(tmp_path / "records.ndjson", records))], tmp_path / "file")
    every, history, backup = messages(tmp_path / "file"), tmp_path / "history", tmp_path / "backup"
    asyncio.run(ensure_topics(prefixed))
    asyncio.run(send(prefixed, every[: len(every) // 2]))
    with Process(prefixed, history, "copied", *OFTEN) as sink:
        sink.wait_for("written")
        copied_while_written(sink, history, backup)
        sink.process.terminate()
        sink.ends_with(0)
    copied(history, backup, writing=False)
    asyncio.run(send(prefixed, every[len(every) // 2 :]))
    run(prefixed, history, name="copied")
    at_backup = digest(backup)
    assert digest(history) == digest(tmp_path / "file") != at_backup
    elsewhere = restored(backup, tmp_path / "elsewhere")
    assert digest(elsewhere) == at_backup
    counts = run(prefixed, elsewhere, name="copied")  # its group's offsets are at the end
    assert counts.rows > 0
    assert digest(elsewhere) == digest(history)


def copied_while_written(sink: Process, history: Path, backup: Path) -> None:
    """Copies until tables were committed during one copy."""
    deadline = time.monotonic() + TOO_LONG
    before, during = 0, 0
    while before == during:
        assert time.monotonic() < deadline, sink.said()[-3000:]
        before = sink.said().count("after ")
        copied(history, backup, writing=True)
        during = sink.said().count("after ")
