"""Messages as workers write them into `history` and `dead-letters`, from a file runner's rows."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from schemas.export import full_row
from schemas.rows import TABLES
from schemas.time import EPOCH
from sinks.delta import History
from sinks.tables import COLUMNS
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.topology import DEAD_LETTERS, HISTORY

PARTITIONS = 4


class Message(NamedTuple):
    """One row on its way."""

    topic: str
    partition: int
    value: bytes
    headers: list[tuple[str, bytes]]


def message(table: str, row: dict[str, Any], partition: int, ordinal: int) -> Message:
    """A row by its columns, as the wire models write it (schemas.export.full_row)."""
    model = full_row(table).model_construct(**row)
    headers = {
        "table": table,
        "src_topic": row["src_topic"],
        "src_partition": row["src_partition"],
        "src_offset": row["src_offset"],
        "ordinal": ordinal,
    }
    topic = DEAD_LETTERS if table == "dead_letters" else HISTORY
    encoded = [(name, str(value).encode()) for name, value in headers.items()]
    return Message(topic.name, partition, model.model_dump_json().encode(), encoded)


def messages(history: Path) -> list[Message]:
    """Every row of a history, in the order of its records; what a session says in one partition."""
    with History(history) as tables:
        found = [
            (name, row) for name, table in tables.tables().items() for row in _rows(name, table)
        ]
    found.sort(key=lambda one: (one[1]["src_offset"], list(TABLES).index(one[0])))
    return [
        message(name, row, _partition(row), ordinal) for ordinal, (name, row) in enumerate(found)
    ]


def _rows(name: str, table: Any) -> Iterator[dict[str, Any]]:
    columns = table.to_pyarrow_table().select(COLUMNS[name])
    for row in columns.to_pylist():
        plain = {key: _plain(value) for key, value in row.items()}
        yield {**plain, "date": (row["date"] - EPOCH.date()).days}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return value


def _partition(row: dict[str, Any]) -> int:
    owner = row.get("session_id") or row.get("owner_id") or row.get("user_id") or ""
    return sum(owner.encode()) % PARTITIONS


async def send(settings: KafkaSettings, given: Iterable[Message], transaction: int = 500) -> None:
    """Writes messages in transactions of so many, as a lane does."""
    every = list(given)
    async with KafkaProducer(transactional_id="test-history", **settings.client()) as producer:
        for first in range(0, len(every), transaction):
            async with producer.transaction():
                for one in every[first : first + transaction]:
                    await producer.send(
                        one.topic, one.value, partition=one.partition, headers=one.headers
                    )
