"""A record that the API has decoded is not decoded again: it goes the same way, to the same end."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from streams.files.fold_batch import Applier
from streams.files.store import Store
from streams.folds.constants import Rules
from streams.folds.effects import Input
from streams.folds.outcome import Outcome
from streams.kafka.agents.routing import route, route_of
from streams.pipeline.decode import decode
from streams.serving.http.body_readers import BodyReaders
from streams.serving.http.quotas import TenantQuotas
from streams.serving.http.write_records import submit
from tests.command import turn

if TYPE_CHECKING:
    from streams.serving.backends.backend import Backend

AT = {"occurred_at": "2026-03-01T09:30:00Z", "tenant": "école"}
PLAN = {"plan_id": "p1", "user_id": "u1", "extractor": {"name": "n", "version": "1"}}
STEP = {"iteration_index": 1, "status": "running", "observe": "o", "thought": "t"}
RECORDS: list[Any] = [
    turn("e1"),
    turn("e2", summary={"content": "all of it"}),
    {"type": "signal", "signal_id": "g1", "scope": "session", "session_id": "s1", **AT},
    {"type": "signal", "signal_id": "g2", "scope": "user", "user_id": "u1", **AT},
    {"type": "write_plan", "state_updates": [], "preference_updates": [], **PLAN, **AT},
    {"type": "tool_result", "session_id": "s1", "task_id": "t1", "trace_id": "r1",
     "tool_call_id": "c1", "result": "r", "success": True, **AT},
    {"type": "recursion", "session_id": "s1", "task_id": "t1", "trace_id": "r1", **STEP,
     "action": {"action_type": "ANSWER", "output": {"text": "yes"}}, **AT},
]  # fmt: skip
LINES = [msgspec.json.encode(one) for one in RECORDS]


def read(line: bytes) -> Input:
    """As the API does, which knows no place yet."""
    found = decode(line, ("", 0, 0))
    assert isinstance(found, Input), found
    return found


@pytest.mark.parametrize("line", LINES, ids=[f"{one['type']}-{n}" for n, one in enumerate(RECORDS)])
def test_a_decoded_record_goes_the_same_way(line: bytes) -> None:
    assert route_of(read(line).record, line) == route(line)


def test_a_decoded_record_has_the_same_rows(tmp_path: Path) -> None:
    """Duplicates, too, and a conflict, which is a dead letter with its bytes."""
    other = msgspec.json.encode(turn("e1", user_input="something else"))
    lines = [*LINES, LINES[0], other]
    given = [(line, ("inbox", 0, at)) for at, line in enumerate(lines, 1)]
    found = []
    whole = [read(line) for line in lines]
    some = [one if at % 2 else None for at, one in enumerate(whole)]
    for folder, decoded in (("a", None), ("b", whole), ("c", some)):
        store = Store(tmp_path / folder)
        applier = Applier(store, Rules())
        endings = applier.apply(given, 1_790_000_000_000_000, decoded)
        found.append((endings, dict(applier.counts), applier.take_rows()))
        store.close()
    assert found[0] == found[1] == found[2]
    assert found[0][1]["duplicate"] == found[0][1]["dead"] == 1
    assert found[0][1]["applied"] == len(LINES)


def test_what_waits_is_kept_as_it_was_decoded_only_where_it_is_small() -> None:
    """Nested values take many times their bytes, and what waits is counted by its bytes."""
    kept: list[Input | None] = []

    class Waiting:
        async def submit(
            self, records: Sequence[bytes], within: float, read: Sequence[Input | None], _: bool
        ) -> list[Outcome]:
            kept.extend(read)
            return [Outcome("accepted")] * len(records)

    turns = [
        turn("e"),
        turn("e", metadata={"tags": [[]] * 1_000}),
        turn("e", user_input="x" * 9_000),
    ]
    lines = [msgspec.json.encode(one) for one in turns]
    backend, readers = cast("Backend", Waiting()), BodyReaders()
    results = asyncio.run(submit(backend, TenantQuotas(), "default", lines, 0, readers=readers))
    assert [one.ending for one in results] == ["accepted"] * 3
    assert [one is not None for one in kept] == [True, False, False]
