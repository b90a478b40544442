"""What two generations remember differently: counted by kind, with samples and their evidence.

Each kind of memory is a relation of key, content and the events it rests on, made from the views of
either history and joined in DuckDB. Revisions are compared first, by a hash an entity: only those
of entities whose revisions differ are decoded.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import _duckdb
import msgspec
from _duckdb import DuckDBPyConnection

from sinks.history import SETTINGS, define, quoted
from sinks.root import HistoryError

MEMORY_LIMIT = "1GB"
SIDES = ("a", "b")


def _time(column: str) -> str:
    """SQL of a time as RFC 3339 text."""
    fraction = f"CASE WHEN epoch_us({column}) % 1000000 = 0 THEN 'Z' ELSE '.%fZ' END"
    return f"{column}: strftime({column}, '%Y-%m-%dT%H:%M:%S' || {fraction})"


STATE = f"""to_json({{kind: kind, body_text: body_text, payload: CAST(payload AS JSON),
    confidence: confidence, {_time("valid_from")}, {_time("valid_to")},
    {_time("last_confirmed_at")}, status: status, evidence_event_ids: evidence_event_ids}})"""


class Kind(NamedTuple):
    """One kind of memory: `content` and `evidence` are SQL over `relation`, `keys` its columns.

    `kind` is SQL of what it is counted by. Where `same_if` is given, a row that is gone and one
    that was added are the same if these columns say the same: ids may differ by generation.
    """

    relation: str
    keys: tuple[str, ...]
    content: str
    kind: str
    evidence: str = "CAST([] AS VARCHAR[])"
    same_if: tuple[str, ...] = ()


def _fields(*names: str) -> str:
    return "to_json({" + ", ".join(f"{name}: {name}" for name in names) + "})"


def _with_sessions(view: str) -> str:
    """A view whose session may not be known: a key joins by what it has, not by NULL."""
    return f"(SELECT * REPLACE (coalesce(session_id, '') AS session_id) FROM {view})"


KINDS = (
    Kind(
        "(FROM state_current WHERE kind <> 'long_mood_state')",
        ("tenant", "owner_id", "state_id"),
        STATE,
        "'state/' || kind",
        "evidence_event_ids",
        ("tenant", "owner_id"),
    ),
    Kind(
        "preference_current",
        ("tenant", "owner_id", "preference_id"),
        _fields("domain", "polarity", "subject", "status", "confidence", "note",
                "evidence_event_ids"),
        "'preference'",
        "evidence_event_ids",
        ("tenant", "owner_id"),
    ),
    Kind("mood_current", ("tenant", "owner_id"), STATE, "'mood'", "evidence_event_ids"),
    Kind(
        _with_sessions("affect_current"),
        ("tenant", "user_id", "session_id", "event_id"),
        _fields("v", "a", "d", "text", "labels", "confidence"),
        "'affect'",
        "[event_id]",
    ),
    Kind("profile_current", ("tenant", "user_id"), "CAST(doc AS JSON)", "'profile'"),
    Kind(
        "session_current",
        ("tenant", "session_id"),
        """json_merge_patch(doc, '{"session_memory": null}')""",
        "'session'",
    ),
    Kind(
        """(SELECT tenant, session_id, item ->> '$.id' AS item_id, item FROM (
            SELECT tenant, session_id, unnest(CAST(doc -> '$.session_memory' AS JSON[])) AS item
            FROM session_current))""",
        ("tenant", "session_id", "item_id"),
        "item",
        "'session memory/' || (item ->> '$.type')",
        "CAST(item -> '$.evidence' AS VARCHAR[])",
    ),
    Kind("task_current", ("tenant", "session_id", "task_id"), "CAST(doc AS JSON)", "'task'"),
    Kind(
        _with_sessions("link_current"),
        ("tenant", "owner_id", "session_id", "from_event_id", "to_event_id", "label",
         "provisional"),
        _fields("confidence"),
        "'link/' || label",
        "[from_event_id, to_event_id]",
    ),
    Kind(
        _with_sessions("thread_current"),
        ("tenant", "owner_id", "thread_key", "session_id", "event_id"),
        _fields("confidence"),
        "'thread'",
        "[event_id]",
    ),
)  # fmt: skip
VIEWS = (
    "revisions", "events", "state_current", "preference_current", "mood_current", "affect_current",
    "profile_current", "session_current", "task_current", "link_current", "thread_current",
)  # fmt: skip

CHANGES = """
CREATE TABLE changes (
    kind VARCHAR, change VARCHAR, key JSON, before JSON, after JSON, evidence VARCHAR[]
);
CREATE TABLE sames (kind VARCHAR, same BIGINT)
"""

REVISED = """
CREATE TABLE revised AS
WITH a AS ({0}), b AS ({1})
SELECT tenant, owner_id, entity_type, entity_id, coalesce(a.kind, b.kind) AS kind,
    a.print IS NOT DISTINCT FROM b.print AS same, coalesce(a.gone, b.gone) AS gone
