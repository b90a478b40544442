"""No change without a revision, no revision without a change.

Revisions are replayed as they come: each one's `before` must be what the ones before it say, and
after each record what they say must be what the documents show.
"""

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from streams.folds import affect, memory, session_state
from streams.folds.rules import Rules
from streams.folds.session_state import HEADER
from tests.property.strategies import SESSIONS, events, turns, write_plans
from tests.property.world import Json, World, turn
from tests.tiers import examples

SLOW = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
ACTIVE = {"status": "active", "closed_reason": None}


class Replay:
    """What the revisions so far say: (entity type, id, what of it) -> the document."""

    def __init__(self, memory: World) -> None:
        self.memory = memory
        self.said: dict[tuple[str, ...], Any] = {}
        self.read = 0

    def follow(self) -> list[Json]:
        """Takes in the new revisions, each of which must go on from what was said."""
        new = [
            one
            for kind in ("session", "session_memory", "state", "preference", "link", "thread",
                         "affect")
            for one in self.memory.revisions(kind)
        ]  # fmt: skip
        new = [
            one
            for one in new
            if "confidence" in (one["after"] or one["before"]) or one["entity_type"] != "link"
        ]  # provisional links have a test of their own
        new = sorted(new, key=lambda one: (one["src_offset"], one["ordinal"], one["owner_id"]))
        new, self.read = new[self.read :], len(new)
        for one in new:
            assert one["before"] != one["after"]
            assert one["reason"]
            assert one["evidence_event_ids"] or one["reason"] == "tidy_memory"
            self._one(one)
        return new

    def _one(self, revision: Json) -> None:
        if revision["op"] in ("expire", "reopen") and self._is_late(revision):
            return  # what it tells of has been over for long
        before, after = revision["before"], revision["after"]
        came_from = None if before is None else self.key(revision, before)
        if came_from is not None:
            assert self.said.get(came_from, self.unsaid(came_from)) == before, revision
        if after is None:
            del self.said[came_from or ()]
            return
        became = self.key(revision, after)
        assert became == came_from or became not in self.said, revision
        self.said[became] = after

    def key(self, revision: Json, document: Json) -> tuple[str, ...]:
        kind, entity = revision["entity_type"], revision["entity_id"]
        if kind == "session":
            return kind, entity, revision["kind"]
        if kind == "state":
            return kind, entity, document["valid_from"]
        if kind == "thread":
            return kind, entity, document["event_id"]
        if kind == "affect":
            return kind, entity, revision["owner_id"]
        if kind == "session_memory":
            return kind, revision["owner_id"], entity
        return kind, entity

    def unsaid(self, key: tuple[str, ...]) -> Any:
        """What holds before any revision: the first moment of an event has none of its own."""
        if key[0] == "affect":
            same = (row for row in self.memory.rows["affects"]
                    if (row["event_id"], row["user_id"]) == key[1:])  # fmt: skip
            return _moment(next(same))
        return ACTIVE if key[-1] == "status" else None

    def _is_late(self, revision: Json) -> bool:
        rows = self.memory.rows_of("sessions", revision["owner_id"])
        (event_id,) = revision["evidence_event_ids"]
        latest = session_state.visible(rows, rows[HEADER], Rules()).latest
        return latest is not None and latest[1] != event_id

    def of(self, *prefix: str) -> dict[tuple[str, ...], Any]:
        return {key: one for key, one in self.said.items() if key[: len(prefix)] == prefix}


def _moment(row: Json) -> Json:
    return {
        "vad": {axis: row[axis] for axis in "vad"},
        "text": row["text"],
        "labels": list(row["labels"]),
        "confidence": row["confidence"],
    }


def shown_of_session(memory: World, session_id: str) -> dict[tuple[str, ...], Any]:
    """What of a session's document a revision must tell of."""
    if memory.rows_of("sessions", session_id).get(HEADER) is None:
        return {}
    document = memory.session(session_id)
    shown: dict[tuple[str, ...], Any] = {
        ("session", session_id, "subject"): document["subject"],
        ("session", session_id, "object"): document["object"],
        ("session", session_id, "status"): {name: document[name] for name in ACTIVE},
    }
    shown = {key: one for key, one in shown.items() if one not in (None, ACTIVE)}
    items = document["session_memory"]
    return shown | {("session_memory", session_id, one["id"]): one for one in items}


