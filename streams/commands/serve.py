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
    help="Folder of the history. Without --bootstrap it is served and written; with it, only read.",
)
@click.option(
    "--bootstrap",
    envvar="TURNFOLD_KAFKA_BOOTSTRAP",
    help="Serve the memory of Kafka workers. host:port, comma-separated.",
)
@click.option("--host", help="Address to listen on. Default: 127.0.0.1; any other requires --keys.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="Port. Default: 8400; 0: any free port."
)
@click.option("--keys", type=options.FOLDER, help="Key file, as `turnfold keys` makes it.")
@click.option(
    "--extractor",
    type=click.Choice(NAMES),
    help="How to find memory in turns (without Kafka). The choice is stored in the history. "
    "Default: the stored choice, at first none.",
)
@options.retention
@click.option("--app-id", metavar="NAME", help="App id of the workers. Default: turnfold.")
@click.option(
    "--within",
    type=click.FloatRange(0, 60, min_open=True),
    help="Seconds to wait until a write is applied, before replying 202. Default: 2.",
)
@click.option("--verbose", is_flag=True, help="Log more, including every request.")
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
    """Serve the HTTP API over a history or over Kafka workers. Runs until stopped.

    Over a history the server is its only writer and folds what is posted as `run` would. `promote`,
    `rollback`, `compact` and `forget` can be called meanwhile; the server replies 503 until they
    end. A history that sinks write can be read. Every option can also come from the environment:
    TURNFOLD_SERVE_PORT, …; so can the limits (docs/security.md, "Limits").

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
