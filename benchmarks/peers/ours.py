"""The peer job on our transport."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import job
from streams.kafka.transport.app import App
from streams.kafka.transport.interfaces import (
    AgentSpec,
    Batch,
    LaneSettings,
    Output,
    Processor,
    Row,
)
from streams.kafka.transport.run import run


class Contexts(Processor):
    """Contexts by key; restored rows stay undecoded until they are touched."""

    def __init__(self, partition: int, output: str) -> None:
        self.partition, self.output = partition, output
        self.table: dict[bytes, job.Context | bytes] = {}
        self.pending: dict[bytes, job.Context] = {}

    def _row(self, key: bytes) -> job.Context | None:
        row = self.pending.get(key) or self.table.get(key)
        return job.decode_row(row) if isinstance(row, bytes) else row

    def process(self, records: Sequence[Any], again: bool = False) -> Batch:
        outputs, rows = [], {}
        for record in records:
            key = record.key
            context = self.pending[key] = job.apply(self._row(key), job.decode(record.value))
            rows[key] = value = job.encode(context)
            source = [("src", b"%d" % record.offset)]
            outputs.append(Output(self.output, self.partition, key, value, source))
        return Batch(outputs, list(rows.items()))

    def committed(self) -> None:
        self.table.update(self.pending)
        self.pending.clear()

    def rolled_back(self) -> None:
        self.pending.clear()

    def restore(self, rows: Sequence[Row]) -> None:
        self.table.update((key, value) for key, value in rows if value is not None)

    def reset(self) -> None:
        self.table.clear()
        self.pending.clear()


def main(bootstrap: str, group: str, source: str, output: str, changelog: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        plan = AgentSpec(
            agent="contexts",
            sources=(source,),
            changelog=changelog,
            processor=lambda number, _: Contexts(number, output),
            table="contexts",
        )
        settings = LaneSettings()
        return run(
            App(group, [plan], bootstrap=bootstrap, datadir=Path(folder), lane_settings=settings)
        )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
