"""The one module that knows aiokafka's private parts: its clients, with what is changed of them.

aiokafka makes connections that nobody closes. A task that is cancelled while `bootstrap` waits for
an answer leaves its connection open; a connection that is made while its client closes is added
behind `close`; over TLS nobody waits until a connection of `bootstrap` has said goodbye; and a
`stop` that is cancelled or fails never comes to its connections. Such a connection outlives its
loop. `Client` knows every connection that it makes, and closes them all.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from time import monotonic
from typing import Any, Protocol

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
from streams.kafka.client.prefix import OWN, Names

CANCEL_AGAIN = 0.05
"""Seconds after which a task that continues is cancelled once more."""
CLOSE_WITHIN = 5.0
"""Seconds that a connection has to send what waits and to say goodbye (TLS) before it is cut."""
ASK_AGAIN = 0.1
"""Seconds between two brokers that are asked the same."""
CLOSED = "the client is closed"


class Client(AIOKafkaClient):  # type: ignore[misc]  # aiokafka has no types
    """A client that has no connection open after `close`, nor after a `bootstrap` that failed or
    was cancelled, and makes none from then on: a request ends with a KafkaError."""

    is_closed = False
    _sync_task: asyncio.Task[None] | None

    def __init__(self, *, names: Names = OWN, **settings: Any) -> None:
        super().__init__(**settings)
        self._watch(names)

    @classmethod
    def replace(cls, client: AIOKafkaClient, names: Names) -> None:
        """Makes one of these of aiokafka's own client, before it connects."""
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
            if self.is_closed:  # while the last answer was on its way
                raise KafkaConnectionError(CLOSED)
        except BaseException:
            await self.close()
            raise
        finally:
            _CLIENT.reset(token)

    async def _get_conn(
        self, node_id: Any, *, group: Any = ConnectionGroup.DEFAULT, no_hint: bool = False
    ) -> AIOKafkaConnection | None:
        """None where there is no connection to be had."""
        if self.is_closed:
            return None
        token = _CLIENT.set(self)
        try:
            return await super()._get_conn(node_id, group=group, no_hint=no_hint)
        finally:
            _CLIENT.reset(token)

    async def count_partitions(self, topic: str) -> int:
        """How many the topic has. Raises KafkaError: there is none, or no broker to ask."""
        return len(await self._wait_on_metadata(topic))

    async def connect(self, connection: AIOKafkaConnection) -> None:
        """In a task of the client's own, so that `close` can end it.

        Raises:
            KafkaConnectionError: the client is closed, or closes meanwhile.
        """
        if self.is_closed:
            raise KafkaConnectionError(CLOSED)
        task = asyncio.ensure_future(connection.connect())
        self._connecting.add(task)
        task.add_done_callback(partial(self._connected, connection))
        try:
            await task
        except asyncio.CancelledError:
            connection.close()  # it may be there already, and nobody takes it any more
            if self.is_closed and not _is_cancelled():
                raise KafkaConnectionError(CLOSED) from None
            raise

    def _connected(self, connection: AIOKafkaConnection, task: "asyncio.Task[object]") -> None:
        """It may have failed, and may still say goodbye."""
        self._connecting.discard(task)
        self._connections.add(connection)
        self._connections = {known for known in self._connections if not _has_ended(known)}

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
"""Which client connects: aiokafka's function that makes its connections is not told."""


async def _connect(*address: Any, **settings: Any) -> Connection:
    """In place of that function."""
    connection, client = Connection(*address, **settings), _CLIENT.get()
    if client is not None:
        connection.names = client.names
    await (connection.connect() if client is None else client.connect(connection))
    return connection


sys.modules[AIOKafkaClient.__module__].create_conn = _connect  # type: ignore[attr-defined]


async def try_to_connect(host: str, port: int, **settings: Any) -> None:
    """Connects and logs in once. Raises what aiokafka's bootstrap hides: a KafkaError, OSError or
    TimeoutError that says why it fails."""
    connection = Connection(host, port, **settings)
    try:
        await connection.connect()
    finally:
        await _end([connection])


