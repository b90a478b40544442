"""No change without a revision, no revision without a change.

After each record the revisions so far are replayed (tests/reference/replayed.py): each one's
`before` must be what the ones before it say, and what they say at the end what the rows hold.
"""

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.property.strategies import events, turns, write_plans
from tests.property.world import Json, World, turn
from tests.reference import compared, replayed
from tests.tiers import examples

SLOW = settings(
    max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def check(made: World, records: list[Json]) -> None:
    for record in records:
        before = len(made.rows["revisions"])
        (outcome,) = made.say(record)
        new = made.rows["revisions"][before:]
        assert outcome == "applied" or not new
        for revision in new:
            assert revision["reason"]
            assert revision["evidence_event_ids"] or revision["reason"] == "tidy_memory"
        items = [(revision["owner_id"], revision["entity_id"], revision["kind"])
                 for revision in new
                 if revision["entity_type"] in ("session", "session_memory")
                 and revision["kind"] != "status"]  # fmt: skip
        assert max(Counter(items).values(), default=1) == 1, "a record changes each thing once"
        ended = replayed.replay(made.rows["revisions"])
        assert [*ended.broken, *replayed.told(ended, compared.held(made))] == []


@examples(50, 200, st.data(), under=SLOW)
def test_guarantee_4_revisions_of_sessions_tell_their_documents(data: st.DataObject) -> None:
    check(World(), data.draw(st.permutations(data.draw(events()))))


@SLOW
@given(turns(), write_plans(), st.randoms(use_true_random=False))
def test_guarantee_4_revisions_of_users_tell_their_states(
    said: list[Json], plans: list[Json], shuffle: Any
) -> None:
    records = [*said]
    for plan in plans:
        records.insert(shuffle.randint(0, len(records)), plan)
    check(World(), records)


@SLOW
@example([turn("a", 0), turn("c", 2), turn("b", 1, client_id="phone")])
@given(turns().map(lambda some: [one | {"session_id": "s1"} for one in some]))
def test_guarantee_4_a_link_that_moves_has_one_revision(said: list[Json]) -> None:
    made = World()
    for record in said:
        before = made.replies()
        made.say(record)
        after = made.replies()
        moved = [(one, to, after[one]) for one, to in before.items() if to != after[one]]
        told = [
            (new["from_event_id"], old["to_event_id"], new["to_event_id"])
            for one in made.revisions("link")
            for old, new in [(one["before"], one["after"])]
            if one["src_offset"] == made.line
        ]
        assert sorted(told) == sorted(moved)
