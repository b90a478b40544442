"""The two loops that are set against each other: Turnfold's `run`, and the least one could do."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from benchmarks.common import no_collector
from schemas.base import DAY, parse_time
from sinks.tables import SCHEMAS, Rows, to_arrow
from streams.files import file_runner

PIECE = 8192
NOTHING = msgspec.Raw()


class Turn(msgspec.Struct, gc=False):
    """What a turn's line says, in the columns of `events`; `metadata` stays text."""

    event_id: str
    session_id: str
    occurred_at: str
    user_id: str | None = None
    client_id: str | None = None
    task_id: str | None = None
    source: str = "chat"
    user_input: str = ""
    agent_answer: str = ""
    status: str = "done"
    error: str | None = None
    intent: str | None = None
    topic: str | None = None
    artifact: str | None = None
    tenant: str = "default"
    metadata: msgspec.Raw = NOTHING


def fold(file: str, history: str) -> dict[str, Any]:
    """`turnfold run FILE --history HISTORY`: its counts."""
    return file_runner.run([file], history)


def bare(file: str, out: str) -> int:
    """Decodes the lines and writes the columns of `events` to one Parquet file; answers how many.

    No validation, no fold, no duplicates, no other table, no commit.
    """
    done = 0
    schema = SCHEMAS["events"]
    with (
        no_collector(),
        Path(file).open("rb") as lines,
        pq.ParquetWriter(out, schema, compression="zstd", compression_level=1) as writer,
    ):
        for rows in _pieces(_rows(lines, file)):
            writer.write_table(to_arrow("events", rows))
            done += len(rows)
    return done


def _pieces(rows: Iterator[tuple[Any, ...]]) -> Iterator[Rows]:
    while piece := list(islice(rows, PIECE)):
        yield piece


def _rows(lines: Iterable[bytes], file: str) -> Iterator[tuple[Any, ...]]:
    decode = msgspec.json.Decoder(Turn).decode
    for number, line in enumerate(lines, 1):
        turn = decode(line)
        at = parse_time(turn.occurred_at)
        yield (
            turn.event_id,
            turn.session_id,
            turn.user_id,
            turn.client_id,
            turn.task_id,
            turn.source,
            at,
            turn.user_input,
            turn.agent_answer,
            turn.status,
            turn.error,
            turn.intent,
            turn.topic,
            turn.artifact,
            None,  # difficulty, correct_rate and image_summaries: SGD has none
            None,
            (),
            bytes(turn.metadata).decode() or None,
            None,
            line[:-1].decode(),
            turn.tenant,
            at,
            file,
            0,
            number,
            at // DAY,
        )
