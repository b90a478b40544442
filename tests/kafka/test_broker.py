"""The broker without Docker: real processes, killed and brought back."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from streams.broker import Broker, Security, ports
from streams.errors import ConfigurationError, Unreachable
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.client.topics import create
from tests.waiting import until

PROGRAM = "from streams.cli import app; app()"


async def write(bootstrap: str, topic: str, *values: bytes) -> None:
    """Creates the topic if need be and writes to its one partition, acknowledged by all."""
    settings = KafkaSettings.plain(bootstrap)
    async with connected(settings) as admin:
        await create(admin, [spec(topic, 1)])
    async with AIOKafkaProducer(acks="all", **settings.client()) as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


async def read(bootstrap: str, topic: str) -> list[bytes | None]:
    """Every value of the topic's one partition."""
    partition = TopicPartition(topic, 0)
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        end = (await consumer.end_offsets([partition]))[partition]
        values: list[bytes | None] = []
        while await consumer.position(partition) < end:
            for batch in (await consumer.getmany(partition, timeout_ms=1000)).values():
                values += [record.value for record in batch]
    return values


async def leader(bootstrap: str, topic: str) -> int:
    """The node that leads the topic's one partition."""
    async with connected(KafkaSettings.plain(bootstrap)) as admin:
        (described,) = await admin.describe_topics([topic])
    return int(described["partitions"][0]["leader"])


def command(*args: str, state: Path) -> tuple[int, str, str]:
    """`turnfold kafka broker …` as a process of its own: exit code, stdout, stderr."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "kafka", "broker", *args],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "XDG_STATE_HOME": str(state)},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_a_temporary_broker_leaves_nothing_behind() -> None:
    with Broker.start(short_lived=True) as broker:
        node, folder = broker.nodes[0], broker.folder
        assert broker.nodes_answering() == 1
        assert node.pid is not None and node.log.stat().st_size > 0
    assert not folder.exists()
    assert not broker.is_running()
    with pytest.raises(ProcessLookupError):
        os.kill(node.pid, 0)


def test_a_new_broker_is_ready_for_groups() -> None:
    async def found(bootstrap: str) -> int:
        async with connected(KafkaSettings.plain(bootstrap)) as admin:
            return int(await admin.find_coordinator("any"))

    with Broker.start(short_lived=True) as broker:
        assert asyncio.run(found(broker.bootstrap)) == 1


def test_a_node_that_was_killed_comes_back_with_its_records(tmp_path: Path) -> None:
    with Broker.start(keep=tmp_path, short_lived=True) as broker:
        asyncio.run(write(broker.bootstrap, "kept", b"one", b"two"))
        (node,) = broker.nodes
        node.kill()
        assert not broker.is_running() and broker.nodes_answering() == 0
        node.start()
        broker.await_ready()
        assert asyncio.run(read(broker.bootstrap, "kept")) == [b"one", b"two"]
    first = broker.bootstrap
    with Broker.start(keep=tmp_path, short_lived=True) as again:
        assert again.bootstrap == first, "a kept folder keeps its address"
        assert again.cluster_id == broker.cluster_id
        assert asyncio.run(read(again.bootstrap, "kept")) == [b"one", b"two"]
        with pytest.raises(ConfigurationError, match="runs already"):
            Broker.start(keep=tmp_path)
    with pytest.raises(ConfigurationError, match="of 1 node"):
        Broker.start(keep=tmp_path, nodes=3)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", node.ports["PLAINTEXT"]))
        taken.listen()
        with Broker.start(keep=tmp_path, short_lived=True) as moved:
            assert moved.bootstrap != first
            assert asyncio.run(read(moved.bootstrap, "kept")) == [b"one", b"two"]


def test_a_node_of_three_that_was_killed_is_started_again_by_the_command(tmp_path: Path) -> None:
    code, out, err = command("start", "--nodes", "3", "-o", "json", state=tmp_path)
    assert code == 0, err
    started = json.loads(out)
    try:
        asyncio.run(write(started["bootstrap"], "kept", b"one"))
        killed = started["nodes"][1]["pid"]
        os.kill(killed, signal.SIGKILL)
        until(lambda: command("status", state=tmp_path)[0], lambda code: code == 5)
        code, out, err = command("start", "-o", "json", state=tmp_path)
        assert code == 0 and "started again: node 2" in err, err
        again = json.loads(out)
        assert again["bootstrap"] == started["bootstrap"] and again["answering"] == 3
        pids = [[node["pid"] for node in one["nodes"]] for one in (started, again)]
        assert pids[0][0] == pids[1][0] and pids[1][1] != killed
        assert asyncio.run(read(again["bootstrap"], "kept")) == [b"one"]
        code, _, err = command("start", state=tmp_path)
        assert code == 3 and "one runs already" in err
    finally:
        assert command("stop", state=tmp_path)[0] == 0


def test_a_node_that_is_stopped_does_not_answer_until_it_continues(broker: Broker) -> None:
    (node,) = broker.nodes
    node.signal(signal.SIGSTOP)
    try:
        until(
            broker.nodes_answering, lambda nodes: nodes == 0
        )  # each of its threads stops by itself
        assert broker.is_running()
    finally:
        node.signal(signal.SIGCONT)
    broker.await_ready()


def test_a_topic_nobody_created_is_not_made_up(broker: Broker) -> None:
    topic = f"typo-{uuid4()}"

    async def ask() -> list[str]:
        async with connected(KafkaSettings.plain(broker.bootstrap)) as admin:
            await admin.describe_topics([topic])  # as every producer and consumer asks
            return list(await admin.list_topics())

    assert topic not in asyncio.run(ask())


def test_a_taken_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Unreachable, match=f"port {port} on 127.0.0.1 is taken"):
            Broker.start(port=port)


def test_ports_that_another_process_takes_before_the_start_are_replaced(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a broker takes it, which answers in place of the new one."""
    taken = broker.nodes[0].ports["PLAINTEXT"]
    free, choices = ports.free, [[taken]]
    monkeypatch.setattr(ports, "free", lambda count: [*(choices or [[]]).pop(), *free(count)])
    with Broker.start(short_lived=True) as other:
        (node,) = other.nodes
        assert not choices and taken not in node.ports.values()
        assert "Address already in use" in node.log.read_text()
        assert other.nodes_answering() == 1


