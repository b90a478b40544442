"""The worker: the topology's agents as a Faust app, and a process that runs it.

See docs/kafka-tier.md.

`turnfold kafka worker` is the usual way to start it; `faust -A streams.apps.worker worker` works
too and takes its settings from the environment alone (TURNFOLD_KAFKA_…, TURNFOLD_WORKER_…); it asks
no model.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from sinks.locations import Location
from streams import event_loop
from streams.apps.worker_settings import WorkerSettings
from streams.errors import ConfigurationError
from streams.extractors.naming import MODEL
from streams.kafka.agents import agents
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.traced_origin import TracedOrigin
from streams.kafka.client.names import own_inputs, own_topics
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.transport.app import App
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.lanes import Lanes
from streams.kafka.transport.layout import check
from streams.kafka.transport.processing import AgentSpec, LaneSettings, no_span
from streams.kafka.transport.rows import MemoryRows, RowStore
from streams.kafka.transport.run import run
from streams.llm.beside import Beside
from streams.observing import traces
from streams.topology import SESSION_AGENT

log = logging.getLogger(__name__)


def _rows(worker: WorkerSettings, lane: str) -> RowStore:
    """The rows of a lane, by its name."""
    return MemoryRows() if worker.data is None else DiskRows(worker.data / worker.group / lane)


def make_app(kafka: KafkaSettings, worker: WorkerSettings, traced: bool = False) -> App:
    """The Faust app of both agents. The topics have to be there: `prepare`. `traced`: batches have
    spans (`streams.observing.traces.begin` comes first)."""
    span, origin = (traces.span, TracedOrigin) if traced else (no_span, Origin)
    own = own_topics(worker.generation)
    plans: list[AgentSpec] = []
    if worker.mapping is not None:
        from streams.kafka.agents import mapped_topics
        from streams.mapping.mapper import Mapper

        own += own_inputs(worker.generation)
        mapper = Mapper(worker.mapping)
        plans = mapped_topics.plans(worker.group, mapper, kafka.partitions, origin)
        kafka = kafka.beside(mapper.sources)
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
            origin,
            maps=worker.mapping is not None,
        ),
        bootstrap=kafka.bootstrap,
        datadir=Path(gettempdir()) / f"{worker.group}-faust",
        connection=kafka.client(),
        consumer_group_instance_id=worker.instance,
        broker_session_timeout=worker.session_seconds,
        standbys=worker.standbys,
        lane_settings=LaneSettings(
            max_records=worker.max_records,
            compression=None if worker.compression == "none" else worker.compression,
            rows=partial(_rows, worker),
            names={topic.name: name for topic, name in own},
            quota=worker.quota,
            quotas=worker.own_quotas,
            span=span,
        ),
    )


def prepare(kafka: KafkaSettings, worker: WorkerSettings) -> list[str]:
    """Creates the topics that are missing and checks the others; the new ones' names.

    Raises:
        ConfigurationError: a topic is not as it should be, or the broker refuses us.
        Unreachable: no broker answers.
    """
    return event_loop.run(_prepare(kafka, worker))


async def _prepare(kafka: KafkaSettings, worker: WorkerSettings) -> list[str]:
    await check(kafka, worker.group, worker.generation, kafka.partitions)
    changelogs = agents.changelogs(worker.group, kafka.partitions)
    if worker.mapping is not None:
        from streams.kafka.agents import mapped_topics
        from streams.mapping.mapper import Mapper

        mapper = Mapper(worker.mapping)
        whole = kafka.beside(mapper.sources)
        changelogs += await mapped_topics.changelogs(whole, worker.group, mapper)
    own = agents.own_specs(worker.generation, kafka.partitions, worker.mapping is not None)
    return await ensure_topics(kafka, [*changelogs, *own])


def asks_model(lanes: Lanes) -> bool | None:
    """Whether a model makes memory, too, by what the markers say; None while no lane knows."""
    names = {
        lane.standing.marker.note.get("extractor", {}).get("name")
        for lane in lanes.running()
        if lane.plan.agent == SESSION_AGENT.name and lane.standing.marker is not None
    }
    return MODEL in names if names else None


def model_beside(
    app: App, kafka: KafkaSettings, worker: WorkerSettings, history: Location | None
) -> Beside | None:
    """What asks the model, where the worker may have one."""
    if worker.extractor not in (None, MODEL):
        return None
    maps = worker.generation is not None and worker.mapping is not None
    chosen = partial(asks_model, app.lanes)
    return Beside.worker(kafka, worker.group, history, chosen, worker.generation, maps)


def work(
    kafka: KafkaSettings,
    worker: WorkerSettings,
    traced: bool = False,
    beside: Callable[[App], AbstractAsyncContextManager[object] | None] = lambda app: None,
) -> int:
    """Prepares the topics and works until SIGTERM or SIGINT; the process's exit code. `beside`
    lasts as long as the app: what answers /metrics, and what asks the model."""
    created = prepare(kafka, worker)
    if created:
        log.info("created the topics %s", ", ".join(created))
    app = make_app(kafka, worker, traced)
    return run(app, beside(app))


def __getattr__(name: str) -> Any:
    """`app`, made when Faust's command line asks for it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kafka, worker = KafkaSettings.load(), WorkerSettings.load()
    if worker.extractor == MODEL:
        raise ConfigurationError(
            "only `turnfold kafka worker` asks a model; give the extractor rules"
        )
    prepare(kafka, worker)
    globals()["app"] = app = make_app(kafka, worker)
    return app
