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
"""A third of the defaults: a node that was killed is missed after the session, and is not let in
again before."""
LOGIN_TEXT = re.compile(r"[A-Za-z0-9._-]+")  # what needs no quoting in a JAAS line


@dataclass(frozen=True, slots=True)
class Security:
    """Listeners beside the plain one.

    `users` (name → password) opens SASL with PLAIN and SCRAM-SHA-512. `certificate` (a PEM file of
    the private key in PKCS 8 and the chain) opens TLS, for clients of `authority` alone if that is
    given, and SERVER_TLS for those without a certificate, too; with users also SASL_TLS, which
    takes SCRAM-SHA-256 as well, and OAUTHBEARER where there are `tokens`. `advertised` opens
    PROXIED, which tells clients that node i is to be found at port `advertised[i]`: that of a proxy
    in front of it. `guarded`: only who has an ACL may do something; who comes in by PLAINTEXT may
    do everything.
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
        """The names of a node's listeners."""
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
    """Which OAuth tokens are good: `keys`, a file of their issuer's public keys (JWKS)."""

    keys: Path
    issuer: str
    audience: str

    @property
    def url(self) -> str:
        """Of the keys."""
        return self.keys.resolve().as_uri()


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
    """The login modules of a listener, by the mechanism."""
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
    """Java's own options: Kafka only reads keys from URLs that are named there."""
    if not security.tokens:
        return []
    return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={security.tokens.url}"]


def scram_arguments(security: Security) -> list[str]:
    """What `StorageTool format` needs so that the users can log in by SCRAM."""
    return [
        part
        for name, word in security.users.items()
        for mechanism in SCRAM_MECHANISMS
        for part in ("--add-scram", f"{mechanism}=[name={name},password={word}]")
    ]
