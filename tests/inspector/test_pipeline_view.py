"""The pipeline in a browser while turns flow: what is seen, by whom, and how it ends."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from streams.files import file_runner
from streams.serving.http.keys import Role, changed, make
from streams.serving.inspector.links import Links
from tests.command import ndjson, turn
from tests.inspector.browsing import barriers, expects, watched
from tests.inspector.conftest import Visit
from tests.serving.serving import Server, serving
from tests.waiting import WITHIN

pytestmark = pytest.mark.needs("chromium")

HOSTILE = (
    b"<script>document.title='owned'</script>",
    b'{"type":"turn","user_input":"<img src=x onerror=alert(1)>"}',
    "\u202e</pre><style>body{display:none}</style>".encode(),
    b"\xff\xfe\x00</pre><script>alert(1)</script>" + bytes(range(1, 9)),
    b"'\"><svg onload=alert(1)> {{ 7*7 }}",
)


@contextmanager
def flowing(server: Server, session: str = "s") -> Iterator[None]:
    """Turns are posted all the time, a few at once."""
    ending = threading.Event()

    def feed() -> None:
        with httpx.Client(base_url=server.url, timeout=WITHIN) as client:
            for number in range(80_000):
                when = f"2026-01-02T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
                records = [
                    turn(f"{session}-{number}-{at}", session_id=session, occurred_at=when)
                    for at in range(10)
                ]
                lines = b"".join(json.dumps(one).encode() + b"\n" for one in records)
                headers = {"content-type": "application/x-ndjson"}
                client.post("/v1/records", content=lines, headers=headers)
                if ending.wait(0.1):
                    return

    feeding = threading.Thread(target=feed)
    feeding.start()
    try:
        yield
    finally:
        ending.set()
        feeding.join()


def figure(page: Page, key: str) -> Locator:
    return page.locator(f"span[data-live='{key}']")


def number(text: str) -> int:
    return int(text.replace("\N{NARROW NO-BREAK SPACE}", ""))


def test_numbers_move_while_turns_flow_until_a_reader_pauses_them(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        serving("--history", tmp_path / "h") as server,
        watched(browser, server.url) as page,
        flowing(server),
    ):
        page.goto("/pipeline")
        expect(page.get_by_text("looked at once a second")).to_be_visible()
        read = figure(page, "fold.read")
        expect(read).not_to_have_text("0")
        before = read.inner_text()
        expect(read).not_to_have_text(before)
        expect(figure(page, "fold.rate").first).to_contain_text("/s")
        drawn = page.locator(".flow.across [data-live='fold.rate']")
        expect(drawn).to_contain_text("/s")
        pause = page.get_by_role("button", name="Pause")
        pause.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("Paused.")).to_be_visible()
        stands = number(read.inner_text())
        page.get_by_role("button", name="Resume").press("Space")
        expect(page.get_by_text("looked at once a second")).to_be_visible()
        expect(read).not_to_have_text(f"{stands}")
        assert number(read.inner_text()) > stands
        assert barriers(page) == []


def test_a_new_dead_letter_appears_by_itself(browser: Browser, tmp_path: Path) -> None:
    with serving("--history", tmp_path / "h") as server, watched(browser, server.url) as page:
        assert server.endings([turn("same")]) == ["applied"]
        page.goto("/pipeline")
        expect(page.get_by_text("every record could be applied")).to_be_visible()
        expect(page.get_by_text("looked at once a second")).to_be_visible()
        assert server.endings([turn("same", user_input="other")]) == ["dead"]
        expect(figure(page, "fold.dead")).to_have_text("1")
        row = page.locator("#letters .items a")
        expect(row).to_contain_text("conflicting_duplicate")
        row.click()
        expect(page.locator(".bytes")).to_contain_text('"user_input": "other"')
        expect(page.locator("main")).to_contain_text("A replay needs Kafka")


def test_bytes_of_a_dead_letter_run_nothing(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "<b>bad.ndjson"
    file.write_bytes(b"\n".join(HOSTILE) + b"\n")
    assert file_runner.run([str(file)], tmp_path / "h")["dead"] == len(HOSTILE)
    with serving("--history", tmp_path / "h") as server, watched(browser, server.url) as page:
        server.until("/v1/users", 200)
        page.goto("/pipeline")
        expect(page.locator("#letters .items li")).to_have_count(len(HOSTILE))
        addresses = page.locator("#letters .items a").evaluate_all(
            "all => all.map(one => one.getAttribute('href'))"
        )
        for address in addresses:
            page.goto(address)
            assert page.title() != "owned"
            expect(page.locator(".bytes")).to_be_visible()
            assert page.locator("main script, main style, main svg, main img, main b").count() == 0
            assert barriers(page) == []
            page.emulate_media(color_scheme="dark")
            assert barriers(page, "color-contrast") == []
            page.emulate_media(color_scheme="light")
        page.goto(addresses[3])
        expect(page.locator(".dump")).to_contain_text("000000  ff fe 00 3c 2f 70 72 65")


def test_who_has_no_dead_letter_is_told_what_one_is(browser: Browser, tmp_path: Path) -> None:
    with serving("--history", tmp_path / "h") as server, watched(browser, server.url) as page:
        server.until("/v1/users", 200)
        page.goto("/pipeline?reason=invalid")
        expect(page.locator("#letters")).to_contain_text("with the reason")
        expect(figure(page, "fold.rate").first).to_be_visible()


def test_a_session_grows_while_it_is_read_and_not_as_of_a_time(
    browser: Browser, tmp_path: Path
) -> None:
    with serving("--history", tmp_path / "h") as server, watched(browser, server.url) as page:
        server.endings([turn("first", session_id="grows")])
        server.until("/sessions/grows.json", 200)
        page.goto("/sessions/grows")
        expect(page.get_by_text("appear here as they come")).to_be_visible()
        server.endings([turn("second", session_id="grows", occurred_at="2026-01-01T00:00:05Z")])
        expect(page.locator(".turn")).to_have_count(2)
        expect(page.locator(".head")).to_contain_text("turns 2")
        server.endings(
            [turn("a-day-later", session_id="grows", occurred_at="2026-01-02T00:00:05Z")]
        )
        expect(page.locator(".turn")).to_have_count(3)
        server.endings([turn("last", session_id="grows", occurred_at="2026-01-02T00:00:09Z")])
        expect(page.locator(".turn")).to_have_count(4)
        told = page.locator(".turns > li").evaluate_all("all => all.map((one) => one.id)")
        assert told == [
            "at-first", "at-second", "at-a-day-later-pause", "at-a-day-later", "at-last",
        ]  # fmt: skip
        with flowing(server, "grows"):
            expect(page.locator("text=/turns [1-9]\\d+/")).to_be_visible()
        page.goto("/sessions/grows?known_at=2100-01-01")
        expect(page.locator(".turn").first).to_be_visible()
        assert page.locator("[data-events]").count() == 0


def add(file: Path, tenant: str, role: Role) -> str:
    token, key = make(tenant, role, None, "")
    with changed(file) as held:
        held.append(key)
    return token


def sign_in(page: Page, key: str, tenant: str = "") -> None:
    expects(page, 401, 403, 404)
    page.goto("/pipeline")
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_label("Tenant").fill(tenant)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_a_tenant_sees_its_own_dead_letters_and_no_numbers_of_others(
    browser: Browser, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.json"
    names = ("acme", "other")
    records = [
        turn(f"e-{tenant}", tenant=tenant, user_input=text)
        for tenant in names for text in ("first", f"secret of {tenant}")
    ]  # fmt: skip
    acme, reader, everyone = (
        add(keys, "acme", "admin"), add(keys, "acme", "read"), add(keys, "*", "admin"),
    )  # fmt: skip
    counts = file_runner.run([str(ndjson(tmp_path / "both.ndjson", records))], tmp_path / "h")
    assert counts["dead"] == len(names)
    with serving("--history", tmp_path / "h", "--keys", keys) as server:
        with watched(browser, server.url) as page:
            sign_in(page, acme)
            expect(page.locator("#letters .items li")).to_have_count(1)
            expect(page.locator("main")).to_contain_text("of all tenants together")
            assert page.locator("[data-live], [data-events]").count() == 0
            assert page.request.get("/pipeline/events").status == 403
            assert page.request.get("/pipeline.json").json()["live"] is None
            page.locator("#letters .items a").click()
            expect(page.locator(".bytes")).to_contain_text("secret of acme")
            place = f"{tmp_path / 'both.ndjson'}:0:4"  # the other tenant's
            assert page.goto(Links().letter(place)).status == 404  # type: ignore[union-attr]
        with watched(browser, server.url) as page:
            sign_in(page, reader)
            expect(page.locator("h1")).to_have_text("Your key may not see this")
            assert page.locator("nav").get_by_text("The pipeline").count() == 0
            assert page.request.get("/pipeline.json").status == 403
            assert page.request.get("/pipeline/events").status == 403
        with watched(browser, server.url) as page:
            sign_in(page, everyone, "other")
            expect(figure(page, "fold.rate").first).to_be_visible()
            expect(page.get_by_text("looked at once a second")).to_be_visible()
            expect(page.locator("#letters .items li")).to_have_count(1)


def test_the_server_ends_while_many_watch(browser: Browser, tmp_path: Path) -> None:
    """`serving` fails if SIGTERM does not end it in time, with exit code 0."""
    with serving("--history", tmp_path / "h") as server:
        server.endings([turn("one")])
        server.until("/sessions/s.json", 200)
        with watched(browser, server.url) as page, flowing(server):
            page.goto("/pipeline")
            expect(page.get_by_text("looked at once a second")).to_be_visible()
            other = page.context.new_page()
            other.goto("/sessions/s")
            expect(other.get_by_text("appear here as they come")).to_be_visible()
        with httpx.Client(base_url=server.url, timeout=WITHIN) as client:
            streams = [
                client.stream("GET", path)
                for path in ["/pipeline/events"] * 5 + ["/sessions/s/events"] * 5
            ]
            opened = [one.__enter__() for one in streams]
            assert {one.status_code for one in opened} == {200}
            server.process.terminate()
            for one in opened:
                for _ in one.iter_bytes():
                    pass
        assert server.process.wait(WITHIN) == 0


def test_the_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back(
    browser: Browser, tmp_path: Path
) -> None:
    with serving("--history", tmp_path / "h") as server:
        url = server.url
        with watched(browser, url) as page:
            expects(page, lost=True)
            page.goto("/pipeline")
            expect(page.get_by_text("looked at once a second")).to_be_visible()
            server.process.terminate()
            server.process.wait(WITHIN)
            expect(page.get_by_text("The server does not answer")).to_be_visible()
            port = url.rpartition(":")[2]
            with serving("--history", tmp_path / "h", "--port", port):
                expect(page.get_by_text("looked at once a second")).to_be_visible()


def test_the_pipeline_is_one_key_away_in_the_menu(visit: Visit) -> None:
    with visit() as page:
        page.goto("/")
        page.get_by_role("link", name="The pipeline").press("Enter")
        page.wait_for_url("**/pipeline")
        expect(page.locator(".flow.across")).to_be_visible()
        page.set_viewport_size({"width": 360, "height": 800})
        expect(page.locator(".flow.down")).to_be_visible()
        expect(page.locator(".flow.across")).to_be_hidden()
