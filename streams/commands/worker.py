"""The command `worker`."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import click

from streams.commands import options
from streams.extractors.naming import NAMES


@click.command()
@options.bootstrap
@click.option("--partitions", type=click.IntRange(1, 10_000), help="Of every topic. Default 4.")
@click.option("--app-id", metavar="NAME", help="The consumer group. Default turnfold.")
@click.option(
    "--instance",
    metavar="NAME",
    help="This worker's name in the group: restarted under it, it keeps its partitions.",
)
@options.retention
@click.option(
    "--extractor",
    type=click.Choice(NAMES),
    help="Finds memory in turns, and sends it to write-plans. It is remembered: without this "
    "option a worker goes on with what was chosen last (at first none).",
)
@click.option(
    "--generation",
    metavar="NAME",
    help="Make memory anew from the inputs, beside the live one: in topics that end in .NAME.",
)
@click.option("--max-records", type=click.IntRange(min=1), help="Of one transaction. Default 4000.")
@click.option(
    "--compression",
    type=options.COMPRESSION,
    help="Of what it writes. Default zstd.",
)
@click.option(
    "--store",
    type=click.Choice(["memory", "rocksdb"]),
    help="Where tables lie. On disk a restart reads only what is new. Default memory.",
)
@click.option("--data", type=options.FOLDER, help="The folder for tables on disk.")
@click.option(
    "--standbys",
    type=click.IntRange(0, 9),
    help="Other workers that keep a copy of each table, to take over at once. Default 0.",
)
@click.option("--verbose", is_flag=True, help="Say more on stderr.")
@options.observed
@options.fails_in_a_line
def worker(
    bootstrap: str | None,
    partitions: int | None,
    app_id: str | None,
    instance: str | None,
    retention_days: float | None,
    extractor: str | None,
    generation: str | None,
    max_records: int | None,
    compression: str | None,
    store: str | None,
    data: Path | None,
    standbys: int | None,
    verbose: bool,
    observing: options.Observing,
) -> None:
    """Fold what comes by Kafka into memory, exactly once. Runs until it is told to stop.

    Creates the topics that are missing; refuses those that are not as they should be. Every option
    may also stand in the environment: TURNFOLD_KAFKA_BOOTSTRAP, TURNFOLD_WORKER_APP_ID, ….

    \b
    turnfold worker --bootstrap localhost:9092
    turnfold worker --bootstrap localhost:9092 --instance worker-1
    turnfold worker --store rocksdb --data ./tables
    """
    from streams.apps.worker import WorkerSettings, work
    from streams.kafka.client import outages
    from streams.kafka.client.settings import KafkaSettings

    traced = observing.begin("worker", verbose)
    outages.watch(verbose)
    kafka = KafkaSettings.load(bootstrap=bootstrap, partitions=partitions)
    told = WorkerSettings.load(
        app_id=app_id,
        instance=instance,
        retention_days=retention_days,
        extractor=extractor,
        generation=generation,
        max_records=max_records,
        compression=compression,
        store=store,
        data=data,
        standbys=standbys,
    )
    code = work(kafka, told, traced, lambda app: _answering(observing, app))
    if code:
        raise click.exceptions.Exit(code)


def _answering(observing: options.Observing, app: Any) -> AbstractAsyncContextManager[None]:
    from streams.apps.metric_samples import of_worker, worker_readiness

    if observing.metrics_port is not None:
        from streams.apps.metrics import watch_faust

        watch_faust(app)
    return observing.answering(lambda: of_worker(app.lanes), lambda: worker_readiness(app.lanes))
