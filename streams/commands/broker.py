"""The commands `kafka broker start`, `stop` and `status`."""

from pathlib import Path

import click

from streams import output
from streams.commands import errors, options
from streams.errors import ConfigurationError, Unreachable


@click.command()
@click.option(
    "--keep",
    metavar="DIR",
    type=options.FOLDER,
    help="Folder to keep data in. Default: data are deleted when it stops.",
)
@click.option("--port", type=options.Whole(1, 65535), help="Port. Default: a free one.")
@click.option(
    "--nodes",
    type=options.Whole(1, 9),
    default=1,
    help="Number of nodes; 3 allow replication. Default: 1.",
)
@click.option(
    "--heap",
    metavar="MB",
    type=options.Whole(min=128),
    default=320,
    help="Heap of each node. Default: 320.",
)
@options.form
@errors.reported
def start(keep: Path | None, port: int | None, nodes: int, heap: int, form: str | None) -> None:
    """Start the broker, wait until it answers, print its address.

    If it runs and some of its nodes have ended, start these again, with their data.

    \b
    turnfold kafka broker start
    turnfold kafka broker start --keep ./kafka --port 9092
    """
    from streams.broker import Broker, current

    running = current.find_running()
    if running is not None:
        is_same = keep is None or keep.resolve() == running.folder
        ended = running.start_ended_nodes(heap_mb=heap, say=output.note) if is_same else []
        if not ended:
            raise ConfigurationError(
                f"broker: one runs already at {running.bootstrap} ({running.folder}); "
                "stop it first: turnfold kafka broker stop"
            )
        output.note(f"started again: node {', '.join(map(str, ended))}")
        started = running
    else:
        started = Broker.start(nodes=nodes, keep=keep, port=port, heap_mb=heap, say=output.note)
        try:
            current.remember(started)
        except BaseException:
            started.stop()
            raise
    if form:
        output.say_as(form, current.describe(started))
    else:
        output.say(started.bootstrap)


@click.command()
@options.form
@errors.reported
def stop(form: str | None) -> None:
    """Stop the broker. Succeeds even if none is running."""
    from streams.broker import current

    running = current.find()
    was_running = running is not None and running.is_running()
    if running is not None:
        running.stop()
    current.forget()
    if form:
        output.say_as(form, {"stopped": was_running})
    else:
        output.say("stopped" if was_running else "no broker was running")


@click.command()
@options.form
@errors.reported
def status(form: str | None) -> None:
    """Print the address and whether the broker answers. Exit code 5 if it does not."""
    from streams.broker import current

    running = current.find_running()
    document = current.describe(running) if running else {"running": False}
    if form:
        output.say_as(form, document)
    if running is None:
        raise Unreachable("broker: none is running; start one: turnfold kafka broker start")
    answer = f"{document['answering']} of {len(running.nodes)} node(s) answer"
    if not form:
        output.say(
            f"{running.bootstrap}: {answer}; Kafka {document['version']} in {running.folder}"
        )
    if document["answering"] < len(running.nodes):
        raise Unreachable(f"broker: {answer}; see {running.nodes[0].log}")
