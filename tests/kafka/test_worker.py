"""The worker on a real broker: it remembers what the file runner remembers."""

import asyncio
import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sinks.digest import digest
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.topic_names import changelog_name
from streams.kafka.transport.marker import MARKER_KEY, Marker
from streams.pipeline.row_formats import ROW_FORMAT, Reached
from streams.topology import SESSION_AGENT, TOPICS, TURNS
from tests.acceptance import ledger, sgd
from tests.command import environment, folded, ndjson, rows, turn, turnfold
from tests.conftest import LEDGER
from tests.kafka.counting import PARTITIONS
from tests.kafka.working import APP, OUTCOMES, Working, message
from tests.planned import CONVERSATIONS
from tests.shared_data import SGD, shared
from tests.waiting import WITHIN, until

KILLS = 3
SECRET = "violet-giraffe"
encode = msgspec.json.Encoder().encode


def lines_of(file: Path) -> list[bytes]:
    return [line for line in file.read_bytes().split(b"\n") if line.strip()]


def same_memory(working: Working, file: Path, folder: Path) -> dict[str, Any]:
    """One fold over a file's records: digests agree; the counts of the file's run."""
    counts = folded(file, history=folder / "by-file")
    by_kafka = working.history(folder / "by-kafka")
    one, other = digest(folder / "by-file"), digest(by_kafka)
    different = {name for name in one["tables"] if one["tables"][name] != other["tables"][name]}
    assert one["memory"] == other["memory"], different
    # what is said is the same; what changes it made on the way may follow the order it came in
    for name in ("events", "recursions", "tool_results", "signals", "plans"):
        assert name not in different
    return counts


def same_documents(working: Working, history: Path) -> None:
    """The compacted topics end with the documents of the file runner's history."""
    for topic, view, keys in (
        ("sessions", "session_current", "tenant || '/' || session_id"),
        ("profiles", "profile_current", "tenant || '/' || user_id"),
        ("tasks", "task_current", "tenant || '/' || session_id || '/' || task_id"),
    ):
        expected = {
            key.encode(): json.loads(doc)
            for key, doc in rows(history, f"SELECT {keys}, doc FROM {view}")
        }
        assert working.newest(topic) == expected, topic
    contexts = {
        key: document["context"]
        for key, document in working.newest("sessions").items()
        if document["context"]
    }
    assert working.newest("session-contexts") == contexts
    states = rows(history, "SELECT tenant || '/' || owner_id || '/' || state_id, body_text, status "
                           "FROM state_current")  # fmt: skip
    found = working.newest("states")
    assert {(key.decode(), one["body_text"], one["status"]) for key, one in found.items()} == set(
        states
    )
    moods = rows(history, "SELECT tenant || '/' || owner_id, body_text FROM mood_current")
    found = working.newest("moods")
    assert {(key.decode(), one["text"]) for key, one in found.items()} == set(moods)


def test_guarantee_1_the_sample(working: Working, tmp_path: Path) -> None:
    working.start()
    working.await_ready()
    working.send(message(line) for line in lines_of(CONVERSATIONS))
    counts = working.await_done()
    by_file = same_memory(working, CONVERSATIONS, tmp_path)
    assert {name: counts[name] for name in OUTCOMES} == {n: by_file[n] for n in OUTCOMES}
    same_documents(working, tmp_path / "by-file")
    preferences = {one["preference_id"] for one in working.newest("preferences").values()}
    known = rows(tmp_path / "by-file", "SELECT preference_id FROM preference_current")
    assert preferences == {one for (one,) in known}


@pytest.mark.component
def test_guarantee_1_every_row_of_real_dialogues_although_workers_are_killed(
    working: Working, tmp_path: Path
) -> None:
    records = list(islice(sgd.records(shared(*SGD)), 3_000))
    file = ndjson(tmp_path / "records.ndjson", records)
    lines = lines_of(file)
    few = ("--instance", "a", "--max-records", "20")
    working.start(*few)
    working.await_ready()
    with ThreadPoolExecutor(1) as sender:
        sending = sender.submit(trickle, working, lines)
        for kill in range(KILLS):
            working.await_counts(applied=1 + 500 * kill)  # the next one has something to take over
            working.kill()
            working.start(*few)
            working.await_ready()
        sending.result()
    counts = working.await_done()
    assert counts["applied"] == counts["read"] == 3_000
    same_memory(working, file, tmp_path)
    same_documents(working, tmp_path / "by-file")
    one, other = digest(tmp_path / "by-file"), digest(tmp_path / "by-kafka")
    assert one["tables"] == other["tables"]  # a session's turns came in one order in both
    for number in range(1, KILLS + 1):
        assert re.search(r": restored [1-9]\d* rows", working.log(number))


