"""What stands between the transport and the folds: records in, a batch of changes out.

The transport knows nothing of folds. It hands a lane's processor raw records, writes the batch it
gets back in one Kafka transaction, and says whether that transaction stands.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from streams.kafka.client.aiokafka_internals import RawRecord
from streams.kafka.transport.rows import MemoryRows, RowStore
from streams.kafka.transport.rows import Row as Row
from streams.quota import NO_QUOTA, Quota

SESSION_TIMEOUT = 10.0
"""Seconds without a sign of life from a worker until the others get its partitions."""
Headers = Sequence[tuple[str, bytes]]
Span = Callable[[str, Iterable[Any]], AbstractContextManager[object]]
"""A name and the records that are worked on, for as long as that takes."""


def no_span(name: str, records: Iterable[Any]) -> AbstractContextManager[object]:
    """Nobody traces."""
    return nullcontext()


class Record(RawRecord, Protocol):
    """A record that says where it is from; aiokafka's ConsumerRecord is one. `timestamp` is, in a
    topic with LogAppendTime, the broker's."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def serialized_value_size(self) -> int: ...


class Output(NamedTuple):
    """A record to send. `partition` None: by the key's hash, as every Kafka client does it; a
    partition that is known is cheaper. `timestamp` in milliseconds, None for now."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]] = []  # noqa: RUF012 - nobody changes it
    timestamp: int | None = None


@dataclass(slots=True)
class Batch:
    """What one call of a processor wants written, all of it or nothing.

    `changelog`: the rows that changed, one a key. `note`: small JSON values kept in the marker of
    the lane (stream time, counters), given back on restore.
    """

    outputs: Sequence[Output] = ()
    changelog: Sequence[Row] = ()
    note: Mapping[str, Any] = field(default_factory=dict)
    misplaced: bool = False
    """A record came in another partition than its key's: the number of partitions may be another
    one now, and the lane asks before it writes the batch."""


class Processor(Protocol):
    """A lane's fold and its table partition. No method does I/O to Kafka or waits.

    A record that cannot be decoded or folded is the processor's to turn into a dead letter: an
    exception from `process` ends the worker.
    """

    def process(self, records: Sequence[Any], again: bool = False) -> Batch:
        """Folds `records` (each a `Record`), in order. Changes stay pending until the verdict.
        `again`: they were set aside when their sources were read first."""
        ...

    def committed(self) -> None:
        """The transaction stands: pending changes are the table's."""
        ...

    def rolled_back(self) -> None:
        """The transaction was aborted, or nobody knows: forget pending changes. If it stood after
        all, its rows come back by `restore`."""
        ...

    def restore(self, rows: Sequence[Row]) -> None:
        """Changelog rows in their order, newer than all the table has."""
        ...

    def found(self, heads: Sequence[Row]) -> None:
        """Rows named `h` of a store on disk that was just opened: some of what is there."""
        ...

    def restored(self, note: Mapping[str, Any]) -> None:
        """The table is up to the changelog's end; `note` of the last batch, {} where none was."""
        ...

    def reset(self) -> None:
        """Forget everything but the rows' store, which the lane clears."""
        ...

    def has_news(self) -> bool:
        """Whether, once restored, its note says what the last marker does not: the lane then
        commits it at once, for no record may come before it is asked for."""
        ...


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent as the transport sees it: `sources` have the same number of partitions, as has
    `changelog`, that of the table named `table`; `processor` makes the processor of one partition,
    over its rows. `partitions`: how many they have; 0 where the processor does not mind."""

    agent: str
    sources: tuple[str, ...]
    changelog: str
    processor: Callable[[int, RowStore], Processor]
    table: str
    about: str = ""
    partitions: int = 0
    sets_aside: bool = False
    """Whether keys begin with a tenant, and records of one that is beyond its quota can wait."""


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """How lanes batch, wait and complain. Times in seconds."""

    max_records: int = 4_000
    """Records a transaction takes at most."""
    max_bytes: int = 4_000_000
    """Bytes of values a transaction takes at most (at least one record)."""
    compression: str | None = None
    """gzip, snappy, lz4 or zstd for what is written."""
    transaction_timeout: float = 10.0
    """The coordinator aborts a transaction that is open longer, which readers wait for."""
    grace: float = 3.0
    """How long a revoked lane may take to end its transaction before it is abandoned."""
    backoff: float = 0.2
    """The first wait after a failed transaction; doubles up to `max_backoff`."""
    max_backoff: float = 5.0
    stall_after: float = 30.0
    """No progress for so long, with work to do: an error in the log, again and again."""
    rows: Callable[[str], RowStore] = lambda lane: MemoryRows()
    """Where the rows of a lane lie, by its name."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What topics are called that outputs go to, where not as the processor names them."""
    observe: Callable[[str, str], None] = lambda lane, point: None
    """Called with a lane's name and the point it passes: restoring, restored some, ready, before
    commit, committed, stored. For tests."""
    quota: Quota = NO_QUOTA
    """Of a tenant in one partition of a topic: records beyond it wait for those of others."""
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    """Of tenants that have their own."""
    span: Span = no_span
    """Lasts as long as the transaction of these records of an agent."""
