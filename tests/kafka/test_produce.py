"""`turnfold kafka produce` and `admin dlq replay` on a real broker: topic, key, order."""

import asyncio
import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sinks.tables import COLUMNS, to_arrow
from streams.broker import Broker, jars, java
from streams.files.commit import Batches
from streams.files.open_generation import writing
from streams.kafka.agents.routing import route
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.tools.dead_letters import REPLAY, Letter, of_history
from streams.kafka.tools.replay import select
from streams.topology import INPUT_BYTES
from tests.command import ndjson, turn, turnfold
from tests.contract.test_faults_of_files import DAMAGED, FILES, NEXT_STEP
from tests.kafka.counting import read_all
from tests.kafka.history import message, send
from tests.kafka.working import options_of
from tests.waiting import WITHIN

TIME = {"occurred_at": "2026-01-01T00:00:00Z"}
RECURSION = {"type": "recursion", "session_id": "s", "task_id": "t", "trace_id": "r",
             "iteration_index": 0, "status": "done", **TIME}  # fmt: skip
RESULT = {"type": "tool_result", "session_id": "s", "task_id": "t", "trace_id": "r",
          "result": 1, "success": True, **TIME}  # fmt: skip
PLAN = {"type": "write_plan", "plan_id": "p", "user_id": "u", "tenant": "acme", **TIME,
        "extractor": {"name": "x", "version": "1"}}  # fmt: skip
SIGNAL = {"type": "signal", "signal_id": "i", "scope": "session", "session_id": "s", **TIME}


def produce(settings: KafkaSettings, *args: str | Path, **given: Any) -> dict[str, Any]:
    done = turnfold("kafka", "produce", *args, *options_of(settings), "-o", "json", **given)
    assert done.code == 0, done.err
    assert "aiokafka" not in done.err, "what a library logs tells a reader nothing"
    counts: dict[str, Any] = done.json()
    assert counts["read"] == counts["sent"] + counts["too_large"] + counts["withheld"]
    assert counts["sent"] == sum(counts["topics"].values())
    return counts


def read(settings: KafkaSettings, topic: str) -> list[Any]:
    return asyncio.run(read_all(settings.bootstrap, settings.on_broker(topic)))


def found(line: bytes) -> tuple[str, bytes | None, bool]:
    way = route(line)
    assert way is not None
    assert way.value == line
    return way.topic, way.key, way.is_known


@pytest.mark.parametrize(
    ("record", "topic", "key"),
    [
        (turn("e", tenant="acme"), "turns", b"acme/s"),
        (turn("e", session_id="a/b"), "turns", b"default/a/b"),
        (RECURSION, "recursions", b"default/s"),
        (RESULT, "recursions", b"default/s"),
        (PLAN, "write-plans", b"acme/u"),
        (SIGNAL, "turns", b"default/s"),
        (SIGNAL | {"scope": "user", "user_id": "u"}, "user-signals", b"default/u"),
        (turn("e", session_id="会话"), "turns", "default/会话".encode()),
    ],
)
def test_a_record_goes_by_its_type(record: dict[str, Any], topic: str, key: bytes) -> None:
    assert found(json.dumps(record).encode()) == (topic, key, True)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b"not JSON", None),
        (b"[1]", None),
        (b'"text"', None),
        (b'{"session_id": "s"}', b"default/s"),
        (b'{"type": "riddle", "session_id": "s"}', b"default/s"),
        (b'{"type": ["turn"]}', None),
        (b'{"type": "turn", "session_id": "\xff"}', None),
    ],
)
def test_what_is_no_record_goes_to_turns(line: bytes, key: bytes | None) -> None:
    assert found(line) == ("turns", key, False)


def test_a_record_without_its_key_goes_to_its_topic() -> None:
    assert found(b'{"type": "turn", "session_id": 7}') == ("turns", None, True)
    assert found(b'{"type": "write_plan", "session_id": "s"}') == ("write-plans", None, True)


@pytest.mark.parametrize("source", ["meta_request", " Meta-Request", "\\u006deta_request"])
def test_meta_requests_never_reach_a_topic(source: str) -> None:
    assert route(b'{"type":"turn","session_id":"s","source":"%b"}' % source.encode()) is None
    broken = route(b'{"type":"turn","user_input":"secret","source":"%b"' % source.encode())
    assert broken is not None
    assert b"secret" not in broken.value
    assert b"sha256" in broken.value


