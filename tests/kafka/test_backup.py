"""A history is copied while a sink writes it, restored elsewhere, and continued there
(docs/recovery.md)."""

import asyncio
import time
from itertools import islice
from pathlib import Path

import pytest

from sinks.digest import digest
from streams.files import file_runner
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from tests.acceptance import sgd
from tests.backing_up import copied, restored
from tests.command import ndjson
from tests.kafka.history import messages, send
from tests.kafka.test_sink import TOO_LONG, Process, run
from tests.shared_data import shared

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
