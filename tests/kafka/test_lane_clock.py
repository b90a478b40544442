"""`recorded_at` never runs back in a lane, whatever the brokers' clocks do and whenever it starts
again."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from schemas.base import parse_time
from streams.folds.constants import Rules
from streams.kafka.agents.memory_agent import MemoryAgent
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.tools.repartition_targets import merged
from streams.kafka.transport.interfaces import Batch
from streams.kafka.transport.rows import MemoryRows
from tests.kafka.test_agents import NOW_MS, Record, encode, of, on

Steps = Sequence[tuple[int, str]]
"""The broker's clock at each record, and what the lane does before it: nothing, a new batch, a
batch that is aborted and folded again, or a new start."""
steps = st.lists(
    st.tuples(
        st.integers(NOW_MS - 5, NOW_MS + 5), st.sampled_from(["", "batch", "aborted", "restart"])
    ),
    min_size=1,
    max_size=20,
)


def sent(number: int, at: int, kind: str) -> Record:
    """The number-th record of a source; of a line that is no record the letter has the time."""
    if kind == "broken":
        return Record("turns", number, b"default/s", b"{", timestamp=at)
    said = on(0, f"e{number}", session_id="s")
    if kind == "plan":
        said = {
            "type": "write_plan", "plan_id": f"p{number}", "user_id": "u",
            "occurred_at": said["occurred_at"], "extractor": {"name": "x", "version": "1"},
            "state_updates": [{"op": "upsert", "kind": "fact", "body_text": f"fact {number}"}],
        }  # fmt: skip
        return Record("write-plans", number, b"default/u", encode(said), timestamp=at)
    return Record("turns", number, b"default/s", encode(said), timestamp=at)


def times(batches: Sequence[Batch], table: str) -> list[int]:
    """When the rows of a table were recorded, in the order of the log (milliseconds)."""
    topic = "dead-letters" if table == "dead_letters" else "history"
    found = [
        (row["src_offset"], parse_time(row["recorded_at"]) // 1000)
        for batch in batches
        for output in of(batch, topic)
        if dict(output.headers)["table"] == table.encode()
        for row in [msgspec.json.decode(output.value or b"")]
    ]
    return [at for _, at in sorted(found)]


def folded(agent_of: Any, some: Steps, kind: str) -> list[Batch]:
    """The batches that stand."""
    agent, batches, batch = agent_of(), list[Batch](), list[Record]()

    def commit() -> None:
        if batch:
            batches.append(agent.process(batch))
            agent.committed()
            batch.clear()

    changelog: list[Any] = []
    for number, (at, step) in enumerate(some):
        if step != "":
            commit()
        if step == "aborted":
            agent.process([sent(number, at, kind)])
            agent.rolled_back()
        if step == "restart" and batches:
            changelog = [row for one in batches for row in one.changelog]
            agent = agent_of()
            agent.restore(changelog)
            agent.restored(batches[-1].note)
        batch.append(sent(number, at, kind))
    commit()
    return batches


def session() -> SessionAgent:
    return SessionAgent(0, MemoryRows(), 1, None, Rules())


def memory() -> MemoryAgent:
    return MemoryAgent(0, MemoryRows(), 1, Rules())


@given(steps)
def test_a_turn_is_recorded_at_the_greatest_append_time_so_far(some: Steps) -> None:
    expected = list(accumulate((at for at, _ in some), max))
    assert times(folded(session, some, "turn"), "events") == expected


@given(steps)
def test_so_is_a_plan(some: Steps) -> None:
    expected = list(accumulate((at for at, _ in some), max))
    assert times(folded(memory, some, "plan"), "plans") == expected


@given(steps)
def test_so_is_a_dead_letter(some: Steps) -> None:
    expected = list(accumulate((at for at, _ in some), max))
    assert times(folded(session, some, "broken"), "dead_letters") == expected


def test_a_repartition_takes_the_latest_time_of_all_lanes() -> None:
    agents = [session(), session()]
    notes = [
        agent.process([sent(0, NOW_MS + number, "turn")]).note
        for number, agent in enumerate(agents)
    ]
    for note in merged(notes, 3):
        agent = session()
        agent.restored(note)
        batch = agent.process([sent(7, NOW_MS - 9, "turn")])
        assert times([batch], "events") == [NOW_MS + 1]


def test_records_that_were_set_aside_have_a_time_of_their_own() -> None:
    """They are folded after records that follow them in the log; a rebuild without quotas gives
    these the same times."""
    agent = session()
    agent.process([sent(0, NOW_MS, "turn"), sent(2, NOW_MS + 2, "turn")])
    agent.committed()
    again = agent.process([sent(1, NOW_MS + 1, "turn")], again=True)
    assert times([again], "events") == [NOW_MS + 1]
