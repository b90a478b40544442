"""A list that is too long for a page says how many there are, and leads to the rest."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from schemas.time import SECOND, format_time, parse_time
from streams.files import file_runner
from tests.command import ndjson, turn
from tests.inspector.browsing import watched
from tests.serving.serving import serving

START = parse_time("2026-01-01T00:00:00Z")
TURNS, VERSIONS, SESSIONS = 160, 110, 25
AS_PAGE = {"accept": "text/html"}

pytestmark = [pytest.mark.nightly, pytest.mark.needs("chromium")]


def records() -> Iterator[dict[str, Any]]:
    """Turns with a feeling each, in some sessions; a fact that is told again and again."""
    for number in range(TURNS):
        at = format_time(START + number * 60 * SECOND)
        yield turn(
            f"e{number}", user_id="maya", session_id=f"s{number % SESSIONS}", occurred_at=at,
            affect={"text": f"felt {number}", "vad": {"v": 0.1, "a": 0.1, "d": 0.1},
                    "confidence": 0.8},
        )  # fmt: skip
    for number in range(VERSIONS):
        at = format_time(START + number * 60 * SECOND)
        yield {
            "type": "write_plan", "plan_id": f"p{number}", "user_id": "maya",
            "event_id": f"e{number}", "occurred_at": at,
            "extractor": {"name": "test", "version": "1"},
            "state_updates": [{
                "op": "upsert", "state_id": "home", "kind": "fact", "valid_from": at,
                "body_text": f"Maya lives in town {number}.", "confidence": 0.9,
            }],
        }  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("cut")
    file_runner.run([str(ndjson(folder / "records.ndjson", records()))], folder / "h")
    with serving("--history", folder / "h") as server:
        server.until("/v1/users", 200)
        yield server.client


def page_of(client: httpx.Client, address: str) -> str:
    reply = client.get(address, headers=AS_PAGE)
    assert reply.status_code == 200, reply.text
    return reply.text.replace("&amp;", "&")


def earlier(page: str, shown: int, count: int) -> str:
    """Where the note of a cut list leads."""
    note = rf"The newest {shown} of {count}\. <a href=\"([^\"]+)\""
    found = re.search(note, page)
    assert found, re.findall(r"The newest[^<]*", page)
    return found[1]


def test_moments_before_the_newest_are_a_clock_away(client: httpx.Client) -> None:
    page = page_of(client, "/users/maya")
    assert f"{TURNS} moments" in page and "felt 159" in page and "felt 9<" not in page
    assert "felt 9<" in page_of(client, earlier(page, 150, TURNS))


def test_sessions_before_the_newest_are_a_clock_away(client: httpx.Client) -> None:
    first = client.get("/users/maya.json").json()
    assert (len(first["sessions"]), first["counts"]["sessions"]) == (20, SESSIONS)
    then = client.get(earlier(page_of(client, "/users/maya"), 20, SESSIONS).replace("?", ".json?"))
    ids = {one["session_id"] for one in (*first["sessions"], *then.json()["sessions"])}
    assert len(ids) == SESSIONS


def test_revisions_before_the_newest_are_a_clock_away(client: httpx.Client) -> None:
    told = client.get("/states/home.json").json()
    assert (len(told["revisions"]), told["revision_count"]) == (100, VERSIONS)
    assert len(told["plane"]["rows"]) == 12 and told["plane"]["total"] == VERSIONS
    page = page_of(client, "/states/home")
    assert "town 109" in page and "town 9." not in page
    assert "town 9." in page_of(client, earlier(page, 100, VERSIONS))


def test_what_ended_before_the_newest_is_a_clock_away(client: httpx.Client) -> None:
    told = client.get("/users/maya.json").json()
    assert told["counts"]["ended"] > len(told["ended"]) == 100
    page = page_of(client, earlier(page_of(client, "/users/maya"), 100, told["counts"]["ended"]))
    assert "town 0." in page


def test_a_list_that_is_whole_says_nothing_of_it(client: httpx.Client) -> None:
    assert "The newest" not in page_of(client, "/users/maya?as_of=2026-01-01T00:05:00Z")


def test_what_ended_is_folded_and_opens_by_keyboard_without_a_script(
    client: httpx.Client, browser: Browser
) -> None:
    small = {"width": 360, "height": 740}
    url = str(client.base_url)
    with watched(browser, url, java_script_enabled=False, viewport=small) as page:
        page.goto("/users/maya")
        ended = page.locator("section[aria-labelledby=ended]")
        assert ended.locator("li:visible").count() == 10
        below = page.locator("#theirs").bounding_box()
        ended.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(ended.locator("li").last).to_be_visible()
        assert ended.locator("li:visible").count() == 100
        opened = page.locator("#theirs").bounding_box()
        assert below and opened and below["y"] + 90 * 20 < opened["y"]
