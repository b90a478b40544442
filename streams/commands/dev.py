"""The command `dev`."""

from pathlib import Path

import click

from streams import output
from streams.commands import errors, options


@click.command()
@options.history
@click.option(
    "--kafka",
    metavar="DIR",
    type=options.FOLDER,
    help="Folder of the broker's data. Default: the history's name with .kafka.",
)
@click.option(
    "--kafka-port", "port", type=options.Whole(1, 65535), help="Port of Kafka. Default: a free one."
)
@click.option(
    "--partitions",
    type=options.Whole(1, 10_000),
    help="Partitions of each topic. Default: 4.",
)
@click.option(
    "--http-port",
    "http",
    type=options.Whole(0, 65_535),
    default=8400,
    help="Port of the HTTP API and the inspector on localhost. Default: 8400; 0: any free port.",
)
@options.topic_prefix
@click.option(
    "--bootstrap",
    metavar="HOST:PORT",
    help="Use this broker instead of starting one. Excludes --kafka and --kafka-port.",
)
@options.prompt
@options.extractor(
    "How to find memory in turns. llm: rules at once, and a model beside them, set by "
    "TURNFOLD_LLM_…."
)
@click.option(
    "--demo",
    is_flag=True,
    help="Also send the records of `turnfold demo`, and print the address of the page that shows "
    "them. Refused for a history that has others.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show the parts' logs, not only warnings.")
@errors.reported
def dev(
    history: Path,
    kafka: Path | None,
    port: int | None,
    partitions: int | None,
    http: int,
    bootstrap: str | None,
    extractor: str | None,
    demo: bool,
    verbose: bool,
) -> None:
    """Run broker, worker, sink and HTTP API on this machine. Ctrl-C ends them all.

    Started again with the same history it continues where it was. A part that ends by itself is
    started again, the broker included. If a part rejects its configuration or data, or ends four
    times within a minute, all parts end with its exit code (5 if it is the broker).

    \b
    turnfold dev --history memory --kafka-port 9092
    turnfold dev --history turnfold-demo-dev --demo
    turnfold kafka produce turns.ndjson --bootstrap localhost:9092
    curl localhost:8400/memory/user/USER_ID
    """
    from streams.apps.dev import run
    from streams.serving.inspector import tour

    if bootstrap is not None and (kafka is not None or port is not None):
        raise click.UsageError("--kafka and --kafka-port cannot be combined with --bootstrap")
    history = history.resolve()
    data = kafka or history.with_name(history.name + ".kafka")
    page = tour.FIRST if demo else None
    note = output.note
    code = run(history, data, port, partitions, http, note, bootstrap, extractor, page, verbose)
    if code:
        raise click.exceptions.Exit(code)
