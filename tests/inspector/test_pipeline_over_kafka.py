"""The pipeline over Kafka in a browser: a real broker, worker and sink; the broker is killed and
started again, and a dead letter is replayed."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from streams.broker import Broker
from streams.broker.ports import free
from streams.serving.inspector.links import Links
from tests.command import PROGRAM, environment, ndjson, turn, turnfold
from tests.inspector.browsing import barriers, expects, overflows, watched
from tests.serving.serving import Server, serving

pytestmark = pytest.mark.needs("chromium")

LONG = 90_000
"""Milliseconds that a busy machine gets for what takes some seconds."""


class Stack(NamedTuple):
    """A broker, and a server beside a worker and a sink that it asks for their metrics."""

    broker: Broker
    server: Server
    folder: Path

    def produce(self, *records: object) -> None:
        """Sends records as a producer does."""
        file = ndjson(self.folder / "sent.ndjson", records)
        done = turnfold("kafka", "produce", file, "--bootstrap", self.broker.bootstrap)
        assert done.code == 0, done.err


@contextmanager
def running(log: Path, *command: str) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen([PROGRAM, *command], stdout=file, stderr=file, env=environment())
        try:
            yield
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("pipeline")
    ports = [f"127.0.0.1:{port}" for port in free(2)]
    with Broker.start(short_lived=True, keep=folder / "kafka") as broker, ExitStack() as parts:
        at = ("--bootstrap", broker.bootstrap)
        into = ("--history", str(folder / "h"))
        parts.enter_context(
            running(folder / "worker.log", "kafka", "worker", *at, "--metrics-port", ports[0])
        )
        parts.enter_context(
            running(folder / "sink.log", "kafka", "sink", *at, *into, "--roll-seconds", "0.5",
                    "--metrics-port", ports[1])
        )  # fmt: skip
        (folder / "first.ndjson").write_text(json.dumps(turn("e0")) + "\n")
        assert turnfold("kafka", "produce", folder / "first.ndjson", *at).code == 0
        server = parts.enter_context(serving(*at, *into, "--metrics-from", ",".join(ports)))
        server.until("/readyz", 200)
        server.until("/v1/sessions/s", 200)
        yield Stack(broker, server, folder)


def figures(page: Page, *keys: str) -> None:
    """Until all of them are known."""
    for key in keys:
        place = page.locator(f"span[data-live='{key}']").first
        expect(place).not_to_have_text("not known", timeout=LONG)


def test_what_every_part_knows_is_shown(stack: Stack, browser: Browser) -> None:
    with watched(browser, stack.server.url) as page:
        page.goto("/pipeline")
        stack.produce(*(turn(f"shown{n}", session_id=f"s{n % 9}") for n in range(200)))
        figures(
            page, "session.rate", "memory.rate", "session.read", "turns.lag", "user-signals.lag",
            "session.restored", "stalled", "stalls", "lanes", "sink.lag", "sink.oldest",
        )  # fmt: skip
        expect(page.locator("span[data-live='session.restored']")).to_contain_text("100")
        expect(page.locator("span[data-live='turns.lag']")).to_have_text("0", timeout=LONG)
        assert barriers(page) == []
        page.emulate_media(color_scheme="dark")
        assert barriers(page, "color-contrast") == []
        for width in (360, 1280, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            assert not overflows(page)


def test_a_dead_letter_is_replayed_by_who_says_so_twice(stack: Stack, browser: Browser) -> None:
    stack.produce(turn("twice"), turn("twice", user_input="<b>other</b>"))
    with watched(browser, stack.server.url) as page:
        page.goto("/pipeline?reason=conflicting_duplicate")
        row = page.locator("#letters .items a").first
        expect(row).to_be_visible(timeout=LONG)
        before = row.get_attribute("href") or ""
        row.press("Enter")
        page.get_by_role("link", name="Replay it").press("Enter")
        expect(page.get_by_text("Remove the cause first")).to_be_visible()
        page.get_by_role("link", name="No, leave it").press("Enter")
        page.get_by_role("link", name="Replay it").press("Enter")
        page.get_by_role("button", name="Yes, send it again").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Sent.", timeout=LONG)
        # a worker refuses it again: the reason has not gone, and the new letter stands for it
        page.goto("/pipeline?reason=conflicting_duplicate")
        expect(row).not_to_have_attribute("href", before, timeout=LONG)
        expect(page.locator("#letters .items li")).to_have_count(1, timeout=LONG)
        page.reload()
        page.locator("#letters .items a").first.click()
        page.get_by_role("link", name="Replay it").click()
        page.get_by_role("button", name="Yes, send it again").click()
        expect(page.get_by_role("status")).to_contain_text("Not sent", timeout=LONG)


def test_a_replay_is_refused_to_other_sites_and_to_who_is_not_sure(stack: Stack) -> None:
    found = stack.server.client.get("/pipeline.json").json()["letters"]["dead_letters"]
    path = f"{Links().letter(found[0]['id'] if found else 'turns:0:0')}/replay"
    own = {"sec-fetch-site": "same-origin"}
    form = {"sure": "yes"}
    other = {"sec-fetch-site": "cross-site"}
    assert stack.server.client.post(path, data=form, headers=other).status_code == 403
    assert stack.server.client.post(path, data={}, headers=own).status_code == 422
    nobody = Links().letter("turns:0:987654321") + "/replay"
    assert stack.server.client.post(nobody, data=form, headers=own).status_code == 404


def test_a_broker_that_goes_away_is_said_and_its_return_too(stack: Stack, browser: Browser) -> None:
    with watched(browser, stack.server.url) as page:
        expects(page, 503)
        page.goto("/pipeline")
        figures(page, "turns.lag")
        stack.broker.nodes[0].kill()
        away = page.get_by_text("No broker answers.")
        expect(away).to_be_visible(timeout=LONG)
        expect(page.locator("span[data-live='turns.lag']")).to_have_text("not known")
        page.reload()  # a page that is made meanwhile says so as well
        expect(away).to_be_visible(timeout=LONG)
        stack.broker.nodes[0].start()
        expect(away).to_be_hidden(timeout=LONG)
        figures(page, "turns.lag", "session.read")
        before = page.locator("span[data-live='session.read']").inner_text()
        stack.produce(turn("after"))
        expect(page.locator("span[data-live='session.read']")).not_to_have_text(
            before, timeout=LONG
        )
