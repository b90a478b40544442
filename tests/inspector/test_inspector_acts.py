"""What an operator does: corrects and ends a state, forgets a person, promotes a generation. Each
is said first, asked for twice, and refused to who may not, or did not, ask for just that."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from sinks.generation import pointer
from streams.files import file_runner
from streams.files.manifest import Settings
from streams.files.retraction import Retraction
from streams.generations.rebuild import backfill
from streams.serving.http.keys import Role, changed, make
from tests.command import ndjson
from tests.inspector.browsing import WAIT, barriers, expects, overflows, watched
from tests.inspector.conftest import Visit
from tests.inspector.test_inspector_views import HOSTILE
from tests.planned import CONVERSATIONS
from tests.serving.serving import Server, serving

pytestmark = pytest.mark.needs("chromium")

HOME = "/states/emma-home"
OWN = {"sec-fetch-site": "same-origin", "accept": "text/html"}
CONSENT = re.compile(r'name="consent" value="([0-9a-f]{64})"')
CORRECTED = f"{HOME}/change?do=correct&reason=typo&body_text=Emma+lives+in+York."


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """The sample's, for one test alone."""
    file_runner.run([str(CONVERSATIONS)], tmp_path / "h")
    return tmp_path / "h"


@pytest.fixture
def server(history: Path) -> Iterator[Server]:
    with serving("--history", history) as found:
        found.until("/v1/users", 200)
        yield found


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    with watched(browser, server.url) as found:
        yield found


