"""Decodes messages in Confluent's wire format: byte 0, the id of a schema, the data.

Each schema is requested from the registry once, as ids are immutable. While the registry is
unavailable, messages wait: a worker retries, `run` fails.

A proxy may answer in place of the registry, with any page and status. Such a reply decides about an
id only after several tries, during which the registry itself answered another request.
"""

import time
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import msgspec
from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from schemas.upcast import number
from streams.errors import ConfigurationError, Unreachable
from streams.mapping.envelopes import NotAnEvent
from streams.settings import Settings

PREFIX = "TURNFOLD_REGISTRY_"
MAGIC = 0
HEAD = 5
"""Bytes before the data: the magic byte and the id."""
DEEP = 16
"""Maximum depth of references between schemas."""

AWAY = (401, 403, 408, 425, 429)
"""Statuses, with those from 500 on, of a registry that cannot answer now."""
PROBE = "/schemas/types"
"""A request that any registry answers, with a list of names."""
TRIES, TRY_SECONDS = 5, 30.0
"""Replies of another server about one id, and their seconds, after which the id is a fault."""
FAULT_SECONDS = 60.0
MOST_FAULTS = 10_000

Read = Callable[[bytes], Any]
"""Decoder of data into JSON values. Raises Exception if they do not match the schema."""


class RegistrySettings(Settings):
    """Connection to the schema registry."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    about = "registry settings"
    url: Annotated[
        str | None, Field(pattern=r"^https?://", description="URL of the schema registry.")
    ] = None
    username: Annotated[str | None, Field(description="User name (HTTP Basic).")] = None
    password: Annotated[SecretStr | None, Field(description="The user's password.")] = None
    timeout: Annotated[
        float, Field(gt=0, le=30, description="Seconds that an answer may take.")
    ] = 3.0


class RegistryAway(Unreachable, OSError):  # noqa: N818 - what it is
    """The registry does not answer. An OSError, so that a worker's lane retries."""


class Reference(msgspec.Struct):
    """A schema's reference to another one."""

    name: str
    subject: str
    version: int


class Registered(msgspec.Struct):
    """A registry's answer: a schema."""

    schema: str
    schemaType: str | None = None  # noqa: N815 - the API's name
    references: list[Reference] | None = None


class Rejection(msgspec.Struct):
    """A registry's answer to an invalid request."""

    error_code: int


class _NotOfRegistry(Exception):  # noqa: N818 - what it is
    """A reply that no registry sends, such as a proxy's page."""


