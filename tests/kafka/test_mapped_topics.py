"""A platform's own topics, mapped by workers on a real broker."""

import base64
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from sinks.digest import digest
from tests.acceptance import sgd
from tests.command import folded, ndjson, rows, turn, turnfold
from tests.kafka.counting import PARTITIONS
from tests.kafka.mapped_topics import await_mapped, await_ready, create, grow, headers_of, send
from tests.kafka.working import Working, message
from tests.mapped import foreign, write_mapping
from tests.shared_data import SGD, shared
from tests.waiting import WITHIN

pytestmark = pytest.mark.nightly

numbers = count()
FEW = 3
"""Partitions of the platform's topic: other than ours."""
KILLS = 2


@pytest.fixture
def topic(working: Working) -> str:
    """The platform's topic, one for each test: it has no prefix."""
    topic = f"chat-{next(numbers)}.events"
    create(working, topic, FEW)
    return topic


@pytest.fixture
def mapping(topic: str, tmp_path: Path) -> Path:
    return write_mapping(tmp_path / "chat.yaml", topic)


def event(record: dict[str, Any], number: int) -> tuple[bytes, bytes, tuple[()]]:
    """As the platform sends it: its keys are not ours, and spread a session over partitions."""
    return f"event-{number}".encode(), foreign(record), ()


def start(working: Working, mapping: Path, *options: str, lanes: int = FEW) -> None:
    working.start("--mapping", str(mapping), *options)
    await_ready(working, 2 * PARTITIONS + lanes)


@pytest.mark.component
def test_mapped_events_make_the_memory_of_native_records_though_the_worker_is_killed(
    working: Working, topic: str, mapping: Path, tmp_path: Path
) -> None:
    records = list(islice(sgd.records(shared(*SGD)), 1_500))
    few = ("--instance", "a", "--max-records", "20")
    start(working, mapping, *few)

    def trickle() -> None:
        for at in range(0, len(records), 50):
            some = records[at : at + 50]
            send(working, topic, [event(one, at + n) for n, one in enumerate(some)])

    with ThreadPoolExecutor(1) as sender:
        sending = sender.submit(trickle)
        for kill in range(KILLS):
            await_mapped(working, topic, 1 + 400 * kill)
            working.kill()
            start(working, mapping, *few)
        sending.result()
    counts = await_mapped(working, topic, len(records))
    assert counts == {"read": len(records), "mapped": len(records)}
    working.sent = len(records)
    assert working.await_done()["applied"] == len(records)

    mapped = [*working.read("turns"), *working.read("recursions")]
    places = Counter(headers_of(one)["mapped_from"] for one in mapped)
    assert len(places) == len(records)
    assert set(places.values()) == {1}  # nothing was mapped twice, and nothing lost
    folded(ndjson(tmp_path / "records.ndjson", records), history=tmp_path / "by-file")
    by_kafka = working.history(tmp_path / "by-kafka")
    assert digest(by_kafka)["memory"] == digest(tmp_path / "by-file")["memory"]


def test_tombstones_and_other_events_are_skipped_and_bad_ones_are_dead_letters(
    working: Working, topic: str, mapping: Path, tmp_path: Path
) -> None:
    bad = json.loads(foreign(turn("bad")))
    bad["payload"]["user_input"]["value"] = 5
    start(working, mapping)
    sent = [
        event(turn("good"), 1), (b"gone", None, ()), (b"other", b'{"kind": "typing"}', ()),
        (b"null", b"null", ()), (b"bad", json.dumps(bad).encode(), (("trace", b"x"),)),
        (None, b"nonsense", ()), event(turn("hidden", source="meta_request"), 2),
    ]  # fmt: skip
    send(working, topic, sent)
    counts = await_mapped(working, topic, len(sent))
    assert counts == {"read": 7, "mapped": 1, "skipped": 3, "dead": 2, "withheld": 1}
    working.sent = 1
    assert working.await_done()["applied"] == 1
    letters = {letter["key"]: letter for letter in working.dead_letters()}
    assert set(letters) == {"bad", None}
    letter = letters["bad"]
    assert (letter["src_topic"], letter["reason"]) == (topic, "invalid")
    assert letter["detail"] == (
        "rule 1 (turn): user_input (from `payload.user_input.value`): Input should be a valid "
        "string"
    )
    assert json.loads(base64.urlsafe_b64decode(letter["payload"])) == bad
    assert json.loads(letter["headers"]) == [["trace", "x"]]


def test_a_topic_that_gets_more_partitions_is_mapped_on(
    working: Working, topic: str, mapping: Path
) -> None:
    start(working, mapping)
    send(working, topic, [event(turn(f"a{n}"), n) for n in range(20)])
    await_mapped(working, topic, 20)
    grow(working, topic, FEW + 2)
    assert working.workers[-1].wait(WITHIN) == 3
    assert "its topics need the same number of partitions" in working.log()
    start(working, mapping, lanes=FEW + 2)
    send(working, topic, [event(turn(f"b{n}"), n) for n in range(20)])
    await_mapped(working, topic, 40)
    working.sent = 40
    assert working.await_done()["applied"] == 40


def test_a_topic_that_is_not_there_is_named(working: Working, tmp_path: Path) -> None:
    mapping = write_mapping(tmp_path / "chat.yaml", "no.such")
    done = turnfold("kafka", "worker", *working.at, "--mapping", mapping)
    assert done.code == 3
    assert "topic no.such is not on the broker; create it, or correct its name" in done.err


