"""Wraps aiokafka's clients; the only module that uses its private parts.

aiokafka leaks connections. A task cancelled while `bootstrap` waits for a response leaves its
connection open; a connection made while its client closes is added after `close`; over TLS
`bootstrap` does not wait for a connection's shutdown; and a `stop` that is cancelled or fails never
closes its connections. Such a connection outlives its loop. `Client` tracks every connection that
it makes, and closes them all.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.codec import zstd_encode
from aiokafka.conn import AIOKafkaConnection, CloseReason
from aiokafka.consumer.fetcher import FetchResult
from aiokafka.errors import (
    GroupIdNotFound,
    KafkaConnectionError,
    KafkaError,
    NodeNotReadyError,
    NoError,
    for_code,
)
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from streams.kafka.client.connection import Connection
from streams.kafka.client.encryption import decrypting, encrypted, owner_of
from streams.kafka.client.name_prefix import OWN, Names

if TYPE_CHECKING:
    from streams.erasure_keys.key_store import KeyStore

CANCEL_AGAIN = 0.05
"""Seconds after which a task that still runs is cancelled again."""
CLOSE_WITHIN = 5.0
"""Seconds that a connection has to flush and shut down (TLS) before it is aborted."""
RETRY_AFTER = 0.1
"""Seconds between the same request to two brokers."""
CLOSED = "the client is closed"


class Client(AIOKafkaClient):  # type: ignore[misc]  # aiokafka has no types
    """A client without open connections after `close`, or after a `bootstrap` that failed or was
    cancelled. From then on it makes none: a request ends with a KafkaError."""

    is_closed = False
    _sync_task: asyncio.Task[None] | None

    def __init__(self, *, names: Names = OWN, keys: object = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._watch(names)

    @classmethod
    def replace(cls, client: AIOKafkaClient, names: Names) -> None:
        """Turns aiokafka's client into one of these, before it connects."""
        client.__class__ = cls
        client._watch(names)

    def _watch(self, names: Names) -> None:
        self.names = names
        self._connecting: set[asyncio.Task[object]] = set()
        self._connections: set[AIOKafkaConnection] = set()

    async def bootstrap(self) -> None:
        token = _CLIENT.set(self)
        try:
            await super().bootstrap()
            if self.is_closed:  # during the last response
                raise KafkaConnectionError(CLOSED)
        except BaseException:
            await self.close()
            raise
        finally:
            _CLIENT.reset(token)

    async def _get_conn(
        self, node_id: Any, *, group: Any = ConnectionGroup.DEFAULT, no_hint: bool = False
    ) -> AIOKafkaConnection | None:
        """Returns None without a connection."""
        if self.is_closed:
            return None
        token = _CLIENT.set(self)
        try:
            return await super()._get_conn(node_id, group=group, no_hint=no_hint)
        finally:
            _CLIENT.reset(token)

    async def count_partitions(self, topic: str) -> int:
        """Number of partitions of the topic. Raises KafkaError: unknown topic, or no broker
        responds."""
        return len(await self._wait_on_metadata(topic))

    async def connect(self, connection: AIOKafkaConnection) -> None:
        """Connects in a task of the client, so that `close` can end it.

        Raises:
            KafkaConnectionError: the client is closed, or was closed during the attempt.
        """
        if self.is_closed:
            raise KafkaConnectionError(CLOSED)
        task = asyncio.ensure_future(connection.connect())
        self._connecting.add(task)
        task.add_done_callback(partial(self._connected, connection))
        try:
            await task
        except asyncio.CancelledError:
            connection.close()  # it may be connected already
            if self.is_closed and not _is_cancelled():
                raise KafkaConnectionError(CLOSED) from None
            raise

    def _connected(self, connection: AIOKafkaConnection, task: "asyncio.Task[object]") -> None:
        """Tracks a connection; it may have failed, or still shut down."""
        self._connecting.discard(task)
        self._connections.add(connection)
        self._connections = {
            candidate for candidate in self._connections if not _has_ended(candidate)
        }

    async def close(self) -> None:
        self.is_closed = True
        tasks = {task for task in (self._sync_task, *self._connecting) if task is not None}
        self._sync_task = None
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            await _end(self._connections)


