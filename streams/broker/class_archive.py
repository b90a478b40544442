"""Archive of a program's loaded Java classes, which later processes map into memory.

Loading classes from jars takes half of a broker's CPU time at startup. Java rejects an archive of
another Java or of other jars, and continues without it.
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
    """Java options that use the archive. If it does not exist, `train` starts the program with the
    given option and ends it cleanly; the archive is stored with the jars of the list, once per Java
    and jars."""
    archive = jars.cache_folder(listed) / f"classes-{_key(java, classpath)}.jsa"
    if not archive.exists():
        with archive.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not archive.exists():
                _make(archive, train)
    return (f"-XX:SharedArchiveFile={archive}",) if archive.stat().st_size else ()


def _key(java: Path, classpath: str) -> str:
    path = java.resolve()
    text = f"{path} {path.stat().st_mtime_ns} {classpath}"
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:16]


def _make(archive: Path, train: Callable[[str], None]) -> None:
    """Writes an empty file if this Java cannot create one."""
    with tempfile.TemporaryDirectory(prefix=".classes-", dir=archive.parent) as folder:
        partial = Path(folder) / archive.name
        train(f"-XX:ArchiveClassesAtExit={partial}")
        partial.touch()
        partial.replace(archive)