async def _end(connections: Iterable[AIOKafkaConnection]) -> None:
    """Closes them; cuts them where that takes too long, or at once where we are cancelled."""
    left = [connection for connection in connections if not _has_ended(connection)]
    try:
        if left:
            closing = [connection.close(CloseReason.SHUTDOWN) for connection in left]
            await asyncio.wait(closing, timeout=CLOSE_WITHIN)
    finally:
        for connection in left:
            if not _has_ended(connection):
                connection._protocol._transport.abort()
    await asyncio.sleep(0)  # the socket of one that was cut is closed in the loop's next turn


def _has_ended(connection: AIOKafkaConnection) -> bool:
    """Whether one that connects no more has no socket, or none any more."""
    return connection._protocol is None or connection._closed_fut.done()


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


Act = Callable[[], Awaitable[None]]


async def start_or_stop(*clients: tuple[Act, Act]) -> None:
    """Starts clients one after the other, each given by its start and its stop. If one cannot
    start, or we are cancelled meanwhile, all are stopped side by side within `CLOSE_WITHIN` s."""
    try:
        for start, _ in clients:
            await start()
    except BaseException:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_WITHIN):
                await asyncio.gather(*(_stop(stop) for _, stop in clients))
        raise


async def _stop(stop: Act) -> None:
    with suppress(KafkaError):  # what stops it, or another one, counts more
        await stop()


class KafkaProducer(AIOKafkaProducer):  # type: ignore[misc]
    """A producer without connections after `stop`, nor after a `start` that failed or was
    cancelled."""

    def __init__(self, *, names: Names = OWN, **settings: Any) -> None:
        super().__init__(**settings)
        Client.replace(self.client, names)

    async def start(self) -> None:
        await start_or_stop((super().start, self.stop))

    async def stop(self) -> None:
        try:
            await super().stop()
        finally:
            await self.client.close()

    async def give_up(self) -> None:
        """After a `stop` that was cancelled: what is not acknowledged fails. Left alone it would be
        sent for ever, and when nobody expects it any more."""
        await self._sender.close()
        self._message_accumulator.fail_all(KafkaError("given up"))


PASSING = tuple(for_code(code) for code in (14, 15, 16))
"""The coordinator is loading, is not available, is another one."""
COORDINATOR_ATTEMPTS = 15
AGAIN = 0.2
"""Seconds. A coordinator that starts, or has just become it, reads first what groups committed."""