def until_there(page: Page, address: str, text: str) -> None:
    """Opens a page again until it has a text: the history may be a moment behind."""
    page.goto(address)
    for _ in range(WAIT // 500):
        if text in page.locator("main").inner_text():
            return
        page.wait_for_timeout(500)
        page.reload()
    raise AssertionError(f"{address} never said {text!r}")


@pytest.mark.component
@pytest.mark.parametrize("scripts", [True, False])
def test_a_state_is_corrected_with_a_reason_after_what_will_happen_was_said(
    browser: Browser, server: Server, scripts: bool
) -> None:
    with watched(browser, server.url, java_script_enabled=scripts) as page:
        page.goto(HOME)
        page.get_by_role("link", name="Correct or end").click()
        page.get_by_label("What is true", exact=True).fill("Emma lives in York.")
        form = page.locator("form", has=page.locator("[name=do][value=correct]"))
        form.get_by_label("Reason").fill("she wrote to support")
        form.get_by_role("button").click()
        will = page.locator(".will")
        expect(will.locator("ins")).to_contain_text("York")
        expect(will).to_contain_text("she wrote to support")
        assert "York" not in server.client.get(f"/v1{HOME}/why").text, "it is not done yet"
        will.get_by_role("button", name="Correct it").click()
        page.wait_for_url(f"**{HOME}")
        until_there(page, HOME, "she wrote to support")
        expect(page.locator("h1")).to_have_text("Emma lives in York.")
        expect(page.locator(".revisions > li").first).to_contain_text("by operator")
        expect(page.locator(".revisions > li").last).to_contain_text("by sample 1")


def test_a_preference_is_corrected_and_ended_on_the_page_of_its_life(
    page: Page, server: Server
) -> None:
    def named() -> dict[str, tuple[str, str]]:
        held = server.client.get("/v1/users/emma").json()["preferences"]
        return {one["subject"]: (one["preference_id"], one["status"]) for one in held}

    def change(name: str, button: str, text: str | None = None) -> None:
        id, _ = named()[name]
        page.goto(f"/states/{id}")
        page.get_by_role("link", name="Correct or end").click()
        if text is not None:
            page.get_by_label("What is true", exact=True).fill(text)
        page.locator("#why_correct" if text else "#why_end").fill("she wrote to support")
        page.keyboard.press("Enter")
        page.locator(".will").get_by_role("button", name=button).click()
        page.wait_for_url(f"**/states/{id}")
        until_there(page, f"/states/{id}", "she wrote to support")

    (before,) = named()
    change(before, "Correct it", "tables")
    assert {name: status for name, (_, status) in named().items()} == {
        before: "revoked", "tables": "confirmed",
    }  # fmt: skip
    until_there(page, f"/states/{named()['tables'][0]}", "she wrote to support")
    change("tables", "End it")
    assert named()["tables"][1] == "revoked"


def test_a_state_is_ended_on_the_keyboard_alone(page: Page) -> None:
    page.goto(f"{HOME}/change")
    page.locator("#why_end").focus()
    page.keyboard.type("she has left")
    page.keyboard.press("Enter")
    expect(page.locator(".will del")).to_contain_text("Ancoats")
    button = page.get_by_role("button", name="End it")
    for _ in range(40):
        if button.evaluate("one => one === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{HOME}")
    until_there(page, HOME, "she has left")
    until_there(page, "/users/emma", "Emma lives in Ancoats")
    expect(page.locator("section", has=page.locator("#ended"))).to_contain_text("Ancoats")


def test_a_correction_that_says_the_same_is_no_act(visit: Visit) -> None:
    with visit() as page:
        page.goto(f"{HOME}/change?do=correct&reason=none")
        expect(page.get_by_role("status")).to_have_text("This would change nothing.")
        assert page.locator("form[method=post]").count() == 0


@pytest.mark.component
def test_a_person_is_forgotten_and_the_receipt_stays(page: Page, server: Server) -> None:
    page.goto("/users/lin")
    page.get_by_role("link", name="Forget").click()
    expect(page.locator(".will")).to_contain_text("cannot be undone")
    assert server.client.get("/v1/users/lin").status_code == 200
    page.get_by_label("To confirm, type").fill("Lin")
    button = page.get_by_role("button", name="Forget this person for good")
    button.click()
    expect(page.get_by_role("alert")).to_have_text("Not done: the text does not match.")
    assert server.client.get("/v1/users/lin").status_code == 200
    page.get_by_label("To confirm, type").fill("lin")
    button.click()
    page.wait_for_url("**/erasures/*")
    expect(page.locator("#erasure > p").first).to_have_text("Done.")
    assert "lin" not in re.split(r"\W+", page.locator("#erasure").inner_text())
    server.until("/v1/users/lin", 404)  # the server has the history back a moment later
    assert page.request.get(f"{page.url}.json").json()["receipt"]
    expects(page, 404, 409)
    page.goto("/users/lin/forget")
    expect(page.locator("h1")).to_have_text("There is nothing here")


def test_another_site_can_do_nothing(sample: Server) -> None:
    consent = CONSENT.search(sample.client.get(CORRECTED, headers=OWN).text)
    assert consent
    for headers in (
        {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"}, {"origin": "null"}, {},
    ):  # fmt: skip
        reply = sample.client.post(CORRECTED, data={"consent": consent[1]}, headers=headers)
        assert reply.status_code == 403
    assert "York" not in sample.client.get(f"/v1{HOME}/why").text


def test_consent_is_to_what_was_said_and_to_nothing_else(server: Server) -> None:
    def given(address: str) -> str:
        found = CONSENT.search(server.client.get(address, headers=OWN).text)
        assert found
        return found[1]

    def asked(address: str, consent: str) -> int:
        reply = server.client.post(address, data={"consent": consent}, headers=OWN)
        return reply.status_code

    other = CORRECTED.replace("York", "Hull")
    forget = "/users/emma/forget"
    consent = given(CORRECTED)
    for wrong in ("", "0" * 64, "é", given(other), given(forget)):
        assert asked(CORRECTED, wrong) == 409
    assert asked(forget, consent) == 409
    assert asked("/states/emma-home/change", consent) == 409, "nothing was to be done"
    late = given(other)
    assert asked(CORRECTED, consent) == 303
    assert asked(other, late) == 409, "the state has changed since"
    refused = server.client.post(other, data={"consent": late}, headers=OWN).text
    assert "Nothing was done" in refused and given(other) in refused
    assert server.client.get("/v1/users/emma").status_code == 200


@contextmanager
def guarded(
    history: Path, file: Path, *keys: tuple[str, Role]
) -> Iterator[tuple[Server, list[str]]]:
    """A server with keys of these tenants and roles, and their tokens."""
    made = [make(tenant, role, None, "") for tenant, role in keys]
    with changed(file) as held:
        held += [key for _, key in made]
    with serving("--history", history, "--keys", file) as server:
        yield server, [token for token, _ in made]


def signed_in(page: Page, token: str, tenant: str = "") -> None:
    page.goto("/")
    page.get_by_label("Key", exact=True).fill(token)
    page.get_by_label("Tenant (for a key of all tenants)").fill(tenant)
    page.keyboard.press("Enter")
    expect(page.locator("#q")).to_be_visible()


def test_each_role_sees_and_does_what_it_may(
    browser: Browser, history: Path, tmp_path: Path
) -> None:
    with guarded(
        history, tmp_path / "keys.json", ("default", "read"), ("default", "write"),
        ("default", "admin"), ("*", "admin"),
    ) as (server, tokens):  # fmt: skip
        pages = (f"{HOME}/change", "/users/emma/forget", "/generations", "/generations/root",
                 "/generations/root/promote")  # fmt: skip
        for token, tenant, may in zip(tokens, ("", "", "", "default"), (0, 1, 2, 5), strict=True):
            with watched(browser, server.url) as page:
                expects(page, 401, 403)
                signed_in(page, token, tenant)
                for number, address in enumerate(pages):
                    reply = page.goto(address)
                    assert reply
                    assert (reply.status == 200) == (number < may), (address, may)
                    assert page.request.get(f"{address}.json").ok == (number < may)
                    if number in (0, 1, 4):
                        sent = page.request.post(address, headers=OWN, max_redirects=0)
                        assert sent.status == (409 if number < may else 403)
                    if reply.status == 403:
                        assert page.locator("main form").count() == 0
                page.goto(HOME)
                assert page.get_by_role("link", name="Correct or end").count() == (may >= 1)
                page.goto("/users/emma")
                assert page.get_by_role("link", name="Forget").count() == (may >= 2)
                assert page.get_by_role("link", name="Generations").count() == (may >= 5)


def test_a_generation_is_compared_promoted_and_rolled_back(
    page: Page, server: Server, history: Path
) -> None:
    page.goto("/generations")
    expect(page.locator("main")).to_contain_text("turnfold generation create")
    backfill(history, "plain", Settings(retracted=(Retraction(by="extractor", value="sample"),)))
    page.reload()
    page.get_by_role("link", name="Compare with the live one").click()
    expect(page.locator("h1")).to_have_text("root → plain")
    row = page.locator("tr", has=page.get_by_role("rowheader", name="state/fact", exact=True))
    row.get_by_role("link").click()
    page.wait_for_url("**kind=state%2Ffact")
    sample = page.locator(".revisions > li", has_text="emma-home")
    expect(sample.locator(".op")).to_have_text("gone")
    expect(sample.locator("del").first).to_contain_text("Ancoats")
    sample.locator("blockquote a").first.click()
    page.wait_for_url("**/sessions/emma-move?turn=*")
    page.goto("/generations/plain/promote")
    expect(page.locator(".will")).to_contain_text("plain goes live in place of root")
    assert pointer(history).current == "root"
    page.get_by_role("button", name="Promote it").click()
    page.wait_for_url("**/generations")
    assert pointer(history)[:2] == ("plain", "root")
    server.until("/v1/users", 200)
    expects(page, 404, 503)
    page.goto("/generations")
    page.get_by_role("link", name="Roll back").click()
    page.get_by_role("button", name="Roll back").click()
    page.wait_for_url("**/generations")
    assert pointer(history)[:2] == ("root", "plain")
    server.until(f"/v1{HOME}/why", 200)


def test_what_cannot_go_live_is_refused_with_its_reason(
    page: Page, history: Path, server: Server
) -> None:
    backfill(history, "days", Settings(first=date(2026, 3, 2), last=date(2026, 3, 3)))
    expects(page, 409)
    page.goto("/generations/days/promote")
    page.get_by_role("button", name="Promote it").click()
    expect(page.locator("main")).to_contain_text("covers some days only")
    assert pointer(history).current == "root"
    server.until("/v1/users", 200)


def test_what_people_say_stays_text_where_it_can_be_changed(
    browser: Browser, tmp_path: Path
) -> None:
    plans = [
        {
            "type": "write_plan", "plan_id": f"p{at}", "user_id": text[:100], "occurred_at":
            "2026-03-01T10:00:00Z", "extractor": {"name": f"x {text}"[:100], "version": text[:50]},
            "state_updates": [{"op": "upsert", "kind": "fact", "state_id": f"s{at}",
                               "body_text": text, "reason": text}],
        }
        for at, text in enumerate(HOSTILE)
    ]  # fmt: skip
    file = ndjson(tmp_path / "hostile.ndjson", plans)
    assert file_runner.run([str(file)], tmp_path / "h")["dead"] == 0
    backfill(tmp_path / "h", "none", Settings(retracted=tuple(
        Retraction(by="extractor", value=str(one["extractor"]["name"]))  # type: ignore[index]
        for one in plans
    )))  # fmt: skip
    with serving("--history", tmp_path / "h") as server, watched(browser, server.url) as page:
        server.until("/v1/users", 200)
        addresses = ["/generations/none?kind=state%2Ffact", "/?as_of=2026-03-02"]
        for at, text in enumerate(HOSTILE):
            page.goto(f"/states/s{at}/change")
            page.locator("#body_text").fill(f"{text} {text}")
            page.locator("#why_correct").fill(text)
            page.locator("#why_correct").press("Enter")
            page.locator(".will").wait_for()
            addresses += [page.url, f"/states/s{at}"]
            page.goto(f"/states/s{at}")
            page.locator(".head a").first.click()
            page.get_by_role("link", name="Forget").click()
            addresses.append(page.url)
        for address in addresses:
            page.goto(address)
            assert page.title() != "owned"
            assert page.locator("main h1").is_visible()
            assert page.locator("main script, main style, main b, main img, main meta").count() == 0
            assert page.locator("[onfocus], [onload], [onerror], [hx-trigger=load]").count() == 0
        assert len(addresses) == 2 + 3 * len(HOSTILE)


def test_a_page_that_asks_again_keeps_nobody_out(visit: Visit) -> None:
    with visit(viewport={"width": 360, "height": 800}) as page:
        expects(page, 409)
        page.goto(CORRECTED)
        page.evaluate("document.querySelector('[name=consent]').value = ''")
        page.get_by_role("button", name="Correct it").first.click()
        expect(page.get_by_role("alert")).to_contain_text("Nothing was done")
        assert barriers(page) == [] and not overflows(page)
        page.emulate_media(color_scheme="dark")
        assert barriers(page, "color-contrast") == []