_CLIENT: ContextVar[Client | None] = ContextVar("_CLIENT", default=None)
"""The connecting client: aiokafka's connection factory does not receive it."""


async def _connect(*address: Any, **settings: Any) -> Connection:
    connection, client = Connection(*address, **settings), _CLIENT.get()
    if client is not None:
        connection.names = client.names
    await (connection.connect() if client is None else client.connect(connection))
    return connection


sys.modules[AIOKafkaClient.__module__].create_conn = _connect  # type: ignore[attr-defined]


async def try_to_connect(host: str, port: int, **settings: Any) -> None:
    """Connects and logs in once. Raises the error that aiokafka's bootstrap hides: KafkaError,
    OSError or TimeoutError with the reason."""
    connection = Connection(host, port, **settings)
    try:
        await connection.connect()
    finally:
        await _end([connection])


async def _end(connections: Iterable[AIOKafkaConnection]) -> None:
    """Closes connections; aborts them after a timeout, or at once if cancelled."""
    open_connections = [connection for connection in connections if not _has_ended(connection)]
    try:
        if open_connections:
            closing = [connection.close(CloseReason.SHUTDOWN) for connection in open_connections]
            await asyncio.wait(closing, timeout=CLOSE_WITHIN)
    finally:
        for connection in open_connections:
            if not _has_ended(connection):
                connection._protocol._transport.abort()
    await asyncio.sleep(0)  # aborted sockets are closed in the loop's next iteration


def _has_ended(connection: AIOKafkaConnection) -> bool:
    """Whether a connection that is not connecting has no open socket."""
    return connection._protocol is None or connection._closed_fut.done()


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


Act = Callable[[], Awaitable[None]]


async def start_or_stop(*clients: tuple[Act, Act]) -> None:
    """Starts clients one after the other, each given by its start and stop. If one fails, or the
    caller is cancelled, all are stopped concurrently within `CLOSE_WITHIN` s."""
    try:
        for start, _ in clients:
            await start()
    except BaseException:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_WITHIN):
                await asyncio.gather(*(_stop(stop) for _, stop in clients))
        raise


async def _stop(stop: Act) -> None:
    with suppress(KafkaError):  # the original error takes precedence
        await stop()


class KafkaProducer(AIOKafkaProducer):  # type: ignore[misc]
    """A producer without connections after `stop`, nor after a `start` that failed or was
    cancelled. With `keys` it encrypts."""

    def __init__(
        self, *, names: Names = OWN, keys: "KeyStore | None" = None, **settings: Any
    ) -> None:
        super().__init__(**settings)
        Client.replace(self.client, names)
        self._keys = keys

    def prepare(self, messages: Iterable[tuple[str, bytes | None]]) -> None:
        """Creates the keys of messages, given by topic and key, at once. Raises OSError,
        ConfigurationError."""
        if self._keys is not None:
            self._keys.refresh()
            owners = (owner_of(topic, key) for topic, key in messages)
            self._keys.prepare(owner for owner in owners if owner is not None)

    def encrypted(self, topic: str, key: bytes | None, value: bytes) -> bytes:
        """The value as `send` sends it, for batches. Raises OSError, ConfigurationError."""
        return value if self._keys is None else encrypted(self._keys, topic, key, value)

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *more: Any,
        source: str | None = None,
        **options: Any,
    ) -> Any:
        """As aiokafka. `source`: the topic that the key is of, if not this one."""
        if self._keys is not None and value is not None:
            self._keys.refresh()
            value = encrypted(self._keys, source or topic, key, value)
        return await super().send(topic, value, key, *more, **options)

    async def start(self) -> None:
        await start_or_stop((super().start, self.stop))

    async def stop(self) -> None:
        try:
            await super().stop()
        finally:
            await self.client.close()

    async def give_up(self) -> None:
        """After a `stop` that was cancelled: fails unacknowledged messages. Otherwise they are
        retried forever and sent unexpectedly late."""
        await self._sender.close()
        self._message_accumulator.fail_all(KafkaError("given up"))


