"""What asks beside a server, over a log that folds what it is given: how it stands, when it asks
again, and what a request shows of the ones before. `tests/serving/test_model_background.py` has the
same beside a real server."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas.base import JsonObject, format_time
from streams.extractors.registry import named
from streams.files import file_runner
from streams.files.extractor_choice import dev_choice
from streams.llm import background
from streams.llm.background import Beside
from tests.command import checked, ndjson, rows, turn
from tests.llm.endpoint import SENT, Endpoint, Reply, Request, completion, error, model
from tests.waiting import WITHIN, until

Start = Callable[..., Endpoint]


class Folding:
    """A log whose records are in the tables when `post` returns, recorded when they came."""

    def __init__(self, folder: Path) -> None:
        self.history = folder / "history"
        self.end = self.committed = 0
        self._files = (folder / f"{number}.ndjson" for number in itertools.count())
        self.say("hello", user="nobody")
        dev_choice(self.history, "llm")

    def say(self, *texts: str, user: str = "u", **fields: Any) -> None:
        self._fold([
            turn(f"{user}-{self.committed}-{number}", user_id=user, user_input=text,
                 **{"session_id": f"s-{user}", **fields})
            for number, text in enumerate(texts)
        ])  # fmt: skip

    async def post(self, record: JsonObject) -> int:
        self._fold([{**record, "recorded_at": format_time(time.time_ns() // 1000)}])
        return self.committed

    def _fold(self, records: list[JsonObject]) -> None:
        file = ndjson(next(self._files), records)
        checked(file_runner.run([str(file)], self.history, choose=lambda: named("rules")))
        self.end = self.committed = self.committed + 1

    @property
    def letters(self) -> int:
        ((count,),) = rows(self.history, "SELECT count(*) FROM dead_letters")
        return int(count)


@contextmanager
def asking(folded: Folding, asked: Endpoint, **settings: Any) -> Iterator[Beside]:
    quick = {"idle_seconds": 0.2, "attempts": 2, "read_seconds": 30.0, "total_seconds": 30.0}
    asks = Beside.server(folded.history, asked.settings(**quick, **settings), folded)
    asks.start()
    try:
        yield asks
    finally:
        asks.end()


def user_of(request: Request) -> str:
    """Whose turns it holds."""
    return str(request.data["turns"][0]["event_id"]).split("-")[0]


def turns_of(asks: Beside) -> int:
    return asks.driver.turns if asks.driver else 0


def settled(asks: Beside, turns: int) -> None:
    until(lambda: turns_of(asks) == turns, told=lambda: asks.about)


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (error(401, "who are you?"), "is not asked: HTTP 401 Unauthorized: who are you?"),
        (error(402, "no money"), "is not asked: HTTP 402 Payment Required: no money"),
        (error(404, "no model"), "HTTP 404 Not Found: no model"),
        (error(400, "account closed"), "HTTP 400 Bad Request: account closed"),
    ],
    ids=["key", "money", "model", "all"],
)
def test_what_refuses_every_request_is_asked_again_when_it_is_mended(
    tmp_path: Path, endpoint: Start, monkeypatch: pytest.MonkeyPatch, refusal: Reply, said: str
) -> None:
    """Although nothing new comes meanwhile; no turn becomes a dead letter, and what an hour may
    cost is not counted again."""
    monkeypatch.setattr(background, "REFUSED_AGAIN", 0.2)
    asked, folded = endpoint(), Folding(tmp_path)
    mended = threading.Event()

    def refuses(request: Request) -> Reply:
        if mended.is_set() and request.data["turns"]:  # not between a request and its probe
            asked.behave = model
            return model(request)
        return refusal

    with asking(folded, asked, hourly_tokens=100_000, concurrency=1) as asks:
        settled(asks, 1)
        asked.behave = refuses
        for user in "abc":
            folded.say("fact: one", user=user)
        until(lambda: said in asks.about, told=lambda: asks.about)
        refused = len(asked.requests)
        until(lambda: len(asked.requests) > refused + 4)
        mended.set()
        settled(asks, 4)
        until(lambda: asks.about == "the model is asked")
        assert folded.letters == 0
        assert asks.driver is not None
        calls = asks.driver.extractor.counts["calls"]
        ((_, _, used),) = asks.driver.extractor.budget.used()
        assert calls * SENT <= used * 100_000 <= (calls + 2) * (SENT + 100)


def test_one_request_that_is_refused_is_a_dead_letter_and_others_go_on(
    tmp_path: Path, endpoint: Start
) -> None:
    """After good answers, too: a harmless request tells whose fault it is."""

    def picky(request: Request) -> Reply:
        if "poison" in str(request.body):
            return error(400, "I do not read this")
        return model(request)

    asked, folded = endpoint(picky), Folding(tmp_path)
    with asking(folded, asked) as asks:
        settled(asks, 1)
        folded.say("fact: poison", user="a")
        settled(asks, 2)
        folded.say("fact: bread", user="b")
        settled(asks, 3)
        assert folded.letters == 1


def test_useless_answers_are_said_whatever_came_before(tmp_path: Path, endpoint: Start) -> None:
    asked, folded = endpoint(), Folding(tmp_path)
    with asking(folded, asked) as asks:
        settled(asks, 1)
        asked.behave = lambda _: completion("No.")
        for user in "abc":
            folded.say("fact: one", user=user)
        until(lambda: "the model gives no usable answer: not JSON" in asks.about)
        settled(asks, 4)
        asked.behave = model
        folded.say("fact: one", user="d")
        until(lambda: asks.about == "the model is asked", told=lambda: asks.about)
        assert folded.letters == 3


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (error(429, "slow down", Retry_After="900"), "Z: HTTP 429 Too Many Requests: slow down"),
        (error(429, "no quota"), "does not answer: HTTP 429 Too Many Requests: no quota"),
        (error(503, "maintenance"), "does not answer: HTTP 503"),
    ],
    ids=["named", "unnamed", "down"],
)
def test_an_endpoint_that_takes_no_request_now_is_said_until_one_is_answered(
    tmp_path: Path, endpoint: Start, trouble: Reply, said: str
) -> None:
    """While the others of the same look still wait."""
    asked, folded = endpoint(lambda _: trouble), Folding(tmp_path)
    for user in "abcd":
        folded.say("fact: one", user=user)
    with asking(folded, asked, concurrency=1) as asks:
        until(lambda: said in asks.about, told=lambda: asks.about)
        if "Retry-After" in {name.replace("_", "-") for name in trouble.headers}:
            assert " does not answer until 20" in asks.about
            return
        go = threading.Event()

        def one(request: Request) -> Reply:
            if turns_of(asks):
                assert go.wait(WITHIN)
            return model(request)

        asked.behave = one
        until(lambda: turns_of(asks) == 1)
        until(lambda: asks.about.startswith("the model is asked, "), told=lambda: asks.about)
        go.set()
        settled(asks, 5)


def test_a_request_that_waited_shows_what_the_model_said_of_the_turns_before(
    tmp_path: Path, endpoint: Start
) -> None:
    """Not what was learnt of later turns: a word of then is not to correct what came since."""
    asked, folded = endpoint(), Folding(tmp_path)
    at = ("2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z")
    said = ("fact: keeps bees", "fact: has a boat", "I love green tea.")
    for number, text in enumerate(said):
        folded.say(text, session_id=f"s{number}", occurred_at=at[number])
    with asking(folded, asked) as asks:
        settled(asks, 4)
    shown = {
        request.said[0]: [one["body_text"] for one in request.data["states"]]
        for request in asked.requests
        if user_of(request) == "u"
    }
    assert shown == {
        said[0]: [], said[1]: ["keeps bees"], said[2]: ["has a boat", "keeps bees"],
    }  # fmt: skip
    likes = [request.data["preferences"] for request in asked.requests]
    assert not any(likes), "of later turns, or found by rules in these"
