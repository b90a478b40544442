"""The views that docs/pictures shows, and what they say."""

import httpx
from playwright.sync_api import Browser

from tests.waiting import WITHIN


def views(url: str) -> dict[str, str]:
    """Name of each picture, and the path of its view over the demo's history."""
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


def texts(browser: Browser, url: str) -> dict[str, list[str]]:
    """The lines of each view."""
    with browser.new_context(base_url=url, locale="en-GB", timezone_id="UTC") as context:
        page = context.new_page()
        lines = {}
        for name, path in views(url).items():
            page.goto(path)
            lines[name] = [
                line.strip() for line in page.inner_text("main").splitlines() if line.strip()
            ]
        return lines
