"""`turnfold admin size`: what is measured of a sample, and what a wrong one gets."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from aiokafka.record import MemoryRecords
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.apps import size
from streams.apps.size import Measurement, batches, measure, packed
from tests.command import ndjson, turn, turnfold

Texts = st.binary(max_size=200)
messages_of_all_kinds = st.lists(
    st.tuples(
        st.none() | Texts, st.none() | Texts, st.lists(st.tuples(st.text(max_size=9), Texts))
    ),
    max_size=30,
)


@pytest.mark.component
@given(messages_of_all_kinds, st.integers(100, 2_000))
@settings(max_examples=50, deadline=None)
def test_batches_have_every_message_once(messages: list[Any], room: int) -> None:
    """Also where many do not fit into one, and one does not fit into any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(size, "BATCH_BYTES", room)
        built = list(batches(messages))
        assert packed(messages) == sum(map(len, built))
    read = MemoryRecords(b"".join(built))
    stored = []
    while (batch := read.next_batch()) is not None:
        stored += [(one.key, one.value, list(one.headers)) for one in batch]
    assert stored == messages


@given(
    st.integers(1, 10**6), st.integers(1, 10**6), st.floats(0, 1e6), st.floats(0, 1e6),
    st.integers(1, 10**12),
)  # fmt: skip
def test_a_day_is_the_sample_times_its_turns(
    turns: int, sessions: int, amount: float, cpu: float, a_day: int
) -> None:
    sample = Measurement(turns, sessions, 1, 0, {"topic": amount}, {"run": cpu}, {"store": amount})
    assert sample.a_day(a_day) == pytest.approx({
        "topic, bytes": amount * a_day,
        "store, bytes": amount * a_day * sessions / turns,
        "run, cores": cpu * a_day / 1e6 / 86_400,
    })  # fmt: skip


WORDS = ("tea", "rain", "letters", "harbour", "violin")


def sample_of(folder: Path, text: Any, turns: int = 60) -> Path:
    """Turns of six sessions, each with a text."""
    return ndjson(folder / "turns.ndjson", [
        turn(str(number), session_id=f"s{number % 6}", user_id=f"u{number % 3}",
             user_input=text(number), agent_answer="Noted.",
             occurred_at=f"2025-03-0{number % 9 + 1}T00:00:{number:02}Z")
        for number in range(turns)
    ])  # fmt: skip


@pytest.mark.component
def test_every_part_grows_with_what_people_write(tmp_path: Path) -> None:
    """Text that no codec shortens takes its size, at least, wherever it is stored."""
    chance = random.Random(7)
    (tmp_path / "same").mkdir()
    same = measure(str(sample_of(tmp_path / "same", lambda _: "x" * 1_000)))
    other = measure(str(sample_of(tmp_path, lambda _: chance.randbytes(500).hex())))
    assert (same.turns, same.sessions, same.users, same.dead) == (60, 6, 3, 0)
    assert same.bytes_per_turn.keys() == other.bytes_per_turn.keys()
    for name in ("input topics", "topic history", "documents, before compaction",
                 "changelogs, before compaction", "tables, after compact"):  # fmt: skip
        assert same.bytes_per_turn[name] + 400 < other.bytes_per_turn[name], name
    assert all(amount > 0 for part in other[4:] for amount in part.values())


@pytest.mark.component
def test_records_of_all_kinds_and_broken_ones_are_counted(tmp_path: Path) -> None:
    file = sample_of(tmp_path, lambda number: f"I like {WORDS[number % 5]}.")
    plain = file.read_text()
    signal = {
        "type": "signal", "signal_id": "q", "scope": "user", "user_id": "u1", "topic": "tea",
        "occurred_at": "2025-02-02T00:00:00Z", "metadata": {"correct_rate": 1.0},
    }  # fmt: skip
    broken = ["?", "{}", json.dumps(turn("1", session_id="s1", user_input="other"))]
    packed_file = tmp_path / "all.ndjson.gz"
    packed_file.write_bytes(
        gzip.compress("\n".join([plain.strip(), json.dumps(signal), *broken, ""]).encode())
    )
    done = turnfold(
        "admin", "size", "--sample", packed_file, "--turns-per-day", "1000", "-o", "json"
    )
    assert done.code == 0, done.err
    measured = done.json()
    assert (measured["turns"], measured["sessions"], measured["dead"]) == (61, 6, 3)
    assert measured["per_day"]["input topics, bytes"] == pytest.approx(
        1000 * measured["bytes_per_turn"]["input topics"]
    )
    people = turnfold("admin", "size", "--sample", file)
    assert people.code == 0 and "60 turns in 6 sessions of 3 users" in people.out
    assert "fewer than 10,000 turns" in people.err


@pytest.mark.component
@pytest.mark.parametrize(
    ("name", "content", "options", "code", "reason"),
    [
        ("none.ndjson", None, (), 3, "none.ndjson"),
        ("empty.ndjson", b"", (), 4, "no turn"),
        ("broken.ndjson", b"?\n", (), 4, "no turn"),
        ("cut.ndjson.gz", gzip.compress(b"{}\n" * 999, mtime=0)[:-9], (), 4, "ends too early"),
        ("-", None, (), 2, "must be a file"),
        ("turns.ndjson", b"{}", ("--turns-per-day", "0"), 2, "--turns-per-day"),
    ],
)
def test_a_sample_that_cannot_be_measured_is_refused(
    tmp_path: Path, name: str, content: bytes | None, options: tuple[str, ...], code: int,
    reason: str,
) -> None:  # fmt: skip
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = turnfold("admin", "size", "--sample", name, *options, cwd=tmp_path)
    assert (done.code, done.out) == (code, ""), done.err
    assert reason in done.err
