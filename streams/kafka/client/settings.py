"""How every Kafka client reaches the broker: one place for addresses, login and TLS.

From the environment (TURNFOLD_KAFKA_BOOTSTRAP, …) or from the arguments of `load`, which win.
"""

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from streams.errors import ConfigurationError
from streams.settings import Settings

if TYPE_CHECKING:
    from faust.types.auth import CredentialsT

PREFIX = "TURNFOLD_KAFKA_"

Protocol = Literal["PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class KafkaSettings(Settings):
    """The settings. Texts of it never hold a password: they are SecretStr."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", hide_input_in_errors=True
    )

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
    tls_ca: Annotated[
        Path | None, Field(description="PEM file of the authorities to trust; none: the system's.")
    ] = None
    tls_certificate: Annotated[
        Path | None, Field(description="PEM file of this client's certificate chain.")
    ] = None
    tls_key: Annotated[
        Path | None, Field(description="PEM file of its private key, if not with the certificate.")
    ] = None
    tls_key_password: Annotated[
        SecretStr | None, Field(description="What the private key is encrypted with.")
    ] = None
    partitions: Annotated[
        int, Field(ge=1, le=10_000, description="Of every topic; the most lanes an agent can have.")
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
            if not host or not port.isdigit() or not 0 < int(port) < 65536:
                raise ValueError(f"{address!r} is not host:port")
        return value

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.login and not (self.sasl_username and self.sasl_password):
            raise ValueError(f"{self.security_protocol} needs sasl_username and sasl_password")
        if not self.login and (self.sasl_username or self.sasl_password):
            raise ValueError(
                f"a login is given, but security_protocol is {self.security_protocol}; "
                "set SASL_SSL or SASL_PLAINTEXT"
            )
        if not self.encrypted and (self.tls_ca or self.tls_certificate or self.tls_key):
            raise ValueError(
                f"TLS files are given, but security_protocol is {self.security_protocol}; "
                "set SSL or SASL_SSL"
            )
        if self.tls_key and not self.tls_certificate:
            raise ValueError("tls_key is given without tls_certificate")
        return self

    @classmethod
    def plain(cls, bootstrap: str) -> Self:
        """Without login and encryption, whatever the environment says."""
        return cls.model_construct(bootstrap=bootstrap)

    @property
    def login(self) -> bool:
        """Whether clients log in."""
        return self.security_protocol.startswith("SASL")

    @property
    def encrypted(self) -> bool:
        """Whether connections are TLS."""
        return self.security_protocol.endswith("SSL")

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of the brokers to ask first."""
        pairs = [address.strip().rpartition(":") for address in self.bootstrap.split(",")]
        return [(host.strip("[]"), int(port)) for host, _, port in pairs]

    def client(self) -> dict[str, Any]:
        """Keyword arguments for any aiokafka client: producer, consumer, admin.

        Raises ConfigurationError where a TLS file cannot be used. Holds the password in clear:
        not for logs.
        """
        return {"bootstrap_servers": self.bootstrap.split(","), **self.auth()}

    def auth(self) -> dict[str, Any]:
        """The same without the addresses."""
        arguments: dict[str, Any] = {"security_protocol": self.security_protocol}
        if self.encrypted:
            arguments["ssl_context"] = self._ssl_context()
        if self.login and self.sasl_password:
            arguments |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": self.sasl_password.get_secret_value(),
            }
        return arguments

    def faust_credentials(self) -> "CredentialsT | None":
        """`broker_credentials` of a Faust app."""
        from faust.auth import SASLCredentials, SSLCredentials

        context = self._ssl_context() if self.encrypted else None
        if self.login and self.sasl_password:
            return SASLCredentials(
                username=self.sasl_username,
                password=self.sasl_password.get_secret_value(),
                mechanism=self.sasl_mechanism,
                ssl_context=context,
            )
        return SSLCredentials(context) if context else None

    def _ssl_context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.tls_ca)
        except OSError as error:
            raise ConfigurationError(_unusable("tls_ca", self.tls_ca, error)) from None
        if self.tls_certificate:
            secret = self.tls_key_password
            # without a password here OpenSSL would ask for one on the terminal
            password = secret.get_secret_value() if secret else ""
            try:
                context.load_cert_chain(self.tls_certificate, self.tls_key, password)
            except OSError as error:
                files = self.tls_key or self.tls_certificate
                raise ConfigurationError(_unusable("tls_certificate", files, error)) from None
        return context


def _unusable(field: str, path: Path | None, error: OSError) -> str:
    return (
        f"{PREFIX}{field.upper()}: {path} cannot be used: {error.strerror or error}; "
        "give a readable PEM file"
    )
