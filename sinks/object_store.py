"""A place in an object store, with the part of `pathlib.Path` that a history's code uses.

Settings come from the environment, by the standard names of each store (docs/object-stores.md); the
library `obstore` reads them. What an error says never holds the store's own text: that names keys.
"""

import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cached_property, partial
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

from sinks.errors import StoreError
from sinks.store_errors import patiently, told

T = TypeVar("T")
SCHEMES = ("s3", "gs", "az")
URL = re.compile(r"(s3|gs|az)://[A-Za-z0-9][A-Za-z0-9._-]+(/[A-Za-z0-9._=-]+)*/?", re.ASCII)
"""A bucket and a prefix of plain names: DuckDB would take others for patterns."""
CONNECT_WITHIN = 5
"""Seconds."""
ANSWER_WITHIN = 30
"""Seconds for one request, the largest of which uploads some MB."""
RETRIES = 8
RETRY_WITHIN = 60
"""Seconds: throttling and faults of the store that pass by then are not noticed."""
DELETED_AT_ONCE = 1_000
ALLOW_HTTP = "AWS_ALLOW_HTTP"
OF_STORES = ("AWS_", "GOOGLE_", "AZURE_")
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
ROLES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
)
"""What gives a key without asking the machine, or needs none."""
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
"""Where the first one that is set names the server; without one it is Amazon's."""
OF_AZURE = "AZURE_STORAGE_ENDPOINT"


class Stat(NamedTuple):
    """What `pathlib` names so: together they change with each write of an object."""

    st_ino: int
    st_mtime_ns: int
    st_size: int


