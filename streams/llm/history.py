"""Reads from a history the turns to extract, and the memory as of a time.

A turn is extracted when a plan, or a dead letter, of the same model and prompt names it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import wraps
from typing import ParamSpec, TypeVar

import msgspec
from _duckdb import DuckDBPyConnection, IOException

from schemas.memory_kinds import OF_USERS, REVISED, MemoryKind, Prompted
from schemas.time import format_time
from sinks.history import connect, document_type, read
from sinks.locations import Location
from sinks.views import STANDING_EVENT
from streams.extractors.registry import modules
from streams.llm.debounce import Group, Turn
from streams.llm.plans import Author
from streams.llm.prompted_memory import REPLACED, Remembered, Row
from streams.llm.replaced_plans import replaced_rows

P = ParamSpec("P")
T = TypeVar("T")
Key = tuple[str, str, str]
"""A turn: tenant, session, event."""

READ_AGAIN = 3

SAID = """
-- the models' plans, and their failures in dead letters
CREATE TEMP TABLE said AS
SELECT tenant, doc, NULL::TIMESTAMPTZ AS refused_at FROM (
    SELECT tenant, CAST(doc AS JSON) AS doc FROM plans WHERE recorded_at >= CAST(? AS TIMESTAMPTZ)
) WHERE (doc -> '$.extraction') IS NOT NULL
UNION ALL
SELECT tenant, doc, recorded_at FROM (
    SELECT tenant, TRY_CAST(TRY(decode(payload)) AS JSON) AS doc, recorded_at FROM dead_letters
    WHERE recorded_at >= CAST(? AS TIMESTAMPTZ)
) WHERE (doc -> '$.extraction') IS NOT NULL
"""
UNDONE = f"""
WITH done AS (
    SELECT tenant, doc ->> '$.session_id' AS session_id,
        unnest(TRY(from_json(doc -> '$.extraction.event_ids', '["VARCHAR"]'))) AS event_id
    FROM said WHERE (doc ->> '$.extractor.name') = ? AND (doc ->> '$.extractor.version') = ?
        AND (refused_at IS NULL OR refused_at >= CAST(? AS TIMESTAMPTZ))
), standing AS (
    SELECT * FROM (FROM events WHERE recorded_at >= CAST(? AS TIMESTAMPTZ)) e {STANDING_EVENT}
)
SELECT tenant, session_id, user_id, event_id, epoch_us(occurred_at), epoch_us(recorded_at), source
FROM standing ANTI JOIN done USING (tenant, session_id, event_id)
WHERE user_id IS NOT NULL AND status <> 'running' AND user_input SIMILAR TO '(?s).*\\S.*'
    AND source IN (SELECT unnest(?::VARCHAR[]))
ORDER BY recorded_at, src_topic, src_partition, src_offset LIMIT ?
"""
SPENT = """
-- a dead letter may have any content
SELECT TRY(epoch_us(TRY_CAST(doc ->> '$.extraction.made_at' AS TIMESTAMPTZ))) / 1e6 AS made,
    coalesce(TRY_CAST(doc ->> '$.extraction.prompt_tokens' AS UINTEGER), 0)::BIGINT
        + coalesce(TRY_CAST(doc ->> '$.extraction.completion_tokens' AS UINTEGER), 0),
    CASE WHEN isfinite(paid) AND paid > 0 THEN paid ELSE 0 END
FROM (SELECT doc, TRY_CAST(doc ->> '$.extraction.cost' AS DOUBLE) AS paid FROM said)
WHERE made >= ? ORDER BY made
"""
TEXTS = f"""
SELECT tenant, session_id, event_id, user_input, agent_answer FROM (
    SELECT e.* FROM events e SEMI JOIN wanted w
        ON w.tenant = e.tenant AND w.session_id = e.session_id AND w.event_id = e.event_id
) e {STANDING_EVENT}
"""
RESULTS = f"""
-- tool results in the tasks of these turns, each with the last turn of its task before it
WITH named AS (
    SELECT e.* FROM events e SEMI JOIN wanted w ON w.tenant = e.tenant
        AND w.session_id = e.session_id WHERE e.task_id IS NOT NULL
), turns AS (
    SELECT tenant, session_id, task_id, event_id, occurred_at AS since,
        lead(occurred_at) OVER task AS until, row_number() OVER task AS place
    FROM (SELECT e.* FROM named e {STANDING_EVENT})
    WINDOW task AS (PARTITION BY tenant, session_id, task_id ORDER BY occurred_at, event_id)
)
SELECT t.tenant, t.session_id, t.event_id,
    coalesce(r.doc ->> '$.result', CAST(r.doc -> '$.result' AS VARCHAR))
FROM turns t SEMI JOIN wanted w ON w.tenant = t.tenant AND w.session_id = t.session_id
        AND w.event_id = t.event_id
    JOIN tool_results r ON r.tenant = t.tenant AND r.session_id = t.session_id
        AND r.task_id = t.task_id AND (r.occurred_at >= t.since OR t.place = 1)
        AND (t.until IS NULL OR r.occurred_at < t.until)
