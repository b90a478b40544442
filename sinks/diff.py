"""Compares the memory of two generations: counts per kind, and samples with their evidence.

Each kind of memory (`schemas/memory_kinds.py`) is a relation of key, content and evidence events,
from the views of either history, joined in DuckDB. Revisions are compared first, by a hash per
entity: only entities with different revisions are decoded.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import _duckdb
import msgspec
from _duckdb import DuckDBPyConnection

from schemas.memory_kinds import MEMORY_KINDS, OF_USERS, REVISED, STATE, MemoryKind
from sinks.history import SETTINGS, WATCH, define, quoted
from sinks.history_root import HistoryError
from sinks.locations import Location
from sinks.scratch import scratch
from sinks.store_errors import of_duckdb
from sinks.views import MEMORY_VIEWS

MEMORY_LIMIT = "1GB"
SIDES = ("a", "b")
UNKNOWN_EVENT: dict[str, str | None] = {"session_id": None, "text": None}
"""Text of an event that is missing in both histories."""
JSON_TEXT = ("doc", "payload")
"""Columns with JSON text."""
RELATIONS = {
    "session": """(SELECT * REPLACE (json_merge_patch(doc, '{"session_memory": null}') AS doc)
        FROM session_current)""",
    "session_memory": """(SELECT tenant, session_id, item ->> '$.id' AS item_id,
        item ->> '$.type' AS type, CAST(item -> '$.evidence' AS VARCHAR[]) AS evidence, item AS doc
        FROM (
            SELECT tenant, session_id, unnest(CAST(doc -> '$.session_memory' AS JSON[])) AS item
            FROM session_current))""",
    "state": "(FROM state_current WHERE kind <> 'long_mood_state')",
}
"""Relations of kinds that differ from their view: they leave out the parts that are other kinds."""
VIEWS = ("revisions", "events", *MEMORY_VIEWS)

CHANGES = """
CREATE TABLE changes (
    kind VARCHAR, change VARCHAR, key JSON, before JSON, after JSON, evidence VARCHAR[],
    evidence_before VARCHAR[]
);
CREATE TABLE sames (kind VARCHAR, same BIGINT)
"""

SAME_REVISIONS = """
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
FROM {side}.revisions WHERE entity_type IN {kinds} GROUP BY ALL
"""

STANDING_STATES = """
-- states whose last revision removed a version, while another version is in force
UPDATE revised SET gone = false FROM (
    SELECT tenant, owner_id, entity_id FROM (
        SELECT r.tenant, r.owner_id, r.entity_id, arg_max(r."after" IS NULL, r.seq) AS gone
        FROM a.revisions r SEMI JOIN (
            FROM revised WHERE same AND gone AND entity_type = 'state'
        ) d ON d.tenant = r.tenant AND d.owner_id = r.owner_id AND d.entity_id = r.entity_id
        WHERE r.entity_type = 'state'
        GROUP BY r.tenant, r.owner_id, r.entity_id,
            CAST(coalesce(r."after", r."before") AS JSON) ->> '$.valid_from'
    ) GROUP BY ALL HAVING NOT bool_and(gone)
) standing
WHERE revised.entity_type = 'state' AND revised.tenant = standing.tenant
    AND revised.owner_id = standing.owner_id AND revised.entity_id = standing.entity_id
"""


def diff(
    first: Location,
    second: Location,
    *,
    samples: int,
    tenant: str | None = None,
    kind: str | None = None,
) -> dict[str, Any]:
    """{"kinds": [{kind, added, gone, changed, same}], "samples": [{kind, change, key, before,
    after, evidence: [{event_id, session_id, text}], fallen_evidence: [event_id]}]}: `added` is only
    in `second`, `gone` only in `first`; evidence has fallen that only `first` has.

    Returns up to `samples` of each kind and change; with `kind` of that kind alone. Raises
    HistoryError.
    """
    with open_both(first, second, VIEWS, tenant) as db:
        db.execute(CHANGES)
        _compare_revisions(db)
        for memory_kind in MEMORY_KINDS:
            _compare(db, memory_kind)
        changes = _samples(db, samples, kind) if samples else []
        return {"kinds": _counts(db), "samples": changes}


@contextmanager
def open_both(
    first: Location, second: Location, views: Sequence[str], tenant: str | None = None
) -> Iterator[DuckDBPyConnection]:
    """Connection with these views of both histories, in the schemas `a` and `b`. Raises
    HistoryError."""
    with scratch() as spilled, _duckdb.connect(f"{spilled}/diff.duckdb") as db:
        if watch := WATCH.get():
            watch(db)
        db.execute(SETTINGS)
        db.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        db.execute(f"SET temp_directory = {quoted(str(spilled))}")
        db.execute("SET preserve_insertion_order = false")
        try:
            for side, folder in zip(SIDES, (first, second), strict=True):
                db.execute(f"CREATE SCHEMA {side}; SET schema = '{side}'")
                define(db, folder, views, tenant=tenant)
            db.execute("SET schema = 'main'")
            yield db
        except _duckdb.Error as error:
            if (failure := of_duckdb(error)) is not None:
                raise failure from None
            raise HistoryError(f"{first}, {second}: {error}") from error


def _compare_revisions(db: DuckDBPyConnection) -> None:
    """Limits both `revisions` views to entities with different revisions."""
    prints = (PRINT.format(side=side, kinds=OF_USERS) for side in SIDES)
    db.execute(SAME_REVISIONS.format(*prints))
    db.execute(STANDING_STATES)
    counted = " ".join(
        f"WHEN '{kind.name}' THEN {_counted(kind, 'kind')}" for kind in (STATE, *REVISED)
    )
    db.execute(f"""
        INSERT INTO sames SELECT
            IF(entity_type = 'state' AND kind = 'long_mood_state', 'mood',
                CASE entity_type {counted} END), count(*)
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


