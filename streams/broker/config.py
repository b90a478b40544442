"""server.properties of one node: a Kafka broker and KRaft controller in one process.

All listeners are on the loopback. Every node has PLAINTEXT (clients and other nodes) and
CONTROLLER; SASL, TLS, SASL_TLS and PROXIED are optional.
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
    "SERVER_TLS": "SSL",
    "SASL_TLS": "SASL_SSL",
    "PROXIED": "PLAINTEXT",
}
OAUTH = "org.apache.kafka.common.security.oauthbearer"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
CALLBACK = "sasl.server.callback.handler.class"
SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SHORT_LIVED = {"broker.session.timeout.ms": 3_000, "broker.heartbeat.interval.ms": 500}
"""A third of the defaults: a killed node is detected after the session timeout, and is not
readmitted before."""
LOGIN_TEXT = re.compile(r"[A-Za-z0-9._-]+")  # characters without quoting in JAAS


@dataclass(frozen=True, slots=True)
class Security:
    """Additional listeners.

    `users` (name → password) opens SASL with PLAIN and SCRAM-SHA-512. `certificate` (a PEM file of
    the private key in PKCS 8 and the chain) opens TLS, only for clients of `authority` if given,
    and then SERVER_TLS for clients without a certificate; with users also SASL_TLS, which supports
    SCRAM-SHA-256 as well, and OAUTHBEARER with `tokens`. `advertised` opens PROXIED, which
    advertises port `advertised[i]` of a proxy for node i. `guarded`: operations need an ACL, except
    on PLAINTEXT.
    """

    users: Mapping[str, str] = field(default_factory=dict)
    certificate: Path | None = None
    authority: Path | None = None
    advertised: Sequence[int] = ()
    tokens: "Tokens | None" = None
    guarded: bool = False

    def __post_init__(self) -> None:
        for text in (*self.users, *self.users.values()):
            if not LOGIN_TEXT.fullmatch(text):
                raise ConfigurationError("users: names and passwords of letters, digits, . _ -")

    def listeners(self) -> tuple[str, ...]:
        return (
            "PLAINTEXT",
            "CONTROLLER",
            *(("SASL",) if self.users else ()),
            *(("TLS",) if self.certificate else ()),
            *(("SERVER_TLS",) if self.certificate and self.authority else ()),
            *(("SASL_TLS",) if self.users and self.certificate else ()),
            *(("PROXIED",) if self.advertised else ()),
        )


@dataclass(frozen=True, slots=True)
class Tokens:
    """Accepted OAuth tokens. `keys`: file with the issuer's public keys (JWKS)."""

    keys: Path
    issuer: str
    audience: str

    @property
    def url(self) -> str:
        return self.keys.resolve().as_uri()


def server_properties(
    number: int,
    ports: Sequence[Mapping[str, int]],
    data: Path,
    security: Security,
    *,
    short_lived: bool = False,
) -> str:
    """Settings of node `number` (from 1); `ports`: all nodes' ports by listener."""
    node_ports = ports[number - 1]
    replicas = min(3, len(ports))
    public = dict(node_ports)
    if security.advertised:
        public["PROXIED"] = security.advertised[number - 1]
    settings = {
        "process.roles": "broker,controller",
        "node.id": number,
        "controller.quorum.voters": ",".join(
            f"{peer}@{HOST}:{peer_ports['CONTROLLER']}" for peer, peer_ports in enumerate(ports, 1)
        ),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": _addresses(node_ports),
        "advertised.listeners": _addresses(
            {name: port for name, port in public.items() if name != "CONTROLLER"}
        ),
        "listener.security.protocol.map": ",".join(f"{n}:{PROTOCOLS[n]}" for n in node_ports),
        "log.dirs": data,
        # undeclared topics are mistakes
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
        **_acls(security),
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _addresses(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())


def _sasl(security: Security) -> dict[str, str]:
    if not security.users:
        return {}
    users = " ".join(f'user_{name}="{word}"' for name, word in security.users.items())
    modules = {"PLAIN": f"{PLAIN} required {users};", "SCRAM-SHA-512": f"{SCRAM} required;"}
    settings = _listener("sasl", modules)
    modules["SCRAM-SHA-256"] = modules["SCRAM-SHA-512"]
    if security.tokens:
        modules["OAUTHBEARER"] = f"{OAUTH}.OAuthBearerLoginModule required;"
        settings[f"listener.name.sasl_tls.oauthbearer.{CALLBACK}"] = (
            f"{OAUTH}.OAuthBearerValidatorCallbackHandler"
        )
    settings |= _listener("sasl_tls", modules)
    if security.tokens:
        settings |= {
            "sasl.oauthbearer.jwks.endpoint.url": security.tokens.url,
            "sasl.oauthbearer.expected.issuer": security.tokens.issuer,
            "sasl.oauthbearer.expected.audience": security.tokens.audience,
        }
    return settings


def _listener(name: str, modules: Mapping[str, str]) -> dict[str, str]:
    """Login modules of a listener, by mechanism."""
    prefix = f"listener.name.{name}"
    return {f"{prefix}.sasl.enabled.mechanisms": ",".join(modules)} | {
        f"{prefix}.{mechanism.lower()}.sasl.jaas.config": module
        for mechanism, module in modules.items()
    }


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


def _acls(security: Security) -> dict[str, str]:
    if not security.guarded:
        return {}
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


def java_properties(security: Security) -> list[str]:
    """Java options: Kafka reads keys only from allowed URLs."""
    if not security.tokens:
        return []
    return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={security.tokens.url}"]


def scram_arguments(security: Security) -> list[str]:
    """Arguments of `StorageTool format` that create the users for SCRAM."""
    return [
        part
        for name, word in security.users.items()
        for mechanism in SCRAM_MECHANISMS
        for part in ("--add-scram", f"{mechanism}=[name={name},password={word}]")
    ]
