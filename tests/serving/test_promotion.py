"""A history that is served while `promote` and `rollback` make another generation live."""

import json
import threading
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.command import ndjson, turn, turnfold
from tests.serving.serving import Server, serving
from tests.waiting import WITHIN, until

pytestmark = pytest.mark.nightly

GENERATION = "turnfold-generation"
RULES, PLAIN = "root", "plain"
PATHS = ("/v1/users/ann", "/v1/users/ann/states", "/v1/search?q=Bergen&kind=state")


class Reader(threading.Thread):
    """Asks over and over, until it is over. A fact is found under rules alone."""

    def __init__(self, url: str, over: threading.Event, may_wait: bool) -> None:
        super().__init__()
        self.url, self.over, self.may_wait = url, over, may_wait
        self.wrong: list[str] = []
        self.seen: Counter[tuple[str, str]] = Counter()

    def times(self, path: str) -> int:
        """How often it had an answer."""
        return sum(self.seen[path, generation] for generation in (RULES, PLAIN))

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=WITHIN) as client:
            while not self.over.is_set():
                for path in PATHS:
                    self._ask(client, path)

    def _ask(self, client: httpx.Client, path: str) -> None:
        reply = client.get(path)
        if self.may_wait and reply.status_code == 503 and "retry-after" in reply.headers:
            return
        if reply.status_code != 200:
            self.wrong.append(f"{path}: {reply.status_code} {reply.text}")
            return
        generation, document = reply.headers[GENERATION], reply.json()
        found = document.get("states", document.get("hits"))
        if any(one["kind"] in ("fact", "state") for one in found) != (generation == RULES):
            self.wrong.append(f"{path}: {generation} has {found}")
        self.seen[path, generation] += 1


def answers(server: Server, generation: str) -> None:
    """Waits until it answers from that generation."""
    until(
        lambda: server.client.get("/readyz").json(),
        lambda found: found["ready"] and found["generation"] == generation,
    )


def seen_again(readers: list[Reader]) -> None:
    """Waits until each reader has had an answer to each request that it has sent since."""
    for reader in readers:
        before = {path: reader.times(path) for path in PATHS}
        until(lambda: all(reader.times(path) > before[path] + 1 for path in PATHS) or reader.wrong)  # noqa: B023 - called at once


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """With a fact in `root`, and none in `plain`."""
    said = turn("said", session_id="s", user_id="ann", user_input="I live in Bergen.")
    made = tmp_path / "history"
    file = ndjson(tmp_path / "said.ndjson", [said])
    for words in (
        ("run", file, "--history", made, "--extractor", "rules"),
        ("generation", "create", "--history", made, PLAIN, "--extractor", "none"),
    ):
        done = turnfold(*words)
        assert done.code == 0, done.err
    return made


@pytest.mark.parametrize("written_by", ["serve", "sinks"])
def test_each_reply_is_of_one_generation_through_promote_and_rollback(
    history: Path, written_by: str
) -> None:
    """The server that writes a history lends it for the switch: then there are 503s with
    Retry-After. The one that only reads goes over between two replies."""
    if written_by == "sinks":
        for folder in (history, history / "generations" / PLAIN):
            (folder / "_sink.json").write_text(json.dumps({"sink": "s", "cluster": "c"}))
    with serving("--history", history) as server:
        answers(server, RULES)
        over = threading.Event()
        readers = [Reader(server.url, over, written_by == "serve") for _ in range(3)]
        for reader in readers:
            reader.start()
        try:
            for words, generation in (
                (("generation", "promote", PLAIN), PLAIN), (("generation", "rollback"), RULES),
                (("generation", "promote", PLAIN), PLAIN),
            ):  # fmt: skip
                seen_again(readers)
                done = turnfold(*words, "--history", history)
                assert done.code == 0, done.err
                answers(server, generation)
            seen_again(readers)
        finally:
            over.set()
            for reader in readers:
                reader.join()
    for reader in readers:
        assert reader.wrong == []
    seen = sum((reader.seen for reader in readers), Counter[tuple[str, str]]())
    assert all(seen[path, one] for path in PATHS for one in (RULES, PLAIN)), seen
