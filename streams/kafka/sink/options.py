"""Options and counters of a sink, and the owner of its history."""

from collections.abc import Callable
from dataclasses import dataclass

from streams.kafka.agents.agents import own_specs
from streams.kafka.client.admin import cluster_of, connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.topology import DEAD_LETTERS, HISTORY, name_in

SOURCES = (HISTORY, DEAD_LETTERS)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """`name`: consumer group and prefix of every app id; `instance`: static member name, which
    keeps its partitions across a restart. A write starts after `roll_bytes` of messages or
    `roll_seconds`. `once`: stop at the current end of the topics."""

    name: str = "sink"
    instance: str | None = None
    roll_bytes: int = 64_000_000
    roll_seconds: float = 10.0
    once: bool = False
    poll_records: int = 4_000
    observe: Callable[[str], None] = lambda point: None
    """Called with points: positioned, before TABLE, after TABLE, written, committed. For tests."""
    generation: str | None = None
    """Generation to read (None: the live memory)."""

    @property
    def group(self) -> str:
        return f"{self.name}.{self.generation}" if self.generation else self.name

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(name_in(topic, self.generation) for topic in SOURCES)


@dataclass(slots=True)
class SinkCounts:
    """Messages read, including repeats, misfits, and those with destroyed keys (`erased`); rows and
    writes committed."""

    read: int = 0
    repeats: int = 0
    misfits: int = 0
    erased: int = 0
    rows: int = 0
    writes: int = 0


async def owner(settings: KafkaSettings, options: SinkOptions) -> dict[str, str]:
    """Owner of a sink's history: its name, and the cluster (with topic prefix) of its offsets.

    Creates missing topics. Any number of partitions is accepted, since each message identifies its
    row. Raises ConfigurationError or Unreachable.
    """
    specs = [
        spec
        for spec in own_specs(options.generation, settings.partitions)
        if spec.name in options.topics
    ]
    sources = () if options.generation else SOURCES
    await ensure_topics(settings, specs, counted=False, topics=sources)
    async with connected(settings) as admin:
        return {"sink": options.name, "cluster": await cluster_of(admin, settings)}
