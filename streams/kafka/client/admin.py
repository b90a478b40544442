"""Admin client with a deadline: it responds or reports the reason within seconds."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    AuthenticationFailedError,
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NodeNotReadyError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

from streams.errors import ConfigurationError, TurnfoldError, Unreachable
from streams.kafka.client import acl_errors
from streams.kafka.client.aiokafka_internals import KafkaAdmin, try_to_connect
from streams.kafka.client.settings import KafkaSettings
from streams.observability.logs import quiet

WITHIN = 10.0  # seconds
REFUSALS = (
    AuthenticationFailedError,
    IllegalSaslStateError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
    ssl.SSLCertVerificationError,
)


@asynccontextmanager
async def connected(settings: KafkaSettings, within: float = WITHIN) -> AsyncIterator[KafkaAdmin]:
    """A connected admin client; the block must end within `within` seconds as well.

    Raises ConfigurationError if the broker rejects the login or its certificate is not trusted,
    Unreachable if no broker responds in time; both with the reason.
    """
    with quiet("aiokafka"):  # it also logs the errors that are raised here
        try:
            async with asyncio.timeout(within):
                await _reach(settings, within)
                admin = KafkaAdmin(
                    request_timeout_ms=int(within * 1000), **settings.client(has_values=False)
                )
                try:
                    await admin.start()
                    yield admin
                finally:
                    await admin.close()
        except TimeoutError:
            raise Unreachable(
                f"Kafka: {settings.bootstrap} did not answer within {within:g} s; is it up, and "
                "can the addresses it advertises be reached from here?"
            ) from None
        except REFUSALS as error:
            raise ConfigurationError(_refused(settings, error)) from None
        except (KafkaError, OSError) as error:
            raise lost(settings, error) from None


def lost(settings: KafkaSettings, error: BaseException) -> TurnfoldError:
    """The exception to raise if a broker that was reached before fails a client, or its ACLs deny
    access."""
    if (refused := acl_errors.of(error)) is not None:
        return refused
    is_lost = isinstance(
        error, KafkaConnectionError | KafkaTimeoutError | NodeNotReadyError | OSError
    )
    prefix = "no broker can be reached: " if is_lost else ""
    return Unreachable(f"Kafka: {settings.bootstrap}: {prefix}{_reason(error)}")


async def _reach(settings: KafkaSettings, within: float) -> None:
    """Connects and logs in once: aiokafka's bootstrap hides the reason of a failure."""
    auth = settings.auth()
    failures: list[str] = []
    each = within / len(settings.addresses)
    for host, port in settings.addresses:
        try:
            await try_to_connect(host, port, request_timeout_ms=int(each * 900), **auth)
        except REFUSALS as error:
            raise ConfigurationError(_refused(settings, error)) from None
        except (KafkaError, OSError, TimeoutError) as error:
            failures.append(f"{host}:{port}: {_reason(error)}")
        else:
            return
    raise Unreachable(_unreachable(settings, failures))


def _refused(settings: KafkaSettings, error: Exception) -> str:
    how = f"security_protocol {settings.security_protocol}"
    if settings.login:
        how += f", {settings.sasl_mechanism}"
    if settings.sasl_username:
        how += f" as {settings.sasl_username}"
    return f"Kafka: {settings.bootstrap} refused ({how}): {_reason(error)}"


def _unreachable(settings: KafkaSettings, failures: list[str]) -> str:
    return (
        f"Kafka: no broker can be reached (security_protocol {settings.security_protocol}): "
        f"{'; '.join(failures)}. Check TURNFOLD_KAFKA_BOOTSTRAP and whether the listener there "
        "speaks that protocol"
    )


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return "no answer in time"
    return str(error) or type(error).__name__


async def cluster_of(admin: AIOKafkaAdminClient, settings: KafkaSettings) -> str:
    """Identifies an installation: the cluster's id, and the topic prefix if there is one."""
    id = str((await admin.describe_cluster())["cluster_id"])
    return f"{id}, topic prefix {settings.topic_prefix}" if settings.topic_prefix else id


async def partitions_of(admin: AIOKafkaAdminClient, names: Iterable[str]) -> dict[str, int]:
    """Number of partitions of each existing topic."""
    existing = set(await admin.list_topics())
    topics = [name for name in names if name in existing]
    described = await admin.describe_topics(topics) if topics else []
    counts = {topic["topic"]: len(topic["partitions"]) for topic in described}
    return {name: counts[name] for name in topics if counts.get(name)}
