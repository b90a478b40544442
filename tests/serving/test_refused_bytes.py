"""Bodies that are refused cost their tenant's quota, and take no longer than others."""

import asyncio
import json
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import pytest

from schemas.messages import MAX_MESSAGES
from streams.folds.outcome import APPLIED
from streams.importers import session_messages
from streams.quota import Quota, Quotas
from streams.serving.http import kept_messages
from streams.serving.http.body_readers import BodyReaders
from streams.serving.http.quotas import OverQuota, TenantQuotas
from streams.serving.http.write_records import submit
from tests.command import turn

if TYPE_CHECKING:
    from streams.serving.backends.backend import Backend

CALLS = 400
NEW: Any = {}
"""The rows of a session that nobody has seen."""


class _Taking:
    async def submit(self, records: list[bytes], *_: Any) -> list[Any]:
        return [APPLIED] * len(records)


def test_refused_records_of_a_request_are_charged() -> None:
    quotas = TenantQuotas(Quotas(Quota(bytes=1_000)), clock=lambda: 0.0)
    backend = cast("Backend", _Taking())
    records = [json.dumps(turn("e")).encode(), b'{"type":"turn","x":"' + b"y" * 3_000 + b'"}']
    readers = BodyReaders()
    results = asyncio.run(submit(backend, quotas, "default", records, 1.0, readers=readers))
    assert [one.ending for one in results] == ["applied", "refused"]
    with pytest.raises(OverQuota):
        quotas.check("default")


# --- results of calls that nobody made ----------------------------------------------------------


def request(messages: list[Any]) -> session_messages.Request:
    """A request with these messages of a new session."""
    ids = [f"m{at}" for at in range(len(messages))]
    return session_messages.Request("s", "u", ids, messages, {})


def result(call: int) -> dict[str, Any]:
    """A tool's answer to a call."""
    return {"role": "tool", "tool_call_id": f"c{call}", "content": "r"}


def calling(count: int) -> dict[str, Any]:
    """An assistant's message with so many calls."""
    calls = [{"id": f"c{at}", "function": {"name": "f"}} for at in range(count)]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def lines_run(messages: list[Any], originals: list[str | None]) -> int:
    """Lines of code that reading the request takes."""
    count = 0

    def within(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return within

    before = sys.gettrace()
    sys.settrace(within)
    try:
        kept_messages.read(NEW, request(messages), originals, lambda: 0)
    finally:
        sys.settrace(before)
    return count


SHAPES: dict[str, Any] = {
    "results of no call": lambda count: [
        {"role": "user", "content": "x"}, *map(result, range(count)),
    ],
    "results before anybody speaks": lambda count: [
        *map(result, range(count)), {"role": "user", "content": "x"},
    ],
    "results of one message's calls": lambda count: [calling(count), *map(result, range(count))],
    "results of one call": lambda count: [calling(count), *[result(0)] * count],
    "calls and results in turn": lambda count: [
        one
        for at in range(count // 2)
        for one in ({**calling(1), "tool_calls": [{"id": f"c{at}"}]}, result(at))
    ],
    "calls without ids": lambda count: [
        {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}] * count},
        *[{"role": "tool", "name": "f", "content": "r"}] * count,
    ],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_messages_takes_steps_by_their_number(shape: str) -> None:
    """Twice as many messages take twice the steps, and not four times."""
    counts = []
    for count in (CALLS // 2, CALLS):
        messages = SHAPES[shape](count)
        counts.append(lines_run(messages, ["kept"] * len(messages)))
    assert counts[1] < 2.5 * counts[0]
    assert counts[1] < 1_000 * CALLS


def test_results_of_no_call_are_counted_and_the_others_find_theirs() -> None:
    messages = [result(9), {"role": "user", "content": "x"}, result(8), calling(2), result(1),
                result(7), result(0)]  # fmt: skip
    read = kept_messages.read(NEW, request(messages), ["kept"] * len(messages), lambda: 0)
    answers = [one.record for one in read.turns if one.record["type"] == "tool_result"]
    assert [one["tool_call_id"] for one in answers] == ["c1", "c0"]
    assert [one.place for one in read.turns if one.record["type"] == "tool_result"] == [4, 6]
    assert read.records.left_out[kept_messages.UNANSWERED] == 3
    assert len(messages) < MAX_MESSAGES
