"""Slack's edits and deletions by the mapping of docs/mapping.md: memory is what the messages that
are left say now."""

import json
import re
from pathlib import Path
from random import Random

import pytest

from streams.extractors.naming import named
from streams.mapping.definition import load
from streams.mapping.envelopes import Message
from streams.mapping.mapper import Source
from tests.building import ROOT
from tests.property.test_law_2_replaced import SAYINGS, holding
from tests.property.test_law_2_rules import OPPOSITE, memory_of, told
from tests.property.world import Json
from tests.unit.test_record_processor import Files

TOPIC = "slack.events"


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """The rules compile their patterns at the first turn, which is not a test's own time."""
    told(Files, OPPOSITE)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    page = (ROOT / "docs" / "mapping.md").read_text("utf-8")
    (block,) = [one for one in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if TOPIC in one]
    file: Path = tmp_path_factory.mktemp("slack") / "slack.yaml"
    file.write_text(block)
    return Source(TOPIC, load(file))


def events(draw: Random, count: int = 12) -> tuple[list[Json], list[Json]]:
    """Slack's events of some messages, and plain ones of those that are left, as they are now."""
    sent: list[Json] = []
    left: dict[str, Json] = {}
    for number in range(count):
        ts = f"{1_750_000_000 + 60 * number}.000100"
        head = {"type": "message", "channel": "C1", "ts": ts}
        how = draw.random()
        old = left[draw.choice(sorted(left))] if left and how < 0.6 else None
        if old is None:
            left[ts] = {"type": "message", "user": "ann", "text": draw.choice(SAYINGS), "ts": ts}
            sent.append(left[ts] | {"channel": "C1"})
        elif how < 0.4:
            edited = {"text": draw.choice(SAYINGS), "edited": {"user": "ann", "ts": ts}}
            left[old["ts"]] = old | edited
            more = {"message": left[old["ts"]], "previous_message": old}
            sent.append(head | {"subtype": "message_changed", **more})
        else:
            del left[old["ts"]]
            more = {"deleted_ts": old["ts"], "previous_message": old}
            sent.append(head | {"subtype": "message_deleted", **more})
    now = [
        one | {"channel": "C1", "ts": one.get("edited", one)["ts"], "edited": None}
        for one in left.values()
    ]
    return sent, now


def memory(source: Source, sent: list[Json]) -> Json:
    running = Files(named("rules"))
    for number, event in enumerate(sent):
        line = source.map(json.dumps(event).encode(), (TOPIC, 0, number), Message(TOPIC)).line
        assert running.give(json.loads(line)).ending == "applied", line
    return memory_of(running.rows("users", "ann"))


@pytest.mark.parametrize("seed", range(12))
def test_memory_is_what_the_messages_that_are_left_say_now(source: Source, seed: int) -> None:
    draw = Random(seed)
    sent, now = events(draw)
    found = memory(source, sent)
    assert memory(source, draw.sample(sent, len(sent))) == found
    assert holding(found) == holding(memory(source, now))
