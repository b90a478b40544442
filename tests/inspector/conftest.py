"""A browser, and a server over the sample's history that nobody writes into."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from streams.files import local
from streams.sample import CONVERSATIONS
from tests.inspector.browsing import launch, watched
from tests.serving.serving import Server, serving

Visit = Callable[..., AbstractContextManager[Page]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, no longer than a module: meanwhile a loop runs in this thread,
    and other modules' `asyncio.run` would be refused."""
    with sync_playwright() as playwright:
        found = launch(playwright)
        yield found
        found.close()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the sample."""
    history = tmp_path_factory.mktemp("inspected") / "history"
    local.run([str(CONVERSATIONS)], history)
    with serving("--history", history) as server:
        server.until("/v1/users", 200)
        yield server


@pytest.fixture
def visit(browser: Browser, sample: Server) -> Visit:
    """Opens a watched page of the sample's server; takes Playwright's options of a context."""
    return partial(watched, browser, sample.url)