FROM a FULL JOIN b USING (tenant, owner_id, entity_type, entity_id)
"""
PRINT = """
SELECT tenant, owner_id, entity_type, entity_id, arg_max(kind, seq) AS kind,
    arg_max("after" IS NULL, seq) AS gone,
    sum(hash(op, "before", "after", evidence_event_ids)) AS print
FROM {side}.revisions WHERE entity_type IN ('state', 'preference') GROUP BY ALL
"""


def diff(one: Path, other: Path, *, samples: int, tenant: str | None = None) -> dict[str, Any]:
    """{"kinds": [{kind, added, gone, changed, same}], "samples": [{kind, change, key, before,
    after, evidence: [{event_id, text}]}]}: what `other` has that `one` has not, and so on.

    Up to so many `samples` of each kind and change. Raises HistoryError.
    """
    with both(one, other, VIEWS, tenant) as db:
        db.execute(CHANGES)
        _compare_revisions(db)
        for kind in KINDS:
            _compare(db, kind)
        return {"kinds": _counts(db), "samples": [] if not samples else _samples(db, samples)}


@contextmanager
def both(
    one: Path, other: Path, views: Sequence[str], tenant: str | None = None
) -> Iterator[DuckDBPyConnection]:
    """These views of both histories, in the schemas `a` and `b`. Raises HistoryError."""
    with TemporaryDirectory() as spilled, _duckdb.connect(f"{spilled}/diff.duckdb") as db:
        db.execute(SETTINGS)
        db.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        db.execute(f"SET temp_directory = {quoted(spilled)}")
        db.execute("SET preserve_insertion_order = false")
        try:
            for side, folder in zip(SIDES, (one, other), strict=True):
                db.execute(f"CREATE SCHEMA {side}; SET schema = '{side}'")
                define(db, folder, views, tenant=tenant)
            db.execute("SET schema = 'main'")
            yield db
        except _duckdb.Error as error:
            raise HistoryError(f"{one}, {other}: {error}") from error


def _compare_revisions(db: DuckDBPyConnection) -> None:
    """Leaves in both `revisions` only those of entities whose revisions differ."""
    db.execute(REVISED.format(*(PRINT.format(side=side) for side in SIDES)))
    db.execute("""
        INSERT INTO sames SELECT
            CASE WHEN entity_type = 'preference' THEN 'preference'
            WHEN kind = 'long_mood_state' THEN 'mood' ELSE 'state/' || kind END, count(*)
        FROM revised WHERE same AND NOT gone GROUP BY ALL
    """)
    for side in SIDES:
        db.execute(f"""
            SET schema = '{side}';
            ALTER VIEW revisions RENAME TO every_revision;
            CREATE VIEW revisions AS SELECT r.* FROM every_revision r SEMI JOIN (
                FROM main.revised WHERE NOT same
            ) d ON d.tenant = r.tenant AND d.owner_id = r.owner_id
                AND d.entity_type = r.entity_type AND d.entity_id = r.entity_id;
            SET schema = 'main'
        """)


def _compare(db: DuckDBPyConnection, kind: Kind) -> None:
    for side in SIDES:
        db.execute(f"""
            SET schema = '{side}';
            CREATE TABLE side AS SELECT {", ".join(kind.keys)}, {kind.kind} AS kind,
                {kind.content} AS content, {kind.evidence} AS evidence
            FROM {kind.relation};
            SET schema = 'main'
        """)
    key = "{" + ", ".join(f"{name}: {name}" for name in kind.keys) + "}"
    join = f"a.side a FULL JOIN b.side b USING ({', '.join(kind.keys)})"
    db.execute(f"""
        INSERT INTO sames SELECT a.kind, count(*) FROM {join}
        WHERE CAST(a.content AS VARCHAR) = CAST(b.content AS VARCHAR) GROUP BY a.kind;
        CREATE TABLE found AS SELECT coalesce(b.kind, a.kind) AS kind,
            CASE WHEN a.content IS NULL THEN 'added' WHEN b.content IS NULL THEN 'gone'
                ELSE 'changed' END AS change,
            to_json({key}) AS key, a.content AS before, b.content AS after,
            coalesce(b.evidence, a.evidence) AS evidence,
            {" || '/' || ".join(kind.same_if) or "''"} AS owner
        FROM {join}
        WHERE CAST(a.content AS VARCHAR) IS DISTINCT FROM CAST(b.content AS VARCHAR)
    """)
    if kind.same_if:
        _pair(db)
    db.execute("""
        INSERT INTO changes SELECT * EXCLUDE (owner) FROM found;
        DROP TABLE found; DROP TABLE a.side; DROP TABLE b.side
    """)


def _pair(db: DuckDBPyConnection) -> None:
    """What is gone under one id and came under another, saying the same, is no change."""
    db.execute("""
        CREATE TABLE pairs AS
        WITH loose AS (
            SELECT *, CAST(coalesce(before, after) AS VARCHAR) AS content, row_number() OVER (
                PARTITION BY owner, change, CAST(coalesce(before, after) AS VARCHAR)
                ORDER BY CAST(key AS VARCHAR)
            ) AS number
            FROM found WHERE change <> 'changed'
        )
        SELECT gone.key AS gone, added.key AS added, gone.kind FROM loose gone JOIN loose added
            ON gone.change = 'gone' AND added.change = 'added' AND gone.owner = added.owner
            AND gone.content = added.content AND gone.number = added.number;
        INSERT INTO sames SELECT kind, count(*) FROM pairs GROUP BY ALL;
        DELETE FROM found WHERE change = 'gone' AND key IN (SELECT gone FROM pairs);
        DELETE FROM found WHERE change = 'added' AND key IN (SELECT added FROM pairs);
        DROP TABLE pairs
    """)


def _counts(db: DuckDBPyConnection) -> list[dict[str, Any]]:
    sql = """
        WITH counted AS (
            SELECT kind, change, count(*) AS n FROM changes GROUP BY ALL
            UNION ALL SELECT kind, 'same', same FROM sames
        )
        SELECT kind, coalesce(sum(n) FILTER (change = 'added'), 0)::BIGINT,
            coalesce(sum(n) FILTER (change = 'gone'), 0)::BIGINT,
            coalesce(sum(n) FILTER (change = 'changed'), 0)::BIGINT,
            coalesce(sum(n) FILTER (change = 'same'), 0)::BIGINT
        FROM counted GROUP BY kind ORDER BY kind
    """
    names = ("kind", "added", "gone", "changed", "same")
    return [dict(zip(names, row, strict=True)) for row in db.execute(sql).fetchall()]


def _samples(db: DuckDBPyConnection, most: int) -> list[dict[str, Any]]:
    """The first few of each kind and change by key, with what was said in their evidence."""
    found = db.execute(f"""
        SELECT kind, change, key, before, after, evidence FROM changes
        QUALIFY row_number() OVER (
            PARTITION BY kind, change ORDER BY CAST(key AS VARCHAR)
        ) <= {most}
        ORDER BY kind, change, CAST(key AS VARCHAR)
    """).fetchall()
    texts = _texts(db, {(_json(key)["tenant"], one) for *_, key, _, _, ids in found for one in ids})
    names = ("kind", "change", "key", "before", "after")
    return [
        dict(zip(names, (kind, change, *map(_json, documents)), strict=True))
        | {"evidence": [
            {"event_id": one, "text": texts.get((_json(documents[0])["tenant"], one))}
            for one in ids
        ]}
        for kind, change, *documents, ids in found
    ]  # fmt: skip


def _json(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


def _texts(db: DuckDBPyConnection, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(tenant, event id) -> what the user said there, else the answer."""
    if not wanted:
        return {}
    ids = ", ".join(quoted(event_id) for _, event_id in sorted(wanted))
    said = " UNION ALL ".join(
        f"SELECT tenant, event_id, coalesce(nullif(user_input, ''), agent_answer) "
        f"FROM {side}.events WHERE event_id IN ({ids})"
        for side in SIDES
    )
    return {(tenant, one): text for tenant, one, text in db.execute(said).fetchall()}