class Registry:
    """The schemas of a registry, by their ids."""

    def __init__(self, settings: RegistrySettings) -> None:
        if settings.url is None:
            raise ConfigurationError(
                f"the mapping has a source of encoding confluent: set {PREFIX}URL, such as "
                "http://localhost:8081"
            )
        self.settings = settings
        self._url = settings.url.rstrip("/")
        self._readers: dict[int, Read] = {}
        self._faults: dict[int, tuple[float, NotAnEvent]] = {}
        self._tries: dict[int, tuple[int, float]] = {}

    def _login(self) -> httpx.BasicAuth | None:
        settings = self.settings
        if settings.username is None:
            return None
        secret = settings.password.get_secret_value() if settings.password else ""
        return httpx.BasicAuth(settings.username, secret)

    def read(self, value: bytes) -> Any:
        """Decodes a message into a JSON value. Raises NotAnEvent, RegistryAway."""
        if len(value) < HEAD or value[0] != MAGIC:
            raise NotAnEvent("expected Confluent's framing: byte 0, then the id of a schema")
        id = int.from_bytes(value[1:HEAD], "big")
        reader = self._readers.get(id)
        if reader is None:
            reader = self._new_reader(id)
        try:
            return reader(value[HEAD:])
        except NotAnEvent:
            raise
        except Exception as error:  # each library has its own errors
            kind = type(error).__name__
            raise NotAnEvent(f"schema {id}: the data do not fit it ({kind})") from None

    def _new_reader(self, id: int) -> Read:
        """Reader of a new id. Faults are cached for a minute, so that many messages with one bad id
        cause one request. Raises NotAnEvent, RegistryAway."""
        now = time.monotonic()
        until, fault = self._faults.get(id, (now, None))
        if fault is not None and now < until:
            raise fault
        try:
            reader = self._readers[id] = self._reader(id)
        except NotAnEvent as fault:
            if len(self._faults) >= MOST_FAULTS:
                self._faults.clear()
            self._faults[id] = now + FAULT_SECONDS, fault.with_traceback(None)
            raise
        self._faults.pop(id, None)
        self._tries.pop(id, None)
        return reader

    def _reader(self, id: int) -> Read:
        try:
            return self._made(id)
        except (NotAnEvent, RegistryAway):
            raise
        except _NotOfRegistry as error:
            reply = str(error)
        except Exception as error:  # of a library
            problem = f"{type(error).__name__}: {error}"[:300]
            raise NotAnEvent(f"schema {id}: cannot be used ({problem})") from None
        self._try(id, reply)
        raise NotAnEvent(f"schema {id}: the registry answers, but not for this id: {reply}")

    def _try(self, id: int, reply: str) -> None:
        """Counts a reply that is not the registry's. Raises RegistryAway until there are enough."""
        if not self._answers():
            raise self._away(reply)
        if len(self._tries) >= MOST_FAULTS:
            self._tries.clear()
        now = time.monotonic()
        count, since = self._tries.get(id, (0, now))
        self._tries[id] = count + 1, since
        if count + 1 < TRIES or now - since < TRY_SECONDS:
            raise RegistryAway(f"schema registry {self._url}: {reply}")

    def _answers(self) -> bool:
        """Whether the registry itself answers at its URL. Raises RegistryAway."""
        reply = self._request(PROBE)
        try:
            return reply.status_code == 200 and bool(
                msgspec.json.decode(reply.content, type=list[str])
            )
        except (ValueError, RecursionError):
            return False

    def _away(self, problem: str) -> RegistryAway:
        """In an outage the replies are no evidence about ids, so the tries restart."""
        self._tries.clear()
        return RegistryAway(f"schema registry {self._url}: {problem}")

    def _made(self, id: int) -> Read:
        registered = self._get(f"/schemas/ids/{id}", f"schema {id}")
        kind = registered.schemaType or "AVRO"
        make = {"AVRO": _avro, "JSON": _json, "PROTOBUF": _protobuf}.get(kind)
        if make is None:
            raise NotAnEvent(f"schema {id}: type {kind[:100]} is not known")
        referred = self._referred(registered, {}, id, DEEP)
        return make(registered.schema, referred)

    def _referred(
        self, registered: Registered, texts: dict[str, str], id: int, deep: int
    ) -> dict[str, str]:
        """Referenced schemas by name, in order of dependency."""
        if not deep:
            raise NotAnEvent(f"schema {id}: its references go round in a circle, or too deep")
        for reference in registered.references or ():
            if reference.name not in texts:
                subject = quote(reference.subject, safe="")
                path = f"/subjects/{subject}/versions/{reference.version}"
                inner = self._get(path, f"schema {id}: its reference {reference.name}")
                self._referred(inner, texts, id, deep - 1)
                texts[reference.name] = inner.schema
        return texts

    def _get(self, path: str, name: str) -> Registered:
        """Raises NotAnEvent if the registry rejects the request, RegistryAway, _NotOfRegistry."""
        reply = self._request(path)
        status = reply.status_code
        try:
            if status == 200:
                return msgspec.json.decode(reply.content, type=Registered)
            msgspec.json.decode(reply.content, type=Rejection)
        except (ValueError, RecursionError):
            raise _NotOfRegistry(f"{path}: HTTP {status}, but no answer of a registry") from None
        problem = "is not in the registry" if status == 404 else f"the registry answers {status}"
        raise NotAnEvent(f"{name}: {problem}")

    def _request(self, path: str) -> httpx.Response:
        """Raises RegistryAway."""
        headers = {"cache-control": "no-cache"}  # a proxy's copy is no sign of the registry
        try:
            reply = httpx.get(
                self._url + path, auth=self._login(), headers=headers, timeout=self.settings.timeout
            )
        except httpx.HTTPError as error:
            raise self._away(str(error) or type(error).__name__) from None
        if reply.status_code >= 500 or reply.status_code in AWAY:
            raise self._away(f"{path}: HTTP {reply.status_code}")
        return reply


def _avro(schema: str, referred: dict[str, str]) -> Read:
    from streams.mapping.avro import reader

    return reader(schema, referred)


def _json(schema: str, referred: dict[str, str]) -> Read:
    return msgspec.json.Decoder(float_hook=number).decode


def _protobuf(schema: str, referred: dict[str, str]) -> Read:
    from streams.mapping.protobuf import reader

    return reader(schema, referred)
