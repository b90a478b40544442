"""Worlds of the reference model through the real worker, killed half-way: what it writes shows
what docs/rules.md says."""

from pathlib import Path

import pytest

from tests.command import ndjson
from tests.kafka.working import alone, message
from tests.reference import compared, viewed
from tests.reference.test_worlds import many

WORLDS = 80


@pytest.mark.component
def test_guarantee_2_the_kafka_tier_writes_what_the_reference_says(tmp_path: Path) -> None:
    records = many(70_000, WORLDS)
    lines = ndjson(tmp_path / "records.ndjson", records).read_bytes().splitlines()
    half = len(lines) // 2
    with alone(tmp_path) as working:
        working.start()
        working.await_ready()
        working.send(message(line) for line in lines[:half])
        working.await_counts(applied=1)
        working.kill()
        working.send(message(line) for line in lines[half:])
        working.start()
        counts = working.await_done()
        history = working.history(tmp_path / "history")
    assert counts["read"] == len(records)
    assert compared.differences(viewed.wanted(records), viewed.shown(history)) == []
