"""Checks of the RocksDB folders of a worker's tables and a server's rows, one per lane."""

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from rocksdict import AccessType, Options, Rdict

from sinks.scratch import scratch
from streams.doctor.check_result import Finding, ok, warning
from streams.kafka.transport.disk_rows import STANDING_KEY, size_on_disk
from streams.pipeline.row_formats import OLDEST, ROW_FORMAT

NOTES = "rocksdict-config.json"
"""The library writes this file whenever it opens a database."""
OMITTED = ("LOCK", "LOG")
ATTEMPTS = 3
PAUSE = 0.2


def tables(folder: Path) -> Iterator[Finding]:
    """Whether this version can continue a worker's tables. The worker may be running."""
    yield _continued(
        "worker tables",
        folder,
        sorted(path.parent for path in folder.glob("*/CURRENT")),
        "A worker throws them away and reads the whole changelog: nothing is lost, but its "
        "start takes longer.",
        "Start workers one after the other, or with --standbys 1.",
    )


def rows(folder: Path) -> Iterator[Finding]:
    """Whether this version can continue a server's rows, and the disk has space to rewrite them."""
    lanes = sorted(path.parent for path in folder.glob("[!.]*/*/CURRENT"))
    yield _continued(
        "server rows",
        folder,
        lanes,
        "A server throws them away and reads the whole changelog: nothing is lost, but it answers "
        "503 until then.",
        "Start servers one after the other.",
    )
    if not lanes:
        return
    largest, free = max(map(size_on_disk, lanes)), shutil.disk_usage(folder).free
    if free < largest:
        yield warning(
            "room for server rows",
            f"{folder}: {free / 1e6:,.0f} MB free; the largest lane takes {largest / 1e6:,.0f} MB",
            "Files are rewritten once a day, with this much room. Without it rows that were "
            "deleted stay on this disk.",
            "Make room, or enlarge the disk.",
        )


def _continued(check: str, folder: Path, lanes: Sequence[Path], means: str, do: str) -> Finding:
    if not lanes:
        return ok(check, f"{folder}: none there yet")
    unusable = [lane.name for lane in lanes if not OLDEST <= _format(lane) <= ROW_FORMAT]
    if unusable:
        text = f"{len(unusable)} of {len(lanes)} lanes cannot be used ({unusable[0]}, …)"
        return warning(check, f"{folder}: {text}", means, do)
    return ok(check, f"{folder}: {len(lanes)} lanes can be continued")


def _format(lane: Path) -> int:
    """The row format; 0 for an unreadable folder, or an incomplete restore."""
    try:
        content = stored_value(lane, STANDING_KEY)
        row_format: int = msgspec.msgpack.decode(content)[0] if content else ROW_FORMAT
    except Exception:  # rocksdict raises bare Exceptions
        return 0
    return row_format


def stored_value(folder: Path, key: bytes) -> bytes | None:
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
