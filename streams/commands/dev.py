"""The command `dev`."""

from pathlib import Path

import click

from streams import output
from streams.commands import options


@click.command()
@options.history
@click.option(
    "--kafka",
    metavar="DIR",
    type=options.FOLDER,
    help="The broker's data; default beside the history, its name with .kafka.",
)
@click.option("--port", type=click.IntRange(1, 65535), help="Where Kafka listens; default free.")
@click.option(
    "--partitions", type=click.IntRange(1, 10_000), default=4, help="Of every topic. Default 4."
)
@click.option(
    "--http",
    type=click.IntRange(0, 65_535),
    default=8400,
    help="The port of the HTTP API, for this machine alone. Default 8400; 0: any that is free.",
)
@click.option(
    "--bootstrap",
    metavar="HOST:PORT",
    help="Use this broker, and start none of its own; --kafka and --port are for its own.",
)
@options.fails_in_a_line
def dev(
    history: Path,
    kafka: Path | None,
    port: int | None,
    partitions: int,
    http: int,
    bootstrap: str | None,
) -> None:
    """Broker, worker, sink and HTTP API on this machine. Ctrl-C ends all of them.

    Started again with the same history it goes on where it was. A part that ends by itself is
    started again, the broker too. All end, with the part's exit code, where a part refuses its
    configuration or data, or has ended four times within a minute; with 5 if that is the broker.

    \b
    turnfold dev --history memory --port 9092
    turnfold produce turns.ndjson --bootstrap localhost:9092
    curl localhost:8400/memory/user/USER_ID
    """
    from streams.apps.dev import run

    if bootstrap is not None and (kafka is not None or port is not None):
        raise click.UsageError("--kafka and --port are for a broker of its own, not --bootstrap")
    history = history.resolve()
    data = kafka or history.with_name(history.name + ".kafka")
    code = run(history, data, port, partitions, http, output.note, bootstrap)
    if code:
        raise click.exceptions.Exit(code)