WHERE (r.doc -> '$.result') IS NOT NULL
ORDER BY r.occurred_at, r.src_offset
"""
LEARNT_OF_USERS = f"""
-- of the users of `wanted`: a model's plan counts as learnt when the last of its turns was
-- recorded, however late the request was, so that the next turns' request shows it
CREATE TABLE revisions AS
WITH told AS (
    SELECT tenant, user_id AS owner_id, plan_id, doc ->> '$.session_id' AS session_id,
        unnest(from_json(doc -> '$.extraction.event_ids', '["VARCHAR"]')) AS event_id
    FROM (SELECT tenant, user_id, plan_id, CAST(doc AS JSON) AS doc FROM plans) p
    SEMI JOIN wanted w ON w.tenant = p.tenant AND w.owner_id = p.user_id
), said AS (
    SELECT tenant, t.owner_id, t.plan_id, max(e.recorded_at) AS told_at
    FROM told t JOIN events e USING (tenant, session_id, event_id) GROUP BY ALL
)
SELECT r.* REPLACE (coalesce(least(r.recorded_at, told_at), r.recorded_at) AS recorded_at)
FROM all_revisions r SEMI JOIN wanted USING (tenant, owner_id)
    LEFT JOIN said USING (tenant, owner_id, plan_id)
WHERE entity_type IN {OF_USERS}
"""
BY_RULES = """
-- the rules' plans of the turns of each group
SELECT w.number, p.doc FROM turns w JOIN plans p
    ON p.tenant = w.tenant AND p.user_id = w.owner_id AND p.event_id = w.event_id
    AND (CAST(p.doc AS JSON) ->> '$.session_id') = w.session_id
WHERE p.extractor_name IN (SELECT unnest(?::VARCHAR[])) ORDER BY w.number, p.event_id
"""
STATES = """
SELECT * FROM state_as_of(CAST(? AS TIMESTAMPTZ), CAST(? AS TIMESTAMPTZ))
WHERE tenant = ? AND owner_id = ? ORDER BY last_confirmed_at DESC, state_id
"""
LEARNT = """
-- of each group of `wanted`: its user's memory as known at its time
WITH learnt AS (
    SELECT tenant, owner_id, entity_id, seq, "after", max(recorded_at) OVER (
        PARTITION BY tenant, owner_id, entity_id ORDER BY seq ROWS UNBOUNDED PRECEDING
    ) AS learnt_at
    FROM revisions WHERE entity_type = '{kind}'
), known AS (
    SELECT number, entity_id, from_json("after", '{type}') AS document
    FROM wanted JOIN learnt USING (tenant, owner_id)
    WHERE learnt_at <= CAST(known_at AS TIMESTAMPTZ)
    QUALIFY row_number() OVER (PARTITION BY number, entity_id ORDER BY seq DESC) = 1
)
SELECT number, {fields} FROM known WHERE document IS NOT NULL AND {holds}
ORDER BY document.updated_at DESC, entity_id
"""


def _retried(reader: Callable[P, T]) -> Callable[P, T]:
    """Reads again if a file was merged into another one, or rewritten by an erasure."""

    @wraps(reader)
    def retried(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(READ_AGAIN - 1):
            with suppress(IOException):
                return reader(*args, **kwargs)
        return reader(*args, **kwargs)

    return retried


@_retried
def undone(
    root: Location,
    author: Author,
    sources: Collection[str],
    *,
    refused_since: int = 0,
    since: int = 0,
    most: int | None = None,
) -> list[Turn]:
    """Returns at most `most` turns to extract, in recording order, without texts: those recorded
    from `since` on (microseconds). Failures before `refused_since` are ignored."""
    with connect(root, views=["events", "plans", "dead_letters"]) as db:
        begin = format_time(since)
        db.execute(SAID, [begin, begin])
        refused = format_time(refused_since)
        parameters = [author.name, author.version, refused, begin, list(sources), most]
        return [Turn(*row) for row in db.execute(UNDONE, parameters).fetchall()]


@_retried
def spent_since(root: Location, since: float) -> list[tuple[float, int, float]]:
    """Returns (Unix seconds, tokens, cost) of the models' calls since a time."""
    with connect(root, views=["plans", "dead_letters"]) as db:
        begin = format_time(0)  # a plan is recorded with its turns, which may be old
        db.execute(SAID, [begin, begin])
        return db.execute(SPENT, [since]).fetchall()


