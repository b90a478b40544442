"""Jars of a Java program: a pinned list with checksums, downloaded once into the user's cache.

Kafka's list is `kafka-VERSION.sha256` in this folder, written by scripts/kafka-jars. jgo is the
Maven client; TURNFOLD_MAVEN sets another repository than Maven Central, such as a mirror.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from streams.errors import Unreachable

VERSION = "4.1.2"  # 4.2 to 4.4 lose the end of a transaction (docs/recovery.md)
KAFKA = Path(__file__).parent / f"kafka-{VERSION}.sha256"
PARALLEL = 8
TRIES = 3


@dataclass(frozen=True, slots=True)
class Jar:
    """One artifact of a Maven repository, with the required sha256."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"


def pinned(listed: Path = KAFKA) -> tuple[Jar, ...]:
    """Jars of a list; each line is `sha256  group:artifact:version`."""
    return tuple(_jar(*line.split()) for line in listed.read_text().splitlines())


def _jar(sha256: str, name: str) -> Jar:
    group, artifact, version = name.split(":")
    return Jar(group, artifact, version, sha256)


def cache_folder(listed: Path = KAFKA) -> Path:
    """Cache of the jars: $XDG_CACHE_HOME/turnfold/kafka-VERSION, by the list's name."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "turnfold" / listed.stem


def classpath(say: Callable[[str], None] = lambda _: None, listed: Path = KAFKA) -> str:
    """Class path of all jars; downloads missing or damaged ones. `say` receives progress lines.

    Raises Unreachable if a jar cannot be downloaded or differs from the pinned one.
    """
    folder = cache_folder(listed)
    folder.mkdir(parents=True, exist_ok=True)
    jars = pinned(listed)
    missing = [jar for jar in jars if not is_intact(folder / jar.file_name, jar)]
    if missing:
        program = listed.stem.capitalize().replace("-", " ")
        say(f"fetching {len(missing)} of {program}'s {len(jars)} jars into {folder}")
        fetch(missing, folder)
    return os.pathsep.join(str(folder / jar.file_name) for jar in jars)


def is_intact(path: Path, jar: Jar) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256


def fetch(jars: list[Jar], folder: Path) -> None:
    """Downloads jars concurrently. Each is moved into place when complete, so a second call
    continues."""
    with (
        tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as partial,
        ThreadPoolExecutor(PARALLEL) as pool,
    ):
        for job in [pool.submit(_fetch, jar, Path(partial), folder) for jar in jars]:
            job.result()


def _fetch(jar: Jar, partial: Path, folder: Path) -> None:
    try:
        from jgo.maven import MavenContext
    except ImportError:
        raise Unreachable("jgo: not installed; install turnfold[broker]") from None
    mirror = os.environ.get("TURNFOLD_MAVEN")
    remotes = {"mirror": mirror.rstrip("/")} if mirror else None
    context = MavenContext(repo_cache=partial, local_repos=[], remote_repos=remotes)
    artifact = context.project(jar.group, jar.artifact).at_version(jar.version).artifact()
    for remaining in reversed(range(TRIES)):
        try:
            path = artifact.resolve()
            break
        except Exception as error:  # jgo raises errors of requests, and RuntimeError
            if artifact.cached_path:
                artifact.cached_path.unlink(missing_ok=True)  # jgo would accept a partial file
            if not remaining:
                raise Unreachable(
                    f"{jar.file_name}: cannot be fetched: {error}. Jars come from Maven "
                    "Central; behind a proxy set HTTPS_PROXY, for a mirror TURNFOLD_MAVEN"
                ) from error
    if not is_intact(path, jar):
        raise Unreachable(
            f"{jar.file_name}: the download is not what is pinned (sha256 {jar.sha256}); "
            "the repository or the connection is damaged"
        )
    path.replace(folder / jar.file_name)
