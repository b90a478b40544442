"""No body costs more than its share, by whatever way it comes in: a search for one that does.

Counted in steps, as `test_cost_of_reading` counts them. 64 KB are read in 50 ms, 16 MB in a second.
"""

import json
from collections.abc import Iterator
from functools import partial
from itertools import islice
from random import Random
from typing import Any

import pytest

from streams.pipeline import bounds
from streams.serving.http import message_bodies, routes_records, submitting
from streams.serving.http.problems import Problem
from tests.command import turn
from tests.property.test_cost_of_reading import UNITS, VALUES, WHOLE, lines, seconds, steps
from tests.tiers import soaked

SMALL, LARGE = 65_536, 16_000_000
MOST_OF_SMALL, MOST_OF_LARGE = 800_000, 10_000_000
"""Steps: a million take 50 to 100 ms."""
LATEST = 2**62
"""No record of these tests is from the future."""
RECORDS = 10_000
NDJSON, JSON, CLOUD, EVENT, MESSAGES = (
    "application/x-ndjson", "application/json", "application/cloudevents-batch+json",
    "application/cloudevents+json", "messages",
)  # fmt: skip
AT = "2026-01-01T00:00:00Z"
SIGNAL = {"type": "signal", "signal_id": "g", "scope": "user", "user_id": "u", "occurred_at": AT}
PLAN = {"type": "write_plan", "plan_id": "p", "user_id": "u", "occurred_at": AT}
STEP = {"type": "recursion", "session_id": "s", "task_id": "t", "trace_id": "r", "occurred_at": AT,
        "iteration_index": 1, "action": {"action_type": "ANSWER"}}  # fmt: skip
SEEDS: list[Any] = [
    {}, [], 0, "x", {"type": "turn"}, {"type": "write_plan"}, {"type": "no"}, turn("e"), SIGNAL,
    turn("e", intent=[0] * 20), turn("e", intent=[0] * 400), turn("e", intent=["a"] * 400),
    turn("e", observations=[{"type": "decision", "content": "x"}] * 40),
    turn("e", observations=[{}] * 60), turn("e", x=[{}] * 500),
    turn("e", metadata={"k": [[]] * 500}),
    turn("e", error="x"), turn("e", source="q"), turn("e", **{f"k{at}": 0 for at in range(150)}),
    PLAN | {"extractor": {"name": "n"}, "state_updates": [{}] * 200},
    PLAN | {"extractor": {"name": "n"}, "state_updates": [{"kind": "fact", "body_text": "x"}] * 50},
    STEP | {"plan": [{"step_id": "x"}] * 100}, STEP | {"plan": [{}] * 400},
    STEP | {"short_term_memory_append": [0] * 800},
    {"specversion": "1.0", "data": turn("e")}, {"specversion": "1.0", "data_base64": "e30="},
]  # fmt: skip
PARTS: list[Any] = ["a", [{"type": "text", "text": "a"}], [{"type": "no"}] * 50, [{}] * 50, 0]


