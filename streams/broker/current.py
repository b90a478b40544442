"""The broker that a command started: it outlives the command, and other commands find it.

Its folder's path is stored in $XDG_STATE_HOME/turnfold/broker.
"""

import os
from pathlib import Path
from typing import Any

from streams.broker.cluster import STATE, Broker
from streams.broker.jars import VERSION


def remember(broker: Broker) -> None:
    """Makes it the broker that `find` returns."""
    path = _pointer()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(str(broker.folder))
    partial.replace(path)


def forget() -> None:
    _pointer().unlink(missing_ok=True)


def find() -> Broker | None:
    """The broker started last, even if it has ended, or None if its folder is gone."""
    path = _pointer()
    if not path.is_file():
        return None
    folder = Path(path.read_text())
    return Broker.find(folder) if (folder / STATE).is_file() else None


def find_running() -> Broker | None:
    """As `find`, or None if the broker is not running."""
    broker = find()
    return broker if broker is not None and broker.is_running() else None


def describe(broker: Broker) -> dict[str, Any]:
    """Description for programs; `answering`: number of nodes in the cluster's current view."""
    return {
        "running": True,
        "bootstrap": broker.bootstrap,
        "answering": broker.nodes_answering(),
        "version": VERSION,
        "folder": str(broker.folder),
        "kept": broker.persistent,
        "nodes": [{"pid": node.pid, "log": str(node.log)} for node in broker.nodes],
    }


def _pointer() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "turnfold" / "broker"