@pytest.mark.parametrize("name", DAMAGED)
def test_of_a_damaged_file_what_comes_before_is_sent(
    prefixed: KafkaSettings, tmp_path: Path, name: str
) -> None:
    """Other files are sent whole; the last line is as of any command that reads the file."""
    whole, file = ndjson(tmp_path / "whole.ndjson", [turn("e")]), tmp_path / name
    file.write_bytes(FILES[name] or b"")
    done = turnfold("kafka", "produce", file, whole, *options_of(prefixed), "-o", "json")
    assert done.code == 4
    counts = json.loads(done.out)
    assert counts["truncated"] == 1
    assert len(read(prefixed, "turns")) == counts["sent"]
    assert counts["sent"] - counts["unreadable"] == (1 if name == "cut.parquet" else 10)
    last = done.err.rstrip().splitlines()[-1]
    assert last.startswith("turnfold: ") and str(file) in last and NEXT_STEP.search(last), last
    assert "what came before is sent" in last


def test_files_of_all_forms_reach_their_topics_in_order(
    prefixed: KafkaSettings, tmp_path: Path
) -> None:
    first = [turn(f"e{number}", session_id=f"s{number % 7}") for number in range(3_000)]
    lines = ndjson(tmp_path / "one.ndjson", first).read_bytes()
    packed = tmp_path / "two.ndjson.gz"
    packed.write_bytes(gzip.compress(json.dumps(RECURSION).encode() + b"\n\nnonsense\n"))
    table = tmp_path / "three.parquet"
    pq.write_table(pa.Table.from_pylist([PLAN]), table)
    with (tmp_path / "one.ndjson").open("ab") as more:
        more.write(b'{"type":"turn","source":"meta_request","user_input":"secret"}\n')
    counts = produce(prefixed, tmp_path / "one.ndjson", packed, table)
    assert counts["topics"] == {"recursions": 1, "turns": 3_001, "write-plans": 1}
    assert (counts["withheld"], counts["unreadable"], counts["too_large"]) == (1, 1, 0)
    turns = read(prefixed, "turns")
    assert sorted(one.value for one in turns) == sorted([*lines.splitlines(), b"nonsense"])
    by_key: dict[bytes, list[int]] = {}
    places: dict[bytes, set[int]] = {}
    for one in turns:
        if one.key is not None:
            by_key.setdefault(one.key, []).append(int(json.loads(one.value)["event_id"][1:]))
            places.setdefault(one.key, set()).add(one.partition)
    assert len(by_key) == 7
    assert all(numbers == sorted(numbers) for numbers in by_key.values())
    assert all(len(partitions) == 1 for partitions in places.values())
    assert not any(b"secret" in one.value for one in turns)


def test_stdin_and_a_line_that_is_too_large(prefixed: KafkaSettings) -> None:
    large = json.dumps(turn("large", user_input="x" * INPUT_BYTES)).encode()
    near = json.dumps(turn("near", user_input="x" * (INPUT_BYTES - 2_000))).encode()
    lines = b"\n".join([large, near, json.dumps(turn("small")).encode()])
    args = ("kafka", "produce", "-", *options_of(prefixed), "-o", "json")
    done = turnfold(*args, "--strict", input=lines)
    assert done.code == 4
    assert f"Z, line 1: {len(large)} bytes, turns takes {INPUT_BYTES}: not sent" in done.err
    assert done.json()["too_large"] == 1
    small = len(lines) - len(large) - len(near) - 2
    assert {len(one.value) for one in read(prefixed, "turns")} == {len(near), small}
    assert turnfold(*args, input=lines).code == 0


def test_a_broker_that_is_not_there_is_exit_5(tmp_path: Path) -> None:
    file = ndjson(tmp_path / "one.ndjson", [turn("e")])
    done = turnfold("kafka", "produce", file, "--bootstrap", "127.0.0.1:1")
    assert done.code == 5
    assert "127.0.0.1:1" in done.err
    done = turnfold("kafka", "produce", tmp_path / "none", "--bootstrap", "127.0.0.1:1")
    assert (done.code, "no such file" in done.err) == (3, True)


def letter(offset: int, reason: str, payload: bytes, **more: Any) -> tuple[Any, ...]:
    """A row of dead_letters, as a worker's record of `turns`."""
    key, headers = more.get("key", "default/s"), more.get("headers")
    place = (offset, "turns", 1, offset, 20_000)
    return (reason, "why", payload, key, headers, None, "default", *place)


def fill(history: Path, rows: list[tuple[Any, ...]]) -> None:
    with writing(history) as (store, tables):
        Batches(store, tables).commit({"dead_letters": [to_arrow("dead_letters", rows)]}, [])


