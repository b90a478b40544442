"""One server for the tests of the API: `turnfold serve` over the sample's history."""

from collections.abc import Iterator

import httpx
import pytest

from streams.files import file_runner
from streams.serving.http import rate_limits
from tests.planned import CONVERSATIONS
from tests.serving.serving import Server, serving


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Tests write into it under ids of their own. Replies wait as long as a busy machine takes."""
    history = tmp_path_factory.mktemp("api") / "history"
    file_runner.run([str(CONVERSATIONS)], history)
    with serving("--history", history, "--within", "60") as server:
        yield server


@pytest.fixture
def api(sample: Server) -> httpx.Client:
    """A client of it."""
    return sample.client


class Clock:
    """Stands still until it is moved: otherwise a slow machine would never ask too often."""

    now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of rates."""
    made = Clock()
    monkeypatch.setattr(rate_limits, "time", made)
    return made
