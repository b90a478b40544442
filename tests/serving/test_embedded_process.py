"""`turnfold serve --history` as a process: killed, without room, asked to lend its history."""

import itertools
import random
import resource
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from sinks import locks
from sinks.digest import digest
from streams.files import file_runner
from tests.acceptance import sgd
from tests.command import checked, files_holding, folded, ndjson, rows, snapshot, turn, turnfold
from tests.fault.kill_run import _commits, stored
from tests.serving.serving import Server, serving
from tests.shared_data import SGD, shared
from tests.waiting import until

pytestmark = pytest.mark.nightly

CLIENTS = 3
TOO_LONG = 120.0


class Senders:
    """Clients that post turns, each its own share, again until they are answered."""

    def __init__(self, records: list[Any]) -> None:
        self.records = records
        self.answered: dict[str, list[str]] = {}
        self.url = ""
        self.ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._send, args=(records[share::CLIENTS],), daemon=True)
            for share in range(CLIENTS)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def _send(self, records: list[Any]) -> None:
        with httpx.Client(timeout=TOO_LONG) as client:
            self._send_by(client, records)

    def _send_by(self, client: httpx.Client, records: list[Any]) -> None:
        for record in records:
            while not self.ended.is_set():
                try:
                    reply = client.post(f"{self.url}/v1/records", json=record)
                except httpx.HTTPError:
                    time.sleep(0.05)
                    continue
                if reply.status_code in (200, 202):
                    endings = [one["ending"] for one in reply.json()["results"]]
                    self.answered.setdefault(record["event_id"], []).extend(endings)
                    break
                assert reply.status_code in (429, 503), reply.text
                time.sleep(0.05)


def strike(server: Server, history: Path, meant: str, chance: random.Random) -> None:
    """Kills it at a moment that shows from outside."""
    commits, began = _commits(history), time.monotonic()
    pause = chance.uniform(0.2, 1.5)
    while time.monotonic() - began < TOO_LONG:
        if meant == "random" and time.monotonic() - began > pause:
            break
        if meant == "logged" and sum(map(len, logged(history))) > 20_000:
            break
        if meant.startswith("table") and _commits(history) >= commits + int(meant[-1]):
            break
        time.sleep(0.0005)
    server.process.kill()
    server.process.wait()


def logged(history: Path) -> list[bytes]:
    """What lies in the log."""
    found = []
    for path in (history / "_inbox").glob("*.log"):
        try:
            found.append(path.read_bytes())
        except FileNotFoundError:
            continue
    return found


def test_guarantee_3_nothing_that_was_answered_is_lost_and_nothing_doubled(tmp_path: Path) -> None:
    """Killed while turns are posted, logged, folded and committed; what is left in the log is
    folded by the next."""
    records = list(itertools.islice(sgd.records(shared(*SGD)), 500))
    history, chance = tmp_path / "killed", random.Random(7)
    senders = Senders(records)
    struck: list[str] = []
    for meant in ["logged", "table 1", "random", "table 3", None]:
        with serving("--history", history) as server:
            senders.url = server.url
            if not struck:
                senders.start()
            if meant is not None:
                strike(server, history, meant, chance)
                struck.append(meant if logged(history) else f"{meant}, log empty")
            while meant is None and senders.alive:
                time.sleep(0.05)
    assert not logged(history), "an ended server leaves nothing"
    senders.ended.set()

    assert set(senders.answered) == {one["event_id"] for one in records}
    endings = {ending for some in senders.answered.values() for ending in some}
    assert endings <= {"applied", "duplicate", "accepted"}, endings
    assert any("empty" not in one for one in struck), f"no kill struck what was waiting: {struck}"
    sql = "SELECT count(*), count(DISTINCT event_id), count(DISTINCT src_offset) FROM events"
    assert rows(history, sql) == [(len(records),) * 3]
    counts = checked(Counter(stored(history)["counts"]))
    assert counts["applied"] == len(records)
    checked(file_runner.run([str(ndjson(tmp_path / "r.ndjson", records))], tmp_path / "quiet"))
    assert digest(history)["memory"] == digest(tmp_path / "quiet")["memory"]


def test_what_a_killed_server_left_is_forgotten_too(tmp_path: Path) -> None:
    """`forget` folds the log first: a later start brings nothing back."""
    history = tmp_path / "h"
    with serving("--history", history, "--within", "0.2") as server:
        assert server.endings([turn("e1", user_input="a secret")]) == ["applied"]
        with locks.borrowed(history, AssertionError("not lent")):
            assert server.session("s").status_code == 503
            assert server.post([turn("e2", user_input="another secret")]).status_code == 202
            server.process.kill()
            server.process.wait()
    assert any(b"another secret" in one for one in logged(history))
    done = turnfold("forget", "u", "--history", history, "--yes", "-o", "json")
    assert done.code == 0, done.err
    assert files_holding(history, "secret") == []
    with serving("--history", history) as server:
        assert server.session("s").status_code == 404