def test_letters_are_sent_marked_and_not_twice(prefixed: KafkaSettings, tmp_path: Path) -> None:
    history = tmp_path / "h"
    good = json.dumps(turn("e")).encode()
    rows = [
        letter(1, "invalid", good, headers='[["ce_id","e"],["raw",{"base64":"/w=="}]]'),
        letter(2, "bad_json", b"nonsense \xff", key=None),
        letter(3, "image", b'{"type":"turn","user_input":"[image removed: 9 bytes]"}'),
        letter(4, "bad_row", b"{"),
    ]
    fill(history, rows)
    args = (
        "admin", "dlq", "replay", "--history", str(history), *options_of(prefixed), "-o", "json",
    )  # fmt: skip
    assert turnfold(*args, "--dry-run").json()["chosen"] == 2
    done = turnfold(*args)
    assert done.code == 0, done.err
    counts = done.json()
    assert (counts["sent"], counts["bytes_not_kept"], counts["other_reason"]) == (2, 1, 1)
    sent = {one.value: one for one in read(prefixed, "turns")}
    assert set(sent) == {good, b"nonsense \xff"}
    assert sent[good].key == b"default/s"
    assert list(sent[good].headers) == [
        ("ce_id", b"e"), ("raw", b"\xff"), (REPLAY, b"turns:1:1")
    ]  # fmt: skip
    assert turnfold(*args).json()["settled"] == 2
    # the second came back, as the worker writes it: it stands for its original
    back = letter(9, "bad_json", b"nonsense \xff", headers=f'[["{REPLAY}","turns:1:2"]]')
    fill(history, [back])
    counts = turnfold(*args).json()
    assert (counts["sent"], counts["refused_again"], counts["settled"]) == (0, 1, 2)
    assert turnfold(*args, "--again").json()["sent"] == 1
    assert turnfold(*args, "--again").json()["sent"] == 0
    again = [one for one in read(prefixed, "turns") if one.value == b"nonsense \xff"]
    assert [list(one.headers) for one in again] == [[(REPLAY, b"turns:1:2")]] * 2
    assert turnfold(*args, "turns:1:1", "--again", "--dry-run").json()["chosen"] == 1
    assert turnfold(*args, "--reason", "image", "--dry-run").json()["chosen"] == 1


def test_a_letter_that_came_back_is_not_sent_again_before_the_sink_has_written_it(
    prefixed: KafkaSettings, tmp_path: Path
) -> None:
    rows = [letter(offset, "bad_json", b"nonsense %d" % offset) for offset in range(3)]
    fill(tmp_path / "h", rows)
    args = (
        "admin", "dlq", "replay", "--history", str(tmp_path / "h"), *options_of(prefixed), "-o",
        "json",
    )  # fmt: skip
    assert turnfold(*args).json()["sent"] == 3
    names = COLUMNS["dead_letters"]
    back = [
        letter(10 + offset, "bad_json", b"nonsense", headers=f'[["{REPLAY}","turns:1:{offset}"]]')
        for offset in (0, 2)
    ]
    written = [message("dead_letters", dict(zip(names, row, strict=True)), 0, 0) for row in back]
    asyncio.run(send(prefixed, written))
    counts = turnfold(*args, "--again").json()
    assert (counts["sent"], counts["settled"]) == (0, 3)


def test_a_letter_that_came_back_is_not_sent_again(tmp_path: Path) -> None:
    first = letter(2, "bad_json", b"nonsense")
    back = letter(9, "bad_json", b"nonsense", headers=f'[["{REPLAY}","turns:1:2"]]')
    fill(tmp_path / "h", [first, back])
    args = ("admin", "dlq", "replay", "--history", str(tmp_path / "h"), "--dry-run", "-o", "json")
    counts = turnfold(*args).json()
    assert (counts["chosen"], counts["refused_again"], counts["settled"]) == (0, 1, 1)


def test_letters_of_two_partitions_at_one_offset_are_told_apart(tmp_path: Path) -> None:
    other = letter(7, "bad_json", b"other")
    rows = [letter(7, "invalid", b"{}"), (*other[:9], 2, *other[10:])]
    fill(tmp_path / "h", rows)
    listed = turnfold("admin", "dlq", "list", "--history", tmp_path / "h", "-o", "json").json()
    assert [one["id"] for one in listed] == ["turns:1:7", "turns:2:7"]
    shown = turnfold(
        "admin", "dlq", "show", "turns:2:7", "--history", tmp_path / "h", "-o", "json"
    ).json()
    assert (shown["payload"], shown["src_partition"]) == ("other", 2)
    args = ("admin", "dlq", "replay", "--history", str(tmp_path / "h"), "--dry-run", "-o", "json")
    counts = turnfold(*args, "turns:2:7").json()
    assert (counts["chosen"], counts["not_named"]) == (1, 1)
    refused = turnfold(*args, "turns:3:7")
    assert (refused.code, "no dead letter turns:3:7" in refused.err) == (4, True)


