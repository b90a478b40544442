"""Equal records make equal memory, byte for byte, however their JSON is spelt."""

import json
from random import Random
from typing import Any

import msgspec
import pytest

from tests.property.spellings import plainest, record, spelt
from tests.property.world import Json, World, recursion, turn
from tests.tiers import soaked

_encode = msgspec.msgpack.Encoder().encode


def made_of(*lines: str) -> tuple[World, list[str]]:
    """The memory, and what each line ended as."""
    memory = World()
    return memory, memory.say(*(line.encode() for line in lines))


def stored(memory: World) -> dict[Any, bytes]:
    """Every row of the folds as it is written to disk."""
    return {
        (where, name): _encode(row)
        for where, entity in memory.store.entities.items()
        for name, row in entity.scan("")
    }


def history(memory: World) -> dict[str, list[Json]]:
    """Its rows; dead letters without their payloads, which are the bytes that were sent."""
    return {
        table: [{**row, "payload": None} if table == "dead_letters" else row for row in rows]
        for table, rows in memory.rows.items()
    }


@pytest.mark.parametrize("seed", soaked(range(3_000), 40))
def test_spellings_of_equal_records_make_equal_memory(seed: int) -> None:
    random = Random(seed)
    sent = [record(random) for _ in range(12)]
    one, ended = made_of(*map(plainest, sent))
    other, ended_too = made_of(*(spelt(each, random) for each in sent))
    assert ended == ended_too
    assert stored(one) == stored(other)
    assert history(one) == history(other), "revisions and their ids, too"
    assert one.documents() == other.documents()


@pytest.mark.parametrize("seed", soaked(range(3_000), 30))
def test_another_spelling_of_a_record_ends_as_a_copy_does(seed: int) -> None:
    random = Random(seed)
    sent = [record(random) for _ in range(12)]
    lines = list(map(plainest, sent))
    one, ended = made_of(*lines, *lines)
    other, ended_too = made_of(*lines, *(spelt(each, random) for each in sent))
    assert ended == ended_too
    assert stored(one) == stored(other)
    assert history(one) == history(other)


@pytest.mark.parametrize(
    "spelling",
    [
        {"reversible": True},
        {"reversible": None},
        {"confidence": 0.5, "source": None, "scope": None},
        {"content": "c", "reversible": True, "rationale": None},
    ],
)
def test_a_written_item_is_the_same_with_its_defaults(spelling: Json) -> None:
    item = {"id": "i1", "type": "decision", "content": "c", "decision": "d"}
    plain = turn("e1", 0, session_memory_delta={"add": [item]})
    full = turn("e1", 0, session_memory_delta={"add": [{**spelling, **item}]})
    one, other = made_of(json.dumps(plain))[0], made_of(json.dumps(full))[0]
    assert json.dumps(one.session()) == json.dumps(other.session())


def test_a_revision_id_does_not_depend_on_the_order_of_keys() -> None:
    asked = recursion("r", 1, 0, "CLARIFY", output={"question": "which?", "options": ["a"]})
    ids = [
        [
            row["revision_id"]
            for row in made_of(json.dumps(asked, sort_keys=keys))[0].rows["revisions"]
        ]
        for keys in (False, True)
    ]
    assert ids[0] == ids[1] != []
