"""How a sink was started, what it counts, and whose history it writes."""

from collections.abc import Callable
from dataclasses import dataclass

from streams.kafka.agents.agents import own_specs
from streams.kafka.client.admin import cluster_of, connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.transport.processing import Span, no_span
from streams.topology import DEAD_LETTERS, HISTORY, name_in

SOURCES = (HISTORY, DEAD_LETTERS)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """`name` is the consumer group and begins every app id; `instance` that of one member, which
    has its partitions again at once when it is started again. A write begins when so many bytes of
    messages or seconds have gathered. `once`: end where the topics end now."""

    name: str = "sink"
    instance: str | None = None
    roll_bytes: int = 64_000_000
    roll_seconds: float = 10.0
    once: bool = False
    poll_records: int = 4_000
    observe: Callable[[str], None] = lambda point: None
    """Called with the points it passes: positioned, before TABLE, after TABLE, written, committed.
    For tests."""
    generation: str | None = None
    """Whose topics are read; None: the live memory's."""
    span: Span = no_span
    """Lasts as long as the write of these messages."""

    @property
    def group(self) -> str:
        """The consumer group."""
        return f"{self.name}.{self.generation}" if self.generation else self.name

    @property
    def topics(self) -> tuple[str, ...]:
        """What is read."""
        return tuple(name_in(topic, self.generation) for topic in SOURCES)


@dataclass(slots=True)
class SinkCounts:
    """Messages read (again), of which repeats and misfits; rows and writes that made commits."""

    read: int = 0
    repeats: int = 0
    misfits: int = 0
    rows: int = 0
    writes: int = 0


async def owner(settings: KafkaSettings, options: SinkOptions) -> dict[str, str]:
    """Whose history a sink writes: its name, and the cluster (with the topic prefix) that its
    offsets are of.

    Creates the topics that are missing. How many partitions there are is no matter: each message
    says by itself whose row it is. Raises ConfigurationError or Unreachable.
    """
    own = [
        one
        for one in own_specs(options.generation, settings.partitions)
        if one.name in options.topics
    ]
    sources = () if options.generation else SOURCES
    await ensure_topics(settings, own, counted=False, topics=sources)
    async with connected(settings) as admin:
        return {"sink": options.name, "cluster": await cluster_of(admin, settings)}
