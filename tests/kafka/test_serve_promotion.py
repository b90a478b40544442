"""`serve --bootstrap --history` goes over to the generation that `promote` makes live, and back."""

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.time import format_time
from sinks.pointer import FILE
from tests.command import PROGRAM, environment, turnfold
from tests.kafka.working import Working
from tests.serving.serving import Server, serving
from tests.tiers import soaked
from tests.waiting import WITHIN, until

USER = "ann"
GENERATION, HISTORY_UNTIL = "turnfold-generation", "turnfold-history-until"
PLAIN, RULES = "plain", "root"
PLAIN_WORKER = ("--generation", PLAIN, "--extractor", "none", "--instance", PLAIN)
numbers = count()


@contextmanager
def sinking(working: Working, history: Path, *more: str) -> Iterator[None]:
    """A sink that goes on."""
    with (working.folder / f"sink-{next(numbers)}").open("wb") as log:
        process = subprocess.Popen(
            [PROGRAM, "kafka", "sink", *working.at, "--history", str(history),
             "--roll-seconds", "0.5", *more],
            stdout=log, stderr=log, env=environment(),
        )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        process.wait(WITHIN)


class Place:
    """Two generations of one memory, each with a worker and a sink: `root` finds facts in what was
    said, `plain` finds nothing."""

    def __init__(self, working: Working, history: Path) -> None:
        self.working, self.history = working, history

    def options(self) -> list[str | Path]:
        return [*self.working.at, "--history", self.history]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    from tests.kafka.working import alone

    folder = tmp_path_factory.mktemp("promotion")
    history = folder / "history"
    with alone(folder) as working, ExitStack() as stack:
        patient = environment(  # the first transactions of a broker take long on a busy machine
            **working.kafka, TURNFOLD_WORKER_SESSION_SECONDS="120"
        )
        working.start("--extractor", "rules", "--instance", "live", env=patient)
        working.await_ready()
        working.start(*PLAIN_WORKER, env=patient)
        working.await_ready()
        stack.enter_context(sinking(working, history))
        stack.enter_context(sinking(working, history, "--generation", PLAIN))
        place = Place(working, history)
        with serving(*place.options()) as server:
            soon(lambda: ready(server) and ready(server)["generation"] == RULES)
            first = [said(0, "I live in Bergen.")]  # may be sent again until it is applied
            soon(lambda: server.post(first, Prefer="wait=30").status_code == 200)
            soon(lambda: facts(server.client) == ["Lives in Bergen."])
            soon(lambda: past_facts(server.client) == ["Lives in Bergen."])
        soon(lambda: (history / "generations" / PLAIN / "events" / "_delta_log").is_dir())
        yield place


def said(number: int, text: str, session: str = "s-0") -> dict[str, Any]:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_780_000_000 + number))
    return {
        "type": "turn", "event_id": f"{session}-{number}", "session_id": session, "user_id": USER,
        "occurred_at": at, "source": "chat", "user_input": text, "agent_answer": "I see.",
        "intent": "ask", "topic": f"topic-{number}",
    }  # fmt: skip


def soon(holds: Callable[[], Any]) -> None:
    """Until it holds; a server that cannot be asked meanwhile is asked again."""

    def ask() -> Any:
        with suppress(httpx.HTTPError, KeyError):
            return holds()

    until(ask, every=0.1)


