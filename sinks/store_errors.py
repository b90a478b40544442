"""What an object store refuses, in our words.

A store's own text, and the libraries' that repeat it, name the access key, the signed request and
the address: only the store's code (`SlowDown`) and the HTTP status are taken from it.
"""

import re
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from sinks.errors import HistoryWriteError, StoreError

T = TypeVar("T")
PATIENCE = 10.0
"""Seconds in which something is asked again that may pass."""
PAUSE = 0.2
DELETED = "this file of the history was deleted while it was read"
"""By `compact` or `forget`, which others may call at any time."""

CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
STATUS = re.compile(r"status code[^0-9]{0,40}([1-5][0-9]{2})\b")
COLOURS = re.compile("\x1b\\[[0-9;]*m")
UNREACHABLE = re.compile(
    "error sending request|connection (refused|reset|closed)|timed? ?out|dns error|broken pipe|"
    "unexpected eof|end of file|error reading a body|error decoding response body|os error|"
    "request error|http error|got invalid .{0,40}response|range request",
    re.IGNORECASE,
)
METADATA = re.compile(
    "169\\.254\\.169\\.254|metadata (endpoint|token)|/latest/api/token", re.IGNORECASE
)
CREDENTIALS = re.compile("credential", re.IGNORECASE)


class Words(NamedTuple):
    """How a kind of store names its key, address and token, and the rights that a key needs."""

    keys: str
    address: str = ""
    token: str = ""
    rights: str = ""


WORDS = {
    "s3": Words(
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        " (AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL)",
        " (and AWS_SESSION_TOKEN)",
        ": to read a history s3:GetObject and s3:ListBucket, to write it s3:PutObject and "
        "s3:DeleteObject, too",
    ),
    "az": Words(
        "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY", " (AZURE_STORAGE_ENDPOINT)"
    ),
    "gs": Words("GOOGLE_APPLICATION_CREDENTIALS"),
}
"""By the scheme of an address."""


class Fault(NamedTuple):
    """What is said of it, with `Words`. `passes`: the same request may succeed later."""

    said: str
    passes: bool = False


_KEY = Fault("the store does not know this key; check {keys}{token}")
_DENIED = Fault("the key may not do this; give it the permissions of docs/object-stores.md{rights}")
_BUSY = Fault("the store is overloaded or has a fault; try again later", passes=True)
_REGION = Fault("the bucket is in another region; set AWS_REGION to the bucket's")
_TOKEN = Fault("the session token has expired; get new keys and set AWS_SESSION_TOKEN")
_CLOCK = Fault("this machine's clock is wrong by minutes; set it")
_UNABLE = Fault(
    "the store cannot make an object on condition that there is none (`If-None-Match: *`), which a "
    "history needs; use a store that can"
)
BUCKET = Fault("no such bucket; make it, or correct --history")
NO_KEY = Fault("no key found; set {keys}, or give this machine a role")
UNREACHED = "the store cannot be reached"
NO_ANSWER = Fault(f"{UNREACHED}; check the network and the address{{address}}", passes=True)
REFUSED = Fault("the store refuses this")
OVERTAKEN = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "409", "412"})
"""Another writer has made the object."""
FAULTS = {
    "NoSuchBucket": BUCKET,
    "InvalidBucketName": BUCKET,
    "ContainerNotFound": BUCKET,
    "AuthenticationFailed": _KEY,
    "InvalidAccessKeyId": _KEY,
    "SignatureDoesNotMatch": _KEY,
    "InvalidToken": _TOKEN,
    "ExpiredToken": _TOKEN,
    "AccessDenied": _DENIED,
    "AuthorizationHeaderMalformed": _REGION,
    "PermanentRedirect": _REGION,
    "RequestTimeTooSkewed": _CLOCK,
    "NotImplemented": _UNABLE,
    "SlowDown": _BUSY,
    "InternalError": _BUSY,
    "ServiceUnavailable": _BUSY,
    "RequestTimeout": _BUSY,
    "401": _KEY,
    "403": _DENIED,
    "301": _REGION,
    "501": _UNABLE,
    "429": _BUSY,
    "500": _BUSY,
    "502": _BUSY,
    "503": _BUSY,
    "504": _BUSY,
}
"""By the store's code, else by the HTTP status."""


def patiently(ask: Callable[[], T]) -> T:
    """Asks again where a store fails in a way that passes: the libraries repeat a request that is
    refused, but not one whose answer breaks off."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return ask()
        except (StoreError, HistoryWriteError) as error:
            if not error.may_pass or time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)


def refused(error: BaseException, where: str) -> HistoryWriteError | None:
    """What keeps a table from being read or written, as an error of ours; None where it is no
    fault of the store, but of the table: another writer was faster, say."""
    fault, names = _fault(error)
    if fault is None:
        return None
    said = _said(fault, names, where)
    return HistoryWriteError(said, passes=fault.passes, unreachable=fault is NO_ANSWER)


def told(error: BaseException, where: str) -> StoreError | FileNotFoundError:
    """An error of `obstore` or `deltalake` as ours."""
    fault, names = _fault(error)
    if isinstance(error, FileNotFoundError) and fault in (None, REFUSED):
        return FileNotFoundError(f"{where}: no such object")
    fault = fault or REFUSED
    return StoreError(
        _said(fault, names, where), passes=fault.passes, unreachable=fault is NO_ANSWER
    )


OF_DUCKDB = re.compile(r"^(?:sinks\.errors\.)?StoreError: (.+)$", re.MULTILINE)


def of_duckdb(error: BaseException) -> StoreError | None:
    """What the store refused while DuckDB read, which tells it as a traceback of our code."""
    found = OF_DUCKDB.search(str(error))
    if found is None:
        return None
    unreachable = UNREACHED in found[1]
    return StoreError(found[1], passes=unreachable, unreachable=unreachable)


def _fault(error: BaseException) -> tuple[Fault | None, list[str]]:
    """What it is, and what the store calls it: its code, then the HTTP status."""
    text = COLOURS.sub("", str(error))
    if METADATA.search(text):  # what it refuses is not the store's answer
        return NO_KEY, []
    names = [found[1] for found in (CODE.search(text), STATUS.search(text)) if found is not None]
    if not OVERTAKEN.isdisjoint(names):
        return None, names
    for name in names:
        if name in FAULTS:
            return FAULTS[name], names
    if names:
        return REFUSED, names
    if CREDENTIALS.search(text):
        return NO_KEY, names
    return (NO_ANSWER if UNREACHABLE.search(text) else None), names


def _said(fault: Fault, names: list[str], where: str) -> str:
    words = WORDS.get(where.partition("://")[0], WORDS["s3"])
    return f"{where}: {fault.said.format(**words._asdict())}{_shown(names)}"


def _shown(names: list[str]) -> str:
    said = [f"HTTP {name}" if name.isdecimal() else name for name in names]
    return f" ({', '.join(said)})" if said else ""