def check_sessions(replay: Replay) -> None:
    shown: dict[tuple[str, ...], Any] = {}
    for session_id in SESSIONS:
        shown |= shown_of_session(replay.memory, session_id)
    said = replay.of("session") | replay.of("session_memory")
    assert {key: one for key, one in said.items() if one != ACTIVE} == shown


def check_once(new: list[Json], kinds: tuple[str, ...]) -> None:
    """One record changes one thing once."""
    told = Counter((one["entity_type"], one["entity_id"], one["kind"]) for one in new
                   if one["entity_type"] in kinds and one["kind"] != "status")  # fmt: skip
    assert not told or max(told.values()) == 1


@examples(50, 200, st.data(), under=SLOW)
def test_law_4_revisions_of_sessions_tell_their_documents(data: st.DataObject) -> None:
    made = World()
    replay = Replay(made)
    for record in data.draw(st.permutations(data.draw(events()))):
        made.say(record)
        check_once(replay.follow(), ("session", "session_memory"))
        check_sessions(replay)


# --- the user's side --------------------------------------------------------------------------


def versions_of(memory: World, user_id: str) -> dict[tuple[str, ...], Any]:
    """Every version of every state, the mood's among them."""
    shown = {
        ("state", state_id, one["valid_from"]): one
        for state_id, versions in memory.states(user_id).items()
        for one in versions
    }
    rows = memory.rows_of("users", user_id)
    return shown | mood_versions(rows)


def mood_versions(rows: Any) -> dict[tuple[str, ...], Any]:
    row: affect.MoodRow = rows.get(affect.MOOD) or affect.MoodRow()
    mood_id = memory.mood_id(rows)
    versions = (affect.version(row, mood_id, at) for at in affect.begins(row, -(2**62)))
    return {("state", mood_id, one["valid_from"]): one for one in versions}


def moments_of(made: World, user_id: str) -> dict[str, Json]:
    row = made.rows_of("users", user_id).get(affect.MOOD) or affect.MoodRow()
    return {one.moment.event_id: _moment(one.moment._asdict()) for one in row.felt}


def preferences_of(made: World, user_id: str) -> dict[str, str]:
    rows = made.rows_of("users", user_id).scan("p/")
    return {one.preference_id: one.status for _, one in rows}


@SLOW
@given(turns(), write_plans(), st.randoms(use_true_random=False))
def test_law_4_revisions_of_users_tell_their_states(
    said: list[Json], plans: list[Json], shuffle: Any
) -> None:
    made = World()
    replay = Replay(made)
    records = [*said]
    for one in plans:
        records.insert(shuffle.randint(0, len(records)), one)
    for record in records:
        (outcome,) = made.say(record)
        new = replay.follow()
        if outcome != "applied":
            assert new == []
        shown = versions_of(made, "u1") | versions_of(made, "u2")
        assert replay.of("state") == shown
        status = {key[1]: one["status"] for key, one in replay.of("preference").items()}
        assert status == preferences_of(made, "u1")
        for thread in ("work", "home"):
            told = {key[2]: one["confidence"] for key, one in replay.of("thread", thread).items()}
            assert told == made.members(thread)
        for event_id, moment in moments_of(made, "u1").items():
            key = ("affect", event_id, "u1")
            assert replay.said.get(key, replay.unsaid(key)) == moment
        planned = [one for _, one in made.rows_of("users", "u1").scan("k/")]
        assert len([one for one in replay.of("link").values() if "confidence" in one]) == len(
            planned
        )


@SLOW
@example([turn("a", 0), turn("c", 2), turn("b", 1, client_id="phone")])
@given(turns().map(lambda some: [one | {"session_id": "s1"} for one in some]))
def test_law_4_a_link_that_moves_has_one_revision(said: list[Json]) -> None:
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
