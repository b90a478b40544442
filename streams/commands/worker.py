"""The command `worker`."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import click

from sinks.locations import Location
from streams.commands import errors, options
from streams.extractors.registry import MODEL


@click.command()
@options.bootstrap
@click.option(
    "--partitions", type=options.Whole(1, 10_000), help="Partitions of each topic. Default: 4."
)
@click.option(
    "--app-id", metavar="NAME", help="Consumer group and prefix of its topics. Default: turnfold."
)
@click.option(
    "--instance",
    metavar="NAME",
    help="Name of this worker. Restarted under it, the worker keeps its partitions.",
)
@options.retention
@options.prompt
@options.extractor(
    "How to find memory in turns; plans go to write-plans. llm: rules at once, and a model in the "
    "background, set by TURNFOLD_LLM_…."
)
@click.option(
    "--history",
    envvar="TURNFOLD_HISTORY",
    type=options.LOCATION,
    help="Folder of the sink's history, or its URL: its memory is shown to the model (llm).",
)
@options.constants(
    "Change a constant of docs/constants.md. A memory keeps its constants: always give all its "
    "workers the same. Can be repeated."
)
@click.option(
    "--generation",
    metavar="NAME",
    help="Rebuild memory from the input topics beside the live one, in topics that end in .NAME.",
)
@click.option(
    "--max-records",
    type=options.Whole(min=1),
    help="Maximum records per transaction. Default: 4000.",
)
@click.option(
    "--compression",
    type=options.COMPRESSION,
    help="Compression of messages. Default: zstd.",
)
@click.option(
    "--store",
    type=click.Choice(["memory", "rocksdb"]),
    help="Where tables are kept. With rocksdb a restart reads only what is new. Default: memory.",
)
@click.option("--data", type=options.FOLDER, help="Folder of the tables (rocksdb).")
@options.mapping
@click.option(
    "--standbys",
    type=options.Whole(0, 9),
    help="Number of other workers that keep a copy of each table. Default: 0.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log more.")
@options.observed
@errors.reported
def worker(
    bootstrap: str | None,
    partitions: int | None,
    history: Location | None,
    constants: dict[str, Any],
    verbose: bool,
    observing: options.Observing,
    **more: Any,
) -> None:
    """Fold Kafka topics into memory, exactly once. Runs until stopped.

    Missing topics are created; topics with other settings than required are rejected. Every option
    can also come from the environment: TURNFOLD_KAFKA_BOOTSTRAP, TURNFOLD_WORKER_APP_ID, ….

    \b
    turnfold kafka worker --bootstrap localhost:9092
    turnfold kafka worker --bootstrap localhost:9092 --instance worker-1
    turnfold kafka worker --store rocksdb --data ./tables
    turnfold kafka worker --mapping chat.yaml
    turnfold kafka worker --extractor llm --history memory
    """
    from streams.apps.worker import model_beside, work
    from streams.apps.worker_settings import WorkerSettings
    from streams.kafka.client import outage_log
    from streams.kafka.client.settings import KafkaSettings

    observing.begin("worker", verbose)
    outage_log.watch(verbose)
    kafka = KafkaSettings.load(bootstrap=bootstrap, partitions=partitions)
    settings = WorkerSettings.load(constants=constants or None, **more)
    if settings.extractor == MODEL:
        from streams.commands.extract import load_settings

        load_settings()  # reports missing settings before the start

    def beside(app: Any) -> AbstractAsyncContextManager[None]:
        return _beside(observing, app, model_beside(app, kafka, settings, history))

    code = work(kafka, settings, beside)
    if code:
        raise click.exceptions.Exit(code)


@asynccontextmanager
async def _beside(observing: options.Observing, app: Any, model: Any) -> AsyncIterator[None]:
    """The metrics port, and the model's driver."""
    from streams.apps.metric_samples import of_worker, worker_readiness

    if observing.metrics_port is not None:
        from streams.apps.metrics_registry import watch_faust

        watch_faust(app)
    answering = observing.answering(
        lambda: of_worker(app.lanes, model), lambda: worker_readiness(app.lanes, model)
    )
    async with answering, nullcontext() if model is None else model.running():
        yield