PASSING = tuple(for_code(code) for code in (14, 15, 16))
"""Transient errors: the coordinator is loading, unavailable or moved."""
COORDINATOR_ATTEMPTS = 15
AGAIN = 0.2
"""Seconds. A new coordinator first loads the groups' offsets."""


class KafkaAdmin(AIOKafkaAdminClient):  # type: ignore[misc]
    """An admin client without connections after `close`, or after a `start` that failed or was
    cancelled. It retries with another broker if one has just died, which the cluster lists for some
    more seconds; until it is cancelled or closed."""

    def __init__(self, *, names: Names = OWN, keys: object = None, **settings: Any) -> None:
        super().__init__(**settings)
        Client.replace(self._client, names)

    def on_broker(self, name: str) -> str:
        """Name of a topic, consumer group or transactional id on the broker, for messages."""
        return self._client.names.on_broker(name)  # type: ignore[no-any-return]

    async def send_to(self, request: Any, node: int) -> Any:
        """The response of that broker. Raises KafkaError."""
        return await self._send_request(request, node)

    async def list_consumer_group_offsets(
        self, group_id: str
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Committed offsets of a group; empty for an unknown group. Retries while the coordinator
        is not ready: aiokafka treats its error as a group without offsets. Raises KafkaError."""
        for attempt in range(COORDINATOR_ATTEMPTS):
            if attempt:
                await asyncio.sleep(AGAIN)
            try:
                node = await self.find_coordinator(group_id)
                response = await self.send_to(OffsetFetchRequest(group_id, None), node)
                if (error := for_code(response.error_code)) is not NoError:
                    raise error(f"group {group_id}: its offsets")
            except GroupIdNotFound:
                return {}
            except PASSING:
                if attempt == COORDINATOR_ATTEMPTS - 1:
                    raise
            else:
                break
        return {
            TopicPartition(topic, partition): OffsetAndMetadata(offset, metadata)
            for topic, partitions in response.topics or ()
            for partition, offset, metadata, _ in partitions
        }

    async def _send_request(self, request: Any, node_id: int | None = None) -> Any:
        while True:
            try:
                return await super()._send_request(request, node_id)
            except NodeNotReadyError:
                if node_id is not None or self._client.is_closed:
                    raise
                await asyncio.sleep(RETRY_AFTER)

    async def start(self) -> None:
        await start_or_stop((super().start, self.close))


class RawMessage(Protocol):
    """aiokafka's DefaultRecord; `timestamp` is in milliseconds UTC."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes]]: ...


class KafkaConsumer(AIOKafkaConsumer):  # type: ignore[misc]
    """A consumer without connections after `stop`, or after a `start` that failed or was cancelled.

    Its `stop` always ends. aiokafka's raises CancelledError while a failed fetch waits for its
    retry. It never returns if the assignment has just been revoked: its fetching task takes the
    only cancellation for a fetch's cancellation.

    `heard_at`: time of the coordinator's last response to a heartbeat (`monotonic`).

    `raw`: `getmany` returns `RawMessage`s: objects of aiokafka's C parser, instead of a
    ConsumerRecord each, which takes a quarter of its time. Results are by partition, which raw
    messages lack.

    `keys`: decrypt the values; otherwise they stay as on the broker.
    """

    def __init__(
        self,
        *topics: str,
        raw: bool = False,
        names: Names = OWN,
        keys: "KeyStore | None" = None,
        **settings: Any,
    ) -> None:
        super().__init__(*topics, **settings)
        Client.replace(self._client, names)
        self._raw = raw
        self._keys = keys
        self.heard_at = monotonic()

    async def start(self) -> None:
        await start_or_stop((self._begin, self.stop))
        fetcher = self._fetcher
        process = fetcher._proc_fetch_request

        async def processed(*request: Any) -> bool:
            with suppress(asyncio.CancelledError):  # as aiokafka does before waiting
                has_records: bool = await process(*request)
                if self._raw or self._keys:  # no await since the fetch, so it is unread
                    for fetched in fetcher._records.values():
                        if isinstance(fetched, FetchResult) and fetched.has_more():
                            self._convert(fetched._partition_records)
                return has_records
            return False

        fetcher._proc_fetch_request = processed
        self.heard_at = monotonic()
        if (beat := getattr(self._coordinator, "_do_heartbeat", None)) is not None:
            self._coordinator._do_heartbeat = partial(self._hear, beat)

    def _convert(self, records: Any) -> None:
        """Sets the conversion of the records of a partition's fetch, once."""
        if "_consumer_record" not in vars(records):
            convert = _unchanged if self._raw else records._consumer_record
            records._consumer_record = (
                convert if self._keys is None else decrypting(self._keys, convert)
            )

    async def _hear(self, beat: Callable[[], Awaitable[bool]]) -> bool:
        is_heard = await beat()
        if is_heard:
            self.heard_at = monotonic()
        return is_heard

    async def _begin(self) -> None:
        await super().start()
        await asyncio.sleep(0)  # an aiokafka task that has not started would end `stop`

    async def stop(self) -> None:
        if (fetcher := self._fetcher) is not None and not self._closed:
            fetcher.close = partial(_end_fetching, fetcher, fetcher.close)
        try:
            await super().stop()
        finally:
            await self._client.close()

    @property
    def client(self) -> Client:
        """Client with the cluster metadata; sends requests."""
        return self._client  # type: ignore[no-any-return]

    @property
    def coordinator(self) -> Any:
        """aiokafka's group coordinator: generation, member ids, coordinator node."""
        return self._coordinator

    @property
    def has_instance(self) -> bool:
        """Whether the member has static membership."""
        return self._coordinator._group_instance_id is not None

    async def send_to_coordinator(self, request: Any) -> Any:
        """The response of the group's coordinator, if known. Raises KafkaError."""
        return await self._coordinator._send_req(request)

    async def send_to_leader(self, tp: TopicPartition, request: Any) -> Any:
        """The response of the partition's leader. Raises KafkaError."""
        return await self._client.send(self._client.cluster.leader_for_partition(tp), request)

    def has_unread(self, partition: TopicPartition) -> bool:
        """Whether fetched messages wait to be taken: until then the partition is not fetched."""
        return partition in self._fetcher._records

    def state(self, partition: TopicPartition) -> Any:
        """aiokafka's state of a partition, or None if it is not assigned."""
        subscription = self._subscription.subscription
        if subscription is None or subscription.assignment is None:
            return None
        if partition not in subscription.assignment.tps:
            return None
        return subscription.assignment.state_value(partition)


async def _end_fetching(fetcher: Any, close: Callable[[], Awaitable[None]]) -> None:
    fetching = fetcher._fetch_task
    while not fetching.done():
        fetching.cancel()
        await asyncio.wait([fetching], timeout=CANCEL_AGAIN)
    await close()


def _unchanged(partition: Any, record: RawMessage) -> RawMessage:
    return record


QUICK, TIGHT = 1, 6


class _Zstd:
    """Compression with a configurable level: aiokafka's batch builder always uses 3, which takes
    almost twice the time for 4 % fewer bytes. `TIGHT` takes three times as long for a seventh
    fewer. A test checks that the patched name below is still in use."""

    level = QUICK

    def __call__(self, payload: bytes) -> bytes:
        packed: bytes = zstd_encode(payload, self.level)
        return packed


ZSTD = _Zstd()
sys.modules[DefaultRecordBatchBuilder.__module__].zstd_encode = ZSTD  # type: ignore[attr-defined]