def test_a_node_that_cannot_start_says_why(tmp_path: Path) -> None:
    with Broker.start(keep=tmp_path, short_lived=True) as broker:
        (node,) = broker.nodes
        node.stop()
        (node.data / "meta.properties").write_text("not what Kafka wrote")
        node.start()
        with pytest.raises(Unreachable, match="node 1 ended while it started") as caught:
            broker.await_ready()
        assert str(node.log) in str(caught.value)
        assert "node ID not found" in str(caught.value)


def test_clients_of_the_proxied_listener_are_sent_to_the_proxys_port() -> None:
    (proxy,) = ports.free(1)
    with Broker.start(security=Security(advertised=(proxy,)), short_lived=True) as broker:

        async def advertised() -> int:
            settings = KafkaSettings.plain(broker.bootstrap_of("PROXIED"))
            async with connected(settings) as admin:
                return int(admin._client.cluster.broker_metadata(1).port)

        assert asyncio.run(advertised()) == proxy


def test_when_one_of_three_dies_another_leads() -> None:
    topic = "replicated"
    with Broker.start(nodes=3, short_lived=True) as broker:
        assert broker.nodes_answering() == 3
        asyncio.run(write(broker.bootstrap, topic, b"one"))
        first = asyncio.run(leader(broker.bootstrap, topic))
        broker.nodes[first - 1].kill()
        asyncio.run(write(broker.bootstrap, topic, b"two"))
        assert asyncio.run(leader(broker.bootstrap, topic)) != first
        assert asyncio.run(read(broker.bootstrap, topic)) == [b"one", b"two"]
        broker.nodes[first - 1].start()
        broker.await_ready()
        assert broker.nodes_answering() == 3


def test_the_commands_start_find_and_stop_one_broker(tmp_path: Path) -> None:
    state, kept = tmp_path / "state", tmp_path / "kafka"
    assert command("status", state=state)[0] == 5
    assert command("stop", state=state)[:2] == (0, "no broker was running\n")
    (port,) = ports.free(1)
    code, out, err = command("start", "--keep", str(kept), "--port", str(port), state=state)
    try:
        assert (code, out) == (0, f"127.0.0.1:{port}\n"), err
        asyncio.run(write(out.strip(), "records", b"one"))
        described = status(state)
        assert described["bootstrap"] == out.strip() and described["answering"] == 1
        code, out, err = command("start", state=state)
        assert code == 3 and str(port) in err and out == ""
        os.kill(described["nodes"][0]["pid"], signal.SIGSTOP)
        code, out, err = command("status", state=state)
        assert code == 5 and "0 of 1 node(s) answer" in err
    finally:
        code, out, err = command("stop", state=state)
    assert (code, out) == (0, "stopped\n"), err
    assert not Broker.find(kept).is_running()
    assert command("status", "-o", "json", state=state)[:2] == (5, '{\n  "running": false\n}\n')


def test_status_and_stop_cope_with_a_broker_that_was_killed(tmp_path: Path) -> None:
    code, out, err = command("start", "-o", "json", state=tmp_path)
    assert code == 0, err
    started: dict[str, Any] = json.loads(out)
    os.kill(started["nodes"][0]["pid"], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while command("status", state=tmp_path)[0] != 5:
        assert time.monotonic() < deadline
    assert command("stop", state=tmp_path)[:2] == (0, "no broker was running\n")
    assert not Path(started["folder"]).exists()


def status(state: Path) -> dict[str, Any]:
    code, out, err = command("status", "-o", "json", state=state)
    assert code == 0, err
    described: dict[str, Any] = json.loads(out)
    return described
