"""No client leaves a connection open, wherever it is when it is cancelled or closed.

A real broker behind a proxy that stalls after so many pieces of data: each number is another place
where a client may be waiting.
"""

import asyncio
import gc
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import uvloop
from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaProtocol
from aiokafka.errors import ConsumerStoppedError, KafkaConnectionError, KafkaError
from aiokafka.protocol.metadata import MetadataRequest
from pydantic import SecretStr

from streams.broker import Broker, Security, ports
from streams.kafka.client.admin import connected
from streams.kafka.client.aiokafka_internals import (
    CLOSE_WITHIN,
    Client,
    KafkaAdmin,
    KafkaConsumer,
    KafkaProducer,
    start_or_stop,
)
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.client.topics import create
from streams.kafka.client.transaction import Transactions
from streams.llm.kafka_log import Stream, StreamOptions
from streams.llm.settings import LlmSettings
from tests.fault.proxy import Proxy
from tests.kafka.conftest import PASSWORD, USER, Certificates
from tests.waiting import WITHIN

TOPIC = "connections"
AT = TopicPartition(TOPIC, 0)
TIMEOUT_MS = 500
MOST_PIECES = 200


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    (port,) = ports.free(1)
    security = Security(advertised=(port,))
    with Proxy(port) as made, Broker.start(security=security, short_lived=True) as broker:
        made.target = broker.nodes[0].ports["PROXIED"]

        async def make_topic() -> None:
            plain = KafkaSettings.plain(broker.bootstrap)
            async with connected(plain) as admin:
                await create(admin, [spec(TOPIC, 1)])
            async with KafkaProducer(**plain.client()) as producer:
                await producer.send_and_wait(TOPIC, b"x")

        asyncio.run(make_topic())
        yield made


def connections(port: int) -> int:
    """How many of this process lead to that port."""
    found = 0
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if file.is_socket():
                with socket.socket(fileno=os.dup(int(file.name))) as opened:
                    found += opened.getpeername()[1:2] == (port,)
    return found


Use = Callable[[Any], Awaitable[object]]


async def start(client: Any) -> None:
    await client.start()


async def fetch(consumer: Any) -> None:
    await consumer.start()
    consumer.assign([AT])
    await consumer.seek_to_beginning()
    while not await consumer.getmany(timeout_ms=100):
        pass


async def join(consumer: Any) -> None:
    await consumer.start()
    consumer.subscribe([TOPIC])
    while not await consumer.getmany(timeout_ms=100):
        pass


async def produce(producer: Any) -> None:
    await producer.start()
    await producer.send_and_wait(TOPIC, b"x")


async def describe(admin: Any) -> None:
    await admin.start()
    await admin.describe_cluster()
    await admin.find_coordinator("group")


async def begin(transactions: Any) -> None:
    await transactions.start()
    await transactions.load_partitions([TOPIC])
    await transactions.add([AT])
    await transactions.abort()


def settings(proxy: Proxy) -> dict[str, Any]:
    return {
        "bootstrap_servers": f"127.0.0.1:{proxy.port}",
        "request_timeout_ms": TIMEOUT_MS,
        "retry_backoff_ms": 20,
    }


def consumer(proxy: Proxy) -> KafkaConsumer:
    return KafkaConsumer(**settings(proxy), auto_offset_reset="earliest", fetch_max_wait_ms=50)


def member(proxy: Proxy) -> KafkaConsumer:
    return KafkaConsumer(
        **settings(proxy), group_id=f"connections-{uuid4()}", auto_offset_reset="earliest",
        session_timeout_ms=6_000, heartbeat_interval_ms=300, fetch_max_wait_ms=50,
    )  # fmt: skip


def producer(proxy: Proxy) -> KafkaProducer:
    return KafkaProducer(**settings(proxy), enable_idempotence=True)


def admin(proxy: Proxy) -> KafkaAdmin:
    return KafkaAdmin(**settings(proxy))


def transactions(proxy: Proxy) -> Transactions:
    return Transactions("connections", {"bootstrap_servers": f"127.0.0.1:{proxy.port}"}, 10.0)


KINDS = {
    "consumer": (consumer, fetch),
    "member": (member, join),
    "producer": (producer, produce),
    "admin": (admin, describe),
    "transactions": (transactions, begin),
}


def stop_of(client: Any) -> Callable[[], Awaitable[None]]:
    found: Callable[[], Awaitable[None]] = getattr(client, "stop", None) or client.close
    return found


async def wait_for_stall(proxy: Proxy, using: "asyncio.Future[Any]") -> bool:
    """False where the work ends first."""
    while not using.done():
        if proxy.counts["stalled"]:
            return True
        await asyncio.sleep(0.002)
    using.result()
    return False


