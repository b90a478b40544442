"""A real Apache Kafka on this machine without Docker: one node, or several for fault tests."""

import base64
import json
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from streams.broker import class_archive, config, jars, java, ports
from streams.broker.admin import coordinates, nodes_known
from streams.broker.config import Security
from streams.broker.node import GRACE, SHORT_LIVED, Node
from streams.errors import ConfigurationError, Unreachable

READY_WITHIN = 90.0  # seconds; 2 to 4 on an idle machine
TRAINED_WITHIN = 60.0  # seconds from SIGTERM until the classes are archived
ATTEMPTS = 5
"""Starts with other ports, where another process binds a port between its choice and the start."""
HEAP_MB = 320
STATE = "broker.json"
# The collector is Kafka's own choice; without a level log4j says nothing below ERROR.
JVM = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Djava.awt.headless=true", "-Dlog4j2.level=INFO")


class PortTaken(Unreachable):
    """A node ended while it started, and another process listens on one of its ports."""


def _silent(_: str) -> None:
    """Nobody wants to hear what takes long."""


class Broker:
    """Nodes that form one cluster. `folder` holds broker.json and a folder for each node.

    All methods block; from a coroutine call them with asyncio.to_thread.
    """

    def __init__(self, folder: Path, cluster_id: str, nodes: list[Node], *, kept: bool) -> None:
        self.folder = folder
        self.cluster_id = cluster_id
        self.nodes = nodes
        self.kept = kept

    @classmethod
    def start(
        cls,
        *,
        nodes: int = 1,
        keep: Path | None = None,
        port: int | None = None,
        heap_mb: int = HEAP_MB,
        security: Security | None = None,
        short_lived: bool = False,
        tied: bool = False,
        say: Callable[[str], None] = _silent,
    ) -> Self:
        """Starts a broker; when this returns, an admin request was answered by all nodes' cluster.

        `keep`: the folder its data stays in (and is found again), None for a temporary one that
        `stop` removes. `port`: that of the first node's PLAINTEXT listener, None for a free one
        (a kept folder: the one it had, if that is free). `short_lived`: for tests, starts in a
        third of the time and never gets as fast; a node that was killed is missed sooner. `tied`:
        it ends where this process is killed. `say` hears of what takes long.
        Raises Unreachable (no Java, no jars, port taken, does not start, with the end of its log)
        or ConfigurationError (the folder is another cluster's, or its broker runs already).
        """
        security = security or Security()
        runtime, classpath = java.find(), jars.classpath(say)

        def command_of(*flags: str) -> list[str]:
            mine = config.java_properties(security)
            return [str(runtime), f"-Xmx{heap_mb}m", *JVM, *mine, *flags, "-cp", classpath]

        def train(flag: str) -> None:
            cls._train(command_of(*SHORT_LIVED, flag))

        flags = (*SHORT_LIVED, *class_archive.flags(runtime, classpath, train)) * short_lived
        command = command_of(*flags)
        folder = keep.resolve() if keep else Path(tempfile.mkdtemp(prefix="turnfold-broker-"))
        try:
            broker = cls._made(folder, nodes, port, security.listeners(), kept=keep is not None)
            for node in broker.nodes:
                node.tied = tied
            say(f"starting Kafka {jars.VERSION}, nodes: {nodes}, folder: {folder}")
            broker._launch(command, security, short_lived, port)
        except BaseException:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return broker

    @classmethod
    def _train(cls, command: list[str]) -> None:
        """Starts a broker and ends it well."""
        with tempfile.TemporaryDirectory(prefix="turnfold-broker-") as folder:
            broker = cls._made(Path(folder), 1, None, Security().listeners(), kept=True)
            broker._launch(command, Security(), short_lived=True)
            broker.stop(TRAINED_WITHIN)

    def start_ended_nodes(
        self, *, heap_mb: int = HEAP_MB, say: Callable[[str], None] = _silent
    ) -> list[int]:
        """Starts the nodes of a running broker that have ended, each with its ports and its data;
        their numbers. For a broker without login or encryption.

        Raises Unreachable where one of them does not start.
        """
        ended = [node for node in self.nodes if not node.is_running()]
        if ended:
            runtime, classpath = java.find(), jars.classpath(say)
            properties = config.java_properties(Security())
            command = [str(runtime), f"-Xmx{heap_mb}m", *JVM, *properties, "-cp", classpath]
            for node in ended:
                node.java = command
                node.start()
            self._write_state()
            self.await_ready()
        return [node.number for node in ended]

    @classmethod
    def find(cls, folder: Path) -> Self:
        """The broker of a folder, no matter who started it. Raises ConfigurationError."""
        state = _read_state(folder)
        if state is None:
            raise ConfigurationError(f"{folder / STATE}: no such file; no broker has this folder")
        nodes = [
            Node(one["number"], folder / f"node-{one['number']}", one["ports"], pid=one["pid"])
            for one in state["nodes"]
        ]
        return cls(folder, state["cluster_id"], nodes, kept=state["kept"])

    @classmethod
    def _made(
        cls, folder: Path, count: int, port: int | None, listeners: tuple[str, ...], *, kept: bool
    ) -> Self:
        """A broker that is not started: the folder's with its ports, or a new one."""
        found = cls.find(folder) if _read_state(folder) else None
        if found is None:
            cluster_id, had = _new_cluster_id(), []
        else:
            _check_same(found, count)
            cluster_id, had = found.cluster_id, [node.ports for node in found.nodes]
        spare = iter(ports.free(count * len(listeners)))
        nodes = []
        for number in range(1, count + 1):
            old = had[number - 1] if had else {}
            mine = {name: _kept(old.get(name)) or next(spare) for name in listeners}
            nodes.append(Node(number, folder / f"node-{number}", mine))
        if port is not None:
            nodes[0].ports["PLAINTEXT"] = port
        return cls(folder, cluster_id, nodes, kept=kept)

    def _launch(
        self, command: list[str], security: Security, short_lived: bool, port: int | None = None
    ) -> None:
        """Starts the nodes; ports that another process takes first are replaced, except `port`."""
        for node in self.nodes:
            node.java = command
        for attempt in range(1, ATTEMPTS + 1):
            if port is not None:
                ports.check_free([port])
            try:
                self._start_nodes(security, short_lived)
                return
            except PortTaken:
                if attempt == ATTEMPTS:
                    raise
            self._replace_taken_ports(port)

    def _start_nodes(self, security: Security, short_lived: bool) -> None:
        every = [node.ports for node in self.nodes]
        for node in self.nodes:
            node.folder.mkdir(parents=True, exist_ok=True)
            text = config.server_properties(
                node.number, every, node.data, security, short_lived=short_lived
            )
            node.properties.touch(mode=0o600)  # it may hold passwords
            node.properties.write_text(text)
            node.format(self.cluster_id, security)
        try:
            for node in self.nodes:
                node.start()
            self._write_state()
            self.await_ready()
        except BaseException:
            for node in self.nodes:
                node.kill()
            raise

    def _replace_taken_ports(self, fixed: int | None) -> None:
        spare = iter(ports.free(sum(len(node.ports) for node in self.nodes)))
        for node in self.nodes:
            for listener, port in node.ports.items():
                node.ports[listener] = port if port == fixed else _kept(port) or next(spare)

    def await_ready(self, seconds: float = READY_WITHIN) -> None:
        """Returns when an admin request names every node and groups have a coordinator; call it
        after Node.start too.

        Raises Unreachable where a node ends or the time is up, with the end of its log.
        """
        deadline = time.monotonic() + seconds
        while True:
            for node in self.nodes:
                if not node.is_running():
                    taken = not all(map(ports.is_free, node.ports.values()))
                    raise (PortTaken if taken else Unreachable)(
                        f"broker: node {node.number} ended while it started; its log "
                        f"{node.log} ends with:\n{node.last_words()}"
                    )
            if self.nodes_answering() == len(self.nodes) and coordinates(self.bootstrap):
                return
            if time.monotonic() > deadline:
                raise Unreachable(
                    f"broker: not ready after {seconds:.0f} s; the log {self.nodes[0].log} "
                    f"ends with:\n{self.nodes[0].last_words()}"
                )
            time.sleep(0.1)

    @property
    def bootstrap(self) -> str:
        """host:port of every node, comma-separated, without login or encryption."""
        return self.bootstrap_of("PLAINTEXT")

    def bootstrap_of(self, listener: str) -> str:
        """The same for another listener: SASL, TLS or PROXIED (then without the proxy)."""
        return ",".join(node.address(listener) for node in self.nodes)

    def is_running(self) -> bool:
        """Whether any of its processes is there."""
        return any(node.is_running() for node in self.nodes)

    def nodes_answering(self) -> int:
        """How many nodes the cluster counts itself, asked now; 0 where nobody answers, or a
        cluster that took the ports first."""
        return nodes_known(self.bootstrap, self.cluster_id)

    def stop(self, grace: float = GRACE) -> None:
        """SIGTERM to all, SIGKILL after `grace` seconds; a temporary folder is removed."""
        for node in self.nodes:
            node.signal(signal.SIGCONT)  # one that a test has stopped could not hear
            node.signal(signal.SIGTERM)
        deadline = time.monotonic() + grace
        for node in self.nodes:
            if not node.await_end(max(0.0, deadline - time.monotonic())):
                node.kill()
        self._ended()

    def kill(self) -> None:
        """SIGKILL to all; a temporary folder is removed."""
        for node in self.nodes:
            node.kill()
        self._ended()

    def _ended(self) -> None:
        if not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _write_state(self) -> None:
        state = {
            "version": jars.VERSION,
            "cluster_id": self.cluster_id,
            "kept": self.kept,
            "nodes": [node.to_json() for node in self.nodes],
        }
        partial = self.folder / f".{STATE}"
        partial.write_text(json.dumps(state, indent=2) + "\n")
        partial.replace(self.folder / STATE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.kept:
            self.stop()
        else:
            self.kill()  # nothing is kept, so nothing needs to be closed well


def _kept(port: int | None) -> int | None:
    """A port it had before, unless somebody has taken it since."""
    return port if port is not None and ports.is_free(port) else None


def _new_cluster_id() -> str:
    """22 characters, as Kafka makes them: base64 of a UUID, not taken for an option."""
    while (made := base64.urlsafe_b64encode(uuid.uuid4().bytes)).startswith(b"-"):
        pass
    return made.rstrip(b"=").decode()


def _read_state(folder: Path) -> dict[str, Any] | None:
    path = folder / STATE
    try:
        state: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read ({error}); remove the folder") from error
    return state


def _check_same(found: Broker, count: int) -> None:
    if found.is_running():
        raise ConfigurationError(
            f"{found.folder}: its broker runs already at {found.bootstrap}; stop it first"
        )
    if len(found.nodes) != count:
        raise ConfigurationError(
            f"{found.folder}: holds the data of {len(found.nodes)} node(s), not of {count}; "
            f"start with --nodes {len(found.nodes)} or choose another folder"
        )
