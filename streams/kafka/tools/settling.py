"""Settles dead letters: each gets a second row with `settled_at` (docs/operations.md).

The row is stored with the letter: in the topic `dead-letters`, from which sinks copy it, or in the
tables of a history that `run` or `serve` writes. It has the letter's ids, so an erasure finds both.
"""

import time
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from typing import Any

from schemas.generated.history import DeadLetter, Source, stored
from schemas.row import replace
from schemas.time import DAY
from sinks.history_root import is_shared
from sinks.locations import Location
from sinks.tables import to_arrow
from streams.files.commit import Batches
from streams.files.open_generation import writing
from streams.kafka.agents.encoding import ROW_ENCODERS
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.dead_letters import Letter
from streams.kafka.tools.produce import Feed
from streams.topology import DEAD_LETTERS


def unsettled(letters: Iterable[Letter], all_letters: Iterable[Letter]) -> list[Letter]:
    """The unsettled letters, with their rejected replays in `all_letters`."""
    selected = {letter.place: letter for letter in letters}
    replays = {letter.place: letter for letter in all_letters if letter.original in selected}
    return [letter for letter in {**selected, **replays}.values() if not letter.is_settled]


async def settle(
    letters: Sequence[Letter], history: Location | None, settings: KafkaSettings
) -> None:
    """Settles letters of a history, or of the topic without one. Raises Unreachable, and
    ConfigurationError if another process writes the history."""
    now = time.time_ns() // 1000
    rows = [(_row(letter, now), letter) for letter in letters]
    if not rows:
        return
    if history is None or is_shared(history):
        async with Feed(settings, topics=(DEAD_LETTERS,)) as feed:
            for row, letter in rows:
                await _send(feed, row, letter)
            await feed.flush()
        return
    columns = to_arrow(DeadLetter.table, [stored(row, *_source_of(letter)) for row, letter in rows])
    with writing(history, borrow=True) as (store, tables):
        Batches(store, tables).commit({DeadLetter.table: [columns]}, [])


async def _send(feed: Feed, row: DeadLetter, letter: Letter) -> None:
    payload: Any = urlsafe_b64encode(row.payload).decode()  # as in the models
    value = ROW_ENCODERS[row.table](replace(row, payload=payload), *_source_of(letter))
    key = None if letter.key is None else letter.key.encode()
    await feed.send(
        DEAD_LETTERS.name, key, value, [("table", row.table.encode())], letter.src_topic
    )


def _row(letter: Letter, now: int) -> DeadLetter:
    return DeadLetter(
        reason=letter.reason,
        detail=letter.detail,
        payload=letter.payload,
        key=letter.key,
        headers=letter.headers,
        settled_at=now,
    )


def _source_of(letter: Letter) -> tuple[Source, int]:
    """Its position, and the time that dates it."""
    place = letter.src_topic, letter.src_partition, letter.src_offset
    return Source(letter.tenant, letter.recorded_at, *place), letter.day * DAY
