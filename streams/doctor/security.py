"""Checks of the connection to Kafka: encryption, login, certificate."""

import asyncio
from datetime import UTC, datetime

from streams.doctor.check_result import Finding, ok, warning
from streams.kafka.client.settings import KafkaSettings
from streams.serving.http.settings import is_loopback

EXPIRES_SOON = 30
"""Days."""


async def security(kafka: KafkaSettings) -> Finding:
    """Checks encryption, login, and the validity of the broker's certificate."""
    remote = [host for host, _ in kafka.addresses if not is_loopback(host)]
    if not kafka.encrypted:
        if not remote:
            return ok("security", f"{kafka.security_protocol}, on this machine alone")
        login = ", the password too" if kafka.login and kafka.sasl_mechanism == "PLAIN" else ""
        return warning(
            "security",
            f"{kafka.security_protocol} to {remote[0]}",
            f"Whoever is on the way can read what users said{login}.",
            'Use SASL_SSL or SSL (docs/shared-clusters.md, "Logins and TLS").',
        )
    host, port = kafka.addresses[0]
    try:
        days = await _days_left(kafka, host, port)
    except (OSError, TimeoutError) as error:
        return warning(
            "security", f"{host}:{port}: the certificate cannot be read: {error}",
            "How long it is valid is not known.", "Ask again, or look at it with openssl s_client.",
        )  # fmt: skip
    login = f", logged in as {kafka.sasl_username}" if kafka.login else ""
    text = f"{kafka.security_protocol}{login}; the broker's certificate is valid {days} more days"
    if days < EXPIRES_SOON:
        return warning("security", text, "Then all connections fail.", "Renew it.")
    return ok("security", text)


async def _days_left(kafka: KafkaSettings, host: str, port: int) -> int:
    context = kafka.auth()["ssl_context"]
    async with asyncio.timeout(10):
        _, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        ends = writer.get_extra_info("peercert")["notAfter"]
    finally:
        writer.close()
    until = datetime.strptime(ends, "%b %d %H:%M:%S %Y %Z").replace(tzinfo=UTC)
    return (until - datetime.now(UTC)).days