def test_map_tries_the_mapping_on_a_topic_and_commits_nothing(
    working: Working, topic: str, mapping: Path
) -> None:
    sent = [event(turn(f"e{n}"), n) for n in range(20)]
    send(working, topic, [*sent, (b"x", b"{", ()), (b"y", None, ())])
    done = turnfold("kafka", "map", mapping, "--sample", topic, *working.at, "-o", "json")
    found = done.json()
    assert found["counts"] == {"read": 22, "mapped": 20, "dead": 1, "skipped": 1, "withheld": 0}
    assert len(found["results"]) == 10


def test_dead_letters_are_mapped_again_by_a_mended_mapping(
    working: Working, topic: str, mapping: Path, tmp_path: Path
) -> None:
    start(working, mapping)
    bad = turn("late")
    event_bytes = json.loads(foreign(bad))
    event_bytes["payload"]["occurred_at"]["value"] = None
    event_bytes["payload"]["session_id"] = {"new": "s"}
    broken = {"kind": "x-turn", "payload": {}}
    send(working, topic, [
        (b"a", json.dumps(event_bytes).encode(), (("ce_id", b"of the event"),)),
        (b"b", json.dumps(broken).encode(), ()),
    ])  # fmt: skip
    assert await_mapped(working, topic, 2)["dead"] == 2
    replay = ("admin", "dlq", "replay", "--from-topic", *working.at, "-o", "json")
    assert turnfold(*replay).json()["needs_mapping"] == 2

    mended = json.loads(mapping.read_text())
    (rule,) = (one for one in mended["sources"][topic]["records"] if one["type"] == "turn")
    rule["fields"]["session_id"] = "payload.session_id.new"
    rule["fields"]["occurred_at"]["default_message"] = "timestamp"
    mapping.write_text(json.dumps(mended))
    done = turnfold(*replay, "--mapping", mapping)
    counts = done.json()
    assert (counts["sent"], counts["refused"]) == (1, 1)
    assert "still invalid: rule 1 (turn): " in done.err
    working.sent = 1
    assert working.await_done()["applied"] == 1
    (record,) = working.read("turns")
    sent_at = {letter["key"]: letter["recorded_at"] for letter in working.dead_letters()}
    assert json.loads(record.value)["occurred_at"] == sent_at["a"]
    assert working.read(topic)[0].value  # nothing was added to the platform's topic
    assert len(working.read(topic)) == 2


def test_a_generation_maps_the_topic_again_by_its_own_mapping(
    working: Working, topic: str, mapping: Path, tmp_path: Path
) -> None:
    records = [turn(f"e{n}", user_input=f"say {n}", user_id="ann") for n in range(30)]
    signal = {"type": "signal", "signal_id": "q", "scope": "user", "user_id": "ann",
              "topic": "fjords", "occurred_at": "2026-01-01T00:00:00Z"}  # fmt: skip
    records.append(signal)
    plan = {"type": "write_plan", "plan_id": "p", "user_id": "ann", "extractor": {"name": "x"},
            "occurred_at": "2026-01-01T00:00:00Z"}  # fmt: skip
    records.append(plan)
    start(working, mapping)
    native = turn("native", user_id="ann")
    send(working, topic, [event(one, n) for n, one in enumerate(records)])
    working.send([message(json.dumps(native).encode())])
    await_mapped(working, topic, len(records))
    working.sent = len(records) + 1
    working.await_done()

    other = tmp_path / "other.yaml"
    said = json.loads(mapping.read_text())
    (rule,) = (one for one in said["sources"][topic]["records"] if one["type"] == "turn")
    rule["fields"]["agent_answer"] = {"value": "mapped again"}
    other.write_text(json.dumps(said))
    start(working, other, "--generation", "again", "--instance", "again")
    await_mapped(working, topic, len(records), "turnfold.again")
    working.start("--generation", "as-is", "--instance", "as-is")
    history = tmp_path / "history"

    def written(*more: str) -> None:
        done = turnfold("kafka", "sink", *working.at, "--history", history, "--once",
                        *more)  # fmt: skip
        assert done.code == 0, done.err

    def events(folder: Path) -> dict[str, str]:
        return dict(rows(folder, "SELECT event_id, agent_answer FROM events"))

    live = {f"e{n}": "" for n in range(30)} | {"native": ""}
    again = {f"e{n}": "mapped again" for n in range(30)} | {"native": ""}
    for name, expected in (("again", again), ("as-is", live)):
        folder = history / "generations" / name
        deadline = time.monotonic() + 60
        while True:
            written("--generation", name)
            if events(folder) == expected and rows(folder, "SELECT count(*) FROM plans") == [(1,)]:
                break
            assert time.monotonic() < deadline, (name, events(folder))
        assert rows(folder, "SELECT count(*) FROM signals") == [(1,)]
        assert rows(folder, "SELECT count(*) FROM dead_letters") == [(0,)]
    written()
    assert events(history) == live
    assert rows(history, "SELECT count(*) FROM dead_letters") == [(0,)]


def test_reset_removes_what_a_mapping_has_noted(
    working: Working, topic: str, mapping: Path
) -> None:
    start(working, mapping, "--app-id", "mine")
    send(working, topic, [event(turn("e"), 1)])
    await_mapped(working, topic, 1, "mine")
    worker = working.workers[-1]
    worker.terminate()
    assert worker.wait(WITHIN) == 0
    lag = turnfold("kafka", "lag", *working.at, "-o", "json").json()
    assert sum(one["lag"] for one in lag if one["topic"] == topic) == 0
    assert topic in {one["topic"] for one in lag}
    done = turnfold("kafka", "reset", "mine", *working.at, "--yes", "-o", "json")
    assert done.code == 0, done.err
    gone = {one["name"] for one in done.json()["topics"]}
    assert f"mine-mapping-{topic}-changelog" in gone
    assert topic not in gone
    assert len(working.read(topic)) == 1
