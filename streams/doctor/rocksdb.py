"""Reads a value of a RocksDB database without a change in its folder."""

import shutil
import time
from pathlib import Path

from rocksdict import AccessType, Options, Rdict

from sinks.scratch import scratch

NOTES = "rocksdict-config.json"
"""The library writes this file whenever it opens a database."""
OMITTED = ("LOCK", "LOG")
ATTEMPTS = 3
PAUSE = 0.2


def value(folder: Path, key: bytes) -> bytes | None:
    """Returns the value of a key, or None. The database is opened through a folder of links, where
    the library writes its files: the database's folder may be read-only.

    Raises what rocksdict raises, a bare Exception; OSError.
    """
    for attempt in range(ATTEMPTS):
        try:
            return _value(folder, key)
        except Exception:  # a writer may have replaced files since they were listed
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(PAUSE)
    raise AssertionError("the last attempt raises")


def _value(folder: Path, key: bytes) -> bytes | None:
    with scratch() as links:
        for file in folder.absolute().iterdir():
            if file.name == NOTES:
                shutil.copyfile(file, links / NOTES)
            elif not file.name.startswith(OMITTED):
                (links / file.name).symlink_to(file)
        store = Rdict(str(links), Options(raw_mode=True), access_type=AccessType.read_only(False))
        try:
            content = store.get(key)
        finally:
            store.close()
    assert content is None or isinstance(content, bytes)
    return content
