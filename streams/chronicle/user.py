"""A user as of any time."""

from typing import Any

from sinks.kept import Source, kept
from sinks.locations import Location
from sinks.lookup import Lookup
from streams import reading
from streams.chronicle import revisions
from streams.chronicle.lessons import LESSONS, told
from streams.chronicle.moments import MOMENTS, moment
from streams.chronicle.revisions import REVISIONS
from streams.chronicle.talk import TALK
from streams.files.manifest import rules_of
from streams.files.refold import SNAPSHOT_BYTES, Refolding, Stored, of_a_user

Json = dict[str, Any]

ENDED, SHOWN_MOMENTS, SHOWN_LESSONS, SESSIONS = 100, 150, 150, 20
"""The newest that are told of each."""


def _plans(about: Lookup, owner: str) -> list[Stored]:
    return of_a_user(about, owner, turns=False)


def _refolding(owner: str, about: Lookup, rows: list[Stored]) -> Refolding:
    return Refolding(("users", about.tenant, owner), rules_of(about.folder), rows)


PLANS: Source[Refolding] = Source(
    "plans", ("plans", "revisions"), _plans, _refolding, grows=False, weight=SNAPSHOT_BYTES
)


def past(root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None) -> Json:
    """What has ended, moments of affect, scores by topic after each lesson, and sessions: the
    newest of each, and in `counts` how many there are. With the times at which something changed.
    """
    with Lookup(root, tenant) as about:
        found = kept(about, REVISIONS, user_id)
        moments = kept(about, MOMENTS, user_id).newest(as_of, known_at, SHOWN_MOMENTS)
        lessons = kept(about, LESSONS, user_id).newest(as_of, known_at, SHOWN_LESSONS)
        newest = {
            "ended": found.ended(as_of, known_at, ENDED),
            "moments": moments.told(moment),
            "mastery": lessons.told(told),
            "sessions": kept(about, TALK, user_id).sessions(as_of, known_at, SESSIONS),
        }
    return {
        **{name: some.shown for name, some in newest.items()},
        "counts": {name: some.total for name, some in newest.items()},
        "steps": revisions.steps([found]),
    }


def known_of(root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None) -> Json:
    """As `streams.reading.known_of`."""
    with Lookup(root, tenant) as about:
        rows = kept(about, PLANS, user_id).rows(as_of, known_at)
        held = kept(about, REVISIONS, user_id).states(as_of, known_at)
    return {"states": held, **reading.memory_lists(rows)}
