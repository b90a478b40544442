"""Path in an object store, with the subset of `pathlib.Path` that a history's code uses.

Settings come from the environment, by the standard names of each store (docs/object-stores.md); the
library `obstore` reads them. Errors never include the store's own text, which contains keys.
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
from sinks.store_errors import patiently, store_error

T = TypeVar("T")
SCHEMES = ("s3", "gs", "az")
URL = re.compile(r"(s3|gs|az)://[A-Za-z0-9][A-Za-z0-9._-]+(/[A-Za-z0-9._=-]+)*/?", re.ASCII)
"""A bucket and a prefix of plain names: DuckDB interprets other characters as patterns."""
CONNECT_WITHIN = 5
"""Seconds."""
ANSWER_WITHIN = 30
"""Seconds for one request; the largest uploads some MB."""
RETRIES = 8
RETRY_WITHIN = 60
"""Seconds in which `obstore` retries throttling and faults of the store."""
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
"""Variables that provide credentials without the machine's metadata service, or need none."""
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
"""Variables of the server's URL, the first one set counts; Amazon's without any."""
OF_AZURE = "AZURE_STORAGE_ENDPOINT"


class Stat(NamedTuple):
    """Subset of `os.stat_result`: changes with each write of an object."""

    st_ino: int
    st_mtime_ns: int
    st_size: int


