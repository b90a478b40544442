"""Messages framed as Confluent's serializers write them: byte 0, the id of a schema, the data.

The schema is asked of a registry by its id, once: what an id means never changes. While the
registry is away nothing is decided of a message: a worker tries again, `run` ends.
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
"""Schemas that refer to one another, in a row."""

REFUSED = (400, 405, 410, 414, 422)
"""Statuses that say that the request itself is wrong; after others the request is repeated."""
FAULT_SECONDS = 60.0
MOST_FAULTS = 10_000

Read = Callable[[bytes], Any]
"""The data as JSON has it. Raises Exception where they do not fit the schema."""


class RegistrySettings(Settings):
    """How the schema registry is reached."""

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
    """The registry does not answer. An OSError: a worker's lane tries again."""


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

    def _login(self) -> httpx.BasicAuth | None:
        told = self.settings
        if told.username is None:
            return None
        secret = told.password.get_secret_value() if told.password else ""
        return httpx.BasicAuth(told.username, secret)

    def read(self, value: bytes) -> Any:
        """The data of a message as JSON has it. Raises NotAnEvent, RegistryAway."""
        if len(value) < HEAD or value[0] != MAGIC:
            raise NotAnEvent("expected Confluent's framing: byte 0, then the id of a schema")
        id = int.from_bytes(value[1:HEAD], "big")
        read = self._readers.get(id)
        if read is None:
            read = self._new_reader(id)
        try:
            return read(value[HEAD:])
        except NotAnEvent:
            raise
        except Exception as error:  # each library has errors of its own
            kind = type(error).__name__
            raise NotAnEvent(f"schema {id}: the data do not fit it ({kind})") from None

    def _new_reader(self, id: int) -> Read:
        """The reader of an id that is new. A fault is kept for a minute, so that many messages of
        one bad id ask the registry once. Raises NotAnEvent, RegistryAway."""
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
        return reader

    def _reader(self, id: int) -> Read:
        try:
            return self._made(id)
        except (NotAnEvent, RegistryAway):
            raise
        except Exception as error:  # what the registry answered, or a library made of it
            why = f"{type(error).__name__}: {error}"[:300]
            raise NotAnEvent(f"schema {id}: cannot be used ({why})") from None

    def _made(self, id: int) -> Read:
        found = self._get(f"/schemas/ids/{id}", f"schema {id}")
        kind = found.get("schemaType", "AVRO")
        make = {"AVRO": _avro, "JSON": _json, "PROTOBUF": _protobuf}.get(kind)
        if make is None:
            raise NotAnEvent(f"schema {id}: type {kind} is not known")
        referred = self._referred(found, {}, id, DEEP)
        return make(found["schema"], referred)

    def _referred(
        self, found: dict[str, Any], known: dict[str, str], id: int, deep: int
    ) -> dict[str, str]:
        """The schemas that one refers to, by their names there; those that others need first."""
        if not deep:
            raise NotAnEvent(f"schema {id}: its references go round in a circle, or too deep")
        for one in found.get("references") or ():
            if one["name"] not in known:
                path = f"/subjects/{quote(one['subject'], safe='')}/versions/{one['version']}"
                inner = self._get(path, f"schema {id}: its reference {one['name']}")
                self._referred(inner, known, id, deep - 1)
                known[one["name"]] = inner["schema"]
        return known

    def _get(self, path: str, what: str) -> dict[str, Any]:
        try:
            answer = httpx.get(self._url + path, auth=self._login(), timeout=self.settings.timeout)
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise RegistryAway(f"schema registry {self._url}: {why}") from None
        if answer.status_code == 404:
            raise NotAnEvent(f"{what}: is not in the registry")
        if answer.status_code in REFUSED:
            raise NotAnEvent(f"{what}: the registry answers {answer.status_code}")
        try:
            found = answer.raise_for_status().json()
        except (httpx.HTTPStatusError, ValueError):
            raise RegistryAway(
                f"schema registry {self._url}: {path}: HTTP {answer.status_code}"
            ) from None
        return found if isinstance(found, dict) else {}


def _avro(schema: str, referred: dict[str, str]) -> Read:
    from streams.mapping.avro import reader

    return reader(schema, referred)


def _json(schema: str, referred: dict[str, str]) -> Read:
    return msgspec.json.Decoder(float_hook=number).decode


def _protobuf(schema: str, referred: dict[str, str]) -> Read:
    from streams.mapping.protobuf import reader

    return reader(schema, referred)
