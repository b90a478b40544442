"""The inspector over 1 M turns and 1 M revisions: its pages by bare requests and in Chromium.

    python -m benchmarks.inspector --history DIR
    python -m benchmarks.inspector --only live

The history: SGD's turns, each with a moment of affect as people rated it (EmoBank), so that each
revises a mood; after every tenth a plan that states a fact. `maya` has one session of 10,000 turns,
and so ten times the revisions of others. A bare page is one of the same server that asks nothing
of the history: what a page costs before it has an answer. Goals: first view 300 ms, a step of the
slider 150 ms, a session of 10,000 turns 1 s and no jank, 5,000 turns/s live.
`--history DIR` keeps what was built, and uses it again.
"""

import argparse
import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain, count, cycle
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks import common, http_load
from benchmarks.affect import sentences
from benchmarks.common import median, spread
from benchmarks.http_load import load
from benchmarks.reading import with_plans
from benchmarks.serving_embedded import Servers, peak_memory
from benchmarks.serving_load import NDJSON, encode
from schemas.base import DAY, SECOND, JsonObject, format_time
from streams import search
from streams.files import local
from tests.acceptance.sgd import START
from tests.inspector.browsing import launch

TENANT, MAYA, LONG = "default", "maya", "maya-long"
TURNS_OF_MAYA = 10_000
EVERY = 10
"""Turns between two plans."""
BARE = "/nothing"
LONG_FRAME = 50.0
"""Milliseconds: a frame that takes longer is jank."""
FRAMES = """() => new Promise((done) => {
  const gaps = []; let last = performance.now(), most = 0, at = 0;
  const step = (now) => {
    gaps.push(now - last); last = now; at += 1;
    most = Math.max(most, document.getElementsByTagName("*").length);
    scrollBy(0, 120);
    if (at < 240) requestAnimationFrame(step); else done({gaps, most});
  };
  requestAnimationFrame(step);
})"""


# --- what is shown ------------------------------------------------------------------------------


def records(turns: int) -> Iterator[JsonObject]:
    """The turns of all, with what each made felt, and plans between them."""
    return with_plans(chain(_felt(common.sgd_records(turns)), _felt(_long())), EVERY)


def _felt(turns: Iterator[JsonObject]) -> Iterator[JsonObject]:
    """Each turn with the feeling of one of EmoBank's sentences."""
    for turn, rated in zip(turns, cycle(sentences()), strict=False):
        vad = dict(zip("vad", rated.axes, strict=True))
        yield {**turn, "affect": {"text": rated.text[:80], "vad": vad, "confidence": 0.8}}


def _long() -> Iterator[JsonObject]:
    """One session: what SGD's people say, a turn every other minute."""
    for number, turn in enumerate(common.sgd_records(TURNS_OF_MAYA)):
        yield {
            **turn, "event_id": f"{LONG}-{number:05}", "session_id": LONG, "user_id": MAYA,
            "occurred_at": format_time(START + number * 120 * SECOND),
        }  # fmt: skip


def build(folder: Path, turns: int) -> None:
    """The history and its index."""
    file = folder / "records.ndjson"
    written = common.write_ndjson(file, records(turns))
    spent = common.in_process(_run, file, folder / "history")
    assert spent.answer["applied"] == written, spent.answer
    common.note(f"{spent.answer}: {spent.seconds:.0f} s, {spent.cpu:.0f} CPU s")
    file.unlink()
    spent = common.in_process(_index, folder / "history")
    common.note(f"indexed in {spent.seconds:.0f} s, {spent.cpu:.0f} CPU s")


def _run(file: Path, history: Path) -> Any:
    return local.run([str(file)], history)


def _index(history: Path) -> None:
    search.update(history, TENANT)


# --- measuring ----------------------------------------------------------------------------------


