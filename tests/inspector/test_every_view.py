"""What every view of the inspector keeps: its twin, its languages, its widths, who can use it."""

import json

import pytest
from playwright.sync_api import Request

from streams.sample import CONVERSATIONS
from streams.serving.inspector.links import Links
from streams.serving.inspector.views import VIEWS
from tests.inspector.browsing import barriers, overflows
from tests.inspector.conftest import ERASURE, Visit
from tests.serving.serving import Server

pytestmark = pytest.mark.needs("chromium")

PAGES = {
    "/": ("/", "/?q=Manchester", "/?q=zzzz&kind=state&status=now",
          "/?as_of=2026-03-04", "/?as_of=2020-01-01&known_at=2020-01-01", "/?tour=5"),
    "/users/{user_id}": (
        "/users/emma", "/users/lin?q=%E6%9E%81%E9%99%90&max_tokens=100", "/users/nobody",
        "/users/yui?as_of=2026-03-05&known_at=2026-03-05", "/users/emma?tour=1",
    ),
    "/sessions/{session_id}": ("/sessions/emma-move", "/sessions/emma-trains?turn=emma-trains-1",
                               "/sessions/emma-trains?as_of=2026-03-11T08:31:00Z"),
    "/states/{state_id}": (
        "/states/emma-home", "/states/emma-nora-birthday?known_at=2026-03-05",
        "/states/emma-home?as_of=2020-01-01",
    ),
    "/users/{user_id}/plans/{plan_id}": (
        "/users/emma/plans/plan-emma-2", "/users/emma/plans/plan-emma-2?known_at=2026-03-02",
        "/users/emma/plans/plan-emma-2?as_of=2020-01-01",
    ),
    "/states/{state_id}/change": (
        "/states/emma-home/change", "/states/emma-home/change?do=end&reason=moved&at=2026-03-20",
        "/states/emma-home/change?do=correct&reason=typo&body_text=Emma%20lives%20in%20Leeds.",
        "/states/emma-home/change?do=correct&reason=none",
    ),
    "/users/{user_id}/forget": ("/users/emma/forget",),
    "/erasures/{erasure_id}": (f"/erasures/{ERASURE}",),
    "/generations": ("/generations",),
    "/generations/{generation}": (
        "/generations/plain", "/generations/plain?kind=state%2Ffact", "/generations/root",
    ),
    "/generations/{generation}/promote": (
        "/generations/plain/promote", "/generations/live/promote",
    ),
    "/pipeline": ("/pipeline", "/pipeline?reason=invalid&as_of=2026-03-05"),
    "/letters/{letter_id}": (Links().letter(f"{CONVERSATIONS}:0:33"),),
}  # fmt: skip
"""Addresses of each view, by its path: all kinds of what it may show."""
ADDRESSES = [address for some in PAGES.values() for address in some]


def twin(address: str) -> str:
    path, mark, query = address.partition("?")
    return ("/index.json" if path == "/" else f"{path}.json") + mark + query


def test_every_view_is_visited() -> None:
    assert sorted(PAGES) == sorted(view.path for view in VIEWS)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_view_keeps_people_out(visit: Visit, address: str) -> None:
    with visit() as page:
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.goto(address)
            assert page.locator("main").is_visible()
            assert barriers(page) == [], theme


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_view_scrolls_sideways(visit: Visit, address: str) -> None:
    with visit() as page:
        for width in (360, 1280, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(address)
            assert not overflows(page), width


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_view_has_its_answer_as_json(visit: Visit, sample: Server, address: str) -> None:
    reply = sample.client.get(twin(address))
    assert reply.headers["content-type"] == "application/json"
    with visit() as page:
        page.goto(address)
        href = page.locator("link[rel=alternate]").get_attribute("href")
        assert href == twin(address)
        page.click("footer >> text=JSON")
        assert json.loads(page.locator("body").inner_text()).keys() == reply.json().keys()


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_view_speaks_three_languages(visit: Visit, address: str) -> None:
    menus = {
        menu_in(visit, address, locale, language)
        for locale, language in (("en-GB", "en"), ("zh-CN", "zh"), ("ja-JP", "ja"))
    }
    assert len(menus) == 3


def test_a_reader_of_another_language_gets_english(visit: Visit) -> None:
    assert menu_in(visit, "/", "fr-FR", "en") == menu_in(visit, "/", "en-GB", "en")


def menu_in(visit: Visit, address: str, locale: str, language: str) -> str:
    with visit(locale=locale) as page:
        page.goto(address)
        assert page.locator("html").get_attribute("lang") == language
        return page.locator("nav").inner_text()


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_view_can_be_read_without_scripts(visit: Visit, address: str) -> None:
    with visit(java_script_enabled=False) as page:
        page.goto(address)
        assert page.locator("main h1").first.inner_text()


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_keyboard_alone_reaches_every_control(visit: Visit, address: str) -> None:
    with visit() as page:
        page.goto(address)
        page.evaluate("document.activeElement.blur()")
        wanted = page.locator(
            "a[href]:visible, button:visible, input:visible, select:visible, textarea:visible, "
            "summary:visible"
        ).count()
        reached = set()
        for _ in range(4 * wanted + 20):  # a date has several parts
            page.keyboard.press("Tab")
            reached.add(
                page.evaluate(
                    "[...document.querySelectorAll('a,button,input,select,textarea,summary')]"
                    ".indexOf(document.activeElement)"
                )
            )
            if len(reached - {-1}) >= wanted:
                break
        assert len(reached - {-1}) >= wanted


def test_the_first_page_is_small(visit: Visit) -> None:
    """At most 80 KB as they are sent, with all that it loads."""
    sizes: list[int] = []
    with visit() as page:

        def add(request: Request) -> None:
            sizes.append(request.sizes()["responseBodySize"])

        page.on("requestfinished", add)
        page.goto("/", wait_until="networkidle")
    assert len(sizes) >= 4 and sum(sizes) <= 80_000
