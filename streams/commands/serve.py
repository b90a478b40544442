"""The command `serve`."""

import logging
import sys
from pathlib import Path

import click

from streams import output
from streams.commands import options
from streams.extractors.naming import NAMES

REQUESTS = "streams.serving.http.access"
"""Logs a line a request: of use to a program, a flood in a terminal."""


@click.command()
@click.option(
    "--history",
    envvar="TURNFOLD_HISTORY",
    type=options.FOLDER,
    help="The history's folder: served and written without Kafka; beside --bootstrap asked only.",
)
@click.option(
    "--bootstrap",
    envvar="TURNFOLD_KAFKA_BOOTSTRAP",
    help="Serve the tables of the workers there: host:port, comma-separated.",
)
@click.option("--host", help="Where to listen. Default 127.0.0.1; any other needs --keys.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Default 8400; 0: any that is free.")
@click.option("--keys", type=options.FOLDER, help="The file of `turnfold keys`: who may ask.")
@click.option(
    "--extractor",
    type=click.Choice(NAMES),
    help="Finds memory in turns, without Kafka. It is remembered: without this option the history "
    "goes on with what was chosen last (at first none).",
)
@options.retention
@click.option("--app-id", metavar="NAME", help="The workers' consumer group. Default turnfold.")
@click.option(
    "--within",
    type=click.FloatRange(0, 60, min_open=True),
    help="Seconds a write waits to be applied; then it is answered by 202. Default 2.",
)
@click.option("--verbose", is_flag=True, help="Say more on stderr, every request too.")
@options.observed
@options.as_json
@options.fails_in_a_line
def serve(
    history: Path | None,
    bootstrap: str | None,
    host: str | None,
    port: int | None,
    keys: Path | None,
    extractor: str | None,
    retention_days: float | None,
    app_id: str | None,
    within: float | None,
    verbose: bool,
    observing: options.Observing,
    as_json: bool,
) -> None:
    """Answer the HTTP API, over a history or Kafka's workers. Runs until it is told to stop.

    Over a history it is the one that writes it: what is posted is folded as `run` would. `promote`,
    `rollback`, `compact` and `forget` may be called meanwhile; for as long as they take it answers
    503. A history that sinks write can be read. Every option may also stand in the environment:
    TURNFOLD_SERVE_PORT, …; so may the limits, which docs/http.md lists.

    \b
    turnfold serve --history memory
    turnfold serve --bootstrap localhost:9092 --history memory --host 0.0.0.0 --keys keys.json
    """
    from streams.serving.http import serve as process
    from streams.serving.http.settings import ServeSettings

    observing.begin("serve", verbose)
    if bootstrap is not None:
        from streams.kafka.client import outages

        outages.watch(verbose)
    if not verbose and observing.log_format == "text":
        logging.getLogger(REQUESTS).setLevel(logging.WARNING)
    told = ServeSettings.load(
        host=host,
        port=port,
        keys=keys,
        extractor=extractor,
        retention_days=retention_days,
        app_id=app_id,
        within=within,
    )

    def say(url: str) -> None:
        output.note(f"turnfold: {url} answers; Ctrl-C ends it")
        if as_json:
            output.say_json({"url": url}, indent=0)
            sys.stdout.flush()

    process.serve(
        told, history, bootstrap, lambda ready: observing.answering(lambda: (), ready), say
    )
