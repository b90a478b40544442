"""Interfaces between transport and folds: messages in, a batch of changes out.

The transport is independent of the folds. It gives messages to a lane's processor, writes the
returned batch in one Kafka transaction, and reports whether the transaction committed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from streams.kafka.transport.rows import MemoryRows, RowStore
from streams.kafka.transport.rows import Row as Row
from streams.quota import NO_QUOTA, Quota

if TYPE_CHECKING:
    from streams.erasure_keys.key_store import KeyStore

SESSION_TIMEOUT = 10.0
"""Seconds without a heartbeat after which a worker's partitions are reassigned."""
Headers = Sequence[tuple[str, bytes]]


class Output(NamedTuple):
    """A message to send. `partition` None: by the key's hash, as in every Kafka client; a known
    partition is cheaper. `timestamp` in milliseconds, None for now. `owner`: its key
    encrypts the value; the prefix of its rows, or None for the owner of `key`."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]] = []  # noqa: RUF012 - nobody changes it
    timestamp: int | None = None
    owner: bytes | None = None


@dataclass(slots=True)
class Batch:
    """Changes of one `process` call, written atomically.

    `changelog`: changed rows, one per key. `note`: small JSON values stored in the lane's marker
    (stream time, counters) and returned on restore.
    """

    outputs: Sequence[Output] = ()
    changelog: Sequence[Row] = ()
    note: Mapping[str, Any] = field(default_factory=dict)
    misplaced: bool = False
    """A message came in another partition than its key's: the number of partitions may have
    changed, so the lane checks it before it writes the batch."""


class Processor(ABC):
    """Fold and table partition of a lane. Methods do no Kafka I/O and do not wait.

    The processor turns messages that cannot be decoded or folded into dead letters: an exception
    from `process` stops the worker.
    """

    charge: Callable[[Any, float], None] | None = None
    """Called with each message and the CPU seconds that folding it took, if quotas count them."""

    @abstractmethod
    def process(self, messages: Sequence[Any], again: bool = False) -> Batch:
        """Folds messages (ConsumerRecord) in order. Changes are pending until `committed` or
        `rolled_back`. `again`: the messages were set aside in the first pass."""

    @abstractmethod
    def committed(self) -> None:
        """The transaction committed: pending changes become the table's."""

    @abstractmethod
    def rolled_back(self) -> None:
        """The transaction was aborted, or its outcome is unknown: drops pending changes. If it did
        commit, its rows arrive by `restore`."""

    def restore(self, rows: Sequence[Row]) -> None:  # noqa: B027 - a lane may have no rows
        """Applies changelog rows, in order, newer than the table."""

    def drop_erased(self) -> None:  # noqa: B027 - a lane may have no rows
        """Drops decoded rows of destroyed keys; called about every second."""

    def index_rows(self, heads: Sequence[Row]) -> None:  # noqa: B027 - for those with an index
        """Indexes rows named `h` of a disk store that was just opened, in several calls."""

    def restored(self, note: Mapping[str, Any]) -> None:  # noqa: B027 - for those with a note
        """The table has reached the changelog's end; `note` of the last batch, {} without one."""

    def reset(self) -> None:
        """Drops everything but the row store, which the lane clears."""
        self.restored({})

    def needs_marker(self) -> bool:
        """Whether the note differs from the last marker after a restore: the lane then commits it
        at once, even if no message arrives."""
        return False


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent as the transport sees it. `sources` and `changelog` (of the table named `table`)
    have the same number of partitions. `processor` creates the processor of one partition over its
    rows. `partitions`: the required number; 0 for any."""

    agent: str
    sources: tuple[str, ...]
    changelog: str
    processor: Callable[[int, RowStore], Processor]
    table: str
    about: str = ""
    partitions: int = 0
    sets_aside: bool = False
    """Whether keys start with a tenant, so that records of a throttled tenant can wait."""
    letter: bytes | None = None
    """First letter of the entities' rows; None without entities."""


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """Batching, retry and stall settings of lanes. Times in seconds."""

    max_records: int = 4_000
    """Maximum messages per transaction."""
    max_bytes: int = 4_000_000
    """Maximum bytes of values per transaction (at least one message)."""
    compression: str | None = None
    """gzip, snappy, lz4 or zstd for written batches."""
    transaction_timeout: float = 10.0
    """The coordinator aborts a transaction that stays open longer; readers wait for it."""
    grace: float = 3.0
    """Time for a revoked lane to end its transaction before it is abandoned."""
    backoff: float = 0.2
    """First wait after a failed transaction; doubles up to `max_backoff`."""
    max_backoff: float = 5.0
    stall_after: float = 30.0
    """Time without progress, despite work, after which an error is logged repeatedly."""
    rows: Callable[[str], RowStore] = lambda lane: MemoryRows()
    """Creates the row store of a lane, by lane name."""
    keys: "KeyStore | None" = None
    """Encrypt rows and messages."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Actual names of output topics, if they differ from the processor's names."""
    observe: Callable[[str, str], None] = lambda lane, point: None
    """Called with lane name and point: restoring, restored some, ready, before commit, committed,
    stored. For tests."""
    quota: Quota = NO_QUOTA
    """Per tenant and partition of a topic: messages beyond it wait for other tenants' messages."""
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    """Quotas of individual tenants."""
