"""A real Apache Kafka on this machine without Docker: one node, or several for fault tests."""

import base64
import json
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

from aiokafka.admin import AIOKafkaAdminClient

from streams import event_loop
from streams.broker import config, jars, java, ports
from streams.broker.config import Security
from streams.broker.java import archive_flags
from streams.broker.node import GRACE, SHORT_LIVED, Node
from streams.errors import ConfigurationError, TurnfoldError, Unreachable
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings

READY_WITHIN = 90.0  # seconds; 2 to 4 on an idle machine
TRAINED_WITHIN = 60.0  # seconds from SIGTERM until the classes are archived
ATTEMPTS = 5
"""Starts with other ports, if another process binds a port between its choice and the start."""
HEAP_MB = 320
STATE = "broker.json"
ADMIN_WITHIN = 2.0  # seconds until a node answers a request
# Kafka's default collector; without a level log4j only logs errors.
JVM = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Djava.awt.headless=true", "-Dlog4j2.level=INFO")


class PortTaken(Unreachable):
    """A node ended during its start, and another process listens on one of its ports."""


def _ignore(_: str) -> None:
    """Ignores progress lines."""


class Broker:
    """Nodes of one cluster. `folder` contains broker.json and a folder for each node.

    All methods block; from a coroutine call them with asyncio.to_thread.
    """

    def __init__(
        self, folder: Path, cluster_id: str, nodes: list[Node], *, persistent: bool
    ) -> None:
        self.folder = folder
        self.cluster_id = cluster_id
        self.nodes = nodes
        self.persistent = persistent

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
        say: Callable[[str], None] = _ignore,
    ) -> Self:
        """Starts a broker; returns after all nodes' cluster has answered an admin request.

        `keep`: data folder, which a later start uses again, or None for a temporary one that `stop`
        removes. `port`: of the first node's PLAINTEXT listener, None for a free one (in a kept
        folder: the previous one, if free). `short_lived`: for tests; starts in a third of the time
        but stays slower, and a killed node is detected sooner. `tied`: the broker ends if this
        process is killed. `say` receives progress lines. Raises Unreachable (no Java, no jars, port
        taken, does not start, with the end of its log) or ConfigurationError (another cluster's
        folder, or its broker is running).
        """
        security = security or Security()
        runtime, classpath = java.find(), jars.classpath(say)

        def command_of(*flags: str) -> list[str]:
            properties = config.java_properties(security)
            return [str(runtime), f"-Xmx{heap_mb}m", *JVM, *properties, *flags, "-cp", classpath]

        def train(flag: str) -> None:
            cls._train(command_of(*SHORT_LIVED, flag))

        flags = (*SHORT_LIVED, *archive_flags(runtime, classpath, train)) * short_lived
        command = command_of(*flags)
        folder = keep.resolve() if keep else Path(tempfile.mkdtemp(prefix="turnfold-broker-"))
        try:
            broker = cls._prepare(
                folder, nodes, port, security.listeners(), persistent=keep is not None
            )
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
        with tempfile.TemporaryDirectory(prefix="turnfold-broker-") as folder:
            broker = cls._prepare(Path(folder), 1, None, Security().listeners(), persistent=True)
            broker._launch(command, Security(), short_lived=True)
            broker.stop(TRAINED_WITHIN)

    def start_ended_nodes(
        self, *, heap_mb: int = HEAP_MB, say: Callable[[str], None] = _ignore
    ) -> list[int]:
        """Restarts ended nodes of a running broker, with their ports and data; returns their
        numbers. For a broker without login or encryption.

        Raises Unreachable if one of them does not start.
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
        """The broker of a folder, whichever process started it. Raises ConfigurationError."""
        state = _read_state(folder)
        if state is None:
            raise ConfigurationError(f"{folder / STATE}: no such file; no broker has this folder")
        nodes = [
            Node(
                entry["number"],
                folder / f"node-{entry['number']}",
                entry["ports"],
                pid=entry["pid"],
            )
            for entry in state["nodes"]
        ]
        return cls(folder, state["cluster_id"], nodes, persistent=state["kept"])

    @classmethod
    def _prepare(
        cls,
        folder: Path,
        count: int,
        port: int | None,
        listeners: tuple[str, ...],
        *,
        persistent: bool,
    ) -> Self:
        """A broker that is not started: with the folder's ports, or a new one."""
        existing = cls.find(folder) if _read_state(folder) else None
        if existing is None:
            cluster_id, old_ports = _new_cluster_id(), []
        else:
            _check_same(existing, count)
            cluster_id, old_ports = existing.cluster_id, [node.ports for node in existing.nodes]
        spare = iter(ports.free(count * len(listeners)))
        nodes = []
        for number in range(1, count + 1):
            previous = old_ports[number - 1] if old_ports else {}
            node_ports = {name: _reuse(previous.get(name)) or next(spare) for name in listeners}
            nodes.append(Node(number, folder / f"node-{number}", node_ports))
        if port is not None:
            nodes[0].ports["PLAINTEXT"] = port
        return cls(folder, cluster_id, nodes, persistent=persistent)

    def _launch(
        self, command: list[str], security: Security, short_lived: bool, port: int | None = None
    ) -> None:
        """Starts the nodes; replaces ports that another process has taken, except `port`."""
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
        all_ports = [node.ports for node in self.nodes]
        for node in self.nodes:
            node.folder.mkdir(parents=True, exist_ok=True)
            text = config.server_properties(
                node.number, all_ports, node.data, security, short_lived=short_lived
            )
            node.properties.touch(mode=0o600)  # it may contain passwords
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
                node.ports[listener] = port if port == fixed else _reuse(port) or next(spare)

    def await_ready(self, seconds: float = READY_WITHIN) -> None:
        """Waits until an admin request lists every node and groups have a coordinator; call it
        after Node.start as well.

        Raises Unreachable, with the end of its log, if a node ends or the time is over.
        """
        deadline = time.monotonic() + seconds
        while True:
            for node in self.nodes:
                if not node.is_running():
                    is_taken = not all(map(ports.is_free, node.ports.values()))
                    raise (PortTaken if is_taken else Unreachable)(
                        f"broker: node {node.number} ended while it started; its log "
                        f"{node.log} ends with:\n{node.log_tail()}"
                    )
            if self.nodes_answering() == len(self.nodes) and coordinates(self.bootstrap):
                return
            if time.monotonic() > deadline:
                raise Unreachable(
                    f"broker: not ready after {seconds:.0f} s; the log {self.nodes[0].log} "
                    f"ends with:\n{self.nodes[0].log_tail()}"
                )
            time.sleep(0.1)

    @property
    def bootstrap(self) -> str:
        """host:port of every node, comma-separated, without login or encryption."""
        return self.bootstrap_of("PLAINTEXT")

    def bootstrap_of(self, listener: str) -> str:
        """As `bootstrap`, for another listener: SASL, TLS or PROXIED (then without the proxy)."""
        return ",".join(node.address(listener) for node in self.nodes)

    def is_running(self) -> bool:
        return any(node.is_running() for node in self.nodes)

    def nodes_answering(self) -> int:
        """Number of nodes in the cluster's current view; 0 without a response, or from another
        cluster on these ports."""
        return nodes_known(self.bootstrap, self.cluster_id)

    def stop(self, grace: float = GRACE) -> None:
        """SIGTERM to all, SIGKILL after `grace` seconds; a temporary folder is removed."""
        for node in self.nodes:
            node.signal(signal.SIGCONT)  # a stopped process does not receive SIGTERM
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
        if not self.persistent:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _write_state(self) -> None:
        state = {
            "version": jars.VERSION,
            "cluster_id": self.cluster_id,
            "kept": self.persistent,
            "nodes": [node.to_json() for node in self.nodes],
        }
        partial = self.folder / f".{STATE}"
        partial.write_text(json.dumps(state, indent=2) + "\n")
        partial.replace(self.folder / STATE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.persistent:
            self.stop()
        else:
            self.kill()  # temporary data needs no clean shutdown


def _reuse(port: int | None) -> int | None:
    """The previous port, unless another process has taken it."""
    return port if port is not None and ports.is_free(port) else None


def _new_cluster_id() -> str:
    """22 characters in Kafka's format: base64 of a UUID that does not look like an option."""
    while (cluster_id := base64.urlsafe_b64encode(uuid.uuid4().bytes)).startswith(b"-"):
        pass
    return cluster_id.rstrip(b"=").decode()


def _read_state(folder: Path) -> dict[str, Any] | None:
    path = folder / STATE
    try:
        state: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read ({error}); remove the folder") from error
    return state


def _check_same(broker: Broker, count: int) -> None:
    if broker.is_running():
        raise ConfigurationError(
            f"{broker.folder}: its broker runs already at {broker.bootstrap}; stop it first"
        )
    if len(broker.nodes) != count:
        raise ConfigurationError(
            f"{broker.folder}: contains the data of {len(broker.nodes)} node(s), not of {count}; "
            f"start with --nodes {len(broker.nodes)} or choose another folder"
        )


def nodes_known(bootstrap: str, cluster_id: str) -> int:
    """Number of brokers in a describe-cluster response; 0 if no node of that cluster responds in
    time."""
    cluster = _admin_reply(bootstrap, lambda admin: admin.describe_cluster())
    return len(cluster["brokers"]) if cluster and cluster["cluster_id"] == cluster_id else 0


def coordinates(bootstrap: str) -> bool:
    """Whether a group finds its coordinator. A new cluster creates a topic on the first request,
    and clients log each error until then."""
    return _admin_reply(bootstrap, lambda admin: admin.find_coordinator("ready")) is not None


def _admin_reply(bootstrap: str, query: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
    """The response, or None after a timeout."""

    async def ask() -> Any:
        async with connected(KafkaSettings.plain(bootstrap), ADMIN_WITHIN) as admin:
            return await query(admin)

    try:
        return event_loop.run(ask())
    except TurnfoldError:
        return None
