"""What a session takes open and cold: in a changelog, in the compacted topics, in RocksDB.

    python -m benchmarks.retention [--turns 40000]

Folds SGD's dialogues into a store, and then stores all sessions cold, as `run` does (compressed)
and as a worker does (not). Topics: record batches of the newest message of each key, which is what
compaction keeps (zstd as a worker writes; batches of 900 kB, and of 20 messages for the small ones
that compaction leaves). RocksDB: its files once it has compacted them.
"""

import argparse
import sys
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from benchmarks.common import sgd_path
from streams.files.fold_batch import Applier
from streams.files.store import Store
from streams.folds import documents
from streams.folds.constants import Rules
from streams.kafka.transport.writer import BATCH_BYTES
from tests.acceptance import sgd

ZSTD = 4
Rows = list[tuple[bytes, bytes]]


def folded(path: Path, turns: int) -> Store:
    """A store of so many turns of SGD, sessions alone."""
    encode = msgspec.json.Encoder().encode
    store = Store(path)
    said = enumerate(islice(sgd.records(sgd_path(), repeat=20), turns), 1)
    Applier(store, Rules()).apply([(encode(one), ("sgd", 0, number)) for number, one in said])
    store.commit({})
    for tenant, key in list(store.entities("users")):
        store.erase("users", tenant, key)
    return store


def cooled(store: Store, compressed: bool) -> float:
    """Stores all sessions cold; seconds."""
    began = time.perf_counter()
    for at in list(store.entities("sessions")):
        entity = store.entity("sessions", *at)
        store.cool(entity)
        entity.cool(compressed)
        if store.changed >= 2_000:
            store.commit({})
    store.commit({})
    return time.perf_counter() - began


def on_disk(path: Path) -> int:
    """Bytes of a closed store's tables once compacted."""
    store = Store(path)
    store.compact()
    store.close()
    Store(path).close()  # files that an iterator still used go now
    return sum(file.stat().st_size for file in path.glob("*.sst"))


def documents_of(store: Store) -> Rows:
    """What the topics `sessions` and `session-contexts` hold."""
    encode = msgspec.json.Encoder().encode
    found = []
    for at in store.entities("sessions"):
        document = documents.session(store.committed("sessions", *at), Rules())
        found.append(("/".join(at).encode(), encode(document)))
    contexts = [(key, encode(msgspec.json.decode(one)["context"])) for key, one in found]
    return [*found, *contexts]


def rows_of(store: Store) -> Rows:
    """All rows of sessions, in the order of their keys."""
    cursor = store._db.iter()
    cursor.seek(b"s\0")
    found: Rows = []
    while cursor.valid() and cursor.key().startswith(b"s\0"):
        found.append((cursor.key(), cursor.value()))
        cursor.next()
    return found


def in_a_topic(messages: Rows, most: int = 1_000_000) -> int:
    """Bytes of record batches that hold these messages, so many at most in each."""
    total, batch, count = 0, _batch(), 0
    for key, value in messages:
        if count == most or batch.append(count, 0, key, value, []) is None:
            total, batch, count = total + len(batch.build()), _batch(), 0
            batch.append(0, 0, key, value, [])
        count += 1
    return total + len(batch.build())


def _batch() -> DefaultRecordBatchBuilder:
    return DefaultRecordBatchBuilder(
        magic=2, compression_type=ZSTD, is_transactional=1, producer_id=1, producer_epoch=0,
        base_sequence=0, batch_size=BATCH_BYTES,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=40_000)
    turns = parser.parse_args().turns
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        store = folded(path, turns)
        sessions = sum(1 for _ in store.entities("sessions"))
        say = sys.stdout.write
        say(f"{turns:,} turns in {sessions:,} sessions; bytes of a session:\n")
        say(f"{'':16}{'rows':>6}{'changelog':>11}{'of 20':>8}{'documents':>11}{'RocksDB':>9}\n")
        told = documents_of(store)
        for name in ("open", "cold by worker", "cold by run"):
            seconds = cooled(store, name == "cold by run") if name != "open" else 0.0
            rows = rows_of(store)
            store.close()
            sizes = (
                in_a_topic(rows),
                in_a_topic(rows, 20),
                in_a_topic(told) if name == "open" else 0,
                on_disk(path),
            )
            store = Store(path)
            log, small, documents_, disk = (round(size / sessions) for size in sizes)
            say(f"{name:16}{len(rows) / sessions:6.1f}{log:11,}{small:8,}{documents_:11,}{disk:9,}")
            say(f"   {seconds / sessions * 1e6:.0f} us each\n" if seconds else "\n")
        store.close()


if __name__ == "__main__":
    main()
