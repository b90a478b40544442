"""Checks of the RocksDB folders of a worker's tables and a server's rows, one per lane."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from streams.doctor import rocksdb
from streams.doctor.check_result import Finding, ok, warning
from streams.kafka.transport.disk_rows import STANDING_KEY, size_on_disk
from streams.pipeline.row_formats import OLDEST, ROW_FORMAT


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
        content = rocksdb.value(lane, STANDING_KEY)
        row_format: int = msgspec.msgpack.decode(content)[0] if content else ROW_FORMAT
    except Exception:  # rocksdict raises bare Exceptions
        return 0
    return row_format
