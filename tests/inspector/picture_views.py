"""What docs/pictures shows, over the demo."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page

from tests.command import turnfold
from tests.inspector.browsing import watched
from tests.serving.serving import serving
from tests.waiting import WITHIN


@contextmanager
def demo_server(folder: Path) -> Iterator[str]:
    """Address of a server over the demo's history."""
    history = folder / "history"
    done = turnfold("demo", "--history", history)
    assert done.code == 0, done.err
    with serving("--history", history) as server:
        server.until("/v1/users", 200)
        yield server.url


def views(url: str) -> dict[str, str]:
    """Name of each picture, and the path of its view."""
    reply = httpx.get(f"{url}/v1/users/emma/states", timeout=WITHIN)
    home = next(
        state["state_id"]
        for state in reply.raise_for_status().json()["states"]
        if "Manchester" in (state["body_text"] or "") and state["valid_to"] is None
    )
    return {
        "start": "/",
        "user": "/users/emma",
        "fact": f"/states/{home}",
        "session": "/sessions/emma-move",
    }


def shown(browser: Browser, url: str, **options: Any) -> Iterator[tuple[str, Page]]:
    """Each view's name, and a page that shows it. `options`: of the browser's context."""
    with watched(browser, url, **options) as page:
        for name, path in views(url).items():
            page.goto(path)
            page.wait_for_load_state("networkidle")
            yield name, page


def texts(browser: Browser, url: str) -> dict[str, list[str]]:
    """The lines of each view."""
    return {
        name: [line.strip() for line in page.inner_text("main").splitlines() if line.strip()]
        for name, page in shown(browser, url, timezone_id="UTC")
    }


def rebuild(folder: Path) -> list[str]:
    """What a terminal shows while the demo's history is rebuilt without the rules."""
    lines = []
    for line in (
        "generation create plain --extractor none", "generation diff live plain --samples 0",
        "generation promote plain", "generation rollback",
    ):  # fmt: skip
        done = turnfold(*line.split(), "--history", folder / "history")
        assert done.code == 0, done.err
        lines += [f"$ turnfold {line}", *map(str.rstrip, done.out.splitlines()), ""]
    return lines
