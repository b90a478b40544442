"""Workers of this version and of the next one in one group: a rolling upgrade, with its kills.

Times are short for the broker notices a dead worker after 15 s, and Faust after no less.
"""

import asyncio
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sinks.digest import digest
from streams.broker import Broker
from streams.folds.preferences import PREFERENCES
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import changelog_name
from streams.kafka.transport.marker import MARKER_KEY, decode
from streams.pipeline.row_formats import Reached
from streams.serving.backends.replica import ReplicaBackend
from streams.topology import AGENTS, HISTORY
from tests.command import folded, ndjson, start, turn
from tests.kafka.counting import PARTITIONS
from tests.kafka.working import APP, TOO_LONG, Working, message, settings_of
from tests.next_format import COMMAND, NEXT, TODAY, NextVersion, register
from tests.waiting import eventually, until

USERS = 24
SESSION = 15
"""Seconds until the others get a dead worker's partitions."""
encode = msgspec.json.Encoder().encode
Json = dict[str, Any]


def said(part: int) -> list[Json]:
    """What each of the users says in a part, and a preference of each; in the last part, what had
    ended before these were said."""
    made = []
    for number in range(USERS):
        user, at = f"u{number}", f"2026-01-0{part}T10:{number:02d}:00Z"
        made.append(
            turn(f"e{part}-{number}", session_id=f"s{number}", user_id=user, occurred_at=at)
        )
        plan = {"type": "write_plan", "plan_id": f"p{part}", "user_id": user, "occurred_at": at,
                "extractor": {"name": "hand"}}  # fmt: skip
        liked = {"op": "confirm", "domain": "food", "polarity": "like", "subject": f"dish {part}"}
        over = {"families": ["like"], "at": "2025-12-01T00:00:00Z", "reason": "over"}
        made.append(plan | ({"preference_updates": [liked]} if part < 3 else {"ends": [over]}))
    return made


class Rolling(Working):
    """Workers of two versions."""

    def start_next(self, version: NextVersion, *options: str) -> "subprocess.Popen[bytes]":
        """A worker of the next version."""
        return self._start(version, "-c", COMMAND, "kafka", "worker", *self.at, *options)

    def start_doomed(self, version: NextVersion, *options: str) -> "subprocess.Popen[bytes]":
        """One of the next version that kills itself in the middle of an upgrade."""
        return self._start(
            version, "-m", "tests.fault.doomed_worker", *self.at, "--die", "upgraded some",
            "--after", "4", "--entities", "1", *options,
        )  # fmt: skip

    def _start(self, version: NextVersion, *command: str) -> "subprocess.Popen[bytes]":
        settings = {**self.kafka, "TURNFOLD_WORKER_SESSION_SECONDS": str(SESSION)}
        with (self.folder / f"log-{len(self.workers)}").open("wb") as log:
            worker = version.start(*command, stdout=log, stderr=log, env=settings)
        self.workers.append(worker)
        return worker

    def tell(self, records: Iterable[Json]) -> None:
        self.send(message(encode(one)) for one in records)

    def reached(self) -> dict[tuple[str, int], Reached]:
        """How the rows of each lane are kept, by the newest markers."""
        return {
            (agent.name, one.partition): decode(one.value).reached
            for agent in AGENTS
            for one in self.read(changelog_name(APP, agent))
            if one.key == MARKER_KEY
        }

    def doctor(self, version: NextVersion) -> Json:
        """What the doctor of the next version finds, by check."""
        done = version.run("admin", "doctor", *self.at, "-o", "json")
        return {one["check"]: one for one in done.json()["findings"]}

    def preferences(self) -> dict[str, list[tuple[str, str, str]]]:
        """Of each user, as a server's replica has them: subject, status and note."""
        return asyncio.run(_preferences(self.settings))


async def _preferences(settings: KafkaSettings) -> dict[str, list[tuple[str, str, str]]]:
    async with ReplicaBackend(settings, APP) as replica:
        await eventually(lambda: replica.readiness().ready)
        names = [f"u{number}" for number in range(USERS)]
        users = {name: (await replica.rows("users", "default", name)).rows for name in names}
    return {
        user: sorted((row.subject, row.status, row.note or "")
                     for _, row in PREFERENCES.scan(rows))
        for user, rows in users.items()
    }  # fmt: skip


@pytest.fixture
def rolling(tmp_path: Path) -> Iterator[Rolling]:
    with Broker.start(short_lived=True) as broker:
        rolling = Rolling(settings_of(broker), tmp_path)
        try:
            yield rolling
        finally:
            rolling.stop()


