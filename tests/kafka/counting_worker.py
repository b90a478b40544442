"""A worker process that counts records by key: the smallest processor with a table.

    python -m tests.kafka.counting_worker --bootstrap HOST:PORT --group GROUP [--die POINT]

Its topics are GROUP-clicks, GROUP-taps, GROUP-changelog and GROUP-counts. Every record makes an
output to the last with the key's new count and, in headers, its source. With
--die it sends itself SIGKILL when a lane passes POINT for the N-th time.
"""

import argparse
import json
import logging
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from streams.kafka.transport.app import App
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.interfaces import (
    AgentSpec,
    Batch,
    LaneSettings,
    Output,
    Processor,
    Row,
)
from streams.kafka.transport.lane import Lane
from streams.kafka.transport.rows import MemoryRows, RowStore
from streams.kafka.transport.run import run

HEAD = b"\0h"
POISON = b"poison"
"""A record with this key is a fault of the program."""


class Counting(Processor):
    """Counts by key; how many records it has seen, in the note. A count is its key's row `h`."""

    def __init__(self, partition: int, rows: RowStore, output: str) -> None:
        self.partition, self.rows, self.output = partition, rows, output
        self.table: dict[bytes, int] = {}
        self.pending: dict[bytes, int] = {}
        self.seen = self.seen_pending = 0

    def process(self, records: Sequence[Any], again: bool = False) -> Batch:
        outputs = []
        for record in records:
            if record.key == POISON:
                raise ValueError("poison")
            count = self.pending.get(record.key, self.table.get(record.key, 0)) + 1
            self.pending[record.key] = count
            source = [("src", f"{record.topic}/{record.partition}/{record.offset}".encode())]
            outputs.append(
                Output(
                    self.output, self.partition, record.key, b"%d" % count, source, record.timestamp
                )
            )
        self.seen_pending = self.seen + len(records)
        return Batch(outputs, self._changes(), {"seen": self.seen_pending})

    def _changes(self) -> list[Row]:
        return [(key + HEAD, b"%d" % count) for key, count in self.pending.items()]

    def committed(self) -> None:
        self.rows.put(self._changes())
        self.table.update(self.pending)
        self.pending.clear()
        self.seen = self.seen_pending

    def rolled_back(self) -> None:
        self.pending.clear()

    def restore(self, rows: Sequence[Row]) -> None:
        assert not self.pending
        self.rows.put(rows)
        self.index_rows(rows)

    def index_rows(self, heads: Sequence[Row]) -> None:
        new = {key.removesuffix(HEAD): int(value) for key, value in heads if value is not None}
        self.table.update(new)

    def restored(self, note: Mapping[str, Any]) -> None:
        self.seen = note.get("seen", 0)
        if sum(self.table.values()) != self.seen:
            raise AssertionError(f"restored {sum(self.table.values())}, marker says {self.seen}")

    def reset(self) -> None:
        self.table.clear()
        self.pending.clear()
        self.seen = 0


def topics(group: str) -> tuple[str, str, str, str]:
    """Two sources, the changelog, the output."""
    return f"{group}-clicks", f"{group}-taps", f"{group}-changelog", f"{group}-counts"


def plan(group: str) -> AgentSpec:
    clicks, taps, changelog, counts = topics(group)
    return AgentSpec(
        agent="counting",
        sources=(clicks, taps),
        changelog=changelog,
        processor=lambda number, rows: Counting(number, rows, counts),
        table="counted",
        about="how often each key came",
    )


class Death:
    """Kills the process when a point is passed for the n-th time."""

    def __init__(self, point: str | None, after: int) -> None:
        self.point, self.left = point, after

    def __call__(self, lane: str, point: str) -> None:
        sys.stdout.write(f"{lane} {point}\n")
        sys.stdout.flush()
        if point == self.point:
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Counted(dict[tuple[str, int], Lane]):
    """A worker's lanes, with the counters of those that went to other workers."""

    def __init__(self) -> None:
        super().__init__()
        self.totals: Counter[str] = Counter()

    def pop(self, key: Any, *default: Any) -> Any:
        self.totals.update(asdict(self[key].counts))
        return super().pop(key, *default)

    def sums(self) -> Counter[str]:
        totals = Counter(self.totals)
        for lane in self.values():
            totals.update(asdict(lane.counts))
        return totals


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--instance", help="static membership: comes back without a rebalance")
    parser.add_argument("--die")
    parser.add_argument("--after", type=int, default=1)
    parser.add_argument("--standbys", type=int, default=0)
    parser.add_argument("--data", type=Path, help="tables on disk")
    parser.add_argument("--max-records", type=int, default=200)
    parser.add_argument("--session-timeout", type=float, default=6.0)
    parser.add_argument("--stall-after", type=float, default=30.0)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    app = App(
        given.group,
        [plan(given.group)],
        bootstrap=given.bootstrap,
        datadir=Path(tempfile.gettempdir()) / f"counting-{os.getpid()}",
        consumer_group_instance_id=given.instance,
        broker_session_timeout=given.session_timeout,
        standbys=given.standbys,
        lane_settings=LaneSettings(
            max_records=given.max_records,
            stall_after=given.stall_after,
            rows=lambda lane: DiskRows(given.data / lane) if given.data else MemoryRows(),
            observe=Death(given.die, given.after),
        ),
    )
    app.lanes.lanes = lanes = Counted()
    code = run(app)
    sys.stdout.write("totals " + json.dumps(lanes.sums()) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