def test_letters_of_the_topic_are_sent_without_a_history(prefixed: KafkaSettings) -> None:
    """Once, though a torn transaction has sent one twice; and not after it came back."""
    names = COLUMNS["dead_letters"]
    bad, good = letter(2, "bad_json", b"nonsense \xff"), letter(1, "invalid", b'{"type":"turn"}')
    sent = [message("dead_letters", dict(zip(names, row, strict=True)), 0, 0)
            for row in (bad, good, bad)]  # fmt: skip
    asyncio.run(ensure_topics(prefixed))
    asyncio.run(send(prefixed, [*sent, sent[0]._replace(value=b"no letter")]))
    args = ("admin", "dlq", "replay", "--from-topic", *options_of(prefixed), "-o", "json")
    assert turnfold(*args, "--tenant", "nobody", "--dry-run").json()["chosen"] == 0
    done = turnfold(*args)
    assert (done.code, done.json()["sent"]) == (0, 2), done.err
    assert [one.value for one in read(prefixed, "turns")] == [b'{"type":"turn"}', b"nonsense \xff"]
    back = letter(9, "bad_json", b"nonsense \xff", headers=f'[["{REPLAY}","turns:1:2"]]')
    row = dict(zip(names, back, strict=True))
    asyncio.run(send(prefixed, [message("dead_letters", row, 0, 0)]))
    counts = turnfold(*args, "--reason", "bad_json").json()
    assert (counts["sent"], counts["refused_again"], counts["settled"]) == (0, 1, 2)


def test_a_letter_knows_its_place(tmp_path: Path) -> None:
    row = letter(7, "invalid", b"{}")
    fill(tmp_path / "h", [row])
    (one,) = of_history(tmp_path / "h")
    place = ("turns", 1, 7)
    assert one == Letter(
        *place, "invalid", b"{}", "default/s", None, recorded_at=7, detail="why", day=20_000
    )
    assert one.place == "turns:1:7"
    assert select([one])[0] == [one]


def test_a_generation_s_letters_are_not_for_the_live_memory() -> None:
    letters = [
        Letter(topic, 0, number, "invalid", b"{}", "default/u", None)
        for number, topic in enumerate(("write-plans", "write-plans.bare", "user-signals.a.b"))
    ]
    sent, passed = select(letters)
    assert [one.src_topic for one in sent] == ["write-plans"]
    assert passed["of_a_generation"] == 2


BYTES_A_SECOND = 100_000
RECORDS = 2_000
UNMEASURED = 10
"""Seconds: a broker takes the rate over as long, so that what comes first is not slowed down."""


def set_quota(broker: Broker) -> None:
    """Of every client id, as an administrator sets it."""
    done = subprocess.run(
        [java.find(), "-Xmx128m", "-cp", jars.classpath(), "kafka.admin.ConfigCommand",
         "--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "clients",
         "--entity-default", "--add-config", f"producer_byte_rate={BYTES_A_SECOND}"],
        capture_output=True, check=False, timeout=WITHIN,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


@pytest.mark.nightly
def test_a_producer_that_the_broker_throttles_waits_and_loses_nothing(tmp_path: Path) -> None:
    records = [turn(f"e{number}", user_input="x" * 900) for number in range(RECORDS)]
    file = ndjson(tmp_path / "turns.ndjson", records)
    seconds = file.stat().st_size / BYTES_A_SECOND - UNMEASURED
    assert seconds > UNMEASURED
    with Broker.start(short_lived=True) as broker:
        set_quota(broker)
        done = turnfold("kafka", "produce", file, "--bootstrap", broker.bootstrap, "-o", "json")
        assert done.code == 0, done.err
        assert done.json()["sent"] == len(records)
        found = asyncio.run(read_all(broker.bootstrap, "turns"))
    assert len(found) == len({one.value for one in found}) == len(records)
    took = (found[-1].timestamp - found[0].timestamp) / 1000  # by the broker's clock
    assert took > seconds / 3, "the broker held it back"
