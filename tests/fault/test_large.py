"""Records and rows that are too large, or strange, for what becomes of them: no lane stands still.

Workers and sinks are real, so is the broker; what it does not take, it refuses.
"""

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from schemas.events import MAX_RECORD_BYTES
from streams.kafka.agents.agents import changelogs
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.topology import INPUT_BYTES
from tests.command import OUTCOMES, checked, rows, turn, turnfold
from tests.kafka.counting import PARTITIONS
from tests.kafka.working import APP, Given, Working, alone

encode = msgspec.json.Encoder().encode
KEY = b"default/s"
GOOD = encode(turn("good"))
STEPS = 8
NEARLY_ALL = INPUT_BYTES - 100_000
"""Of what a message of an input topic may have."""


@pytest.fixture
def working(tmp_path: Path) -> Iterator[Working]:
    with alone(tmp_path) as made:
        yield made


def noise(size: int, seed: int = 0) -> str:
    """A text that no compression makes much smaller."""
    return random.Random(seed).randbytes(size // 2).hex()


def sunk(working: Working) -> Path:
    """The history of all that workers wrote."""
    history = working.folder / "sunk"
    done = turnfold("kafka", "sink", *working.at, "--history", history, "--once")
    assert done.code == 0, done.err
    return history


STRANGE: dict[str, tuple[str, Given]] = {
    "a huge key that is no text": ("wrong_key", ("turns", b"\xff" * NEARLY_ALL, GOOD, ())),
    "a huge key": ("wrong_key", ("turns", b"k" * NEARLY_ALL, GOOD, ())),
    "a huge key and value": (
        "wrong_key",
        ("turns", b"k" * (NEARLY_ALL // 2), encode(turn("w", user_input=noise(900_000))), ()),
    ),
    "a huge header": ("unknown_type", ("turns", KEY, b"{}", [("a", b"\x01" * NEARLY_ALL)])),
    "very many headers": ("unknown_type", ("turns", KEY, b"{}", [("a", b"")] * 300_000)),
    "headers without a value": (
        "conflicting_headers",
        ("turns", KEY, GOOD, [("ce_id", None), ("trace", None)]),
    ),
    "a hop's headers without a value": (
        "invalid",
        (
            "user-signals", b"default/u", b"{}",
            [("src_topic", b"turns"), ("src_partition", b"0"), ("src_offset", None)],
        ),
    ),
    "no name of a hop's source": (
        "unknown_type", ("user-signals", b"default/u", b"{}", [("src_topic", None)])
    ),
    "as large as the topic takes": (
        "too_large",
        ("turns", KEY, encode(turn("huge", user_input=noise(NEARLY_ALL))), ()),
    ),
}  # fmt: skip


def test_the_dead_letter_of_any_record_fits_its_topic(working: Working) -> None:
    working.start()
    working.await_ready()
    working.send(message for _, message in STRANGE.values())
    working.send(
        [
            ("turns", f"default/s{number}".encode(), encode(turn("e", session_id=f"s{number}")), ())
            for number in range(20)
        ]
    )
    counts = working.await_done()
    checked({name: counts[name] for name in ("read", *OUTCOMES)})
    assert (counts["applied"], counts["dead"]) == (20, len(STRANGE))
    found = rows(sunk(working), "SELECT reason, octet_length(payload) FROM dead_letters")
    expected = [(reason, len(message[2] or b"")) for reason, message in STRANGE.values()]
    assert sorted(found) == sorted(expected)


def test_a_record_of_the_largest_size_is_applied(working: Working) -> None:
    room = MAX_RECORD_BYTES - len(encode(turn("largest", user_input="")))
    fits = encode(turn("largest", user_input=noise(room) + "x" * (room % 2)))
    beyond = encode(turn("beyond", user_input=noise(room + 2)))
    assert len(fits) == MAX_RECORD_BYTES
    working.start()
    working.await_ready()
    working.send([("turns", KEY, fits, ()), ("turns", KEY, beyond, ())])
    counts = working.await_done()
    assert (counts["applied"], counts["dead"]) == (1, 1)
    history = sunk(working)
    assert rows(history, "SELECT length(user_input) FROM events") == [(room,)]
    assert rows(history, "SELECT reason, payload FROM dead_letters") == [("too_large", beyond)]


def test_a_row_of_many_megabytes_is_kept_and_restored(working: Working) -> None:
    """A task that remembers texts of 0.9 MB: its document fits no topic, its row must."""
    working.start()
    working.await_ready()
    working.send(("recursions", KEY, encode(_step(number)), ()) for number in range(STEPS))
    assert working.await_done()["applied"] == STEPS
    assert "the message of key default/s/t has" in working.log(), "its document is left out"
    working.kill()
    working.start()
    working.await_ready()
    working.send([("recursions", KEY, encode(_step(STEPS)), ())])
    assert working.await_done()["applied"] == STEPS + 1
    assert rows(sunk(working), "SELECT count(*) FROM recursions") == [(STEPS + 1,)]


def _step(number: int) -> dict[str, Any]:
    return {
        "type": "recursion", "session_id": "s", "task_id": "t", "trace_id": f"r{number}",
        "iteration_index": number, "status": "done", "max_iteration": 100,
        "occurred_at": f"2026-01-01T00:00:{number:02}Z", "observe": "", "thought": "",
        "action": {"action_type": "REFLECT", "output": {}},
        "short_term_memory_append": noise(900_000, number),
    }  # fmt: skip


def test_what_the_broker_refuses_is_tried_again_until_it_is_taken(working: Working) -> None:
    """An operator has cut a changelog's largest message below what a lane has to write."""
    working.start()
    working.await_ready()
    _limit(working, 20_000)
    large = encode(turn("large", user_input=noise(900_000)))
    small = [encode(turn("e", session_id=f"s{number}")) for number in range(40)]
    working.send([("turns", KEY, large, ())])
    working.await_log("MessageSizeTooLargeError", times=2)
    assert "again in" in working.log()
    working.send(("turns", f"default/s{n}".encode(), one, ()) for n, one in enumerate(small))
    working.await_counts(applied=20)  # the other lanes go on; a quarter waits behind the large one
    _limit(working, None)
    counts = working.await_done()
    assert (counts["applied"], counts["dead"]) == (41, 0)
    assert rows(sunk(working), "SELECT count(DISTINCT session_id) FROM events") == [(41,)]


def _limit(working: Working, size: int | None) -> None:
    asyncio.run(_alter(working.settings, size))


async def _alter(settings: KafkaSettings, size: int | None) -> None:
    wanted = changelogs(APP, PARTITIONS)[0]
    given = wanted.settings(1) | ({"max.message.bytes": str(size)} if size else {})
    async with connected(settings) as admin:
        await admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, wanted.name, configs=given)]
        )


def test_a_message_for_the_sink_without_its_table_ends_as_a_dead_letter(working: Working) -> None:
    working.start()
    working.await_ready()
    working.send([("turns", KEY, GOOD, ())])
    working.await_done()
    working.send([("history", None, b"{}", [("table", None)]), ("history", None, b"{}", ())])
    history = sunk(working)
    assert rows(history, "SELECT count(*) FROM events") == [(1,)]
    assert rows(history, "SELECT reason, payload FROM dead_letters") == 2 * [("bad_row", b"{}")]
    headers = rows(history, "SELECT headers FROM dead_letters WHERE headers <> '[]'")
    assert [json.loads(text) for (text,) in headers] == [[["table", None]]]
