"""Checks of Kafka: connection, security, topics, replicas, and the memory in the changelogs."""

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from shlex import quote
from typing import Any

from aiokafka.errors import KafkaError

from streams.apps.worker_settings import WorkerSettings
from streams.doctor.check_result import Finding, ok, warning, wrong
from streams.doctor.security import security
from streams.errors import ConfigurationError, TurnfoldError
from streams.kafka.client import topics
from streams.kafka.client.admin import connected, lost, partitions_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.lag import members_of
from streams.kafka.tools.topics import NeededTopic
from streams.kafka.tools.topics import topics as needed_topics
from streams.kafka.transport import partition_check
from streams.output import counted

SHOWN = 5
COPIES = 3


async def broker(kafka: KafkaSettings, worker: WorkerSettings) -> AsyncIterator[Finding]:
    """Runs all read-only checks of a cluster. Ends early if no broker answers."""
    started = time.perf_counter()
    try:
        async with connected(kafka) as admin:
            brokers = len((await admin.describe_cluster())["brokers"])
            present = set(await admin.list_topics())
            members = await members_of(admin, worker.group)
    except TurnfoldError as error:
        yield wrong(
            "broker",
            str(error),
            "No part of the Kafka tier can work.",
            "Check address, listener, login and certificates with this one command: "
            + _typed(kafka, "kafka lag"),
        )
        return
    seconds = time.perf_counter() - started
    yield ok(
        "broker",
        f"{kafka.bootstrap}: {brokers} brokers, answered in {seconds * 1000:.0f} ms; group "
        f"{worker.group}: {members} members",
    )
    yield await security(kafka)
    try:
        topics.check_no_repartition(present)
        needed = await needed_topics(kafka, worker.app_id, worker.generation)
        yield _topics(needed, _typed(kafka, "kafka topics"))
        yield await _copies(kafka, needed, brokers)
        yield await _memory(kafka, worker, present)
    except TurnfoldError as error:
        yield wrong("topics", str(error), "Workers end with exit code 3 or 5.", "As said.")


def _topics(needed: Sequence[NeededTopic], command: str) -> Finding:
    """Whether the existing topics can be used. `command`: shows the details."""
    unusable = [
        f"{topic.name} ({', '.join(difference.setting for difference in topic.wrong)})"
        for topic in needed
        if topic.wrong
    ]
    missing = [topic.name for topic in needed if topic.existing is None]
    if unusable:
        return wrong(
            "topics",
            f"{len(unusable)} cannot be used: {_some(unusable)}",
            "The processes that use them end with exit code 3.",
            f"{command}: shows the required settings; --commands: how an administrator sets them.",
        )
    if len(missing) == len(needed):
        return ok("topics", "none there yet; the first worker creates them")
    if missing:
        return warning(
            "topics",
            f"{len(missing)} of {len(needed)} are missing: {_some(missing)}",
            "The next worker that starts creates them, if the broker lets it.",
            f"Start a worker; or let an administrator create them: {command} --commands",
        )
    return ok("topics", f"{len(needed)} as they should be")


async def _copies(kafka: KafkaSettings, needed: Sequence[NeededTopic], brokers: int) -> Finding:
    names = [topic.spec.name for topic in needed if topic.existing is not None]
    if not names:
        return ok("replicas", "no topics yet")
    async with connected(kafka) as admin:
        described: list[dict[str, Any]] = await admin.describe_topics(names)
    behind = _topics_where(described, lambda part: len(part["isr"]) < len(part["replicas"]))
    if behind:
        return warning(
            "replicas",
            f"{len(behind)} topics have replicas that are behind or away: {_some(behind)}",
            "If one more broker fails, writes stop.",
            "Check the missing brokers.",
        )
    few = _topics_where(described, lambda part: len(part["replicas"]) < min(COPIES, brokers))
    if few:
        return warning(
            "replicas",
            f"{len(few)} topics have fewer than {min(COPIES, brokers)}: {_some(few)}",
            "A broker that fails stops the memory, or loses it.",
            "Add replicas with kafka-reassign-partitions.",
        )
    if brokers < COPIES:
        return warning(
            "replicas",
            f"the cluster has {brokers} brokers",
            "If one fails, the memory stops; with one broker a lost disk loses it.",
            "For more than a trial use three brokers.",
        )
    return ok("replicas", f"every partition of {len(names)} topics has its replicas")


def _topics_where(topics: Iterable[dict[str, Any]], predicate: Any) -> list[str]:
    return [topic["topic"] for topic in topics if any(map(predicate, topic["partitions"]))]


async def _memory(kafka: KafkaSettings, worker: WorkerSettings, present: set[str]) -> Finding:
    """Checks the row format and the number of partitions of the changelogs."""
    async with connected(kafka) as admin:
        names = partition_check.topics_of(worker.group, worker.generation)
        counts = await partitions_of(admin, [name for name in names if name in present])
    try:
        partitions = await partition_check.look(kafka, worker.group, counts)
    except ConfigurationError as error:  # the marker's format
        return wrong(
            "row format",
            str(error),
            "Workers and servers of this version cannot continue this memory.",
            "See docs/upgrades.md.",
        )
    except KafkaError as error:
        raise lost(kafka, error) from None
    if (difference := partitions.difference(kafka.partitions)) is not None:
        return wrong("partitions", difference, "Workers end with exit code 3.", "As said.")
    if partitions.folded is None:
        return ok("memory", f"{worker.group}: nothing folded yet")
    if partitions.older:
        return warning(
            "memory",
            f"{worker.group}: {partitions.older} changelog partitions have rows of an older "
            "version",
            "A worker of this version upgrades them before it folds; workers of the older version "
            "cannot continue them then.",
            "Nothing, if you are upgrading; see docs/upgrades.md.",
        )
    return ok(
        "memory",
        f"{worker.group}: rows of this version's format in "
        f"{counted(partitions.folded, 'partition')}",
    )


def _typed(kafka: KafkaSettings, command: str) -> str:
    """A shell command for the same broker and topics."""
    prefix = f" --topic-prefix {quote(kafka.topic_prefix)}" if kafka.topic_prefix else ""
    return f"turnfold {command} --bootstrap {quote(kafka.bootstrap)}{prefix}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
