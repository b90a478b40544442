"""A value of a RocksDB database, read without a change in its folder."""

import shutil
import time
from pathlib import Path

from rocksdict import AccessType, Options, Rdict

from sinks.scratch import scratch

NOTES = "rocksdict-config.json"
"""The library writes it whenever it opens a database."""
LEFT_OUT = ("LOCK", "LOG")
ATTEMPTS = 3
PAUSE = 0.2


def value(folder: Path, key: bytes) -> bytes | None:
    """What stands under a key. The database is opened through a folder of links: the library writes
    its notes and its log there, and the database may lie where nobody can write.

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
            elif not file.name.startswith(LEFT_OUT):
                (links / file.name).symlink_to(file)
        store = Rdict(str(links), Options(raw_mode=True), access_type=AccessType.read_only(False))
        try:
            found = store.get(key)
        finally:
            store.close()
    assert found is None or isinstance(found, bytes)
    return found
