"""Kafka: is it reached, how safely, and are the topics and the memory in them as they should be?"""

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from shlex import quote
from typing import Any

from aiokafka.errors import KafkaError

from streams.apps.worker_settings import WorkerSettings
from streams.doctor.finding import Finding, ok, warning, wrong
from streams.doctor.security import security
from streams.errors import ConfigurationError, TurnfoldError
from streams.kafka.client import topics
from streams.kafka.client.admin import connected, lost, partitions_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.lag import members_of
from streams.kafka.tools.topics import NeededTopic
from streams.kafka.tools.topics import topics as needed_topics
from streams.kafka.transport import layout

SHOWN = 5
COPIES = 3


async def broker(kafka: KafkaSettings, worker: WorkerSettings) -> AsyncIterator[Finding]:
    """All that can be read of a cluster; nothing is written. Ends early where none answers."""
    began = time.perf_counter()
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
            + _typed(kafka, "lag"),
        )
        return
    seconds = time.perf_counter() - began
    yield ok(
        "broker",
        f"{kafka.bootstrap}: {brokers} brokers, answered in {seconds * 1000:.0f} ms; group "
        f"{worker.group}: {members} members",
    )
    yield await security(kafka)
    try:
        topics.check_no_repartition(present)
        needed = await needed_topics(kafka, worker.app_id, worker.generation)
        yield _topics(needed, _typed(kafka, "topics"))
        yield await _copies(kafka, needed, brokers)
        yield await _memory(kafka, worker, present)
    except TurnfoldError as error:
        yield wrong("topics", str(error), "Workers end with exit code 3 or 5.", "As said.")


def _topics(needed: Sequence[NeededTopic], how: str) -> Finding:
    """Whether those that are there can be used; `how`: the command that shows more."""
    wrong_ones = [f"{one.name} ({', '.join(diff.setting for diff in one.wrong)})"
                  for one in needed if one.wrong]  # fmt: skip
    missing = [one.name for one in needed if one.existing is None]
    if wrong_ones:
        return wrong(
            "topics",
            f"{len(wrong_ones)} cannot be used: {_some(wrong_ones)}",
            "The processes that use them end with exit code 3.",
            f"{how}: what must be how; --commands: how an administrator changes it.",
        )
    if len(missing) == len(needed):
        return ok("topics", "none there yet; the first worker creates them")
    if missing:
        return warning(
            "topics",
            f"{len(missing)} of {len(needed)} are missing: {_some(missing)}",
            "The next worker that starts creates them, if the broker lets it.",
            f"Start a worker; or let an administrator create them: {how} --commands",
        )
    return ok("topics", f"{len(needed)} as they should be")


async def _copies(kafka: KafkaSettings, needed: Sequence[NeededTopic], brokers: int) -> Finding:
    names = [one.spec.name for one in needed if one.existing is not None]
    if not names:
        return ok("replicas", "no topics yet")
    async with connected(kafka) as admin:
        described: list[dict[str, Any]] = await admin.describe_topics(names)
    behind = _topics_where(described, lambda one: len(one["isr"]) < len(one["replicas"]))
    if behind:
        return warning(
            "replicas",
            f"{len(behind)} topics have replicas that are behind or away: {_some(behind)}",
            "If one more broker fails, writes stop.",
            "Look at the brokers that are missing.",
        )
    few = _topics_where(described, lambda one: len(one["replicas"]) < min(COPIES, brokers))
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


def _topics_where(described: Iterable[dict[str, Any]], holds: Any) -> list[str]:
    return [one["topic"] for one in described if any(map(holds, one["partitions"]))]


async def _memory(kafka: KafkaSettings, worker: WorkerSettings, present: set[str]) -> Finding:
    """The rows in the changelogs: their format, and the number of partitions they lie in."""
    async with connected(kafka) as admin:
        names = layout.topics_of(worker.group, worker.generation)
        counts = await partitions_of(admin, [name for name in names if name in present])
    try:
        found = await layout.look(kafka, worker.group, counts)
    except ConfigurationError as error:  # the marker's format
        return wrong(
            "row format",
            str(error),
            "Workers and servers of this version cannot continue this memory.",
            "See docs/upgrades.md.",
        )
    except KafkaError as error:
        raise lost(kafka, error) from None
    if (why := found.difference(kafka.partitions)) is not None:
        return wrong("partitions", why, "Workers end with exit code 3.", "As said.")
    if found.folded is None:
        return ok("memory", f"{worker.group}: nothing folded yet")
    if found.older:
        return warning(
            "memory",
            f"{worker.group}: {found.older} changelog partitions have rows of an older version",
            "A worker of this version upgrades them before it folds; workers of the older version "
            "cannot continue them then.",
            "Nothing, if you are upgrading; see docs/upgrades.md.",
        )
    return ok(
        "memory", f"{worker.group}: rows of this version's format in {found.folded} partitions"
    )


def _typed(kafka: KafkaSettings, command: str) -> str:
    """A command over the same broker and topics, as it is typed."""
    prefix = f" --topic-prefix {quote(kafka.topic_prefix)}" if kafka.topic_prefix else ""
    return f"turnfold {command} --bootstrap {quote(kafka.bootstrap)}{prefix}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