async def cancelled(client: Any, using: "asyncio.Task[Any]") -> None:
    """A task that was cancelled while it started has nothing to stop."""
    using.cancel()
    with suppress(asyncio.CancelledError):
        await using


async def cancelled_then_stopped(client: Any, using: "asyncio.Task[Any]") -> None:
    await cancelled(client, using)
    await stopped_meanwhile(client, using)


async def stopped_meanwhile(client: Any, using: "asyncio.Task[Any]") -> None:
    """A producer waits for ever until what it was given is acknowledged: nobody waits for that."""
    with suppress(TimeoutError):
        async with asyncio.timeout(2 * TIMEOUT_MS / 1000):
            await stop_of(client)()
    await asyncio.sleep(0)  # a socket that was cut is closed in the loop's next turn


async def stop_cancelled(client: Any, using: "asyncio.Task[Any]") -> None:
    stopping = asyncio.ensure_future(stop_of(client)())
    await asyncio.sleep(0)
    stopping.cancel()
    with suppress(asyncio.CancelledError):
        await stopping
    await asyncio.sleep(0)


async def everywhere(
    proxy: Proxy,
    make: Callable[[Proxy], Any],
    use: Use,
    end: Callable[[Any, "asyncio.Task[Any]"], Awaitable[None]],
) -> list[int]:
    """Ends it at each place where it waits. How many connections are open after each."""
    left = []
    for pieces in range(MOST_PIECES):
        proxy.counts["stalled"] = 0
        proxy.stall_after(pieces)
        client = make(proxy)
        using = asyncio.ensure_future(use(client))
        async with asyncio.timeout(WITHIN):
            stalls = await wait_for_stall(proxy, using)
        if stalls:
            await end(client, using)
            left.append(connections(proxy.port))
        proxy.flow()
        using.cancel()
        with suppress(asyncio.CancelledError, ConsumerStoppedError, KafkaError):
            await using
        await stop_of(client)()
        if not stalls:
            return left
    raise AssertionError("it never gets through")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", [cancelled_then_stopped, stopped_meanwhile, stop_cancelled])
def test_nothing_stays_open(
    proxy: Proxy, kind: str, end: Callable[[Any, "asyncio.Task[Any]"], Awaitable[None]]
) -> None:
    make, use = KINDS[kind]
    left = asyncio.run(everywhere(proxy, make, use, end))
    assert len(left) >= 8
    assert set(left) == {0}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_stays_open_of_who_could_not_start(proxy: Proxy, kind: str) -> None:
    make, _ = KINDS[kind]
    left = asyncio.run(everywhere(proxy, make, start, cancelled))
    assert len(left) >= 4
    assert set(left) == {0}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_client_can_be_stopped_as_soon_as_it_has_started(proxy: Proxy, kind: str) -> None:
    """In the same turn of the loop: no task that it started has begun yet."""
    make, _ = KINDS[kind]
    client: Any = make(proxy)
    await client.start()
    await stop_of(client)()
    await asyncio.sleep(0)
    assert connections(proxy.port) == 0


class Two:
    """A producer and a consumer that start together."""

    def __init__(self, proxy: Proxy) -> None:
        self.clients = producer(proxy), consumer(proxy)

    async def start(self) -> None:
        await start_or_stop(*((client.start, client.stop) for client in self.clients))

    async def stop(self) -> None:
        for client in self.clients:
            await client.stop()


def test_nothing_stays_open_of_two_that_could_not_both_start(proxy: Proxy) -> None:
    left = asyncio.run(everywhere(proxy, Two, start, cancelled))
    assert len(left) >= 8
    assert set(left) == {0}


