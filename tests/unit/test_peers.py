"""The counting of benchmarks/peers: what it says of others has to be right."""

from collections.abc import Callable

import pytest

from benchmarks.peers import job
from benchmarks.peers.kill import Fed, tally
from benchmarks.peers.outputs import Found, fold

TURNS = 50_000
Contexts = list[job.Context]


@pytest.fixture(scope="module")
def fed() -> Fed:
    fed = Fed()
    for _, turn in job.turns(TURNS):
        fed.add(turn)
    return fed


def twice_applied() -> Contexts:
    """The first turn, when its context was there already."""
    contexts: dict[str, job.Context] = {}
    (_, turn) = next(job.turns(1))
    fold(contexts, turn)
    return [fold(contexts, turn)]


@pytest.mark.parametrize(
    ("bent", "lost", "doubled", "wrong", "at_the_end"),
    [
        (lambda all_: all_, 0, 0, 0, 0),
        (lambda all_: all_[1:], 1, 0, 0, 0),
        (lambda all_: all_[:-2], 2, 0, 0, 2),
        (lambda all_: [*all_, all_[-1]], 0, 1, 0, 0),
        (lambda all_: [*all_, *all_[:3]], 0, 3, 0, 3),
        (lambda all_: twice_applied() + all_[1:], 0, 0, 1, 0),
    ],
    ids=["all once", "one lost", "the last lost", "doubled", "from the start again", "bent"],
)
def test_a_killed_peer_is_judged_by_every_output(
    fed: Fed, bent: Callable[[Contexts], Contexts],
    lost: int, doubled: int, wrong: int, at_the_end: int,
) -> None:  # fmt: skip
    found = tally(bent(list(fed.outputs.values())), fed, kills=3)
    assert found == (TURNS, 3, lost, doubled, wrong, at_the_end)


def test_control_records_are_no_outputs() -> None:
    """Offsets 2 and 5 of the first partition are markers."""
    found = Found([[0, 1, 3, 4], [0]], {})
    assert found.total == 5
    assert [found.before(ends) for ends in ((0, 0), (3, 0), (6, 1))] == [0, 2, 5]


def test_turns_are_known_by_session_and_text(fed: Fed) -> None:
    assert len(fed.outputs) == TURNS
