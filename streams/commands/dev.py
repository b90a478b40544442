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
@options.fails_in_a_line
def dev(history: Path, kafka: Path | None, port: int | None, partitions: int) -> None:
    """Run a broker, a worker and a sink on this machine until Ctrl-C, which ends all of them.

    Started again with the same history it goes on where it was.

    \b
    turnstone dev --history memory --port 9092
    turnstone produce turns.ndjson --bootstrap localhost:9092
    """
    from streams.runtime.dev import run

    history = history.resolve()
    data = kafka or history.with_name(history.name + ".kafka")
    code = run(history, data, port, partitions, output.note)
    if code:
        raise click.exceptions.Exit(code)