def ready(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = server.client.get("/readyz").json()
    return found


def answers(server: Server, generation: str) -> bool:
    """Whether a generation answers all, and none is awaited."""
    found = ready(server)
    told = found["ready"], found["generation"], found["promoted"]
    return told == (True, generation, None)


def facts(client: httpx.Client) -> list[str]:
    """Out of the tables."""
    found = client.get(f"/v1/users/{USER}").json()
    return [one["body_text"] for one in found.get("states", ())]


def past_facts(client: httpx.Client) -> list[str]:
    """Out of the history."""
    found = client.get(f"/v1/users/{USER}/states").json()
    return [one["body_text"] for one in found.get("states", ()) if one["kind"] == "fact"]


class Reader(threading.Thread):
    """Asks the tables, the history and search over and over, on one connection."""

    def __init__(self, url: str, over: threading.Event, session: str) -> None:
        super().__init__()
        self.url, self.over, self.session = url, over, session
        self.wrong: list[str] = []
        self.seen: Counter[tuple[str, str]] = Counter()

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=WITHIN) as client:
            conversations, topics = 0, 0
            while not self.over.is_set():
                where = self._ask(client, f"/v1/users/{USER}", "states")
                if where is not None:
                    topics = self._grows(topics, len(where["profile"]["history"]["topics_visited"]))
                self._ask(client, f"/v1/users/{USER}/states", "states")
                self._ask(client, "/v1/search?q=Bergen&kind=state", "hits")
                session = self._reply(client, f"/v1/sessions/{self.session}")
                if session is not None:
                    conversations = self._grows(conversations, session["conversation_count"])

    def _grows(self, before: int, now: int) -> int:
        if now < before:
            self.wrong.append(f"went back from {before} to {now}")
        return now

    def _ask(self, client: httpx.Client, path: str, name: str) -> dict[str, Any] | None:
        """Facts are there under rules alone, and the header says which generation that is."""
        document = self._reply(client, path)
        if document is not None:
            found = any(one["kind"] in ("fact", "state") for one in document[name])
            if found != (self.generation == RULES):
                self.wrong.append(f"{path}: {self.generation} has {document[name]}")
            self.seen[path, self.generation] += 1
        return document

    def _reply(self, client: httpx.Client, path: str) -> dict[str, Any] | None:
        reply = client.get(path)
        if reply.status_code != 200:
            self.wrong.append(f"{path}: {reply.status_code} {reply.text}")
            return None
        self.generation = reply.headers[GENERATION]
        document: dict[str, Any] = reply.json()
        return document


def test_a_reply_says_up_to_when_its_history_is_complete(place: Place) -> None:
    with serving(*place.options()) as server:
        soon(lambda: answers(server, RULES))
        turns = [said(number, "Hello.", "s-until") for number in range(3)]
        soon(lambda: server.post(turns, Prefer="wait=30").status_code == 200)
        written = format_time(time.time_ns() // 1000)
        path = "/v1/sessions/s-until/timeline"
        soon(lambda: server.client.get(path).headers[HISTORY_UNTIL] > written)
        assert len(server.client.get(path).json()["turns"]) == len(turns)


class Writer(threading.Thread):
    """Posts a turn, and reads it, over and over."""

    def __init__(self, url: str, over: threading.Event, first: int, session: str) -> None:
        super().__init__()
        self.url, self.over, self.first, self.session = url, over, first, session
        self.wrong: list[str] = []
        self.posted = 0

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=WITHIN) as client:
            for number in count(self.first):
                if self.over.is_set():
                    return
                turn = said(number, "Hello.", self.session)
                reply = client.post("/v1/records", json=turn, headers={"Prefer": "wait=30"})
                if reply.status_code != 200 or reply.json()["counts"] != {"applied": 1}:
                    self.wrong.append(f"{reply.status_code} {reply.text}")
                found = client.get(f"/v1/sessions/{self.session}")
                self.posted += 1
                if found.json().get("conversation_count") != self.posted:
                    self.wrong.append(f"posted {self.posted}, read {found.text}")


@pytest.mark.parametrize("store", soaked(["memory", "rocksdb"], 1))
def test_readers_see_one_generation_in_each_reply_through_promote_and_rollback(
    place: Place, tmp_path: Path, store: str
) -> None:
    """Neither an error nor an older document, and what was posted is read, while it goes over."""
    more = ["--store", store, *(["--data", str(tmp_path)] if store == "rocksdb" else ())]
    session = f"written-{store}"
    with serving(*place.options(), *more) as server:
        soon(lambda: answers(server, RULES))
        soon(lambda: server.client.get("/v1/search?q=Bergen").json()["hits"])
        over = threading.Event()
        threads: list[Any] = [Reader(server.url, over, session) for _ in range(3)]
        threads.append(Writer(server.url, over, 1000, session))
        threads[-1].start()
        soon(lambda: threads[-1].posted)
        for thread in threads[:-1]:
            thread.start()
        try:
            time.sleep(1)
            for command, generation in (
                (("generation", "promote", PLAIN), PLAIN), (("generation", "rollback"), RULES),
                (("generation", "promote", PLAIN), PLAIN),
                (("generation", "rollback"), RULES),
            ):  # fmt: skip
                done = turnfold(*command, "--history", place.history)
                assert done.code == 0, done.err
                soon(lambda generation=generation: answers(server, generation))  # type: ignore[misc]
                time.sleep(1)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        for thread in threads:
            assert thread.wrong == []
        assert threads[-1].posted > 20
        for reader in threads[:-1]:
            asked = {path for path, _ in reader.seen}
            assert all(reader.seen[path, one] for path in asked for one in (PLAIN, RULES))