def bare_requests(here: Servers, repeat: int) -> None:
    """Each page, one request after another: milliseconds, the first apart, and the server's CPU."""
    rows: list[tuple[Any, ...]] = []
    base, client = 0.0, _client(here)
    for name, addresses in _pages(client).items():
        took, cpu, first = list[float](), 0.0, 0.0
        for number in range(repeat + 2):
            if number == 2:  # the first ones warm it
                took, cpu = [], here.serve.cpu()
            began = time.perf_counter()
            reply = client.get(addresses[number % len(addresses)])
            took.append(1000 * (time.perf_counter() - began))
            first = took[0] if number == 0 else first
            assert reply.status_code == (404 if name == "bare page" else 200), reply.text
        each = 1000 * (here.serve.cpu() - cpu) / repeat
        base = base or median(took)
        told = (first, median(took), max(took))
        rows.append((name, *(f"{one:.0f}" for one in told), spread(took), f"{each:.0f}",
                     f"{median(took) / base:.0f}"))  # fmt: skip
        common.note(" | ".join(map(str, rows[-1])))
    head = ("page", "first ms", "median ms", "most", "spread", "CPU ms", "of a bare page")
    memory = f"{peak_memory(here.serve.running.pid):.0f} MB resident at most"
    common.show(f"bare requests, median of {repeat}; {memory}", head, rows)


def first_looks(folder: Path) -> None:
    """Each page as the first that a server is asked for, and once more."""
    rows, then = list[tuple[str, ...]](), format_time(START + 20 * DAY)
    for name, address in (
        ("first view as of a time", f"/?as_of={then}"),
        ("first view, known at a time", f"/?known_at={then}"),
        ("a person", "/users/user-7"), ("a person as of a time", f"/users/user-7?as_of={then}"),
        ("maya", f"/users/{MAYA}"), ("10,000 turns", f"/sessions/{LONG}"),
        ("10,000 turns as of a time", f"/sessions/{LONG}?as_of={then}"),
        ("a state", f"/states/{MAYA}-fact-7"),
    ):  # fmt: skip
        here = Servers(folder)
        try:
            client, told = _client(here), list[str]()
            for _ in range(2):
                cpu, began = here.serve.cpu(), time.perf_counter()
                assert client.get(address).status_code == 200, address
                told += [f"{1000 * (time.perf_counter() - began):.0f}",
                         f"{1000 * (here.serve.cpu() - cpu):.0f}"]  # fmt: skip
        finally:
            here.serve.stop()
            here.bare.stop()
        rows.append((name, *told))
        common.note(" | ".join(rows[-1]))
    head = ("page", "first ms", "CPU ms", "once more ms", "CPU ms")
    common.show("the first page that a server is asked for", head, rows)


def _client(here: Servers) -> httpx.Client:
    """Asks as a browser does."""
    base = f"http://{http_load.HOST}:{here.port}"
    client = httpx.Client(base_url=base, headers={"accept": "text/html,*/*;q=0.8"}, timeout=120.0)
    while not (found := client.get("/index.json")).is_success or found.json()["missing"]:
        time.sleep(0.2)  # it looks at the index first
    return client


def _pages(client: httpx.Client) -> dict[str, list[str]]:
    steps = {user: _steps(client, f"/users/{user}.json") for user in ("user-7", MAYA)}
    known = {user: _steps(client, f"/users/{user}.json", "known_at") for user in ("user-7", MAYA)}
    state = f"/states/{MAYA}-fact-7"
    return {
        "bare page": [BARE],
        "first view": ["/"],
        "first view, searched": ["/?q=restaurant%20in%20San%20Jose", "/?q=cheap%20flights"],
        "first view as of a time": [f"/?as_of={at}" for at in steps["user-7"]],
        "first view, known at a time": [f"/?known_at={at}" for at in known["user-7"]],
        "a person": ["/users/user-7"],
        "a person, asked": ["/users/user-7?q=restaurant"],
        "a person as of a step": [f"/users/user-7?as_of={at}" for at in steps["user-7"]],
        "a person, known at a step": [f"/users/user-7?known_at={at}" for at in known["user-7"]],
        "maya as of a step": [f"/users/{MAYA}?as_of={at}" for at in steps[MAYA]],
        "maya, known at a step": [f"/users/{MAYA}?known_at={at}" for at in known[MAYA]],
        "maya": [f"/users/{MAYA}"],
        "10,000 turns": [f"/sessions/{LONG}"],
        "10,000 turns, another chunk": [f"/sessions/{LONG}?chunk={n}" for n in (3, 99, 150, 199)],
        "10,000 turns as of a step": [f"/sessions/{LONG}?as_of={at}" for at in steps[MAYA]],
        "10,000 turns, known at a step": [f"/sessions/{LONG}?known_at={at}" for at in known[MAYA]],
        "a state": [state],
        "a state as of a step": [f"{state}?as_of={at}" for at in steps[MAYA]],
        "a state, known at a step": [f"{state}?known_at={at}" for at in known[MAYA]],
    }


