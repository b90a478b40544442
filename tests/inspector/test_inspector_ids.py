"""Ids that people choose: each page about one is found by its links, says it as text, and tells
nothing to who may not see it."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from streams.files import file_runner
from streams.serving.http.keys import changed, make
from streams.serving.inspector.links import Links, part
from tests.command import ndjson, turn
from tests.inspector.browsing import expects, watched
from tests.serving.serving import Server, serving

IDS = (
    "../../etc/passwd", "a%2Fb", "100% sure", "x.json", "?q=1#top", "a&b=c;d \\",
    "smile 😀 é\u0301 中文",
    "\u202egnp.exe \u2066iso\u2069", "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "</style><style>*{display:none} {{7*7}}", "x" * 128, "//evil.example", "events",
)  # fmt: skip
"""(`.` and `..` alone have no page: browsers take them for folders, also when they are escaped.)"""
pytestmark = [pytest.mark.nightly, pytest.mark.needs("chromium")]
HTML = {"accept": "text/html", "sec-fetch-site": "same-origin"}
HREF = re.compile(r'(?:href|hx-get|action)="([^"]*)"')


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("ids")
    records: list[object] = []
    for at, id in enumerate(IDS):
        records += [
            turn(f"{id}"[:120] + f"-{at}", session_id=id, user_id=id, user_input=f"I am {id}"),
            {
                "type": "write_plan", "plan_id": id, "user_id": id, "session_id": id,
                "event_id": f"{id}"[:120] + f"-{at}", "occurred_at": "2026-03-01T10:00:00Z",
                "extractor": {"name": "ids", "version": "1"},
                "state_updates": [
                    {"op": "upsert", "kind": "fact", "state_id": id, "body_text": f"is {id}",
                     "reason": f"said {id}", "evidence_event_ids": [f"{id}"[:120] + f"-{at}"]}
                ],
            },
        ]  # fmt: skip
    counts = file_runner.run([str(ndjson(folder / "ids.ndjson", records))], folder / "h")
    assert counts["dead"] == 0, counts
    with serving("--history", folder / "h") as found:
        found.until("/v1/users", 200)
        yield found


def addresses(id: str) -> list[str]:
    link = Links()
    return [
        link.user(id), link.session(id), link.state(id), f"{link.state(id)}/change",
        f"{link.user(id)}/forget", link.to("/", q=id), link.plan(id, id),
    ]  # fmt: skip


@pytest.mark.parametrize("id", IDS)
def test_every_page_of_an_id_and_each_link_on_it_is_found(server: Server, id: str) -> None:
    for address in addresses(id):
        reply = server.client.get(address, headers=HTML)
        assert reply.status_code == 200, (address, reply.text[-300:])
        assert "text/html" in reply.headers["content-type"], address
        links = {unescape(one) for one in HREF.findall(reply.text)}
        assert all(one.startswith(("/", "#")) and not one.startswith("//") for one in links), links
        for one in sorted(links):
            if one.startswith("/") and not one.startswith(("/static/", "/sign-out")):
                found = server.client.get(one.partition("#")[0], headers={"accept": "*/*"})
                assert found.status_code == 200, (address, one)


@pytest.mark.parametrize("id", IDS)
def test_the_twin_is_about_the_same_id(server: Server, id: str) -> None:
    link = Links()
    for address, name in (
        (link.user(id), "user_id"), (link.session(id), "session_id"), (link.state(id), "entity_id"),
    ):  # fmt: skip
        reply = server.client.get(f"{address}.json")
        assert reply.headers["content-type"] == "application/json"
        assert reply.json()[name] == id


@pytest.mark.parametrize("id", IDS)
def test_before_all_there_is_nothing_and_it_is_said(server: Server, id: str) -> None:
    then = Links("2000-01-01T00:00:00Z", "2000-01-01T00:00:00Z")
    for address in (then.user(id), then.state(id), then.to("/")):
        reply = server.client.get(address, headers=HTML)
        assert reply.status_code == 200, address
        assert 'class="empty"' in reply.text, address
    assert server.client.get(then.session(id), headers=HTML).status_code == 404


def test_an_id_runs_nothing_in_a_browser(server: Server, browser: Browser) -> None:
    with watched(browser, server.url) as page:
        expects(page, 404)
        for id in IDS:
            for address in addresses(id)[:4]:
                page.goto(address)
                assert page.locator("main h1").first.is_visible()
                bad = "main script, main style, main img, main iframe, [onerror], [onload]"
                assert page.locator(bad).count() == 0


def test_who_may_not_see_a_tenant_gets_nothing_of_its_ids(tmp_path: Path) -> None:
    records = [turn(f"e-{at}", tenant="acme", session_id=id, user_id=id)
               for at, id in enumerate(IDS)]  # fmt: skip
    file_runner.run([str(ndjson(tmp_path / "ids.ndjson", records))], tmp_path / "h")
    token, key = make("other", "read", None, "")
    with changed(tmp_path / "keys.json") as held:
        held.append(key)
    with serving("--history", tmp_path / "h", "--keys", tmp_path / "keys.json") as server:
        server.until("/readyz", 200)
        form = {"key": token, "next": "/"}
        reply = server.client.post("/sign-in", data=form, headers=HTML)
        cookies = {"cookie": reply.headers["set-cookie"].partition(";")[0]}
        for id in IDS:
            for path in (Links().session(id), Links().state(id), Links().plan(id, id)):
                for address in (path, f"{path}.json"):
                    found = server.client.get(address, headers={**HTML, **cookies})
                    assert found.status_code in (404, 406), address
                    assert "hello" not in found.text
            known = server.client.get(f"{Links().user(id)}.json", headers=cookies).json()
            assert not known["pack"]["known"] and not known["sessions"]


UNKNOWN = ("/users/{}/forget", "/states/{}/change", "/generations/{}", "/letters/{}",
           "/erasures/{}", "/generations/{}/promote", "/users/maya/plans/{}")  # fmt: skip


@pytest.mark.parametrize("path", UNKNOWN)
def test_an_unknown_id_is_said_to_be_none(server: Server, path: str) -> None:
    for id in ("unknown", "%00", "a/b", "x" * 129, "<b>"):
        reply = server.client.get(path.format(part(id)), headers=HTML)
        assert reply.status_code in (400, 404, 422), (path, id, reply.status_code)
        assert "<b>" not in reply.text.partition("<main")[2]
