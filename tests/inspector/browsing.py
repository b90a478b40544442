"""The system's Chromium, and a page that is watched: what runs wrongly or is forbidden fails."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, NamedTuple

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Playwright,
    Request,
    expect,
    sync_playwright,
)

NAMES = (
    "chromium-headless-shell",  # Chromium without windows: half the CPU
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
)  # fmt: skip
SERIOUS = {"serious", "critical"}
WAIT = 60_000
"""Milliseconds that a busy machine gets for what takes a moment."""
FITS = "document.documentElement.scrollWidth <= innerWidth"
expect.set_options(timeout=WAIT)  # its own default is 5 s, whatever a page's is
REPORTS = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
});
"""


class Chromium(NamedTuple):
    """Chromium, and the loop in this thread by which Playwright drives it."""

    browser: Browser
    loop: asyncio.AbstractEventLoop

    @contextmanager
    def driven(self) -> Iterator[Browser]:
        """Only here may it be driven; elsewhere other tests may call `asyncio.run`, which is
        refused in a thread whose loop counts as running, as Playwright has it between its calls."""
        asyncio._set_running_loop(self.loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(None)


def launch(playwright: Playwright) -> Browser:
    """Chromium without a window; as root it needs to be told to do without its sandbox."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    assert program, "these tests need Chromium: apt-get install chromium-headless-shell"
    return playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])


@contextmanager
def launched() -> Iterator[Chromium]:
    """Chromium for a test process."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield Chromium(browser, loop)
        asyncio._set_running_loop(loop)
        browser.close()
    asyncio._set_running_loop(None)


@contextmanager
def watched(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """A page of a new profile at a server. At its end it must have asked no other server, and
    neither an error nor a report of the content policy may have come."""
    with browser.new_context(base_url=url, **{"locale": "en-GB", **options}) as context:
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.add_init_script(REPORTS)
        wrong: list[str] = []

        def hear(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                wrong.append(f"{message.type}: {message.text}")

        def asked(request: Request) -> None:
            if not request.url.startswith((url, "data:")):
                wrong.append(f"asked {request.url}")

        page.on("console", hear)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
        page.on("request", asked)
        yield page
        expected = getattr(page, "expected_status", ())
        left = [one for one in wrong if not any(said in one for said in expected)]
        assert left == []


def expects(page: Page, *statuses: int, lost: bool = False) -> None:
    """Chromium reports pages that are refused on the console, too: with these it may. `lost`: a
    server that is not there as well."""
    texts = [f"status of {code}" for code in statuses] + ["net::ERR_"] * lost
    page.expected_status = texts  # type: ignore[attr-defined]


def barriers(page: Page, *rules: str) -> list[str]:
    """What axe-core finds that keeps people out: rule, and where. `rules`: these alone."""
    if not page.evaluate("'axe' in window"):
        script = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
        page.evaluate(script)  # not by a <script>, which the page's policy would forbid
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')}"
        for one in found["violations"]
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


def overflows(page: Page) -> bool:
    """Whether a reader would have to scroll sideways."""
    return not page.evaluate(FITS)