def delta_options(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """`storage_options` of deltalake, which reads keys and tokens from the environment itself."""
    if isinstance(environ, MutableMapping):
        _without_empty(environ)
    options = {
        "conditional_put": "etag",  # a commit creates an object that must not exist
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
    """The server's URL. Raises StoreError for plain HTTP that is not allowed explicitly."""
    name = next((variable for variable in names if environ.get(variable)), None)
    if name is None:
        return None
    endpoint = environ[name]
    if endpoint.startswith("http://") and not _allows_http(environ):
        raise StoreError(
            f"{name} is http://, which is not encrypted; use https://, or set "
            f"{ALLOW_HTTP}=true in a trusted network"
        )
    if not endpoint.startswith(("http://", "https://")) or not urlsplit(endpoint).hostname:
        raise StoreError(f"{name} is not an address like https://HOST:PORT")
    return endpoint


def _allows_http(environ: Mapping[str, str]) -> bool:
    return environ.get(ALLOW_HTTP, "").lower() in ("1", "true", "yes")


class ObjectPath:
    """`s3://bucket/prefix`, or an object below it. A folder exists while it has objects."""

    def __init__(self, url: str, store: Any = None) -> None:
        if not URL.fullmatch(url) or not {".", ".."}.isdisjoint(url.split("/")):
            masked, reason = without_secrets(url), _wrong(url)
            raise StoreError(f"{masked}: not the URL of a history in an object store: {reason}")
        self._url = url.rstrip("/")
        self._given_store = store

    def __str__(self) -> str:
        return self._url

    def __repr__(self) -> str:
        return f"ObjectPath({self._url!r})"

    def __eq__(self, value: object) -> bool:
        return isinstance(value, ObjectPath) and value._url == self._url

    def __hash__(self) -> int:
        return hash(self._url)

    def __truediv__(self, name: str) -> Self:
        return type(self)(f"{self._url}/{name}", self.store)

    @property
    def name(self) -> str:
        """Last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> Self:
        """The path above; of a bucket the bucket itself."""
        return type(self)(self._url.rpartition("/")[0], self.store) if self.key else self

    @property
    def scheme(self) -> str:
        """Kind of store: s3, gs or az."""
        return self._url.partition("://")[0]

    @property
    def bucket(self) -> str:
        """Scheme and name, as obstore takes them."""
        scheme, _, path = self._url.partition("://")
        return f"{scheme}://{path.partition('/')[0]}"

    @property
    def key(self) -> str:
        """The object's key in its bucket."""
        return self._url.removeprefix(self.bucket).removeprefix("/")

    @cached_property
    def store(self) -> Any:
        """obstore's client of the bucket, shared by derived paths."""
        return self._given_store if self._given_store is not None else _opened(self.bucket)

    def at_key(self, key: str) -> Self:
        """Another path of the same bucket."""
        return type(self)(f"{self.bucket}/{key}", self.store)

    # --- reading ----------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether there is an object with this key, or one below."""
        try:
            self.read_bytes()  # objects are small, and only GET reports the cause of errors
        except FileNotFoundError:
            return self.is_dir()
        return True

    def is_dir(self) -> bool:
        """Whether there are objects below."""
        return next(self.iterdir(), None) is not None

    def iterdir(self) -> Iterator[Self]:
        """Direct children, at most a thousand."""
        import obstore

        listing = self._request(
            lambda: obstore.list_with_delimiter(self.store, f"{self.key}/" if self.key else None)
        )
        for name in listing["common_prefixes"]:
            yield self.at_key(name.rstrip("/"))
        for entry in listing["objects"]:
            yield self.at_key(entry["path"])

    def sizes(self) -> dict[str, int]:
        """Address of each object below, at any depth -> bytes; one request per thousand objects."""
        import obstore

        def listed() -> dict[str, int]:
            pages = obstore.list(self.store, f"{self.key}/" if self.key else None)
            return {
                str(self.at_key(entry["path"])): entry["size"] for page in pages for entry in page
            }

        return self._request(listed)

    def stat(self) -> Stat:
        """Raises FileNotFoundError if the object does not exist."""
        import obstore

        head = self._request(lambda: obstore.head(self.store, self.key))
        tag = zlib.crc32((head["e_tag"] or "").encode())
        return Stat(tag, int(head["last_modified"].timestamp() * 1e9), head["size"])

    def read_bytes(self) -> bytes:
        """The whole object. Raises FileNotFoundError."""
        import obstore

        return self._request(lambda: bytes(obstore.get(self.store, self.key).bytes()))

    def read_text(self, encoding: str = "utf-8") -> str:
        """The whole object. Raises FileNotFoundError."""
        return self.read_bytes().decode(encoding)

    def read_range(self, start: int, length: int) -> bytes:
        """A byte range of the object."""
        import obstore

        return self._request(
            lambda: bytes(obstore.get_range(self.store, self.key, start=start, length=length))
        )

    # --- writing ----------------------------------------------------------------------------

    def write_text(self, text: str) -> None:
        """Replaces the object atomically by this text."""
        import obstore

        self._request(lambda: obstore.put(self.store, self.key, text.encode()))

    def create_text(self, text: str) -> bool:
        """Creates the object unless it exists; returns whether it did. One of several concurrent
        callers succeeds. After a lost reply it may return False although it succeeded: then compare
        the content."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        def create() -> bool:
            try:
                obstore.put(self.store, self.key, text.encode(), mode="create")
            except AlreadyExistsError:
                return False
            return True

        return self._request(create)

    def copy_to(self, target: Self) -> None:
        """Copies the object within the store. Raises FileNotFoundError."""
        import obstore

        self._request(lambda: obstore.copy(self.store, self.key, target.key))

    def unlink(self, *, missing_ok: bool = True) -> None:
        """Deletes the object; a missing one is not an error."""
        self.unlink_all([str(self)])

    def unlink_all(self, addresses: Iterable[str]) -> None:
        """Deletes objects of this bucket; missing ones are not an error."""
        import obstore

        keys = [address.removeprefix(f"{self.bucket}/") for address in addresses]

        def delete(batch: Sequence[str]) -> None:
            with suppress(FileNotFoundError):
                obstore.delete(self.store, batch)

        for start in range(0, len(keys), DELETED_AT_ONCE):
            self._request(partial(delete, keys[start : start + DELETED_AT_ONCE]))

    def _request(self, request: Callable[[], T]) -> T:
        """Runs a request with retries. Raises FileNotFoundError, StoreError."""

        def once() -> T:
            try:
                return request()
            except StoreError:
                raise
            except Exception as error:
                raise store_error(error, self._url) from None

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
        raise store_error(error, bucket) from None


def without_secrets(url: str) -> str:
    """A URL for messages, without login and query, which may contain a key."""
    scheme, _, address = url.partition(":")
    begin, login, place = address.rpartition("@")
    slashes = "/" * (len(begin or place) - len((begin or place).lstrip("/")))
    masked = f"{slashes}***@{place}" if login else place
    before, query, _ = masked.partition("?")
    return f"{scheme}:{before}{query and '?***'}"


def _wrong(url: str) -> str:
    """Reason why a URL is not valid."""
    address = url.partition("://")[2]
    if "@" in address:
        return "it contains a login; keys come from the environment (docs/object-stores.md)"
    if "?" in address:
        return "it contains a query, from the ? on; remove it"
    if not {".", ".."}.isdisjoint(address.split("/")):
        return "a part of it is . or .."
    return (
        "s3://BUCKET/PREFIX (or gs://, az://) of letters, digits, . _ = -; a bucket's name has two "
        "characters at least"
    )


def _without_empty(environ: MutableMapping[str, str]) -> None:
    """Removes empty variables: the libraries would use them as address or key."""
    for name in [
        variable for variable in environ if variable.startswith(OF_STORES) and not environ[variable]
    ]:
        del environ[name]


def settings_of(environ: MutableMapping[str, str], scheme: str) -> None:
    """Checks the variables that the libraries read from the environment.

    Raises StoreError if half of a key is missing, or both key and role are.
    """
    _without_empty(environ)
    if scheme == "az":
        _endpoint(environ, [OF_AZURE])
    if scheme != "s3":
        return
    for present, absent in (KEYS, KEYS[::-1]):
        if present in environ and absent not in environ:
            raise StoreError(
                f"{present} is set and {absent} is not; set both, or neither for a role"
            )
    has_no_role_server = environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true"
    if (
        has_no_role_server
        and KEYS[0] not in environ
        and not any(present in environ for present in ROLES)
    ):
        raise StoreError(f"no key found; set {KEYS[0]} and {KEYS[1]}")