@_retried
def with_texts(
    root: Location, groups: Sequence[Group], *, texts: bool = True
) -> list[Group | None]:
    """Adds the tool results of the turns' tasks to groups and, with `texts`, the texts of the
    turns; then also drops erased turns, and returns None for a group without any."""
    with connect(root, views=["events", "tool_results"]) as db:
        keys = [key_of(turn) for group in groups for turn in group.turns]
        _create_table(db, "tenant, session_id, event_id", keys)
        stored = {
            (tenant, session, event): (user_input, agent_answer)
            for tenant, session, event, user_input, agent_answer in db.execute(TEXTS).fetchall()
        }
        results: dict[Key, tuple[str, ...]] = defaultdict(tuple)
        for tenant, session, event, result in db.execute(RESULTS).fetchall():
            results[tenant, session, event] += (result,)

    def complete(turn: Turn) -> Turn:
        of_log = turn.user_input, turn.agent_answer
        user_input, agent_answer = stored[key_of(turn)] if texts else of_log
        return turn._replace(
            user_input=user_input, agent_answer=agent_answer, tool_results=results[key_of(turn)]
        )

    present = [
        [turn for turn in group.turns if not texts or key_of(turn) in stored] for group in groups
    ]
    return [Group(tuple(map(complete, turns))) if turns else None for turns in present]


def key_of(turn: Turn) -> Key:
    return turn.tenant, turn.session_id, turn.event_id


@_retried
def remembered(root: Location, groups: Sequence[Group]) -> list[Remembered]:
    """Returns the memory valid at each group's time, as known when its last turn was recorded."""
    if not groups:
        return []
    with connect(root, views=["state_as_of", "plans", "events"]) as db:
        owners = [
            (str(number), *group.owner, format_time(group.known_at))
            for number, group in enumerate(groups)
        ]
        _create_table(db, "number, tenant, owner_id, known_at", owners)
        # the views read `revisions`: with these users alone, each file is read once
        db.execute("ALTER VIEW revisions RENAME TO all_revisions")
        db.execute(LEARNT_OF_USERS)
        memories: list[Remembered] = [{"states": _states(db, group)} for group in groups]
        for kind in REVISED:
            if kind.prompted:
                for memory in memories:
                    memory[kind.prompted.name] = []
                for row in read(db, _learnt(kind, kind.prompted)).objects():
                    memories[int(row.pop("number"))][kind.prompted.name].append(row)
        _add_replaced(db, groups, memories)
        return memories


def _add_replaced(
    db: DuckDBPyConnection, groups: Sequence[Group], memories: list[Remembered]
) -> None:
    """Adds the rules' rows from these turns, which the model's plan replaces."""
    turns = [
        (str(number), turn.tenant, turn.user_id, turn.session_id, turn.event_id)
        for number, group in enumerate(groups)
        for turn in group.turns
    ]
    _create_table(db, "number, tenant, owner_id, session_id, event_id", turns, "turns")
    for number, plan in db.execute(BY_RULES, [list(modules())]).fetchall():
        rows = replaced_rows(msgspec.json.decode(plan))
        memories[int(number)].setdefault(REPLACED, []).extend(rows)


def _learnt(kind: MemoryKind, prompted: Prompted) -> str:
    fields = ", ".join(f"document.{name} AS {name}" for name in prompted.fields)
    holds = f"document.status <> '{kind.ended}'" if kind.ended else "true"
    return LEARNT.format(kind=kind.name, type=document_type(kind.name), fields=fields, holds=holds)


def _states(db: DuckDBPyConnection, group: Group) -> list[Row]:
    at, known_at = format_time(group.valid_at), format_time(group.known_at)
    return read(db, STATES, at, known_at, *group.owner).objects()


def _create_table(
    db: DuckDBPyConnection, columns: str, rows: Sequence[tuple[str, ...]], name: str = "wanted"
) -> None:
    lists = [list(column) for column in zip(*rows, strict=True)]
    values = ", ".join("unnest(?::VARCHAR[])" for _ in lists)
    db.execute(f"CREATE TABLE {name} AS SELECT * FROM (SELECT {values}) AS t({columns})", lists)


Shown = tuple[Group, Remembered] | None
"""A group with its texts, and the memory that its request shows; None if its turns were erased."""


def shown(root: Location, groups: Sequence[Group], *, texts: bool = True) -> list[Shown]:
    """Reads what requests show. `texts`: including those of the turns, as in `with_texts`."""
    complete = with_texts(root, groups, texts=texts)
    memory = iter(remembered(root, [group for group in complete if group]))
    return [(group, next(memory)) if group else None for group in complete]


class Reader:
    """Batches reads for requests: all groups that wait at the same time are read at once. `loader`:
    returns the data of each group, in order."""

    def __init__(self, loader: Callable[[list[Group]], list[Shown]]) -> None:
        self._read = loader
        self._waiting: list[tuple[Group, asyncio.Future[Shown]]] = []
        self._lock = asyncio.Lock()

    async def __call__(self, group: Group) -> Shown:
        """Returns the data of a group. Raises the errors of `loader`."""
        reply: asyncio.Future[Shown] = asyncio.get_running_loop().create_future()
        self._waiting.append((group, reply))
        async with self._lock:
            if not reply.done():
                batch, self._waiting = self._waiting, []
                try:
                    data = await asyncio.to_thread(self._read, [group for group, _ in batch])
                except BaseException:  # the other tasks read again
                    self._waiting += [entry for entry in batch if entry[1] is not reply]
                    raise
                for (_, waiter), memory in zip(batch, data, strict=True):
                    waiter.set_result(memory)
        return reply.result()