def _counted(kind: MemoryKind, column: str) -> str:
    """SQL of the name under which a kind is counted; `column` splits the kind into several."""
    name = kind.name.replace("_", " ")
    return f"'{name}/' || {column}" if kind.counted_by else f"'{name}'"


def _content(db: DuckDBPyConnection, kind: MemoryKind, relation: str) -> str:
    """SQL of the compared content: one document, or an object of some columns."""
    if kind.compared == ("doc",):
        return _value("doc", "VARCHAR")
    types = {name: type_ for name, type_, *_ in db.execute(f"DESCRIBE FROM {relation}").fetchall()}
    values = (f"{name}: {_value(name, types[name])}" for name in kind.compared)
    return f"to_json({{{', '.join(values)}}})"


def _value(column: str, type_: str) -> str:
    """SQL of a column's value: JSON as JSON, times as RFC 3339 text."""
    if column in JSON_TEXT:
        return f"CAST({column} AS JSON)"
    if type_ != "TIMESTAMP WITH TIME ZONE":
        return column
    fraction = f"CASE WHEN epoch_us({column}) % 1000000 = 0 THEN 'Z' ELSE '.%fZ' END"
    return f"strftime({column}, '%Y-%m-%dT%H:%M:%S' || {fraction})"


def _compare(db: DuckDBPyConnection, kind: MemoryKind) -> None:
    relation = RELATIONS.get(kind.name, kind.view)
    # session_id may be NULL, which does not join
    keys = ("coalesce(session_id, '') AS session_id" if name == "session_id" else name
            for name in kind.key)  # fmt: skip
    key_columns = ", ".join(keys)
    for side in SIDES:
        db.execute(f"SET schema = '{side}'")
        db.execute(f"""
            CREATE TABLE side AS SELECT {key_columns}, {_counted(kind, kind.counted_by)} AS kind,
                {_content(db, kind, relation)} AS content,
                CAST({kind.evidence} AS VARCHAR[]) AS evidence
            FROM {relation};
            SET schema = 'main'
        """)
    key = "{" + ", ".join(f"{name}: {name}" for name in kind.key) + "}"
    join = f"a.side a FULL JOIN b.side b USING ({', '.join(kind.key)})"
    db.execute(f"""
        INSERT INTO sames SELECT a.kind, count(*) FROM {join}
        WHERE CAST(a.content AS VARCHAR) = CAST(b.content AS VARCHAR) GROUP BY a.kind;
        CREATE TABLE found AS SELECT coalesce(b.kind, a.kind) AS kind,
            CASE WHEN a.content IS NULL THEN 'added' WHEN b.content IS NULL THEN 'gone'
                ELSE 'changed' END AS change,
            to_json({key}) AS key, a.content AS before, b.content AS after,
            coalesce(b.evidence, a.evidence) AS evidence,
            coalesce(a.evidence, []) AS evidence_before,
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
    """Counts an entity as unchanged if only its id differs."""
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


def _samples(db: DuckDBPyConnection, limit: int, kind: str | None) -> list[dict[str, Any]]:
    """The first changes of each kind and change by key, with the text of their evidence."""
    changes = db.execute(
        f"""
        SELECT kind, change, key, before, after, evidence, evidence_before FROM changes
        WHERE ?1 IS NULL OR kind = ?1
        QUALIFY row_number() OVER (
            PARTITION BY kind, change ORDER BY CAST(key AS VARCHAR)
        ) <= {limit}
        ORDER BY kind, change, CAST(key AS VARCHAR)
    """,
        [kind],
    ).fetchall()
    texts = _texts(
        db,
        {(_json(key)["tenant"], event_id) for *_, key, _, _, ids, _ in changes for event_id in ids},
    )
    names = ("kind", "change", "key", "before", "after")
    return [
        dict(zip(names, (change_kind, change, *map(_json, documents)), strict=True))
        | {"evidence": [
            {"event_id": id, **texts.get((_json(documents[0])["tenant"], id), UNKNOWN_EVENT)}
            for id in ids
        ], "fallen_evidence": [id for id in ids_before if id not in ids]}
        for change_kind, change, *documents, ids, ids_before in changes
    ]  # fmt: skip


def _json(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


def _texts(
    db: DuckDBPyConnection, keys: set[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, str | None]]:
    """(tenant, event id) -> session_id and text: the user's input, otherwise the answer."""
    if not keys:
        return {}
    ids = ", ".join(quoted(event_id) for _, event_id in sorted(keys))
    sql = " UNION ALL ".join(
        f"SELECT tenant, event_id, session_id, coalesce(nullif(user_input, ''), agent_answer) "
        f"FROM {side}.events WHERE event_id IN ({ids})"
        for side in SIDES
    )
    return {
        (tenant, id): {"session_id": session_id, "text": text}
        for tenant, id, session_id, text in db.execute(sql).fetchall()
    }
