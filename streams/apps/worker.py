"""The worker: the topology's agents as a Faust app, and a process that runs it.

See docs/kafka-tier.md.

`turnfold kafka worker` is the usual way to start it; `faust -A streams.apps.worker worker` also
works, with settings from the environment only (TURNFOLD_KAFKA_…, TURNFOLD_WORKER_…) and without a
model extractor.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any

from sinks.locations import Location
from streams import event_loop
from streams.apps.worker_settings import WorkerSettings
from streams.errors import ConfigurationError
from streams.extractors.registry import MODEL
from streams.kafka.agents import agents
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import own_inputs, own_topics
from streams.kafka.client.topics import ensure_topics
from streams.kafka.transport.app import App
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.interfaces import AgentSpec, LaneSettings
from streams.kafka.transport.lanes import Lanes
from streams.kafka.transport.partition_check import check
from streams.kafka.transport.rows import MemoryRows, RowStore
from streams.kafka.transport.run import run
from streams.llm.background import Beside
from streams.topology import SESSION_AGENT

if TYPE_CHECKING:  # only where there is a mapping
    from streams.mapping.mapper import Mapper

log = logging.getLogger(__name__)

FAUST = "turnfold-faust-"
"""Prefix of a worker's own temporary folder: another account's cannot be written."""


def _rows(worker: WorkerSettings, lane: str) -> RowStore:
    """Storage of a lane's rows, by its name."""
    return MemoryRows() if worker.data is None else DiskRows(worker.data / worker.group / lane)


def _mapper(worker: WorkerSettings) -> "Mapper | None":
    """The mapping of its topics, if it has one. Raises ConfigurationError."""
    if worker.mapping is None:
        return None
    from streams.mapping.mapper import Mapper

    return Mapper(worker.mapping)


def make_app(kafka: KafkaSettings, worker: WorkerSettings, datadir: Path) -> App:
    """The Faust app of both agents. The topics must exist: `prepare`. `datadir`: of Faust, which
    leaves it empty."""
    topics = own_topics(worker.generation)
    plans: list[AgentSpec] = []
    if (mapper := _mapper(worker)) is not None:
        from streams.kafka.agents import mapped_topics

        topics += own_inputs(worker.generation)
        plans = mapped_topics.plans(worker.group, mapper, kafka.partitions)
        kafka = kafka.with_unprefixed(mapper.sources)
    connection = kafka.client()
    return App(
        worker.group,
        plans
        + agents.plans(
            worker.group,
            kafka.partitions,
            worker.retention,
            worker.rules,
            worker.extractor,
            worker.generation,
            maps=worker.mapping is not None,
        ),
        bootstrap=kafka.bootstrap,
        datadir=datadir,
        connection=connection,
        consumer_group_instance_id=worker.instance,
        broker_session_timeout=worker.session_seconds,
        standbys=worker.standbys,
        lane_settings=LaneSettings(
            max_records=worker.max_records,
            compression=None if worker.compression == "none" else worker.compression,
            rows=partial(_rows, worker),
            keys=connection.get("keys"),
            names={topic.name: name for topic, name in topics},
            quota=worker.quota,
            quotas=worker.own_quotas,
        ),
    )


def prepare(kafka: KafkaSettings, worker: WorkerSettings) -> list[str]:
    """Creates missing topics and checks the others; returns the names of new ones.

    Raises:
        ConfigurationError: a topic is misconfigured, or the broker denies access.
        Unreachable: no broker answers.
    """
    return event_loop.run(_prepare(kafka, worker))


async def _prepare(kafka: KafkaSettings, worker: WorkerSettings) -> list[str]:
    mapper = _mapper(worker)  # reports an invalid file before it contacts a broker
    await check(kafka, worker.group, worker.generation, kafka.partitions)
    changelogs = agents.changelogs(worker.group, kafka.partitions)
    if mapper is not None:
        from streams.kafka.agents import mapped_topics

        mapped = kafka.with_unprefixed(mapper.sources)
        changelogs += await mapped_topics.changelogs(mapped, worker.group, mapper)
    topics = agents.own_specs(worker.generation, kafka.partitions, worker.mapping is not None)
    return await ensure_topics(kafka, [*changelogs, *topics])


def asks_model(lanes: Lanes) -> bool | None:
    """Whether a model also extracts, according to the markers, or None before a lane has a
    marker."""
    names = {
        lane.standing.marker.note.get("extractor", {}).get("name")
        for lane in lanes.running()
        if lane.plan.agent == SESSION_AGENT.name and lane.standing.marker is not None
    }
    return MODEL in names if names else None


def model_beside(
    app: App, kafka: KafkaSettings, worker: WorkerSettings, history: Location | None
) -> Beside | None:
    """The worker's model extractor, if it may have one."""
    if worker.extractor not in (None, MODEL):
        return None
    maps = worker.generation is not None and worker.mapping is not None
    chosen = partial(asks_model, app.lanes)
    return Beside.worker(kafka, worker.group, history, chosen, worker.generation, maps)


def work(
    kafka: KafkaSettings,
    worker: WorkerSettings,
    service: Callable[[App], AbstractAsyncContextManager[object] | None] = lambda app: None,
) -> int:
    """Prepares the topics and works until SIGTERM or SIGINT; returns the exit code. `service` runs
    with the app: metrics port and model extractor."""
    created = prepare(kafka, worker)
    if created:
        log.info("created the topics %s", ", ".join(created))
    with TemporaryDirectory(prefix=FAUST) as datadir:
        app = make_app(kafka, worker, Path(datadir))
        return run(app, service(app))


def __getattr__(name: str) -> Any:
    """Creates `app` for Faust's command line."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kafka, worker = KafkaSettings.load(), WorkerSettings.load()
    if worker.extractor == MODEL:
        raise ConfigurationError(
            "only `turnfold kafka worker` supports a model; use the extractor rules"
        )
    prepare(kafka, worker)
    globals()["app"] = app = make_app(kafka, worker, Path(mkdtemp(prefix=FAUST)))
    return app
