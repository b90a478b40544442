"""The one broker a user started by command: it outlives the command, others must find it.

Its folder's path stands in $XDG_STATE_HOME/turnfold/broker.
"""

import os
from pathlib import Path
from typing import Any

from streams.broker.cluster import STATE, Broker
from streams.broker.jars import VERSION


def remember(broker: Broker) -> None:
    """Makes it the one that `find` finds."""
    path = _pointer()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(str(broker.folder))
    partial.replace(path)


def forget() -> None:
    """There is none any more."""
    _pointer().unlink(missing_ok=True)


def find() -> Broker | None:
    """The one that was started last, running or not; None where its folder has gone."""
    path = _pointer()
    if not path.is_file():
        return None
    folder = Path(path.read_text())
    return Broker.find(folder) if (folder / STATE).is_file() else None


def find_running() -> Broker | None:
    """The same, None where no process of it is there."""
    broker = find()
    return broker if broker is not None and broker.is_running() else None


def describe(broker: Broker) -> dict[str, Any]:
    """What a program may want to know; `answering` is how many nodes the cluster counts now."""
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
    return Path(home) / "turnfold" / "broker"