def test_what_a_killed_server_left_is_extracted_as_it_was_told(tmp_path: Path) -> None:
    """`forget` of somebody else folds it, and knows nothing of --extractor."""
    history = tmp_path / "h"
    said = turn("e1", user_input="I live in Berlin and my name is Ann")
    with (
        serving("--history", history, "--within", "0.2", "--extractor", "rules") as server,
        locks.borrowed(history, AssertionError("not lent")),
    ):
        assert server.post([said]).status_code == 202
        server.process.kill()
        server.process.wait()
    assert turnfold("forget", "nobody", "--history", history, "--yes").code == 0
    assert rows(history, "SELECT event_id FROM plans") == [("e1",)]


def test_one_server_and_those_who_ask_it_for_the_history(tmp_path: Path) -> None:
    """`run` and another server are refused; `backfill` and `promote`, `forget` and `compact` go
    on beside it, and what they did shows within a second."""
    history = tmp_path / "h"
    file = ndjson(tmp_path / "more.ndjson", [turn("e9", session_id="t")])
    with serving("--history", history) as server:
        said = [turn("e1"), turn("e2", session_id="o", user_id="other")]
        assert server.endings(said) == ["applied", "applied"]
        refused = turnfold("run", file, "--history", history)
        assert refused.code == 3 and "turnfold serve" in refused.err
        second = turnfold("serve", "--history", history, "--port", "0")
        assert second.code == 3 and "end it first" in second.err

        made = turnfold("generation", "create", "--history", history, "next")
        assert made.code == 0, made.err
        assert server.endings([turn("e3")]) == ["applied"]
        promoted = turnfold("generation", "promote", "next", "--history", history)
        assert promoted.code == 0, promoted.err
        server.until("/v1/sessions/s", 200)
        assert server.session("s").json()["conversation_count"] == 2, "e3 came along"
        assert server.endings([turn("e1"), turn("e4")]) == ["duplicate", "applied"]

        assert turnfold("admin", "compact", "--history", history).code == 0
        forgotten = turnfold("forget", "u", "--history", history, "--yes", "-o", "json")
        assert forgotten.code == 0, forgotten.err
        server.until("/v1/sessions/s", 404)
        server.until("/v1/sessions/o", 200)
    again = folded(file, history=history)
    assert again["applied"] == 1


def test_a_full_disk_is_said_and_outlived(tmp_path: Path) -> None:
    """507 as long as there is no room; then it goes on, and what was answered before is there."""
    history = tmp_path / "h"
    with serving("--history", history) as server:
        pid = server.process.pid
        assert server.endings([turn("e1")]) == ["applied"]
        until(lambda: _commits(history))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        reply = server.post([turn("e2")])
        assert reply.status_code == 507, reply.text
        assert reply.headers["content-type"] == "application/problem+json"
        detail = reply.json()["detail"]
        assert "make room" in detail and str(tmp_path) not in detail
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert server.endings([turn("e2"), turn("e1")]) == ["applied", "duplicate"]
        # now the commit fails, and what is in the log waits
        server.post([turn("e3")], prefer="wait=0")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (5_000, resource.RLIM_INFINITY))
        time.sleep(2)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        server.until("/readyz", 200)
        assert server.endings([turn("e3"), turn("e4")]) == ["duplicate", "applied"]
    ids = rows(history, "SELECT event_id FROM events ORDER BY ALL")
    assert ids == [("e1",), ("e2",), ("e3",), ("e4",)]


def test_without_keys_only_this_machine_is_answered(tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    refused = turnfold("serve", "--history", tmp_path / "h", "--host", "0.0.0.0", "--port", "0")
    assert refused.code == 3
    assert "turnfold admin keys add" in refused.err
    assert snapshot(tmp_path) == before


def test_a_port_that_is_taken_is_reported(tmp_path: Path) -> None:
    with serving("--history", tmp_path / "a") as server:
        port = server.url.rpartition(":")[2]
        refused = turnfold("serve", "--history", tmp_path / "b", "--port", port)
    assert refused.code == 3
    assert f":{port}: " in refused.err and "--port" in refused.err


def test_a_host_that_is_not_this_machine_is_reported(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    made = turnfold(
        "admin", "keys", "add", "--keys", keys, "--tenant", "default", "--role", "admin"
    )
    assert made.code == 0, made.err
    given = ("--history", tmp_path / "h", "--keys", keys, "--port", "0")
    refused = turnfold("serve", *given, "--host", "203.0.113.5")
    assert refused.code == 3
    assert "--host" in refused.err and "--port" not in refused.err
