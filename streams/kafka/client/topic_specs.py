"""Required settings of topics, and differences of existing topics (docs/shared-clusters.md)."""

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
    """Required topic. `exact` settings must be equal, `at_least` must not be lower, `initial` are
    set at creation and may be changed by the operator (retention). `more`: more partitions are
    accepted, since no key is looked up in it."""

    name: str
    partitions: int
    exact: Mapping[str, str]
    at_least: Mapping[str, int]
    initial: Mapping[str, str]
    more: bool = False

    def settings(self, replicas: int) -> dict[str, str]:
        """Settings to create it with."""
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
    """Spec of one topic, of the topology or outside it, such as a table's changelog.

    `retention_days` None keeps messages forever; a compacted topic keeps the newest of each key.
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
    return spec(
        topic.name,
        partitions,
        compacted=topic.compacted,
        retention_days=topic.retention_days,
        max_bytes=OUTPUT_BYTES if topic.direction == "output" else INPUT_BYTES,
        more=topic.direction == "output" and not topic.compacted,
    )


def in_sync(replicas: int) -> int:
    """Number of replicas that must have a message before it counts as written: with three or more,
    one may fail without data loss."""
    return 2 if replicas >= REPLICAS else 1


class ExistingTopic(NamedTuple):
    """State of an existing topic; 0 partitions if unknown."""

    partitions: int
    replicas: int
    settings: Mapping[str, str]


class Difference(NamedTuple):
    """A setting of a topic that differs from its spec."""

    setting: str
    expected: str
    found: str


def differences(expected: TopicSpec, existing: ExistingTopic) -> Iterator[Difference]:
    if existing.partitions < expected.partitions or (
        existing.partitions > expected.partitions and not expected.more
    ):
        least = "at least " * expected.more
        yield Difference(PARTITIONS, f"{least}{expected.partitions}", str(existing.partitions))
    for name, value in expected.exact.items():
        if (actual := existing.settings.get(name)) != value:
            yield Difference(name, value, actual or "nothing")
    for name, number in {**expected.at_least, IN_SYNC: in_sync(existing.replicas)}.items():
        if int(existing.settings.get(name, 0)) < number:
            yield Difference(name, f"at least {number}", existing.settings.get(name, "nothing"))
    if 0 < existing.replicas < int(existing.settings.get(IN_SYNC, 0)):
        most = f"at most {existing.replicas}, as many as there are replicas"
        yield Difference(IN_SYNC, most, existing.settings[IN_SYNC])
