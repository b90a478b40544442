"""What the views make of a session and of a user, by SQL over the files: what `streams.chronicle`
has to say, too."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

import msgspec

from schemas.events import Signal, Turn
from schemas.time import format_time
from sinks.history import quoted
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.chronicle.text import text_of
from streams.errors import DataRefused
from streams.reading import FAR, load_revisions, rows
from tests.reference import learner

Json = dict[str, Any]

ENDED, MOMENTS, LESSONS, STEPS, SESSIONS = 100, 300, 150, 2000, 20
SPINE = (
    "tenant", "event_id", "session_id", "user_id", "status", "occurred_at", "recorded_at",
    "src_topic", "src_partition", "src_offset",
)  # fmt: skip
SAID = (*SPINE, "task_id", "source", "user_input", "agent_answer", "error", "intent", "topic")
CHANGED = (
    "tenant", "revision_id", "owner_id", "entity_type", "entity_id", "kind", "op", "after",
    "reason", "evidence_event_ids", "plan_id", "seq", "recorded_at",
)  # fmt: skip
SPOKEN = ("tenant", "event_id", "session_id", "user_id", "occurred_at", "recorded_at")
NOT_TOLD = ("affect", "link", "thread")


def session(
    root: Location,
    tenant: str,
    session_id: str,
    *,
    size: int,
    chunk: int | None = None,
    turn: str | None = None,
    as_of: int | None = None,
    known_at: int | None = None,
) -> Json:
    """One chunk of a session's turns, so many in each, with what each changed: the chunk that has
    `turn`, else `chunk`, else the first. Raises DataRefused for an unknown session."""
    until, known = FAR if as_of is None else as_of, FAR if known_at is None else known_at
    with Lookup(root, tenant) as about:
        where = "session_id = ? AND epoch_us(occurred_at) <= ? AND epoch_us(recorded_at) <= ?"
        given = (session_id, until, known)
        about.load("events", where, *given, columns=SPINE)
        db = about.define("event_current")
        spine = rows(
            db, "SELECT event_id, occurred_at FROM event_current ORDER BY occurred_at, event_id"
        )
        if not spine:
            raise DataRefused(f"no session {session_id!r} in this history")
        place = next((at for at, one in enumerate(spine) if one["event_id"] == turn), None)
        number = place // size if place is not None else chunk or 0
        number = min(number, (len(spine) - 1) // size)
        shown = [one["event_id"] for one in spine[number * size : (number + 1) * size]]
        listed = ", ".join(map(quoted, shown))
        about.load("events", f"{where} AND event_id IN ({listed})", *given, columns=SAID)
        sql = (
            "SELECT event_id, occurred_at, recorded_at, user_id, task_id, source, status, "
            "user_input, agent_answer, error, intent, topic FROM event_current "
            "ORDER BY occurred_at, event_id"
        )
        turns = rows(about.define("event_current"), sql)
        owners = {session_id, *(one["user_id"] for one in turns if one["user_id"])}
        changes = _changes(about, owners, shown, known)
        links, threads = _bonds(about, session_id, owners, listed, known)
    for one in turns:
        one["changes"] = changes.get(one["event_id"], [])
        one["replies_to"] = links.get(one["event_id"])
        one["threads"] = threads.get(one["event_id"], [])
    return {"turn_count": len(spine), "size": size, "chunk": number, "turns": turns}


def _changes(
    about: Lookup, owners: Collection[str], events: list[str], known: int
) -> dict[str, list[Json]]:
    """By turn: the revisions that rest on it, each at the newest turn that it names here."""
    about.load(
        "revisions", f"owner_id IN ({', '.join(map(quoted, sorted(owners)))}) "
        "AND epoch_us(recorded_at) <= ?", known, columns=CHANGED,
    )  # fmt: skip
    sql = (
        'SELECT entity_type, entity_id, kind, op, reason, "after", plan_id, evidence_event_ids '
        "FROM revisions WHERE list_has_any(evidence_event_ids, ?) "
        f"AND entity_type NOT IN {NOT_TOLD} ORDER BY owner_id, seq"
    )
    wanted, found = set(events), defaultdict[str, list[Json]](list)
    for row in rows(about.db, sql, events):
        cited = row.pop("evidence_event_ids")
        after = row.pop("after")
        row["text"] = text_of(row["entity_type"], msgspec.json.decode(after) if after else None)
        last = next(one for one in reversed(cited) if one in wanted)
        found[last].append(row)
    return found


def _bonds(
    about: Lookup, session_id: str, owners: Collection[str], events: str, known: int
) -> tuple[dict[str, Json], dict[str, list[str]]]:
    """By turn: what it replies to, and its threads."""
    whose = f"owner_id IN ({', '.join(map(quoted, sorted(owners)))}) AND epoch_us(recorded_at) <= ?"
    here = f"{whose} AND (session_id IS NULL OR session_id = ?)"
    about.load(
        "links", f"{whose} AND IF(provisional, owner_id = ?, session_id IS NULL OR session_id = ?)",
        known, session_id, session_id,
    )  # fmt: skip
    about.load("threads", here, known, session_id)
    db = about.define("link_current", "thread_current")
    replies = rows(
        db,
        "SELECT from_event_id, to_event_id, provisional FROM link_current "
        f"WHERE label = 'reply_to' AND from_event_id IN ({events})",
    )
    threads = defaultdict[str, list[str]](list)
    for row in rows(
        db,
        f"SELECT event_id, thread_key FROM thread_current WHERE event_id IN ({events}) ORDER BY 2",
    ):
        threads[row["event_id"]].append(row["thread_key"])
    return {
        one["from_event_id"]: {"event_id": one["to_event_id"], "provisional": one["provisional"]}
        for one in replies
    }, threads


# --- a user


def sessions(
    root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None = None
) -> list[Json]:
    """The sessions in which a user had spoken, the last one first: `turns` are theirs."""
    known = FAR if known_at is None else known_at
    with Lookup(root, tenant) as about:
        about.load(
            "events", "user_id = ? AND epoch_us(occurred_at) <= ? AND epoch_us(recorded_at) <= ?",
            user_id, as_of, known, columns=SPOKEN,
        )  # fmt: skip
        sql = (
            "SELECT session_id, count(DISTINCT event_id) AS turns, max(occurred_at) AS last_active "
            "FROM events WHERE session_id IS NOT NULL GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT ?"
        )
        return rows(about.db, sql, SESSIONS)


def ended(
    root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None = None
) -> list[Json]:
    """What was true of a user and is no more, the last ended first. `followed`: another version of
    the same state took its place."""
    known = FAR if known_at is None else known_at
    with Lookup(root, tenant) as about:
        load_revisions(about, "owner_id = ? AND entity_type = 'state'", user_id)
        sql = """
