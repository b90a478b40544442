"""One S3 server for a session of tests; each test has a prefix of its own."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from sinks.object_store import ObjectPath
from tests.object_store.s3_server import NAMES, S3Server


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server.start(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def settings(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment that an operator sets, set."""
    found = s3.environ()
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def root(s3: S3Server, settings: dict[str, str]) -> ObjectPath:
    """Where a history may be made."""
    return ObjectPath(s3.place(f"team/{uuid4()}"))
