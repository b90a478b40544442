"""`langgraph-postgres`: LangGraph's checkpoints in a PostgreSQL database, read through the saver's
own API. Needs the `langgraph-postgres` extra; `langgraph` describes the mapping of a thread.

The file contains a libpq connection string (`postgresql://…` or `host=… dbname=…`), which keeps
passwords out of the shell's history; missing parameters come from libpq's environment (PGHOST,
PGPASSWORD, PGSERVICE). The session is read-only, and sees one snapshot of the database.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.base import JsonObject
from streams.importers import json_stream, langgraph, openai_chat
from streams.importers.base import NOTHING, ImportDefaults, ImportFault, Skipped

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import DictRow

THREADS = """
SELECT thread_id FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id
ORDER BY min(checkpoint_id), thread_id
"""
"""Oldest first: the ids of checkpoints start with their times."""
CONNECT_SECONDS = 10


def read(path: Path, skipped: Skipped, defaults: ImportDefaults = NOTHING) -> Iterator[JsonObject]:
    """Reads the database's threads as input records, oldest thread first, one thread at a time."""
    with _connected(path) as connection:
        from langgraph.checkpoint.postgres import PostgresSaver

        saver = PostgresSaver(connection, serde=langgraph.serializer())
        threads = [row["thread_id"] for row in connection.execute(THREADS).fetchall()]
        yield from openai_chat.parse(langgraph.items(saver, threads, skipped), skipped, defaults)


@contextmanager
def _connected(path: Path) -> "Iterator[Connection[DictRow]]":
    """Connects to the database. Raises ImportFault if it is missing or has no checkpoints."""
    try:
        import psycopg
        from langgraph.checkpoint import postgres  # noqa: F401 - whether it is there
        from psycopg.rows import dict_row
    except ImportError:
        reason = (
            "LangGraph's PostgreSQL saver is not installed: install turnfold[langgraph-postgres]"
        )
        raise ImportFault(reason) from None
    with json_stream.open_text(path) as stream:
        uri = stream.read(json_stream.CHUNK).strip()
    if not uri.isprintable():  # bytes that are not UTF-8 come as half pairs
        raise ImportFault("expected one line with a connection string, as postgresql://HOST/NAME")
    try:
        with psycopg.connect(
            uri, row_factory=dict_row, connect_timeout=CONNECT_SECONDS, prepare_threshold=0
        ) as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            yield connection
    except psycopg.errors.UndefinedTable:
        reason = "the database has no table `checkpoints`: it is not one that PostgresSaver set up"
        raise ImportFault(reason) from None
    except psycopg.Error as error:
        detail = " ".join(str(error).split())
        raise ImportFault(f"PostgreSQL: {detail}") from None
