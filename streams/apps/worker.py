"""The worker: the topology's agents as a Faust app, and a process that runs it.

See docs/kafka-tier.md.

`turnfold worker` is the usual way to start it; `faust -A streams.apps.worker worker` works too
and takes its settings from the environment alone (TURNFOLD_KAFKA_…, TURNFOLD_WORKER_…).
"""

import json
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from sinks.generation import RESERVED
from streams import event_loop
from streams.errors import ConfigurationError
from streams.extractors.naming import check_name
from streams.folds.rules import Number, Rules, checked, parsed
from streams.kafka.agents import agents
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.traced_origin import TracedOrigin
from streams.kafka.client.admin import connected
from streams.kafka.client.names import changelog_name, own_topics
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.transport.app import App
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.layout import check
from streams.kafka.transport.processing import LaneSettings, no_span
from streams.kafka.transport.rows import MemoryRows, RowStore
from streams.kafka.transport.run import run
from streams.observing import traces
from streams.pipeline.retention import ABOUT, DEFAULT_DAYS, check_days, retention_of
from streams.settings import Settings
from streams.topology import AGENTS

log = logging.getLogger(__name__)

PREFIX = "TURNFOLD_WORKER_"
OLD_APP_ID = "turnstone"
"""The default app id until November 2026, when the project had that name."""


def _constants(value: Any) -> Any:
    """As the environment, `turnfold.toml` (a table, as JSON) or `--set` give them."""
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if isinstance(value, str):
        return parsed(filter(None, (text.strip() for text in value.split(","))))
    return checked(value) if isinstance(value, dict) else value


class WorkerSettings(Settings):
    """What a worker is told besides how to reach the broker."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    about = "worker settings"
    app_id: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9._-]{1,100}$",
            description="Consumer group, and prefix of its changelogs and transactions.",
        ),
    ] = "turnfold"
    instance: Annotated[
        str | None,
        Field(description="Name of this worker. Restarted under it, it keeps its partitions."),
    ] = None
    retention_days: Annotated[
        float,
        AfterValidator(check_days),
        Field(description=ABOUT),
    ] = DEFAULT_DAYS
    extractor: Annotated[
        str | None,
        AfterValidator(check_name),
        Field(
            description="How to find memory in turns; plans go to write-plans. The choice is "
            "stored; default: the stored choice."
        ),
    ] = None
    constants: Annotated[
        dict[str, Number],
        NoDecode,
        BeforeValidator(_constants),
        Field(
            description="Constants of the memory rules as NAME=VALUE, comma-separated. A memory "
            "keeps those it was begun with.",
        ),
    ] = Field(default_factory=dict)
    generation: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
            description="Rebuild memory from the input topics, in topics that end in this name.",
        ),
    ] = None
    max_records: Annotated[int, Field(ge=1, description="Maximum records per transaction.")] = 4_000
    compression: Annotated[
        Literal["none", "gzip", "snappy", "lz4", "zstd"],
        Field(description="Compression of messages."),
    ] = "zstd"
    store: Annotated[
        Literal["memory", "rocksdb"],
        Field(description="Where tables are kept. With rocksdb a restart reads only what is new."),
    ] = "memory"
    data: Annotated[
        Path | None, Field(description="Folder of the tables (rocksdb), on a local disk.")
    ] = None

    standbys: Annotated[
        int,
        Field(ge=0, le=9, description="Number of other workers that keep a copy of each table."),
    ] = 0

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.generation in RESERVED:
            raise ValueError(f"generation {self.generation!r} is reserved; choose another name")
        if (self.store == "rocksdb") != (self.data is not None):
            raise ValueError("store rocksdb needs data, a folder; store memory takes none")
        return self

    @property
    def group(self) -> str:
        """The consumer group, whose name the changelogs and transactions bear."""
        return f"{self.app_id}.{self.generation}" if self.generation else self.app_id

    @property
    def rules(self) -> Rules:
        """What is folded under."""
        return Rules.of(self.constants)

    @property
    def retention(self) -> int | None:
        """In microseconds; None for never."""
        return retention_of(self.retention_days)

    def rows(self, lane: str) -> RowStore:
        """The rows of a lane, by its name."""
        return MemoryRows() if self.data is None else DiskRows(self.data / self.group / lane)


def make_app(kafka: KafkaSettings, worker: WorkerSettings, traced: bool = False) -> App:
    """The Faust app of both agents. The topics have to be there: `prepare`. `traced`: batches have
    spans (`streams.observing.traces.begin` comes first)."""
    span, origin = (traces.span, TracedOrigin) if traced else (no_span, Origin)
    return App(
        worker.group,
        agents.plans(
            worker.group,
            kafka.partitions,
            worker.retention,
            worker.rules,
            worker.extractor,
            worker.generation,
            origin,
        ),
        bootstrap=kafka.bootstrap,
        datadir=Path(gettempdir()) / f"{worker.group}-faust",
        broker_credentials=kafka.faust_credentials(),
        consumer_group_instance_id=worker.instance,
        standbys=worker.standbys,
        lane_settings=LaneSettings(
            max_records=worker.max_records,
            compression=None if worker.compression == "none" else worker.compression,
            rows=worker.rows,
            names={topic.name: name for topic, name in own_topics(worker.generation)},
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
    if "app_id" not in worker.model_fields_set:
        await _check_name(kafka, worker)
    changelogs = agents.changelogs(worker.group, kafka.partitions)
    own = agents.own_specs(worker.generation, kafka.partitions)
    return await ensure_topics(kafka, [*changelogs, *own])


async def _check_name(kafka: KafkaSettings, worker: WorkerSettings) -> None:
    """Refuses to begin a second memory beside that of the project's old name, unless told to."""
    async with connected(kafka) as admin:
        topics = await admin.list_topics()
    mine, old = (changelog_name(name, AGENTS[0]) for name in (worker.app_id, OLD_APP_ID))
    if old in topics and mine not in topics:
        raise ConfigurationError(
            f"the memory of app id {OLD_APP_ID} is here (topic {old}): continue it with --app-id "
            f"{OLD_APP_ID}, or begin another one with --app-id {worker.app_id}"
        )


def work(
    kafka: KafkaSettings,
    worker: WorkerSettings,
    traced: bool = False,
    beside: Callable[[App], AbstractAsyncContextManager[object] | None] = lambda app: None,
) -> int:
    """Prepares the topics and works until SIGTERM or SIGINT; the process's exit code. `beside`
    lasts as long as the app: what answers /metrics."""
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
    prepare(kafka, worker)
    globals()["app"] = app = make_app(kafka, worker)
    return app
