"""The folder in which a replica keeps its rows (docs/serving.md, "Rows on disk").

    DIR/serve.json                       owner of the rows: app id and cluster
    DIR/lock                             a running server has it
    DIR/GROUP+PARTITIONS/CHANGELOG-N/    a lane's rows, and their position in the changelog

All of it can be read from Kafka again, so unused folders are removed.
"""

import asyncio
import json
import logging
import os
import shutil
from collections import defaultdict
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from time import monotonic, time
from typing import IO

from aiokafka.structs import TopicPartition
from rocksdict import Cache

from sinks.history_root import replace
from sinks.locks import acquire
from streams.errors import ConfigurationError
from streams.kafka.client.admin import cluster_of, connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.transport.disk_rows import DiskRows, size_on_disk
from streams.kafka.transport.rows import RowStore
from streams.pipeline.interfaces import StoreError
from streams.serving.backends.replica_tables import ReplicaStore

log = logging.getLogger(__name__)

OWNER, LOCK, COMPACTED, GONE = "serve.json", "lock", "compacted", ".gone-"
CACHE = 64_000_000
"""Bytes of rows as they are on disk, of all lanes together."""
ENTITIES = 8_192
"""Maximum sessions and users with decoded rows, in all lanes together."""
WRITE_BUFFERS = 64_000_000
"""Bytes of all lanes; each lane has a minimum, and up to two buffers are in use."""
LEAST_BUFFER, MOST_BUFFER = 1_000_000, 4_000_000
LOOK_EVERY = 60.0
COMPACT_EVERY = 80_000.0
"""Seconds: rows that are gone leave the disk within a day, as tombstones leave Kafka."""
AGAIN = 3_600.0
"""Seconds until what could not be compacted is tried again."""


class DiskStore(ReplicaStore):
    """Rows that survive a restart. The folder belongs to one server; it is created if needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: IO[str] | None = None
        self._used: defaultdict[str, dict[Path, DiskRows]] = defaultdict(dict)  # by their place
        self._cache = Cache(CACHE)
        self._again = 0.0

    async def take(self, kafka: KafkaSettings, app_id: str) -> None:
        async with connected(kafka) as admin:
            cluster = await cluster_of(admin, kafka)
        try:
            await asyncio.to_thread(self._take, {"app_id": app_id, "cluster": cluster})
        except OSError as error:
            raise ConfigurationError(
                f"{self._folder}: {error.strerror or error}; --data is a folder that this process "
                "can write"
            ) from None

    def _take(self, owner: dict[str, str]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if not (self._folder / OWNER).exists() and _others(self._folder):
            raise ConfigurationError(
                f"{self._folder}: has files that are not a server's; --data is a folder of its own"
            )
        lock = (self._folder / LOCK).open("a")
        if not acquire(lock):
            lock.close()
            raise ConfigurationError(
                f"{self._folder}: another server has it; each needs a --data of its own"
            )
        self._lock = lock
        try:
            self._own(owner)
        except BaseException:
            self.release()
            raise

    def _own(self, owner: dict[str, str]) -> None:
        recorded = _owner(self._folder / OWNER)
        if recorded and recorded != owner:
            have, want = (f"app id {side['app_id']} on cluster {side['cluster']}"
                          for side in (recorded, owner))  # fmt: skip
            raise ConfigurationError(
                f"{self._folder}: has the rows of {have}, and this server serves {want}; give it "
                "another --data, or delete the folder: its rows can be read from Kafka again"
            )
        replace(self._folder / OWNER, json.dumps(owner) + "\n")

    def rows(self, group: str, at: TopicPartition, partitions: int) -> RowStore:
        place = f"{group}+{partitions}"
        lanes = 2 * partitions
        disk_rows = DiskRows(
            self._folder / place / f"{at.topic}-{at.partition}",
            max(64, ENTITIES // lanes),
            max(LEAST_BUFFER, min(MOST_BUFFER, WRITE_BUFFERS // lanes)),
            self._cache,
        )
        self._used[place][disk_rows.folder] = disk_rows
        return disk_rows

    def leave(self, group: str) -> None:
        for place in [place for place in self._used if place.rpartition("+")[0] == group]:
            del self._used[place]

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def run(self) -> None:
        """Runs forever. Raises StoreError if the folder was removed or replaced."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self._check_there()
            await self._sweep()
            for rows in [rows for by_folder in self._used.values() for rows in by_folder.values()]:
                if monotonic() >= self._again and _is_due(rows.folder):
                    await self._compact(rows)

    def _check_there(self) -> None:
        """RocksDB continues in deleted files until it needs a new one."""
        if self._lock is None:
            return
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._lock.fileno()), (self._folder / LOCK).stat()):
                return
        raise StoreError(
            f"{self._folder}: was removed, or another folder is in its place; start again: "
            "nothing is lost"
        )

    async def _sweep(self) -> None:
        """Removes rows of unused generations and of other numbers of partitions, once the used ones
        are known."""
        if not self._used:
            return
        try:
            for place in [path for path in self._folder.iterdir() if path.is_dir()]:
                if place.name not in self._used:
                    await self._remove(place)
        except OSError as error:
            log.error("%s: rows that are not used stay: %s; tries again", self._folder, error)

    async def _remove(self, place: Path) -> None:
        if not place.name.startswith(GONE):
            log.info("%s: its rows are not used any more, removes them", place)
            place = place.rename(place.with_name(f"{GONE}{place.name}-{time():.0f}"))
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)

    async def _compact(self, rows: DiskRows) -> None:
        try:
            if shutil.disk_usage(rows.folder).free < size_on_disk(rows.folder):
                raise OSError(ENOSPC, "too little room to write them again")
            # shielded: who closes the rows breaks it off
            if await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(rows.compact))):
                await rows.renew()
                (rows.folder / COMPACTED).touch()
        except Exception as error:  # rocksdict raises bare Exceptions
            log.error(
                "%s: its files are not rewritten, so rows that are gone stay on this disk: %s; "
                "tries again in an hour", rows.folder, error,
            )  # fmt: skip
            self._again = monotonic() + AGAIN


def _others(folder: Path) -> bool:
    """Whether a folder contains files that a new volume does not have."""
    return any(path.name not in (LOCK, "lost+found") for path in folder.iterdir())


def _owner(file: Path) -> dict[str, str] | None:
    """Reads the owner of a folder, or returns None if it is missing or unreadable."""
    try:
        document = json.loads(file.read_text())
        return {"app_id": str(document["app_id"]), "cluster": str(document["cluster"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_due(folder: Path) -> bool:
    """Whether a lane's files are due for a rewrite; from its first day on."""
    stamp = folder / COMPACTED
    with suppress(OSError):  # it does not exist yet, or is being rebuilt
        if stamp.exists():
            return time() - stamp.stat().st_mtime > COMPACT_EVERY
        stamp.touch()
    return False