@pytest.mark.nightly
def test_old_and_new_workers_side_by_side_and_no_way_back(
    rolling: Rolling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = NextVersion(tmp_path / "next")
    register(monkeypatch)  # the replica below is of the next version
    on_disk = "--store", "rocksdb", "--data", str(tmp_path / "tables")
    before = rolling.start(*on_disk)
    rolling.await_ready()
    rolling.tell(said(1))
    rolling.await_done()
    marked = rolling.preferences()
    assert set(rolling.reached().values()) == {Reached(TODAY)}
    assert "have rows of an older version" in rolling.doctor(version)["memory"]["found"]
    with (tmp_path / "server").open("wb") as log:
        server = start("serve", "--port", "0", *rolling.at, stdout=log, stderr=log)
    until(lambda: "Ctrl-C ends it" in (tmp_path / "server").read_text())
    assert set(map(tuple, marked.values())) == {(("dish 1", "confirmed", "!"),)}

    # the first new worker is killed while it upgrades, and comes back under its name
    doomed = rolling.start_doomed(version, "--instance", "new")
    assert doomed.wait(TOO_LONG) == -9, rolling.log()[-3000:]
    torn = [one for one in rolling.reached().values() if one.after is not None]
    assert torn and {one.format for one in torn} == {NEXT}
    assert rolling.preferences() == marked
    assert server.wait(TOO_LONG) == 3, "servers come before workers"
    new = rolling.start_next(version, "--instance", "new")
    until(
        lambda: not any(one.after for one in rolling.reached().values()), every=0.3,
        told=rolling.log,
    )  # fmt: skip
    assert f"not all of its rows have format {NEXT} yet" in rolling.log()

    # both fold
    rolling.tell(said(2))
    rolling.await_done()
    assert set(rolling.reached().values()) == {Reached(TODAY), Reached(NEXT)}
    assert before.poll() is None and new.poll() is None
    assert {dish for dishes in rolling.preferences().values() for dish, _, _ in dishes} == {
        "dish 1", "dish 2",
    }  # fmt: skip

    # what was upgraded is no older worker's any more
    rolling.kill()
    assert before.wait(TOO_LONG) == 3
    refusal = f"its rows have format {NEXT}, this version reads {TODAY}"
    assert refusal in rolling.log(0)
    again = rolling.start(*on_disk)
    assert again.wait(TOO_LONG) == 3, "it begins with a look at the markers"
    assert refusal in rolling.log()
    done = version.run("kafka", "repartition", "--yes", "--to", "8", *rolling.at)
    assert done.code == 3 and "have rows of an older version" in done.err

    # the next version goes on, with the older one's tables
    rolling.start_next(version, *on_disk)
    rolling.await_ready()
    rolling.tell(said(3))
    counts = rolling.await_done()
    assert counts["applied"] == counts["read"] == 6 * USERS
    assert set(rolling.reached().values()) == {Reached(NEXT)}
    assert "thrown away" not in rolling.log()
    assert rolling.doctor(version)["memory"]["status"] == "ok"
    notes = {
        dish: {note for dishes in rolling.preferences().values() for name, _, note in dishes
               if name == dish}
        for dish in ("dish 1", "dish 2")
    }  # fmt: skip
    assert notes == {"dish 1": {"!"}, "dish 2": {"", "!"}}, "once, where a row was upgraded"
    whole = tmp_path / "whole"
    folded(ndjson(tmp_path / "all.ndjson", [*said(1), *said(2), *said(3)]), history=whole)
    ours, theirs = digest(rolling.history(tmp_path / "ours")), digest(whole)
    assert ours["memory"] == theirs["memory"]


def newer_marker(working: Working, agent: str) -> None:
    """A marker of the next version behind those of each lane of an agent."""
    name = next(changelog_name(APP, one) for one in AGENTS if one.name == agent)
    newest = {one.partition: one.value for one in working.read(name) if one.key == MARKER_KEY}
    asyncio.run(_write(working.settings, name, {
        number: decode(value)._replace(reached=Reached(NEXT)).encode()
        for number, value in newest.items()
    }))  # fmt: skip


def said_in_history(working: Working) -> int:
    """How many turns the workers have written into the history."""
    return sum(dict(one.headers)["table"] == b"events" for one in working.read(HISTORY.name))


async def _write(settings: KafkaSettings, topic: str, values: dict[int, bytes]) -> None:
    async with KafkaProducer(**settings.client()) as producer:
        for partition, value in values.items():
            await producer.send(topic, value, MARKER_KEY, partition=partition)


def await_half_each(working: Working) -> None:
    """Until each of two workers has restored the lanes that it has now: one that is restoring its
    own would end at a newer marker."""

    def restored(number: int) -> int:
        return working.log(number).count(": restored ")

    until(lambda: restored(0) >= 3 * PARTITIONS and restored(1) >= PARTITIONS, told=working.log)


@pytest.mark.nightly
def test_a_standby_of_newer_rows_gives_up_and_an_owner_ends(working: Working) -> None:
    """As workers of this version will meet the next one."""
    working.start("--standbys", "1")
    working.await_ready()
    working.send(message(encode(one)) for one in said(1))
    working.await_done()
    working.start("--standbys", "1")
    await_half_each(working)
    newer_marker(working, "memory")
    until(lambda: all("stopped as standby" in working.log(n) for n in (0, 1)), told=working.log)
    assert f"have format {NEXT}, this version reads {TODAY}: a newer version" in working.log()
    working.send(message(encode(one)) for one in said(2) if one["type"] == "turn")
    until(lambda: said_in_history(working) == 2 * USERS, every=0.3, told=working.log)
    assert [one.poll() for one in working.workers] == [None, None]
    newer_marker(working, "session")
    working.kill()
    assert working.workers[0].wait(TOO_LONG) == 3
    assert 'docs/upgrades.md, "Going back"' in working.log(0)
