"""Events of a platform's own shape, mapped, against the same turns sent natively.

    python -m benchmarks.mapping [--turns 200000] [--repeat 3]
    python -m benchmarks.mapping --kafka [--turns 100000] [--repeat 3]

Goal: 0.6 of the native speed. `run` folds SGD's turns from both files, in turn, each time in a
process of its own. With --kafka a worker finds all of them in `turns`, or in a topic of the
platform's; its time is that from its first lane to its last commit. Such a topic has conversations
as its keys, which keep their order, or events: then the turns of a conversation are in all
partitions, come out of order, and the session is corrected again and again.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.admin import NewTopic

from benchmarks import common
from benchmarks.common import Spent, median, spread
from benchmarks.peers.__main__ import cpu_seconds
from schemas.base import JsonObject
from schemas.time import parse_time
from streams.apps.worker import prepare
from streams.apps.worker_settings import WorkerSettings
from streams.broker import Broker
from streams.files import local
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.lag import lag
from streams.mapping.mapper import Mapper
from streams.topology import TURNS, USER_SIGNALS

TOPIC = "chat.messages"
MAPPING = {
    "event_id": "message.id",
    "session_id": "conversation.id",
    "user_id": "author.id",
    "client_id": "author.device",
    "occurred_at": {"from": "sent_at", "time": "epoch_ms"},
    "user_input": "message.parts[0].text",
    "agent_answer": "reply.parts[0].text",
    "topic": "labels.topic",
    "intent": "labels.intent",
    "tenant": {"from": "workspace", "default": "default"},
}
KEYS = ("conversations", "events")
PARTITIONS = 6
PAUSE = 0.1
TOO_LONG = 600.0
encode = msgspec.json.Encoder().encode


def shaped(turn: JsonObject) -> JsonObject:
    """A turn as a chat platform might send it."""
    return {
        "kind": "message",
        "schema": "chat/7",
        "message": {
            "id": turn["event_id"],
            "parts": [{"type": "text", "text": turn["user_input"]}],
        },
        "reply": {"parts": [{"type": "text", "text": turn["agent_answer"]}]},
        "conversation": {"id": turn["session_id"], "channel": "web"},
        "author": {"id": turn["user_id"], "role": "user", "device": turn.get("client_id")},
        "sent_at": parse_time(turn["occurred_at"]) // 1000,
        "labels": {"topic": turn.get("topic"), "intent": turn.get("intent")},
        "flags": {"edited": False, "deleted": False},
    }


def write_mapping(file: Path) -> Path:
    rule = {"type": "turn", "when": "kind == 'message' && !(flags.deleted)", "fields": MAPPING}
    file.write_text(json.dumps({"version": 1, "sources": {TOPIC: {"records": [rule]}}}))
    return file


def comparable(turns: int) -> Iterator[JsonObject]:
    """Turns with only what the mapping carries, so that both files say the same."""
    kept = {*MAPPING, "type"}
    for turn in common.sgd_records(turns):
        yield {name: value for name, value in turn.items() if name in kept}


# --- files ----------------------------------------------------------------------------------------


def fold(file: str, history: str, mapping: str | None) -> int:
    """Records applied."""
    mapper = None if mapping is None else Mapper(Path(mapping))
    more: dict[str, Any] = (
        {} if mapper is None else {"decoder": lambda f: mapper.for_file(f).decode}
    )
    applied: int = local.run([file], history, **more)["applied"]
    return applied


def by_files(given: Any) -> None:
    common.pin(1)
    with common.work_folder(given.work) as folder:
        native, foreign = folder / "turns.ndjson", folder / "events.ndjson"
        turns = common.write_ndjson(native, comparable(given.turns))
        common.write_ndjson(foreign, map(shaped, comparable(given.turns)))
        mapping = str(write_mapping(folder / "chat.yaml"))
        spent: dict[str, list[Spent]] = {"native": [], "mapped": []}
        for number in range(given.repeat):
            for name, file, how in (("native", native, None), ("mapped", foreign, mapping)):
                history = str(folder / f"{name}-{number}")
                one = common.in_process(fold, str(file), history, how)
                assert one.answer == turns, one.answer
                common.note(f"{name}: {turns / one.seconds:,.0f}/s")
                spent[name].append(one)
    speed, cpu = (
        median(
            getattr(one, of) / getattr(other, of)
            for one, other in zip(spent["native"], spent["mapped"], strict=True)
        )
        for of in ("seconds", "cpu")
    )
    rows = [
        (
            name,
            f"{turns / median(one.seconds for one in some):,.0f}",
            spread([one.seconds for one in some]),
            f"{turns / median(one.cpu for one in some):,.0f}",
        )
        for name, some in spent.items()
    ]
    title = f"run, mapped and native: {turns:,} turns, 1 core, median of {given.repeat}"
    head = ("", "turns/s", "spread", "turns/CPU s")
    common.show(title, head, [*rows, ("ratio", f"{speed:.2f}", "", f"{cpu:.2f}")])


# --- Kafka ----------------------------------------------------------------------------------------


async def fill(bootstrap: str, turns: int, keys: str | None) -> None:
    settings = KafkaSettings.plain(bootstrap)
    if keys:
        async with connected(settings) as admin:
            await admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, linger_ms=20, max_batch_size=500_000, compression_type="zstd"
    ) as producer:
        for number, turn in enumerate(comparable(turns)):
            if keys:
                key = str(turn["session_id"] if keys == "conversations" else number)
                await producer.send(TOPIC, encode(shaped(turn)), key.encode())
            else:
                await producer.send(
                    TURNS.name, encode(turn), f"default/{turn['session_id']}".encode()
                )


def worked(folder: Path, turns: int, keys: str | None) -> tuple[float, float]:
    """Wall seconds, and CPU seconds of the worker, until all is folded; `keys`: of the platform's
    topic, None where the turns are in our own."""
    with Broker.start() as broker:
        settings = KafkaSettings.plain(broker.bootstrap)
        prepare(settings, WorkerSettings())
        asyncio.run(fill(broker.bootstrap, turns, keys))
        more = ["--mapping", str(write_mapping(folder / "chat.yaml"))] if keys else []
        log = folder / "worker.log"
        with log.open("wb") as out:
            command = [sys.executable, "-c", "import sys; from streams.cli import main; main()"]
            worker = subprocess.Popen(
                [*command, "worker", "--bootstrap", broker.bootstrap, *more], stdout=out, stderr=out
            )
        try:
            return _until_done(settings, worker, log, turns, {TURNS.name, USER_SIGNALS.name}
                               | ({TOPIC} if keys else set()))  # fmt: skip
        finally:
            worker.kill()
            worker.wait()


def _until_done(
    settings: KafkaSettings, worker: "subprocess.Popen[bytes]", log: Path, turns: int,
    topics: set[str],
) -> tuple[float, float]:  # fmt: skip
    deadline = time.monotonic() + TOO_LONG
    began: tuple[float, float] | None = None
    while time.monotonic() < deadline:
        if worker.poll() is not None:
            break
        if began is None and b": restored " in log.read_bytes():
            began = time.perf_counter(), cpu_seconds(worker.pid)
        found = [one for one in asyncio.run(lag(settings)) if one.topic in topics]
        read = sum(one.committed or 0 for one in found if one.topic == TURNS.name)
        is_known = {one.topic for one in found} == topics
        if began and is_known and read >= turns and not any(one.lag for one in found):
            return time.perf_counter() - began[0], cpu_seconds(worker.pid) - began[1]
        time.sleep(PAUSE)
    sys.exit(f"the worker is not done: {log.read_text()[-2000:]}")


def by_kafka(given: Any) -> None:
    took: dict[str | None, list[tuple[float, float]]] = {keys: [] for keys in (None, *KEYS)}
    for _ in range(given.repeat):
        for keys, some in took.items():
            with tempfile.TemporaryDirectory(dir=given.work) as folder:
                some.append(worked(Path(folder), given.turns, keys))
                common.note(f"{keys or 'native'}: {some[-1]}")
    rows = []
    for keys, some in took.items():
        seconds, cpu = (median(column) for column in zip(*some, strict=True))
        speed, used = (
            median(one[n] / other[n] for one, other in zip(took[None], some, strict=True))
            for n in (0, 1)
        )
        rows.append((
            "native" if keys is None else f"mapped, keys are {keys}",
            f"{given.turns / seconds:,.0f}", spread([one for one, _ in some]), f"{speed:.2f}",
            f"{given.turns / cpu:,.0f}", f"{used:.2f}",
        ))  # fmt: skip
    title = f"one worker, mapped and native: {given.turns:,} turns, median of {given.repeat}"
    head = ("", "turns/s", "spread", "ratio", "turns/CPU s of the worker", "ratio")
    common.show(title, head, rows)


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--kafka", action="store_true", help="a worker instead of `run`")
    given = parser.parse_args()
    by_kafka(given) if given.kafka else by_files(given)


if __name__ == "__main__":
    main()