def _steps(client: httpx.Client, path: str, clock: str = "as_of") -> list[str]:
    """Some of the slider's times, from its newest third."""
    times: list[str] = client.get(path).json()["steps"][clock]
    return times[-len(times) // 3 :: max(1, len(times) // 40)]


def in_chromium(here: Servers, repeat: int) -> None:
    """What a reader waits for: navigation to the end of loading, a key on the slider to the changed
    page, and how a long session scrolls."""
    rows = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = _page(browser, here.port)
        base = 0.0
        for name, address in (
            ("bare page", BARE), ("first view", "/"), ("a person", "/users/user-7"),
            ("maya", f"/users/{MAYA}"), ("10,000 turns", f"/sessions/{LONG}"),
            ("a state", f"/states/{MAYA}-fact-7"),
        ):  # fmt: skip
            took = [_opened(page, address) for _ in range(repeat + 1)][1:]
            base = base or median(took)
            rows.append(_row(name, took, base))
        for name, address in (("user-7", "/users/user-7"), (MAYA, f"/users/{MAYA}"),
                              ("a long session", f"/sessions/{LONG}"),
                              ("a state", f"/states/{MAYA}-fact-7")):  # fmt: skip
            for clock in ("as_of", "known_at"):
                page.goto(address)
                page.locator(f"[data-clock={clock}]").focus()
                took = [_stepped(page) for _ in range(repeat + 1)][1:]
                rows.append(_row(f"a step of {clock}: {name}", took, base))
        page.goto(f"/sessions/{LONG}?turn={LONG}-05000")
        took = [_jumped(page, key) for key in ("End", "Home") * 3]
        rows.append(_row("10,000 turns: to the other end", took, base))
        page.goto(f"/sessions/{LONG}")
        scrolled = page.evaluate(FRAMES)
        browser.close()
    head = ("", "median ms", "most", "spread", "of a bare page")
    common.show(f"in Chromium, median of {repeat}", head, rows)
    gaps = sorted(scrolled["gaps"][1:])
    jank = sum(gap > LONG_FRAME for gap in gaps)
    shown = (len(gaps), f"{median(gaps):.0f}", f"{gaps[-1]:.0f}", jank, scrolled["most"])
    common.show("10,000 turns, scrolled by 120 pixels a frame",
                ("frames", "median ms", "longest ms", f"over {LONG_FRAME:.0f} ms", "elements"),
                [shown])  # fmt: skip


def _page(browser: Browser, port: int) -> Page:
    context = browser.new_context(
        base_url=f"http://{http_load.HOST}:{port}", viewport={"width": 1280, "height": 900}
    )
    context.set_default_timeout(60_000)
    return context.new_page()


def _row(name: str, took: list[float], base: float) -> tuple[str, ...]:
    row = (name, f"{median(took):.0f}", f"{max(took):.0f}", spread(took),
           f"{median(took) / base:.1f}")  # fmt: skip
    common.note(" | ".join(row))
    return row


def _opened(page: Page, address: str) -> float:
    """Milliseconds from the start of a navigation until all is loaded and drawn."""
    page.goto(address)
    return float(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))


def _stepped(page: Page) -> float:
    """One step into the past, by a key, until the page shows it."""
    before = page.locator(".clocks").get_attribute("data-settled")
    began = time.perf_counter()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "before => document.querySelector('.clocks').dataset.settled !== (before ?? undefined)",
        arg=before,
    )
    return 1000 * (time.perf_counter() - began)


