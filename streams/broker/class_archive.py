"""A program's classes as Java has loaded them once, in a file that later processes map into memory.

Loading them from the jars is half of the CPU time that a broker takes to start. Java itself
refuses an archive of another Java or of other jars, and goes on without.
"""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from streams.broker import jars


def flags(
    java: Path, classpath: str, train: Callable[[str], None], listed: Path = jars.KAFKA
) -> tuple[str, ...]:
    """Java's options to use the archive. Where there is none yet it is made of what the program
    loads that `train` starts with the option it is given, and ends well: once for a Java and its
    jars, beside those of the list."""
    archive = jars.cache_folder(listed) / f"classes-{_key(java, classpath)}.jsa"
    if not archive.exists():
        with archive.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not archive.exists():
                _make(archive, train)
    return (f"-XX:SharedArchiveFile={archive}",) if archive.stat().st_size else ()


def _key(java: Path, classpath: str) -> str:
    found = java.resolve()
    text = f"{found} {found.stat().st_mtime_ns} {classpath}"
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:16]


def _make(archive: Path, train: Callable[[str], None]) -> None:
    """An empty file says that this Java makes none."""
    with tempfile.TemporaryDirectory(prefix=".classes-", dir=archive.parent) as folder:
        made = Path(folder) / archive.name
        train(f"-XX:ArchiveClassesAtExit={made}")
        made.touch()
        made.replace(archive)
