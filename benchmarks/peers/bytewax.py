"""The peer job on Bytewax, in an environment of its own (benchmarks/peers/workers.py).

At least once. Bytewax has no changelog topic: every epoch (10 s) changed states go to its recovery
store, SQLite files on disk.
"""

import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op  # type: ignore[import-not-found]
from bytewax.connectors.kafka import (  # type: ignore[import-not-found]
    KafkaSink,
    KafkaSinkMessage,
    KafkaSource,
    KafkaSourceMessage,
)
from bytewax.dataflow import Dataflow  # type: ignore[import-not-found]
from bytewax.recovery import RecoveryConfig, init_db_dir  # type: ignore[import-not-found]
from bytewax.run import cli_main  # type: ignore[import-not-found]

from benchmarks.peers import job

EPOCH = timedelta(seconds=10)  # bytewax.run's default


def _keyed(message: "KafkaSourceMessage") -> tuple[str, bytes]:
    return message.key.decode(), message.value


def _update(context: job.Context | None, turn: bytes) -> tuple[job.Context, bytes]:
    context = job.apply(context, job.decode(turn))
    return context, job.encode(context)


def _message(row: tuple[str, bytes]) -> "KafkaSinkMessage":
    return KafkaSinkMessage(row[0].encode(), row[1])


def flow(bootstrap: str, source: str, output: str) -> Dataflow:
    contexts = Dataflow("contexts")
    turns = op.input("turns", contexts, KafkaSource([bootstrap], [source]))
    rows = op.stateful_map("update", op.map("key", turns, _keyed), _update)
    op.output("outputs", op.map("message", rows, _message), KafkaSink([bootstrap], output))
    return contexts


def main(bootstrap: str, group: str, source: str, output: str, *_: str) -> None:
    store = Path(tempfile.gettempdir()) / "recovery"
    if not store.exists():
        store.mkdir()
        init_db_dir(store, 1)
    cli_main(
        flow(bootstrap, source, output), epoch_interval=EPOCH, recovery_config=RecoveryConfig(store)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