def test_an_extraction_that_is_cancelled_while_it_starts_leaves_nothing_open(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its producer has started; its consumer waits for a broker that has stalled."""
    start_consumer = KafkaConsumer.start

    async def start_stalled(consumer: KafkaConsumer) -> None:
        proxy.stall()
        await start_consumer(consumer)

    async def run() -> int:
        monkeypatch.setattr(KafkaConsumer, "start", start_stalled)
        proxy.counts["stalled"] = 0
        through = KafkaSettings.plain(f"127.0.0.1:{proxy.port}")
        asking = LlmSettings.load(base_url="http://127.0.0.1:1/v1", model="test")
        stream = Stream(through, asking, StreamOptions())
        starting = asyncio.create_task(stream._start())
        assert await wait_for_stall(proxy, starting)
        async with asyncio.timeout(3 * CLOSE_WITHIN):
            await cancelled(stream, starting)
        return connections(proxy.port)

    try:
        assert asyncio.run(run()) == 0
    finally:
        proxy.flow()


async def cancelled_in_bootstrap(proxy: Proxy, client: AIOKafkaClient) -> None:
    """While it waits for the first metadata."""
    proxy.stall_after(3)
    using = asyncio.ensure_future(client.bootstrap())
    assert await wait_for_stall(proxy, using)
    await cancelled(client, using)


async def closed_while_it_connects(proxy: Proxy, client: AIOKafkaClient) -> None:
    await client.bootstrap()
    proxy.stall_after(0)
    connecting = asyncio.ensure_future(client.ready(1))
    assert await wait_for_stall(proxy, connecting)
    await client.close()
    proxy.flow()
    await connecting


WAYS = [cancelled_in_bootstrap, closed_while_it_connects]


async def left_open(
    way: Callable[[Proxy, AIOKafkaClient], Awaitable[None]],
    make: type[AIOKafkaClient],
    proxy: Proxy,
) -> int:
    proxy.counts["stalled"] = 0
    client = make(**settings(proxy))
    try:
        await way(proxy, client)
        return connections(proxy.port)
    finally:
        proxy.flow()
        await client.close()
        del client
        gc.collect()  # closes what is left, with a warning, while there is a loop


@pytest.mark.parametrize("way", WAYS)
def test_a_client_leaves_none_open(
    proxy: Proxy, way: Callable[[Proxy, AIOKafkaClient], Awaitable[None]]
) -> None:
    assert asyncio.run(left_open(way, Client, proxy)) == 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_aiokafkas_own_leaves_one_open(
    proxy: Proxy, way: Callable[[Proxy, AIOKafkaClient], Awaitable[None]]
) -> None:
    """If this fails, aiokafka is mended: that part of `Client` can go."""
    assert asyncio.run(left_open(way, AIOKafkaClient, proxy)) == 1


def over_tls(guarded: Broker, certificates: Certificates) -> KafkaSettings:
    return KafkaSettings(
        bootstrap=guarded.bootstrap_of("SASL_TLS"), security_protocol="SASL_SSL",
        sasl_username=USER, sasl_password=SecretStr(PASSWORD), tls_ca=certificates.authority,
    )  # fmt: skip


@pytest.mark.parametrize("within", [0.01, 0.02, 0.03, 0.05, 0.1, 10])
async def test_nothing_stays_open_over_tls(
    guarded: Broker, certificates: Certificates, within: float
) -> None:
    """Both sides say goodbye before a socket closes."""
    through = over_tls(guarded, certificates)
    client = KafkaAdmin(**through.client())
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            await client.start()
            await client.describe_cluster()
    await client.close()
    assert connections(through.addresses[0][1]) == 0


@pytest.mark.parametrize("turns", range(4))
async def test_nothing_stays_open_of_who_is_cancelled_as_tls_is_agreed(
    guarded: Broker, certificates: Certificates, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    """So many turns of the loop after it: the socket is there, and nobody has been given it yet."""
    through = over_tls(guarded, certificates)
    agreed = AIOKafkaProtocol.connection_made
    client = KafkaAdmin(**through.client())
    starting = asyncio.ensure_future(client.start())

    def cancel(left: int) -> None:
        if left:
            asyncio.get_running_loop().call_soon(cancel, left - 1)
        else:
            starting.cancel()

    def connection_made(protocol: AIOKafkaProtocol, transport: asyncio.Transport) -> None:
        agreed(protocol, transport)
        cancel(turns)

    monkeypatch.setattr(AIOKafkaProtocol, "connection_made", connection_made)
    with pytest.raises(asyncio.CancelledError):
        await starting
    await client.close()
    assert connections(through.addresses[0][1]) == 0


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_socket_that_has_just_closed_is_a_lost_connection(
    proxy: Proxy,
    loop: Callable[[], asyncio.AbstractEventLoop],
    heard: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """aiokafka hears of it some rounds of the loop later; who sends before that is told so, too."""

    async def sent() -> int:
        client = Client(**KafkaSettings.plain(f"127.0.0.1:{proxy.target}").client())
        await client.bootstrap()
        try:
            await client.fetch_all_metadata()
            connections = list(client._conns.values())
            assert connections
            for one in connections:
                with monkeypatch.context() as deaf:
                    if not heard:
                        deaf.setattr(one, "close", lambda *_, **__: None)
                    one._writer.transport.abort()
                    await asyncio.sleep(0.05)
                with pytest.raises(KafkaConnectionError):
                    await one.send(MetadataRequest([]))
                assert not one.connected()
            return len((await client.fetch_all_metadata()).brokers())
        finally:
            await client.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(sent()) == 1