def test_a_restart_answers_from_the_promoted_generation(place: Place) -> None:
    assert turnfold("generation", "promote", PLAIN, "--history", place.history).code == 0
    try:
        with serving(*place.options()) as server:
            soon(lambda: answers(server, PLAIN))
            assert facts(server.client) == past_facts(server.client) == []
            assert server.client.get("/healthz").json()["generation"] == PLAIN
    finally:
        assert turnfold("generation", "rollback", "--history", place.history).code == 0


def test_an_app_id_with_a_generation_answers_from_that_one_alone(place: Place) -> None:
    with serving(*place.options(), "--app-id", f"turnfold.{PLAIN}") as server:
        soon(lambda: answers(server, PLAIN))
        assert facts(server.client) == past_facts(server.client) == []
        assert turnfold("generation", "promote", PLAIN, "--history", place.history).code == 0
        assert turnfold("generation", "rollback", "--history", place.history).code == 0
        time.sleep(1)
        assert answers(server, PLAIN)


def test_a_promoted_generation_that_cannot_be_read_leaves_the_old_one_answering(
    place: Place,
) -> None:
    pointer = place.history / FILE
    before = pointer.read_bytes() if pointer.exists() else None
    with serving(*place.options()) as server:
        soon(lambda: answers(server, RULES))
        for text in ("{", json.dumps({"current": "gone", "previous": "root"})):
            pointer.write_text(text)
            soon(lambda: "cannot be read" in ready(server)["about"])
            assert ready(server)["ready"]
            assert ready(server)["generation"] == RULES
            assert facts(server.client) == past_facts(server.client) != []
        pointer.write_text(json.dumps({"current": PLAIN, "previous": "root"}))
        soon(lambda: answers(server, PLAIN))
        pointer.write_text(json.dumps({"current": "root", "previous": None}))
        soon(lambda: answers(server, RULES))
    if before is not None:
        pointer.write_bytes(before)


def test_a_generation_whose_worker_stands_still_is_awaited_unless_it_was_promoted_behind(
    place: Place,
) -> None:
    """It lacks what readers were shown: the old one answers on, and /readyz says why."""
    working = place.working
    with serving(*place.options()) as server:
        soon(lambda: answers(server, RULES))
        stopped = working.workers[1]
        stopped.terminate()
        stopped.wait(WITHIN)
        assert server.endings([said(1, "I like herons.")]) == ["applied"]
        assert turnfold("generation", "promote", PLAIN, "--history", place.history).code == 0
        soon(lambda: "lack" in ready(server)["about"])
        found = ready(server)
        assert (found["ready"], found["generation"], found["promoted"]) == (True, RULES, PLAIN)
        assert server.session("s-0").headers[GENERATION] == RULES
        done = turnfold("generation", "promote", PLAIN, "--behind", "--history", place.history)
        assert done.code == 0, done.err
        soon(lambda: answers(server, PLAIN))
        assert facts(server.client) == past_facts(server.client) == []
        reply = server.post([said(2, "Nobody folds this yet.")], Prefer="wait=0.2")
        assert reply.status_code == 202

        working.start(*PLAIN_WORKER)
        working.workers[1] = working.workers.pop()
        soon(lambda: len(server.session("s-0").json()["conversations"]) == 3)
        assert turnfold("generation", "rollback", "--history", place.history).code == 0
        soon(lambda: answers(server, RULES))
        soon(lambda: "herons" in server.session("s-0").text)
