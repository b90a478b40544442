"""One S3 server for a test process; each test has a prefix of its own. Histories that many tests
start from are written once, and copied where the server keeps its objects."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from sinks.generation import FOLDER
from sinks.object_store import ObjectPath
from streams.apps.compact_and_forget import forget
from streams.files.manifest import Settings
from streams.generations import rebuild
from tests.acceptance.test_guarantees import ALICE
from tests.object_store.s3_server import NAMES, S3Server
from tests.object_store.sunk import Erased, Pieces, company_and_others, sink


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server.start(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def settings(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment that an operator sets, set."""
    environ = s3.environ()
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return environ


@pytest.fixture
def root(s3: S3Server, settings: dict[str, str]) -> ObjectPath:
    """Where a history may be made."""
    return ObjectPath(s3.place(f"team/{uuid4()}"))


@pytest.fixture(scope="session")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    """What a sink reads of Alice, Bob, Carol and another tenant."""
    return company_and_others(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="session")
def folder(pieces: Pieces, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a sink has written into a folder, with the generation `new`; only to be read."""
    history = tmp_path_factory.mktemp("folder") / "h"
    sink(history, pieces)
    rebuild.backfill(history, "new", Settings(extractor="none"))
    return history


@pytest.fixture(scope="session")
def erased(pieces: Pieces, tmp_path_factory: pytest.TempPathFactory) -> Erased:
    """The same without Alice and without a generation; only to be read."""
    history = tmp_path_factory.mktemp("erased") / "h"
    sink(history, pieces)
    return Erased(history, forget(history, "default", ALICE))


@pytest.fixture(scope="session")
def written(s3: S3Server, pieces: Pieces) -> str:
    """The prefix of what a sink has written into the bucket; only to be read and copied."""
    with s3.reached():
        sink(ObjectPath(s3.place("written/sunk")), pieces)
    return "written/sunk"


@pytest.fixture
def sunk(s3: S3Server, root: ObjectPath, written: str) -> ObjectPath:
    """A history that a sink has written into the bucket."""
    s3.copy(written, root.key)
    return root


@pytest.fixture
def two(s3: S3Server, sunk: ObjectPath, written: str) -> ObjectPath:
    """The same with a second generation, `new`, that has the same records."""
    s3.copy(written, f"{sunk.key}/{FOLDER}/new")
    return sunk
