"""A list that is too long for a page says how many there are, and leads to the rest."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from schemas.time import SECOND, format_time, parse_time
from streams.files import file_runner
from tests.command import ndjson, turn
from tests.serving.serving import serving

START = parse_time("2026-01-01T00:00:00Z")
TURNS, VERSIONS, SESSIONS = 160, 110, 25
AS_PAGE = {"accept": "text/html"}

pytestmark = pytest.mark.nightly


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


def test_what_ended_before_the_newest_is_in_the_list_of_facts(client: httpx.Client) -> None:
    told = client.get("/users/maya.json").json()
    assert (len(told["ended"]), told["counts"]["ended"]) == (10, VERSIONS - 1)
    links = re.findall(r'href="([^"]+)">All 109<', page_of(client, "/users/maya"))
    seen: list[str] = []
    while links:
        page = page_of(client, links.pop())
        seen += re.findall(r"town (\d+)\.", page)
        links = re.findall(r'href="([^"]+)">More<', page)
    assert seen == [str(number) for number in reversed(range(VERSIONS - 1))]


def test_a_list_that_is_whole_says_nothing_of_it(client: httpx.Client) -> None:
    assert "The newest" not in page_of(client, "/users/maya?as_of=2026-01-01T00:05:00Z")
