"""Consistent snapshot of the files of a source's tables.

A live `run` may be writing. Before a batch it notes the tables' versions, to which it rolls back
after a kill; so a table is only read up to the noted version.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from rocksdict import AccessType, Options, Rdict

from sinks.hard_links import DataFile, files_at, version_of
from streams.errors import ConfigurationError
from streams.files.database import rows_under
from streams.files.manifest import Settings
from streams.files.retraction import MARKS
from streams.files.store import VALUES
from streams.files.stored_records import INPUT_TABLES

READ = (*INPUT_TABLES, "plans", "dead_letters")
TRIES = 20

Snapshot = dict[str, list[DataFile]]
"""Table -> files."""


def take(source: Path, settings: Settings) -> Snapshot:
    """Files of the days in the settings."""
    versions = {name: version_of(source / name) for name in READ}
    # first the tables, then the note: a batch is noted before it is written to a table
    previous = _note(source)
    if previous is not None:
        versions = {
            name: min(version, previous.get(name, -1)) for name, version in versions.items()
        }
    return {
        name: [file for file in files_at(source / name, version) if settings.covers(file.day)]
        for name, version in versions.items()
        if version >= 0
    }


def _note(source: Path) -> dict[str, int] | None:
    """Table -> Delta version before the batch being written, or None without one."""
    value = _read(source, lambda store: store.get(VALUES + b"writing"))
    return None if value is None else dict(msgspec.msgpack.decode(value))


def marks_of(source: Path) -> dict[str, bool]:
    """Marks of the records that a source retracts (`streams.files.retraction`)."""
    rows = _read(source, lambda store: rows_under(store.iter(), VALUES + MARKS.encode())) or {}
    return {mark: msgspec.msgpack.decode(words) for mark, words in rows.items()}


def _read(source: Path, lookup: Callable[[Rdict], Any]) -> Any:
    """Reads from a store that its owner may be writing, or returns None if there is none."""
    path = source / "_store"
    if not (path / "CURRENT").exists():  # a sink's history
        return None
    for _ in range(TRIES):
        try:
            store = Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
        except (
            Exception
        ) as error:  # its owner may have removed a file; rocksdict raises bare Exceptions
            last = error
            continue
        try:
            return lookup(store)
        finally:
            store.close()
    raise ConfigurationError(f"{path}: the fold's tables cannot be opened: {last}")
