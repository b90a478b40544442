"""server.properties of one node: a Kafka broker and KRaft controller in one process.

Pure text. All listeners are on the loopback. Every node has PLAINTEXT (clients and the other
nodes) and CONTROLLER; SASL, TLS, SASL_TLS and PROXIED are there where they are asked for.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streams.errors import ConfigurationError

HOST = "127.0.0.1"
PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "CONTROLLER": "PLAINTEXT",
    "SASL": "SASL_PLAINTEXT",
    "TLS": "SSL",
    "SASL_TLS": "SASL_SSL",
    "PROXIED": "PLAINTEXT",
}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
SCRAM_MECHANISM = "SCRAM-SHA-512"
SHORT_LIVED = {"broker.session.timeout.ms": 3_000, "broker.heartbeat.interval.ms": 500}
"""A third of the defaults: a node that was killed is missed after the session, and is not let in
again before."""
LOGIN_TEXT = re.compile(r"[A-Za-z0-9._-]+")  # what needs no quoting in a JAAS line


@dataclass(frozen=True, slots=True)
class Security:
    """Listeners beside the plain one.

    `users` (name → password) opens SASL with PLAIN and SCRAM-SHA-512. `certificate` (a PEM file of
    the private key in PKCS 8 and the chain) opens TLS, for clients of `authority` alone if that is
    given; with users also SASL_TLS. `advertised` opens PROXIED, which tells clients that node i is
    to be found at port `advertised[i]`: that of a proxy in front of it.
    """

    users: Mapping[str, str] = field(default_factory=dict)
    certificate: Path | None = None
    authority: Path | None = None
    advertised: Sequence[int] = ()

    def __post_init__(self) -> None:
        for text in (*self.users, *self.users.values()):
            if not LOGIN_TEXT.fullmatch(text):
                raise ConfigurationError("users: names and passwords of letters, digits, . _ -")

    def listeners(self) -> tuple[str, ...]:
        """The names of a node's listeners."""
        return (
            "PLAINTEXT",
            "CONTROLLER",
            *(("SASL",) if self.users else ()),
            *(("TLS",) if self.certificate else ()),
            *(("SASL_TLS",) if self.users and self.certificate else ()),
            *(("PROXIED",) if self.advertised else ()),
        )


def server_properties(
    number: int,
    ports: Sequence[Mapping[str, int]],
    data: Path,
    security: Security,
    *,
    short_lived: bool = False,
) -> str:
    """The settings of node `number` (from 1); `ports` are those of all nodes, by listener."""
    mine = ports[number - 1]
    replicas = min(3, len(ports))
    public = dict(mine)
    if security.advertised:
        public["PROXIED"] = security.advertised[number - 1]
    settings = {
        "process.roles": "broker,controller",
        "node.id": number,
        "controller.quorum.voters": ",".join(
            f"{other}@{HOST}:{their['CONTROLLER']}" for other, their in enumerate(ports, 1)
        ),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": _addresses(mine),
        "advertised.listeners": _addresses(
            {name: port for name, port in public.items() if name != "CONTROLLER"}
        ),
        "listener.security.protocol.map": ",".join(f"{n}:{PROTOCOLS[n]}" for n in mine),
        "log.dirs": data,
        # a topic nobody declared is a mistake, not a topic with default partitions
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": max(1, replicas - 1),
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": max(1, replicas - 1),
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": max(1, replicas - 1),
        # 50 each by default: seconds at the first commit of a fresh broker
        "offsets.topic.num.partitions": 8,
        "transaction.state.log.num.partitions": 8,
        "group.initial.rebalance.delay.ms": 0,
        # 128 MB by default: more than a third of the heap
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        **(SHORT_LIVED if short_lived else {}),
        **_sasl(security),
        **_tls(security),
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _addresses(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())


def _sasl(security: Security) -> dict[str, str]:
    if not security.users:
        return {}
    users = " ".join(f'user_{name}="{word}"' for name, word in security.users.items())
    settings = {"sasl.enabled.mechanisms": f"PLAIN,{SCRAM_MECHANISM}"}
    for listener in ("sasl", "sasl_tls"):
        scram = f"listener.name.{listener}.{SCRAM_MECHANISM.lower()}.sasl.jaas.config"
        settings[f"listener.name.{listener}.plain.sasl.jaas.config"] = f"{PLAIN} required {users};"
        settings[scram] = f"{SCRAM} required;"
    return settings


def _tls(security: Security) -> dict[str, str]:
    if not security.certificate:
        return {}
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(security.certificate.resolve()),
    }
    if security.authority:
        settings |= {
            "listener.name.tls.ssl.client.auth": "required",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(security.authority.resolve()),
        }
    return settings


def scram_arguments(security: Security) -> list[str]:
    """What `StorageTool format` needs so that the users can log in by SCRAM."""
    return [
        part
        for name, word in security.users.items()
        for part in ("--add-scram", f"{SCRAM_MECHANISM}=[name={name},password={word}]")
    ]