def repeated(one: bytes, between: bytes, size: int) -> bytes:
    """As many as so many bytes have."""
    return between.join([one] * max(size // (len(one) + len(between)), 1))


def bodies(chance: Random, size: int) -> Iterator[tuple[str, bytes]]:
    """One body of some media type after the other, and mutations of it."""
    while True:
        record = chance.choice(SEEDS)
        if isinstance(record, dict) and chance.random() < 0.4:
            text = "".join(chance.choice(UNITS) for _ in range(chance.choice([1, 3, 100])))
            value = json.loads(chance.choice(VALUES))
            record = record | {chance.choice(["user_input", "x", "source"]): text, "y": value}
        one = json.dumps(record).encode()
        if chance.random() < 0.2:
            one = bytes([*one[:-1], chance.choice(b'"{}[],:\\q\x80')])
        yield NDJSON, repeated(one, b"\n", size)
        yield JSON, b"[" + repeated(one, b",", size) + b"]"
        yield CLOUD, b"[" + repeated(one, b",", size) + b"]"
        yield EVENT, b'{"specversion":"1.0","data":' + one + b"}"
        message = {"role": chance.choice(["user", "tool", "no"]), "content": chance.choice(PARTS)}
        said = repeated(json.dumps(message).encode(), b",", size)
        yield MESSAGES, b'{"user_id":"u","messages":[' + said + b"]}"


def read(kind: str, body: bytes) -> None:
    """What a server does to read a body."""
    try:
        if kind == MESSAGES:
            message_bodies.read(body)
            return
        records = routes_records._records(body, kind, False, RECORDS)
        form = routes_records._event_form if kind in (CLOUD, EVENT) else None
        submitting._checked(records, "default", LATEST, form)
    except Problem:
        pass


def searched(seed: int, count: int, size: int, most: int) -> tuple[int, str, bytes]:
    """The most steps that a body took, its way in, and its beginning."""
    made = bodies(Random(seed), size)
    worst = (0, "", b"")
    for _ in range(count):
        kind, body = next(made)
        worst = max(worst, (steps(partial(read, kind, body), 2 * most), kind, body[:200]))
    return worst


@pytest.mark.parametrize("record", [b"{}", b'{"type":"turn"}', b"0", b"x"])
@pytest.mark.parametrize("kind", [NDJSON, JSON, CLOUD])
def test_many_tiny_records_take_no_more_than_their_share(kind: str, record: bytes) -> None:
    between = b"\n" if kind == NDJSON else b","
    body = repeated(record, between, SMALL // 2)
    body = body if kind == NDJSON else b"[" + body + b"]"
    assert steps(partial(read, kind, body)) < MOST_OF_SMALL // 2


@pytest.mark.component
@pytest.mark.parametrize("seed", soaked(range(8), 1))
def test_no_body_of_64_kb_takes_more_than_its_share(seed: int) -> None:
    count, kind, body = searched(seed, 100, SMALL, MOST_OF_SMALL)
    print(f"at most {count:,} steps: {kind} {body[:80]!r}")
    assert count < MOST_OF_SMALL, (kind, body)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", soaked(range(4), 1))
def test_no_body_of_16_mb_takes_more_than_its_share(seed: int) -> None:
    count, kind, body = searched(seed, 30, LARGE, MOST_OF_LARGE)
    print(f"at most {count:,} steps: {kind} {body[:80]!r}")
    assert count < MOST_OF_LARGE, (kind, body)


@pytest.mark.component
@pytest.mark.parametrize("seed", soaked(range(8), 1))
def test_16_mb_of_refused_lines_take_no_more_of_the_processor_than_their_share(seed: int) -> None:
    most = 4.0  # the budget is 1 s; beside three others on two cores it takes three times as long
    for line in islice(lines(Random(seed), WHOLE), 1, 40, 2):
        body = repeated(line.replace(b"\n", b" "), b"\n", LARGE)
        taken = seconds(partial(read, NDJSON, body), most)
        assert taken < most, line[:200]


def test_records_that_hold_too_much_together_are_refused_before_they_are_made() -> None:
    line = json.dumps(turn("e", x=[0] * 10_000)).encode()
    body = repeated(line, b"\n", len(line) * (bounds.MAX_BODY_VALUES // 10_000 + 1))
    with pytest.raises(Problem) as refused:
        routes_records._records(body, NDJSON, False, RECORDS)
    assert refused.value.status == 413
    assert str(bounds.MAX_BODY_VALUES) in json.loads(refused.value.body)["detail"]


def test_an_open_quotation_on_one_line_is_not_counted_on_the_next() -> None:
    text = json.dumps(turn("e", user_input="a, b: " * 2_000)).encode()
    body = b'{"type":"turn","x":"\n' + b"\n".join([text] * 100)
    assert len(routes_records._records(body, NDJSON, False, RECORDS)) == 101


@pytest.mark.parametrize(
    ("line", "count"),
    [(b"{}", submitting.MOST_REFUSED), (b"{" + b" " * 799_998 + b"}", 5), (b"\x80" * 800_000, 5)],
    ids=["many", "long", "no text"],
)
def test_where_too_many_are_refused_none_is_taken_and_the_first_are_named(
    line: bytes, count: int
) -> None:
    lines = [json.dumps(turn("e")).encode(), *[line] * (count + 1)]
    with pytest.raises(Problem) as refused:
        submitting._checked(lines, "default", LATEST, None)
    problem = json.loads(refused.value.body)
    assert problem["status"] == 422 and "none is taken" in problem["detail"]
    assert problem["errors"][0]["position"] == 2
    results, good = submitting._checked(lines[:-1], "default", LATEST, None)
    assert len(good) == 1 and len(results) == len(lines) - 1
