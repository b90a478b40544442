"""What a generation reads: the files of its source's tables at one moment.

A live `run` may be writing meanwhile. It notes where the tables stand before it writes a batch, and
takes the batch back if it was killed there; so a table is read no further than the note says.
"""

from pathlib import Path
from typing import Any

import msgspec
from rocksdict import AccessType, Options, Rdict

from sinks.links import DataFile, files_at, version_of
from streams.errors import ConfigurationError
from streams.files.manifest import Settings
from streams.files.store import VALUES
from streams.files.stored_records import SAID as SAID

READ = (*SAID, "plans", "dead_letters")
TRIES = 20

Snapshot = dict[str, list[DataFile]]
"""Table -> its files."""


def take(source: Path, settings: Settings) -> Snapshot:
    """The files of the days that are to be read."""
    versions = {name: version_of(source / name) for name in READ}
    # first the tables, then the note: a batch that has shown in a table has left a note before
    noted = _note(source)
    if noted is not None:
        versions = {name: min(at, noted.get(name, -1)) for name, at in versions.items()}
    return {
        name: [one for one in files_at(source / name, at) if settings.covers(one.day)]
        for name, at in versions.items()
        if at >= 0
    }


def _note(source: Path) -> dict[str, int] | None:
    """Table -> Delta version before the batch that is being written, if one is."""
    path = source / "_store"
    if not (path / "CURRENT").exists():  # a sink's history
        return None
    for _ in range(TRIES):
        try:
            store = Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
        except Exception as error:  # its owner may have removed a file: rocksdict raises bare ones
            last = error
            continue
        try:
            value: Any = store.get(VALUES + b"writing")
        finally:
            store.close()
        return None if value is None else dict(msgspec.msgpack.decode(value))
    raise ConfigurationError(f"{path}: the fold's tables cannot be opened: {last}")
