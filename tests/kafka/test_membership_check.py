"""The containers' health check: asked of a real broker about a real consumer."""

import asyncio
import os
import subprocess
import sys
from uuid import uuid4

from aiokafka import AIOKafkaConsumer

from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.client.topics import create


def health(bootstrap: str, group: str) -> tuple[int, str]:
    """Exit code and what it says, as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "streams.kafka.transport.membership_check", group],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "TURNFOLD_KAFKA_BOOTSTRAP": bootstrap},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_healthy_while_the_consumer_is_a_member(settings: KafkaSettings) -> None:
    topic, group = f"topic-{uuid4()}", f"group-{uuid4()}"

    async def consume() -> tuple[int, str]:
        async with connected(settings) as admin:
            await create(admin, [spec(topic, 1)])
        async with AIOKafkaConsumer(topic, group_id=group, **settings.client()) as consumer:
            await consumer.getmany(timeout_ms=500)
            return await asyncio.to_thread(health, settings.bootstrap, group)

    assert asyncio.run(consume()) == (0, "1 member(s)\n")
    code, said = health(settings.bootstrap, group)
    assert code == 5 and "none of its 0 members" in said


def test_unhealthy_without_a_broker() -> None:
    code, said = health("127.0.0.1:1", "any")
    assert code == 5 and "127.0.0.1:1" in said


def test_wrong_settings_are_told_apart() -> None:
    code, said = health("nonsense", "any")
    assert code == 3 and "TURNFOLD_KAFKA_BOOTSTRAP" in said
