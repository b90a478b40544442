"""What every view of the inspector keeps: its twin, its languages, its widths, who can use it."""

import json
from typing import Literal

import pytest
from playwright.sync_api import Page, Request

from streams.folds.ids import make_id
from streams.serving.inspector.links import Links
from streams.serving.inspector.views import VIEWS
from tests.inspector.browsing import FITS, barriers
from tests.inspector.conftest import ERASURE, Visit
from tests.planned import CONVERSATIONS
from tests.serving.serving import Server
from tests.waiting import until

pytestmark = pytest.mark.needs("chromium")

Theme = Literal["light", "dark"]
BULLETS = make_id(
    "preference", "default", "emma", "style", "short answers in bullet points", "like"
)
"""A preference of the sample."""
PAGES = {
    "/": ("/", "/?q=Manchester", "/?q=zzzz&kind=state&status=now",
          "/?as_of=2026-03-04", "/?as_of=2020-01-01&known_at=2020-01-01", "/?tour=5"),
    "/users/{user_id}": (
        "/users/emma", "/users/lin?q=%E6%9E%81%E9%99%90&max_tokens=100", "/users/nobody",
        "/users/yui?as_of=2026-03-05&known_at=2026-03-05", "/users/emma?tour=1",
    ),
    "/users/{user_id}/facts": (
        "/users/emma/facts", "/users/emma/facts?status=ended&kind=fact&as_of=2026-03-05",
        "/users/nobody/facts",
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
        f"/states/{BULLETS}/change", f"/states/{BULLETS}/change?do=end&reason=no",
        f"/states/{BULLETS}/change?do=correct&reason=no&body_text=tables",
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
WIDTHS = (2560, 360, 1280)
"""From the widest to the narrowest, as where a window is made smaller."""
THEMES: dict[Theme, tuple[str, ...]] = {"light": (), "dark": ("color-contrast",)}
"""The rules that axe-core checks, all where none is named: a theme changes colours alone."""


def twin(address: str) -> str:
    path, mark, query = address.partition("?")
    return ("/index.json" if path == "/" else f"{path}.json") + mark + query


@pytest.mark.component
def test_every_view_is_visited() -> None:
    assert sorted(PAGES) == sorted(view.path for view in VIEWS)


@pytest.mark.component
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_view_is_for_everyone(visit: Visit, sample: Server, address: str) -> None:
    """One page for all of it: loading it is what costs."""
    with visit() as page:
        page.goto(address)
        assert page.locator("main").is_visible()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            until(lambda: page.evaluate(FITS))  # charts are drawn again a moment later
        for theme, rules in THEMES.items():
            page.emulate_media(color_scheme=theme)
            assert barriers(page, *rules) == [], theme
        assert controls_out_of_reach(page) == 0
        assert page.locator("link[rel=alternate]").get_attribute("href") == twin(address)
        page.click("footer >> text=JSON")
        shown = json.loads(page.locator("body").inner_text())
    reply = sample.client.get(twin(address))
    assert reply.headers["content-type"] == "application/json"
    assert shown.keys() == reply.json().keys()


def controls_out_of_reach(page: Page) -> int:
    """The number of controls that the Tab key does not reach."""
    page.evaluate("document.activeElement.blur()")
    wanted = page.locator(
        "a[href]:visible, button:visible, input:visible, select:visible, textarea:visible, "
        "summary:visible"
    ).count()
    reached: set[int] = set()
    for _ in range(4 * wanted + 20):  # a date has several parts
        page.keyboard.press("Tab")
        index = page.evaluate(
            "[...document.querySelectorAll('a,button,input,select,textarea,summary')]"
            ".indexOf(document.activeElement)"
        )
        reached |= {index} - {-1}
        if len(reached) >= wanted:
            break
    return wanted - len(reached)


def test_every_view_can_be_read_without_scripts_in_three_languages(visit: Visit) -> None:
    menus: dict[str, set[str]] = {}
    for locale, language in (("en-GB", "en"), ("zh-CN", "zh"), ("ja-JP", "ja"), ("fr-FR", "en")):
        with visit(java_script_enabled=False, locale=locale) as page:
            for address in ADDRESSES if locale != "fr-FR" else ("/",):
                page.goto(address)
                assert page.locator("html").get_attribute("lang") == language, address
                assert page.locator("main h1").first.inner_text(), address
                menus.setdefault(address, set()).add(page.locator("nav").inner_text())
    assert {address: len(texts) for address, texts in menus.items()} == dict.fromkeys(ADDRESSES, 3)


def test_the_first_page_is_small(visit: Visit) -> None:
    """At most 80 KB as they are sent, with all that it loads."""
    sizes: list[int] = []
    with visit() as page:

        def add(request: Request) -> None:
            sizes.append(request.sizes()["responseBodySize"])

        page.on("requestfinished", add)
        page.goto("/", wait_until="networkidle")
    assert len(sizes) >= 4 and sum(sizes) <= 80_000