def trickle(working: Working, lines: list[bytes]) -> None:
    """Sends some at a time, so that a kill finds work under way."""
    for start in range(0, len(lines), 50):
        working.send(message(line) for line in lines[start : start + 50])


@pytest.mark.component
def test_guarantee_1_plans_and_what_corrects_them(working: Working, tmp_path: Path) -> None:
    file = ndjson(tmp_path / "records.ndjson", ledger.records(shared(*LEDGER)))
    lines = lines_of(file)
    worker = working.start()
    working.await_ready()
    working.send(message(line) for line in lines[: len(lines) // 2])
    working.await_done()
    worker.terminate()
    assert worker.wait(WITHIN) == 0
    working.start()  # under no name of its own: it joins as a new member, and restores
    working.send(message(line) for line in lines[len(lines) // 2 :])
    working.await_done()
    same_memory(working, file, tmp_path)
    same_documents(working, tmp_path / "by-file")


GOOD = encode(turn("good"))
PLAN = {"type": "write_plan", "plan_id": "p", "user_id": "u", "extractor": {"name": "x"},
        "occurred_at": "2026-01-01T00:00:00Z"}  # fmt: skip
POSTED = {"type": "signal", "signal_id": "s1", "scope": "user", "user_id": "u",
          "topic": "algebra", "occurred_at": "2026-01-01T00:00:00Z"}  # fmt: skip
KEY, USER = b"default/s", b"default/u"
CE = (("ce_id", b"ce"), ("ce_type", b"turn"), ("ce_time", b"2026-01-01T01:00:00+01:00"))
HUGE = encode(turn("huge", user_input="x" * 1_200_000))
WITHHELD = turn("w", source="meta_request", user_input=SECRET)
FORGED = (("src_topic", b"turns"), ("src_partition", b"0"), ("src_offset", b"none"))

BAD: list[tuple[str, tuple[str, bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]]] = [
    ("null_value", ("turns", KEY, None, ())),
    ("null_value", ("user-signals", USER, None, ())),
    ("null_key", ("turns", None, GOOD, ())),
    ("wrong_key", ("turns", b"default/other", GOOD, ())),
    ("wrong_key", ("turns", b"\xff\x00", GOOD, (("trace", b"\xfe"),))),
    ("wrong_key", ("write-plans", KEY, encode(PLAN), ())),
    ("wrong_topic", ("recursions", KEY, GOOD, ())),
    ("wrong_topic", ("turns", USER, encode(PLAN), ())),
    ("wrong_topic", ("turns", USER, encode(POSTED), ())),
    ("conflicting_headers", ("turns", KEY, GOOD, (("ce_id", b"other"),))),
    ("conflicting_headers", ("turns", KEY, GOOD, (("ce_type", b"recursion"),))),
    ("conflicting_headers", ("turns", KEY, GOOD, (("ce_time", b"2026-01-02T00:00:00Z"),))),
    ("conflicting_headers", ("turns", KEY, GOOD, (("ce_time", b"yesterday"),))),
    ("conflicting_headers", ("turns", KEY, GOOD, (("ce_id", b"\xff"),))),
    ("bad_json", ("turns", KEY, b'{"type": "turn"', ())),
    ("bad_json", ("turns", KEY, b"", ())),
    ("bad_utf8", ("turns", KEY, b'{"type": "turn", "event_id": "\xff"}', ())),
    ("not_an_object", ("turns", KEY, b"[1]", ())),
    ("unknown_type", ("turns", KEY, b'{"type": "nonsense"}', ())),
    ("invalid", ("turns", KEY, b'{"type": "turn", "session_id": "s"}', ())),
    ("invalid", ("user-signals", USER, encode(POSTED), FORGED)),
    ("too_large", ("turns", KEY, HUGE, ())),
    ("conflicting_duplicate", ("turns", KEY, encode(turn("ce", user_input="no")), ())),
    ("unknown_state", ("write-plans", USER, encode(PLAN | {
        "state_updates": [{"op": "close", "state_id": "nowhere"}]}), ())),
]  # fmt: skip
FINE = [
    ("turns", KEY, encode(turn("ce")), CE),
    ("user-signals", USER, encode(POSTED), ()),
    ("user-signals", USER, encode(POSTED), ()),
    ("turns", KEY, encode(WITHHELD), ()),
    ("turns", None, encode(WITHHELD), ()),
    ("user-signals", USER, encode(POSTED | {"source": "meta_request", "topic": SECRET}), ()),
]


@pytest.mark.component
def test_guarantee_3_bad_input(working: Working) -> None:
    working.start()
    working.await_ready()
    working.send(FINE)
    working.await_done()
    working.send(message for _, message in BAD)
    counts = working.await_done()
    assert {name: counts[name] for name in OUTCOMES} == {
        "applied": 2, "duplicate": 1, "dead": len(BAD), "withheld": 3,
    }  # fmt: skip
    found = _sorted(
        (one["reason"], one["src_topic"], one["key"], base64.urlsafe_b64decode(one["payload"]),
         json.loads(one["headers"] or "[]"))
        for one in working.dead_letters()
    )  # fmt: skip
    expected = _sorted(
        (reason, topic, None if key is None else key.decode("utf-8", "backslashreplace"),
         value or b"", [[name, _text(one)] for name, one in headers])
        for reason, (topic, key, value, headers) in BAD
    )  # fmt: skip
    assert [one[:3] for one in found] == [one[:3] for one in expected]
    assert found == expected
    outputs = [topic.name for topic in TOPICS if topic.direction == "output"]
    changelogs = ["turnfold-session-rows-changelog", "turnfold-memory-rows-changelog"]
    for topic in (*outputs, *changelogs):
        assert not [one for one in working.read(topic) if SECRET.encode() in (one.value or b"")]
    assert SECRET not in working.log()


def _sorted(letters: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(letters, key=repr)


def _text(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


@pytest.mark.component
def test_a_worker_says_what_is_wrong_and_ends(working: Working) -> None:
    done = turnfold("kafka", "worker", "--bootstrap", "127.0.0.1:1")
    assert done.code == 5
    assert "127.0.0.1:1" in done.err
    worker = working.start()
    working.await_ready()
    worker.terminate()
    assert worker.wait(WITHIN) == 0
    assert working.start("--partitions", "2").wait(WITHIN) == 3
    assert "TURNFOLD_KAFKA_PARTITIONS (--partitions) is 2, but " in working.log()
    assert "set it to 4" in working.log()
    assert working.start("--app-id", "no/slash").wait(WITHIN) == 3
    assert "TURNFOLD_WORKER_APP_ID" in working.log()


def test_a_changelog_of_another_version_is_refused(working: Working) -> None:
    worker = working.start()
    working.await_ready()
    worker.terminate()
    assert worker.wait(WITHIN) == 0
    marker = Marker({"turns": 1}, {}, "log", 4, Reached(ROW_FORMAT - 1)).encode()
    changelog = changelog_name(APP, SESSION_AGENT)
    working.send([(changelog, MARKER_KEY, marker, ())])
    assert working.start().wait(WITHIN) == 3
    assert f"its rows have format {ROW_FORMAT - 1}" in working.log()
    assert "another app id" in working.log()


def test_faust_s_own_command_starts_it_too(working: Working, tmp_path: Path) -> None:
    faust = [sys.executable, "-m", "faust", "-A", "streams.apps.worker", "worker", "-l", "info"]
    with (tmp_path / "log-0").open("wb") as log:
        worker = subprocess.Popen(faust, stderr=log, stdout=log, env=environment(**working.kafka))
    working.workers.append(worker)
    working.await_ready()
    working.send([message(GOOD)])
    assert working.await_done()["applied"] == 1
    worker.terminate()
    assert worker.wait(WITHIN) == 0


def test_marks_of_transactions_are_no_lag(working: Working) -> None:
    """Where a topic ends in them, as one does that a mapping writes, nothing is left to fold."""
    working.start()
    working.await_ready()
    working.send(message(encode(turn(f"e{n}", session_id=f"s{n}"))) for n in range(20))
    working.await_done()
    asyncio.run(aborted(working))

    def lags() -> int:
        found = turnfold("kafka", "lag", *working.at, "-o", "json").json()
        assert {one["topic"] for one in found} >= {TURNS.name}
        return sum(one["lag"] for one in found)

    until(lags, lambda lag: lag == 0, every=0.5, told=working.log)


async def aborted(working: Working) -> None:
    """A transaction of each partition of `turns`, which ends in nothing."""
    async with KafkaProducer(transactional_id="aborts", **working.settings.client()) as producer:
        await producer.begin_transaction()
        for number in range(PARTITIONS):
            await producer.send_and_wait(TURNS.name, b"never", b"never", partition=number)
        await producer.abort_transaction()


START_FAILS = """
import sys
from pathlib import Path
from streams.kafka.transport.app import App
from streams.kafka.transport.run import run
sys.exit(run(App("a", [], bootstrap="127.0.0.1:1", datadir=Path(sys.argv[1]) / "absent" / "faust")))
"""


@pytest.mark.component
def test_a_worker_that_cannot_start_ends_and_says_why(tmp_path: Path) -> None:
    """Before any broker is asked: a folder of its own that cannot be made."""
    command = [sys.executable, "-c", START_FAILS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, check=False)
    assert done.returncode == 1
    assert "the worker stops: [Errno 2] No such file or directory" in done.stderr