def delta_options(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """`storage_options` of deltalake; keys and tokens it takes from the environment itself."""
    if isinstance(environ, MutableMapping):
        _without_empty(environ)
    options = {
        "conditional_put": "etag",  # a commit is an object that nobody else has made
        "connect_timeout": f"{CONNECT_WITHIN}s",
        "timeout": f"{ANSWER_WITHIN}s",
        "max_retries": str(RETRIES),
        "retry_timeout": f"{RETRY_WITHIN}s",
    }
    if endpoint := _endpoint(environ):
        options["aws_endpoint"] = endpoint
    if _allows_http(environ):
        options["allow_http"] = "true"
    return options


def _endpoint(environ: Mapping[str, str], names: Sequence[str] = ENDPOINTS) -> str | None:
    """Raises StoreError where it is plain HTTP and nobody has asked for that."""
    name = next((one for one in names if environ.get(one)), None)
    if name is None:
        return None
    endpoint = environ[name]
    if endpoint.startswith("http://") and not _allows_http(environ):
        raise StoreError(
            f"{name} is http://, which anybody on the way can read; use https://, or set "
            f"{ALLOW_HTTP}=true where the way is safe"
        )
    if not endpoint.startswith(("http://", "https://")) or not urlsplit(endpoint).hostname:
        raise StoreError(f"{name} is not an address like https://HOST:PORT")
    return endpoint


def _allows_http(environ: Mapping[str, str]) -> bool:
    return environ.get(ALLOW_HTTP, "").lower() in ("1", "true", "yes")


class ObjectPath:
    """`s3://bucket/prefix`, or an object below it. There are no folders: one is there as long as
    there are objects below it."""

    def __init__(self, url: str, store: Any = None) -> None:
        if not URL.fullmatch(url) or not {".", ".."}.isdisjoint(url.split("/")):
            shown, why = without_secrets(url), _wrong(url)
            raise StoreError(f"{shown}: not the URL of a history in an object store: {why}")
        self._url = url.rstrip("/")
        self._given_store = store

    def __str__(self) -> str:
        return self._url

    def __repr__(self) -> str:
        return f"ObjectPath({self._url!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and other._url == self._url

    def __hash__(self) -> int:
        return hash(self._url)

    def __truediv__(self, name: str) -> Self:
        return type(self)(f"{self._url}/{name}", self.store)

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> Self:
        """The place above; the bucket's is the bucket."""
        return type(self)(self._url.rpartition("/")[0], self.store) if self.key else self

    @property
    def scheme(self) -> str:
        """Whose store it is: s3, gs or az."""
        return self._url.partition("://")[0]

    @property
    def bucket(self) -> str:
        """Scheme and name, as obstore takes them."""
        scheme, _, rest = self._url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"

    @property
    def key(self) -> str:
        """What names it in its bucket."""
        return self._url.removeprefix(self.bucket).removeprefix("/")

    @cached_property
    def store(self) -> Any:
        """The bucket; one for all places that were made of one another."""
        return self._given_store if self._given_store is not None else _opened(self.bucket)

    def at_key(self, key: str) -> Self:
        """Another place of the same bucket."""
        return type(self)(f"{self.bucket}/{key}", self.store)

    # --- reading ----------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether there is an object of this key, or one below."""
        try:
            self.read_bytes()  # what is asked for is small, and only this answer says what is wrong
        except FileNotFoundError:
            return self.is_dir()
        return True

    def is_dir(self) -> bool:
        """Whether there are objects below."""
        return next(self.iterdir(), None) is not None

    def iterdir(self) -> Iterator[Self]:
        """What is directly below, at most a thousand."""
        import obstore

        found = self._asked(
            lambda: obstore.list_with_delimiter(self.store, f"{self.key}/" if self.key else None)
        )
        for name in found["common_prefixes"]:
            yield self.at_key(name.rstrip("/"))
        for one in found["objects"]:
            yield self.at_key(one["path"])

    def sizes(self) -> dict[str, int]:
        """The address of each object below, however deep -> its bytes: a request a thousand."""
        import obstore

        def listed() -> dict[str, int]:
            found = obstore.list(self.store, f"{self.key}/" if self.key else None)
            return {str(self.at_key(one["path"])): one["size"] for some in found for one in some}

        return self._asked(listed)

    def stat(self) -> Stat:
        """Raises FileNotFoundError where there is no object of this key."""
        import obstore

        found = self._asked(lambda: obstore.head(self.store, self.key))
        tag = zlib.crc32((found["e_tag"] or "").encode())
        return Stat(tag, int(found["last_modified"].timestamp() * 1e9), found["size"])

    def read_bytes(self) -> bytes:
        """The whole object. Raises FileNotFoundError."""
        import obstore

        return self._asked(lambda: bytes(obstore.get(self.store, self.key).bytes()))

    def read_text(self, encoding: str = "utf-8") -> str:
        """The whole object. Raises FileNotFoundError."""
        return self.read_bytes().decode(encoding)

    def read_range(self, start: int, length: int) -> bytes:
        """A part of the object."""
        import obstore

        return self._asked(
            lambda: bytes(obstore.get_range(self.store, self.key, start=start, length=length))
        )

    # --- writing ----------------------------------------------------------------------------

    def write_text(self, text: str) -> None:
        """The whole object is this text, or what it was."""
        import obstore

        self._asked(lambda: obstore.put(self.store, self.key, text.encode()))

    def write_bytes(self, data: bytes) -> None:
        """The whole object is these bytes, or what it was; many go up in parts."""
        import obstore

        self._asked(lambda: obstore.put(self.store, self.key, data))

    def create_text(self, text: str) -> bool:
        """Makes the object unless there is one; whether it did. Of several who do so at once one
        does. Where an answer was lost it may say no of its own: read what stands there."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        def create() -> bool:
            try:
                obstore.put(self.store, self.key, text.encode(), mode="create")
            except AlreadyExistsError:
                return False
            return True

        return self._asked(create)

    def copy_to(self, other: Self) -> None:
        """The store makes another object of the same bytes. Raises FileNotFoundError."""
        import obstore

        self._asked(lambda: obstore.copy(self.store, self.key, other.key))

    def unlink(self, *, missing_ok: bool = True) -> None:
        """Deletes the object; one that is not there is no error."""
        self.unlink_all([str(self)])

    def unlink_all(self, addresses: Iterable[str]) -> None:
        """Deletes objects of this bucket; those that are not there are no error."""
        import obstore

        keys = [one.removeprefix(f"{self.bucket}/") for one in addresses]

        def delete(some: Sequence[str]) -> None:
            with suppress(FileNotFoundError):
                obstore.delete(self.store, some)

        for start in range(0, len(keys), DELETED_AT_ONCE):
            self._asked(partial(delete, keys[start : start + DELETED_AT_ONCE]))

    def _asked(self, ask: Callable[[], T]) -> T:
        """Raises FileNotFoundError, and StoreError for all else that a store may say."""

        def once() -> T:
            try:
                return ask()
            except StoreError:
                raise
            except Exception as error:
                raise told(error, self._url) from None

        return patiently(once)


def _opened(bucket: str) -> Any:
    from obstore import store

    settings_of(os.environ, bucket.partition(":")[0])
    config: Any = {}
    if bucket.startswith("s3://") and (endpoint := _endpoint(os.environ)):
        config["endpoint"] = endpoint
    client: Any = {
        "connect_timeout": f"{CONNECT_WITHIN}s",
        "timeout": f"{ANSWER_WITHIN}s",
        "allow_http": _allows_http(os.environ),
    }
    retries: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_WITHIN)}
    try:
        return store.from_url(bucket, config=config, client_options=client, retry_config=retries)
    except Exception as error:
        raise told(error, bucket) from None


def without_secrets(url: str) -> str:
    """A URL as it may be shown: somebody may have written a key into it."""
    scheme, _, rest = url.partition(":")
    begin, login, place = rest.rpartition("@")
    strokes = "/" * (len(begin or place) - len((begin or place).lstrip("/")))
    shown = f"{strokes}***@{place}" if login else place
    before, asked, _ = shown.partition("?")
    return f"{scheme}:{before}{asked and '?***'}"


def _wrong(url: str) -> str:
    """What keeps a URL from being one."""
    rest = url.partition("://")[2]
    if "@" in rest:
        return "it holds a login; keys come from the environment (docs/object-stores.md)"
    if "?" in rest:
        return "it holds a query, from the ? on; leave it out"
    if not {".", ".."}.isdisjoint(rest.split("/")):
        return "a part of it is . or .."
    return (
        "s3://BUCKET/PREFIX (or gs://, az://) of letters, digits, . _ = -; a bucket's name has two "
        "characters at least"
    )


def _without_empty(environ: MutableMapping[str, str]) -> None:
    """An empty variable is as none: the libraries would take it for an address or a key."""
    for name in [one for one in environ if one.startswith(OF_STORES) and not environ[one]]:
        del environ[name]


def settings_of(environ: MutableMapping[str, str], scheme: str) -> None:
    """Checks what the libraries take from the environment.

    Raises StoreError where a key is half there, or none and no role may be asked for.
    """
    _without_empty(environ)
    if scheme == "az":
        _endpoint(environ, [OF_AZURE])
    if scheme != "s3":
        return
    for one, other in (KEYS, KEYS[::-1]):
        if one in environ and other not in environ:
            raise StoreError(f"{one} is set and {other} is not; set both, or neither for a role")
    asks_nobody = environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true"
    if asks_nobody and KEYS[0] not in environ and not any(one in environ for one in ROLES):
        raise StoreError(f"no key found; set {KEYS[0]} and {KEYS[1]}")