WITH version AS (
    SELECT *, CAST(state.valid_from AS TIMESTAMPTZ) AS begins,
        CAST(state.valid_to AS TIMESTAMPTZ) AS ends
    FROM state_revision WHERE epoch_us(learnt_at) <= ?
    QUALIFY row_number() OVER (PARTITION BY state_id, state.valid_from ORDER BY seq DESC) = 1
), bounded AS (
    SELECT *, lead(begins) OVER (PARTITION BY state_id ORDER BY begins) AS next_begins
    FROM version WHERE NOT gone
)
SELECT state_id, state.kind AS kind, state.body_text AS body_text, begins AS valid_from,
    least(ends, next_begins) AS ended_at,
    coalesce(next_begins <= coalesce(ends, next_begins), false) AS followed
FROM bounded
WHERE state.kind <> 'long_mood_state' AND epoch_us(least(ends, next_begins)) <= ?
ORDER BY ended_at DESC, state_id, valid_from DESC LIMIT ?"""
        return rows(about.define("state_revision"), sql, known, as_of, ENDED)


def moments(
    root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None = None
) -> list[Json]:
    """A user's newest moments of affect, oldest first."""
    known = FAR if known_at is None else known_at
    with Lookup(root, tenant) as about:
        about.load("affects", "user_id = ? AND epoch_us(recorded_at) <= ?", user_id, known)
        sql = (
            "SELECT occurred_at, event_id, session_id, v, a, d, text FROM affect_current "
            "WHERE epoch_us(occurred_at) <= ? ORDER BY occurred_at DESC, event_id LIMIT ?"
        )
        return rows(about.define("affect_current"), sql, as_of, MOMENTS)[::-1]


def mastery(
    root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None = None
) -> list[Json]:
    """A learner's scores by topic after each of the newest lessons with an answer, oldest first:
    each time the profile that the reference model makes of the lessons up to then."""
    known = FAR if known_at is None else known_at
    when = "user_id = ? AND epoch_us(occurred_at) <= ? AND epoch_us(recorded_at) <= ?"
    lessons: list[learner.Lesson] = []
    with Lookup(root, tenant) as about:
        for table, of, kind in (
            ("events", "status <> 'running'", Turn),
            ("signals", "scope = 'user'", Signal),
        ):
            found = about.rows(table, ("doc",), f"{of} AND {when}", user_id, as_of, known)
            lessons += [kind.model_validate_json(doc) for (doc,) in found]
    answered = {
        one.occurred_at for one in lessons
        if one.topic and one.metadata and one.metadata.correct_rate is not None
    }  # fmt: skip
    told = []
    for at in sorted(answered)[-LESSONS:]:
        profile = learner.profile(user_id, [one for one in lessons if one.occurred_at <= at])
        assert profile is not None
        told.append({"at": format_time(at), "scores": profile["mastery_score"]})
    return told


def steps(root: Location, tenant: str, owners: Collection[str]) -> Json:
    """The times at which something changed: `as_of` when it was said, `known_at` when it was
    learnt; the newest of each, oldest first."""
    with Lookup(root, tenant) as about:
        about.load(
            "revisions", f"owner_id IN ({', '.join(map(quoted, sorted(owners))) or 'NULL'})",
            columns=("tenant", "occurred_at", "recorded_at"),
        )  # fmt: skip
        found = {}
        for name, column in (("as_of", "occurred_at"), ("known_at", "recorded_at")):
            sql = f"SELECT DISTINCT {column} AS at FROM revisions ORDER BY 1 DESC LIMIT ?"
            found[name] = [one["at"] for one in rows(about.db, sql, STEPS)][::-1]
    return found
