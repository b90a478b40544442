"""Checks of this machine: disk space, fsync latency, open files."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

from streams.doctor.check_result import Finding, ok, warning, wrong

FULL = 200_000_000
"""Bytes: less than a sink or a compaction may need at once."""
SCARCE = 0.05
"""Share of free space below which the disk is nearly full."""
SCARCE_BYTES = 2_000_000_000
SYNCS = 16
SLOW_SYNC = 0.05
"""Seconds. Commits of a sink and a server wait for it, a worker does not."""
FILES = 4096
"""Open files. Each lane's RocksDB may have 256; each connection and each table's file is one."""
REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.s3fs", "ceph"})
PASSING = {
    "tmpfs": "memory: all is gone when the machine or container ends",
    "ramfs": "memory: all is gone when the machine or container ends",
    "overlay": "the container's own layer: all is gone when the container is replaced",
}
"""File systems without durable storage, and why."""


def disk(name: str, folder: Path, *, local: bool = False) -> Iterator[Finding]:
    """Checks the disk of a folder, or of its nearest existing parent. `local`: it must not be a
    network file system."""
    check = f"disk of {name}"
    folder = folder.absolute()
    place = nearest(folder)
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        yield wrong(
            check,
            f"{place}: the file system is mounted read-only",
            "Nothing can be stored there; what is there can be read.",
            "Mount it for writing, or name another folder.",
        )
        return
    if not os.access(place, os.W_OK | os.X_OK):
        yield wrong(
            check,
            f"{place}: cannot be written by this account (uid {os.geteuid()})",
            "Nothing can be stored there.",
            "Give the folder to this account, or name another one.",
        )
        return
    yield _room(check, place)
    yield _kind(check, folder, place, local)
    yield _sync(f"fsync of {name}", place)


def nearest(folder: Path) -> Path:
    """The folder, or its nearest existing parent; a folder that this account may not read counts as
    missing."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if _is_folder(path))


def _is_folder(place: Path) -> bool:
    with suppress(OSError):
        return place.is_dir()
    return False


def _room(check: str, place: Path) -> Finding:
    stat = os.statvfs(place)
    free, size = stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize
    text = f"{place}: {_bytes(free)} free of {_bytes(size)}"
    do = (
        "Delete or move other files on this disk, or enlarge it; `turnfold admin compact` is no "
        'help: it needs room itself (docs/recovery.md, "Disk full").'
    )
    if free < FULL:
        return wrong(check, text, "Writes fail now, or will soon.", do)
    if free < SCARCE_BYTES and free < SCARCE * size:
        return warning(check, text, "The disk will be full soon.", do)
    if stat.f_files and stat.f_favail < 1000:
        return wrong(check, f"{place}: {stat.f_favail} inodes left", "No file can be made.", do)
    return ok(check, text)


def _kind(check: str, folder: Path, place: Path, local: bool) -> Finding:
    kind = _file_system(place)
    if kind in PASSING:
        return warning(
            check,
            f"{folder}: file system {kind}",
            f"It is {PASSING[kind]}.",
            "Mount a disk there (a volume, in a container)."
            + (" The tables are rebuilt from the changelog, which takes time." if local else ""),
        )
    if local and kind in REMOTE:
        return warning(
            check,
            f"{folder}: file system {kind}",
            "RocksDB on a network file system is slow, and its lock may not hold.",
            "Put the tables on a local disk.",
        )
    return ok(check, f"{folder}: file system {kind or 'unknown'}")


def _file_system(place: Path) -> str:
    """The type of the longest mount point that contains the place; empty except on Linux."""
    best, kind = "", ""
    with suppress(OSError):
        for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines():
            _, at, mount_kind, *_ = line.split()
            at = at.encode().decode("unicode_escape", "replace")
            if len(at) >= len(best) and place.resolve().is_relative_to(at):
                best, kind = at, mount_kind
    return kind


def _sync(check: str, place: Path) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=place, prefix=".turnfold.json.doctor-") as file:
            seconds = median(_synced(file.fileno()) for _ in range(SYNCS))
    except OSError as error:
        return wrong(
            check,
            f"{place}: {error.strerror or error}",
            "A commit there would not be certain.",
            "Repair the disk, or name another folder.",
        )
    text = f"{place}: 4 KiB on disk in {seconds * 1000:.1f} ms (median of {SYNCS})"
    if seconds > SLOW_SYNC:
        return warning(
            check, text, "Each commit takes several of these.", "Use a faster disk (SSD)."
        )
    return ok(check, text)


def _synced(file: int) -> float:
    started = time.perf_counter()
    os.pwrite(file, os.urandom(4096), 0)
    os.fsync(file)
    return time.perf_counter() - started


def open_files() -> Finding:
    """Checks the limit of open files of this account's processes."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = f"{soft} (hard limit {hard})" if soft >= 0 else "no limit"
    if 0 <= soft < FILES:
        return warning(
            "open files",
            text,
            f"A worker with many partitions needs more than {FILES}: each lane's tables may have "
            "256 files open.",
            f"Raise the limit: `ulimit -n {FILES * 4}`, LimitNOFILE= of systemd, `ulimits` of "
            "compose.",
        )
    return ok("open files", text)


def _bytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"
