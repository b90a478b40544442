"""A browser, and a server over the sample's history that nobody writes into."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page

from streams.apps import compact_and_forget
from streams.apps.erasure_requests import FOLDER, Erasure
from streams.files import file_runner
from streams.files.manifest import Settings
from streams.files.retraction import Retraction
from streams.generations.rebuild import backfill
from tests.inspector.browsing import Chromium, launched, watched
from tests.planned import CONVERSATIONS
from tests.serving.serving import Server, serving

ERASURE = "0" * 32
"""The id of an erasure that the sample's history tells of."""
Visit = Callable[..., AbstractContextManager[Page]]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """One for all modules of a test process."""
    with launched() as found:
        yield found


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Browser]:
    """That one; its contexts end with the test."""
    with chromium.driven() as browser:
        yield browser


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the sample, with an erasure and the generation `plain`, which lacks the plans."""
    history = tmp_path_factory.mktemp("inspected") / "history"
    file_runner.run([str(CONVERSATIONS)], history)
    backfill(history, "plain", Settings(retracted=(Retraction(by="extractor", value="sample"),)))
    _forget(history, "somebody")
    with serving("--history", history) as server:
        server.until("/v1/users", 200)
        yield server


def _forget(history: Path, user_id: str) -> None:
    """Has somebody erased, under an id that is known."""
    receipt = compact_and_forget.forget(history, "default", user_id)
    done = Erasure(ERASURE, "default", 0, finished_at=1_000_000, receipt=receipt)
    file = history / FOLDER / f"{ERASURE}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(msgspec.json.encode(done))


@pytest.fixture
def visit(browser: Browser, sample: Server) -> Visit:
    """Opens a watched page of the sample's server; takes Playwright's options of a context."""
    return partial(watched, browser, sample.url)
