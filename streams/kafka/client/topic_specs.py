"""Topics as they must be, and how one that is there differs from that (docs/shared-clusters.md)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from streams.topology import INPUT_BYTES, OUTPUT_BYTES, Topic

DAY_MS = 86_400_000
REPLICAS = 3
IN_SYNC = "min.insync.replicas"
PARTITIONS = "partitions"


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic as it must be. `exact` settings must be equal, `at_least` must not be lower,
    `initial` are set when it is created and the operator's afterwards (retention). `more`: it may
    have more partitions than that, of which nothing depends (no key is looked up in it)."""

    name: str
    partitions: int
    exact: Mapping[str, str]
    at_least: Mapping[str, int]
    initial: Mapping[str, str]
    more: bool = False

    def settings(self, replicas: int) -> dict[str, str]:
        """What it is created with."""
        limits = {name: str(value) for name, value in self.at_least.items()}
        return {**self.exact, **limits, **self.initial, IN_SYNC: str(in_sync(replicas))}


def spec(
    name: str,
    partitions: int,
    *,
    compacted: bool = False,
    retention_days: int | None = None,
    max_bytes: int = OUTPUT_BYTES,
    more: bool = False,
) -> TopicSpec:
    """One topic; also for those the topology does not name, such as a table's changelog.

    `retention_days` None keeps messages for ever; a compacted topic keeps the newest of each key.
    """
    retention = -1 if retention_days is None else retention_days * DAY_MS
    return TopicSpec(
        name,
        partitions,
        exact={
            "cleanup.policy": "compact" if compacted else "delete",
            "message.timestamp.type": "LogAppendTime",
        },
        at_least={"max.message.bytes": max_bytes},
        initial={} if compacted else {"retention.ms": str(retention), "retention.bytes": "-1"},
        more=more,
    )


def spec_of(topic: Topic, partitions: int) -> TopicSpec:
    """A topic of the topology."""
    return spec(
        topic.name,
        partitions,
        compacted=topic.compacted,
        retention_days=topic.retention_days,
        max_bytes=OUTPUT_BYTES if topic.direction == "output" else INPUT_BYTES,
        more=topic.direction == "output" and not topic.compacted,
    )


def in_sync(replicas: int) -> int:
    """How many replicas must have a message before it counts as written: with three or more one
    may die, and no message is lost."""
    return 2 if replicas >= REPLICAS else 1


class Found(NamedTuple):
    """What is there of a topic; no partitions where it is not known."""

    partitions: int
    replicas: int
    settings: Mapping[str, str]


class Difference(NamedTuple):
    """A setting of a topic that is other than it must be."""

    setting: str
    expected: str
    found: str


def differences(one: TopicSpec, there: Found) -> Iterator[Difference]:
    """What of a topic is not as it must be."""
    if there.partitions < one.partitions or (there.partitions > one.partitions and not one.more):
        least = "at least " * one.more
        yield Difference(PARTITIONS, f"{least}{one.partitions}", str(there.partitions))
    for name, value in one.exact.items():
        if (found := there.settings.get(name)) != value:
            yield Difference(name, value, found or "nothing")
    for name, number in {**one.at_least, IN_SYNC: in_sync(there.replicas)}.items():
        if int(there.settings.get(name, 0)) < number:
            yield Difference(name, f"at least {number}", there.settings.get(name, "nothing"))
    if 0 < there.replicas < int(there.settings.get(IN_SYNC, 0)):
        most = f"at most {there.replicas}, as many as there are replicas"
        yield Difference(IN_SYNC, most, there.settings[IN_SYNC])
