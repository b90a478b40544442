"""A disk that can be filled: a small file system of our own where we may mount one (Linux, root).

Where we may not, processes are told that no file may grow (RLIMIT_FSIZE): EFBIG instead of ENOSPC,
on the same way of the write.
"""

import os
import resource
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

LARGEST_FILE = 10_000


class Disk:
    """`folder` lies on it. `megabytes` it has, 0 where it is no file system of its own."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder, self.megabytes = folder, megabytes
        self.message = "No space left on device" if megabytes else "File too large"

    @contextmanager
    def full(self, writers: Sequence[int]) -> Iterator[None]:
        """No room for these processes (ids) as long as the block lasts."""
        if self.megabytes:
            self._make_smaller()
            yield
            _mount(f"remount,size={self.megabytes}m", self.folder)
            return
        for pid in writers:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (LARGEST_FILE, resource.RLIM_INFINITY))
        yield
        for pid in writers:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)

    def _make_smaller(self) -> None:
        """To what it holds; somebody may write more meanwhile, then it is too small again."""
        while True:
            found = os.statvfs(self.folder)
            used = (found.f_blocks - found.f_bfree) * found.f_bsize
            if _mount(f"remount,size={used}", self.folder):
                return


def _mount(options: str, folder: Path) -> bool:
    """Whether it could be done."""
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    """A disk of so many megabytes at `folder`, which is made; or any disk, where we may not."""
    if can_mount():
        with mounted(folder, megabytes):
            yield Disk(folder, megabytes)
    else:
        folder.mkdir(parents=True)
        yield Disk(folder, 0)


def can_mount() -> bool:
    """Whether a small file system of our own can be had."""
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/tmp"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def filled(ballast: Path, room: int = 0) -> None:
    """Takes all room of a file's disk but so many bytes."""
    with ballast.open("wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(4_096))
        file.truncate(file.tell() - room)


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of so many megabytes at `folder`, which is made."""
    folder.mkdir(parents=True)
    if not _mount(f"size={megabytes}m", folder):
        raise OSError(f"{folder}: tmpfs cannot be mounted")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
