"""Connection settings of every Kafka client: addresses, login and TLS.

From the environment (TURNFOLD_KAFKA_BOOTSTRAP, …) or from the arguments of `load`, which take
precedence.
"""

import ssl
import string
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from streams.erasure_keys import open_store
from streams.kafka.client.name_prefix import Names
from streams.kafka.client.tls import TlsFiles, renewed_context
from streams.settings import Settings
from streams.topology import TOPICS

PREFIX = "TURNFOLD_KAFKA_"
_PASSWORD = ("sasl_username", "sasl_password")
_CREDENTIALS = ("oauth_client_id", "oauth_client_secret", "oauth_scope")
_OAUTH = ("oauth_token_file", "oauth_token_url", *_CREDENTIALS)
LONGEST = 249
"""Maximum characters of a topic name on a broker."""
TOPIC_CHARACTERS = frozenset(string.ascii_letters + string.digits + "._-")
_GENERATED = [f"{topic.name}." for topic in TOPICS]

Protocol = Literal["PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
OAUTH = "OAUTHBEARER"


class KafkaSettings(Settings):
    """Kafka settings. Passwords are SecretStr, so the text form never contains them."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    _unprefixed: frozenset[str] = PrivateAttr(default=frozenset())

    about = "Kafka settings"
    bootstrap: Annotated[
        str, Field(description="Bootstrap servers: host:port, comma-separated.")
    ] = "localhost:9092"
    security_protocol: Annotated[
        Protocol, Field(description="Authentication (SASL) and encryption (SSL).")
    ] = "PLAINTEXT"
    sasl_mechanism: Annotated[Mechanism, Field(description="SASL mechanism.")] = "PLAIN"
    sasl_username: Annotated[str | None, Field(description="SASL user name.")] = None
    sasl_password: Annotated[SecretStr | None, Field(description="The user's password.")] = None
    oauth_token_file: Annotated[
        Path | None,
        Field(description="OAUTHBEARER: file with the token; reloaded for each connection."),
    ] = None
    oauth_token_url: Annotated[
        str | None,
        Field(description="OAUTHBEARER: URL of the token endpoint (client credentials)."),
    ] = None
    oauth_client_id: Annotated[
        str | None, Field(description="OAUTHBEARER: client id at the token endpoint.")
    ] = None
    oauth_client_secret: Annotated[
        SecretStr | None, Field(description="OAUTHBEARER: the client's secret.")
    ] = None
    oauth_scope: Annotated[
        str | None, Field(description="OAUTHBEARER: requested scope. Default: none.")
    ] = None
    tls_ca: Annotated[
        Path | None, Field(description="PEM file of trusted authorities. Default: the system's.")
    ] = None
    tls_certificate: Annotated[
        Path | None, Field(description="PEM file of this client's certificate chain.")
    ] = None
    tls_key: Annotated[
        Path | None,
        Field(description="PEM file of the private key, if not in the certificate's file."),
    ] = None
    tls_key_password: Annotated[
        SecretStr | None, Field(description="Password of the private key.")
    ] = None
    topic_prefix: Annotated[
        str,
        Field(
            description="Prefix for topics, consumer groups and transactional IDs; separates "
            "installations that share a cluster. Default: none.",
        ),
    ] = ""
    partitions: Annotated[
        int,
        Field(
            ge=1,
            le=10_000,
            description="Partitions of every topic; the maximum number of lanes per agent.",
        ),
    ] = 4
    replication: Annotated[
        int | None,
        Field(
            ge=1,
            le=9,
            description="Replicas of each partition. Default: 3, or the number of brokers.",
        ),
    ] = None

    @field_validator("bootstrap")
    @classmethod
    def _addresses(cls, value: str) -> str:
        for address in value.split(","):
            host, _, port = address.strip().rpartition(":")
            if "@" in host:
                raise ValueError("contains a login; use sasl_username and sasl_password")
            if not host or not port.isdigit() or not 0 < int(port) < 65536:
                raise ValueError(f"{address!r} is not host:port")
        return value

    @field_validator("topic_prefix")
    @classmethod
    def _prefix(cls, value: str) -> str:
        """Applies Kafka's rules of topic names."""
        if wrong := sorted(set(value) - TOPIC_CHARACTERS):
            raise ValueError(
                f"contains {', '.join(map(repr, wrong))}; topic names may contain letters from a "
                "to z, digits, '.', '_' and '-'"
            )
        longest = max((topic.name for topic in TOPICS), key=len)
        if len(value + longest) > LONGEST:
            raise ValueError(
                f"has {len(value)} characters; at most {LONGEST - len(longest)} are possible, "
                f"because Kafka's limit is {LONGEST} with the topic's name behind it ({longest})"
            )
        if reserved := [name for name in _GENERATED if value.startswith(name)]:
            raise ValueError(
                f"begins with {reserved[0]!r}, which is reserved for topics of generations; choose "
                "another prefix"
            )
        return value

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        fields = {name for name in (*_PASSWORD, *_OAUTH) if getattr(self, name) is not None}
        if not self.login and fields:
            raise ValueError(
                f"a login is set, but security_protocol is {self.security_protocol}; "
                "set SASL_SSL or SASL_PLAINTEXT"
            )
        if self.login:
            self._check_login(fields)
        if not self.encrypted and (self.tls_ca or self.tls_certificate or self.tls_key):
            raise ValueError(
                f"TLS files are set, but security_protocol is {self.security_protocol}; "
                "set SSL or SASL_SSL"
            )
        if self.tls_key and not self.tls_certificate:
            raise ValueError("tls_key is set without tls_certificate")
        return self

    def _check_login(self, fields: set[str]) -> None:
        """Checks that the mechanism's settings are complete, and no others are set."""
        if self.sasl_mechanism != OAUTH:
            if not (self.sasl_username and self.sasl_password):
                raise ValueError(f"{self.security_protocol} needs sasl_username and sasl_password")
            unused = fields.intersection(_OAUTH)
        else:
            if (self.oauth_token_file is None) == (self.oauth_token_url is None):
                raise ValueError(f"{OAUTH} needs oauth_token_file or oauth_token_url, one of them")
            unused = fields.intersection(_PASSWORD)
            if self.oauth_token_file is not None:
                unused |= fields.intersection(_CREDENTIALS)
            elif not (self.oauth_client_id and self.oauth_client_secret):
                raise ValueError("oauth_token_url needs oauth_client_id and oauth_client_secret")
            elif not str(self.oauth_token_url).startswith(("https://", "http://")):
                raise ValueError(f"oauth_token_url: {self.oauth_token_url!r} is not an http(s) URL")
        if unused:
            raise ValueError(
                f"{', '.join(sorted(unused))}: not used with sasl_mechanism {self.sasl_mechanism}"
            )

    @classmethod
    def plain(cls, bootstrap: str) -> Self:
        """Settings without login and encryption, independent of the environment."""
        return cls.model_construct(bootstrap=bootstrap)

    @property
    def login(self) -> bool:
        return self.security_protocol.startswith("SASL")

    @property
    def encrypted(self) -> bool:
        return self.security_protocol.endswith("SSL")

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of the bootstrap brokers."""
        pairs = [address.strip().rpartition(":") for address in self.bootstrap.split(",")]
        return [(host.strip("[]"), int(port)) for host, _, port in pairs]

    def client(self, *, has_values: bool = True) -> dict[str, Any]:
        """Keyword arguments for our aiokafka clients (`aiokafka_internals`): producer, consumer,
        admin. `has_values`: it reads or writes values, with the keys of the settings.

        Raises ConfigurationError if a TLS file or the key store is unusable. Contains the plain
        password: do not log it.
        """
        names = {"names": self._names} if self.topic_prefix else {}
        store = open_store() if has_values else None
        keys = {} if store is None else {"keys": store}
        return {"bootstrap_servers": self.bootstrap.split(","), **names, **keys, **self.auth()}

    @property
    def _names(self) -> Names:
        return Names(self.topic_prefix, self._unprefixed)

    def with_unprefixed(self, topics: Iterable[str]) -> Self:
        """A copy for clients that also read these topics, by names without prefix."""
        settings = self.model_copy()
        settings._unprefixed = frozenset(topics)
        return settings

    def on_broker(self, name: str) -> str:
        """Name of a topic, consumer group or transactional id on the broker. For messages only: the
        clients of `client` add the prefix themselves."""
        return self._names.on_broker(name)

    def auth(self) -> dict[str, Any]:
        """Keyword arguments of login and encryption, without addresses and names."""
        arguments: dict[str, Any] = {"security_protocol": self.security_protocol}
        if self.encrypted:
            arguments["ssl_context"] = self._ssl_context()
        if self.login and self.sasl_mechanism == OAUTH:
            arguments |= {"sasl_mechanism": OAUTH, "sasl_oauth_token_provider": self._tokens()}
        elif self.login and self.sasl_password:
            arguments |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": self.sasl_password.get_secret_value(),
            }
        return arguments

    def _tokens(self) -> Any:
        from streams.kafka.client.oauth import ClientCredentials, TokenFile

        if self.oauth_token_file is not None:
            return TokenFile(self.oauth_token_file)
        assert self.oauth_token_url and self.oauth_client_id and self.oauth_client_secret
        secret = self.oauth_client_secret.get_secret_value()
        return ClientCredentials(
            self.oauth_token_url, self.oauth_client_id, secret, self.oauth_scope
        )

    def _ssl_context(self) -> ssl.SSLContext:
        secret = self.tls_key_password
        password = secret.get_secret_value() if secret else ""
        return renewed_context(TlsFiles(self.tls_ca, self.tls_certificate, self.tls_key, password))
