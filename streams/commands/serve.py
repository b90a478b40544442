"""The command `serve`."""

import logging
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from sinks.locations import Location
from streams import output
from streams.commands import errors, options

REQUESTS = "streams.serving.http.auth"
"""Logs one line per request: useful to a program, a flood in a terminal."""


@click.command()
@click.option(
    "--history",
    envvar="TURNFOLD_HISTORY",
    type=options.LOCATION,
    help="Folder of the history (default: ./turnfold), which is served and written. With "
    "--bootstrap it is only read; so is a history in an object store (s3://BUCKET/PREFIX).",
)
@options.search_folder
@options.meaning
@options.topic_prefix
@click.option(
    "--bootstrap",
    envvar="TURNFOLD_KAFKA_BOOTSTRAP",
    help="Serve the memory of Kafka workers. host:port, comma-separated.",
)
@click.option("--host", help="Address to listen on. Default: 127.0.0.1; any other requires --keys.")
@click.option(
    "--port", type=options.Whole(0, 65_535), help="Port. Default: 8400; 0: any free port."
)
@click.option("--keys", type=options.FOLDER, help="Key file, as `turnfold admin keys` makes it.")
@click.option(
    "--inspector/--no-inspector",
    default=None,
    help="Whether to serve the inspector's pages at /. Default: yes.",
)
@options.extractor(
    "How to find memory in turns (without Kafka). llm: rules at once, and a model in the "
    "background: set OPENAI_API_KEY, or TURNFOLD_LLM_…."
)
@options.prompt
@options.retention
@click.option("--app-id", metavar="NAME", help="App id of the workers. Default: turnfold.")
@click.option(
    "--store",
    type=click.Choice(["memory", "rocksdb"]),
    help="Over Kafka: where rows of sessions and users are kept. With rocksdb a restart reads only "
    "what is new. Default: memory.",
)
@click.option(
    "--data", type=options.FOLDER, help="Folder of the rows (rocksdb); each server's own."
)
@click.option(
    "--within",
    type=options.Amount(0.001, 60),
    help="Seconds to wait until a write is applied, before replying 202. Default: 2.",
)
@click.option(
    "--local",
    is_flag=True,
    help="Serve programs of this account at any free port, with a new key; both are in "
    "DIR/_local/server.json. Ends when no program has DIR/_local/held locked. `Turnfold.local` of "
    "the Python client and `turnfold mcp` start such a server.",
)
@click.option(
    "--mcp-forget",
    is_flag=True,
    help="Offer agents (MCP) the tool `forget`, which erases a user for good; it needs an admin's "
    "key.",
)
@click.option(
    "--metrics-from",
    metavar="HOST:PORT,…",
    help="Metrics ports of workers and sinks, for the inspector's view of the pipeline.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log more, including every request.")
@options.observed
@options.form
@errors.reported
def serve(
    history: Location | None,
    bootstrap: str | None,
    host: str | None,
    port: int | None,
    keys: Path | None,
    local: bool,
    mcp_forget: bool,
    verbose: bool,
    observing: options.Observing,
    form: str | None,
    **more: Any,
) -> None:
    """Serve the HTTP API over a history or over Kafka workers. Runs until stopped.

    At / a browser gets the inspector, which shows memory, its reasons and its past.

    Over a history the server is its only writer and folds posted records as `run` would. `promote`,
    `rollback`, `compact` and `forget` can be called while it runs; until they end, reads get 503,
    and writes are stored and get 202. A history that sinks write can only be read; so can one
    in an object store.

    Every option can also come from the environment: TURNFOLD_SERVE_PORT, …; so can the limits
    (docs/security.md, "Limits").

    \b
    turnfold serve --history memory
    turnfold serve --bootstrap localhost:9092 --history memory --host 0.0.0.0 --keys keys.json
    turnfold serve --bootstrap localhost:9092 --store rocksdb --data ./rows
    """
    from streams.serving.http import serve as process
    from streams.serving.http.local import LocalServer
    from streams.serving.http.settings import ServeSettings

    observing.begin("serve", verbose)
    if bootstrap is not None:
        from streams.kafka.client import outage_log

        outage_log.watch(verbose)
    if not verbose and observing.log_format == "text":
        logging.getLogger(REQUESTS).setLevel(logging.WARNING)
    if history is None and bootstrap is None and not local:
        history = options.default_history()
    local_server = (
        LocalServer.over(history, bootstrap, host, port, keys) if local else nullcontext()
    )
    with local_server as alone:
        settings = ServeSettings.load(
            host=alone.host if alone else host,
            port=alone.port if alone else port,
            keys=alone.keys if alone else keys,
            mcp_forget=mcp_forget or None,
            **more,
        )

        def say(url: str, extractor: str | None) -> None:
            output.note(f"turnfold: {url} answers; Ctrl-C ends it")
            if alone:
                alone.tell(url, extractor)
            if form:
                output.say_as(form, {"url": url}, indent=0)
                sys.stdout.flush()

        process.serve(
            settings, history, bootstrap, lambda ready: observing.answering(lambda: (), ready), say
        )