def _jumped(page: Page, key: str) -> float:
    number = TURNS_OF_MAYA - 1 if key == "End" else 0
    began = time.perf_counter()
    page.keyboard.press(key)
    page.locator(f"#at-{LONG}-{number:05}").wait_for()
    return 1000 * (time.perf_counter() - began)


# --- live ---------------------------------------------------------------------------------------


def live(folder: Path, rate: int, seconds: int) -> None:
    """Turns are posted at a rate while a browser watches: how far its numbers are behind."""
    (folder / "live").mkdir()
    here = Servers(folder / "live")
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            page = _page(browser, here.port)
            page.goto("/pipeline")
            page.evaluate("""() => {
              window.seen = [];
              const source = new EventSource("/pipeline/events");
              source.addEventListener("frame", (event) => {
                const read = JSON.parse(event.data).numbers["fold.read"];
                window.seen.push([Date.now() / 1000, read ? read.value : 0]);
              });
            }""")
            sent: list[tuple[float, int]] = []
            posting = threading.Thread(target=_post, args=(here.port, rate, seconds, sent))
            posting.start()
            while posting.is_alive():
                page.wait_for_timeout(200)
            page.wait_for_timeout(3_000)
            seen = page.evaluate("window.seen")
            shown = page.locator("span[data-live='fold.read']").inner_text()
            browser.close()
    finally:
        here.serve.stop()
        here.bare.stop()
    total = sent[-1][1]
    behind = [
        max((one for at_sent, one in sent if at_sent <= at), default=0) - value
        for at, value in seen
        if sent[0][0] < at < sent[-1][0]
    ]
    took = sent[-1][0] - sent[0][0]
    common.show(
        f"live: {rate:,} turns/s for {seconds} s",
        ("answered/s", "looks/s", "turns behind: median", "most", "at its end"),
        [(f"{total / took:,.0f}", f"{len(behind) / took:.2f}", f"{median(behind):,.0f}",
          f"{max(behind):,.0f}", f"{shown} of {total:,}")],
    )  # fmt: skip


def _post(port: int, rate: int, seconds: int, sent: list[tuple[float, int]]) -> None:
    """`sent` gets when how many turns were answered."""
    turns = iter(common.sgd_records(rate * seconds))
    each = rate // 10
    done, made = count(1), time.time()
    sent.append((made, 0))
    for number in range(10 * seconds):
        body = b"\n".join(encode(next(turns)) for _ in range(each))
        time.sleep(max(0.0, made + number / 10 - time.time()))
        request = http_load.post("/v1/records", body, NDJSON, "Prefer: return=minimal, wait=60")
        found = asyncio.run(load(port, iter([request]), connections=1))
        assert set(found.statuses) == {200}, found.statuses
        sent.append((time.time(), next(done) * each))


def main() -> None:
    """Builds, then measures."""
    parser = common.arguments(__doc__)
    parser.add_argument("--history", type=Path, help="folder that keeps the history")
    parser.add_argument("--turns", type=int, default=990_000, help="besides those of one session")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--rate", type=int, default=5_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--only", choices=("build", "first", "requests", "chromium", "live"))
    given = parser.parse_args()
    with common.work_folder(given.work) as made:
        folder = given.history or made
        folder.mkdir(exist_ok=True)
        if given.only != "live":
            if not (folder / "history").exists():
                build(folder, given.turns)
            if given.only in (None, "first"):
                first_looks(folder)
            if given.only in (None, "requests", "chromium"):
                _measure(folder, given)
        if given.only in (None, "live"):
            live(made, given.rate, given.seconds)


def _measure(folder: Path, given: argparse.Namespace) -> None:
    here = Servers(folder)
    parts: dict[str, Callable[[Servers, int], None]] = {
        "requests": bare_requests, "chromium": in_chromium,
    }  # fmt: skip
    try:
        for name, part in parts.items():
            if given.only in (None, name):
                part(here, given.repeat)
    finally:
        here.serve.stop()
        here.bare.stop()


if __name__ == "__main__":
    main()
