"""Debounce: how turns fall into groups depends on the stream alone."""

from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.events import Turn as Said
from streams.llm.debounce import Debounce, Group, Turn, speaks
from tests.command import turn as record

IDLE = 60
MOST = 3


@st.composite
def streams(draw: Any) -> list[Turn]:
    """Turns of few users in few sessions, with gaps around `IDLE`."""
    steps = draw(st.lists(st.sampled_from([0, 1, 20, 59, 60, 61, 200]), max_size=40))
    users = st.sampled_from(["ann", "bob"])
    sessions = st.sampled_from(["s1", "s2"])
    # what the platform's clock says may be late or early: it decides nothing
    return [
        Turn("t", draw(sessions), draw(users), f"e{n}", at - draw(st.integers(0, 500)), at)
        for n, at in enumerate(accumulate(steps))
    ]


def grouped(turns: Iterable[Turn]) -> list[Group]:
    debounce = Debounce(MOST, IDLE)
    closed = [group for turn in turns for group in debounce.add(turn)]
    return closed + debounce.flush()


@given(streams())
def test_each_turn_is_in_one_group_in_its_order(turns: list[Turn]) -> None:
    groups = grouped(turns)
    assert sorted(turn for group in groups for turn in group.turns) == sorted(turns)
    for group in groups:
        assert 1 <= len(group.turns) <= MOST
        assert len({(one.session_id, one.user_id) for one in group.turns}) == 1
        times = [one.recorded_at for one in group.turns]
        gaps = [later - sooner for sooner, later in pairwise(times)]
        assert all(0 <= gap < IDLE for gap in gaps)


@given(streams())
def test_a_group_ends_only_full_or_idle(turns: list[Turn]) -> None:
    """Two groups of the same user and session that follow one another: the first was full, or the
    second began too late."""
    by_key: dict[tuple[str, str], list[Group]] = {}
    for group in grouped(turns):
        by_key.setdefault((group.session_id, group.owner[1]), []).append(group)
    for groups in by_key.values():
        for first, second in pairwise(groups):
            gap = second.turns[0].recorded_at - first.turns[-1].recorded_at
            assert len(first.turns) == MOST or gap >= IDLE


@given(streams(), st.sets(st.integers(0, 40)))
def test_grouping_does_not_depend_on_how_the_stream_is_split(
    turns: list[Turn], cuts: set[int]
) -> None:
    """Between two batches the reader may look at the clock, as far as the stream has come."""
    debounce, groups = Debounce(MOST, IDLE), []
    for number, turn in enumerate(turns):
        if number in cuts:
            groups += debounce.advance(turn.recorded_at)
        groups += debounce.add(turn)
    assert sorted(groups + debounce.flush()) == sorted(grouped(turns))


@given(streams(), st.data())
def test_groups_that_are_done_can_be_left_out(turns: list[Turn], data: Any) -> None:
    """A second run sees only what is not extracted: it makes the groups the first did not finish,
    and no other."""
    groups = grouped(turns)
    done = set(data.draw(st.lists(st.sampled_from(groups)) if groups else st.just([])))
    left = {turn for group in groups if group not in done for turn in group.turns}
    again = grouped(turn for turn in turns if turn in left)
    assert sorted(again) == sorted(group for group in groups if group not in done)


def test_the_wall_clock_closes_what_is_idle() -> None:
    debounce = Debounce(MOST, IDLE)
    assert debounce.add(Turn("t", "s", "u", "e1", 0, 100)) == []
    assert debounce.advance(159) == []
    assert [group.event_ids for group in debounce.advance(160)] == [["e1"]]
    assert debounce.advance(10_000) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True), ({"status": "error", "error": "the agent failed"}, True),
        ({"status": "running"}, False), ({"user_id": None}, False), ({"user_input": ""}, False),
        ({"user_input": "\n\u3000 "}, False), ({"source": "reminder"}, False),
        ({"source": "voice"}, True), ({"source": "meta_proactive"}, False),
    ],
)  # fmt: skip
def test_who_speaks(fields: dict[str, Any], expected: bool) -> None:
    said = Said.model_validate(record("e1", **fields))
    assert speaks(said, ("chat", "voice", "meta_proactive")) is expected