class KafkaAdmin(AIOKafkaAdminClient):  # type: ignore[misc]
    """An admin client without connections after `close`, nor after a `start` that failed or was
    cancelled. It asks another broker where one has just died: the cluster names it for some
    seconds more. It asks on until it is cancelled, or closed."""

    def __init__(self, *, names: Names = OWN, **settings: Any) -> None:
        super().__init__(**settings)
        Client.replace(self._client, names)

    def on_broker(self, name: str) -> str:
        """What a topic, consumer group or transactional id is called there. For people."""
        return self._client.names.there(name)  # type: ignore[no-any-return]

    async def ask(self, request: Any, node: int) -> Any:
        """The answer of that broker. Raises KafkaError."""
        return await self._send_request(request, node)

    async def list_consumer_group_offsets(
        self, group_id: str
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group has committed; nothing where there is no such group. A coordinator that is
        not ready is asked again: aiokafka takes its refusal for a group without offsets. Raises
        KafkaError."""
        for attempt in range(COORDINATOR_ATTEMPTS):
            if attempt:
                await asyncio.sleep(AGAIN)
            try:
                node = await self.find_coordinator(group_id)
                answer = await self.ask(OffsetFetchRequest(group_id, None), node)
                if (error := for_code(answer.error_code)) is not NoError:
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
            for topic, partitions in answer.topics or ()
            for partition, offset, metadata, _ in partitions
        }

    async def _send_request(self, request: Any, node_id: int | None = None) -> Any:
        while True:
            try:
                return await super()._send_request(request, node_id)
            except NodeNotReadyError:
                if node_id is not None or self._client.is_closed:
                    raise
                await asyncio.sleep(ASK_AGAIN)

    async def start(self) -> None:
        await start_or_stop((super().start, self.close))


class RawRecord(Protocol):
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
    """A consumer without connections after `stop`, nor after a `start` that failed or was
    cancelled.

    Its `stop` always ends. aiokafka's raises CancelledError where a fetch has just failed and waits
    to be tried again. It never returns where the assignment has just gone: its fetching task then
    takes the one cancellation for that of a fetch.

    `heard_at`: when the group's coordinator last answered a heartbeat, by `monotonic`.

    `raw`: its `getmany` answers with `RawRecord`s. They are aiokafka's own, as its C parser makes
    them, instead of a ConsumerRecord for each, which is a quarter of its time. It answers by
    partition: a record need not say which it is from.
    """

    def __init__(
        self, *topics: str, raw: bool = False, names: Names = OWN, **settings: Any
    ) -> None:
        super().__init__(*topics, **settings)
        Client.replace(self._client, names)
        self._raw = raw
        self.heard_at = monotonic()

    async def start(self) -> None:
        await start_or_stop((self._begin, self.stop))
        fetcher = self._fetcher
        process = fetcher._proc_fetch_request

        async def processed(*request: Any) -> bool:
            with suppress(asyncio.CancelledError):  # as aiokafka does before it waits
                found: bool = await process(*request)
                if self._raw:  # nothing was awaited since it came: nobody has read of it yet
                    for fetched in fetcher._records.values():
                        if isinstance(fetched, FetchResult) and fetched.has_more():
                            fetched._partition_records._consumer_record = _itself
                return found
            return False

        fetcher._proc_fetch_request = processed
        self.heard_at = monotonic()
        if (beat := getattr(self._coordinator, "_do_heartbeat", None)) is not None:
            self._coordinator._do_heartbeat = partial(self._hear, beat)

    async def _hear(self, beat: Callable[[], Awaitable[bool]]) -> bool:
        is_heard = await beat()
        if is_heard:
            self.heard_at = monotonic()
        return is_heard

    async def _begin(self) -> None:
        await super().start()
        await asyncio.sleep(0)  # a task of aiokafka's that has not begun would end `stop` with it

    async def stop(self) -> None:
        if (fetcher := self._fetcher) is not None and not self._closed:
            fetcher.close = partial(_end_fetching, fetcher, fetcher.close)
        try:
            await super().stop()
        finally:
            await self._client.close()

    @property
    def client(self) -> Client:
        """Knows the cluster, and sends requests."""
        return self._client  # type: ignore[no-any-return]

    @property
    def coordinator(self) -> Any:
        """aiokafka's member of the group: its generation, its ids, its coordinator."""
        return self._coordinator

    @property
    def has_instance(self) -> bool:
        """Whether the member has a name of its own (static membership)."""
        return self._coordinator._group_instance_id is not None

    async def ask_coordinator(self, request: Any) -> Any:
        """The answer of the group's coordinator, if it is known. Raises KafkaError."""
        return await self._coordinator._send_req(request)

    async def ask_leader(self, at: TopicPartition, request: Any) -> Any:
        """The answer of the partition's leader. Raises KafkaError."""
        return await self._client.send(self._client.cluster.leader_for_partition(at), request)

    def has_unread(self, partition: TopicPartition) -> bool:
        """Whether records were fetched that nobody has taken: until then it fetches no more."""
        return partition in self._fetcher._records

    def state(self, partition: TopicPartition) -> Any:
        """aiokafka's own record of a partition; None where it is not assigned."""
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


def _itself(partition: Any, record: RawRecord) -> RawRecord:
    return record


QUICK, TIGHT = 1, 6


class _Zstd:
    """Level 3 if not told otherwise, which aiokafka's batch builder does not let us: almost twice
    the time for 4 % fewer bytes. `TIGHT` takes three times as long for a seventh fewer. A test
    watches that the name below is still the one it goes by."""

    level = QUICK

    def __call__(self, payload: bytes) -> bytes:
        packed: bytes = zstd_encode(payload, self.level)
        return packed


ZSTD = _Zstd()
sys.modules[DefaultRecordBatchBuilder.__module__].zstd_encode = ZSTD  # type: ignore[attr-defined]
