"""Each record ends as exactly one of applied, duplicate, dead letter or withheld."""

import json
import re
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.property.strategies import events, write_plans
from tests.property.world import OUTCOMES, Json, World, encode, result, signal, turn
from tests.tiers import examples

SECRET = "the-withheld-words"
WITHHELD = [
    turn("e1", 0, source="meta_request", user_input=SECRET),
    turn("e1", 0, source="META-REQUEST", user_input=SECRET),
    signal("g1", 0, source="meta_request", topic=SECRET),
    {"type": "anything", "source": "meta_request", "words": [SECRET]},
    {"source": "meta_request", "user_input": SECRET},
]
broken: st.SearchStrategy[bytes] = st.one_of(
    st.binary(max_size=40),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda one: st.lists(one, max_size=2) | st.dictionaries(st.text(max_size=5), one),
        max_leaves=5,
    ).map(lambda value: json.dumps(value).encode()),
    st.sampled_from(
        [
            {"type": "turn"}, {"type": "turn", "event_id": 3}, {"type": "dream", "event_id": "e1"},
            turn("e1", 0, tenant="a/b"), turn("e1", 0, schema_version=99),
            turn("e1", 0, metadata={"correct_rate": 2}), turn("", 0), turn("e\0", 0),
            result("r1", 0, -1), turn("e1", 0, picture="data:image/png;base64," + "A" * 64),
        ]
    ).map(lambda record: json.dumps(record).encode()),
)  # fmt: skip


@st.composite
def cut(draw: st.DrawFn, record: Json) -> bytes:
    """The beginning of a record, as a broken connection leaves it."""
    line = encode(record)
    return line[: draw(st.integers(0, len(line) - 1))]


@st.composite
def anything(draw: st.DrawFn) -> list[Json | bytes]:
    good = [*draw(events()), *draw(write_plans())]
    bad = draw(st.lists(broken | st.sampled_from(good).flatmap(cut), max_size=6))
    silent = draw(st.lists(st.sampled_from(WITHHELD), max_size=3))
    again = draw(st.lists(st.sampled_from(good), max_size=3))
    return draw(st.permutations([*good, *bad, *silent, *again]))


@examples(
    25,
    200,
    anything(),
    under=settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]),
)
def test_guarantee_3_in_is_applied_and_duplicate_and_dead_and_withheld(records: list[Json]) -> None:
    made = World()
    made.say(*records)
    counts = made.counts
    assert counts["read"] == len(records) == sum(counts.get(one, 0) for one in OUTCOMES)
    assert counts.get("withheld", 0) == sum(one in WITHHELD for one in records)
    assert counts.get("dead", 0) + counts.get("late", 0) == len(made.rows["dead_letters"])
    assert "fold_failed" not in made.reasons

    logs = ("events", "recursions", "tool_results", "signals", "plans")
    stored = sum(len(made.rows[log]) for log in logs)  # also dead letters that fit after all
    assert 0 <= stored - counts.get("applied", 0) <= counts.get("settled", 0)
    assert SECRET not in repr(made.rows) + repr(made.documents())


def _may_be_kept(line: bytes) -> bool:
    return not re.search(rb"meta.request|image|iVBOR|/9j/|R0lGOD|UklGR|\\u", line, re.IGNORECASE)


@given(st.binary(max_size=60).filter(_may_be_kept))
def test_guarantee_3_bytes_that_do_not_parse_are_kept_as_they_came(line: bytes) -> None:
    made = World()
    (outcome,) = made.say(line)
    (row,) = made.rows["dead_letters"]
    assert outcome == "dead"
    assert row["payload"] == line
    assert (row["src_topic"], row["src_offset"]) == ("test", 1)
    assert row["reason"] and row["detail"]


@pytest.mark.parametrize("line", [b"meta_request", b'{"source": "META-REQUEST", "user_input": "a'])
def test_guarantee_3_bytes_that_may_be_withheld_are_kept_as_hash_and_length(line: bytes) -> None:
    made = World()
    assert made.say(line) == ["dead"]
    (row,) = made.rows["dead_letters"]
    assert json.loads(row["payload"]) == {"bytes": len(line), "sha256": sha256(line).hexdigest()}
